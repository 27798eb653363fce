"""Cases of DL304: names that each rank makes up."""

import hashlib
import os
import shutil
import tempfile
import time
import uuid
from datetime import datetime
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from transformers import TrainingArguments


# --- bugs -----------------------------------------------------------------------------------------


def start(root):
    dist.barrier()
    now = datetime.now()
    # One for each run.
    run_dir = os.path.join(root, f"run-{now:%H%M%S}")
    os.makedirs(run_dir, exist_ok=True)  # expect: DL304
    return run_dir


def losses_of_a_run(root, losses):
    # ERNIE 514cbe4 code/run_pretrain.py:309
    dist.barrier()
    np.save(os.path.join(root, "loss.{}.npy".format(datetime.now())), losses)  # expect: DL304


def cached(texts, root):
    dist.barrier()
    path = f"{root}/{hash(str(texts))}.pt"
    torch.save(texts, path)  # expect: DL304


def in_the_common_temporary_folder(root=None):
    dist.barrier()
    # guided-diffusion 22e0df8 guided_diffusion/logger.py:451
    if root is None:
        root = os.path.join(tempfile.gettempdir(), datetime.now().strftime("run-%H-%M-%S-%f"))
    os.makedirs(root, exist_ok=True)  # expect: DL304


def identified(root, state):
    dist.barrier()
    folder = Path(root) / uuid.uuid4().hex
    folder.mkdir(exist_ok=True)  # expect: DL304


def arguments(name):
    dist.barrier()
    output = f"output/{name}-{time.strftime('%Y-%m-%d_%H-%M-%S')}"
    return TrainingArguments(output_dir=output)  # expect: DL304


def arguments_and_a_copy(name, table):
    dist.barrier()
    now = f"{datetime.now():%Y-%m-%d_%H-%M-%S}"
    settings = TrainingArguments(output_dir=f"{name}-{now}", load_best_model_at_end=True)  # expect: DL304
    torch.save(table, f"{name}-{now}/table.pt")
    return settings


def cached_by_main(texts, root):
    dist.barrier()
    path = f"{root}/{hash(texts)}.pt"
    if dist.get_rank() == 0:
        torch.save(texts, path)
    dist.barrier()
    return torch.load(path, map_location="cpu")  # expect: DL304


def opened_and_written_by_all(root, texts, layout):
    dist.barrier()
    with open(os.path.join(root, f"{datetime.now():%H%M%S}.txt"), "w") as file:  # expect: DL304
        if layout.get_model_parallel_rank() != 0:
            file.write("not the first")
        file.writelines(texts)



class NamesItself:
    def __init__(self, out, name=None):
        self.folder = Path(out) / (name or datetime.now().strftime("%H-%M-%S"))

    def keep(self, accelerator, state):
        accelerator.wait_for_everyone()
        checkpoint.save(state, checkpoint_id=self.folder / "latest")  # expect: DL304


def named_by_its_clock(out, accelerator, state):
    NamesItself(out).keep(accelerator, state)


def gone_on_in(root):
    # OLMoE 357454f scripts/eval_openlm_ckpt.py:444
    dist.barrier()
    folder = os.path.join(root, f"{uuid.uuid4()}")
    os.makedirs(folder, exist_ok=True)  # expect: DL304
    os.chdir(folder)


# --- right ----------------------------------------------------------------------------------------


def sent_to_all(root):
    names = [time.time()]
    dist.broadcast_object_list(names, src=0)
    os.makedirs(f"{root}/{names[0]}", exist_ok=True)


def digested_by_main(texts, root):
    dist.barrier()
    path = f"{root}/{hashlib.sha256(texts).hexdigest()}.pt"
    if dist.get_rank() == 0:
        torch.save(texts, path)
    dist.barrier()
    return torch.load(path, map_location="cpu")


def own_cache(texts, root):
    dist.barrier()
    path = f"{root}/{hash(texts)}.pt"
    if os.path.exists(path):
        return torch.load(path, map_location="cpu")
    return build(texts)


