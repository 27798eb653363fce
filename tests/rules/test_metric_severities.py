"""How loud DL601 is where the same number is worth less: what one batch gave, and what rank 0 alone decides."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from distlint.cli import main
from tests.rules.checked import severities

CASES = Path(__file__).parents[2] / "rules/gradients/decision_on_local_metric/cases"


@pytest.mark.parametrize(
    ("case", "severity"),
    [("one_batch", "info"), ("entered_by_rank_0", "info"), ("shards_only_where_told", "warning")],
)
def test_severity(case: str, severity: str) -> None:
    arguments = ["check", "--no-cache", "--preview", "--select", "DL601", "--output-format", "json"]
    found = json.loads(CliRunner().invoke(main, [*arguments, str(CASES / case)]).stdout)["findings"]
    assert {row["severity"] for row in found} == {severity}


COUNTED = """
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

def train(net, data, optimizer, steps):
    dist.init_process_group("nccl")
    net = DistributedDataParallel(net)
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for step, batch in enumerate({given}, start=4):
        loss = net(batch).mean()
        loss.backward()
        optimizer.step()
        if {stops}:
            break
"""


@pytest.mark.parametrize("given", ["loader", "iterable=loader"])
@pytest.mark.parametrize(
    ("stops", "found"), [("(step + 1) // 4 >= steps", 0), ("loss.item() < 0.1", 1)]
)
def test_the_index_of_a_loop_is_no_share(
    given: str, stops: str, found: int, tmp_path: Path
) -> None:
    text = COUNTED.format(given=given, stops=stops)
    assert severities(tmp_path, "DL601", text) == ["warning"] * found


ON_A_BAR = """
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

def run(net, data, optimizer, bar, train):
    dist.init_process_group("nccl")
    net = DistributedDataParallel(net)
    loader = DataLoader(data, sampler=DistributedSampler(data))
    total = 0.0
    for batch in loader:
        loss = net(batch).mean()
        if train:
            loss.backward()
            optimizer.step()
        total += loss.item()
        {inside}
    {behind}
"""


@pytest.mark.parametrize(
    ("inside", "behind", "severity"),
    [
        ('bar.set_postfix({"val_loss": total / len(loader)})', "", "info"),
        ("", 'bar.set_postfix({"val_loss": total / len(loader)})', "warning"),
    ],
)
def test_the_sum_so_far_on_a_bar(inside: str, behind: str, severity: str, tmp_path: Path) -> None:
    """Foundational_EMG 856fca6 train_dynamic.py:476."""
    text = ON_A_BAR.format(inside=inside, behind=behind)
    assert severities(tmp_path, "DL601", text) == [severity]


SHOWN = """
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from tqdm import tqdm

def train(net, data, optimizer, judge):
    dist.init_process_group("nccl")
    net = DistributedDataParallel(net)
    bar = tqdm(DataLoader(data, sampler=DistributedSampler(data)))
    total = 0.0
    for batch in bar:
        loss = net(batch).mean()
        loss.backward()
        optimizer.step()
        total += loss.item()
        loss_val = float({value})
        print(f"loss: {{loss_val:.4f}}")
"""


@pytest.mark.parametrize(
    ("value", "severity"), [("loss.detach().item() + total", "info"), ("total", "warning")]
)
def test_the_value_of_a_loss_is_none_of_a_validation(
    value: str, severity: str, tmp_path: Path
) -> None:
    assert set(severities(tmp_path, "DL601", SHOWN.format(value=value))) == {severity}


PROBED = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

def run(net, probe, optimizer, training, testing, rank):
    dist.init_process_group("nccl")
    probe = DistributedDataParallel(probe)
    loader = DataLoader(training, sampler=DistributedSampler(training))
    tests = DataLoader(testing, sampler=DistributedSampler(testing))
    for batch, labels in loader:
        loss = probe(net(batch)).sub(labels).mean()
        loss.backward()
        optimizer.step()
    {mode}
    right, total = 0, 0
    for batch, labels in tests:
        right += (probe(net(batch)).argmax(1) == labels).sum().item()
        total += len(labels)
        {then}
    print({said})
"""


