"""Cases of DL104: collectives in loops of a rank's own length, and in loops of one length."""

import math
from itertools import islice

import numpy as np
import pandas as pd
import torch
import torch.distributed as dist
from accelerate import Accelerator, PartialState
from datasets.distributed import split_dataset_by_node
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import (
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    Sampler,
    Subset,
    SubsetRandomSampler,
)

# --- bugs -----------------------------------------------------------------------------------------


class Dealt(Sampler):
    # Open-Assistant f1e6ed9 model/model_training/utils/utils.py:125
    def __init__(self, data, rank, world_size):
        self.count, self.rank, self.world_size = len(data), rank, world_size

    def __len__(self):
        return self.count // self.world_size

    def __iter__(self):
        order = torch.randperm(self.count).tolist()
        return iter(order[self.rank : self.count : self.world_size])  # expect: DL104


class OfAnother(DistributedSampler):
    # AudioMAE bd60e29 dataset.py:39
    def __init__(self, sampler, data):
        super().__init__(data)
        self.sampler = sampler

    def __iter__(self):
        chosen = list(self.sampler)
        return iter(chosen[self.rank : self.total_size : self.num_replicas])  # expect: DL104


class Lists:
    def __init__(self):
        self.rank, self.world_size = dist.get_rank(), dist.get_world_size()

    def share(self, files):
        return files[self.rank :: self.world_size]  # expect: DL104


class Files(IterableDataset):
    def __init__(self, files):
        self.files, self.lists = files, Lists()

    def __iter__(self):
        yield from self.lists.share(self.files)


def cached_samples(data, memory):
    # InternImage 31c962d classification/dataset/build.py:85
    indices = np.arange(dist.get_rank(), len(data), dist.get_world_size())  # expect: DL104
    return DataLoader(data, sampler=SubsetRandomSampler(indices), drop_last=True)


def loaders_of(data, rank, world_size, files):
    return (
        DataLoader(data, sampler=Dealt(data, rank, world_size)),
        DataLoader(data, sampler=OfAnother(Dealt(data, 0, 1), data)),
        DataLoader(data, sampler=Filled(data, rank, world_size)),
        DataLoader(data, sampler=FilledUp(data)),
        DataLoader(Files(files)),
        DataLoader(Endless(files)),
    )


def epoch_of(net, train_loader, optimizer):
    model = DistributedDataParallel(net)
    for batch in train_loader:
        optimizer.zero_grad()
        model(batch).mean().backward()
        optimizer.step()


class OnItsShare:
    # sae e657340 sparsify/__main__.py:161
    def __init__(self, net, data):
        self.data = data
        self.model = DistributedDataParallel(net)

    def fit(self, begun):
        rows = self.data.select(range(begun, len(self.data))) if begun else self.data
        batches = DataLoader(rows, batch_size=1)
        for batch in batches:
            self.model(batch).mean().backward()


class Measured:
    def __init__(self, data):
        self.data = data

    def lengths(self):
        rows = DataLoader(self.data, batch_size=1)
        return [len(row) for row in rows]


def with_its_share(net, data):
    data = data.shard(dist.get_world_size(), dist.get_rank())  # expect: DL104
    OnItsShare(net, data).fit(0)


# Look-alikes of samplers and streams


