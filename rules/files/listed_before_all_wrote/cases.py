"""Folders that ranks fill together, listed too early, and right orders."""

import glob
import hashlib
import os
import shutil
from pathlib import Path

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.utils.data import DataLoader, Dataset, DistributedSampler
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


def removed_by_main(results, folder, out):
    rank = dist.get_rank()
    torch.save(results, f"{folder}/{rank}.pt")
    if rank == 0:
        torch.save([torch.load(f) for f in Path(folder).rglob("*.pt")], out)  # expect: DL311
        shutil.rmtree(folder)  # expect: DL311


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


def one_process(results, folder):
    for index, result in enumerate(results):
        torch.save(result, f"{folder}/{index}.pt")
    return os.listdir(folder)


def gathered(results, folder, model, loader):
    sampler = DistributedSampler(loader.dataset)
    torch.save(results, f"{folder}/{dist.get_rank()}.pt")
    dist.all_reduce(results)
    return os.listdir(folder), sampler
