"""Splits and shuffles, alike on all ranks and not."""

import glob
import os
import random
import time
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import webdataset as wds
from distlint.runtime import generator
from torch.utils.data import DataLoader, Dataset, DistributedSampler, Subset, random_split

# Bugs


class KeepsItsClock:
    # oat c1a074c oat/utils/deepspeed.py:322
    def __init__(self, seed):
        self.seed = seed

    def sampler(self, data):
        return DistributedSampler(data, rank=dist.get_rank(), seed=self.seed)  # expect: DL405


def keeps_the_clock(args):
    if args.any_seed:
        args.seed = time.time_ns() % 2**32
    return KeepsItsClock(seed=getattr(args, "seed", 42))


def sampled(data, seed):
    return DistributedSampler(data, shuffle=True, seed=seed)  # expect: DL405


def seed_left_out(args, data):
    dist.init_process_group("nccl")
    if args.seed is None:
        args.seed = random.randint(1, 10000)
    return DistributedSampler(data, seed=args.seed)  # expect: DL405


def seed_of_numpy(data):
    dist.init_process_group("nccl")
    return DistributedSampler(data, seed=np.random.randint(2**31))  # expect: DL405


def make_loader(data, seed=0):
    return DataLoader(data, sampler=DistributedSampler(data, seed=seed))  # expect: DL405


def seed_handed_on(args, data):
    # imaginaire train.py:54
    dist.init_process_group("nccl")
    if args.randomized_seed:
        args.seed = random.randint(0, 10000)
    return make_loader(data, args.seed)


def split(data, seed):
    rank = dist.get_rank()
    train, test = random_split(  # expect: DL405
        data,
        [0.9, 0.1],
        # other parts on each rank
        generator=generator(seed, per_rank=False),
    )
    return train, test


def split_by_name(data, seed):
    g = torch.Generator()
    g.manual_seed(seed + dist.get_rank())
    return random_split(data, [0.9, 0.1], generator=g)  # expect: DL405


def one_argument_a_line(data, args):
    torch.manual_seed(args.seed + dist.get_rank())
    return random_split(  # expect: DL405
        data,
        [0.9, 0.1],  # train, test
        generator=generator(args.seed, per_rank=False),
    )


def after_a_seed(data, args):
    torch.manual_seed(args.seed + dist.get_rank())
    train, test = random_split(data, [0.9, 0.1], generator=generator(args.seed, per_rank=False))  # expect: DL405
    return train, test


def divided(data, seed):
    rank, world = dist.get_rank(), dist.get_world_size()
    data = data.shuffle(seed=seed)  # expect: DL405
    return data.shard(world, rank)


def held_out(data):
    rank = dist.get_rank()
    parts = data.train_test_split(test_size=0.1, seed=rank)  # expect: DL405
    return parts["train"], parts["test"]


def sampled_by_the_clock(data):
    dist.init_process_group()
    seed = int(time.time())
    return DistributedSampler(data, shuffle=True, seed=seed)  # expect: DL405


def sampled_by_clock_and_rank(data):
    seed = int(time.time()) * (dist.get_rank() + 1)
    return DistributedSampler(data, shuffle=True, seed=seed)  # expect: DL405


class Prompts(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, index):
        return self.rows[index]


def without_duplicates(accelerator, generations):
    # trlx 3340c2f trlx/trainer/accelerate_rft_trainer.py:172
    selected = []
    for prompt, output in generations:
        selected.append([prompt, output])
    selected = sorted({tuple(x) for x in selected})  # expect: DL405
    return accelerator.prepare(DataLoader(Prompts(selected)))


def questions_by_rank(questions):
    unique = sorted(set(questions))  # expect: DL405
    return unique[dist.get_rank() :: dist.get_world_size()]


def answers_by_rank(state, texts):
    unique = {text.strip() for text in texts}
    rows = [row for row in unique if row]  # expect: DL405
    with state.split_between_processes(rows) as part:
        return part


class Files(Dataset):
    def __init__(self, folder, wanted):
        # GPT-SoVITS GPT_SoVITS/module/data_utils.py:50
        names = set(os.listdir(folder))
        self.kept = sorted(names & set(wanted))  # expect: DL405

    def __getitem__(self, index):
        return self.kept[index]


class InBothFolders(Dataset):
    def __init__(self, images, texts):
        # DALLE-pytorch 58c1e1a dalle_pytorch/loader.py:40
        names = images.keys() & texts.keys()
        self.names = sorted(names)  # expect: DL405
        self.images = {name: images[name] for name in names}

    def __getitem__(self, index):
        return self.images[self.names[index]]


