"""Samplers over epochs (DL403) across files: which loop is a sampler's, and what tells it the epoch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import findings_in, offers_in

DATA = """
from torch.utils.data import DataLoader, DistributedSampler


def build_loaders(train_set, val_set):
    sampler_train = DistributedSampler(train_set, shuffle=True)
    sampler_val = DistributedSampler(val_set, shuffle=False)
    return DataLoader(train_set, sampler=sampler_train), DataLoader(val_set, sampler=sampler_val)


def build_samplers(datasets, shuffles):
    samplers = []
    for dataset, shuffle in zip(datasets, shuffles):
        samplers.append(DistributedSampler(dataset, shuffle=shuffle))
    return samplers
"""

TOLD = """
from data import build_loaders


def main(train_set, val_set, epochs):
    train_loader, val_loader = build_loaders(train_set, val_set)
    for epoch in range(epochs):
        train_loader.sampler.set_epoch(epoch)
        train_one_epoch(train_loader)


def train_one_epoch(loader):
    for batch in loader:
        batch.sum().backward()
"""

UNTOLD = TOLD.replace("        train_loader.sampler.set_epoch(epoch)\n", "")

LISTS = """
from data import build_samplers
from torch.utils.data import DataLoader


def main(train_set, val_set, epochs):
    samplers = build_samplers([train_set, val_set], [True, False])
    loader = DataLoader(train_set, sampler=samplers[0])
    for epoch in range(epochs):
        train_one_epoch(loader)


def train_one_epoch(loader):
    for batch in loader:
        batch.sum().backward()
"""

PLAIN = """
from data import build_loaders
from torch.utils.data import DataLoader


def main(train_set, val_set, epochs):
    train_loader, val_loader = build_loaders(train_set, val_set)
    for epoch in range(epochs):
        train_loader.sampler.set_epoch(epoch)
        train_one_epoch(train_loader)
    probes = DataLoader(val_set, shuffle=True)
    for epoch in range(epochs):
        train_one_epoch(probes)


def train_one_epoch(loader):
    for batch in loader:
        batch.sum().backward()
"""

OWN_SAMPLER = """
import torch
from torch.utils.data import DataLoader, Sampler


class ShardSampler(Sampler):
    def __init__(self, data, rank, size, shuffle=True):
        self.data, self.rank, self.size, self.shuffle, self.epoch = data, rank, size, shuffle, 0

    def __iter__(self):
        generator = torch.Generator()
        generator.manual_seed(self.epoch)
        order = torch.randperm(len(self.data), generator=generator).tolist()
        return iter(order[self.rank :: self.size])

    def set_epoch(self, epoch):
        self.epoch = epoch


class Strategy:
    def loader(self, data, shuffle=True):
        sampler = ShardSampler(data, torch.distributed.get_rank(), 8, shuffle=shuffle)
        return DataLoader(data, sampler=sampler)
"""

STRATEGIES = """
from strategy import Strategy


def get_strategy(args):
    return Strategy()
"""

OWN_TRAINER = """
import torch.distributed as dist


class Trainer:
    def __init__(self, loader, epochs):
        self.loader = loader
        self.epochs = epochs

    def fit(self):
        for epoch in range(self.epochs):
            {tell}
            for batch in self.loader:
                batch.sum().backward()
            if dist.get_rank() == 0:
                print(epoch)
"""

OWN_SCRIPT = """
from strategies import get_strategy
from trainer import Trainer


def main(args, data):
    strategy = get_strategy(args)
    trainer = Trainer(strategy.loader(data), args.epochs)
    trainer.fit()
"""


def test_a_loop_that_another_scripts_loop_does_not_speak_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"data.py": DATA, "told.py": TOLD, "untold.py": UNTOLD}
    assert findings_in("DL403", tmp_path, files, capsys) == [("untold.py", 7)]


TWO_PROGRAMS = """
from torch.utils.data import DataLoader, DistributedSampler


def init_data(data):
    sampler = DistributedSampler(data, shuffle=True)
    return DataLoader(data, sampler=sampler), sampler
"""

PRETRAINS = """
from data import init_data


