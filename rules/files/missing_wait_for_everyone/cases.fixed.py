"""Cases of DL302: files that rank 0 prepares and the others use at once, and right orders."""

import glob
import json
import logging
import os
import time
import subprocess
import shutil
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from accelerate import Accelerator
from datasets import load_from_disk
from distlint.runtime import barrier
from peft import PeftModel, get_peft_model
from transformers import AutoTokenizer


# --- bugs -----------------------------------------------------------------------------------------


def prepare(dataset, out):
    dist.barrier()
    path = os.path.join(out, "data")
    if dist.get_rank() == 0:
        # Once for all.
        dataset.save_to_disk(path)
    barrier()
    return load_from_disk(os.path.join(out, "data"))  # expect: DL302


def cached(texts, path, args):
    # CodeT5 7de7f69 CodeT5/utils.py:46
    if os.path.exists(path):
        data = torch.load(path)  # expect: DL302
    else:
        data = [len(text) for text in texts]
        if args.local_rank in [-1, 0]:
            torch.save(data, path)
    return data


def cached_and_returned(texts, out):
    path = Path(out) / "lengths.json"
    if path.is_file():
        return json.loads(path.read_text())  # expect: DL302
    lengths = [len(text) for text in texts]
    if dist.get_rank() == 0:
        path.write_text(json.dumps(lengths))
    return lengths


def keep(features, path):
    np.save(path, features)


def cached_by_helper(encoder, texts, path):
    if not os.path.isfile(path):
        features = encoder(texts)
        if dist.get_rank() == 0:
            keep(features, path)
        return features
    return np.load(path)  # expect: DL302


def statistics(out):
    accelerator = Accelerator()
    if accelerator.is_main_process:
        with open(f"{out}/stats.json", "w") as f:
            json.dump({"mean": 0.0}, f)
    accelerator.wait_for_everyone()
    with open(out + "/stats.json") as f:  # expect: DL302
        return json.load(f)


class Trainer:
    def __init__(self, accelerator: Accelerator, folder):
        self.accelerator = accelerator
        self.folder = Path(folder)
        if self.accelerator.is_main_process:
            shutil.rmtree(self.folder)
        barrier()
        self.folder.mkdir(parents=True, exist_ok=True)  # expect: DL302


def directory_of_main(state, out):
    rank = dist.get_rank()
    parts = os.path.join(out, "parts")
    if rank == 0:
        os.makedirs(parts)
    barrier()
    torch.save(state, os.path.join(parts, f"{rank}.pt"))  # expect: DL302


def dumped_by_all(args):
    if dist.get_rank() == 0:
        os.makedirs(args.out, exist_ok=True)
        written(args, os.path.join(args.out, "main.json"))
    barrier()
    written(args, os.path.join(args.out, f"{dist.get_rank()}.json"))  # expect: DL302


def written(config, path):
    with open(path, "w") as f:
        json.dump(vars(config), f)


def adapter(base, config, folder):
    accelerator = Accelerator()
    trained = accelerator.prepare(get_peft_model(base, config))
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        accelerator.unwrap_model(trained).save_pretrained(folder)
    accelerator.wait_for_everyone()
    return PeftModel.from_pretrained(base, folder)  # expect: DL302


def through_helpers(model, path):
    save_on_main(model, path)
    return restore(path)  # expect: DL302


def save_on_main(model, target):
    if dist.get_rank() == 0:
        torch.save(model, target)


def restore(source):
    return torch.load(source)


def one_rank_by_choice(state, out):
    accelerator = Accelerator()
    accelerator.save(state, out)
    return torch.load(out, map_location="cpu")  # expect: DL302


def waits_for_the_device_only(model, path):
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)
    barrier()
    torch.cuda.synchronize()
    return torch.load(path, map_location="cpu")  # expect: DL302


def refuses_to_overwrite(state, path):
    # DALLE2-pytorch 680dfc4 dalle2_pytorch/trainer.py:269: an error where the file is there, no question who makes it
    if dist.get_rank() == 0:
        assert not os.path.exists(path)
        torch.save(state, path)
    barrier()
    return torch.load(path)  # expect: DL302


def refuses_by_an_error(state, path):
    if dist.get_rank() == 0:
        if os.path.exists(path):
            raise FileExistsError(path)
        torch.save(state, path)
    barrier()
    return torch.load(path)  # expect: DL302


