"""Classes that a registry keeps: who reads the package that registers them, by an import of its name alone, may use them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import severities_in

LOOPS = """\
import torch
from mmengine.registry import LOOPS
from mmengine.runner import ValLoop


@LOOPS.register_module()
class Exporting(ValLoop):
    def run(self):
        torch.save(self.runner.model.state_dict(), f"{self.runner.work_dir}/net.pth")
"""
TRAIN = """\
from mmengine.config import Config
from mmengine.runner import Runner


def register_all():
    import project.engine


register_all()
Runner.from_cfg(Config.fromfile("config.py")).train()
"""


@pytest.mark.parametrize(
    ("train", "reads", "found"),
    [
        (TRAIN, "from .loops import Exporting\n", True),
        (TRAIN, "", False),
        (TRAIN.replace("import project.engine", "pass"), "from .loops import Exporting\n", False),
        # Who is launched takes a class beside it out of the package.
        (
            TRAIN.replace("import project.engine", "from project.engine import Testing"),
            "from .loops import Exporting\nfrom .others import Testing\n",
            True,
        ),
    ],
)
def test_who_reads_the_package(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], train: str, reads: str, found: bool
) -> None:
    files = {
        "project/__init__.py": "",
        "project/engine/__init__.py": reads,
        "project/engine/loops.py": LOOPS,
        "project/engine/others.py": "class Testing:\n    pass\n",
        "train.py": train,
        "run.sh": "torchrun --nproc_per_node 8 train.py\n",
    }
    severities = severities_in("DL301", tmp_path, files, capsys)
    assert severities == ["error" if found else "info"]