def main(data, args):
    loader, sampler = init_data(data)
    sampler.set_epoch(args.start)
    batches = iter(loader)
    for epoch in range(args.start, args.epochs):
        for _ in range(args.steps):
            try:
                batch = next(batches)
            except StopIteration:
                sampler.set_epoch(epoch)
                batches = iter(loader)
            batch.sum().backward()
"""

PROBES = """
from data import init_data


def main(data, args):
    loader = make_loader(data)
    for epoch in range(args.epochs):
        run_one_epoch(loader)


def make_loader(data):
    loader, _ = init_data(data)
    return loader


def run_one_epoch(loader):
    for batch in loader:
        batch.sum().backward()
"""


def test_a_program_that_drops_the_sampler_beside_one_that_tells_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"data.py": TWO_PROGRAMS, "pretrain.py": PRETRAINS, "probe.py": PROBES}
    assert findings_in("DL403", tmp_path, files, capsys) == [("probe.py", 7)]


def test_a_hook_that_tells_all_samplers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hook = "\n\nclass Hook:\n    def before_epoch(self, run):\n        run.sampler.set_epoch(run.epoch)\n"
    files = {"data.py": TWO_PROGRAMS, "probe.py": PROBES + hook}
    assert findings_in("DL403", tmp_path, files, capsys) == []


def test_a_sampler_that_nobody_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"data.py": DATA, "untold.py": UNTOLD}
    assert findings_in("DL403", tmp_path, files, capsys) == [("data.py", 6)]


def test_a_sampler_that_every_loop_tells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"data.py": DATA, "told.py": TOLD, "plain.py": PLAIN}
    assert findings_in("DL403", tmp_path, files, capsys) == []


def test_a_flag_that_comes_in_a_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"data.py": DATA, "lists.py": LISTS}
    assert findings_in("DL403", tmp_path, files, capsys) == [("data.py", 14)]
    files["lists.py"] = LISTS.replace("[True, False]", "[False, False]")
    assert findings_in("DL403", tmp_path, files, capsys) == []


def test_a_sampler_of_the_project_behind_a_factory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        "strategy.py": OWN_SAMPLER,
        "strategies.py": STRATEGIES,
        "trainer.py": OWN_TRAINER.format(tell="pass"),
        "script.py": OWN_SCRIPT,
    }
    assert findings_in("DL403", tmp_path, files, capsys) == [("strategy.py", 22)]
    files["trainer.py"] = OWN_TRAINER.format(tell="self.loader.sampler.set_epoch(epoch)")
    assert findings_in("DL403", tmp_path, files, capsys) == []


BUCKETS = """
import torch
from torch.utils.data import DataLoader, DistributedSampler


class Buckets(DistributedSampler):
    def __iter__(self):
        generator = torch.Generator()
        generator.manual_seed(self.epoch)
        yield from torch.randperm(len(self.dataset), generator=generator).tolist()


def create_train_val_loaders(train_set, val_set):
    sampler = Buckets(train_set)
    return DataLoader(train_set, batch_sampler=sampler), DataLoader(val_set)


def main(train_set, val_set, epochs):
    loader, _ = create_train_val_loaders(train_set, val_set)
    for epoch in range(epochs):
        {tell}
        batches = iter(loader)
        batch = next(batches, None)
        while batch is not None:
            batch.sum().backward()
            batch = next(batches, None)
"""


def test_a_subclass_of_the_sampler_and_a_loop_without_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"script.py": BUCKETS.format(tell="pass")}
    assert findings_in("DL403", tmp_path, files, capsys) == [("script.py", 14)]
    files["script.py"] = BUCKETS.format(tell="loader.batch_sampler.set_epoch(epoch)")
    assert findings_in("DL403", tmp_path, files, capsys) == []


COUNTED = """
from torch.utils.data import DataLoader, DistributedSampler


def build(data, rect, shuffle=False):
    if rect and shuffle:
        shuffle = False
    return DataLoader(data, sampler=DistributedSampler(data, shuffle=shuffle))


class Trainer:
    def __init__(self, data, epochs):
        self.epoch, self.epochs = 0, epochs
        self.train_set = data
        self.loader = build(data, rect=True, shuffle=True)

    def run(self):
        {loop}
            {tell}
            self.train_epoch()
            {count}

    def train_epoch(self):
        for batch in self.loader:
            batch.sum().backward()