def flag_of_all(folder, cached, samples):
    dist.barrier()
    rank = dist.get_rank()
    if rank == 0:
        os.makedirs(folder, exist_ok=True)
    barrier()
    if not cached:
        collect = True
    else:
        collect = os.cpu_count() > 8
    if collect:
        torch.save(samples, os.path.join(folder, "samples.pt"))  # expect: DL302


def finds_the_weights(model, out):
    dist.barrier()
    if dist.get_rank() == 0:
        model.save_pretrained(out)
    barrier()
    return list(Path(out).glob("*.safetensors"))  # expect: DL302


def save_on_main(*args, **kwargs):
    if dist.get_rank() == 0:
        torch.save(*args, **kwargs)


def stage_after_stage(model, out, epochs, second_stage):
    # D-FINE 4a1f73a src/solver/det_solver.py:71: what the last turn has written
    for epoch in range(epochs):
        if epoch == second_stage:
            model.load_state_dict(torch.load(os.path.join(out, "best.pth")))  # expect: DL302
        loss = model()
        dist.all_reduce(loss)
        if epoch < second_stage:
            save_on_main(model.state_dict(), os.path.join(out, "best.pth"))


class State:
    rank: int = 0


state_of_all = State()


def start_of_all():
    dist.init_process_group("nccl")
    state_of_all.rank = int(os.environ.get("RANK", 0))


def keeps_the_best(model, losses, out):
    # mttl 3724abf projects/kms/train_qa.py:363: the rank is kept in an attribute of an object of the module
    best = float("inf")
    for loss in losses:
        dist.all_reduce(loss)
        if loss < best and state_of_all.rank == 0:
            best = loss
            torch.save(model.state_dict(), out + "/best.pt")
        barrier()
    model.load_state_dict(torch.load(out + "/best.pt"))  # expect: DL302


# --- right ----------------------------------------------------------------------------------------


def cached_in_turn(texts, path):
    if dist.get_rank() != 0:
        dist.barrier()
    if os.path.exists(path):
        data = torch.load(path)
    else:
        data = [len(text) for text in texts]
        if dist.get_rank() == 0:
            torch.save(data, path)
    if dist.get_rank() == 0:
        dist.barrier()
    return data


def cached_at_once(texts, path):
    if os.path.exists(path):
        return torch.load(path)
    data = [len(text) for text in texts]
    if dist.get_rank() == 0:
        torch.save(data, path + ".part")
        os.replace(path + ".part", path)
    return data


def cached_for_each(texts, out):
    path = os.path.join(out, f"lengths-{dist.get_rank()}.pt")
    if os.path.exists(path):
        return torch.load(path)
    data = [len(text) for text in texts]
    torch.save(data, path)
    return data


def other_file(texts, path, out):
    data = torch.load(path) if os.path.exists(path) else [len(text) for text in texts]
    if dist.get_rank() == 0:
        torch.save(data, out)
    return data


def left_to_one_caller(texts, path):
    if os.path.exists(path):
        return torch.load(path)
    data = [len(text) for text in texts]
    torch.save(data, path)
    return data


def of_rank_0(texts, path):
    if dist.get_rank() == 0:
        return left_to_one_caller(texts, path)
    return None


def waits(dataset, path):
    if dist.get_rank() == 0:
        dataset.save_to_disk(path)
    dist.barrier()
    return load_from_disk(path)


def refuses_and_waits(state, path):
    if dist.get_rank() == 0:
        assert not os.path.exists(path)
        torch.save(state, path)
    dist.barrier()
    return torch.load(path)


def made_once(state, path):
    if dist.get_rank() == 0 and not os.path.exists(path):
        torch.save(state, path)
    return torch.load(path)


def matched(dataset, path):
    if dist.get_rank() == 0:
        dataset.save_to_disk(path)
        dist.barrier()
    else:
        dist.barrier()
    return load_from_disk(path)


def main_first(accelerator: Accelerator, dataset, path):
    with accelerator.main_process_first():
        if accelerator.is_main_process:
            dataset.save_to_disk(path)
        dataset = load_from_disk(path)
    return dataset


def other_file(dataset, path, other):
    if dist.get_rank() == 0:
        dataset.save_to_disk(path)
    return load_from_disk(other)