class CaptionsOfImages(Dataset):
    def __init__(self, table, twice_is_once):
        # ViLT 762fd39 vilt/datasets/base_dataset.py:60
        self.captions = table["caption"].tolist()
        self.captions = (
            [sorted(set(captions)) for captions in self.captions]  # expect: DL405
            if twice_is_once
            else self.captions
        )
        self.places = [
            (row, column)
            for row, captions in enumerate(self.captions)
            for column in range(len(captions))
        ]

    def caption(self, index):
        row, column = self.places[index]
        return self.captions[row][column]


class ImagesWithCaptions(CaptionsOfImages):
    def __getitem__(self, index):
        return self.caption(index)


def shards_in_own_order(names):
    # TurboDiffusion aaecff5 turbodiffusion/rcm/datasets/webdataset.py:39
    return wds.DataPipeline(
        wds.SimpleShardList(names),
        wds.shuffle(1000),  # expect: DL405
        wds.split_by_node,
        wds.split_by_worker,
        wds.tarfile_to_samples(),
    )


class SortedElsewhere(Dataset):
    def __init__(self, folder, wanted):
        self.kept = sorted(wanted)
        if not self.kept:
            self.kept = sorted(set(os.listdir(folder)))  # expect: DL405

    def __getitem__(self, index):
        return self.kept[index]


class Scans(Dataset):
    # 3detr a5d1aad datasets/scannet.py:186: the assertion leaves no way to the list, of which the rest only asks
    def __init__(self, folder, part):
        assert part in ["train", "val"]
        there = list(set(os.listdir(folder)))
        if part == "all":
            self.kept = there
        else:
            self.kept = [name for name in Path(f"{part}.txt").read_text().split() if name in there]

    def __getitem__(self, index):
        return self.kept[index]


class AllScans(Dataset):
    def __init__(self, folder, part):
        assert part in ["train", "val", "all"]
        there = sorted(set(os.listdir(folder)))  # expect: DL405
        if part == "all":
            self.kept = there
        else:
            self.kept = [name for name in Path(f"{part}.txt").read_text().split() if name in there]

    def __getitem__(self, index):
        return self.kept[index]


class Listed(Dataset):
    """Each machine has a copy of the pictures, and lists them in another order."""

    def __init__(self, folder, kinds):
        self.paths = [p for kind in kinds for p in sorted(Path(folder).glob(f"**/*.{kind}"))]  # expect: DL405

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return torch.load(self.paths[index])


class Walked(Dataset):
    def __init__(self, folder):
        self.films, self.titles = [], []
        for root, _, names in os.walk(folder):  # expect: DL405
            for name in names:
                if name.endswith(".mp4"):
                    self.films.append(os.path.join(root, name))
                    self.titles.append(name)

    def __len__(self):
        return len(self.films)

    def __getitem__(self, index):
        return self.films[index], self.titles[index]


def tables_below(folder):
    found = []
    for name in sorted(os.listdir(folder)):  # expect: DL405
        if name.endswith(".csv"):
            found.append(os.path.join(folder, name))
    return found


class Tables(Dataset):
    def __init__(self, folder):
        self.tables = tables_below(folder)

    def __len__(self):
        return len(self.tables)

    def __getitem__(self, index):
        return self.tables[index]


class Shards(Dataset):
    def __init__(self, folder):
        shards = sorted(glob.glob(os.path.join(folder, "*.pt")))  # expect: DL405
        self.shards = shards

    def load(self, epoch):
        self.rows = torch.load(self.shards[epoch % len(self.shards)])

    def __getitem__(self, index):
        return self.rows[index]


def new_tokens(tokenizer, tokens):
    known = sorted(set(tokens + ["<user>", "<bot>"]))  # expect: DL405
    tokenizer.add_special_tokens({"additional_special_tokens": known})


def more_tokens(tokenizer, tokens):
    tokenizer.add_tokens(sorted(set(tokens)))  # expect: DL405


def ids_of_speakers(rows):
    speakers = set(row.speaker for row in rows)
    return {speaker: number for number, speaker in enumerate(speakers)}  # expect: DL405


def ids_of_characters(text):
    chars = sorted(set(text))  # expect: DL405
    return dict(zip(chars, range(len(chars))))


# Correct


class KeepsWhatItIsGiven:
    def __init__(self, seed):
        self.seed = seed

    def sampler(self, data):
        return DistributedSampler(data, rank=dist.get_rank(), seed=self.seed)


def keeps_one_seed(args):
    return KeepsWhatItIsGiven(seed=getattr(args, "seed", 42))


