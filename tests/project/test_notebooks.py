"""Notebooks: cells as Python and back, findings by cell, fixes that touch nothing else."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import example, given
from hypothesis import strategies as st

from distlint.cli import main
from distlint.project.notebooks import NoNotebook, code_of, put_back

HANG = "import torch.distributed as dist\n\n\ndef f():\n    if dist.get_rank() == 0:\n        dist.barrier()\n\n\nnotebook_launcher(f)\n"


def code_cell(source: str | list[str]) -> dict[str, Any]:
    outputs = [{"name": "stdout", "output_type": "stream", "text": ["ä\u2028\n"]}]
    return {
        "cell_type": "code",
        "execution_count": 3,
        "metadata": {"tags": ["x"]},
        "outputs": outputs,
        "source": source,
    }


def notebook(*cells: dict[str, Any], **layout: Any) -> str:
    document = {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, **(layout or {"indent": 1, "ensure_ascii": False}))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, [arguments[0], "--no-cache", *arguments[1:]])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "source",
    [
        "x = 1\n",
        "!pip install x\n%matplotlib inline\nimport os\n",
        "files = !ls\nif files:\n    !torchrun --nproc_per_node 8 \\\n      train.py\n",
        "%%bash\ntorchrun train.py\nfor i in 1; do echo $i; done\n",
        "%%time\nx = 1\n",
        "os?\n??os.path\n",
        "def broken(\n",
        "await f()\nx = '''\n!no magic\n'''\n",
        '"distlint: cell 7"\n',
        "",
    ],
)
@pytest.mark.parametrize("layout", [{"indent": 1}, {"indent": 4, "ensure_ascii": False}, {}])
def test_cells_are_python_and_come_back(source: str, layout: dict[str, Any]) -> None:
    for written in (source, source.splitlines(keepends=True)):
        markdown = {"cell_type": "markdown", "metadata": {}, "source": ["x = ("]}
        raw = notebook(markdown, code_cell(written), code_cell("y = 2"), **layout)
        code = code_of(raw)
        ast.parse(code)
        assert put_back(raw, code) == raw
        changed = put_back(raw, code.replace("y = 2", "y = 3"))
        assert json.loads(changed) == json.loads(raw.replace("y = 2", "y = 3"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::SyntaxWarning")
@example("x=%")
@example("x = !ls")
@given(st.text(alphabet="xy =%!?\\\n\t'\"(:)#1", max_size=60))
def test_any_source_comes_back(source: str) -> None:
    raw = notebook(code_cell(source))
    code = code_of(raw)
    ast.parse(code)
    assert put_back(raw, code) == raw


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"worksheets": []}',
        '{"cells": 3}',
        '{"cells": [3]}',
        '{"cells": [',
        '{"cells": [{"cell_type": "code", "source": ["a"',
        "[" * 100_000,
    ],
)
def test_what_is_no_notebook(text: str) -> None:
    with pytest.raises(NoNotebook):
        code_of(text)


@pytest.mark.parametrize("text", ["", " \n", '{"cells": []', '{"cells": [], '])
def test_a_notebook_that_ends_too_early_says_so(text: str) -> None:
    with pytest.raises(NoNotebook, match="too early"):
        code_of(text)


def test_a_finding_names_cell_and_line(folder: Path) -> None:
    (folder / "nb.ipynb").write_text(notebook(code_cell("!ls"), code_cell(HANG)))
    result = run("check", "--output-format", "concise")
    assert result.exit_code == 1
    assert result.stdout.startswith("nb.ipynb:cell 2:6:9: error DL101")
    assert "(cell 2, line 6)" in result.stdout
    assert "line 8" not in result.stdout


def test_json_has_the_cell_and_github_the_line_of_the_file(folder: Path) -> None:
    raw = notebook(code_cell("x = 1"), code_cell(HANG.splitlines(keepends=True)))
    (folder / "nb.ipynb").write_text(raw)
    (row,) = json.loads(run("check", "--output-format", "json").stdout)["findings"]
    assert (row["path"], row["cell"], row["line"], row["column"]) == ("nb.ipynb", 2, 6, 9)
    line = next(n for n, text in enumerate(raw.split("\n"), 1) if "dist.barrier()" in text)
    assert f"file=nb.ipynb,line={line}," in run("check", "--output-format", "github").stdout


def test_a_fix_leaves_everything_else_alone(folder: Path) -> None:
    path = folder / "nb.ipynb"
    raw = notebook(code_cell("%time 1"), code_cell(HANG.splitlines(keepends=True)))
    path.write_text(raw)
    assert run("fix", "--apply").exit_code == 0
    fixed = path.read_text()
    document = json.loads(raw)
    document["cells"][1]["source"] = json.loads(fixed)["cells"][1]["source"]
    assert "dist.get_rank() == 0" not in "".join(document["cells"][1]["source"])
    assert fixed == json.dumps(document, indent=1, ensure_ascii=False)
    assert run("check").exit_code == 0


def test_an_import_stands_in_a_cell(folder: Path) -> None:
    path = folder / "nb.ipynb"
    save = "# torchrun\nimport torch.distributed as dist\nimport torch\n\n\ndef f(m):\n    dist.init_process_group()\n    torch.save(m, 'a')\n"
    path.write_text(notebook(code_cell("x = 1"), code_cell(save)))
    run("fix", "--apply", "--unsafe-fixes")
    cells = json.loads(path.read_text())["cells"]
    assert any("from distlint.runtime import save" in cell["source"] for cell in cells)
    assert all(cell["outputs"] for cell in cells)


def test_the_cache_keeps_the_cells(folder: Path) -> None:
    (folder / "nb.ipynb").write_text(notebook(code_cell("!ls"), code_cell(HANG)))
    arguments = ["check", "--cache-dir", str(folder / "cache"), "--output-format", "text"]
    first, second = (CliRunner().invoke(main, arguments).stdout for _ in range(2))
    assert first == second
    assert "dist.barrier()" in first


@pytest.mark.parametrize(
    "text", ['{"worksheets": []}', "no json: torch.distributed", '{"cells": []}']
)
def test_another_notebook_is_passed_over(folder: Path, text: str) -> None:
    (folder / "nb.ipynb").write_text(text)
    result = run("check", "-v")
    assert result.exit_code == 0, result.output


def test_launches_in_cells(folder: Path) -> None:
    shell = "!python -m torch.distributed.launch a.py\n"
    bash = "%%bash\nexport MASTER_PORT=99999\ntorchrun train.py\n"
    silenced = shell.replace("a.py", "b.py").rstrip() + "  # distlint: ignore[DL805]\n"
    cells = [code_cell(each) for each in (shell, bash, silenced)]
    (folder / "nb.ipynb").write_text(notebook(*cells))
    result = run("check", "--select", "DL8,DL901", "--output-format", "concise", "-q")
    places = [line.split(": ")[0] for line in result.stdout.splitlines()]
    assert places == ["nb.ipynb:cell 1:1:2", "nb.ipynb:cell 2:2:8"]
    assert "[fix]" not in result.stdout  # a fix changes the Python of a notebook, and that is none
    assert "not offered" not in run("fix", "--select", "DL805").output


LIBRARY = """
from accelerate import Accelerator


class Learner:
    def __init__(self, model):
        self.accelerator = Accelerator()
        self.model = self.accelerator.prepare(model)
"""
LEARNS = """
import torch
from learning import Learner

learner = Learner(torch.nn.Linear(2, 2))
torch.save(learner.model, "out.pt")
"""


@pytest.mark.parametrize(
    ("cell", "several"),
    [
        ("print(learner)\n", False),
        ("!nvidia-smi\n", False),
        ("!accelerate launch run.py\n", True),
        ("!torchrun --nproc-per-node=2 run.py\n", True),
        ("import accelerate\naccelerate.notebook_launcher(print, (), num_processes=2)\n", True),
    ],
)
def test_a_notebook_is_one_process_unless_it_starts_more(
    folder: Path, cell: str, several: bool
) -> None:
    (folder / "learning.py").write_text(LIBRARY)
    (folder / "nb.ipynb").write_text(notebook(code_cell(LEARNS), code_cell(cell)))
    result = run("check", "--select", "DL301", "--output-format", "concise", "-q")
    assert ("nb.ipynb" in result.stdout) is several, result.output