def main(data, args):
    trainer = Trainer(data, args.epochs)
    trainer.run()
"""


@pytest.mark.parametrize(
    ("loop", "count"),
    [
        ("for self.epoch in range(self.epochs):", "pass"),
        ("while self.epoch < self.epochs:", "self.epoch += 1"),
    ],
)
def test_epochs_that_an_attribute_counts(
    loop: str, count: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def found(tell: str) -> list[tuple[str, int]]:
        files = {"script.py": COUNTED.format(loop=loop, count=count, tell=tell)}
        return findings_in("DL403", tmp_path, files, capsys)

    assert found("pass") == [("script.py", 8)]
    assert found("self.train_set.set_epoch(self.epoch)") == [("script.py", 8)]
    assert found("self.loader.sampler.set_epoch(self.epoch)") == []


def test_a_while_that_counts_no_epochs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = COUNTED.format(loop="while self.epoch < self.epochs:", count="pass", tell="pass")
    assert findings_in("DL403", tmp_path, {"script.py": text}, capsys) == [("script.py", 8)]
    for pass_or_step in ("for batch in self.few():", "for batch in [next(self.loader)]:"):
        stepping = text.replace("for batch in self.loader:", pass_or_step)
        assert findings_in("DL403", tmp_path, {"script.py": stepping}, capsys) == []


ENDLESS = """
from torch.utils.data import DataLoader, DistributedSampler


def sampler_of(data, is_train):
    return DistributedSampler(data, shuffle=is_train)


def sample_data(loader):
    {hand_out}


class Again:
    def __init__(self, dataloader):
        self.dataloader = dataloader
        self.batches = iter(dataloader)

    def __next__(self):
        try:
            return next(self.batches)
        except StopIteration:
            {tell}
            self.batches = iter(self.{again})
        return next(self.batches)


def train(loader, steps):
    batches = {batches}(loader)
    for _ in range(steps):
        next(batches).sum().backward()


def main(data):
    train(DataLoader(data, sampler=sampler_of(data, is_train=True)), 1000)
{script}
"""
FOR_EVER = "while True:\n        for batch in loader:\n            yield batch"
YIELDED = "while True:\n        yield from loader"
UNDER_ANOTHER_NAME = "dl = loader\n\n\ndef sample_data(dl):\n    while True:\n        for x in dl:\n            yield x"
ONCE = "for batch in loader:\n        yield batch"


SCRIPT = """

if __name__ == "__main__":
    main(load())
"""


@pytest.mark.parametrize(
    ("batches", "hand_out", "again", "tell", "lines"),
    [
        ("sample_data", FOR_EVER, "other", "pass", [6]),
        ("sample_data", YIELDED, "other", "pass", [6]),
        ("sample_data", UNDER_ANOTHER_NAME, "other", "pass", [6]),
        ("Again", ONCE, "dataloader", "pass", [6]),
        ("sample_data", ONCE, "other", "pass", []),
        ("sample_data", FOR_EVER, "other", "self.dataloader.sampler.set_epoch(1)", []),
        ("Again", ONCE, "dataloader", "self.dataloader.sampler.set_epoch(1)", []),
        ("Again", ONCE, "queue", "pass", []),
    ],
)
def test_batches_that_are_handed_out_for_ever(
    batches: str,
    hand_out: str,
    again: str,
    tell: str,
    lines: list[int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = ENDLESS.format(batches=batches, hand_out=hand_out, again=again, tell=tell, script=SCRIPT)
    found = findings_in("DL403", tmp_path, {"script.py": text}, capsys)
    assert [line for _, line in found] == lines


def test_batches_that_a_library_hands_out_for_ever(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = ENDLESS.format(
        batches="sample_data", hand_out=FOR_EVER, again="other", tell="pass", script=""
    )
    assert findings_in("DL403", tmp_path, {"script.py": text}, capsys) == []


def test_a_loop_over_other_data_than_what_is_handed_out_for_ever(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = ENDLESS.format(
        batches="Again",
        hand_out=ONCE,
        again="dataloader",
        tell="self.dataloader.sampler.set_epoch(1)",
        script="",
    )
    text += """

