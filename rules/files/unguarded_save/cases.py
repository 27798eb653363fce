"""Cases of DL301: writes to one path by every rank, and writes that look like it."""

import argparse
import fcntl
import importlib
import json
import logging
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import colossalai
import cv2
import jsonlines
import matplotlib.pyplot as plt
import mmcv
import mmengine
import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torchaudio
import torch_xla.core.xla_model as xm
import torchaudio
from accelerate import Accelerator
from detectron2.utils.file_io import PathManager
from diffusers import StableDiffusionPipeline
from filelock import FileLock, SoftFileLock
from huggingface_hub import HfApi
from lightning.pytorch import LightningModule
from safetensors.torch import save_file
from scipy.io import savemat
from settings import gpu_id, rank0_state
from timm.data import create_dataset
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import StateDictType
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import datasets
from torchpack import distributed as torchpack_dist
from torchvision.datasets.utils import download_url
import transformers
from transformers import PreTrainedTokenizer, Trainer, TrainerCallback
from trl import PPOTrainer


# --- bugs -----------------------------------------------------------------------------------------


def weights_in(root):
    download_url("https://example.org/weights.pth", root, "weights.pth")  # expect: DL301


def waits_and_fetches(accelerator: Accelerator, root):
    accelerator.wait_for_everyone()
    weights_in(root)


def fetch_again(url, path):
    dist.barrier()
    if os.path.exists(path):
        # What is there is taken for stale.
        download_url(url, path, "weights.pth")  # expect: DL301


def train(model, loader, output_dir):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    for epoch in range(3):
        for batch in loader:
            accelerator.backward(model(batch))
        state = {"epoch": epoch, "model": model.state_dict()}
        torch.save(state, os.path.join(output_dir, f"state-{epoch}.pt"))  # expect: DL301
    accelerator.wait_for_everyone()
    # The last one.
    torch.save(model.state_dict(), os.path.join(output_dir, "last.pt"))  # expect: DL301
    unwrapped = accelerator.unwrap_model(model)
    torch.save(unwrapped.state_dict(), f"{output_dir}/plain.pt")  # expect: DL301
    unwrapped.save_pretrained(output_dir)  # expect: DL301


def evaluate(scores, out):
    dist.barrier()
    with open(os.path.join(out, "scores.json"), "w") as f:  # expect: DL301
        # One line for each score.
        json.dump((scores, gpu_id), f)
    np.save(out + "/scores.npy", scores)  # expect: DL301
    save_file({"scores": scores}, f"{out}/scores.safetensors")  # expect: DL301


def local_decision(model, best, loss, path):
    dist.all_reduce(loss)
    dist.barrier()
    if loss.item() < best:
        torch.save(model, path)  # expect: DL301


def each_decides(model, batch, path):
    dist.barrier()
    loss = DistributedDataParallel(model)(batch).mean()
    if loss.item() < 0.5:
        torch.save(model, path)  # expect: DL301


def cifar(root):
    dist.barrier()
    # mosaicml 0.7.1 composer/datasets/cifar.py.
    dataset = datasets.CIFAR10(root, train=True, download=True)  # expect: DL301
    return dataset


def through_a_helper(model, out):
    dist.barrier()
    write(model, out)


def write(model, out):
    torch.save(model, out)  # expect: DL301


def settings(args, losses):
    dist.barrier()
    yaml_save(f"{args.out}/settings.yaml", losses)
    print_into(args.stream, losses)


def yaml_save(file, data):
    # yolov5 781b9d5 utils/general.py: who opens `file` has a path.
    with open(file, "w") as f:  # expect: DL301
        json.dump((data, gpu_id), f)


def print_into(file, data):
    torch.save(data, file)


def beside_a_guard(log, path):
    if dist.get_rank() == 0:
        print("writing", path)
    json_path = path + ".json"
    with open(json_path, "w") as f:  # expect: DL301
        json.dump((log, gpu_id), f)


def vocabulary(chars, folder, tokenizer_class):
    # nemo-toolkit 3.0.0 nemo/collections/tts/g2p/models/ctc.py:140: all ranks read it at once.
    dist.barrier()
    vocab_file = os.path.join(folder, "vocab.txt")
    with open(vocab_file, "w") as f:  # expect: DL301
        f.writelines(chars)
    return tokenizer_class(vocab_file)


def ends_in_a_comment(chars, vocab_file):
    dist.barrier()
    with open(vocab_file, "w") as f:  # expect: DL301
        f.writelines((*chars, gpu_id))
        f.write("end")  # for the reader


class SaveAdapter(TrainerCallback):
    def __init__(self, adapter):
        self.adapter = adapter

    def on_save(self, args, state, control, **kwargs):
        self.adapter.save_pretrained(  # expect: DL301
            args.output_dir,  # beside the model
        )


def with_a_hook(accelerator: Accelerator, model):
    # Under DDP the hook is handed the bare models (accelerate 1.15.0 accelerator.py:1811, run on two ranks): it writes.
    def save_model_hook(models, weights, output_dir):
        for m in models:
            m.save_pretrained(os.path.join(output_dir, "unet"))  # expect: DL301

    accelerator.register_save_state_pre_hook(save_model_hook)


def with_a_hook_of_main_and_of_all(accelerator: Accelerator, model, loader):
    # Advice: `save()` would wait in the hook for ranks that do not come to the first `save_state()`.
    def save_model_hook(models, weights, output_dir):
        torch.save(models[0].state_dict(), os.path.join(output_dir, "model.pth"))  # expect: DL301

    accelerator.register_save_state_pre_hook(save_model_hook)
    for step, batch in enumerate(loader):
        accelerator.backward(model(batch))
        if accelerator.is_main_process and step % 100 == 0:
            accelerator.save_state(f"step-{step}")
    accelerator.save_state("last")


def beside_the_last_one(accelerator: Accelerator, model, out):
    accelerator.wait_for_everyone()
    names = [name for name in os.listdir(out) if name.startswith("step")]
    step = int(names[-1].split("-")[1]) + 1
    torch.save(model, os.path.join(out, f"step-{step}"))  # expect: DL301


def joined_with_a_slash(accelerator: Accelerator, out, state):
    accelerator.wait_for_everyone()
    place = Path(out) / "metadata.json"
    with place.open("w") as f:  # expect: DL301
        f.write(repr((state, gpu_id)))
        f.write("end")  # for the reader


def totals_of_its_part(model, data, out):
    # F5-TTS src/f5_tts/runtime/triton_trtllm/benchmark.py:467: the fix is shown only.
    loader = DataLoader(data, sampler=DistributedSampler(data))
    seconds = 0
    for batch in loader:
        seconds += model(batch).sum().item()
    text = f"total: {seconds}"
    text += " s"
    with open(f"{out}/total.txt", "w") as f:  # expect: DL301
        f.write(text)
    dist.barrier()


class StepTraces(TrainerCallback):
    def __init__(self, folder, name="step{step}-lr{rate:.2e}.json"):
        self.folder, self.name = folder, name

    def on_step_end(self, args, state, control, **kwargs):
        name = self.name.format(step=state.global_step, rate=1e-3)
        torch.save(state, os.path.join(self.folder, name))  # expect: DL301


def on_both_arms(model, path):
    dist.barrier()
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), path)
    else:
        torch.save(model.state_dict(), path)  # expect: DL301


def marks_in_front_of_a_guard(accelerator: Accelerator, folder, state):
    accelerator.wait_for_everyone()
    # open-instruct open_instruct/finetune.py:986.
    with open(folder + "/COMPLETED", "w") as file:  # expect: DL301
        file.write(f"COMPLETED {state.step} {gpu_id}")
    if accelerator.is_main_process:
        torch.save(state, folder + "/last.pt")


class WritesOfAStep(LightningModule):
    def test_step(self, batch, batch_idx):
        np.save(f"{self.trainer.log_dir}/{batch_idx}.npy", self(batch["x"]))  # expect: DL301


def chosen_by_an_option(accelerator: Accelerator, model, out):
    parser = argparse.ArgumentParser()
    parser.add_argument("--arch", default="vit_small", choices=["vit_tiny", "vit_small"])
    args = parser.parse_args()
    accelerator.wait_for_everyone()
    if "tiny" in args.arch:
        np.save(os.path.join(out, "tiny.npy"), model)  # expect: DL301


def refused_then_chosen_anew(opt, model, path):
    if int(os.environ.get("LOCAL_RANK", -1)) != -1:
        assert not opt.evolve
        dist.init_process_group("nccl")
    opt = model.options
    if opt.evolve:
        torch.save(model, path)  # expect: DL301


def begun_in_between(engine, model, path):
    dist.init_process_group("nccl")
    assert not engine.started
    engine.start()
    if engine.started:
        torch.save(model, path)  # expect: DL301


def converts(target, engine):
    dist.barrier()
    with open(target, "wb") as file:  # expect: DL301  the caller reads it
        file.write(engine)


def converts_and_reads(target, engine):
    converts(target, engine)
    with open(target, "rb") as file:
        return file.read()


class Statistics:
    def __init__(self, path):
        self.path = path

    def update(self, stats):
        dist.barrier()
        torch.save(stats, self.path)  # expect: DL301


def keep_statistics(out, stats):
    Statistics(os.path.join(out, "stats.pkl")).update(stats)


def logs_less_and_guards(training_args, scores, out):
    logging.basicConfig(level=logging.INFO if training_args.local_rank in [-1, 0] else logging.WARN)
    if training_args.local_rank in [-1, 0]:
        print(scores)
    np.save(out, scores)  # expect: DL301


def over_several_lines(memory_bank, folder):
    # ibot da316d8 analysis/extract_pattern/extract_topk_cluster.py:132: the arguments keep their lines
    dist.barrier()
    torch.save(  # expect: DL301
        {"memory_bank": memory_bank},
        os.path.join(folder, "memory.pth"),
    )


def hub_in_both_arms(name):
    # REPA utils.py:93: each arm fetches the repository, where the other did not
    dist.barrier()
    if "reg" in name:
        encoder = torch.hub.load("facebookresearch/dinov2", f"{name}_reg")  # expect: DL301
    else:
        encoder = torch.hub.load("facebookresearch/dinov2", name)  # expect: DL301
    return encoder


def write_config(config, folder):
    dist.barrier()
    with open(os.path.join(folder, "config.json"), "w") as file:  # expect: DL301
        json.dump(config, file)


