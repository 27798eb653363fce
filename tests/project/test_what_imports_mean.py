"""Which file an import means, in the layouts that programs have."""

from __future__ import annotations

import ast
import io
import json
import random
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from distlint.cli import main
from distlint.project.imports import Imports, as_written
from distlint.project.modules import forget_packages

LAYOUTS = {
    "a folder without __init__.py": (
        ["models/unet.py", "train.py"],
        ("train.py", "from models.unet import UNet", "models/unet.py:UNet"),
    ),
    "a module of such a folder": (
        ["models/unet.py", "train.py"],
        ("train.py", "from models import unet", "models/unet.py"),
    ),
    "such a folder from the root of the project": (
        ["setup.py", "utils/log.py", "tools/train.py"],
        ("tools/train.py", "from utils.log import info", "utils/log.py:info"),
    ),
    "the script beside it comes first": (
        ["utils.py", "tools/utils.py", "tools/train.py"],
        ("tools/train.py", "from utils import f", "tools/utils.py:f"),
    ),
    "a package, not the file beside its module": (
        ["pkg/__init__.py", "pkg/a.py", "pkg/utils.py", "utils.py"],
        ("pkg/a.py", "from utils import f", "utils.py:f"),
    ),
    "a script inside a package": (
        ["pkg/__init__.py", "pkg/a.py", "pkg/utils.py"],
        ("pkg/a.py", "from utils import f\nif __name__ == '__main__': f()", "pkg/utils.py:f"),
    ),
    "a package whose name no import can say": (
        ["pre-net/__init__.py", "pre-net/a.py", "pre-net/utils.py"],
        ("pre-net/a.py", "from utils import f", "pre-net/utils.py:f"),
    ),
    "a relative import in one": (
        ["pre-net/__init__.py", "pre-net/sub/__init__.py", "pre-net/sub/a.py", "pre-net/utils.py"],
        ("pre-net/sub/a.py", "from ..utils import f", "pre-net/utils.py:f"),
    ),
    "a plug-in, from the folder of its host": (
        ["__init__.py", "train.py", "ui/__init__.py", "ui/page.py"],
        ("ui/page.py", "from extensions.rows.train import f", "train.py:f"),
    ),
    "a folder of that name": (
        ["extensions/rows/train.py", "train.py", "ui.py"],
        ("ui.py", "from extensions.rows.train import f", "extensions/rows/train.py:f"),
    ),
    "src": (
        ["src/pkg/__init__.py", "src/pkg/a.py", "train.py"],
        ("train.py", "from pkg.a import f", "src/pkg/a.py:f"),
    ),
    "src without __init__.py": (
        ["src/pkg/a/__init__.py", "src/pkg/a/b.py", "src/pkg/c/__init__.py", "src/pkg/c/d.py"],
        ("src/pkg/c/d.py", "from pkg.a.b import f", "src/pkg/a/b.py:f"),
    ),
    "the project beside it that installs a package": (
        ["one/setup.py", "one/lib/__init__.py", "two/lib/__init__.py", "three/train.py"],
        ("three/train.py", "from lib import f", "one/lib/__init__.py:f"),
    ),
    "a relative import in a script": (
        ["app/train.py", "app/data.py", "data.py"],
        ("app/train.py", "from .data import f", "app/data.py:f"),
    ),
    "a relative import of a folder above": (
        ["app/run/train.py", "app/data.py", "data.py"],
        ("app/run/train.py", "from ..data import f", "app/data.py:f"),
    ),
    "a module under another name": (
        ["models/unet.py", "train.py"],
        ("train.py", "import models.unet as net", "models/unet.py"),
    ),
    "sys.path and dirname": (
        ["third/repo/net.py", "run/train.py"],
        (
            "run/train.py",
            "import os, sys\nhere = os.path.dirname(os.path.abspath(__file__))\n"
            "sys.path.append(os.path.join(here, '..', 'third/repo'))\nfrom net import f",
            "third/repo/net.py:f",
        ),
    ),
    "sys.path and parents": (
        ["third/net.py", "run/deep/train.py"],
        (
            "run/deep/train.py",
            "sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'third'))\nimport net",
            "third/net.py",
        ),
    ),
    "sys.path from where the program is started": (
        ["third/net.py", "run/train.py"],
        ("run/train.py", "sys.path.append('third')\nfrom net import f", "third/net.py:f"),
    ),
    "an unrelated example": (
        ["examples/a/utils.py", "examples/b/train.py"],
        ("examples/b/train.py", "from utils import f", None),
    ),
    "the package of an unrelated example": (
        ["examples/a/lib/__init__.py", "examples/b/train.py"],
        ("examples/b/train.py", "from lib import f", None),
    ),
    "the bundled runtime, which the tables know": (
        ["distlint/__init__.py", "distlint/runtime/__init__.py", "train.py"],
        ("train.py", "from distlint.runtime import save", None),
    ),
    "the bundled runtime, in the package itself": (
        ["distlint/__init__.py", "distlint/runtime/__init__.py"],
        (
            "distlint/proving.py",
            "from distlint.runtime import save",
            "distlint/runtime/__init__.py:save",
        ),
    ),
    "itself": (["wandb.py"], ("wandb.py", "import wandb", None)),
    "the standard library": (
        ["types.py", "train.py"],
        ("train.py", "from types import SimpleNamespace", None),
    ),
    "an installed package with the name of a folder": (
        ["datasets/squad.py", "train.py"],
        ("train.py", "from datasets import load_dataset", None),
    ),
    "sys.path that no text says": (
        ["third/net.py", "run/train.py"],
        ("run/train.py", "sys.path.append(args.code)\nfrom net import f", None),
    ),
}