def optimise(rollouts, epochs):
    for epoch in range(epochs):
        for batch in rollouts:
            batch.sum().backward()


def all_of_it(data, rollouts):
    main(data)
    optimise(rollouts, 4)
"""
    assert findings_in("DL403", tmp_path, {"script.py": text}, capsys) == []


PREPARED = """
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, Sampler


class Batches(Sampler):
    def __init__(self, batches):
        self.batches, self.epoch = batches, 0

    def __iter__(self):
        generator = torch.Generator()
        generator.manual_seed(self.epoch)
        for i in torch.randperm(len(self.batches), generator=generator).tolist():
            yield self.batches[i]

    def set_epoch(self, epoch):
        self.epoch = epoch


def train(model, data, batches, epochs):
    accelerator = Accelerator()
    sampler = Batches(batches)
    loader = DataLoader(data, batch_sampler=sampler)
    model, loader = accelerator.prepare(model, {prepared})
    for epoch in range(epochs):
        {tell}
        for batch in loader:
            accelerator.backward(model(batch).sum())
"""


@pytest.mark.parametrize(
    ("prepared", "tell", "lines"),
    [
        ("loader", "pass", [23]),
        ("loader", "loader.batch_sampler.set_epoch(epoch)", [27]),
        ("loader", "loader.set_epoch(epoch)", [27]),
        ("loader", "sampler.set_epoch(epoch)", []),
        ("loader", "loader.batch_sampler.batch_sampler.set_epoch(epoch)", []),
        ("optimizer", "loader.batch_sampler.set_epoch(epoch)", []),
    ],
)
def test_a_batch_sampler_that_accelerate_wraps(
    prepared: str,
    tell: str,
    lines: list[int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = PREPARED.format(prepared=prepared, tell=tell)
    found = findings_in("DL403", tmp_path, {"script.py": text}, capsys)
    assert [line for _, line in found] == lines


def test_a_generator_of_another_file_that_gets_the_sampler_tells_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # trlx 3340c2f trlx/trainer/nemo_ppo_trainer.py:354
    forever = """
from itertools import count


def forever(loader, sampler=None):
    for epoch in count():
        {told}
        yield from loader
"""
    script = """
from torch.utils.data import DataLoader, DistributedSampler

from loading import forever


def learn(model, data, epochs):
    sampler = DistributedSampler(data, shuffle=True)
    batches = iter(forever(DataLoader(data, sampler=sampler), sampler=sampler))
    for epoch in range(epochs):
        for _ in range(100):
            model(next(batches))
"""
    told = {"loading.py": forever.format(told="sampler.set_epoch(epoch)"), "learn.py": script}
    assert findings_in("DL403", tmp_path, told, capsys) == []
    untold = {**told, "loading.py": forever.format(told="print(epoch)")}
    assert findings_in("DL403", tmp_path, untold, capsys) == [("learn.py", 8)]


STEPS = """
from torch.utils.data import DataLoader, DistributedSampler


def main(model, data, steps):
    sampler = DistributedSampler(data)
    loader = DataLoader(data, sampler=sampler)
    step = epoch = 0
    while step < steps:
        sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).sum().backward()
            step += 1
        epoch += 1


main(net(), rows(), 100)
"""


def test_epochs_that_are_counted_beside_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert findings_in("DL403", tmp_path, {"told.py": STEPS}, capsys) == []
    untold = STEPS.replace("        sampler.set_epoch(epoch)\n", "")
    assert findings_in("DL403", tmp_path, {"untold.py": untold}, capsys) == [("untold.py", 6)]


BY_HAND = """
from accelerate import Accelerator
from torch.utils.data import DataLoader, DistributedSampler


def main(model, optimizer, data, epochs):
    accelerator = Accelerator()
    sampler = DistributedSampler(data, accelerator.num_processes, accelerator.process_index)
    loader = DataLoader(data, sampler=sampler)
    model, optimizer = accelerator.prepare(model, optimizer)
    for epoch in range(epochs):
        for batch in loader:
            accelerator.backward(model(batch))