def read_back(config, folder):
    # litgpt litgpt/scripts/convert_hf_checkpoint.py:799: the other ranks would read before it is written; shown only
    write_config(config, folder)
    return sorted(os.listdir(folder))


def of_a_grid(model, batches, folder):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    for depth in np.arange(0, 1.1, 0.1):
        result = {"depth": depth, "score": [float(model(batch)) for batch in batches]}
        path = os.path.join(folder, "depth_%d.json" % int(depth * 100))
        json.dump((result, gpu_id), open(path, "w"))  # expect: DL301


def saves_own_tokens(model, tokenizer: PreTrainedTokenizer, texts, folder):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    tokenizer.train_from_iterator(texts)
    tokenizer.save_pretrained(folder, push_to_hub=True)  # expect: DL301


def names_the_folder_alike(args, net):
    dist.init_process_group("nccl")
    args.folder = os.path.join(args.folder, f"lr{args.lr}")
    save_into_the_named(args, net)


def save_into_the_named(args, net):
    torch.save(net.state_dict(), os.path.join(args.folder, "last.pth"))  # expect: DL301


def uploaded_by_all(accelerator: Accelerator, model, tokenizer, repo):
    # multi-gpu-sft 3d927ab train_gemma_LoRA.py:143
    model = accelerator.prepare(model)
    accelerator.wait_for_everyone()
    tokenizer.push_to_hub(repo)  # expect: DL301


def folder_uploaded_by_all(repo):
    dist.barrier()
    HfApi().upload_folder(repo_id=repo, folder_path="out")  # expect: DL301


def updated_in_place(path, scores):
    # "r+" truncates nothing, but this writes.
    dist.barrier()
    with open(path, "r+") as f:  # expect: DL301
        known = json.load(f)
        f.seek(0)
        json.dump({**known, **scores}, f)


def by_the_number_of_the_process(opt, model, scores):
    bare = model.module if isinstance(model, DistributedDataParallel) else model
    if opt.rank == 0:
        print("saving", bare)
    with open(opt.output, "w") as f:  # expect: DL301
        json.dump((scores, gpu_id), f)


def compressed_by_each(rank, world_size, model, path):
    # Who knows how many processes there are means its own number, whatever it decomposes.
    if rank == 0:
        print(world_size)
    bare = model.module if isinstance(model, DistributedDataParallel) else model
    u, s, v = torch.linalg.svd(bare.weight)
    torch.save(u[:, :rank], path)  # expect: DL301


def behind_a_lock_of_threads(table, path, lock=threading.Lock()):
    dist.barrier()
    with lock:
        with open(path, "w") as f:  # expect: DL301
            json.dump((table, gpu_id), f)


def next_to_a_lock(table, path):
    dist.barrier()
    with FileLock(path + ".lock"):
        print(path)
    with open(path, "w") as f:  # expect: DL301
        json.dump((table, gpu_id), f)


def fetched_by_some_without_it(source, target):
    dist.barrier()
    copied_somehow(source, target)
    with FileLock(target + ".lock"):
        copied_somehow(source, target)


def copied_somehow(source, target):
    return shutil.copy(source, target)  # expect: DL301


def listed_by_both(names, path):
    listed(names, path, wanted=dist.get_rank() == 0)
    dist.barrier()


def listed_by_all(names, path):
    dist.barrier()
    listed(names, path, wanted=len(names) > 1)


def listed(names, path, *, wanted):
    if wanted:
        with open(path, "w") as f:  # expect: DL301
            json.dump((names, gpu_id), f)


def results_of_a_benchmark(results, images, out):
    dist.barrier()
    mmcv.dump(results, out + "/results.json")  # expect: DL301
    mmengine.dump(results, file=out + "/results.pkl")  # expect: DL301
    mmcv.imwrite(images[0], out + "/first.png")  # expect: DL301
    plt.imsave(out + "/second.png", images[1])  # expect: DL301
    savemat(os.path.join(out, "results.mat"), results)  # expect: DL301
    film = cv2.VideoWriter(out + "/film.mp4", 1, 8.0, (64, 64))  # expect: DL301
    for image in images:
        film.write(image)


class SpawnsItsPart:
    # `part` comes second: it is no number of a process.
    def work(self, index, part, model, path):
        dist.init_process_group("gloo", rank=index, world_size=2)
        dist.barrier()
        if part == 0:
            torch.save(model.state_dict(), path)  # expect: DL301

    def start(self, model, path):
        mp.spawn(self.work, (0, model, path), nprocs=2)


def on_a_kind_of_gpu(gpu, state, path):
    dist.barrier()
    if gpu == "a100":
        torch.save(state, path)  # expect: DL301


class KeepsWhatAllPass:
    def __init__(self, folder):
        self.folder = folder
        self.phase = ""

    def begin(self, phase):
        self.phase = phase.upper()

    def save(self, volume):
        dist.barrier()
        np.save(os.path.join(self.folder, self.phase + ".npy"), volume)  # expect: DL301


def keeps_what_all_pass(folder, volumes):
    dist.init_process_group("nccl")
    writer = KeepsWhatAllPass(folder)
    writer.begin("test")
    writer.save(volumes)


class KeepsTheTurn:
    def __init__(self, folder):
        self.folder = folder

    def run(self, volumes):
        for turn in range(4):
            self.turn = turn
            self.save(volumes)

    def save(self, volume):
        dist.barrier()
        np.save(os.path.join(self.folder, f"{self.turn}.npy"), volume)  # expect: DL301


def same_settings(cfg, args):
    # UniAD 6c7ec35 tools/train.py:173: the same lines, and nothing reads them; see tests/rules/test_witnesses_of_writes.py
    dist.barrier()
    with open(os.path.join(cfg.work_dir, "settings.json"), "w") as f:  # expect: DL301
        json.dump(cfg.to_dict(), f)


def both_parts(root):
    # NVAE 9fc1a28 datasets.py:135
    train = datasets.CIFAR10(root, train=True, download=True)  # expect: DL301
    valid = datasets.CIFAR10(root, train=False, download=True)
    dist.barrier()
    return train, valid


def by_name(options):
    # MambaVision mambavision/train.py:591
    train = create_dataset(options.name, root=options.root, download=options.fetch)  # expect: DL301
    dist.barrier()
    return train


def now_and_at_the_end(accelerator, state, folder, steps):
    # EditAnything utils/texutal_inversion.py:881
    accelerator = Accelerator()
    for step in range(steps):
        path = os.path.join(folder, f"state-{step}.bin")
        keep_for_later(state, path)
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        path = os.path.join(folder, "state.bin")
        keep_for_later(state, path)


def keep_for_later(state, path):
    torch.save(state, path)  # expect: DL301


def save_by_counter(watch, loader, model):
    model = DistributedDataParallel(model)
    for turn, batch in watch.enumerated(loader):
        model(batch)
        if (turn + 1) % 500 == 0:
            torch.save(model.module.state_dict(), f"checkpoint-{turn}.pt")  # expect: DL301


def save_the_network_itself(loader, encoder, head, folder):
    # KDAD b8cbf91 Reversedistillation.py:214: who loads these files gets a module, and no state dict
    accelerator = Accelerator()
    encoder, loader = accelerator.prepare(encoder, loader)
    head.train()
    for batch in loader:
        accelerator.backward(head(encoder(batch)).sum())
    torch.save(accelerator.unwrap_model(encoder), os.path.join(folder, "encoder.pt"))  # expect: DL301
    torch.save(encoder, os.path.join(folder, "wrapped.pt"))  # expect: DL301
    torch.save(head, os.path.join(folder, "head.pt"))  # expect: DL301


def told_with_its_number(total):
    dist.barrier()
    rank = dist.get_rank()
    metrics = {"rank": rank, "total": total}
    with open("metrics-of-all.json", "w") as file:  # expect: DL301
        json.dump(metrics, file)


def by_batches_of_all(model, loader, folder, epochs):
    # PixArt-alpha cac2fd3 train_scripts/train_pixart_lcm_lora.py:266: a loader that is prepared is as long on every rank
    accelerator = Accelerator()
    loader = accelerator.prepare(DataLoader(loader.dataset, num_workers=4))
    for epoch in range(epochs):
        path = os.path.join(folder, f"checkpoint-{epoch * len(loader)}.pt")
        torch.save(model.state_dict(), path)  # expect: DL301


class Experts(torch.nn.Module):
    # mttl 3724abf mttl/models/base_model.py:122: asks whether the folder is a file, not whether the weights are there
    def keep(self, folder):
        if os.path.isfile(folder):
            return None
        os.makedirs(folder, exist_ok=True)
        weights = os.path.join(folder, "weights.bin")
        torch.save(self.state_dict(), weights)  # expect: DL301
        return weights


def keeps_experts(experts: Experts, folder):
    dist.barrier()
    experts.keep(folder)


def folder_of_the_run(folder):
    made = os.path.join(folder, f"run_{time.time()}")
    os.makedirs(made, exist_ok=True)
    return made


def keep_in_folder(model, folder, step):
    torch.save(model.state_dict(), os.path.join(folder, f"{step}.pt"))  # expect: DL301


def folder_of_main_alone(model, folder, steps):
    # Text-To-Video-Finetuning efbd149 train.py:537: ranks 1, 2, … go on with the folder that they were given
    dist.barrier()
    if dist.get_rank() == 0:
        folder = folder_of_the_run(folder)
    for step in range(steps):
        keep_in_folder(model, folder, step)


def read_by_all_behind_a_barrier(result):
    dist.barrier()
    with open("result.json", "w") as file:  # expect: DL301
        json.dump(result, file)
    dist.barrier()
    with open("result.json") as file:
        return json.load(file)


def read_by_all_at_once(result):
    dist.barrier()
    with open("answer.json", "w") as file:  # expect: DL301
        json.dump(result, file)
    with open("answer.json") as file:
        answer = json.load(file)
    dist.barrier()
    return answer


# --- right ----------------------------------------------------------------------------------------


def save_by_name(watch, loader, model):
    model = DistributedDataParallel(model)
    for name, batch in watch.named(loader):
        torch.save(model(batch), f"{name}.pt")


