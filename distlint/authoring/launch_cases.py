"""A rule's cases of scripts and configurations: the folder `cases`, each file or folder in it a project."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from distlint.authoring.folders import RuleFolder
from distlint.authoring.remarks import Remark
from distlint.checking import Request, check
from distlint.project.files import discover
from distlint.project.selection import Selection
from distlint.project.settings import Settings, SettingsTree
from distlint.proving.expectations import expectations
from distlint.rule import Rule

COMPILED = "__pycache__"
"""What a command that compiles a folder leaves beside the cases: nobody wrote it."""


@dataclass(slots=True)
class LaunchCases:
    """What the projects of a rule showed: what is wrong, and how many hold a mark and how many none."""

    failures: list[Remark] = field(default_factory=list)
    bugs: int = 0
    look_alikes: int = 0


def run_launch_cases(folder: RuleFolder, rule: Rule, known: Mapping[str, Rule]) -> LaunchCases:
    """Check each project in the folder `cases` by the rule alone: found where it is marked, and nowhere else."""
    result = LaunchCases()
    for case in sorted(folder.launch_cases.iterdir()):
        if case.name == COMPILED:
            continue
        with tempfile.TemporaryDirectory(prefix="distlint-cases-") as name:
            top = Path(name).resolve()
            if case.is_dir():
                shutil.copytree(case, top, dirs_exist_ok=True)
            else:
                shutil.copy(case, top)
            marked = _marked(top, rule.code)
            found, problems = _found(top, rule, known)
        if marked:
            result.bugs += 1
        else:
            result.look_alikes += 1
        home = case if case.is_dir() else case.parent
        result.failures += [Remark(case, None, problem) for problem in problems]
        for (path, line), times in sorted((marked - found).items()):
            text = f"{rule.code} is expected here, and is not found"
            result.failures += [Remark(home / path, line, text)] * times
        for (path, line), times in sorted((found - marked).items()):
            text = f"{rule.code} is found here, and is not expected"
            result.failures += [Remark(home / path, line, text)] * times
    if result.look_alikes < result.bugs:
        text = f"{result.bugs} bugs, and {result.look_alikes} look-alikes: write as many"
        result.failures.append(Remark(folder.launch_cases, None, text))
    return result


def _marked(top: Path, code: str) -> Counter[tuple[str, int]]:
    """The lines of a project that are marked with `code`."""
    marks: Counter[tuple[str, int]] = Counter()
    for path in _files(top):
        for line, codes in expectations(path.read_text(encoding="utf-8")):
            marks[(path.relative_to(top).as_posix(), line)] += codes.count(code)
    return +marks


def _files(top: Path) -> Iterator[Path]:
    return (
        path for path in sorted(top.rglob("*")) if path.is_file() and path.parent.name != COMPILED
    )


def _found(
    top: Path, rule: Rule, known: Mapping[str, Rule]
) -> tuple[Counter[tuple[str, int]], list[str]]:
    """The lines of a project at which the rule reports, and what could not be done."""
    settings = Settings(root=top)
    tree = SettingsTree(settings, fixed=settings)
    selection = Selection((rule,), frozenset({rule.code}))
    paths = [str(top)]
    files = discover(paths, tree)
    report = check([Request(paths, files, settings, tree, tuple(known.values()), selection)])
    found: Counter[tuple[str, int]] = Counter()
    for row in report.findings:
        path = Path(row.finding.place.path).resolve().relative_to(top).as_posix()
        found[(path, row.finding.place.line)] += 1
    return found, [problem.reason for problem in report.problems]