"""


@pytest.mark.parametrize(
    ("prepared", "found"),
    [
        ("model, optimizer", 1),
        ("model, optimizer, loader", 0),
        ("*everything", 0),
        ("model, make_loader(data)", 0),
    ],
)
def test_accelerate_tells_what_it_prepares(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], prepared: str, found: int
) -> None:
    text = BY_HAND.replace("prepare(model, optimizer)", f"prepare({prepared})")
    assert len(findings_in("DL403", tmp_path, {"train.py": text}, capsys)) == found


@pytest.mark.parametrize(
    ("imported", "found"),
    [
        ("from lightning.pytorch.utilities import CombinedLoader", 1),
        ("from pytorch_lightning.utilities.combined_loader import CombinedLoader", 1),
        ("import pytorch_lightning as pl", 0),
        ("from lightning.fabric import Fabric", 0),
    ],
)
def test_a_tool_of_lightning_is_no_trainer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], imported: str, found: int
) -> None:
    text = f"{imported}\n{BY_HAND}"
    assert len(findings_in("DL403", tmp_path, {"train.py": text}, capsys)) == found


@pytest.mark.parametrize(
    ("name", "found"), [("train_sampler", 1), ("sampler", 0), ("val_sampler", 0)]
)
def test_a_setting_shuffles_what_is_trained_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, found: int
) -> None:
    text = """
from torch.utils.data import DataLoader, DistributedSampler


def main(model, data, options):
    if options["dist"]:
        sampler = DistributedSampler(data, shuffle=options["shuffle"])
        loader = DataLoader(data, sampler=sampler)
    else:
        loader = DataLoader(data, shuffle=options["shuffle"])
    for epoch in range(options["epochs"]):
        for batch in loader:
            model(batch).sum().backward()
"""
    text = text.replace("sampler =", f"{name} =").replace("=sampler", f"={name}")
    assert len(findings_in("DL403", tmp_path, {"train.py": text}, capsys)) == found


PASSES = """
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, DistributedSampler


def forever(loader, sampler=None):
    while True:
        if sampler is not None:
            sampler.set_epoch(1)
        for batch in loader:
            yield batch


class Passes:
    def __init__(self, loader, model, sampler=None):
        self.loader, self.model = loader, model
        self.sampler = sampler

    def train(self, epochs):
        for turn in range(epochs):
            if self.sampler is not None:
                self.sampler.set_epoch(turn)
            for batch in self.loader:
                self.model(batch).sum().backward()


def worker(rank, model, data, chosen):
    sampler = DistributedSampler(data)
    loader = DataLoader(data, sampler=sampler)
    PASS


if __name__ == "__main__":
    mp.spawn(worker, args=(make_model(), make_data(), {}), nprocs=8)
"""

IN_A_CLASS = PASSES[: PASSES.index("def forever")] + PASSES[PASSES.index("class Passes") :]
HANDED_OUT = PASSES[: PASSES.index("class Passes")] + PASSES[PASSES.index("def worker") :]


@pytest.mark.parametrize(
    ("text", "started", "found"),
    [
        (IN_A_CLASS, "Passes(loader, model).train(9)", 1),
        (IN_A_CLASS, "Passes(loader, model, None).train(9)", 1),
        (IN_A_CLASS, "Passes(loader, model, sampler=sampler).train(9)", 0),
        (IN_A_CLASS, "Passes(loader, model, sampler).train(9)", 0),
        (IN_A_CLASS, "Passes(loader, model, **chosen).train(9)", 0),
        (IN_A_CLASS, "Passes(*chosen).train(9)", 0),
        (HANDED_OUT, "step(model, forever(loader))", 1),
        (HANDED_OUT, "step(model, forever(loader, sampler))", 0),
        (HANDED_OUT, "step(model, partial(forever, loader, sampler=sampler))", 0),
    ],
)
def test_a_sampler_that_nobody_hands_to_who_would_tell_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, started: str, found: int
) -> None:
    text = text.replace("PASS", started)
    assert len(findings_in("DL403", tmp_path, {"train.py": text}, capsys)) == found


TURNS = """
from torch.utils.data import DataLoader, DistributedSampler


def train(number, loader, model):
    for batch in loader:
        model(batch).sum().backward()


def main(model, data, args):
    sampler = DistributedSampler(data)
    loader = DataLoader(data, sampler=sampler)
    for i in COUNT:
        train(i, loader, model)