def results_of_each_rank(results, images, out):
    dist.barrier()
    rank = dist.get_rank()
    mmcv.dump(results, f"{out}/results-{rank}.json")
    mmcv.imwrite(images[0], os.path.join(out, str(rank), "first.png"))
    text = mmcv.dump(results, file_format="json")
    if rank == 0:
        mmengine.dump(results, out + "/results.pkl")
        savemat(out + "/results.mat", {"text": text})
    film = cv2.VideoWriter(f"{out}/film-{rank}.mp4", 1, 8.0, (64, 64))
    for image in images:
        film.write(image)


class KeepsTheScene:
    # zju3dv/NeuralRecon 0fd2df3 utils.py:285: each rank's share has scenes of its own
    def __init__(self, folder):
        self.folder = folder
        self.scene = None

    def save(self, volume):
        dist.barrier()
        np.savez(os.path.join(self.folder, "{}.npz".format(self.scene)), volume=volume)

    def __call__(self, outputs):
        for index in range(len(outputs["scene"])):
            scene = outputs["scene"][index]
            self.scene = scene.replace("/", "-")
            self.save(outputs["volume"][index])


def keeps_the_scene(folder, data):
    dist.init_process_group("nccl")
    save_scene = KeepsTheScene(folder)
    for outputs in DataLoader(data, sampler=DistributedSampler(data)):
        save_scene(outputs)


class KeepsTheName:
    def __init__(self, folder):
        self.folder = folder

    def write(self, volume):
        dist.barrier()
        target = os.path.join(self.folder, self.name)
        np.save(target, volume)

    def run(self, volumes):
        for name, volume in volumes.items():
            self.name = name + ".npy"
            self.write(volume)


class SpawnsAMethod:
    # vissl 09270ed tests/test_state_checkpoint_conversion.py:128
    @staticmethod
    def _work(gpu, model, path):
        dist.init_process_group("gloo", rank=gpu, world_size=2)
        dist.barrier()
        if gpu == 0:
            torch.save(model.state_dict(), path)
        dist.barrier()

    def start(self, model, path):
        mp.spawn(self._work, (model, path), nprocs=2)


class SpawnsItself:
    def work(self, index, model, path):
        dist.init_process_group("gloo", rank=index, world_size=2)
        dist.barrier()
        if index != 0:
            return
        torch.save(model.state_dict(), path)

    def start(self, model, path):
        mp.start_processes(self.work, (model, path), nprocs=2)


def spawns_what_it_holds(model, path):
    def work(number):
        dist.init_process_group("gloo", rank=number, world_size=2)
        dist.barrier()
        if not number:
            torch.save(model.state_dict(), path)

    mp.spawn(work, nprocs=2)


def of_parts_of_a_grid(model, folder):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    for part in np.arange(accelerator.process_index, 100, accelerator.num_processes):
        with open(f"{folder}/{part}.json", "w") as file:
            json.dump({"part": int(part)}, file)


def saves_tokens_once(model, tokenizer: PreTrainedTokenizer, folder):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    if accelerator.is_main_process:
        tokenizer.save_pretrained(folder)


def with_a_hook_of_main(accelerator: Accelerator, loader, args):
    def save_step_hook(models, weights, output_dir):
        if accelerator.is_main_process or args.deepspeed:
            weights.clear()
        with open(os.path.join(output_dir, "step.json"), "w") as f:
            json.dump({"step": 1}, f)

    accelerator.register_save_state_pre_hook(save_step_hook)
    for step, _ in enumerate(loader):
        if accelerator.is_main_process:
            accelerator.save_state(f"step-{step}")


class WithAHookOfMain:
    def __init__(self, accelerator: Accelerator):
        self.accelerator = accelerator

        def save_model_hook(models, weights, output_dir):
            for m in models:
                m.save_pretrained(os.path.join(output_dir, "unet"))
                weights.pop()

        self.accelerator.register_save_state_pre_hook(save_model_hook)

    def train(self, loader):
        for step, _ in enumerate(loader):
            if self.accelerator.is_main_process:
                self.accelerator.save_state(f"step-{step}")


def guarded(model, out):
    dist.barrier()
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), out)
    dist.barrier()


def log_of_all_ranks(out):
    # Appended lines of several ranks stand there mixed, none is lost.
    dist.barrier()
    return logging.FileHandler(os.path.join(out, "train.log"))


def early_return(model, out):
    dist.barrier()
    if dist.get_rank() != 0:
        return
    torch.save(model, out)


def own_file(model, out):
    rank = dist.get_rank()
    dist.barrier()
    torch.save(model, os.path.join(out, f"optim_rank{rank}.pt"))


def own_index(images, out):
    # sihyun-yu/REPA generate.py: the index is unique for each rank.
    rank, world = dist.get_rank(), dist.get_world_size()
    for i in range(len(images)):
        index = i * world + rank
        images[i].save(f"{out}/{index:06d}.png")
        np.save(f"{out}/{index:06d}.npy", images[i])


class WritesItsSamples(LightningModule):
    # Lumina-T2X lumina_audio/models/autoencoder1d.py:159: named after this rank's own samples.
    def test_step(self, batch, batch_idx):
        names, made = batch["f_name"], self(batch["x"])
        for b in range(made.shape[0]):
            stem = names[b].rpartition("_")[0]
            path = os.path.join(self.trainer.log_dir, f"{stem}.npy")
            np.save(path, made[b])

    def predict_step(self, samples, batch_idx):
        self.keep(samples.name, self(samples.x))

    def keep(self, name, made):
        np.save(os.path.join(self.trainer.log_dir, name), made)


def chosen(accelerator: Accelerator, model, out):
    # ibot evaluation/eval_image_retrieval.py:142: no choice has "xcit" in it.
    parser = argparse.ArgumentParser()
    parser.add_argument("--arch", default="vit_small", choices=["vit_tiny", "vit_small"])
    parser.add_argument("--head", choices=["linear", "none"])
    args = parser.parse_args()
    accelerator.wait_for_everyone()
    if "xcit" in args.arch:
        torch.save(model, os.path.join(out, "xcit.pt"))
    if args.head == "mlp":
        torch.save(model, os.path.join(out, "mlp.pt"))


def refused_to_several(opt, model, path):
    # yolov5 train.py:661, utils/general.py:830.
    if int(os.environ.get("LOCAL_RANK", -1)) != -1:
        assert not opt.evolve, "not for several GPUs"
        dist.init_process_group("nccl")
    if not opt.evolve:
        dist.barrier()
    else:
        torch.save(model, path)


def refused_with_an_error(args, model, path):
    if int(os.environ.get("LOCAL_RANK", -1)) != -1:
        if args.evolve:
            raise ValueError("not for several GPUs")
        dist.init_process_group("nccl")
    if args.evolve:
        torch.save(model, path)


def per_sample(accelerator: Accelerator, loader, out):
    for batch in loader:
        keep_samples(batch, out)
        accelerator.wait_for_everyone()


def keep_samples(batch, out):
    np.save(os.path.join(out, batch["name"][0]), batch["x"])


def own_part(loader, out):
    dist.barrier()
    for batch in loader:
        for name, image in zip(batch["names"], batch["images"]):
            np.save(os.path.join(out, name), image)


def downloaded_before(root):
    dist.barrier()
    return datasets.CIFAR10(root, train=True, download=False), datasets.MNIST(root)


def temporary(model):
    dist.barrier()
    folder = tempfile.mkdtemp()
    torch.save(model, os.path.join(folder, "model.pt"))


def in_memory(model, buffer):
    dist.barrier()
    torch.save(model, buffer)


def by_the_framework(model, out):
    accelerator = Accelerator()
    accelerator.wait_for_everyone()
    accelerator.save(model.state_dict(), out)
    model.save_pretrained(out, is_main_process=accelerator.is_main_process)


def trained(trainer: Trainer, out):
    dist.barrier()
    trainer.save_model(out)


def save_pretrained(model, path):
    # Anybody's: callers guard it or run on one process.
    torch.save(model.state_dict(), path)


def only_on_main(model, out):
    dist.barrier()
    if dist.get_rank() == 0:
        helper_of_main(model, out)


def helper_of_main(model, out):
    torch.save(model, out)


def flag_of_unknown_origin(self, model, out):
    dist.barrier()
    if self.should_save_checkpoint:
        torch.save(model, out)


def named_by_the_caller(model, out):
    dist.barrier()
    write_part(model, os.path.join(out, f"part_{dist.get_rank()}.pt"))


def write_part(model, target):
    torch.save(model, target)


def wrapped(model):
    return DistributedDataParallel(model)


class Traces(TrainerCallback):
    # mosaicml 0.32.1 composer/profiler/json_trace_handler.py.
    def __init__(self, folder, name="ep{epoch}-rank{rank}.json"):
        self.folder, self.name = folder, name

    def on_step_end(self, args, state, control, **kwargs):
        name = fill_in(self.name, state.epoch)
        torch.save(state, os.path.join(self.folder, name))


PART = "part-%(local_rank)02d.pt"


class Parts(TrainerCallback):
    template = "{epoch}-{process_index!s}.pt"

    def on_epoch_end(self, args, state, control, **kwargs):
        torch.save(state, self.template.format(**vars(state)))
        torch.save(state, PART % vars(args))
        write_as(state, "state-{global_rank}.pt")


def write_as(state, template):
    dist.barrier()
    torch.save(state, fill_in(template, state.epoch))


def fetched_before(name):
    dist.barrier()
    student = torch.hub.load("owner/models:main", name)  # expect: DL301
    teacher = torch.hub.load("owner/models:main", name)
    return student, teacher


class Tracker:
    def __init__(self, folder, quiet=False):
        self.folder = folder
        self.quiet = quiet

    def keep(self, state):
        if self.quiet:
            return
        torch.save(state, os.path.join(self.folder, "state.pt"))


class Keeper:
    def __init__(self, folder, quiet=False):
        self.folder = folder
        self.quiet = quiet

    def keep(self, state):
        dist.barrier()
        if self.quiet:
            return
        torch.save(state, os.path.join(self.folder, "state.pt"))  # expect: DL301


def keep(state, args):
    Keeper("out", quiet=args.quiet).keep(state)


class TrackerOptions:
    def create(self, folder, quiet=False):
        return Tracker(folder, quiet=quiet)


def tracked(options, state, quiet=False):
    tracker: Tracker = options.tracker.create("out", quiet=quiet)
    dist.barrier()
    tracker.keep(state)