@pytest.mark.parametrize(
    ("mode", "then", "said", "severity"),
    [
        ("probe.eval()", "", 'f"Accuracy {right / total:.2f}"', "warning"),
        ("probe.train()", "", 'f"Accuracy {right / total:.2f}"', "info"),
        ("probe.eval()", "optimizer.step()", 'f"Accuracy {right / total:.2f}"', "info"),
        ("probe.eval()", "", 'f"Rank {rank}: accuracy {right / total:.2f}"', "info"),
        ("probe.eval()", "", 'f"loss {loss.item()}, accuracy {right / total}"', "warning"),
        ("probe.eval()", "", 'f"loss {loss.item()}"', "info"),
    ],
)
def test_what_comes_out_of_a_loop_that_trains_nothing_is_of_an_evaluation(
    mode: str, then: str, said: str, severity: str, tmp_path: Path
) -> None:
    """FeatureDecorrelationSSL 408bd9e linear_eval.py:163; a line that says of which rank it is tells nobody of all data."""
    text = PROBED.format(mode=mode, then=then, said=said)
    assert severities(tmp_path, "DL601", text) == [severity]


DRAWN = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

def run(net, optimizer, training, testing, judge):
    dist.init_process_group("nccl")
    net = DistributedDataParallel(net)
    drawn = iter(DataLoader(training, sampler=DistributedSampler(training)))
    tests = DataLoader(testing, sampler=DistributedSampler(testing))
    for _ in range(100):
        batch = next(drawn)
        net(batch).mean().backward()
        optimizer.step()
    kept = {{"outputs": None}}
    for batch in {over}:
        outputs = net(batch)
        {keeps}
    val_score = judge({given})
    print(f"val_score {{val_score}}")
"""


@pytest.mark.parametrize(
    ("over", "keeps", "given", "severity"),
    [
        ("tests", 'kept["outputs"] = torch.cat([outputs])', "kept", "warning"),
        ("[next(drawn)]", "pass", "outputs", "info"),
    ],
)
def test_what_is_put_together_is_of_more_than_one_batch(
    over: str, keeps: str, given: str, severity: str, tmp_path: Path
) -> None:
    """OpenChemFold dc0df86 train_ddp.py:240: the batches of the training are drawn one by one under the same name."""
    text = DRAWN.format(over=over, keeps=keeps, given=given)
    assert severities(tmp_path, "DL601", text) == [severity]


APPENDED = """
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

def run(net, data, path):
    dist.init_process_group("nccl")
    total = 0.0
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        total += net(batch).item()
    {guard}:
        with open(path, "{mode}") as log:
            log.write(f"val loss {{total}}")
"""


@pytest.mark.parametrize(
    ("guard", "mode", "severity"),
    [
        ("if path", "a+", "info"),
        ("if path", "w", "warning"),
        ("if dist.get_rank() == 0", "a+", "warning"),
    ],
)
def test_a_line_of_each_rank_in_one_file_is_of_that_rank(
    guard: str, mode: str, severity: str, tmp_path: Path
) -> None:
    """bitfit_dr b635516 src/util.py:200: rank 0 merges the lines."""
    assert severities(tmp_path, "DL601", APPENDED.format(guard=guard, mode=mode)) == [severity]


DRAWS_EACH = """
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

def run(net, data, optimizer, writer):
    dist.init_process_group("nccl")
    net = DistributedDataParallel(net)
    total = 0.0
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        loss = net(batch).mean()
        loss.backward()
        optimizer.step()
        total += loss.item()
        draw(writer, {{"loss": total}})

def draw(writer, losses):
    for name, {value} in losses.items():
        writer.add_scalar(name, {value})
"""


@pytest.mark.parametrize(("value", "severity"), [("val", "info"), ("val_loss", "warning")])
def test_the_values_of_a_dict_are_of_no_validation(
    value: str, severity: str, tmp_path: Path
) -> None:
    """SIMPL 2a33314 utils/logger.py:58, which gets the losses of a step."""
    assert set(severities(tmp_path, "DL601", DRAWS_EACH.format(value=value))) == {severity}


LAST = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

class Kept:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, value):
        self.total += value
        self.count += 1
        self.avg = self.total / self.count

@torch.no_grad()
def validate(net, data, writer):
    dist.init_process_group("nccl")
    net = DistributedDataParallel(net)
    val_losses = []
    kept = Kept()
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        val_loss = net(batch).mean().item()
        {each}
    writer.add_scalar("val/loss", {number})
"""


@pytest.mark.parametrize(
    ("each", "number", "severity"),
    [
        ("pass", "val_loss", "info"),
        ("kept.update(val_loss)", "kept.avg", "warning"),
        ("val_losses.append(val_loss)", "sum(val_losses)", "warning"),
    ],
)
def test_the_number_of_the_last_batch_is_no_result(
    each: str, number: str, severity: str, tmp_path: Path
) -> None:
    """encodec ab66070 train_multi_gpu.py:350."""
    assert severities(tmp_path, "DL601", LAST.format(each=each, number=number)) == [severity]