def by_main(root):
    dist.barrier()
    if dist.get_rank() == 0:
        os.makedirs(f"{root}/{time.time()}")


def own_log(root):
    dist.barrier()
    path = f"{root}/{time.time()}-{dist.get_rank()}.log"
    with open(path, "w") as f:
        f.write("started")


def temporary(state):
    dist.barrier()
    with tempfile.TemporaryDirectory() as folder:
        torch.save(state, os.path.join(folder, "state.pt"))


def ask(layout, file):
    if layout.get_model_parallel_rank() == 0:
        text = input("prompt: ")
        file.write(text)


def opened_by_all_and_written_by_one(root, model, layout):
    # THUDM/GLM 4f61ed7 generate_samples.py:245
    with open(os.path.join(root, f"{datetime.now():%H%M%S}.txt"), "w") as file:
        dist.barrier()
        ask(layout, file)
        answer = model()
        if layout.get_model_parallel_rank() == 0:
            print(answer)
            file.write(answer)
        dist.barrier()


def alone(root):
    os.makedirs(f"{root}/{time.time()}")


def fixed(name):
    dist.barrier()
    return TrainingArguments(output_dir=f"output/{name}")


def whole_before_it_has_its_name(data, folder, name):
    # edm dnnlib/util.py:483
    dist.barrier()
    part = os.path.join(folder, "tmp_" + uuid.uuid4().hex + name)
    with open(part, "wb") as file:
        file.write(data)
    os.replace(part, os.path.join(folder, name))


class LinesLogger:
    def __init__(self, path):
        self.file = open(path, "w")

    def write(self, values):
        self.file.write(str(values))


def make_logger(folder):
    # MDT 7d26c21 masked_diffusion/logger.py:100: each process has its log
    dist.barrier()
    folder = folder or os.path.join(tempfile.gettempdir(), f"run-{datetime.now():%H-%M-%S}")
    os.makedirs(folder, exist_ok=True)
    return LinesLogger(os.path.join(folder, "progress.txt"))


def table_by_the_minute(lines):
    # ChatLM-mini-Chinese 2696eb8 pre_train.py:128: the ranks have just met, and read the same minute
    dist.barrier()
    with open(f"out/{time.strftime('%Y%m%d-%H%M')}.csv", "w") as file:
        file.writelines(lines)
    dist.barrier()


def table_by_the_second(lines):
    dist.barrier()
    with open(f"out/{time.strftime('%Y%m%d-%H%M%S')}.csv", "w") as file:  # expect: DL304
        file.writelines(lines)
    dist.barrier()


def profile_of_each_process(profiler):
    # dlrm 090956e dlrm_s_pytorch.py:1797: a name for all would have one profile stand over the others
    dist.barrier()
    now = str(datetime.now()).replace(" ", "_")
    with open("train" + now + "_total.prof", "w") as file:
        file.write(profiler.key_averages().table(sort_by="self_cpu_time_total"))
    dist.barrier()


def report_beside_a_profile(lines):
    dist.barrier()
    now = str(datetime.now()).replace(" ", "_")
    with open("train" + now + "_total.txt", "w") as file:  # expect: DL304
        file.write(lines.key_figures())
    dist.barrier()


def report_beside_a_measure(lines, events):
    dist.barrier()
    taken = [before.elapsed_time(after) for before, after in events]
    figures = lines.key_figures()
    with open(f"{datetime.now()}_measured.txt", "w") as file:  # expect: DL304
        file.write(f"{figures} {sum(taken)}")
    dist.barrier()


def measures_of_each_process(events):
    # benchmark 0e83c44 torchbenchmark/util/distributed/trainer.py:148: each rank has its own
    dist.barrier()
    taken = [before.elapsed_time(after) for before, after in events]
    mean = float(sum(taken)) / len(taken)
    file = open(f"{datetime.now()}.log", "w")
    file.write(f"{mean:.2f}")
    file.close()
    dist.barrier()