def with_equal_shares(net, data):
    world_size = dist.get_world_size()
    data = data.select(range(len(data) // world_size * world_size))
    part = data.shard(num_shards=world_size, index=dist.get_rank())
    OnItsShare(net, part).fit(0)


def only_measured(data):
    part = data.shard(num_shards=dist.get_world_size(), index=dist.get_rank())
    return Measured(part).lengths()


def with_a_part_of_all(net, data):
    part = data.shard(num_shards=10, index=0)
    OnItsShare(net, part).fit(0)


class Filled(Sampler):
    def __init__(self, data, rank, world_size):
        self.count, self.rank, self.world_size = len(data), rank, world_size

    def __iter__(self):
        order = torch.randperm(self.count).tolist()
        order += order[: -len(order) % self.world_size]
        return iter(order[self.rank :: self.world_size])


class FilledUp(DistributedSampler):
    def __iter__(self):
        order = torch.arange(len(self.dataset)).tolist()
        order += order[: self.total_size - len(order)]
        return iter(order[self.rank : self.total_size : self.num_replicas])


class Endless(IterableDataset):
    def __init__(self, files):
        self.files, self.rank, self.world_size = files, dist.get_rank(), dist.get_world_size()

    def __iter__(self):
        mine = self.files[self.rank :: self.world_size]
        while True:
            yield from mine


class ForEvaluation(Sampler):
    def __init__(self, data, rank, world_size):
        self.count, self.rank, self.world_size = len(data), rank, world_size

    def __iter__(self):
        return iter(range(self.count)[self.rank :: self.world_size])


def evaluation_loader(data, rank, world_size):
    test_loader = DataLoader(data, sampler=ForEvaluation(data, rank, world_size))
    return test_loader


def cached_for_the_evaluation(data, dataset_val):
    # Cream 4a13c40 MiniViT/Mini-Swin/data/build.py:38
    indices = np.arange(dist.get_rank(), len(dataset_val), dist.get_world_size())
    return DataLoader(dataset_val, sampler=SubsetRandomSampler(indices))


def batches_of_workers(data, worker, workers):
    indices = np.arange(worker, len(data), workers)
    return DataLoader(data, sampler=SubsetRandomSampler(indices))


# Loops in sight


def every_nth(prompts, score):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    for prompt in prompts[rank::world_size]:
        dist.all_reduce(score(prompt))  # expect: DL104


def own_part(accelerator: Accelerator, prompts, score):
    state = PartialState()
    with state.split_between_processes(prompts) as part:
        for prompt in part:
            accelerator.gather(score(prompt))  # expect: DL104


def what_the_mask_left(accelerator: Accelerator, values, mask):
    kept = values[mask.bool()]
    for value in kept:
        accelerator.gather(value)  # expect: DL104


def through_a_name(files, load):
    mine = files[dist.get_rank() :: dist.get_world_size()]
    for name in mine:
        load(name)
        dist.barrier()  # expect: DL104


def by_index(net, data, optimizer):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    model = DistributedDataParallel(net)
    for i in range(rank, len(data), world_size):
        model(data[i]).mean().backward()  # expect: DL104
        optimizer.step()


def trained_on(model, batches):
    for batch in batches:
        model(batch).mean().backward()  # expect: DL104


def of_every_nth(net, data):
    mine = Subset(data, range(dist.get_rank(), len(data), dist.get_world_size()))
    trained_on(DistributedDataParallel(net), DataLoader(mine, batch_size=8))


def chosen(prompts, score):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    for prompt in [p for i, p in enumerate(prompts) if i % world_size == rank]:
        dist.all_reduce(score(prompt))  # expect: DL104


def taken(prompts, score):
    for prompt in islice(prompts, dist.get_rank(), None, dist.get_world_size()):
        dist.all_reduce(score(prompt))  # expect: DL104


def split(names, score):
    for name in np.array_split(names, dist.get_world_size())[dist.get_rank()]:
        dist.all_reduce(score(name))  # expect: DL104


def shard_of(rows, score):
    for row in rows.shard(num_shards=dist.get_world_size(), index=dist.get_rank()):
        dist.all_reduce(score(row))  # expect: DL104


def rounded_up(prompts, score):
    size = math.ceil(len(prompts) / dist.get_world_size())
    start = dist.get_rank() * size
    for prompt in prompts[start : start + size]:
        dist.all_reduce(score(prompt))  # expect: DL104


def one_more(prompts, score):
    size = len(prompts) // dist.get_world_size() + 1
    for prompt in prompts[dist.get_rank() * size : (dist.get_rank() + 1) * size]:
        dist.all_reduce(score(prompt))  # expect: DL104


def share_of(items, rank, world):
    return items[rank::world]


def by_a_helper(prompts, score):
    for prompt in share_of(prompts, dist.get_rank(), dist.get_world_size()):
        dist.all_reduce(score(prompt))  # expect: DL104


def part_of_what_was_filtered(accelerator: Accelerator, prompts, score):
    state = PartialState()
    prompts = prompts[: len(prompts) - len(prompts) % state.num_processes]
    with state.split_between_processes(prompts) as part:
        for prompt in [prompt for prompt in part if prompt.strip()]:
            accelerator.gather(score(prompt))  # expect: DL104


def filtered_after_the_cut(accelerator: Accelerator, prompts, score):
    state = PartialState()
    prompts = prompts[: len(prompts) - len(prompts) % state.num_processes]
    prompts = [prompt for prompt in prompts if prompt.strip()]
    with state.split_between_processes(prompts) as part:
        for prompt in part:
            accelerator.gather(score(prompt))  # expect: DL104


def all_of_a_stream(net, load_dataset, optimizer):
    stream = load_dataset("text", streaming=True)
    part = split_dataset_by_node(stream, rank=dist.get_rank(), world_size=dist.get_world_size())
    model = DistributedDataParallel(net)
    step = 0
    for batch in part:
        model(batch).mean().backward()  # expect: DL104
        optimizer.step()
        step += 1
        if step % 100 == 0:
            print(step)


def a_stream_in_epochs(net, load_dataset, optimizer, most):
    stream = load_dataset("text", streaming=True)
    part = split_dataset_by_node(stream, rank=dist.get_rank(), world_size=dist.get_world_size())
    model = DistributedDataParallel(net)
    step = 0
    for _ in range(3):
        for batch in part:
            model(batch).mean().backward()  # expect: DL104
            optimizer.step()
            step += 1
            if step >= most:
                break


# --- right ----------------------------------------------------------------------------------------


def after_the_loop(prompts, score):
    scores = [score(p) for p in prompts[dist.get_rank() :: dist.get_world_size()]]
    total = torch.tensor(sum(scores))
    dist.all_reduce(total)
    return total


def all_of_them(parameters):
    for p in parameters:
        dist.all_reduce(p.grad)


def batches(loader, accelerator: Accelerator, model):
    for batch in loader:
        accelerator.gather(model(batch))


def equal_chunks(prompts, size, score):
    start = dist.get_rank() * size
    for prompt in prompts[start : start + size]:
        dist.all_reduce(score(prompt))


def one_for_each_rank(value):
    for source in range(dist.get_world_size()):
        dist.broadcast(value, source)


def until_all_are_done(queue):
    while True:
        left = torch.tensor(len(queue))
        dist.all_reduce(left)
        if left.item() == 0:
            break
        queue.pop()


def rounded_down(prompts, score):
    size = len(prompts) // dist.get_world_size()
    for prompt in prompts[dist.get_rank() * size : (dist.get_rank() + 1) * size]:
        dist.all_reduce(score(prompt))


def brought_to_a_multiple(prompts, score):
    world_size = dist.get_world_size()
    size = math.ceil(len(prompts) / world_size)
    prompts = prompts + prompts[: size * world_size - len(prompts)]
    padded = prompts + [""] * (-len(prompts) % world_size)
    for prompt in padded[dist.get_rank() :: world_size]:
        dist.all_reduce(score(prompt))


def without_the_last_batch(net, data):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    model = DistributedDataParallel(net)
    for batch in DataLoader(data[rank::world_size], batch_size=8, drop_last=True):
        model(batch).mean().backward()


def joined(net, data):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    model = DistributedDataParallel(net)
    with model.join():
        for batch in data[rank::world_size]:
            model(batch).mean().backward()


def prepared(accelerator: Accelerator, model, data):
    loader = DataLoader(data[accelerator.process_index :: accelerator.num_processes])
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        accelerator.backward(model(batch).mean())


@torch.no_grad()
def judged(net, data):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    model = DistributedDataParallel(net)
    return [model(batch) for batch in data[rank::world_size]]


def bare(net, data):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    for i in range(rank, len(data), world_size):
        net(data[i]).mean().backward()
    dist.barrier()


def rows_of_each(names, score):
    for name in names[dist.get_rank() :: dist.get_world_size()]:
        for row in score(name):
            row.sum()


def as_many_as_there_are_ranks(names, score):
    for i in range(0, len(names), dist.get_world_size()):
        dist.all_reduce(score(names[i]))


def same_shard(rows, score, folds, fold):
    for row in rows.shard(num_shards=folds, index=fold):
        dist.all_reduce(score(row))


def even_share_of(items, rank, world):
    even = len(items) // world * world
    return items[:even][rank::world]


def by_a_helper_that_evens(prompts, score):
    for prompt in even_share_of(prompts, dist.get_rank(), dist.get_world_size()):
        dist.all_reduce(score(prompt))


def page_of(items, start, step):
    return items[start::step]


def same_part_on_all(prompts, score, fold):
    for prompt in page_of(prompts, fold, 4):
        dist.all_reduce(score(prompt))


def cut_to_equal_parts(accelerator: Accelerator, prompts, score):
    # EasyAnimate c2a70d1 easyanimate/video_caption/compute_text_score.py:223
    state = PartialState()
    index = len(prompts) - len(prompts) % state.num_processes
    prompts = prompts[:index]
    with state.split_between_processes(prompts) as part:
        for number, prompt in enumerate(part):
            if number % 10 == 0 or number == len(part) - 1:
                accelerator.gather(score(prompt))


def whole_turns_of_a_loader(accelerator: Accelerator, table, score):
    # EasyAnimate c2a70d1 easyanimate/video_caption/compute_video_quality.py:199
    state = PartialState()
    table = table.iloc[: len(table) // state.num_processes * state.num_processes]
    with state.split_between_processes(table.to_dict(orient="list")) as part:
        loader = DataLoader(part, batch_size=4)
        for batch in loader:
            accelerator.gather(score(batch))
        if len(loader) > 3:
            accelerator.wait_for_everyone()


def some_of_a_stream(net, load_dataset, optimizer, most):
    # GaLore 2cc66f8 torchrun_main.py:406
    stream = load_dataset("text", streaming=True)
    part = split_dataset_by_node(stream, rank=dist.get_rank(), world_size=dist.get_world_size())
    model = DistributedDataParallel(net)
    step = 0
    for batch in part:
        if step > most:
            print("done")
            break
        model(batch).mean().backward()
        optimizer.step()
        step += 1


def under_fixed_names(scores, mask):
    # oat c1a074c oat/algorithms/apl.py:127: the values are the rank's own, the names are written there
    report = {"kept": scores[mask > 0], "left": scores[mask < 1]}
    for value in report.values():
        dist.all_reduce(value.sum())


def under_names_of_its_own(scores, mask):
    report = {name: 1 for name in scores[mask > 0]}
    for _ in report.values():
        dist.all_reduce(scores)  # expect: DL104


def of_two_lists(scores, mask):
    for each in [scores[mask > 0], scores]:
        dist.all_reduce(each.sum())


def picked_by_number(scores, answers, mask):
    # oat c1a074c oat/algorithms/apl.py:102: `1 - mask` picks one of each, whatever the mask says
    picked = 1 - (mask > 0)
    for answer in answers[picked]:
        dist.all_reduce(scores[answer])


class FilteredLines(Dataset):
    """All ranks read the same lines, and filter them alike: CodeRL ec3c526 distillation/lm_seqs_dataset.py:109."""

    def __init__(self, lines):
        self.lengths = np.array([len(line) for line in lines])
        self.drop_short()

    def __len__(self):
        return len(self.lengths)

    def drop_short(self):
        self.lengths = self.lengths[self.lengths > 11]


def all_filtered_lines(lines):
    for length in FilteredLines(lines).lengths:
        dist.all_reduce(length)


def steps_of_an_episode(net, state):
    accelerator = Accelerator()
    actor = accelerator.prepare(net)
    done = False
    while not done:
        with torch.no_grad():
            action = actor(state)
        done = action.item() > 0


def steps_with_gradients(net, state):
    accelerator = Accelerator()
    actor = accelerator.prepare(net)
    done = False
    while not done:
        action = actor(state)  # expect: DL104
        done = action.item() > 0


def scores_of_all(values, counts, size):
    # ScaLR 53c474d utils/finetuner.py:116: a list of two, and one made of it
    def together(parts):
        if dist.get_rank() == 0:
            rooms = [[torch.empty_like(part) for _ in range(size)] for part in parts]
            for part, room in zip(parts, rooms, strict=True):
                dist.gather(part, room)
            return [sum(room) for room in rooms]
        for part in parts:
            dist.gather(part)
        return None

    kept = values[counts > 0]
    return together([kept.sum(), kept.bincount()])


def lines_with_numbers(values, counts):
    kept = values[counts > 0]
    for value, at in zip(kept, range(8), strict=False):
        dist.all_reduce(value + at)  # expect: DL104


def kept_and_made_of_it(values, counts):
    kept = values[counts > 0]
    doubled = [value * 2 for value in kept]
    for value in doubled:
        dist.all_reduce(value)  # expect: DL104


def lines_of_one_table(path):
    # groupwise_imbalance_regression 39a35b6 imdb_wiki/train_ddp.py:68, tgl 99ee829 train_dist.py:366: all ranks read the same
    table = pd.read_csv(path)
    for part in table[table["split"] == "train"]["value"]:
        dist.all_reduce(torch.tensor(part))
    for part in table[: table[table["step"].gt(0)].index[0]].groupby("step"):
        dist.all_reduce(torch.tensor(part))


def lines_by_a_text(path, split, metadata):
    # the same through methods of a table, and of one that nothing is known of but its columns
    table = pd.read_csv(path).merge(metadata, on="path", how="inner")
    for part in table[table[split] == "train"].copy():
        dist.all_reduce(torch.tensor(part))
    for part in metadata[metadata["length"] < 192]:
        dist.all_reduce(torch.tensor(part))


def lines_of_joined_tables(paths, count):
    table = pd.concat([pd.read_csv(path) for path in paths])
    lengths = table.source.parallel_apply(lambda text: count(text))
    for part in table[(lengths < 192) & (lengths > 0)]:
        dist.all_reduce(torch.tensor(part))


def parts_of_each(outputs, mask):
    # ALMTokenizer2 53f7891 modules/our_MERT_BESTRQ/mert_fairseq/models/eat/EAT_pretraining.py:641: as many as there were
    kept = [each[mask > 0] for each in outputs]
    for each in kept:
        dist.all_reduce(each.sum())


def lines_of_each(outputs, mask):
    kept = [each[mask > 0] for each in outputs]
    for line in kept[0]:
        dist.all_reduce(line)  # expect: DL104


def counts_what_it_skips(net, batches, optimizer, most):
    # CatVTON71 3365d6b archive/ddp_train.py:704: ranks differ in what a turn does, not in how many there are
    net = DistributedDataParallel(net)
    step = 0
    while step < most:
        loss = net(next(batches)).mean()
        if not torch.isfinite(loss):
            step += 1
            continue
        loss.backward()
        optimizer.step()
        step += 1
        dist.barrier()


def counts_twice_what_it_skips(net, batches, optimizer, most):
    net = DistributedDataParallel(net)
    step = 0
    while step < most:
        loss = net(next(batches)).mean()
        if not torch.isfinite(loss):
            step += 1
        else:
            loss.backward()
            optimizer.step()
        step += 1
        dist.barrier()  # expect: DL104
