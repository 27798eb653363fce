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


SHOWN = """
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from tqdm import tqdm

def train(net, data, optimizer, judge):
    dist.init_process_group("nccl")
    net = DistributedDataParallel(net)
    bar = tqdm(DataLoader(data, sampler=DistributedSampler(data)))
    for batch in bar:
        loss = net(batch).mean()
        loss.backward()
        optimizer.step()
        loss_val = float({value})
        bar.set_postfix({{"loss": f"{{loss_val:.4f}}"}})
"""


@pytest.mark.parametrize(
    ("value", "severity"), [("loss.detach().item()", "info"), ("judge(net, batch)", "warning")]
)
def test_the_value_of_a_loss_is_none_of_a_validation(
    value: str, severity: str, tmp_path: Path
) -> None:
    assert set(severities(tmp_path, "DL601", SHOWN.format(value=value))) <= {severity}