def read_by_main(dataset, path):
    if dist.get_rank() == 0:
        dataset.save_to_disk(path)
        return load_from_disk(path)
    return None


def waits_inside(model, path):
    save_and_wait(model, path)
    return restore_again(path)


def save_and_wait(model, target):
    if dist.get_rank() == 0:
        torch.save(model, target)
    dist.barrier()


def restore_again(source):
    return torch.load(source)


def configured(args, cfg):
    # rank 0 writes into its new folder; all write into another, long after it
    if dist.get_rank() == 0:
        os.makedirs(args.out, exist_ok=True)
        dump(args, os.path.join(args.out, "config.json"))
    dist.barrier()
    for state in args.states:
        torch.save(state, os.path.join(cfg.out, f"{dist.get_rank()}.pt"))
    dump(cfg, os.path.join(cfg.out, "config.json"))


def configured_without_a_wait(args, cfg):
    if dist.get_rank() == 0:
        os.makedirs(args.out, exist_ok=True)
        dump(args, os.path.join(args.out, "config.json"))
    Path(cfg.out).mkdir(parents=True, exist_ok=True)
    dump(cfg, os.path.join(cfg.out, "config.json"))


def dump(config, path):
    with open(path, "w") as f:
        json.dump(vars(config), f)


def all_create(state, out):
    rank = dist.get_rank()
    if rank == 0:
        os.makedirs(out, exist_ok=True)
    os.makedirs(out, exist_ok=True)
    torch.save(state, os.path.join(out, f"{rank}.pt"))


def tokenizer_elsewhere(name, out):
    tokenizer = AutoTokenizer.from_pretrained(name)
    if dist.get_rank() == 0:
        tokenizer.save_pretrained(out)
    return tokenizer


def one_rank_by_choice_then_all(state, out):
    accelerator = Accelerator()
    accelerator.save(state, out)
    accelerator.wait_for_everyone()
    return torch.load(out, map_location="cpu")


def load_adapter(accelerator: Accelerator, base, adapter, folder):
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        adapter.save_pretrained(folder)
    accelerator.wait_for_everyone()
    return PeftModel.from_pretrained(base, folder)


def newest(folder):
    return sorted(glob.glob(os.path.join(folder, "step-*")))[-1:]


def resumed_from(folder):
    if dist.get_rank() == 0:
        os.makedirs(folder, exist_ok=True)
    if os.path.isdir(folder):
        return newest(folder)
    return []


class Indices:
    """Whoever makes these objects lets rank 0 go first."""

    def __init__(self, sizes, path):
        self.indices = self._build(sizes, path)

    def _build(self, sizes, path):
        there = all(map(os.path.isfile, [path]))
        if not there and dist.get_rank() == 0:
            indices = np.argsort(sizes)
            np.save(path, indices)
            return indices
        return np.load(path)


def resumed_from_an_earlier_run(accelerator, folder, step):
    # REPA 67f7145 train.py:235: the file is there, and so is its folder.
    checkpoints = f"{folder}/checkpoints"
    if accelerator.is_main_process:
        os.makedirs(checkpoints, exist_ok=True)
    if step > 0:
        return torch.load(f"{folder}/checkpoints/{step}.pt", map_location="cpu")
    return None


def flag_of_rank_0(folder, cached, samples):
    # LLaMA2-Accessory accessory/data/alpaca.py:137: with a cache the others have no samples to collect
    rank = dist.get_rank()
    if cached:
        if rank == 0:
            os.makedirs(folder, exist_ok=True)
    if not cached:
        collect = True
    else:
        if rank != 0:
            collect = False
        else:
            if os.path.exists(os.path.join(folder, "ready")):
                collect = False
            else:
                collect = True
    if collect:
        if not cached:
            return samples
        else:
            torch.save(samples, os.path.join(folder, "samples.pt"))
    return None


def looks_for_checkpoints(model, out):
    dist.barrier()
    if dist.get_rank() == 0:
        model.save_pretrained(out)
    return sorted(Path(out).glob("checkpoint-*"))


