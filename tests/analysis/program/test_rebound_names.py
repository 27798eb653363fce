"""What a package's name means where its `__init__` has put something else in the place of a module of that name."""

from __future__ import annotations

import ast

import pytest

from distlint.analysis import Source
from distlint.analysis.program.definitions import Function, Module
from distlint.analysis.program.program import Program

TRACKS = "def tracks():\n    pass\n"


@pytest.mark.parametrize(
    ("init", "kind"),
    [
        ("from .tracks import tracks", Function),
        ("from models.tracks import tracks", Function),
        ("from . import tracks", Module),
        ("from .tracks import tracks as kept", Module),
        ("", Module),
    ],
)
def test_what_a_package_gives(init: str, kind: type) -> None:
    sources = {
        "models/__init__.py": ("models", init),
        "models/tracks.py": ("models.tracks", TRACKS),
        "run.py": ("run", "from models import tracks"),
    }
    program = Program(
        [
            Source(path, name, text, ast.parse(text), path.endswith("__init__.py"))
            for path, (name, text) in sources.items()
        ]
    )
    assert isinstance(program.member(program.modules["run"], "tracks"), kind)
