"""Ranks that are forked off a warm interpreter end, fail and hang as ranks of their own do."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from distlint.proving import launch, warm
from distlint.proving.declaration import Outcome, read_declaration
from distlint.proving.execution import execute

EXAMPLES = Path(__file__).parent / "examples"


def _start(
    interpreter: warm.WarmInterpreter, folder: Path, body: str, **variables: str
) -> launch.RankProcess:
    script = folder / "script.py"
    script.write_text(body, encoding="utf-8")
    env = {**launch.proof_environment(os.environ), **variables}
    command = [sys.executable, str(script), "an argument"]
    return interpreter.start(command, 0, env, folder, folder / "output")


@pytest.mark.parametrize("name", ["hang", "wrong_result"])
def test_proofs_come_out_the_same(
    name: str, interpreter: warm.WarmInterpreter, tmp_path: Path
) -> None:
    declaration = read_declaration(EXAMPLES / name / "proof.py")
    found = [
        execute(path, declaration, may_hang=path.name == "proof.py", folder=folder, start=start)
        for path, folder, start in (
            (declaration.path, tmp_path / "wrong", interpreter.start),
            (EXAMPLES / name / "proof.fixed.py", tmp_path / "right", interpreter.start),
        )
    ]
    assert [run.outcome for run in found] == [declaration.outcome, Outcome.RIGHT]
    assert found[0].ranks[0].line


def test_a_forked_process_has_its_own_program_folder_variables_and_numbers(
    interpreter: warm.WarmInterpreter, tmp_path: Path
) -> None:
    body = (
        "import os, random, sys, numpy\n"
        "print(__name__, sys.argv[1:], os.getcwd() == os.environ['HERE'], 'torch' in sys.modules)\n"
        "print(random.random(), numpy.random.random())\n"
    )
    said = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        rank = _start(interpreter, folder, body, HERE=str(folder))
        assert rank.process.wait(60) == 0
        launch.end([rank])
        said.append((folder / "output").read_text().splitlines())
    assert [lines[0] for lines in said] == ["__main__ ['an argument'] True True"] * 2
    assert said[0][1] != said[1][1]


def test_statuses_and_signals_are_told(interpreter: warm.WarmInterpreter, tmp_path: Path) -> None:
    left = _start(interpreter, tmp_path, "raise SystemExit(7)")
    assert left.process.wait(60) == 7
    assert left.process.poll() == 7
    asleep = _start(interpreter, tmp_path, "import time; time.sleep(600)")
    assert asleep.process.poll() is None
    launch.end([left, asleep])
    assert asleep.process.poll() == -9


def test_what_a_script_holds_lives_until_the_process_ends(
    interpreter: warm.WarmInterpreter, tmp_path: Path
) -> None:
    """As under `python FILE`. A process group of gloo that goes before may wait for ever for its threads."""
    # Nothing here refers back to the script's names: else a cycle would keep them to the end.
    body = (
        "import sys\n"
        "from functools import partial\n"
        "says = partial(exec, 'tell(ending())', {'tell': print, 'ending': sys.is_finalizing})\n"
        "held = type('Held', (), {'__del__': says})()\n"
        "del says\n"
    )
    rank = _start(interpreter, tmp_path, body)
    assert rank.process.wait(60) == 0
    launch.end([rank])
    assert (tmp_path / "output").read_text() == "True\n"


def test_an_interpreter_that_cannot_start_is_said(tmp_path: Path) -> None:
    with warm.interpreter(["no_such_module_of_anybody"]) as broken, pytest.raises(OSError):
        _start(broken, tmp_path, "pass")
