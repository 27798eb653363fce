"""Loading: which files are parsed, and which are only known."""

from __future__ import annotations

from pathlib import Path

from distlint.project.cache import Cache
from distlint.project.entries import Entry
from distlint.project.files import discover
from distlint.project.loading import groups_of, load, survey
from distlint.project.modules import View
from distlint.project.settings import Settings, SettingsTree

LITERALS = (b".barrier(",)


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def loaded(
    root: Path, *paths: str, overlays: dict[str, bytes] | None = None, cache: bool = False
) -> dict[str, Entry]:
    tree = SettingsTree(Settings(root=root))
    named = [root / path for path in paths]
    view = View(overlays or {})
    found = survey(
        discover(named, tree, view=view),
        named,
        tree,
        LITERALS,
        view=view,
        cache=Cache(root / "cache" if cache else None, root),
        engine="engine",
    )
    entries = load(found, LITERALS)
    return {
        Path(entry.file.path).relative_to(root).as_posix(): entry
        for entry in entries
        if entry.analysed
    }


def test_files_without_a_literal_are_not_analysed(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "dist.barrier()\n", "b.py": "x = 1\n"})
    assert set(loaded(tmp_path, ".")) == {"a.py"}


def test_callers_without_a_literal_come_in_a_second_wave(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "sync.py": "def wait_for_all():\n    dist.barrier()\n",
            "middle.py": "def finish_epoch():\n    wait_for_all()\n",
            "train.py": "if rank == 0:\n    finish_epoch()\n",
            "decorated.py": "@wait_for_all\ndef f():\n    pass\n",
            "other.py": "def unrelated():\n    print('x')\n",
        },
    )
    assert set(loaded(tmp_path, ".")) == {"sync.py", "middle.py", "train.py", "decorated.py"}


def test_a_name_that_many_functions_have_tells_nothing(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a.py": "def evaluate():\n    dist.barrier()\n",
            "b.py": "def evaluate():\n    dist.barrier()\n",
            "c.py": "evaluate()\n",
        },
    )
    assert set(loaded(tmp_path, ".")) == {"a.py", "b.py"}


def test_packages_that_names_pass_through_are_known(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "pkg/__init__.py": "from .parallel import sync\n",
            "pkg/parallel/__init__.py": "from .core import sync\n",
            "pkg/parallel/core.py": "def sync():\n    dist.barrier()\n",
            "pkg/empty/__init__.py": "",
            "train.py": "from pkg import sync\n\nsync()\ndist.barrier()\n",
        },
    )
    assert set(loaded(tmp_path, ".")) == {
        "pkg/__init__.py",
        "pkg/parallel/__init__.py",
        "pkg/parallel/core.py",
        "train.py",
    }


def test_what_a_package_runs_beside_what_it_passes_on_is_known(tmp_path: Path) -> None:
    clouds = "class Clouds(Dataset):\n    def __init__(self, path):\n        open(path, 'wb')\n"
    write(
        tmp_path,
        {
            "data/__init__.py": "from .build import build\nfrom .clouds import *\nfrom .names import *\n",
            "data/build.py": "def build():\n    dist.barrier()\n",
            "data/clouds/__init__.py": "from .clouds import Clouds\n",
            "data/clouds/clouds.py": f"@SETS.register()\n{clouds}",
            "data/names.py": "NAMES = ['chair', 'desk']\n",
            "train.py": "from data import build\n\nbuild()\ndist.barrier()\n",
        },
    )
    assert set(loaded(tmp_path, ".")) == {
        "data/__init__.py",
        "data/build.py",
        "data/clouds/__init__.py",
        "data/clouds/clouds.py",
        "train.py",
    }


def test_what_lies_behind_packages_is_as_near_as_they_are(tmp_path: Path) -> None:
    """ViLT 762fd39 run.py gets to vilt/datasets/base_dataset.py through two packages and two files of data."""
    write(
        tmp_path,
        {
            "train.py": "from modules.many import Many\n\ndist.barrier()\n",
            "modules/__init__.py": "from .one import OneDataModule\n",
            "modules/many.py": "from . import OneDataModule\n\ndist.barrier()\n",
            "modules/one.py": "from sets import One\n\nclass OneDataModule(BaseDataModule):\n    pass\n",
            "sets/__init__.py": "from .one import One\n",
            "sets/one.py": "from .base import Base\n\nclass One(Base, Dataset):\n    pass\n",
            "sets/base.py": "from .words import NAMES\n\nclass Base(Dataset):\n    pass\n",
            "sets/words.py": "NAMES = ['chair', 'desk']\n",
        },
    )
    assert "sets/base.py" in loaded(tmp_path, ".")
    assert "sets/words.py" not in loaded(tmp_path, ".")


def test_a_named_file_is_reported_and_its_project_known(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "pyproject.toml": "",
            "pkg/__init__.py": "",
            "pkg/a.py": "dist.barrier()\n",
            "pkg/b.py": "dist.barrier()\n",
            "scripts/c.py": "dist.barrier()\n",
        },
    )
    entries = loaded(tmp_path, "pkg/a.py")
    assert {name: entry.reported for name, entry in entries.items()} == {
        "pkg/a.py": True,
        "pkg/b.py": False,
        "scripts/c.py": False,
    }
    everything = loaded(tmp_path, "pkg")
    assert everything["pkg/b.py"].reported
    assert not everything["scripts/c.py"].reported


