"""The places of ranks that xfuser's functions ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import lines_of

CODE = """\
import torch
import torch.distributed as dist
from xfuser.core import distributed
from xfuser.core.distributed import get_data_parallel_world_size, is_dp_last_group

if __name__ == "__main__":
    dist.init_process_group("nccl")
    picture = torch.nn.Linear(2, 2)(torch.ones(2))
    if {test}:
        torch.save(picture, "picture.pt")
    dist.barrier()
"""


@pytest.mark.parametrize(
    ("test", "lines"),
    [
        ("is_dp_last_group()", []),
        ("distributed.is_pipeline_last_stage()", []),
        ("distributed.get_sequence_parallel_rank() == 0", []),
        ("get_data_parallel_world_size() > 1", [10]),
        ("distributed.model_parallel_is_initialized()", [10]),
    ],
)
def test_writes_of_some_of_its_ranks(
    test: str, lines: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # ConsisID 60429e4 tools/parallel_inference/parallel_inference_xdit.py:107
    assert lines_of("DL301", tmp_path, CODE.replace("{test}", test), capsys) == lines