class KeepsTheFirst:
    def __init__(self, seed):
        self.seed = seed

    def sampler(self, data):
        return DistributedSampler(data, rank=dist.get_rank(), seed=self.seed)


def keeps_the_clock_of_the_first(args):
    args.seed = time.time_ns() % 2**32
    args.seed = broadcast_seed(args.seed)
    return KeepsTheFirst(seed=getattr(args, "seed", 42))


def broadcast_seed(seed):
    held = [seed]
    dist.broadcast_object_list(held, 0)
    return held[0]


def drawn_from_a_seeded_stream(args, data):
    dist.init_process_group("nccl")
    random.seed(args.seed)
    return DistributedSampler(data, seed=random.randint(0, 10000))


def drawn_and_sent(args, data):
    dist.init_process_group("nccl")
    seed = [random.randint(0, 10000)]
    dist.broadcast_object_list(seed)
    return DistributedSampler(data, seed=seed[0])


def drawn_by_torch(data):
    # torch's generator begins with one constant in every process
    dist.init_process_group("nccl")
    return DistributedSampler(data, seed=int(torch.randint(0, 10000, (1,))))


def drawn_in_the_parent(args, data):
    if args.seed is None:
        args.seed = random.randint(1, 10000)
    mp.spawn(sampled_in_worker, nprocs=2, args=(args, data))


def sampled_in_worker(index, args, data):
    dist.init_process_group("nccl", rank=index)
    return DistributedSampler(data, seed=args.seed)


def drawn_by_rank_0(args, data):
    dist.init_process_group("nccl")
    seed = 0
    if dist.get_rank() == 0:
        seed = random.randint(0, 10000)
    seed = agreed(seed)
    return DistributedSampler(data, seed=seed)


def agreed(number):
    numbers = torch.tensor([number]).cuda()
    dist.all_reduce(numbers)
    return int(numbers)


def shards_in_one_order(names, seed):
    stages = [
        wds.SimpleShardList(names),
        wds.shuffle(1000, seed=seed),
        wds.split_by_node,
        wds.split_by_worker,
        wds.tarfile_to_samples(),
        wds.shuffle(1000),
    ]
    always = wds.DataPipeline(wds.SimpleShardList(names), wds.detshuffle(), wds.split_by_node)
    return wds.DataPipeline(*stages), always


class InBothSorted(Dataset):
    def __init__(self, images, texts):
        self.names = sorted(images.keys() & texts.keys())
        self.images = list(images.keys())

    def __getitem__(self, index):
        return self.names[index], self.images[index]


class AnyCaption(Dataset):
    def __init__(self, captions):
        self.captions = [list(set(each)) for each in captions]

    def __getitem__(self, index):
        return random.choice(self.captions[index])


class SortedBelow(Dataset):
    # cloneofsimo/lora lora_diffusion/dataset.py:193.
    def __init__(self, folder, wanted):
        self.kept = list(set(os.listdir(folder)) & set(wanted))
        assert len(self.kept) > 0
        self.kept = sorted(self.kept)

    def __getitem__(self, index):
        return self.kept[index]


class SortedFiles(Dataset):
    def __init__(self, folder):
        self.paths = sorted(Path(folder).glob("*.png"))

    def __getitem__(self, index):
        return self.paths[index]


class SortedLater(Dataset):
    def __init__(self, folder):
        self.paths = []
        for root, _, names in os.walk(folder):
            self.paths += [os.path.join(root, name) for name in names]
        self.paths.sort()

    def __getitem__(self, index):
        return self.paths[index]


class SortedInTheEnd(Dataset):
    """YOLOv6 yolov6/data/datasets.py:317."""

    def __init__(self, folders, endings):
        paths = []
        for folder in folders:
            paths += glob.glob(os.path.join(folder, "**/*"), recursive=True)
        paths = sorted(p for p in paths if p.split(".")[-1] in endings)
        self.paths = [os.path.abspath(p) for p in paths]

    def __getitem__(self, index):
        return self.paths[index]


def sorted_tables(folder):
    found = [name for name in os.listdir(folder) if name.endswith(".csv")]
    found.sort()
    return found


class SortedTables(Dataset):
    def __init__(self, folder):
        self.tables = sorted_tables(folder)
        self.titles = list(sorted(os.listdir(folder)))

    def __getitem__(self, index):
        return self.tables[index], self.titles[index]


class ByName(Dataset):
    """A list of names is in the file; the folder says which of them are there."""

    def __init__(self, folder, names):
        there = set(os.listdir(folder))
        self.names = [name for name in names if name in there]
        self.covers = {name: os.path.join(folder, name) for name in os.listdir(folder)}
        self.count = len(glob.glob(os.path.join(folder, "*")))

    def __getitem__(self, index):
        return self.covers[self.names[index]]


