"""What files do that a script imports through their folder (DL601): `import src.a`, `import src.b`, of modules `a`, `b`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import findings_in

DATA = """
import json


def load(path, global_rank=-1, world_size=-1):
    examples = []
    for number, line in enumerate(open(path)):
        if global_rank > -1 and not number % world_size == global_rank:
            continue
        examples.append(json.loads(line))
    return examples
"""

TOGETHER = """
import torch.distributed as dist


def mean_of_all(number, options):
    if not options.is_distributed:
        return number
    dist.reduce(number, 0, op=dist.ReduceOp.SUM)
    return number / options.world_size
"""

TRAIN = """
import torch
import torch.distributed as dist
import src.data
import src.together


def evaluate(model, path, options):
    examples = src.data.load(path, dist.get_rank(), dist.get_world_size())
    loss = torch.stack([model(example) for example in examples]).mean()
    return src.together.mean_of_all(loss, options)


def train(model, path, options):
    best = float("inf")
    for epoch in range(options.epochs):
        loss = evaluate(model, path, options)
        if dist.get_rank() == 0:
            if loss < best:
                best = loss
                torch.save(model.state_dict(), "best.pt")


dist.init_process_group("nccl")
"""


@pytest.mark.parametrize("folder", ["src", "src/tools", "src/tools/more"])
@pytest.mark.parametrize("reduced", [True, False])
def test_helpers_in_a_folder_without_an_init(
    reduced: bool, folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """FiD fe769f3 train_reader.py:17, and satlas c8b9aa5 satlas/cmd/model/train.py:11: `import satlas.model.evaluate`."""
    main = TRAIN if reduced else TRAIN.replace("src.together.mean_of_all(loss, options)", "loss")
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "other").mkdir()
    files = {
        f"{folder}/data.py": DATA,
        f"{folder}/together.py": TOGETHER,
        "other/together.py": "import torch.distributed as dist\n",
        "train.py": main.replace("src.", f"{folder.replace('/', '.')}."),
    }
    expected = [] if reduced else [("train.py", 19)]
    assert findings_in("DL601", tmp_path, files, capsys) == expected
