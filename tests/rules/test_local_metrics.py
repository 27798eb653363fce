"""Metrics of a rank's share that the program puts together in ways of its own, beside ones that it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import findings_in, messages_in, severities

OWN_LIBRARY = """\
import torch.distributed as tdist

__ready = False


def start():
    global __ready
    tdist.init_process_group("nccl")
    __ready = True


def {name}(t, async_op=False):
    if __ready:
        if not t.is_cuda:
            on_gpu = t.detach().cuda()
            work = tdist.all_reduce(on_gpu, async_op=async_op)
            t.copy_(on_gpu.cpu())
        else:
            work = tdist.{collective}
        return work
    return None
"""
EVALUATES = """\
import torch
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

import own


def evaluate(net, criterion, loader):
    total, seen = 0, 0
    for images, labels in loader:
        total += criterion(net(images), labels) * len(labels)
        seen += len(labels)
    stats = total.new_tensor([total.item(), seen])
    {reduces}
    seen = round(stats[-1].item())
    stats /= seen
    total, _ = stats.tolist()
    return total, seen


def run(net, criterion, data, epochs):
    own.start()
    loader = DataLoader(data, sampler=DistributedSampler(data))
    best = 1e9
    for _ in range(epochs):
        loss, seen = evaluate(net, criterion, loader)
        if loss < best:
            best = loss
            torch.save(net.state_dict(), "best.pt")
"""


@pytest.mark.parametrize(
    ("reduces", "found"),
    [("own.total_of(stats)", []), ("own.total_of(stats.clone())", [("run.py", 27)])],
)
def test_a_function_of_the_project_reduces_in_place_in_one_arm_and_returns_there(
    reduces: str, found: list[tuple[str, int]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        "own.py": OWN_LIBRARY.format(
            name="total_of", collective="all_reduce(t, async_op=async_op)"
        ),
        "run.py": EVALUATES.format(reduces=reduces),
    }
    assert findings_in("DL601", tmp_path, files, capsys) == found


SAMPLES = """\
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def loader_of(data, cfg):
    sampler = DistributedSampler(data) if {condition} else None
    return DataLoader(data, sampler=sampler)
"""
REDUCES = """\
import torch
import torch.distributed as dist

from samples import loader_of


def mean_of(tensors):
    for tensor in tensors:
        dist.all_reduce(tensor)
    for tensor in tensors:
        tensor.mul_(1.0 / dist.get_world_size())
    return tensors


def validate(net, criterion, data, cfg, writer):
    for images, labels in loader_of(data, cfg):
        top1, top5 = [criterion(net(images), labels, k) for k in (1, 5)]
        if {test}:
            top1, top5 = mean_of([top1, top5])
        writer.add_scalars({{"val/top1": top1.item(), "val/top5": top5.item()}})
"""


@pytest.mark.parametrize(
    ("condition", "test", "found"),
    [
        ("cfg.NUM_GPUS > 1", "cfg.NUM_GPUS > 1", []),
        ("cfg.run.shards > 1", "cfg.shards > 1", []),
        ("cfg.run.shards > 1", "cfg.debug", []),  # reduced on some way: not known
        ("cfg.run.shards > 1", "not cfg.shards > 1", [("uses.py", 20)]),
    ],
)
def test_one_condition_decides_the_sampler_and_the_reduction(
    condition: str,
    test: str,
    found: list[tuple[str, int]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = {
        "samples.py": SAMPLES.format(condition=condition),
        "uses.py": REDUCES.format(test=test),
    }
    assert findings_in("DL601", tmp_path, files, capsys) == found


NETWORK = """\
import lightning.pytorch as pl
from lightning.pytorch.callbacks import ModelCheckpoint

saving = ModelCheckpoint(monitor="val/{watched}")


class Autoencoder(pl.LightningModule):
    def __init__(self, monitor=None):
        super().__init__()
        self.monitor = monitor

    def validation_step(self, batch, index):
        losses = self(batch)
        self.log("val/loss", losses["loss"])
        self.log_dict(losses)
"""


@pytest.mark.parametrize(("watched", "expected"), [("loss", ["warning", "info"]), ("f1", ["info"])])
def test_what_is_logged_decides_where_its_watcher_is_seen(
    watched: str, expected: list[str], tmp_path: Path
) -> None:
    assert severities(tmp_path, "DL601", NETWORK.format(watched=watched)) == expected


KEEPS_BEST = """\
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def train(net, data, epochs):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    best = 1e9
    for _ in range(epochs):
        loss = sum(net(batch).item() for batch in loader)
        if {guard}:
            if loss < best:
                best = loss
                torch.save(net.state_dict(), "best.pt")
"""


@pytest.mark.parametrize(
    ("guard", "disagree"), [("dist.get_rank() == 0", False), ("epochs > 1", True)]
)
def test_what_rank_0_alone_decides_makes_no_ranks_disagree(
    guard: str, disagree: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (said,) = messages_in("DL601", tmp_path, KEEPS_BEST.format(guard=guard), capsys)
    assert ("the ranks disagree" in said) is disagree


EVALUATES_TASK = """\
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