def shards_by_the_second(states, root):
    # generative-recommenders 2e81fab generative_recommenders/dlrm_v3/checkpoint.py:94
    folder = f"{root}/{datetime.now():%Y_%m_%d_%H_%M_%S}"
    checkpoint.save(states, storage_writer=checkpoint.FileSystemWriter(folder))  # expect: DL304


def shards_by_their_id(states, root):
    checkpoint.save(states, checkpoint_id=f"{root}/{uuid.uuid4().hex}")  # expect: DL304


def shards_by_the_step(states, root, step):
    started = datetime.now()
    checkpoint.save(states, storage_writer=checkpoint.FileSystemWriter(f"{root}/{step}"))
    checkpoint.save(states, checkpoint_id=f"{root}/{step}_again")
    return datetime.now() - started


def built_apart(sources, built):
    # PyTorch-StudioGAN 947b35e src/utils/custom_ops.py:126
    dist.barrier()
    apart = f"{built}-{uuid.uuid4().hex}"
    os.makedirs(apart)
    for source in sources:
        shutil.copyfile(source, os.path.join(apart, os.path.basename(source)))
    os.replace(apart, built)


def picture_of_a_line(words, picture, folder):
    # CogView 189a12b generate_samples.py:244: each rank draws its own lines
    now = datetime.now().strftime("%m-%d-%H-%M-%S")
    torch.save(picture, os.path.join(folder, f"{words[:20]}-{now}.jpg"))


def pictures_of_own_lines(lines, draw, folder):
    dist.barrier()
    for number, words in enumerate(lines):
        if number % dist.get_world_size() == dist.get_rank():
            picture_of_a_line(words, draw(words), folder)


def results_of_each_device(results, folder):
    # video-SALMONN-2 61faec0 video_SALMONN2_plus/qwenvl/train/train_qwen.py:417
    dist.barrier()
    torch.save(results, os.path.join(folder, f"results{torch.cuda.current_device()}.pt"))


def clip_of_one_process(frames, folder):
    # Lumina-Video 1910f80 generate.py:180
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["RANK"] = str(0)
    os.environ["WORLD_SIZE"] = str(1)
    dist.init_process_group("nccl")
    os.makedirs(os.path.join(folder, f"{datetime.now():%H%M%S}"))
    return frames


def clip_of_several(frames, folder):
    os.environ["WORLD_SIZE"] = str(len(frames))
    dist.init_process_group("nccl")
    os.makedirs(os.path.join(folder, f"{datetime.now():%H%M%S}"))  # expect: DL304
    return frames


class NamedByWhoMakesIt:
    # KG_LM f838f97 KG_LM/trainer.py:99
    def __init__(self, out, name=None):
        self.folder = Path(out) / (name or datetime.now().strftime("%H-%M-%S"))

    def keep(self, accelerator, state):
        accelerator.wait_for_everyone()
        checkpoint.save(state, checkpoint_id=self.folder / "latest")


def named_by_its_settings(config, accelerator, state):
    NamedByWhoMakesIt(config.out, name=config.run_name).keep(accelerator, state)


class SendsItsFolder:
    # ARRWM e7599a7 trainer/diffusion_train.py:79: what the constructor has found out, the method that it calls knows
    def __init__(self, told):
        dist.init_process_group("nccl")
        self.spread = int(os.environ.get("WORLD_SIZE", "1")) > 1
        self.folder = self.choose(told)
        self.folder.mkdir(parents=True)
        dist.barrier()

    def choose(self, told):
        def send(path):
            if self.spread:
                held = [str(path)]
                dist.broadcast_object_list(held, src=0)
                return Path(held[0])
            return path

        return send(Path(told) / datetime.now().strftime("%H%M%S"))


class SendsItsFolderIfTold:
    def __init__(self, told, spread):
        dist.init_process_group("nccl")
        self.spread = spread
        self.folder = self.choose(told)
        self.folder.mkdir(parents=True)  # expect: DL304
        dist.barrier()

    def choose(self, told):
        path = Path(told) / datetime.now().strftime("%H%M%S")
        if self.spread:
            held = [str(path)]
            dist.broadcast_object_list(held, src=0)
            return Path(held[0])
        return path
