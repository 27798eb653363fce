"""One proof, step by step: goes wrong as declared, is found by `check`, runs right once fixed."""

from __future__ import annotations

import importlib
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from distlint.proving import launch
from distlint.proving.declaration import Declaration, DeclarationError, FixKind, Outcome
from distlint.proving.execution import Execution, Starter, execute

_COMMAND_SECONDS = 120.0

Command = Callable[[Sequence[str], Path], subprocess.CompletedProcess[str]]
"""Runs `distlint ARGUMENTS` in a folder."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one step showed: whether it held, in a sentence, and the details of its run if any."""

    name: str
    held: bool
    seen: str
    execution: Execution | None = None


def discover(roots: Sequence[Path]) -> list[Path]:
    """The proofs (`proof.py`) at and below `roots`, sorted."""
    found = set()
    for root in roots:
        found |= {root} if root.is_file() else set(root.rglob("proof.py"))
    return sorted(found)


def bundled_proofs() -> list[Path]:
    """The proofs of the installed rules."""
    package = importlib.import_module("distlint.rules")
    return discover([Path(folder) for folder in package.__path__])


def unmet_requirement(declaration: Declaration) -> str | None:
    """What this machine lacks for the proof, in words; None where nothing. Imports torch if asked."""
    for word in declaration.requires:
        if word in {"cuda", "nccl"}:
            import torch

            if not torch.cuda.is_available():
                return "needs a GPU; torch sees none"
            if word == "nccl" and torch.cuda.device_count() < declaration.ranks:
                return f"needs {declaration.ranks} GPUs for NCCL, torch sees {torch.cuda.device_count()}"
        elif importlib.util.find_spec(word) is None:
            return f"needs {word}, which is not installed"
    return None


def in_a_process(arguments: Sequence[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """A `Command` that starts a process."""
    command = [sys.executable, "-m", "distlint", *arguments]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=_COMMAND_SECONDS, check=False
    )


def as_written(declaration: Declaration, start: Starter = launch.start) -> Step:
    """Run the script as it stands: it must go wrong in the declared way."""
    with tempfile.TemporaryDirectory(prefix="distlint-proof-") as name:
        script = _copy(declaration.path, Path(name))
        may_hang = declaration.outcome is Outcome.HANGS
        execution = execute(script, declaration, may_hang=may_hang, folder=Path(name), start=start)
    wanted = declaration.outcome.value
    seen = f"{execution.outcome.value}: {execution.evidence}"
    if execution.outcome is not declaration.outcome:
        return Step("as written", False, f"declared {wanted}, seen {seen}", execution)
    if declaration.error is not None and not _says(execution, declaration.error):
        return Step("as written", False, f"no rank said {declaration.error!r}: {seen}", execution)
    return Step("as written", True, seen, execution)


def found_by_check(declaration: Declaration, distlint: Command = in_a_process) -> Step:
    """Run `distlint check` on the script: each marked line must have its finding."""
    if not declaration.codes:
        return Step("found", False, "no line is marked `# expect: DLxxx`")
    with tempfile.TemporaryDirectory(prefix="distlint-proof-") as name:
        script = _copy(declaration.path, Path(name))
        try:
            seen = _check(script, declaration.codes, distlint)
        except DeclarationError as error:
            return Step("found", False, str(error))
    wanted = {(line, code) for line, codes in declaration.expected for code in codes}
    if missing := sorted(wanted - seen):
        line, code = missing[0]
        at = ", ".join(f"{c} at line {n}" for n, c in sorted(seen)) or "nothing"
        return Step("found", False, f"check does not report {code} at line {line}, it reports {at}")
    return Step("found", True, ", ".join(f"{code} at line {line}" for line, code in sorted(wanted)))


def right_when_fixed(
    declaration: Declaration, start: Starter = launch.start, distlint: Command = in_a_process
) -> Step:
    """Fix the script (or take `proof.fixed.py`) and run that: every rank must finish, status 0.

    `distlint check` must also find nothing of the marked codes in the fixed script.
    """
    with tempfile.TemporaryDirectory(prefix="distlint-proof-") as name:
        try:
            script = _fixed_script(declaration, Path(name), distlint)
            left = _check(script, declaration.codes, distlint)
        except (DeclarationError, OSError) as error:
            return Step("fixed", False, str(error))
        execution = execute(script, declaration, may_hang=False, folder=Path(name), start=start)
    if execution.outcome is not Outcome.RIGHT:
        seen = f"still goes wrong: {execution.outcome.value}: {execution.evidence}"
        return Step("fixed", False, seen, execution)
    if left:
        line, code = min(left)
        return Step("fixed", False, f"runs right, but check reports {code} at line {line} of it")
    return Step("fixed", True, f"{execution.evidence} ({declaration.fix.value} fix)", execution)


def _copy(path: Path, folder: Path) -> Path:
    return Path(shutil.copyfile(path, folder / "proof.py"))


def _says(execution: Execution, words: str) -> bool:
    for end in execution.ranks:
        if words in f"{end.exception}: {end.message}" or words in end.output:
            return True
    return False


def _fixed_script(declaration: Declaration, folder: Path, distlint: Command) -> Path:
    if declaration.fix is FixKind.BY_HAND:
        by_hand = declaration.path.with_name("proof.fixed.py")
        if not by_hand.is_file():
            raise DeclarationError(f"{by_hand} is missing; `Fix: by hand` says that it is there")
        return _copy(by_hand, folder)
    script = _copy(declaration.path, folder)
    before = script.read_bytes()
    options = ["--unsafe-fixes"] if declaration.fix is FixKind.UNSAFE else []
    codes = ",".join(declaration.codes)
    command = ["fix", "--apply", *options, "--select", codes, str(script)]
    done = distlint(command, folder)
    if done.returncode not in (0, 1):
        raise DeclarationError(f"`distlint fix` could not do the work: {_last_line(done)}")
    if script.read_bytes() == before:
        raise DeclarationError(f"`distlint fix --apply {' '.join(options)}` changed nothing")
    return script


def _check(script: Path, codes: Sequence[str], distlint: Command) -> set[tuple[int, str]]:
    """(line, code) of what `distlint check` reports in `script` among `codes`."""
    command = ["check", "--output-format", "json", "--select", ",".join(codes), str(script)]
    done = distlint(command, script.parent)
    if done.returncode not in (0, 1) or not done.stdout:
        raise DeclarationError(f"`distlint check` could not do the work: {_last_line(done)}")
    return {(finding["line"], finding["code"]) for finding in json.loads(done.stdout)["findings"]}


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = (done.stderr.strip() or done.stdout.strip() or f"exit {done.returncode}").splitlines()
    return lines[-1]