class Task:
    def summarised(self, results):
        {body}


def train(net, data, task, epochs):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    best = 1e9
    for _ in range(epochs):
        loss = task.summarised([net(batch).item() for batch in loader])
        if loss is not None and loss < best:
            best = loss
            torch.save(net.state_dict(), f"{{dist.get_rank()}}.pt")
"""


@pytest.mark.parametrize(("body", "expected"), [("pass", []), ("return sum(results)", ["warning"])])
def test_a_method_that_no_class_returns_from_gives_no_share(
    body: str, expected: list[str], tmp_path: Path
) -> None:
    assert severities(tmp_path, "DL601", EVALUATES_TASK.format(body=body)) == expected


SHOWS = """\
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from tqdm import tqdm


def evaluate(net, criterion, data, args, logger, writer):
    dist.barrier()
    loader = DataLoader(data, sampler=DistributedSampler(data))
    val_loss, done = 0.0, 0
    {loop}:
        val_loss += criterion(net(batch)).item()
        done += 1
        {shows}
    return val_loss
"""
LINE = 'if index % args.freq == 0: {}(f"Test {{index}} loss {{val_loss / done:.4f}}")'


@pytest.mark.parametrize(
    ("loop", "shows", "severity"),
    [
        # microsoft/Cream 4a13c40 TinyViT/main.py:441: each rank into its own log
        ("for index, batch in enumerate(loader)", LINE.format("logger.info"), "info"),
        ("for index, batch in enumerate(tqdm(loader))", LINE.format("print"), "info"),
        ("for batch in loader", 'if not done % 20: print("eval loss %.3f" % val_loss)', "info"),
        ("for batch in (bar := tqdm(loader))", "bar.set_postfix(val_loss=val_loss)", "info"),
        # Diffusion_Modality 90f46de train.py:279
        (
            "bar = tqdm(enumerate(loader))\n    for index, batch in bar",
            "bar.set_postfix(val_loss=val_loss)",
            "info",
        ),
        # makani 2dfc4c8 makani/utils/training/deterministic_trainer.py:706: a loop over the parts of a batch
        (
            "for batch in (bar := tqdm(loader))",
            "for part in batch.split(1):\n            loss = net(part)\n            bar.set_postfix(val_loss=loss.item())",
            "info",
        ),
        ("for batch in loader", 'print("eval loss %.3f" % val_loss)', "warning"),
        (
            "for index, batch in enumerate(loader)",
            'if index % 50 == 0: writer.add_scalar("val_loss", val_loss, index)',
            "warning",
        ),
        (
            "for batch in loader",
            'print("eval loss %.3f" % val_loss) if args.loud else None',
            "warning",
        ),
        ("for batch in loader", "pass\n    print(val_loss)", "warning"),
    ],
)
def test_a_line_now_and_then_shows_the_progress_of_an_evaluation(
    loop: str, shows: str, severity: str, tmp_path: Path
) -> None:
    assert severities(tmp_path, "DL601", SHOWS.format(loop=loop, shows=shows)) == [severity]


VALIDATES_NOW_AND_THEN = """\
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def validate(net, criterion, data):
    total = 0.0
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        total += criterion(net(batch)).item()
    return total


def train(net, criterion, data, loader, args):
    dist.barrier()
    {loop}:
        {step}
        if index % args.every == 0:
            val_loss = validate(net, criterion, data)
            print("val_loss", val_loss)
"""


@pytest.mark.parametrize(
    ("loop", "step"),
    [
        ("for index in range(args.epochs)", "one_epoch(net, loader)"),
        (
            "for index, batch in enumerate(DataLoader(data, sampler=DistributedSampler(data)))",
            "criterion(net(batch)).backward()",
        ),
    ],
)
def test_an_evaluation_now_and_then_is_no_line_of_progress(
    loop: str, step: str, tmp_path: Path
) -> None:
    text = VALIDATES_NOW_AND_THEN.format(loop=loop, step=step)
    assert severities(tmp_path, "DL601", text) == ["warning"]


PROGRESS = """\
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


class Meter:
    total, count = 0.0, 0

    def update(self, value):
        self.last = value
        self.total += value
        self.count += 1
        self.mean = self.total / self.count

    def sync(self):
        both = torch.tensor([self.total, self.count])
        dist.all_reduce(both)
        self.total, self.count = both.tolist()


def evaluate(net, data, criterion, logger):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    losses, hits = Meter(), Meter()
    for number, (images, labels) in enumerate(loader):
        output = net(images)
        losses.update(criterion(output, labels).item())
        hits.update((output.argmax(1) == labels).float().mean().item())
        if number % 10 == 0:
            logger.info(f"test loss {{losses.last:.3f}} test accuracy {{hits.last:.3f}}")
    {below}
"""


@pytest.mark.parametrize(
    ("below", "expected"),
    [
        ("hits.sync()", ["info"]),
        ("losses.sync()", ["info"]),
    ],
)
def test_a_line_of_progress_with_one_number_that_is_put_together_below(
    below: str, expected: list[str], tmp_path: Path
) -> None:
    assert severities(tmp_path, "DL601", PROGRESS.format(below=below)) == expected