"""


@pytest.mark.parametrize(
    ("count", "found"),
    [
        ("range(args.epoch)", 1),
        ("range(args.start, args.epochs + 1)", 1),
        ('tqdm(range(args["num_epochs"]))', 1),
        ("trange(args.max_epoch, desc='all')", 1),
        ("range(args.epoch_num)", 1),
        ("range(args.steps_per_epoch)", 0),
        ("range(args.epoch_length)", 0),
        ("range(args.repeats)", 0),
        ("loader", 0),
    ],
)
def test_a_range_that_counts_the_epochs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], count: str, found: int
) -> None:
    text = TURNS.replace("COUNT", count)
    assert len(findings_in("DL403", tmp_path, {"train.py": text}, capsys)) == found
    told = text.replace("        train(i,", "        sampler.set_epoch(i)\n        train(i,")
    assert findings_in("DL403", tmp_path, {"train.py": told}, capsys) == []


BEGUN_ANEW = """
from torch.utils.data import DataLoader, DistributedSampler


class Batches:
    def __init__(self, loader):
        self.loader = loader

    def __iter__(self):
        while True:
            yield from self.loader

    METHOD


def make_loader(data):
    sampler = DistributedSampler(data)
    return Batches(DataLoader(data, sampler=sampler))


def make_all(data):
    loader = make_loader(data)
    return loader, len(data)