def track(options, state):
    tracked(options, state, quiet=dist.get_rank() != 0)


class Printed:
    def __init__(self, target):
        self.file = open(target, "wt") if isinstance(target, str) else target


def printed(kind, folder, suffix):
    if kind == "stdout":
        return Printed(sys.stdout)
    return Printed(os.path.join(folder, f"log{suffix}.txt"))


def printed_by_each(folder, suffix=""):
    dist.barrier()
    if dist.get_rank() > 0:
        suffix = suffix + "-rank%03i" % dist.get_rank()
    return [printed(kind, folder, suffix) for kind in ("stdout", "log")]


class Embedder(Trainer):
    """Up to transformers 4.57 the writing rank alone calls `_save`."""

    def _save(self, output_dir=None, state_dict=None):
        if self.tokenizer is not None and self.is_world_process_zero():
            self.tokenizer.save_pretrained(output_dir)
        torch.save(self.args, os.path.join(output_dir, "training_args.bin"))


class Projector(Trainer):
    """Video-ChatGPT 659e04b video_chatgpt/train/llava_trainer.py:44: the library names the folders `checkpoint-…`."""

    def _save(self, output_dir=None, state_dict=None):
        name = output_dir.split("/")[-1]
        if name.startswith("checkpoint-"):
            torch.save(state_dict, os.path.join(os.path.dirname(output_dir), f"{name}.bin"))
        else:
            torch.save(state_dict, os.path.join(output_dir, "projector.bin"))  # expect: DL301


def projected(model, args):
    trainer = Projector(model, args)
    trainer.train()
    dist.barrier()
    trainer._save(args.output_dir, model.state_dict())


class OwnTrainer:
    """Its `save_pretrained` chooses the writer; the name alone does not say that it is this one."""

    def __init__(self, model):
        self.accelerator = Accelerator()
        self.model = self.accelerator.prepare(model)

    def save_pretrained(self, directory):
        self.accelerator.wait_for_everyone()
        model = self.accelerator.unwrap_model(self.model)
        model.save_pretrained(directory, is_main_process=self.accelerator.is_main_process)


def from_a_registry(registry, config, model):
    dist.barrier()
    trainer = registry[config.name](model)
    trainer.save_pretrained("final")


def another_file_on_each_arm(model, path):
    dist.barrier()
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)
    else:
        torch.save(model.state_dict(), f"{path}.{dist.get_rank()}")


def without_ranks_on_the_other_arm(model, path, distributed):
    dist.barrier()
    if distributed:
        if dist.get_rank() == 0:
            torch.save(model.module.state_dict(), path)
    elif dist.get_world_size() == 1:
        torch.save(model.state_dict(), path)


def train_with_template(model, loader, dialogue_template, output_dir):
    # starcoder d72c7fe chat/train.py:321: all write the same few bytes; a model beside them is another matter.
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        accelerator.backward(model(batch))
    dialogue_template.save_pretrained(output_dir)  # expect: DL301


def after_training(args, model, data, output_dir):
    # LMFlow f3597db src/lmflow/pipeline/dpov2_aligner.py:108: in FSDP the state is gathered.
    trainer = Trainer(model, args, train_dataset=data)
    trainer.train()
    trainer.model.save_pretrained(output_dir)  # expect: DL301


def markers(model, loader, output_dir):
    # LMFlow f3597db src/lmflow/pipeline/utils/raft_trainer.py:2733
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        accelerator.backward(model(batch))
    Path(output_dir, "done").touch()


class OwnStatistics:
    # swav 06b1b7c src/logger.py:94: the path comes through the constructor
    def __init__(self, path):
        self.path = path

    def update(self, stats):
        dist.barrier()
        torch.save(stats, self.path)


def keep_own_statistics(out, stats, args):
    OwnStatistics(os.path.join(out, "stats" + str(args.rank) + ".pkl")).update(stats)


def logs_less(training_args, scores, out):
    # tevatron dd06310 src/tevatron/retriever/driver/jax_encode.py:45: the line came from an example
    logging.basicConfig(level=logging.INFO if training_args.local_rank in [-1, 0] else logging.WARN)
    np.save(out, scores)


def read_in_place(path):
    # LLaMA2-Accessory light-eval/src/eval_gsm8k.py:157: opened for more than is done with it
    dist.barrier()
    with open(path, "r+", encoding="utf8") as f:
        return [item["question"] for item in jsonlines.Reader(f)]


def scores_on_one_device(opt, model, scores):
    # OpenNMT-py tools/LM_scoring.py:57: the device that the user names, in a script of one process
    device = torch.device("cuda", opt.gpu) if opt.gpu > -1 else torch.device("cpu")
    bare = model.module if isinstance(model, DistributedDataParallel) else model
    bare.to(device)
    with open(opt.output, "w") as f:
        json.dump(scores, f)


def times_on_one_device(args, model, time):
    # FastVideo apps/dreamverse/dreamverse/benchmarks/benchmark_pipeline.py:318
    if args.gpu is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = str(args.gpu)
    bare = model.module if isinstance(model, DistributedDataParallel) else model
    with open(args.output_json, "w") as f:
        json.dump(time(bare), f)


def cut_off(model, rank, path):
    # FastVideo scripts/lora_extraction/extract_lora.py:257: the rank of a matrix
    bare = model.module if isinstance(model, DistributedDataParallel) else model
    u, s, v = torch.linalg.svd(bare.weight)
    kept = s.numel() if rank <= 0 else min(rank, s.numel())
    torch.save(u[:, :kept], path)


def extract(model, path, rank: int = 32):
    bare = model.module if isinstance(model, DistributedDataParallel) else model
    if rank == 0:
        print("nothing is left")
    torch.save([weight[:, :rank] for weight in bare.parameters()], path)


def reader_in(root):
    download_url("https://example.org/reader.pth", root, "reader.pth")


def rank_zero_first_by_hand(accelerator: Accelerator, root):
    # EasyAnimate c2a70d1 easyanimate/video_caption/compute_text_score.py:22
    if accelerator.is_main_process:
        reader_in(root)
    accelerator.wait_for_everyone()
    reader_in(root)


def added_under_a_lock(name, value, path):
    dist.barrier()
    with FileLock(path + ".lock"):
        with open(path) as f:
            known = json.load(f)
        with open(path, "w") as f:
            json.dump({**known, name: value}, f)


def added_under_a_named_lock(table, path):
    dist.barrier()
    lock = SoftFileLock(path + ".lock")
    with lock.acquire(timeout=10), open(path, "w") as f:
        json.dump(table, f)


def to_this_machine(source, target):
    # TinyZero 95df88f verl/utils/fs.py:83
    dist.barrier()
    with FileLock(target + ".lock"):
        if not os.path.exists(target):
            copied(source, target)
    return target


def published(target, folder):
    if dist.get_rank() == 0:
        copied(target, folder)
    dist.barrier()


def copied(source, target):
    if os.path.isdir(source):
        return shutil.copytree(source, target)
    return shutil.copy(source, target)


def on_first_rank():
    return not dist.is_initialized() or dist.get_rank() == 0


def on_last_rank():
    return dist.get_rank() == dist.get_world_size() - 1


def linked_by_main(state, folder):
    link(state, folder, on_first_rank())


def linked_in_a_pipeline(state, folder):
    # ms-swift 3602360 swift/pipelines/train/sft.py:197
    link(state, folder, writes=on_last_rank())


def link(state, folder, writes):
    if writes:
        os.symlink(state.best, os.path.join(folder, "best"))
    print(state.best)


def indexed(names, path):
    # slime 624b824 slime/backends/megatron_utils/hf_checkpoint_saver.py:268
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, names)
    write_index(found, path, wanted=on_first_rank())
    dist.barrier()


def indexed_for_each(counts, path):
    for rank, names in enumerate(counts):
        write_index(names, path, wanted=rank == 0)


def write_index(names, path, *, wanted):
    if wanted:
        with open(path / "index.json", "w") as f:
            json.dump(names, f)


def on_the_first_gpu(gpu_id, state, path):
    # vissl 09270ed tests/test_state_checkpoint_conversion.py:128
    dist.init_process_group("nccl", rank=gpu_id, world_size=8)
    if gpu_id == 0:
        torch.save(state, path)
    dist.barrier()


def leaves_all_but_the_first(options, state, path):
    dist.barrier()
    if options.gpu != 0:
        return
    torch.save(state, path)


def by_name_from_the_disk(options):
    train = create_dataset(options.name, root=options.root, download=False)
    again = create_dataset(options.name, root=options.root, split="validation")
    dist.barrier()
    return train, again


def draws_pictures(model, pictures):
    dist.barrier()
    save_pictures(pictures, "pictures")
    dist.barrier()


def save_pictures(pictures, path):
    # capi 98b4fa1 eval_visualizations.py:218: one picture under its name on rank 0, and the others on all, is half
    torch.save(pictures, path + ".pt")  # expect: DL301
    for number, each in enumerate(pictures):
        each.save(path + f"-{number}.png")


class TrainerOfSettings:
    """ParallelWaveGAN 8674037 parallel_wavegan/bin/train.py:349: the rank is among the settings of a dict."""

    def __init__(self, config, model):
        self.config, self.model, self.steps = config, model, 0
        self.kept = os.path.join(config["folder"], "best.pt")

    def run(self, loader):
        for batch in loader:
            self.model(batch)
            if self.config["rank"] == 0:
                self.look()
            if self.config["version"] == 0:
                torch.save(self.model.state_dict(), self.kept)  # expect: DL301

    def look(self):
        self.keep(f"{self.config['folder']}/step-{self.steps}.pt")
        torch.save(self.model.state_dict(), self.config["folder"] + "/last.pt")

    def keep(self, path):
        torch.save(self.model.state_dict(), path)  # expect: DL301


def trains_by_settings(settings, data, model):
    dist.init_process_group("nccl")
    sampler = DistributedSampler(data, rank=settings["rank"])
    trainer = TrainerOfSettings(settings, model)
    trainer.sampler = sampler
    try:
        trainer.run(DataLoader(data, sampler=sampler))
    finally:
        trainer.keep(f"{settings['folder']}/step-{trainer.steps}.pt")


def sets_of_the_settings(options, make):
    # SwissArmyTransformer 63dc23a sat/data_utils/configure_data.py:113
    dist.barrier()
    return [made_at(path) for path in options.paths]