def written(root: Path, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    forget_packages()
    return [str(root / name) for name in files]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_import_means(layout: str, tmp_path: Path) -> None:
    files, (importer, text, expected) = LAYOUTS[layout]
    imports = Imports(written(tmp_path, {**dict.fromkeys(files, ""), importer: text}))
    path = str(tmp_path / importer)
    meant = imports.meant(path, *as_written(path, ast.parse(text), text))
    if expected is None:
        assert meant == {}
        return
    file, _, name = expected.partition(":")
    module = imports.name(str(tmp_path / file))
    assert list(meant.values()) == [f"{module}.{name}" if name else module]


def test_names_depend_on_neither_order_nor_start(tmp_path: Path) -> None:
    names = ["train.py", "a/train.py", "b/train.py", "a/lib/__init__.py", "b/lib/__init__.py"]
    paths = written(tmp_path, dict.fromkeys(names, ""))
    first = Imports(paths)
    assert len({first.name(path) for path in paths}) == len(paths)
    random.Random(1).shuffle(paths)
    second = Imports(paths)
    assert all(first.name(path) == second.name(path) for path in paths)


# Whole checks

DIVERGES = "import torch.distributed as dist\nfrom {0} import wait\n\ndist.init_process_group()\nif dist.get_rank() == 0:\n    wait()\n"


@pytest.mark.parametrize(
    "adds",
    [
        "sys.path.insert(0, lib)\n",
        "def add(path):\n    if path not in sys.path:\n        sys.path.insert(0, path)\n\nadd(lib)\n",
    ],
)
def test_a_file_beside_a_script_adds_a_folder(
    adds: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = "import os.path as osp\nimport sys\nlib = osp.join(osp.dirname(__file__), '..', 'lib')\n"
    texts = {
        "tools/_init_paths.py": head + adds,
        "lib/core/function.py": WAITS,
        "tools/train.py": "import _init_paths\nfrom core.function import wait\n"
        "import torch.distributed as dist\nif dist.get_rank() == 0:\n    wait()\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    assert any("DL101" in row for row in found(tmp_path))
    (tmp_path / "tools" / "_init_paths.py").write_text("")
    assert not found(tmp_path)


WAITS = "import torch.distributed as dist\n\ndef wait():\n    dist.barrier()\n"
CALM = "import torch.distributed as dist\n\ndef wait():\n    print(dist.get_rank())\n"


def found(*paths: Path) -> list[tuple[str, str, int]]:
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with redirect_stdout(out), pytest.raises(SystemExit):
        main(["check", "--no-cache", "--output-format", "json", *map(str, paths)])
    rows = json.loads(out.detach().getvalue())["findings"]
    return [(row["code"], Path(row["path"]).as_posix(), row["line"]) for row in rows]


def test_a_collective_in_a_folder_without_init(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, {"train.py": DIVERGES.format("models.sync"), "models/sync.py": WAITS})
    monkeypatch.chdir(tmp_path)
    assert found(Path()) == [("DL101", "train.py", 6)]


def test_two_examples_with_files_of_one_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each script has the helper of its own folder, wherever the check starts."""
    written(
        tmp_path,
        {
            "pyproject.toml": "",
            "examples/a/train.py": DIVERGES.format("common"),
            "examples/a/common.py": CALM,
            "examples/b/train.py": DIVERGES.format("common"),
            "examples/b/common.py": WAITS,
        },
    )
    monkeypatch.chdir(tmp_path)
    assert found(Path()) == [("DL101", "examples/b/train.py", 6)]
    assert found(Path("examples/b"), Path("examples/a")) == found(Path())
    assert found(Path("examples/b/train.py")) == found(Path())
    monkeypatch.chdir(tmp_path / "examples")
    assert found(Path()) == [("DL101", "b/train.py", 6)]


def test_a_script_named_like_an_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`accelerate.py` in another folder is not what the training script imports."""
    script = (
        "from accelerate import Accelerator\n\naccelerator = Accelerator()\n"
        "if accelerator.is_main_process:\n    accelerator.wait_for_everyone()\n"
    )
    written(tmp_path, {"run/train.py": script, "notes/accelerate.py": "import torch.distributed\n"})
    monkeypatch.chdir(tmp_path)
    assert found(Path()) == [("DL101", "run/train.py", 5)]


def test_a_collective_that_the_settings_name_in_one_of_two_files_of_one_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper = "import torch.distributed as dist\n\ndef meet():\n    '''barrier'''\n"
    script = DIVERGES.format("common").replace("wait", "meet")
    written(
        tmp_path,
        {
            "pyproject.toml": '[tool.distlint]\ncollectives = ["common.meet"]\n',
            "a/train.py": script,
            "a/common.py": helper,
            "b/train.py": script,
            "b/common.py": helper,
        },
    )
    monkeypatch.chdir(tmp_path)
    assert found(Path()) == [("DL101", "a/train.py", 6), ("DL101", "b/train.py", 6)]


def test_a_download_in_a_helper_that_knows_of_no_ranks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All ranks fetch one file; a helper that no distributed script imports is left alone."""
    helper = "import urllib.request\n\ndef fetch(url, path):\n    urllib.request.urlretrieve(url, path)\n"
    script = (
        "import torch.distributed as dist\nfrom tools.fetch import fetch\n\n"
        "dist.init_process_group()\nfetch('http://a/b', 'b')\ndist.barrier()\n"
    )
    calm = "from tools.other import fetch\n\nfetch('http://a/b', 'b')\n"
    files = {"train.py": script, "tools/fetch.py": helper, "one.py": calm, "tools/other.py": helper}
    written(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    assert found(Path()) == [("DL301", "tools/fetch.py", 4)]


RANK_ALONE = """import os
import torch.distributed as dist


def stop(rank):
    if dist.get_rank() == 0:
        dist.barrier()
"""


def test_a_module_that_a_package_of_its_name_shadows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python imports `app/sync/`: nothing in `app/sync.py` runs, and callers mean the package's functions."""
    written(
        tmp_path,
        {
            "train.py": DIVERGES.format("app.sync.group"),
            "app/__init__.py": "",
            "app/sync.py": RANK_ALONE,
            "app/sync/__init__.py": "",
            "app/sync/group.py": WAITS,
        },
    )
    monkeypatch.chdir(tmp_path)
    assert found(Path()) == [("DL101", "train.py", 6)]
    (tmp_path / "app" / "sync" / "__init__.py").unlink()
    assert ("DL101", "app/sync.py", 7) in found(Path())  # a folder without it comes after a module


@pytest.mark.parametrize("script", ["app/jobs.py", "jobs.py"], ids=["in one", "at the top"])
def test_a_script_beside_a_package_of_its_name_runs(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f'{RANK_ALONE}\nif __name__ == "__main__":\n    stop(int(os.environ["RANK"]))\n'
    package = f"{script.removesuffix('.py')}/__init__.py"
    written(tmp_path, {script: text, "app/__init__.py": "", package: RANK_ALONE})
    monkeypatch.chdir(tmp_path)
    assert sorted(found(Path())) == sorted([("DL101", package, 7), ("DL101", script, 7)])


def test_a_write_in_a_helper_of_a_helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CosyVoice ace7c47 cosyvoice/cli/model.py:85: neither file names a rank, all ranks come to both."""
    files = {
        "train.py": (
            "import torch.distributed as dist\nfrom tools.model import Net\n\n"
            "dist.init_process_group()\nnet = Net('a')\ndist.barrier()\n"
        ),
        "tools/model.py": (
            "import os\nfrom tools.convert import convert\n\nclass Net:\n"
            "    def __init__(self, path):\n        os.makedirs('out', exist_ok=True)\n"
            "        convert(path)\n        self.plan = open(path + '.plan', 'rb').read()\n"
        ),
        "tools/convert.py": (
            "def convert(path):\n    with open(path + '.plan', mode='wb') as file:\n"
            "        file.write(path.plan())\n"
        ),
    }
    written(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    assert found(Path()) == [("DL301", "tools/convert.py", 2)]
