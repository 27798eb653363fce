"""Scripts of mmcv: its `init_dist()` makes the ranks, and its configuration writes itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import lines_of, marked

SCRIPT = """\
import os
import os.path as osp

from mmcv import Config
from mmcv.runner import get_dist_info, init_dist


def main(args):
    if "LOCAL_RANK" not in os.environ:
        os.environ["LOCAL_RANK"] = str(args.local_rank)
    cfg = Config.fromfile(args.config)
    if args.launcher == "none":
        distributed = False
    else:
        distributed = True
        init_dist(args.launcher, **cfg.dist_params)
    cfg.dump(osp.join(cfg.work_dir, osp.basename(args.config)))  # here
    return distributed
"""


@pytest.mark.parametrize(
    "head",
    [
        "from mmcv import Config\nfrom mmcv.runner import get_dist_info, init_dist",
        "from mmengine.config import Config\nfrom mmengine.dist import get_dist_info, init_dist",
        "from mmengine import Config\nfrom mmengine.dist import get_dist_info, init_dist",
    ],
)
def test_all_ranks_write_the_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], head: str
) -> None:
    text = SCRIPT.replace(
        "from mmcv import Config\nfrom mmcv.runner import get_dist_info, init_dist", head
    )
    assert lines_of("DL301", tmp_path, text, capsys) == marked(text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("    cfg.dump(", "    rank, _ = get_dist_info()\n    if rank == 0:\n        cfg.dump("),
        ("init_dist(args.launcher, **cfg.dist_params)", "pass"),
        ("cfg.dump(osp.join(cfg.work_dir, osp.basename(args.config)))", "cfg.dump()"),
    ],
)
def test_right_or_nobody_else_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], before: str, after: str
) -> None:
    assert before in SCRIPT
    assert lines_of("DL301", tmp_path, SCRIPT.replace(before, after), capsys) == []