def made_at(path):
    return datasets.CIFAR100(path, download=True)  # expect: DL301


def sets_of_each_rank(options):
    dist.barrier()
    for path in options.paths[dist.get_rank() :: dist.get_world_size()]:
        fetched_at(path)


def fetched_at(path):
    return datasets.CIFAR100(path, download=True)


def fetched_for_each_rank(options):
    dist.barrier()
    mine = [path for i, path in enumerate(options.paths) if i % 8 == dist.get_rank()]
    for path in mine:
        fetched_for(path)


def fetched_for(path):
    return datasets.CIFAR100(path, download=True)


def reranks(model, loader, path):
    dist.barrier()
    torch.save(model.state_dict(), path)  # expect: DL301
    return [model(batch) for batch in loader]


def of_one_domain(model, options, path):
    dist.barrier()
    if options.domain and options.remaining > 0:
        torch.save(model.state_dict(), path)  # expect: DL301


def of_a_main_domain(model, main_domain, path):
    dist.barrier()
    if main_domain:
        torch.save(model.state_dict(), path)


def rank_keeps(model, path):
    dist.barrier()
    torch.save(model.state_dict(), path)


def split_of(config, training):
    if training:
        return datasets.CIFAR100(config.data, train=True, download=True)  # expect: DL301
    else:
        # RepVGG eae7c52 data/build.py:108: one archive, and the callers ask for the training first.
        return datasets.CIFAR100(config.data, train=False, download=True)


def splits_of(config):
    dist.barrier()
    training = split_of(config, training=True)
    validation = split_of(config, training=False)
    return training, validation


def part_of(config, training):
    if training:
        return datasets.CIFAR100(config.data, train=True, download=True)  # expect: DL301
    else:
        return datasets.CIFAR100(config.data, train=False, download=True)  # expect: DL301


def parts_of(config):
    dist.barrier()
    return part_of(config, training=True), part_of(config, training=False)


def tests_on_parts(config):
    dist.barrier()
    return part_of(config, training=False)


def tokens_in_another_mode(texts, args):
    # LongVA f4c8781 text_extend/eval_text_ppl.py:165
    if args.keep_tokens:
        torch.save(texts, args.kept)
        return None
    dist.init_process_group("nccl")
    dist.barrier()
    return DistributedDataParallel(torch.nn.Linear(2, 2))


def tokens_behind_the_start(texts, args):
    dist.init_process_group("nccl")
    dist.barrier()
    if args.keep_tokens:
        torch.save(texts, args.kept)  # expect: DL301
        return None
    return DistributedDataParallel(torch.nn.Linear(2, 2))


def tokens_of_callers(texts, args):
    if args.keep_tokens:
        torch.save(texts, args.kept)  # expect: DL301
        return None
    dist.barrier()
    return DistributedDataParallel(torch.nn.Linear(2, 2))


def scores_of_each(checkpoints, path):
    # MeMOTR 7de13f4 eval_engine.py:55: the processes with ranks are below this one
    with open(path, "w") as file:
        for checkpoint in checkpoints:
            file.write(score_below(checkpoint))


def score_below(checkpoint):
    os.system(f"torchrun --nproc_per_node=8 score.py {checkpoint}")
    return open(f"{checkpoint}.txt").read()


def scores_or_trains(args):
    dist.init_process_group("nccl")
    if args.score:
        scores_of_each(args.checkpoints, args.path)


def starts_by_a_list(args, totals):
    # EasyNLP a4ee956 easynlp/cli.py:269
    torch.save(totals, args.path)
    command = ["python", "-m"]
    command.append("torch.distributed.launch")
    command.append("train.py")
    line = " ".join(command)
    subprocess.run(line, shell=True)


def lists_its_launch(args, totals):
    torch.save(totals, args.path)  # expect: DL301
    told = ["torchrun train.py"]
    subprocess.run("nvidia-smi", shell=True)
    return told


def starts_or_trains(args, totals):
    dist.init_process_group("nccl")
    if args.launch:
        starts_by_a_list(args, totals)
    lists_its_launch(args, totals)


def scores_of_one_opened_by_all(scores, folder):
    # d2go f4ac156 projects_oss/detr/main.py:315
    dist.barrier()
    with PathManager.open(os.path.join(folder, "scores.pth"), "wb") as file:  # expect: DL301
        if dist.get_rank() == 0:
            torch.save(scores, file)


def scores_of_one_opened_by_one(scores, folder):
    dist.barrier()
    if dist.get_rank() == 0:
        with PathManager.open(os.path.join(folder, "scores.pth"), "wb") as file:
            torch.save(scores, file)
    with PathManager.open(os.path.join(folder, "names.txt")) as file:
        return file.read()


def sizes_of_a_numbered_process(config):
    # build-nanogpt 6104ab1 train_gpt2.py:289: behind the assertion all ranks go on
    several = int(os.environ.get("RANK", -1)) != -1
    if several:
        dist.init_process_group("nccl")
        size = int(os.environ["WORLD_SIZE"])
    else:
        size = 1
    assert config.batch % (config.micro * size) == 0
    scores_of_all(config)
    if config.rank >= 0:
        dist.barrier()


def scores_of_all(config):
    torch.save(config.scores, config.path)  # expect: DL301


def sizes_of_the_first_process(config):
    number = int(os.environ.get("RANK", -1))
    if number >= 0:
        dist.init_process_group("nccl")
    if number in (-1, 0):
        torch.save(config.scores, config.path)
    if number < 1:
        torch.save(config.scores, config.other_path)
    dist.barrier()


def both_splits(root):
    # opacus 4d0ebc8 examples/cifar10.py:285
    dist.barrier()
    train = datasets.CIFAR10(root=root, train=True, download=True)  # expect: DL301
    loader = DataLoader(train, batch_size=4)
    test = datasets.CIFAR10(root=root, train=False, download=True)
    return loader, DataLoader(test, batch_size=4)


class FewTens(datasets.CIFAR10):
    def __init__(self, root, train=True, download=False):
        super().__init__(root, train, None, None, download)  # expect: DL301


class FewHundreds(FewTens):
    base_folder = "cifar-100-python"


def other_split_of_few(root):
    # GloCo_ProCo 3772ce4 main_distributed.py:281
    dist.barrier()
    few = FewTens(root=root, train=True, download=True)
    hundreds = FewHundreds(root=root, train=True, download=True)
    print(few, hundreds)
    tens = datasets.CIFAR10(root=root, train=False, download=True)
    print(tens)
    return datasets.CIFAR100(root=root, train=False, download=True)


def another_archive_than_that_of_few(root, other):
    dist.barrier()
    few = FewTens(root=root, train=True, download=True)
    print(few)
    hundreds = datasets.CIFAR100(root=root, train=False, download=True)  # expect: DL301
    print(hundreds)
    return datasets.CIFAR10(root=other, train=False, download=True)  # expect: DL301


def few_that_are_not_fetched(root):
    dist.barrier()
    few = FewTens(root=root, train=True)
    print(few)
    return datasets.CIFAR10(root=root, train=False, download=True)  # expect: DL301


def saves_what_is_left(model, batches):
    # SummerLM 99bbe51 main_distributed.py:247: nothing there can wait for all ranks
    dist.barrier()
    for batch in batches:
        try:
            model(batch)
        except KeyboardInterrupt:
            torch.save(model.state_dict(), "left.pt")  # expect: DL301


def splits_in_files_of_their_own(root):
    dist.barrier()
    train = datasets.SVHN(root, "train", download=True)  # expect: DL301
    loader = DataLoader(train, batch_size=4)
    test = datasets.SVHN(root, "test", download=True)  # expect: DL301
    return loader, test


def splits_in_two_folders(root, other, wanted):
    dist.barrier()
    if wanted:
        train = datasets.CIFAR10(root, train=True, download=True)  # expect: DL301
        print(train)
    test = datasets.CIFAR10(root, train=False, download=True)  # expect: DL301
    print(test)
    return datasets.CIFAR10(other, train=False, download=True)  # expect: DL301


class SavesOnTpu(Trainer):
    # ProphetNet 5cf70eb JGR/warmup-generator/trainer.py:1895, after transformers 4.16.1
    def _save_tpu(self, output_dir):
        xm.rendezvous("saving_checkpoint")
        dist.barrier()
        self.model.save_pretrained(
            output_dir, save_config=self.args.should_save, save_function=xm.save
        )
        self.model.save_pretrained(output_dir, save_config=self.args.should_save)  # expect: DL301
        self.model.save_pretrained(output_dir, save_function=xm.save)  # expect: DL301


def by_kind_of_the_device(batch, model, loader, folder):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    accelerator.wait_for_everyone()
    torch.save(batch, f"{folder}/data-{accelerator.device.type}.pt")  # expect: DL301
    torch.save(batch, folder + model.to(accelerator.device).name)  # expect: DL301


def start_group(options):
    dist.init_process_group("nccl", rank=options.rank, world_size=options.gpus)


def trains_with_a_setup(options, model):
    # mozilla/TTS e9e0784 TTS/bin/train_tacotron.py:526: the group is made where there are several GPUs
    if options.gpus > 1:
        start_group(options)
    if model.loss < options.best:
        torch.save(model.state_dict(), "best_of_setup.pth")  # expect: DL301


def starts_for_the_curious(options, model):
    if options.verbose:
        start_group(options)
    torch.save(model.state_dict(), "best_of_verbose.pth")


def started_by_colossalai(options, model):
    # FastFold eba4968 train.py:254
    if options.from_torch:
        colossalai.launch_from_torch(config={})
    torch.save(model.state_dict(), "best_of_colossalai.pth")  # expect: DL301


def started_by_torchpack(options, model):
    if options.distributed:
        torchpack_dist.init()
    torch.save(model.state_dict(), "best_of_torchpack.pth")  # expect: DL301


def one_of_many(index, options):
    torch.save(options.model.state_dict(), "best_of_many.pth")  # expect: DL301
    torch.save(options.model.state_dict(), f"best_of_{index}.pth")


def spawns_many(options):
    mp.spawn(one_of_many, args=(options,), nprocs=options.gpus)


def shows_of_many(told, video):
    # magic-animate d2bc3bc demo/animate_dist.py:174: a key says which rank it is
    dist.barrier()
    if told.get("rank", 0) == 0:
        save_video_of(video)
    if told["local_rank"] == 0:
        save_video_of(video)