def test_an_overlay_stands_for_the_file_on_disk(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "dist.barrier()\n"})
    overlays = {str(tmp_path / "a.py"): b"x = 2\ndist.barrier()\n"}
    entry = loaded(tmp_path, "a.py", overlays=overlays)["a.py"]
    assert entry.text == "x = 2\ndist.barrier()\n"
    new = {str(tmp_path / "new.py"): b"dist.barrier()\n"}
    assert set(loaded(tmp_path, "new.py", overlays=new)) == {"a.py", "new.py"}


def test_an_overlay_leaves_no_trace_in_the_cache(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "x = 1\n"})
    overlays = {str(tmp_path / "a.py"): b"dist.barrier()\n"}
    assert set(loaded(tmp_path, "a.py", overlays=overlays, cache=True)) == {"a.py"}
    assert set(loaded(tmp_path, "a.py", cache=True)) == set()


def test_bases_between_parsed_classes_are_parsed(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "pkg/__init__.py": "",
            "pkg/top.py": "class Top:\n    def sync(self):\n        dist.barrier()\n",
            "pkg/middle.py": "from pkg.top import Top\n\nclass Middle(abc.ABC, Top):\n    pass\n",
            "pkg/lower.py": "from .middle import Middle\n\nclass Lower(Middle):\n    pass\n",
            "pkg/bottom.py": "from .lower import Lower\n\nclass Bottom(Lower):\n    x = '.barrier('\n",
            "pkg/apart.py": "class Apart:\n    pass\n",
            "pkg/user.py": "from .apart import Apart\n\nclass User(Apart):\n    x = '.barrier('\n",
            "big.py": f"x = '{'x' * 9_000_000}'\n",  # above the limit of the second wave
        },
    )
    parsed = {path.removeprefix("pkg/") for path in loaded(tmp_path, ".")}
    assert "middle.py" not in parsed  # two files away: no text says that it leads to a parsed class
    write(tmp_path, {"pkg/lower.py": "from pkg.top import Top\n\nclass Lower(Top):\n    pass\n"})
    parsed = {path.removeprefix("pkg/") for path in loaded(tmp_path, ".")}
    assert "lower.py" in parsed
    assert "apart.py" not in parsed


def test_classes_of_what_methods_are_given_are_parsed(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "pkg/__init__.py": "",
            "pkg/base.py": "class Base:\n    def save(self):\n        dist.barrier()\n",
            "pkg/model.py": "from .base import Base\n\nclass Model(Base):\n    pass\n",
            "pkg/config.py": "from .base import Base\n\nclass Config(Base):\n    pass\n",
            "pkg/text.py": "class Text:\n    pass\n",
            "pkg/hooks.py": (
                "if TYPE_CHECKING:\n"
                "    from .config import Config\n"
                "    from .model import Model\n"
                "    from .text import Text\n\n"
                "class Hooks:\n"
                "    x = '.barrier('\n"
                "    def __init__(self, config: Config):\n        pass\n"
                "    def on_save(self, text: Text, *, model: Model):\n        model.save()\n"
            ),
            "big.py": f"x = '{'x' * 9_000_000}'\n",  # above the limit of the second wave
        },
    )
    parsed = {path.removeprefix("pkg/") for path in loaded(tmp_path, ".")}
    assert {"base.py", "hooks.py", "model.py"} <= parsed
    assert parsed.isdisjoint({"config.py", "text.py"})


BY_NAME = "import importlib\ndist.barrier()\ncls = getattr(importlib.import_module(module), name)\n"
DRAWS = "import torch\n\n\nclass Loss:\n    def __call__(self, x):\n        return torch.randn_like(x)\n"


def test_classes_that_configurations_name_are_parsed(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "train.py": BY_NAME,
            "losses.py": DRAWS,
            "other.py": DRAWS,
            "plain.py": "class Plain:\n    pass\n",
            "configs/loss.yaml": "loss:\n  target: losses.Loss\nplain:\n  _target_: plain.Plain\n",
        },
    )
    entries = loaded(tmp_path, ".")
    assert set(entries) == {"train.py", "losses.py"}
    assert entries["train.py"].chosen == (("loss", "losses.Loss"), ("plain", "plain.Plain"))
    assert [len(group) for group in groups_of(entries.values())] == [2]


def test_what_draws_by_a_short_name_of_torch_is_parsed(tmp_path: Path) -> None:
    short = DRAWS.replace("import torch", "import torch as th").replace("torch.randn", "th.randn")
    write(
        tmp_path,
        {
            "train.py": "from losses import Loss\n\ndist.barrier()\nloss = Loss()\n",
            "losses.py": short,
        },
    )
    assert set(loaded(tmp_path, ".")) == {"train.py", "losses.py"}


def test_a_file_that_imports_nothing_by_name_asks_no_configuration(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "train.py": "dist.barrier()\n",
            "losses.py": DRAWS,
            "loss.yaml": "loss:\n  target: losses.Loss\n",
        },
    )
    assert set(loaded(tmp_path, ".")) == {"train.py"}