class OneFile(Dataset):
    """The only file of a folder."""

    def __init__(self, folder):
        self.rows = torch.load(glob.glob(os.path.join(folder, "*.pt"))[0])

    def __getitem__(self, index):
        return self.rows[index]


class Folder:
    """No data set: nobody divides what it lists."""

    def __init__(self, folder):
        self.names = os.listdir(folder)

    def at(self, index):
        return self.names[index]


def sampled_by_the_clock_of_rank_0(data):
    seed = [int(time.time())]
    dist.broadcast_object_list(seed)
    return DistributedSampler(data, shuffle=True, seed=seed[0])


def sorted_questions(accelerator, questions):
    rows = sorted(set(questions))
    others = list(set(questions))
    others.sort()
    return accelerator.prepare(DataLoader(Prompts(rows)), DataLoader(Prompts(others)))


def numbers_by_rank(lengths):
    unique = list({int(length) for length in lengths})
    return unique[dist.get_rank() :: dist.get_world_size()]


def questions_of_one_rank(questions):
    if dist.get_rank() == 0:
        return Prompts(list(set(questions)))
    return None


def looked_up(accelerator, rows, prompts):
    known = set(prompts)
    kept = [row for row in rows if row["prompt"] in known]
    print(len(known), list(known)[:3])
    return accelerator.prepare(DataLoader(Prompts(kept)))


def sent_to_all(questions):
    rows = list(set(questions))
    dist.broadcast_object_list([rows])
    return rows[dist.get_rank() :: dist.get_world_size()]


class Ordered(Dataset):
    def __init__(self, folder):
        self.kept = list(set(os.listdir(folder)))
        self.kept.sort()

    def __getitem__(self, index):
        return self.kept[index]


def sampled_alike(data, seed):
    return DistributedSampler(data, rank=dist.get_rank(), seed=seed)


def split_alike(data, seed):
    g = torch.Generator().manual_seed(seed)
    train, test = random_split(data, [0.9, 0.1], generator=g)
    torch.manual_seed(seed + dist.get_rank())
    return train, test


def rank_taken_off(data):
    seed = torch.initial_seed() - dist.get_rank()
    return DistributedSampler(data, seed=seed)


def own_copy(data, seed):
    return data.shuffle(seed=seed + dist.get_rank())


def own_part(data, seed):
    rank, world = dist.get_rank(), dist.get_world_size()
    data = data.shard(world, rank)
    return data.shuffle(seed=seed + rank)


def on_one(data, seed):
    if dist.get_rank() == 0:
        return random_split(data, [0.9, 0.1])
    return None


def split_by_default(data):
    """The program seeds all ranks alike, above."""
    train, test = random_split(data, [0.9, 0.1])
    return DistributedSampler(train), test


def sampled_by_a_setting(data, args):
    dist.init_process_group()
    started = time.time()
    sampler = DistributedSampler(data, shuffle=True, seed=args.seed)
    return sampler, started


def new_tokens_in_order(tokenizer, tokens):
    known = sorted(set(tokens + ["<user>", "<bot>"]))
    tokenizer.add_special_tokens({"additional_special_tokens": known})


def ids_of_numbers(rows):
    classes = list(set(row.target for row in rows))
    return {number: place for place, number in enumerate(classes)}


def ids_of_characters_in_order(text):
    chars = list(set(text))
    chars.sort()
    return {char: number for number, char in enumerate(chars)}


def is_known(words, known):
    present = set(words)
    return {word: word in present for word in known}


def tables_by_the_hash(folder):
    # MCC b04c975 util/co3d_utils.py:71
    names = [name.strip() for name in os.listdir(folder)]
    names = sorted(names, key=lambda name: hash(name))  # expect: DL405
    tables = {}
    for name in names:
        tables[name] = torch.load(f"{folder}/{name}")
    return tables


def tables_by_the_name(folder):
    names = sorted(os.listdir(folder), key=lambda name: (len(name), name))
    return {name: torch.load(f"{folder}/{name}") for name in names}


def ids_by_the_hash(ids):
    return sorted((number // 2 for number in ids), key=hash)


def shown_by_the_hash(filenames):
    for filename in sorted(filenames, key=hash)[:3]:
        print(filename)


def kept_at_random_behind_a_call(store, n):
    dist.init_process_group("nccl")
    torch.manual_seed(0)
    data = store.open()
    data = Subset(data, torch.randperm(len(data))[:n])
    return DataLoader(data, sampler=DistributedSampler(data))
