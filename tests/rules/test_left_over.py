"""Functions that nothing calls: what is found in them is information."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import offers_in, severities_in

TRAIN = """
import logging
import torch.distributed
{finder}
from keeping import start

if __name__ == "__main__":
    logging.basicConfig(level=getattr(logging, start.__name__))
    start("out", logging.root)
"""

KEEPING = """
import os
import torch
import torch.distributed as dist

def start(folder, state):
    dist.init_process_group("nccl")
    {call}

def keep(folder, state):
    dist.init_process_group("nccl")
    path = os.path.join(folder, "all.pt")
    if not os.path.exists(path):
        torch.save(state, path)
"""


@pytest.mark.parametrize(
    ("finder", "call", "severity"),
    [
        ("", "dist.barrier()", "info"),
        ("", "keep(folder, state)", "warning"),
        ("import importlib", "dist.barrier()", "warning"),
        ("import importlib", "# keep(folder, state)", "info"),
        ("import importlib", "# keep(folder, state)\n    table = {'keep': keep}", "warning"),
        ("import keeping", "getattr(keeping, folder)()", "warning"),
        ("from fire import Fire", "Fire()", "warning"),
        ("", "print('campfire')", "info"),
    ],
)
def test_a_function_that_nothing_calls(
    finder: str, call: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        "train.py": TRAIN.format(finder=finder),
        "keeping.py": KEEPING.format(call=call),
    }
    if "keeping" in finder or "Fire" in finder:
        files["train.py"] += f"    {call}\n"
        files["keeping.py"] = KEEPING.format(call="dist.barrier()")
    assert severities_in("DL305", tmp_path, files, capsys) == [severity]


RESUMES = """
import os

import torch
import torch.distributed as dist


def keep(model, path):
    torch.save(model.state_dict(), path)


def main(args, model, optimizer):
    dist.init_process_group("nccl")
    last = os.path.join({folder}, "optimizer.pt")
    if {asked}:
        optimizer.load_state_dict(torch.load(last))
    {more}


if __name__ == "__main__":
    main(*parsed())
"""


@pytest.mark.parametrize(
    ("given", "severity"),
    [
        pytest.param({}, "info", id="nobody writes it"),
        pytest.param(
            {"folder": "args.base_model"}, "info", id="no word of it but where it is read"
        ),
        pytest.param(
            {"asked": "args.resume"}, "info", id="it has to be there, and nobody writes it"
        ),
        pytest.param(
            {"folder": "args.base_model", "more": "print('optimizer.pt')"},
            "warning",
            id="where others may have put it",
        ),
        pytest.param(
            {"more": "torch.save(optimizer.state_dict(), f'{args.kept}/optimizer.pt')"},
            "warning",
            id="written",
        ),
        pytest.param({"more": "Trainer(model).train()"}, "warning", id="written by a library"),
    ],
)
def test_a_checkpoint_that_nothing_writes_is_never_there(
    given: dict[str, str], severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """CodeGen e3e8855 CodeXGLUE/Code-Code/Clone-detection-BigCloneBench/code/run.py:231."""
    parts = {"folder": "args.output_dir", "asked": "os.path.exists(last)", "more": "print(model)"}
    text = RESUMES.format(**{**parts, **given})
    assert severities_in("DL505", tmp_path, {"train.py": text}, capsys) == [severity]


EMBEDS = """
import torch
import torch.distributed as dist
from {library} import {kind}


def main(tables, path):
    dist.init_process_group("nccl")
    model = {kind}(tables)
    dist.barrier()
    torch.save(model.state_dict(), path)
"""


@pytest.mark.parametrize(
    ("library", "kind", "applicability"),
    [
        ("torchrec.distributed.model_parallel", "DistributedModelParallel", "display"),
        ("torch.nn.parallel", "DistributedDataParallel", "unsafe"),
    ],
)
def test_no_edit_saves_a_part_of_a_model(
    library: str,
    kind: str,
    applicability: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """torchrec a48cef7 examples/bert4rec/bert4rec_main.py:407."""
    files = {"train.py": EMBEDS.format(library=library, kind=kind)}
    assert offers_in("DL301", tmp_path, files, capsys) == [("train.py", 11, applicability)]


READING = """
import torch
import torch.distributed as dist
{imports}

if __name__ == "__main__":
    dist.init_process_group("nccl")
    torch.save(torch.nn.Linear(2, 2).state_dict(), "all.pt")
    dist.barrier()