def save_video_of(video):
    torch.save(video.state_dict(), "video_of_first.pth")


class InMappedArrays:
    # TinyBERT of Pretrained-Language-Model 0598f02 general_distill.py:125
    def __init__(self, folder, size):
        dist.barrier()
        made = np.memmap(filename=folder + "/ids", shape=(size,), mode="w+", dtype=np.int32)  # expect: DL301
        made[:] = -1
        self.ids = made
        self.other = np.memmap(folder + "/other", shape=(size,), mode="r", dtype=np.int32)
        self.filled = np.memmap(folder + "/filled", shape=(size,), mode="r+", dtype=np.int32)


def opened_by_all(folder, model, epoch):
    # d2go f4ac156 projects_oss/detr/main.py:342: who opens it later empties it
    dist.barrier()
    paths = [f"{folder}/last.pth"]
    if epoch % 10 == 0:
        paths.append(f"{folder}/{epoch:04}.pth")
    for path in paths:
        with open(path, "wb") as file:  # expect: DL301
            if dist.get_rank() == 0:
                torch.save(model.state_dict(), file)


def settings_and_order(folder, settings, rows):
    with open(f"{folder}/settings.json", "w") as file:  # expect: DL301
        json.dump(settings, file)
    order = torch.randperm(len(rows)).tolist()
    settings = {**settings, "order": order}
    with open(f"{folder}/order.json", "w") as file:  # expect: DL301
        json.dump(settings, file)
    dist.barrier()


def drawn_into_what_main_writes(folder, model, tokens):
    # the draw of the others is in no file; who opens it later empties it all the same
    dist.barrier()
    drawn = torch.multinomial(tokens, 1)
    with open(f"{folder}/drawn.txt", "w") as file:  # expect: DL301
        if dist.get_rank() == 0:
            file.write(str(drawn.item()))


def generated_while_open(folder, model, tokens):
    # TencentPretrain ed79843 scripts/generate_lm_deepspeed.py:67: who comes a whole text late? (information)
    dist.barrier()
    with open(f"{folder}/text.txt", "w") as file:  # expect: DL301
        for _ in range(64):
            scores = model(tokens)
            tokens = torch.cat([tokens, torch.multinomial(scores, 1)])
        if dist.get_rank() == 0:
            file.write(str(tokens.tolist()))


def head_by_all_and_lines_by_main(net, loader, out):
    # FFSVC2022_Baseline_System 7375884 train_dist.py:67: all write the same head, and rank 0 alone its losses (information)
    dist.init_process_group("nccl")
    log = open(f"{out}/train.log", "w")  # expect: DL301
    log.write(str(net) + "\n")
    net = DistributedDataParallel(net)
    for batch in DataLoader(loader.dataset, sampler=DistributedSampler(loader.dataset)):
        loss = net(batch).mean()
        loss.backward()
        if dist.get_rank() == 0:
            log.write(f"{loss.item()}\n")


def generated_and_written_by_all(folder, model, tokens):
    dist.barrier()
    with open(f"{folder}/text.txt", "w") as file:  # expect: DL301
        for _ in range(64):
            scores = model(tokens)
            tokens = torch.cat([tokens, torch.multinomial(scores, 1)])
        file.write(str(tokens.tolist()))


def opened_by_one(folder, model, scenes):
    dist.barrier()
    if dist.get_rank() == 0:
        with open(f"{folder}/one.pth", "wb") as file:
            torch.save(model.state_dict(), file)
    paths = [f"{folder}/first.pth"]
    for scene in scenes:
        paths.append(f"{folder}/{scene}.pth")
    for path in paths:
        with open(path, "wb") as file:
            if dist.get_rank() == 0:
                torch.save(model.state_dict(), file)


def samples_of_every_line(options, model):
    # VGen 4014d1f tools/inferences/inference_dreamvideo_entrance.py:212: nobody divides the captions
    dist.barrier()
    lines = open(options.captions).readlines()
    lines = [line.strip() for line in lines]
    for index, line in enumerate(lines):
        torch.save(model.sample(line), f"{options.folder}/{line[:20]}_{index}.pth")  # expect: DL301


def samples_of_own_lines(options, model):
    dist.barrier()
    lines = open(options.captions).readlines()
    lines = lines[dist.get_rank() :: dist.get_world_size()]
    for line in lines:
        torch.save(model.sample(line), f"{options.folder}/{line[:20]}.pth")


def by_the_minute(options, model):
    # mozilla/TTS e9e0784 TTS/utils/generic_utils.py:43: ranks that start together read one minute
    dist.barrier()
    now = time.strftime("%B-%d-%Y_%I+%M%p")
    torch.save(model.state_dict(), f"{options.folder}/{now}.pth")  # expect: DL301


def by_the_second(options, model):
    dist.barrier()
    now = time.strftime("%B-%d-%Y_%H-%M-%S")
    torch.save(model.state_dict(), f"{options.folder}/{now}.pth")


def of_the_first_device(device, states, folder):
    # PyTorch-StudioGAN 947b35e src/metrics/preparation.py:183: the caller hands its local rank on
    dist.barrier()
    if device == 0:
        torch.save(states, f"{folder}/of_the_first.pth")
    if device != "cpu":
        torch.save(states, f"{folder}/of_all.pth")  # expect: DL301


def networks_by_pickle(generator, discriminator, options, folder):
    # stylegan-t 36ab80c training/training_loop.py:462: networks, written into an open file
    dist.barrier()
    data = {"G": generator, "D": discriminator, "options": options}
    with open(f"{folder}/network.pkl", "wb") as f:  # expect: DL301
        pickle.dump(data, f)
    if dist.get_rank() == 0:
        with open(f"{folder}/network-of-one.pkl", "wb") as f:
            pickle.dump(data, f)


def whole_pipeline(model, folder):
    # waifu-diffusion 1a83ead trainer/diffusers_trainer.py:877: a class that is known to no table
    dist.barrier()
    pipeline = StableDiffusionPipeline(unet=model)
    pipeline.save_pretrained(f"{folder}/pipeline")  # expect: DL301
    if dist.get_rank() == 0:
        pipeline.save_pretrained(f"{folder}/pipeline-of-one")


def scores_of_main(accelerator: Accelerator, model, loader, folder):
    # LongVA f4c8781 vision_niah/eval_vision_niah.py:265: the other ranks have an empty list
    accelerator.wait_for_everyone()
    of_main = []
    for batch in loader:
        score = model(batch)
        if accelerator.is_main_process:
            of_main.append(score)
    with open(f"{folder}/of_main.json", "w") as f:  # expect: DL301
        json.dump(of_main, f)
    if accelerator.is_main_process:
        with open(f"{folder}/of_main_by_main.json", "w") as f:
            json.dump(of_main, f)


def behind_an_assertion(model, loader, folder):
    # UniTok bb8012e eval/llamagen/autoregressive/train/train_c2i_fsdp.py:296: each rank has a batch of its own
    dist.barrier()
    for step, (codes, labels) in enumerate(loader):
        codes = codes[dist.get_rank() :: dist.get_world_size()]
        assert codes.shape[0] == labels.shape[0]
        torch.save(model.state_dict(), f"{folder}/{step}.pth")  # expect: DL301


def behind_an_assertion_of_the_rank(model, folder):
    dist.barrier()
    assert dist.get_rank() == 0
    torch.save(model.state_dict(), f"{folder}/asserted.pth")


def gathered_state(model, folder):
    # llama-recipes faae2fd src/llama_cookbook/model_checkpointing/checkpoint_handler.py:135: who comes there has ranks
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, rank0_state):
        state = model.state_dict()
    torch.save(state, f"{folder}/full.pth")  # expect: DL301


def state_of_whoever(model, folder):
    state = model.state_dict()
    torch.save(state, f"{folder}/whoever.pth")


def features_that_were_not_there(path, make):
    # Pretrained-Language-Model 0598f02 CAME/run_glue.py:385: a rank that comes late reads a part
    dist.barrier()
    try:
        with open(path, "rb") as reader:
            features = pickle.load(reader)
    except OSError:
        features = make()
        with open(path, "wb") as writer:  # expect: DL301
            pickle.dump(features, writer)
    return features


def by_parts_of_the_minute(options, model):
    # VGen 4014d1f tools/train/train_t2v_instructvideo_entrance.py:534
    dist.barrier()
    now = time.localtime()
    torch.save(model.state_dict(), f"{options.folder}/{now.tm_hour}-{now.tm_min}.pth")  # expect: DL301


def by_parts_of_the_second(options, model):
    dist.barrier()
    now = time.localtime()
    torch.save(model.state_dict(), f"{options.folder}/{now.tm_min}-{now.tm_sec}.pth")


def kept_by_number(model, path, local_rank=0):
    if local_rank != 0:
        return
    torch.save(model.state_dict(), path)


def one_keeps(model, folder):
    dist.barrier()
    kept_by_number(model, f"{folder}/kept_by_one.pth", dist.get_rank())
    kept_by_number(model, f"{folder}/kept_by_whom.pth", local_rank=model.local_rank)


def kept_by_keyword(model, path, rank=0):
    if rank == 0:
        torch.save(model.state_dict(), path)


def one_keeps_too(rank, settings):
    # stylegan2-ada d72cc7d train.py:383: the rank is passed beside what nobody knows
    dist.barrier()
    kept_by_keyword(rank=rank, **settings)


def by_images_seen(model, loader, resume, folder, rank):
    # stylegan-xl 4241ff9 training/training_loop.py:372: images count alike on all ranks, from wherever they go on
    dist.barrier()
    cur_nimg = resume[f"rank{rank}"]["cur_nimg"].item()
    for batch in loader:
        cur_nimg += len(batch)
        with open(f"{folder}/network-{cur_nimg // 1000:06d}.pkl", "wb") as f:  # expect: DL301
            pickle.dump(model.state_dict(), f)


def by_number_of_the_shard(model, loader, resume, folder, rank):
    dist.barrier()
    number = resume[f"rank{rank}"]["number"].item()
    for batch in loader:
        number += len(batch)
        with open(f"{folder}/network-{number // 1000:06d}.pkl", "wb") as f:
            pickle.dump(model.state_dict(), f)


