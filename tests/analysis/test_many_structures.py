"""One defect, and one guard that is right, in the structures that programs have: what is found does not hang on them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import indent

import pytest
from click.testing import CliRunner

from distlint.cli import main

HEAD = """\
import os
import sys
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        self.config = {"a": 1}

    def forward(self, x):
        return self.layer(x)


"""
SETUP = """\
dist.init_process_group("nccl")
r = dist.get_rank()
net = Net().cuda()
model = DDP(net)
dist.barrier()
"""
SAVES = 'torch.save(model.state_dict(), "model.pt")\n'
BODIES = {
    "DL101": ("if r == 0:\n    dist.barrier()\n", True),
    "DL301": (SAVES, True),
    "DL201": ("print(model.config)\n", True),
    "DL301 right": (f"if r == 0:\n    {SAVES}", False),
    "DL201 right": ("print(model.module.config)\n", False),
}
WORK = "def work(model, r):\n{body4}\n"
RUN = "def main():\n{setup4}    {call}\n\n\nmain()\n"
OF_SELF = "class Trainer:\n    def __init__(self, model, r):\n        self.model = model\n        self.r = r\n\n"

STRUCTURES: Mapping[str, Mapping[str, str]] = {
    "one function": {"train.py": "def main():\n{setup4}{body4}\n\nmain()\n"},
    "at the top": {"train.py": "{setup}{body}"},
    "a helper": {"train.py": WORK + RUN.replace("{call}", "work(model, r)")},
    "a helper from the top": {"train.py": WORK + "{setup}work(model, r)\n"},
    "another file": {
        "helpers.py": WORK,
        "train.py": "from helpers import work\n" + RUN.replace("{call}", "work(model, r)"),
    },
    "a star": {
        "helpers.py": WORK,
        "train.py": "from helpers import *\n" + RUN.replace("{call}", "work(model, r)"),
    },
    "a star at the top": {
        "helpers.py": WORK,
        "train.py": "from helpers import *\n{setup}work(model, r)\n",
    },
    "a module": {"helpers.py": WORK, "train.py": "import helpers as h\n{setup}h.work(model, r)\n"},
    "passed on by a package": {
        "pkg/__init__.py": "from .helpers import *\n",
        "pkg/helpers.py": WORK,
        "train.py": "from pkg import work\n" + RUN.replace("{call}", "work(model, r)"),
    },
    "through a file without a word of it": {
        "last.py": WORK,
        "middle.py": "!from last import work\n\n\ndef go(model, r):\n    return work(model, r)\n",
        "train.py": "from middle import go\n" + RUN.replace("{call}", "go(model, r)"),
    },
    "a folder on the path": {
        "lib/helpers.py": WORK,
        "tools/train.py": 'import sys\nsys.path.append("../lib")\nfrom helpers import work\n{setup}work(model, r)\n',
    },
    "one of two functions": {
        "train.py": WORK
        + "def other(model, r):\n    pass\n\n\n"
        + RUN.replace("{call}", "(work if len(sys.argv) > 1 else other)(model, r)"),
    },
    "a table of functions": {
        "train.py": WORK
        + 'def other(model, r):\n    pass\n\n\nMODES = {"a": work, "b": other}\n\n\n'
        + RUN.replace("{call}", "MODES[sys.argv[1]](model, r)"),
    },
    "a loop over functions": {
        "train.py": WORK + RUN.replace("{call}", "for each in (work,):\n        each(model, r)"),
    },
    "functools.partial": {
        "train.py": "import functools\n"
        + WORK
        + RUN.replace("{call}", "functools.partial(work, model)(r)"),
    },
    "a dict of arguments": {
        "train.py": WORK + RUN.replace("{call}", "work(**dict(model=model, r=r))"),
    },
    "a tuple of arguments": {"train.py": WORK + RUN.replace("{call}", "work(*(model, r))")},
    "an object": {
        "train.py": OF_SELF
        + "    def run(self):\n{own8}\n\n"
        + RUN.replace("{call}", "Trainer(model, r).run()"),
    },
    "an object that gives itself back": {
        "train.py": OF_SELF
        + "    def ready(self):\n        return self\n\n    def run(self):\n{own8}\n\n"
        + RUN.replace("{call}", "Trainer(model, r).ready().run()"),
    },
    "one of two classes": {
        "train.py": "class One:\n    def run(self, model, r):\n{body8}\n\nclass Two(One):\n    pass\n\n\n"
        'def build(name):\n    if name == "one":\n        return One()\n    return Two()\n\n\n'
        + RUN.replace("{call}", "build(sys.argv[1]).run(model, r)"),
    },
    "a class that is chosen": {
        "train.py": "class One:\n    def run(self, model, r):\n{body8}\n\nclass Two(One):\n    pass\n\n\n"
        'def build(name):\n    made = One\n    if name != "one":\n        made = Two\n    return made()\n\n\n'
        + RUN.replace("{call}", "build(sys.argv[1]).run(model, r)"),
    },
    "a table that is filled below": {
        "train.py": "TABLE = {}\n\n\nclass One:\n    def run(self, model, r):\n{body8}\n\nTABLE['one'] = One\n\n\n"
        + RUN.replace("{call}", "TABLE[sys.argv[1]]().run(model, r)"),
    },
    "a registry": {
        "train.py": "TABLE = {}\n\n\ndef register(name):\n    def put(cls):\n        TABLE[name] = cls\n        return cls\n\n"
        "    return put\n\n\n@register('one')\nclass One:\n    def run(self, model, r):\n{body8}\n\n"
        + RUN.replace("{call}", "TABLE[sys.argv[1]]().run(model, r)"),
    },
    "a registry of a library": {
        "models.py": "from mmengine.registry import Registry\n\nMODELS = Registry('models')\n\n\n@MODELS.register_module()\n"
        "class One:\n    def run(self, model, r):\n{body8}\n",
        "train.py": "from models import MODELS\n\n\n"
        + RUN.replace("{call}", "MODELS.build(dict(type=sys.argv[1])).run(model, r)"),
    },
    "a base class": {
        "base.py": "class Base:\n    def begin(self):\n{ownsetup8}\n    def run(self):\n        self.begin()\n        self.work()\n",
        "train.py": "from base import Base\n\n\nclass Trainer(Base):\n    def work(self):\n{own8}\n\nTrainer().run()\n",
    },
    "a mixin": {
        "train.py": "class Works:\n    def work(self):\n{own8}\n\nclass Trainer(Works):\n    def run(self):\n{ownsetup8}"
        "        self.work()\n\n\nTrainer().run()\n",
    },
    "a tuple of the setup": {
        "train.py": "def begin():\n{setup4}    return model, r\n\n\ndef main():\n    model, r = begin()\n{body4}\n\nmain()\n",
    },
    "a dict of the setup": {
        "train.py": "def begin():\n{setup4}    return dict(model=model, r=r)\n\n\ndef main():\n    s = begin()\n"
        '    model, r = s["model"], s["r"]\n{body4}\n\nmain()\n',
    },
    "a namespace of the setup": {
        "train.py": "from types import SimpleNamespace\n\n\ndef begin():\n{setup4}    return SimpleNamespace(model=model, r=r)\n\n\n"
        "def main():\n    s = begin()\n    model, r = s.model, s.r\n{body4}\n\nmain()\n",
    },
    "a named tuple of the setup": {
        "train.py": "from typing import Any, NamedTuple\n\n\nclass State(NamedTuple):\n    model: Any\n    r: int\n\n\n"
        "def begin():\n{setup4}    return State(model, r)\n\n\ndef main():\n    model, r = begin()\n{body4}\n\nmain()\n",
    },
}
RANKED = (
    "class Ranked:\n    def __init__(self):\n        self._rank = dist.get_rank()\n\n"
    "    @property\n    def rank(self):\n        return self._rank\n\n\n"
)
FIRST = "    def first(self):\n        return self.part.rank == 0\n"
RANKS = {
    "the group's": ("", "q = dist.get_rank() == 0"),
    "the environment's": ("", 'q = os.environ.get("RANK", "0") == "0"'),
    "a helper's": (
        "def first():\n    return not dist.is_initialized() or dist.get_rank() == 0\n",
        "q = first()",
    ),
    "a library's": ("from detectron2.utils import comm\n", "q = comm.is_main_process()"),
    "a setting's": (
        "import argparse\n\n\ndef begin(args):\n    args.r = dist.get_rank()\n",
        "args = argparse.ArgumentParser().parse_args()\nbegin(args)\nq = args.r == 0",
    ),
    "a setting's test": (
        "import argparse\n\n\ndef begin(args):\n    args.first = dist.get_rank() == 0\n",
        "args = argparse.ArgumentParser().parse_args()\nbegin(args)\nq = args.first",
    ),
    "a class's": (
        "class Env:\n    r = 0\n\n\ndef begin():\n    Env.r = dist.get_rank()\n",
        "begin()\nq = Env.r == 0",
    ),
    "a field's default": (
        "from dataclasses import dataclass, field\n\n\n@dataclass\nclass Env:\n"
        '    r: int = field(default_factory=lambda: int(os.environ.get("RANK", 0)))\n',
        "q = Env().r == 0",
    ),
    "an object's": (
        "class Env:\n    def __init__(self):\n        self.r = dist.get_rank()\n",
        "env = Env()\nq = env.r == 0",
    ),
    "a property's": (
        "class Env:\n    @property\n    def first(self):\n        return dist.get_rank() == 0\n",
        "env = Env()\nq = env.first",
    ),
    "a part's property": (
        f"{RANKED}class Env:\n    def __init__(self):\n        self.part = Ranked()\n\n{FIRST}",
        "env = Env()\nq = env.first()",
    ),
    "one of two parts'": (
        f"{RANKED}class Alone:\n    @property\n    def rank(self):\n        return 0\n\n\n"
        "class Env:\n    def __init__(self, alone=False):\n        if alone:\n            self.part = Alone()\n"
        f"        else:\n            self.part = Ranked()\n\n{FIRST}",
        "env = Env()\nq = env.first()",
    ),
    "a singleton's": (
        f"only = None\n\n\n{RANKED}class Env:\n    def __init__(self):\n        self.part = Ranked()\n\n"
        '    @classmethod\n    def get(cls) -> "Env":\n        global only\n        if only is None:\n'
        f"            only = cls()\n        return only\n\n{FIRST}",
        "q = Env.get().first()",
    ),
    "a variable's": (
        "R = 0\n\n\ndef begin():\n    global R\n    R = dist.get_rank()\n",
        "begin()\nq = R == 0",
    ),
}
GUARDS = {
    "an if": "def main():\n{setup4}{asks4}    if q:\n        {saves}\n\nmain()\n",
    "a return": "def main():\n{setup4}{asks4}    if not q:\n        return\n    {saves}\n\nmain()\n",
    "a parameter": "def keep(model, go):\n    if go:\n        {saves}\n\ndef main():\n{setup4}{asks4}    keep(model, q)\n\n\nmain()\n",
    "an object": "class Keeper:\n    def __init__(self, model, go):\n        self.model = model\n        self.go = go\n\n"
    "    def run(self):\n        if self.go:\n            {own_saves}\n\n"
    "def main():\n{setup4}{asks4}    Keeper(model, q).run()\n\n\nmain()\n",
}


def of_self(code: str) -> str:
    return re.sub(r'(?<![\w."])(net|model|r)(?!\w)(?!=)', r"self.\1", code)


def filled(files: Mapping[str, str], body: str) -> Iterator[tuple[str, str]]:
    for name, text in files.items():
        for key, code in (
            ("{setup4}", indent(SETUP, " " * 4)),
            ("{ownsetup8}", indent(of_self(SETUP), " " * 8)),
            ("{setup}", SETUP),
            ("{body4}", indent(body, " " * 4)),
            ("{body8}", indent(body, " " * 8)),
            ("{own8}", indent(of_self(body), " " * 8)),
            ("{body}", body),
        ):
            text = text.replace(key, code)
        bare = text.startswith("!") or name.endswith("__init__.py")
        yield name, text.removeprefix("!") if bare else HEAD + text


def codes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, files: Mapping[str, str], code: str
) -> list[str]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.chdir(folder)
    arguments = ["check", ".", "--no-cache", "--select", code, "--output-format", "json"]
    found = json.loads(CliRunner().invoke(main, arguments).stdout)["findings"]
    return [each["code"] for each in found if each["severity"] != "info"]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_defect_is_found_in_every_structure(
    structure: str, body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, expected = BODIES[body]
    rule = body.partition(" ")[0]
    found = codes(tmp_path, monkeypatch, dict(filled(STRUCTURES[structure], code)), rule)
    assert found == [rule] * expected


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("rank", RANKS)
def test_a_guard_is_seen_whatever_tells_the_rank(
    rank: str, guard: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top, asks = RANKS[rank]
    text = GUARDS[guard].replace(
        "{setup4}", indent(SETUP.replace("r = dist.get_rank()\n", ""), "    ")
    )
    text = text.replace("{asks4}", indent(asks + "\n", "    ")).replace("{saves}", SAVES)
    text = HEAD + top + "\n\n" + text.replace("{own_saves}", of_self(SAVES))
    assert codes(tmp_path, monkeypatch, {"train.py": text}, "DL301") == []
    assert codes(tmp_path, monkeypatch, {"train.py": text.replace("if q", "if True")}, "DL301") == [
        "DL301"
    ] * (guard == "an if")