def main(model, data, steps):
    loader, size = MAKE
    step = 0
    while step < steps:
        if hasattr(loader, "set_epoch"):
            loader.set_epoch(step // size)
        for batch in loader:
            model(batch).sum().backward()
            step += 1
"""


@pytest.mark.parametrize(
    ("method", "make", "found"),
    [
        ("def __len__(self):\n        return 9", "make_all(data)", 1),
        ("def __len__(self):\n        return 9", "(make_loader(data), 9)", 1),
        ("def __len__(self):\n        return 9", "accelerator.prepare(make_loader(data), 9)", 0),
        ("def set_epoch(self, epoch):\n        self.epoch = epoch", "make_all(data)", 0),
        (
            "def __getattr__(self, name):\n        return getattr(self.loader, name)",
            "make_all(data)",
            0,
        ),
    ],
)
def test_a_loader_that_has_no_such_method(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], method: str, make: str, found: int
) -> None:
    text = BEGUN_ANEW.replace("METHOD", method).replace("MAKE", make)
    assert len(findings_in("DL403", tmp_path, {"train.py": text}, capsys)) == found


BESIDE_DATA = """
from accelerate.logging import get_logger
from torch.utils.data import DataLoader, DistributedSampler

logger = get_logger(__name__)


def make(data, world, rank):
    sampler = DistributedSampler(data, world, rank)
    return DataLoader(data, sampler=sampler)
"""
BESIDE = """
from accelerate import Accelerator
from data import make


def main(model, optimizer, rows, epochs):
    accelerator = Accelerator()
    loader = make(rows, accelerator.num_processes, accelerator.process_index)
    model, optimizer = accelerator.prepare(model, optimizer)
    for epoch in range(epochs):
        for batch in loader:
            accelerator.backward(model(batch))
"""


@pytest.mark.parametrize(("prepared", "found"), [("optimizer", 1), ("optimizer, loader", 0)])
def test_what_is_prepared_in_the_file_beside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], prepared: str, found: int
) -> None:
    text = BESIDE.replace("prepare(model, optimizer)", f"prepare(model, {prepared})")
    files = {"data.py": BESIDE_DATA, "train.py": text}
    assert len(findings_in("DL403", tmp_path, files, capsys)) == found


HIDDEN = """
import pytorch_lightning as pl
import webdataset as wds
from torch.utils.data import DataLoader, DistributedSampler


class Data(pl.LightningDataModule):
    def train_dataloader(self):
        sampler = DistributedSampler(self.data["train"])
        return LOADER(self.data["train"], batch_size=8, sampler=sampler)

    def val_dataloader(self):
        sampler = DistributedSampler(self.data["validation"])
        return LOADER(self.data["validation"], batch_size=8, sampler=sampler)

    def on_train_epoch_start(self):
        HOOK
"""


@pytest.mark.parametrize(
    ("loader", "hook", "found"),
    [
        ("wds.WebLoader", "pass", [("data.py", 9)]),
        ("DataLoader", "pass", []),  # Lightning finds its sampler
        ("wds.WebLoader", "self.sampler.set_epoch(self.trainer.current_epoch)", []),
    ],
)
def test_a_loader_that_hides_its_sampler_from_lightning(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    loader: str,
    hook: str,
    found: list[tuple[str, int]],
) -> None:
    # InstantMesh 08822c5 src/data/objaverse.py:62
    text = HIDDEN.replace("LOADER", loader).replace("HOOK", hook)
    assert findings_in("DL403", tmp_path, {"data.py": text}, capsys) == found


KEPT = """
from torch.utils.data import DataLoader, DistributedSampler


class Loaders:
    def __init__(self, config, mode):
        if mode == "train":
            self.train_sampler = DistributedSampler(config.samples)
            self.data = DataLoader(config.samples, sampler=self.train_sampler)

    def train(self):
        self.mode = "train"
"""
CHOSEN = """
import torch.distributed as dist
from data import Loaders
from names import get_trainer


def main(config, model):
    dist.init_process_group("nccl")
    train_loader = Loaders(config, "train").data
    get_trainer(config)(config, model, train_loader).train()
"""
NAMED = """
import torch.distributed as dist
import data


class Trainer:
    def __init__(self, config, model, train_loader):
        self.config, self.model, self.train_loader = config, model, train_loader

    def train(self):
        for epoch in range(self.config.epochs):
            for batch in self.train_loader:
                self.model(batch).mean().backward()
            dist.barrier()
"""


@pytest.mark.parametrize(
    ("was", "now", "found"),
    [
        ("", "", [("data.py", 8)]),
        # another loader, whose sampler nobody sees
        ("self.train_loader:", "self.other_loader:", []),
        ("dist.barrier()", "self.train_loader.sampler.set_epoch(epoch)", []),
    ],
)
def test_a_trainer_that_is_imported_by_a_name(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    was: str,
    now: str,
    found: list[tuple[str, int]],
) -> None:
    # ZoeDepth d87f17b train_mono.py:98
    trainer = NAMED.replace(was, now) if was else NAMED
    files = {"data.py": KEPT, "train.py": CHOSEN, "trainer.py": trainer}
    assert findings_in("DL403", tmp_path, files, capsys) == found


FLAG = """
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler


class Options:
    def __init__(self, world_size):
        self.shared = {first}
        if world_size > 1:
            self.shared = {then}


def train(model, data, epochs, options):
    sampler = DistributedSampler(data) if options.shared else RandomSampler(data)
    loader = DataLoader(data, sampler=sampler)
    for epoch in range(epochs):
        if options.shared > {limit}:
            sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).sum().backward()
"""


@pytest.mark.parametrize(
    ("first", "then", "limit", "lines"),
    [
        ("False", "True", "1", [13]),  # FiD fe769f3 train_retriever.py:49
        ("world_size > 1", "not self.shared", "1", [13]),
        ("False", "True", "0", []),
        ("1", "world_size", "1", []),
        ("False", "world_size", "1", []),
    ],
)
def test_a_flag_is_never_above_one(
    first: str,
    then: str,
    limit: str,
    lines: list[int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = FLAG.format(first=first, then=then, limit=limit)
    found = findings_in("DL403", tmp_path, {"script.py": text}, capsys)
    assert [line for _, line in found] == lines


_SETTINGS = """
from torch.utils.data import DistributedSampler


def loader_settings(dataset, mode):
    settings = {}
    settings["sampler"] = DistributedSampler(dataset, shuffle=mode == "train")  # line 7
    return settings
"""
_GOES_THROUGH = """
import torch
from settings import loader_settings
from accelerate.utils import is_xpu_available


def main(model, dataset, epochs):
    loader = torch.utils.data.DataLoader(dataset, **loader_settings(dataset, "train"))
    print(is_xpu_available())
    for epoch in range(epochs):
        for batch in loader:
            model(batch).sum().backward()