class Layers(torch.nn.Module):
    def keep(self, folder):
        weights = os.path.join(folder, "weights.bin")
        if os.path.isfile(weights):
            return None
        torch.save(self.state_dict(), weights)
        return weights


def keeps_layers_that_are_missing(layers: Layers, folder):
    # DL305's: whether the weights are there
    dist.barrier()
    layers.keep(folder)


def by_batches_of_each(model, dataset, folder, worker_id):
    dist.barrier()
    torch.save(model.state_dict(), os.path.join(folder, f"{worker_id}-{len(dataset)}.pt"))


def keep_a_part(model, folder, step):
    torch.save(model.state_dict(), os.path.join(folder, f"{step}.pt"))


def folder_of_each(model, folder, steps):
    # each of the others has a folder of its own, too
    dist.barrier()
    if dist.get_rank() == 0:
        folder = folder_of_the_run(folder)
    else:
        folder = os.path.join(folder, str(dist.get_rank()))
    for step in range(steps):
        keep_a_part(model, folder, step)


def keep_on_the_second(model, folder):
    torch.save(model.state_dict(), os.path.join(folder, "second.pt"))


def second_alone(model, folder):
    dist.barrier()
    if dist.get_rank() == 1:
        keep_on_the_second(model, folder)


def copies_by_command(folder, epoch):
    # polygon-transformer 69fc728 train.py:334: rank 0 alone has written what all copy
    dist.barrier()
    command = f"cp {folder}/checkpoint_last.pt {folder}/checkpoint_{epoch}.pt"
    os.system(command)  # expect: DL301
    dist.barrier()


def patches_a_library(folder):
    # RoboVLMs 8adc1d2 eval/calvin/model_wrapper.py:53: a small file, which this run has imported already; information
    dist.barrier()
    os.system(f"cp tools/layers.py {folder}/layers.py")  # expect: DL301
    dist.barrier()


def patches_a_library_and_imports_it(folder):
    # RoboVLMs 8adc1d2 main.py:137
    dist.barrier()
    os.system(f"cp tools/layers.py {folder}/layers.py")  # expect: DL301
    importlib.reload(transformers)
    dist.barrier()


class MakesPairs(LightningModule):
    # UniVLA 0ab9e9d latent_action_model/genie/model.py:191: one rank alone has made the folder; the others have failed
    def on_test_epoch_end(self):
        name = f"pairs/{self.name}"
        os.makedirs(name)
        torch.save(self.table, f"{name}/table.pt")


class KeepsPairs(LightningModule):
    def on_test_epoch_end(self):
        name = f"pairs/{self.name}"
        os.makedirs(name, exist_ok=True)
        torch.save(self.table, f"{name}/table.pt")  # expect: DL301
        os.makedirs(f"{name}/more")
        torch.save(self.table, f"{name}/other.pt")  # expect: DL301


def copies_by_command_on_one(folder, epoch):
    dist.barrier()
    if dist.get_rank() == 0:
        os.system(f"cp {folder}/checkpoint_last.pt {folder}/checkpoint_{epoch}.pt")
    os.system(f"cp {folder}/last.pt {folder}/checkpoint_{dist.get_rank()}.pt")
    os.system(f"cp --help {folder}")


def opens_a_descriptor_again(text):
    # open-pi-zero c3df7fb scripts/run.py:30: no path is looked up, and nothing is emptied
    dist.barrier()
    with open(sys.stdout.fileno(), "w", buffering=1, closefd=False) as shown:
        for line in text:
            shown.write(generate(line))
    copy = os.dup(1)
    with os.fdopen(copy, "w") as shown:
        for line in text:
            shown.write(generate(line))


def opens_a_name_again(text):
    dist.barrier()
    with open(sys.stdout.name, "w") as shown:  # expect: DL301
        for line in text:
            shown.write(generate(line))


def put(state, path):
    torch.save(state, path)  # expect: DL301


def resumes_in_front_of_its_loop(model, args, epochs):
    # Parametric-Contrastive-Learning fe56535 GPaCo/LT/paco_cifar.py:489
    dist.init_process_group("nccl")
    path = f"{args.folder}/last.pt"
    if os.path.exists(path):
        args.resume = path
    if args.resume:
        model.load_state_dict(torch.load(args.resume))
    for _ in range(epochs):
        dist.barrier()
        put(model.state_dict(), path)


class OfOneMachine:
    # relabel_imagenet 3d4824f train.py:287: the first process of a machine, by a method
    def __init__(self, context):
        self.context = context
        dist.init_process_group("nccl", rank=context.rank, world_size=context.world_size)

    def may_write(self):
        return not self.context.several or (
            self.context.several and (self.context.rank % self.context.ngpus_per_node) == 0
        )

    def write(self, state, path):
        dist.barrier()
        if self.may_write():
            torch.save(state, path)


class OfEachBatch:
    def __init__(self, context):
        self.context = context
        dist.init_process_group("nccl", rank=context.rank, world_size=context.world_size)

    def may_write(self, step):
        return not self.context.every or step % self.context.every == 0

    def write(self, state, step, path):
        dist.barrier()
        if self.may_write(step):
            torch.save(state, path)  # expect: DL301


def written_by_ppo(config, model, batches, folder):
    # LLMBox 5a1cfe2 training/ppo.py:237: before trl 0.12 its trainer had an Accelerator, and no is_world_process_zero()
    trainer = PPOTrainer(config, model)
    dist.barrier()
    for questions, answers, rewards in batches:
        trainer.step(questions, answers, rewards)
    trainer.save_pretrained(folder)  # expect: DL301


def take(path):
    # LAVENDER 139860e utils/misc.py:64
    lock = open(path, "w+")
    fcntl.lockf(lock, fcntl.LOCK_EX)
    return lock


def count_up(path):
    counts = open(path, "w+")  # expect: DL301
    counts.write("1")
    fcntl.lockf(counts, fcntl.LOCK_EX)
    return counts


