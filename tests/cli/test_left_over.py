"""What stands in a function that no program calls is information: a defect there hurts nobody."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from distlint.cli import main

HELPER = """
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def wrap(model):
    return DistributedDataParallel(model, device_ids=[dist.get_rank()])

def started():
    return dist.is_initialized()
"""
SCRIPT = """
import torch.distributed as dist
from helper import started

if __name__ == "__main__":
    dist.init_process_group("nccl")
    print(started())
"""
METHOD = """
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

class Task:
    @staticmethod
    def wrap(model):
        return DistributedDataParallel(model, device_ids=[dist.get_rank()])

def started():
    return dist.is_initialized()
"""
START = """
if __name__ == "__main__":
    dist.init_process_group("nccl")
"""


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        pytest.param({"helper.py": HELPER, "train.py": SCRIPT}, "info", id="imported by scripts"),
        pytest.param({"helper.py": HELPER + START}, "info", id="a script"),
        pytest.param({"helper.py": HELPER}, "warning", id="a module that anybody may import"),
        pytest.param(
            {"helper.py": HELPER + START + "    wrap(read())\n"},
            "warning",
            id="called in its script",
        ),
        pytest.param(
            {
                "helper.py": HELPER,
                "train.py": SCRIPT.replace("started()", "wrap(1)").replace("started", "wrap"),
            },
            "warning",
            id="called elsewhere",
        ),
        pytest.param(
            {
                "helper.py": HELPER.replace("def wrap", "@torch.no_grad()\ndef wrap"),
                "train.py": SCRIPT.replace("import started", "import started, wrap"),
            },
            "info",
            id="imported by name, and never called",
        ),
        pytest.param(
            {
                "helper.py": HELPER,
                "train.py": SCRIPT.replace("import started", "import started, wrap as put"),
            },
            "warning",
            id="imported under another name",
        ),
        pytest.param(
            {
                "helper.py": HELPER.replace("def wrap", "@table.register\ndef wrap"),
                "train.py": SCRIPT.replace("import started", "import started, wrap"),
            },
            "warning",
            id="put into a table",
        ),
        pytest.param(
            {
                "helper.py": HELPER,
                "train.py": "import helper\ndef wrap(model):\n    return helper.wrap(model)\n"
                + SCRIPT
                + "    wrap(1)\n",
            },
            "warning",
            id="called by one of its name",
        ),
        pytest.param(
            {
                "helper.py": HELPER,
                "other.py": "def wrap(model):\n    return model\n",
                "train.py": "from other import wrap\n" + SCRIPT + "    wrap(1)\n",
            },
            "info",
            id="another of its name is called",
        ),
        pytest.param(
            {"helper.py": HELPER + "__all__ = [name for name in dir()]\n", "train.py": SCRIPT},
            "warning",
            id="exported",
        ),
        pytest.param(
            {
                "helper.py": HELPER,
                "train.py": SCRIPT,
                "tools.py": "import torch.distributed as dist\nimport helper\n",
            },
            "warning",
            id="imported by a module, too",
        ),
        pytest.param(
            {"helper.py": HELPER + START + "    globals()[chosen()](read())\n"},
            "warning",
            id="found by its name",
        ),
        pytest.param(
            {"helper.py": HELPER, "train.py": SCRIPT + "    eval(chosen())()\n"},
            "info",
            id="what its user finds by name among its own",
        ),
        pytest.param(
            {
                "helper.py": HELPER,
                "train.py": SCRIPT.replace("import started", "import *") + "    eval(chosen())()\n",
            },
            "warning",
            id="found by its name among all",
        ),
        pytest.param(
            {
                "helper.py": HELPER,
                "train.py": SCRIPT.replace("started()", "started(), other.started()")
                + "    import other\n",
                "other.py": "def wrap(model):\n    return model\n\ndef started():\n    return True\n",
            },
            "info",
            id="defined in a copy, too",
        ),
        pytest.param(
            {
                "helper.py": HELPER,
                "train.py": "from models import *\n" + SCRIPT + "    eval(chosen())()\n",
                "models.py": "def network():\n    return DistributedDataParallel\n",
            },
            "info",
            id="found by its name among all of another file",
        ),
        pytest.param({"helper.py": METHOD, "train.py": SCRIPT}, "info", id="a method"),
        pytest.param(
            {"helper.py": METHOD.replace("Task:", "Task(library.Task):"), "train.py": SCRIPT},
            "warning",
            id="a method that a library may call",
        ),
        pytest.param(
            {"helper.py": HELPER.replace("def wrap", "@kept\ndef wrap"), "train.py": SCRIPT},
            "warning",
            id="kept by a decorator",
        ),
    ],
)
def test_a_function_that_nobody_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], severity: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in files.items():
        Path(name).write_text(text)
    options = ["--no-cache", "--select", "DL504", "--output-format", "json"]
    result = CliRunner().invoke(main, ["check", *options, "."])
    assert [each["severity"] for each in json.loads(result.stdout)["findings"]] == [severity]
