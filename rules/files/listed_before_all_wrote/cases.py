"""Folders that ranks fill together, listed too early, and right orders."""

import glob
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from accelerate import Accelerator
from cleanfid import fid
from filelock import FileLock
from pytorch_fid.fid_score import calculate_fid_given_paths
from torch.utils.data import DataLoader, Dataset, DistributedSampler
from torchvision.utils import save_image
from tqdm.auto import tqdm

# Bugs


class Images(Dataset):
    def __init__(self, root, extra=None):
        self.root = Path(root)
        if extra is not None:
            self.extra = Path(extra)
            self.extra.mkdir(parents=True, exist_ok=True)
            self.paths = list(self.extra.iterdir())  # expect: DL311
        else:
            self.extra = None
        self.own = list(self.root.iterdir())

    def __len__(self):
        return len(self.paths)


def prior_images(args, prompts, pipeline):
    # lora d84074b training_scripts/train_lora_dreambooth.py:682
    accelerator = Accelerator()
    if args.prior:
        folder = Path(args.class_dir)
        loader = accelerator.prepare(DataLoader(prompts))
        for example in tqdm(loader, desc="Generating", disable=not accelerator.is_local_main_process):
            images = pipeline(example["prompt"]).images
            for i, image in enumerate(images):
                filename = folder / f"{example['index'][i] + 1}-{hashlib.sha1(image.tobytes()).hexdigest()}.jpg"
                image.save(filename)
    return Images(args.data, extra=args.class_dir if args.prior else None)


class AllImages(Dataset):
    def __init__(self, root):
        self.paths = list(Path(root).iterdir())  # expect: DL311


def pictures_of_each_rank(args, prompts, pipeline, rank):
    dist.init_process_group("nccl")
    folder = Path(args.class_dir)
    for example in tqdm(DataLoader(prompts), desc="Generating", disable=not rank == 0):
        for i, image in enumerate(pipeline(example["prompt"]).images):
            image.save(folder / f"{rank}-{example['index'][i]}.jpg")
    return AllImages(args.class_dir)


def parts(results, folder):
    torch.save(results, os.path.join(folder, f"part-{dist.get_rank()}.pt"))
    return [torch.load(path) for path in glob.glob(os.path.join(folder, "part-*.pt"))]  # expect: DL311


def counted(samples, folder):
    rank, world = dist.get_rank(), dist.get_world_size()
    for index in range(rank, len(samples), world):
        torch.save(samples[index], f"{folder}/{index}.pt")
    return len(os.listdir(folder)) // world  # expect: DL311


class Precomputed:
    # finetrainers precomputation.py:365
    def __init__(self, rank, world_size, save_dir):
        self._rank = rank
        self._world_size = world_size
        self._save_dir = Path(save_dir)

    def consume(self, items, count):
        for i in range(count):
            keep(items[i], self._rank * count + i, self._save_dir)
        print("done", dist.get_rank())
        return Loaded(self._rank, self._world_size, self._save_dir)


def precompute(items, folder):
    dist.barrier()
    shares = Precomputed(dist.get_rank(), dist.get_world_size(), folder)
    return shares.consume(items, len(items))


class Loaded:
    def __init__(self, rank, world_size, save_dir):
        self._rank = rank
        self._save_dir = Path(save_dir)
        self._count = len(list(self._save_dir.glob("item-*.pt")))  # expect: DL311


def keep(item, index, folder):
    filename = folder / f"item-{index}.pt"
    torch.save(item, filename.as_posix())


def in_a_folder_of_it(results, folder):
    dist.barrier()
    torch.save(results, f"{folder}/parts/{dist.get_rank()}.pt")
    return list(Path(folder).glob("parts/*.pt"))  # expect: DL311


def removed_by_main(results, folder, out):
    rank = dist.get_rank()
    torch.save(results, f"{folder}/{rank}.pt")
    if rank == 0:
        torch.save([torch.load(f) for f in Path(folder).rglob("*.pt")], out)  # expect: DL311
        shutil.rmtree(folder)  # expect: DL311