def unpacked_while_others_ask(source, target, local_rank):
    # suncet 731547d src/data_manager.py:1092: the folder is there as soon as tar has begun
    images = os.path.join(target, "images")
    done = os.path.join(target, "done.txt")
    if not os.path.exists(images):  # expect: DL302
        if local_rank == 0:
            commands = [["tar", "-xf", source, "-C", target]]
            for command in commands:
                subprocess.run(command)
            with open(done, "w") as file:
                print("done", file=file)
        else:
            while not os.path.exists(done):
                time.sleep(60)
    return images


def copied_while_others_ask(source, target, local_rank):
    if not os.path.exists(target):  # expect: DL302
        if local_rank != 0:
            while not os.path.exists(target + ".done"):
                time.sleep(1)
        else:
            shutil.copytree(source, target)
            Path(target + ".done").touch()
    return target


def dumped_while_others_wait_for_the_name(lengths, folder):
    # sentiment-discovery 17bcf05 data_utils/lazy_loader.py:49
    path = os.path.join(folder, "lengths.json")
    if dist.get_rank() == 0:
        json.dump(lengths, open(path, "w"))  # expect: DL302
    else:
        while not os.path.exists(path):
            time.sleep(1)
    return open(path)


def put_in_place_while_others_wait(lengths, folder):
    path = os.path.join(folder, "lengths.json")
    if dist.get_rank() == 0:
        with open(path + ".part", "w") as file:
            json.dump(lengths, file)
        os.replace(path + ".part", path)
    else:
        while not os.path.exists(path):
            time.sleep(1)
    return open(path)


def unpacked_before_it_says_so(source, target, local_rank):
    # suncet 731547d src/data_manager.py:1141: all ask for the file that is written last
    done = os.path.join(target, "done.txt")
    if not os.path.exists(done):
        if local_rank == 0:
            subprocess.run(["tar", "-xf", source, "-C", target])
            with open(done, "w") as file:
                print("done", file=file)
        else:
            while not os.path.exists(done):
                time.sleep(60)
    return os.path.join(target, "images")


def collected(results, folder, name):
    mine = os.path.join(folder, f"{name}_{dist.get_rank()}.json")
    with open(mine, "w") as file:
        json.dump(results, file)
    dist.barrier()
    if dist.get_rank() == 0:
        for rank in range(dist.get_world_size()):
            os.remove(os.path.join(folder, f"{name}_{rank}.json"))


def collected_by_kind(results, folder, kind):
    # MM-Interleaved ac539d0 mm_interleaved/engine/lmm_trainer.py:1516: one of the two, never both
    if kind == "texts":
        collected(results, folder, "texts")
    elif kind == "images":
        collected(results, folder, "images")


def stage_after_stage_in_turn(model, out, epochs, second_stage):
    for epoch in range(epochs):
        if epoch == second_stage:
            model.load_state_dict(torch.load(os.path.join(out, "best.pth")))
        if epoch < second_stage:
            save_on_main(model.state_dict(), os.path.join(out, "best.pth"))
        dist.barrier()


def other_files_of_other_turns(model, out, epochs):
    for epoch in range(epochs):
        if epoch > 1:
            model.load_state_dict(torch.load(os.path.join(out, f"{epoch}.pth")))
        dist.all_reduce(model())
        save_on_main(model.state_dict(), os.path.join(out, f"{epoch}.pth"))


def resumed_in_the_first_turn(model, out, start_epoch, epochs):
    for epoch in range(start_epoch, epochs):
        if epoch == start_epoch:
            model.load_state_dict(torch.load(os.path.join(out, "last.pth")))
        dist.all_reduce(model())
        save_on_main(model.state_dict(), os.path.join(out, "last.pth"))


def no_turn_follows(model, out, batches):
    for batch in batches:
        if len(batch) < 8:
            model.load_state_dict(torch.load(os.path.join(out, "last.pth")))
        dist.all_reduce(model(batch))
        if len(batch) > 64:
            save_on_main(model.state_dict(), os.path.join(out, "last.pth"))
            break


def trained_in_between(model, out, batches, steps):
    for step, batch in enumerate(batches):
        if step % 7 == 6:
            model.load_state_dict(torch.load(os.path.join(out, "last.pth")))
        if step % 8 == 7:
            save_on_main(model.state_dict(), os.path.join(out, "last.pth"))
        loss = model(batch)
        loss.backward()


