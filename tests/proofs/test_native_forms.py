"""Native forms on two real processes: they leave what the runtime's calls leave, and show the ranks the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from distlint.proving import warm
from tests.in_this_process import distlint
from tests.ranks import run_right

HEAD = """\
import os
import sys
import time

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel as DDP


class Told:
    def __reduce__(self):
        with open(os.path.join(sys.argv[1], "writers"), "a") as file:
            file.write(f"rank {os.environ['RANK']}\\n")
        return dict, ((("a", 1),),)


class Net(torch.nn.Linear):
    config = {"hidden": 2}


"""
GROUP = "def main(path):\n    dist.init_process_group('gloo')\n    rank = dist.get_rank()\n"
ACCELERATOR = "def main(path):\n    accelerator = Accelerator(cpu=True)\n    rank = accelerator.process_index\n"
TAIL = """\
    with open(os.path.join(sys.argv[1], f"seen{rank}"), "w") as file:
        print(seen, file=file)
    dist.barrier()


if __name__ == "__main__":
    main(os.path.join(sys.argv[1], "out.pt"))
"""
WRITES = "    torch.save(Told(), path)\n    seen = torch.load(path, weights_only=False)\n"
WRITES_ONCE = "    if not os.path.exists(path):\n        torch.save(Told(), path)\n    seen = torch.load(path, weights_only=False)\n"

LATE = """\
    seen, started = 0, time.monotonic()
    for turn in range(3):
        if rank == 1:
            time.sleep(1)
        if time.monotonic() - started > 0.8:
            break
        dist.barrier()
        seen = turn + 1
"""
FAILS = """\
    seen = 0
    if rank == 0:
        open(f"{path}.part{rank}", "w").close()
    for turn in range(3):
        try:
            open(f"{path}.part{rank}").close()
        except OSError:
            break
        dist.barrier()
        seen = turn + 1
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "native"),
    [
        pytest.param(GROUP + WRITES, "    dist.barrier()\n    seen", id="save: guard and barrier"),
        pytest.param(
            ACCELERATOR + WRITES, "accelerator.wait_for_everyone()", id="save: accelerator"
        ),
        pytest.param(GROUP + WRITES_ONCE, "if rank != 0:", id="main first: two barriers"),
        pytest.param(
            ACCELERATOR + WRITES_ONCE,
            "with accelerator.main_process_first():",
            id="main first: accelerator",
        ),
        pytest.param(GROUP + LATE, "if any(answers):", id="any rank: a clock of each"),
        pytest.param(GROUP + FAILS, "if any(answers):", id="any rank: a failure of one"),
        pytest.param(
            GROUP + "    model = DDP(Net(2, 2))\n    seen = model.config\n",
            "model.module.config",
            id="unwrap: module",
        ),
        pytest.param(
            ACCELERATOR + "    model = accelerator.prepare(Net(2, 2))\n    seen = model.config\n",
            "accelerator.unwrap_model(model).config",
            id="unwrap: accelerator",
        ),
    ],
)
def test_a_native_form_does_what_the_runtime_does(
    tmp_path: Path, body: str, native: str, interpreter: warm.WarmInterpreter
) -> None:
    texts, left = {}, {}
    for style in ("runtime", "native"):
        folder = tmp_path / style
        folder.mkdir()
        script = folder / "train.py"
        script.write_text(HEAD + body + TAIL)
        distlint(["fix", "--apply", "--unsafe-fixes", "--fix-style", style, str(script)], folder)
        texts[style] = script.read_text()
        variables = {"ACCELERATE_USE_CPU": "1"}
        run_right(interpreter, 2, [str(script), str(folder)], folder, variables)
        left[style] = {
            path.name: path.read_text() for path in folder.iterdir() if path.suffix == ""
        }
    # What the code has in scope to look into a wrapper, or to go first with, is taken in every style.
    in_scope = native in texts["runtime"]
    assert in_scope == ("Net(" in body or "accelerator.main_process_first" in native)
    assert in_scope or "distlint.runtime" in texts["runtime"]
    assert native in texts["native"]
    assert "distlint" not in texts["native"]
    assert left["native"] == left["runtime"]
    assert left["native"]["seen0"] == left["native"]["seen1"]
