"""The place in one dimension of a device mesh is a rank of its own: seeds made of it differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import lines_of

CODE = """\
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

mesh = init_device_mesh("cuda", (2, 2), mesh_dim_names=("dp", "tp"))


def main(args, model):
    model = fully_shard(model, mesh=mesh["dp"])
    for step in range(args.steps):
        torch.manual_seed({seed})
        batch = torch.randint(32000, (8, 256))
        model(batch).sum().backward()
"""


@pytest.mark.parametrize(
    ("seed", "lines"),
    [
        ("args.seed", [11]),
        ("mesh.size() + args.seed", [11]),
        ('args.seed + mesh["dp"].get_local_rank()', []),
        ('args.seed + mesh.get_local_rank("dp")', []),
        ("args.seed + mesh.get_rank()", []),
    ],
)
def test_seeds_by_the_place_in_a_mesh(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: str, lines: list[int]
) -> None:
    """torch's fsdp_tp_example.py seeds by the place among the replicas."""
    text = CODE.replace("{seed}", seed)
    assert lines_of("DL401", tmp_path, text, capsys) == lines