def scored_by_a_program(videos, detect, out):
    # FasterViT downstream/object_tracking/motrv2/main.py:392: every rank scores, as soon as it is done itself
    for video in videos[dist.get_rank() :: dist.get_world_size()]:
        with open(os.path.join(out, f"{video}.txt"), "w") as file:
            file.write(detect(video))
    command = f"python3 score.py --tracks {out} > /dev/null"
    os.system(f"/bin/bash -c '{command}'")  # expect: DL311


def packed(samples, folder):
    for index in range(dist.get_rank(), len(samples), dist.get_world_size()):
        torch.save(samples[index], f"{folder}/{index}.pt")
    if dist.get_rank() == 0:
        subprocess.run(["tar", "-cf", "samples.tar", folder], check=True)  # expect: DL311


def scored(model, count, folder, real):
    for index in range(dist.get_rank(), count, dist.get_world_size()):
        save_image(model(index), os.path.join(folder, f"{index:06d}.png"))
    if dist.get_rank() == 0:
        print(fid.compute_fid(folder, real))  # expect: DL311


def scored_as_a_list(model, count, folder, real):
    rank = dist.get_rank()
    for index in range(count):
        save_image(model(index), f"{folder}/{rank}_{index}.png")
    return calculate_fid_given_paths([real, folder], 50, "cuda", 2048)  # expect: DL311


def fetched(source, folder):
    shutil.copyfile(source, os.path.join(folder, f"{dist.get_rank()}.json"))


def locked_too_late(source, folder):
    fetched(source, folder)
    with FileLock(f"{folder}.lock"):
        return os.listdir(folder)  # expect: DL311


# Correct


class Listed(Dataset):
    def __init__(self, root):
        self.paths = list(Path(root).iterdir())


def all_pictures_by_each(args, prompts, pipeline, rank):
    # tango 34ecd38 examples/research_projects/colossalai/train_dreambooth_colossalai.py:282: the loader is not divided
    dist.init_process_group("nccl")
    folder = Path(args.class_dir)
    for example in tqdm(DataLoader(prompts), desc="Generating", disable=not rank == 0):
        for i, image in enumerate(pipeline(example["prompt"]).images):
            image.save(folder / f"{example['index'][i]}-{hashlib.sha1(image.tobytes()).hexdigest()}.jpg")
    return Listed(args.class_dir)


def in_another_folder_of_it(results, folder):
    # yolov9 5b1ea9a val.py:313: `save_dir.glob("labels/*.txt")`, beside pictures in `save_dir`.
    dist.barrier()
    torch.save(results, f"{folder}/{dist.get_rank()}.pt")
    return list(Path(folder).glob("labels/*.txt"))


def waits(results, folder):
    torch.save(results, os.path.join(folder, f"part-{dist.get_rank()}.pt"))
    dist.barrier()
    return [torch.load(path) for path in glob.glob(os.path.join(folder, "part-*.pt"))]


def waits_in_a_method(results, folder, backend):
    torch.save(results, os.path.join(folder, f"part-{dist.get_rank()}.pt"))
    backend.wait_for_everyone()
    return glob.glob(os.path.join(folder, "part-*.pt"))


def own_folder(results, folder):
    own = os.path.join(folder, str(dist.get_rank()))
    os.makedirs(own, exist_ok=True)
    torch.save(results, os.path.join(own, "results.pt"))
    return os.listdir(own)


def own_files(results, folder, step):
    rank = dist.get_rank()
    torch.save(results, f"{folder}/step{step}_rank{rank}.pt")
    for old in glob.glob(f"{folder}/step*_rank{rank}.pt")[:-2]:
        os.remove(old)
    return [name for name in os.listdir(folder) if name.endswith(f"rank{rank}.pt")]


def listed_before(results, folder):
    there = os.listdir(folder)
    torch.save(results, f"{folder}/{len(there)}-{dist.get_rank()}.pt")
    return there


def by_main_alone(results, folder):
    if dist.get_rank() == 0:
        for index, result in enumerate(results):
            torch.save(result, f"{folder}/{index}.pt")
        return os.listdir(folder)
    return None