def either_stage(model, out, epochs, second_stage, better):
    # D-FINE 4a1f73a src/solver/det_solver.py:144 and 170: the condition stands there twice
    for epoch in range(epochs):
        dist.all_reduce(model())
        if better:
            if epoch >= second_stage:
                print("second")
            else:
                save_on_main(model.state_dict(), os.path.join(out, "best.pth"))
        if better > 2:
            print("much better")
        elif epoch >= second_stage:
            model.load_state_dict(torch.load(os.path.join(out, "best.pth")))
        dist.barrier()


def parts_in(part, folder):
    torch.save(part, os.path.join(folder, f"{dist.get_rank()}.pt"))
    dist.barrier()
    if dist.get_rank() == 0:
        shutil.rmtree(folder)


def in_another_folder(boxes, masks, folder):
    # StreamPETR 95f6470 projects/mmdet3d_plugin/core/apis/test.py:105
    parts_in(boxes, folder)
    folder = folder + "_masks"
    parts_in(masks, folder)


def shares_in(share, folder=None):
    if folder is None:
        folder = ".shares"
    else:
        os.makedirs(folder, exist_ok=True)
    torch.save(share, os.path.join(folder, f"{dist.get_rank()}.pt"))
    dist.barrier()
    if dist.get_rank() == 0:
        shutil.rmtree(folder)


def in_folders_of_other_ends(boxes, masks, folder):
    # Panoptic-SegFormer cdb9b68 easymd/apis/test.py:221 and 223
    shares_in(boxes, folder + "_boxes")
    shares_in(masks, folder + "_masks")


def twice_in_one_folder(boxes, masks, folder):
    shares_in(boxes, folder + "_all")
    shares_in(masks, folder + "_all")  # expect: DL302


def pieces_in(part, folder):
    torch.save(part, os.path.join(folder, f"{dist.get_rank()}.pt"))
    dist.barrier()
    if dist.get_rank() == 0:
        shutil.rmtree(folder)


def in_the_same_folder(boxes, masks, folder):
    pieces_in(boxes, folder)
    masks = masks[1:]
    pieces_in(masks, folder)  # expect: DL302


def log_into(path):
    handler = logging.FileHandler(path)
    logging.getLogger().addHandler(handler)


def logs_right_below(args):
    # KAN-TTS 66202d0 kantts/bin/train_sambert.py:60
    dist.init_process_group("nccl")
    if dist.get_rank() == 0 and not os.path.exists(args.stage):
        os.makedirs(args.stage)
    settings = json.load(open(args.settings))
    log_into(os.path.join(args.stage, "log.txt"))  # expect: DL302
    os.makedirs(os.path.join(args.stage, "states"), exist_ok=True)
    return settings


def logs_behind_a_wait(args):
    dist.init_process_group("nccl")
    if dist.get_rank() == 0 and not os.path.exists(args.stage):
        os.makedirs(args.stage)
    dist.barrier()
    log_into(os.path.join(args.stage, "log.txt"))


def logs_where_all_make_it(args):
    dist.init_process_group("nccl")
    if dist.get_rank() == 0 and not os.path.exists(args.stage):
        os.makedirs(args.stage)
    os.makedirs(os.path.join(args.stage, "states"), exist_ok=True)
    log_into(os.path.join(args.stage, "log.txt"))


def logs_behind_the_model(args, build):
    # (information) the folder is there long before
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        os.makedirs(args.stage)
    barrier()
    model = build(args)
    for name, weight in model.named_parameters():
        print(name, weight.shape)
    weights = torch.load(args.weights)
    model.load_state_dict(weights)
    log_into(os.path.join(args.stage, "log.txt"))  # expect: DL302
    return model


def behind_a_pause(args):
    # cvpr2024-face-anti-spoofing-challenge e18dae6 train_dist.py:131
    dist.barrier()
    if dist.get_rank() == 0:
        os.makedirs(args.paused)
    time.sleep(3)
    with open(os.path.join(args.paused, f"{dist.get_rank()}.log"), "w") as file:
        file.write("begins")


def behind_no_pause(args):
    dist.barrier()
    if dist.get_rank() == 0:
        os.makedirs(args.at_once)
    barrier()
    time.monotonic()
    with open(os.path.join(args.at_once, f"{dist.get_rank()}.log"), "w") as file:  # expect: DL302
        file.write("begins")