"""


@pytest.mark.parametrize(
    ("imports", "beside", "severity"),
    [
        ("from whole.tools.shapes import make", {}, "info"),
        ("import whole.tools.shapes", {}, "info"),
        ("from whole.tools.sizes import make", {}, "error"),
        ("from whole.tools import shapes", {}, "error"),
        ("try:\n    from whole.tools.shapes import make\nexcept ImportError:\n    make = None", {}, "error"),
        ("def later():\n    from whole.tools.shapes import make", {}, "error"),
        ("from whole.tools.shapes import make", {"whole/tools/shapes.pyx": ""}, "error"),
        ("from whole.tools.shapes import make", {"whole/tools/shapes/make.py": ""}, "error"),
        ("from whole.tools.shapes import make", {".gitignore": "whole/**/shapes*\n"}, "error"),
        ("from whole.tools.shapes import make", {".gitmodules": "path = whole/tools/shapes\n"}, "error"),
        ("from whole.tools.shapes import make", {"setup.py": "Extension('whole.tools.shapes')"}, "error"),
        ("from whole.tools.shapes import make", {"whole/__init__.py": "__path__ += []"}, "error"),
        ("from whole.tools.shapes_pb2 import make", {}, "error"),
        ("from whole._version import number", {}, "error"),
        ("import sys\nsys.path.append('other')\nfrom whole.tools.shapes import make", {}, "error"),
        ("from whole.other.shapes import make", {"whole/other/a.py": ""}, "error"),
        ("from elsewhere.tools.shapes import make", {}, "error"),
        ("from whole.tools.shapes import make", {"more/whole/__init__.py": "", "more/setup.py": ""}, "error"),
        ("from whole.tools.shapes import make", {"more/whole/tools/shapes.py": "def make(): ...\n"}, "error"),
    ],
)  # fmt: skip
def test_a_script_that_imports_what_its_package_does_not_have(
    imports: str,
    beside: dict[str, str],
    severity: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # VeOmni d977449 tasks/deprecated_task/train_flux.py:45
    files = {
        "setup.py": "",
        "whole/__init__.py": "",
        "whole/tools/__init__.py": "",
        "whole/tools/sizes.py": "def make(): ...\n",
        "tasks/train.py": READING.format(imports=imports),
        **beside,
    }
    assert severities_in("DL301", tmp_path, files, capsys) == [severity]


@pytest.mark.parametrize(
    ("imports", "reads", "severity"),
    [
        ("from reading.data import load", "from ..tools.sizes import make", "info"),
        ("import reading.data as data", "from ..tools.sizes import make", "info"),
        ("from reading import data", "from ..tools.sizes import make", "info"),
        ("from ..reading.data import load", "from ..tools.sizes import make", "error"),
        ("from reading.data import load", "from .sizes import make", "error"),
        ("import os", "from ..tools.sizes import make", "error"),
        (
            "try:\n    from reading.data import load\nexcept ImportError:\n    load = None",
            "from ..tools.sizes import make",
            "error",
        ),
    ],
)
def test_a_file_that_reads_another_out_of_its_package(
    imports: str, reads: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # i-Code 9b16730 i-Code-V3/core/models/encoders/clap_modules/training/main.py:31
    files = {
        "whole/__init__.py": "",
        "whole/tools/__init__.py": "",
        "whole/tools/sizes.py": "def make(): ...\n",
        "whole/reading/__init__.py": "",
        "whole/reading/sizes.py": "def make(): ...\n",
        "whole/reading/data.py": f"import torch.distributed\n{reads}\n\ndef load(): ...\n",
        "whole/reading/train.py": READING.format(imports=imports),
    }
    assert severities_in("DL301", tmp_path, files, capsys) == [severity]


@pytest.mark.parametrize(
    ("more", "severity"),
    [
        ("print('a', end='', end='')", "info"),
        ("return 1", "info"),
        ("print('a', end='')", "error"),
        ("async def later():\n    await 1", "error"),
    ],
)
def test_a_script_that_the_compiler_refuses(
    more: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """DRPO4LLM d1b9c09 examples/tldr/test.py:147."""
    files = {"train.py": READING.format(imports="import os") + more + "\n"}
    assert severities_in("DL301", tmp_path, files, capsys) == [severity]


@pytest.mark.parametrize(
    ("imports", "severity"),
    [
        ("from whole.tools.shapes import make", "info"),
        ("import os", "error"),
    ],
)
def test_a_file_that_only_what_cannot_be_read_imports(
    imports: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """UniAfford 0b457f7 model/pointcept/engines/hooks/evaluator.py."""
    files = {
        "setup.py": "",
        "whole/__init__.py": "",
        "whole/tools/__init__.py": "",
        "whole/hooks.py": READING.format(imports="import os").replace(
            'if __name__ == "__main__":', "def run():"
        ),
        "whole/engine.py": f"import torch.distributed\n{imports}\nimport whole.hooks\n",
    }
    assert severities_in("DL301", tmp_path, files, capsys) == [severity]