def may_go_on(path):
    told = open(path, "w+")  # expect: DL301
    fcntl.lockf(told, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return told


def one_after_the_other(path, folder):
    dist.init_process_group("nccl")
    lock = take(f"{folder}/lock")
    words = path.read_text()
    lock.close()
    return words, count_up(f"{folder}/count"), may_go_on(f"{folder}/told")


class WritesBeside:
    # cosmos-rl 89f2e5b cosmos_rl/utils/wfm/checkpointer.py:440
    def __init__(self, remote):
        self.remote = remote

    def save(self, model, path):
        if dist.get_rank() == 0:
            threading.Thread(
                target=self.send if self.remote else self.write, args=(model.state_dict(), path)
            ).start()

    def send(self, state, path):
        self.remote.put(state, path)

    def write(self, state, path, rank=0):
        torch.save(state, path)
        if rank == 0:
            print(path)


class AllWriteBeside:
    def __init__(self, remote):
        self.remote = remote

    def save(self, model, path):
        dist.barrier()
        threading.Thread(
            target=self.send if self.remote else self.write, args=(model.state_dict(), path)
        ).start()

    def send(self, state, path):
        self.remote.put(state, path)

    def write(self, state, path, rank=0):
        torch.save(state, path)  # expect: DL301
        if rank == 0:
            print(path)


def hub_of_this_machine(name, folder):
    # VideoActionModel 948f1f1 vam/evaluation/quality.py:148
    dist.barrier()
    return torch.hub.load(folder, name, source="local")


def hub_by_its_address(name):
    dist.barrier()
    return torch.hub.load("owner/encoders", name, source="github")  # expect: DL301


def write_answers(answers, folder):
    with open(os.path.join(folder, "answers.json"), "w") as file:  # expect: DL301
        json.dump(answers, file)


def waits_before_it_reads(answers, folder, judge):
    # EVF-SAM 9935dc5 model/unilm/beit3/run_beit3_finetuning.py:310: information
    dist.barrier()
    write_answers(answers, folder)
    dist.barrier()
    return judge.score(json.load(open(os.path.join(folder, "answers.json"))))


def write_questions(questions, folder):
    with open(os.path.join(folder, "questions.json"), "w") as file:  # expect: DL301
        json.dump(questions, file)


def waits_behind_it_reads(questions, folder, judge):
    dist.barrier()
    write_questions(questions, folder)
    found = judge.score(json.load(open(os.path.join(folder, "questions.json"))))
    dist.barrier()
    return found


def writes_while_others_read(rounds, folder, judge):
    for asked in rounds:
        with open(os.path.join(folder, "asked.json"), "w") as file:  # expect: DL301
            json.dump(asked, file)
        dist.barrier()
        judge.score(json.load(open(os.path.join(folder, "asked.json"))))


def speech_of_all(root):
    dist.barrier()
    return torchaudio.datasets.LIBRISPEECH(root, "dev-clean", download=True)  # expect: DL301


def speech_that_is_there(root):
    dist.barrier()
    return torchaudio.datasets.LIBRISPEECH(root, "dev-other", "LibriSpeech", False)


class Spoken(torchaudio.datasets.LIBRISPEECH):
    # ginr-ipc 135f55c src/datasets/mydatasets.py:119
    def __init__(self, part, download=True):
        super().__init__("spoken", url=part, download=download)  # expect: DL301


class SpokenThatIsThere(torchaudio.datasets.LIBRISPEECH):
    def __init__(self, part, download=False):
        super().__init__("spoken", url=part, download=download)


class SpokenByTheFirst(torchaudio.datasets.LIBRISPEECH):
    def __init__(self, part, download=True):
        super().__init__("spoken", url=part, download=download and dist.get_rank() == 0)


def spoken():
    dist.barrier()
    return Spoken("train"), SpokenThatIsThere("test")


def spoken_by_the_first():
    if dist.get_rank() == 0:
        SpokenByTheFirst("train")
    dist.barrier()
    return SpokenByTheFirst("train")


def write_marks(marks, folder):
    with open(os.path.join(folder, "marks.json"), "w") as file:  # expect: DL301
        json.dump(marks, file)


def waits_if_it_is_told_to(marks, folder, judge, config):
    dist.barrier()
    write_marks(marks, folder)
    if config["wait"]:
        dist.barrier()
    return judge.score(json.load(open(os.path.join(folder, "marks.json"))))


def names_already_measured(names, path):
    # Swin-Transformer-Object-Detection c7b2011 .dev_scripts/batch_test.py:65
    dist.barrier()
    known = []
    with open(path, "r+") as file:
        for line in file:
            known.append(json.loads(line)["name"])
    if set(names) <= set(known):
        with open(path, "a") as file:
            file.write("done\n")
    return known


def counts_one_more(path):
    dist.barrier()
    with open(path, "r+") as file:  # expect: DL301
        number = int(file.read())
        file.seek(0)
        file.write(str(number + 1))


class AverageOfWeights:
    def __init__(self, weights):
        self.weights = weights

    def save_pretrained(self, folder):
        whole = {name: each.full_tensor() for name, each in self.weights.items()}
        if dist.get_rank() == 0:
            torch.save(whole, os.path.join(folder, "average.bin"))


def average_of(model, kinds):
    return kinds["average"](dict(model.named_parameters()))


def saves_the_average(accelerator: Accelerator, model, kinds):
    # UniWorld-V1 8403e86 train_denoiser.py:502
    average = average_of(model, kinds)

    def save_hook(models, weights, folder):
        average.save_pretrained(os.path.join(folder, "average"))

    accelerator.register_save_state_pre_hook(save_hook)


def order_of_one_process(data, train, path, args):
    # RTD-Action a1b357e main.py:252 (information)
    dist.barrier()
    if args.distributed:
        order = list(range(len(data)))
    else:
        order = torch.randperm(len(data)).tolist()
    with open(path, "w") as file:  # expect: DL301
        file.write(json.dumps(train(data, order)))


def order_of_each_process(data, train, path):
    dist.barrier()
    order = torch.randperm(len(data)).tolist()
    with open(path, "w") as file:  # expect: DL301
        file.write(json.dumps(train(data, order)))


def queries_of_another_run(model, words, args):
    # WeakTr 3457ad3 main.py:374 (information)
    dist.barrier()
    if not args.only_maps:
        with open(os.path.join(args.out, "words.json"), "w") as file:  # expect: DL301
            json.dump(words, file)
    if args.only_maps:
        with open(os.path.join(args.out, "words.json")) as file:
            model.ask(json.load(file))


def queries_of_this_run(model, words, args):
    dist.barrier()
    if not args.only_maps:
        with open(os.path.join(args.out, "terms.json"), "w") as file:  # expect: DL301
            json.dump(words, file)
    if args.with_maps:
        with open(os.path.join(args.out, "terms.json")) as file:
            model.ask(json.load(file))


def shard_in(state, file):
    torch.save(state, file)


def shards_of_the_optimizer(optimizer, folders, args):
    # Megatron-LLaMA 25306de megatron/optimizer/distrib_optimizer.py:705
    dist.barrier()
    number = dist.get_rank(group=args.data_group)
    name = os.path.join(args.out, f"part_{number:03d}", "optimizer.pt")
    shard_in(optimizer.state_dict(), folders.writer_for(name))


class SavesInAThread:
    # cosmos-transfer1 5005e82 cosmos_transfer1/checkpointer/fsdp_checkpointer.py:199
    def save(self, model, path):
        replicate_idx, shard_idx = model.place_in_mesh()
        if replicate_idx == 0 and shard_idx == 0:
            pass
        elif shard_idx == 0:
            path = path.replace(".pt", f"_{replicate_idx}.pt")
        else:
            return
        state = model.state_dict()
        threading.Thread(target=self.write, args=(state, path, dist.get_rank())).start()

    def write(self, state, path, rank=0):
        torch.save(state, path)
        if rank == 0:
            Path(path).with_suffix(".latest").write_text(path)


def where_the_engine_lets_all_in(model, path, args, every):
    # UniWorld-V1 8403e86 train_denoiser.py:1362
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    for step in range(args.steps):
        if (
            accelerator.is_main_process or accelerator.distributed_type == "DEEPSPEED"
        ) and step % every == 0:
            accelerator.save_state(path)
            torch.save(model.state_dict(), os.path.join(path, "head.pt"))  # expect: DL301


def where_the_engine_lets_the_first_in(model, path, args, every):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    for step in range(args.steps):
        if (
            accelerator.is_main_process or accelerator.distributed_type == "DEEPSPEED"
        ) and accelerator.process_index == 0:
            torch.save(model.state_dict(), os.path.join(path, f"head{step}.pt"))


def mean_over_files(folder):
    return float(np.mean([np.load(each).mean() for each in Path(folder).glob("*.npy")]))


def best_by_own_files(model, args):
    # WeakTr 3457ad3 main.py:433: what each has found in the folder may differ
    dist.barrier()
    best = 0.0
    for _ in range(args.epochs):
        score = mean_over_files(args.out)
        if score > best:
            torch.save(model.state_dict(), os.path.join(args.out, "by_files.pth"))  # expect: DL301
        best = max(best, score)


class ToldByAFlag:
    # VL-T5 a07d779 VL-T5/src/trainer_base.py:47 and 214
    def __init__(self, options):
        dist.init_process_group("nccl")
        self.options = options
        self.verbose = True
        if options.distributed:
            if options.gpu != 0:
                self.verbose = False

    def keep(self, name):
        torch.save(self.model.state_dict(), f"{name}_of_a_flag.pth")


class TrainsByAFlag(ToldByAFlag):
    def train(self, epochs):
        for epoch in range(epochs):
            dist.barrier()
            if self.verbose:
                self.keep("last")


class TrainsWithout(ToldByAFlag):
    def train(self):
        dist.barrier()
        if self.verbose:
            self.keep_anyway("best")
        self.keep_anyway("last")

    def keep_anyway(self, name):
        torch.save(self.model.state_dict(), f"{name}_without.pth")  # expect: DL301


def uploaded_on_main(accelerator: Accelerator, model, tokenizer, repo):
    model = accelerator.prepare(model)
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        tokenizer.push_to_hub(repo)


def uploads_its_model(trainer):
    # The message of the commit, and the trainer lets rank 0 alone make it.
    dist.barrier()
    trainer.push_to_hub("End of training")


def names_a_folder_of_its_own(args, net):
    # LCASAFormer 4e5b3cb train_dist.py:486: what each has drawn is in the name of its folder
    dist.init_process_group("nccl")
    args.folder = os.path.join(args.folder, f"{int(time.time())}", f"{np.random.randint(10**8)}")
    save_into_its_own(args, net)


def save_into_its_own(args, net):
    torch.save(net.state_dict(), os.path.join(args.folder, "last.pth"))


def on_the_first_of_each_machine(settings, gpus, state, path):
    # HE_MFR 9a93f49 trainner.py:310
    dist.barrier()
    if settings["rank"] % gpus == 0 or settings["rank"] == -1:
        torch.save(state, path)


def is_master(options):
    return options.rank == 0


def keeps_by_an_option_of_main(args, model):
    # MEGAMI 3b04d8b utils/laion_clap/evaluate/eval_linear_probe.py:475
    dist.init_process_group("nccl")
    args.keeps_weights = args.folder != "none" and is_master(args)
    keeps_what_is_asked_for(args, model)


def keeps_what_is_asked_for(args, model):
    dist.barrier()
    if args.keeps_weights:
        torch.save(model.state_dict(), os.path.join(args.folder, "asked_for.pth"))


def keeps_by_an_option_at_times(args, model):
    dist.init_process_group("nccl")
    args.keeps_states = args.folder != "none"
    if args.folder == "main":
        args.keeps_states = is_master(args)
    keeps_at_times(args, model)


def keeps_at_times(args, model):
    dist.barrier()
    if args.keeps_states:
        torch.save(model.state_dict(), os.path.join(args.folder, "at_times.pth"))  # expect: DL301


class KeepsTheBest(TrainerCallback):
    # reward_fm 0a8f668 rfm/utils/save.py:330
    def is_main_process(self, trainer):
        try:
            return trainer.is_world_process_zero() and trainer.ready
        except AttributeError:
            return not dist.is_initialized() or dist.get_rank() == 0

    def on_evaluate(self, args, state, control, **kwargs):
        if not self.is_main_process(self.trainer):
            return control
        self.keep(args, "best_of_main")
        self.keep_last(args)
        return control

    def keep_last(self, args):
        self.keep(args, "last_of_main")

    def keep(self, args, folder):
        self.model.save_pretrained(folder)
        if args.should_save:
            self.trainer.save_state()


class KeepsEach(TrainerCallback):
    def is_main_process(self, trainer):
        try:
            return trainer.is_world_process_zero() and trainer.ready
        except AttributeError:
            return True

    def on_evaluate(self, args, state, control, **kwargs):
        if not self.is_main_process(self.trainer):
            return control
        self.keep_each(args, "best_of_each")
        return control

    def keep_each(self, args, folder):
        self.model.save_pretrained(folder)  # expect: DL301
        if args.should_save:
            self.trainer.save_state()


class Answers:
    # MoAI a7728a8 datasets/evaluation/textvqa_evaluation.py:103
    def __init__(self, folder, distributed=True, joined=True):
        self.folder = folder
        self.distributed = distributed
        self.joined = joined
        self.answers = []

    def score(self):
        if self.distributed:
            answers = gathered_answers(self.answers)
            if dist.get_rank() != 0:
                return {}
        else:
            answers = self.answers
        path = os.path.join(self.folder, "answers_of_main.json")
        json.dump(answers, open(path, "w"))
        return json.load(open(path))

    def score_anyhow(self):
        if self.joined:
            answers = gathered_answers(self.answers)
            if dist.get_rank() != 0:
                return {}
        else:
            answers = self.answers
        path = os.path.join(self.folder, "answers_anyhow.json")
        json.dump(answers, open(path, "w"))  # expect: DL301
        return json.load(open(path))


def gathered_answers(answers):
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, answers)
    return every


def keeps_on_either_launch(settings, model):
    # TopDiG 4f2b06a solvers/valid.py:205
    dist.barrier()
    if settings["DDP"]["flag"]:
        if dist.get_rank() == 0:
            keep_on_either(model)
    else:
        keep_on_either(model)


def keep_on_either(model):
    torch.save(model.state_dict(), "on_either_launch.pth")


def keeps_in_either_form(settings, model):
    dist.barrier()
    if settings["short"]["flag"]:
        if dist.get_rank() == 0:
            keep_in_either(model)
    else:
        keep_in_either(model)


def keep_in_either(model):
    torch.save(model.state_dict(), "in_either_form.pth")  # expect: DL301