"""


@pytest.mark.parametrize("divides", [False, True])
def test_what_asks_accelerate_for_a_device_tells_no_epoch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], divides: bool
) -> None:
    # llama-recipes faae2fd src/llama_cookbook/utils/config_utils.py:95
    script = _GOES_THROUGH
    if divides:
        script = script.replace("is_xpu_available", "Accelerator").replace(
            "accelerate.utils", "accelerate"
        )
        script = script.replace(
            "    for epoch", "    loader = Accelerator().prepare(loader)\n    for epoch"
        )
    found = findings_in("DL403", tmp_path, {"settings.py": _SETTINGS, "train.py": script}, capsys)
    assert found == ([] if divides else [("settings.py", 7)])


_DATA_MODULE = """
from pytorch_lightning import LightningDataModule
from torch.utils.data import DataLoader, DistributedSampler


class Pairs(LightningDataModule):
    def sampler_for(self, dataset, shuffle):
        return DistributedSampler(dataset, shuffle=shuffle)  # line 8

    def train_dataloader(self):
        return DataLoader(self.pairs, sampler=self.sampler_for(self.pairs, True))
"""
_BY_HAND = """
import torch.distributed as dist
from pairs import Pairs


def main(model, epochs):
    pairs = Pairs()
    loader = pairs.train_dataloader()
    for epoch in range(epochs):
        for batch in loader:
            model(batch).sum().backward()
"""
_BY_TRAINER = """
from lightning import Trainer
from pairs import Pairs


def main(model):
    Trainer(devices=2).fit(model, Pairs())
"""


def test_a_data_module_without_a_trainer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # facebookresearch/multimodal 3c2a85a examples/albef/finetune_retrieval.py:54
    files = {"pairs.py": _DATA_MODULE, "train.py": _BY_HAND}
    assert findings_in("DL403", tmp_path, files, capsys) == [("pairs.py", 8)]
    files["fit.py"] = _BY_TRAINER
    assert findings_in("DL403", tmp_path, files, capsys) == []


_FOREVER = """
import torch.distributed as dist


class Forever:
    def __init__(self, iterable):
        self.iterable = iterable
        self.batches = iter(iterable)

    def __iter__(self):
        while True:
            try:
                batch = next(self.batches)
            except StopIteration:
                self.batches = iter(self.iterable)
                batch = next(self.batches)
            yield batch
"""
_STEPS = """
from forever import Forever
from torch.utils.data import DataLoader, DistributedSampler


def main(model, dataset, names):
    sampler = DistributedSampler(dataset)  # line 7
    train_loader = DataLoader(dataset, sampler=sampler)
    for batch in Forever({given}):
        model(batch).sum().backward()


main()
"""


@pytest.mark.parametrize("given", ["train_loader", "names"])
def test_an_iterator_that_begins_what_it_was_given_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: str
) -> None:
    # ALPRO 4ff6163 src/datasets/dataloader.py:163
    files = {"forever.py": _FOREVER, "train.py": _STEPS.format(given=given)}
    found = findings_in("DL403", tmp_path, files, capsys)
    assert found == ([("train.py", 7)] if given == "train_loader" else [])


IN_ONE_FUNCTION = """
from torch.utils.data import DataLoader, DistributedSampler


def train(model, data, epochs):
    sampler = DistributedSampler(data)
    for epoch in range(epochs):
        {first}
        {second}
        for batch in DataLoader(data, sampler=sampler):
            model(batch).sum().backward()
"""
TELLS = "sampler.set_epoch(epoch)"
REPLACES = "sampler = DistributedSampler(data)"
SEEDED = "sampler = DistributedSampler(data, seed=epoch)"


def test_a_sampler_that_is_told_and_then_replaced_is_not_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = IN_ONE_FUNCTION.format(first=TELLS, second=REPLACES)
    assert offers_in("DL403", tmp_path, {"train.py": script}, capsys) == [
        ("train.py", 9, "display")
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(REPLACES, TELLS, id="the new one is told"),
        pytest.param(TELLS, SEEDED, id="the epoch is its seed"),
    ],
)
def test_a_new_sampler_of_each_epoch_knows_it(
    first: str, second: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = IN_ONE_FUNCTION.format(first=first, second=second)
    assert not findings_in("DL403", tmp_path, {"train.py": script}, capsys)