def all_files_by_each(results, folder):
    dist.barrier()
    for index, result in enumerate(results):
        torch.save(result, f"{folder}/{index}.pt")
    return os.listdir(folder)


def another_folder(results, folder, other):
    torch.save(results, f"{folder}/{dist.get_rank()}.pt")
    return os.listdir(other)


def above(state, folder, step):
    torch.save(state, f"{folder}/step-{step}/{dist.get_rank()}.pt")
    return sorted(os.listdir(folder))


def one_of_the_two(results, folder, resume):
    if resume:
        return os.listdir(folder)
    torch.save(results, f"{folder}/{dist.get_rank()}.pt")
    return []


def other_arm(results, folder, writing):
    found = []
    if writing:
        torch.save(results, f"{folder}/{dist.get_rank()}.pt")
    if not writing:
        found = os.listdir(folder)
    return found


def moved_by_the_rank_of_a_group(group, index, folder, path):
    # AReaL 4aef98d areal/experimental/engine/archon_checkpoint.py:310
    own = f"{folder}/{dist.get_rank()}.json"
    if dist.get_rank(group=group) == 0:
        with open(own, "w") as file:
            file.write(index)
        shutil.move(folder, path)


def one_process(results, folder):
    for index, result in enumerate(results):
        torch.save(result, f"{folder}/{index}.pt")
    return os.listdir(folder)


def gathered(results, folder, model, loader):
    sampler = DistributedSampler(loader.dataset)
    torch.save(results, f"{folder}/{dist.get_rank()}.pt")
    dist.all_reduce(results)
    return os.listdir(folder), sampler


def scored_after_all(model, count, folder, real):
    for index in range(dist.get_rank(), count, dist.get_world_size()):
        save_image(model(index), os.path.join(folder, f"{index:06d}.png"))
    dist.barrier()
    if dist.get_rank() == 0:
        print(fid.compute_fid(folder, real))


def each_its_own_program(videos, out):
    for video in videos[dist.get_rank() :: dist.get_world_size()]:
        path = os.path.join(out, f"{video}.txt")
        with open(path, "w") as file:
            file.write(video)
        os.system(f"gzip {path}")


def a_program_for_its_own_folder(samples, folder):
    own = f"{folder}/{dist.get_rank()}"
    torch.save(samples, f"{own}/samples.pt")
    subprocess.run(["tar", "-cf", f"{own}.tar", own], check=True)


def scores_something_else(model, folder, real):
    save_image(model(0), f"{folder}/{dist.get_rank()}.png")
    return fid.compute_fid(real, "reference")


def in_a_folder_of_its_own(state):
    # accelerate 1.15.0 accelerate/utils/modeling.py:2073
    folder = tempfile.mkdtemp()
    torch.save(state, os.path.join(folder, f"{dist.get_rank()}.pt"))
    names = os.listdir(folder)
    shutil.rmtree(folder)
    return names


def in_turn(source, folder):
    # verl 0.9.1 verl/utils/fs.py:251
    with FileLock(f"{folder}.lock"):
        fetched(source, folder)
        return os.listdir(folder)


class PutBack:
    # RadFM 9efba84 src/My_Trainer/trainer.py:3599
    def is_world_process_zero(self):
        return self.args.process_index == 0 if self.args.known else self.args.first

    def push(self, results, folder):
        if not self.is_world_process_zero() or self.args.quiet:
            return
        for index in range(dist.get_rank(), len(results), dist.get_world_size()):
            torch.save(results[index], os.path.join(folder, f"{index}.pt"))

    def finish(self, results, folder):
        self.push(results, folder)
        return os.listdir(folder)

    def put(self, results, folder):
        if not self.args.loud or self.args.quiet:
            return
        for index in range(dist.get_rank(), len(results), dist.get_world_size()):
            torch.save(results[index], os.path.join(folder, f"{index}.pt"))

    def end(self, results, folder):
        self.put(results, folder)
        return os.listdir(folder)  # expect: DL311
