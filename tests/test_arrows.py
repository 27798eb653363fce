"""Which room may import which: the arrows of CONTRIBUTING.md, and no circle among files."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

AT_IMPORT = {"patterns", "records"}
"""What files are made with: they import nothing of distlint, and even the tables import them."""

LEAVES = AT_IMPORT | {"columns", "edits", "findings", "nodes", "words"}
"""Files that every room may import; they import one another only."""

ANYTHING = LEAVES | {"analysis", "fixing", "knowledge", "launch", "project", "reporting", "rule"}

ALLOWED: dict[str, set[str]] = {
    "patterns": set(),
    "records": set(),
    "nodes": set(),
    "words": AT_IMPORT,
    "columns": AT_IMPORT,
    "edits": AT_IMPORT,
    "findings": LEAVES,
    "registering": set(),
    "rule": LEAVES | {"analysis", "launch", "registering"},
    "knowledge": AT_IMPORT,
    "launch": LEAVES | {"knowledge"},
    "analysis/program": LEAVES | {"knowledge"},
    "analysis/interpreter": LEAVES | {"knowledge", "analysis/program"},
    "analysis/live": LEAVES | {"knowledge", "analysis/program", "analysis/interpreter"},
    "analysis/traces": LEAVES
    | {"knowledge", "analysis/program", "analysis/interpreter", "analysis/live"},
    "analysis/questions": LEAVES
    | {"knowledge", "analysis/program", "analysis/interpreter", "analysis/live", "analysis/traces"},
    "analysis": LEAVES
    | {
        *("knowledge", "analysis/program", "analysis/interpreter"),
        *("analysis/live", "analysis/traces", "analysis/questions"),
        "launch",
    },
    "repairs": LEAVES | {"analysis", "knowledge"},
    "rules": LEAVES | {"rule", "analysis", "knowledge", "launch", "repairs"},
    "fixing": LEAVES,
    "project": ANYTHING - {"analysis"},
    "runtime": set(),
}
"""What each room may import besides itself. Rooms that are not named here (cli, project, checking …) may
import all but the rules, which nothing imports: they register through an entry point."""


def test_no_room_imports_what_it_may_not() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {target}"
        for path in files()
        for target, line in imports(path)
        if not allowed(room_of(module_name(path)), room_of(target))
    ]
    assert not wrong, "\n".join(wrong)


def test_nothing_imports_the_rules() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {target}"
        for path in files()
        for target, line in imports(path)
        if target.startswith("distlint.rules") and room_of(module_name(path)) != "rules"
    ]
    assert not wrong, "\n".join(wrong)


def test_no_circle_among_files() -> None:
    """Imports that only the type checker follows count as well."""
    graph = {module_name(path): {target for target, _ in imports(path)} for path in files()}
    for name, targets in graph.items():
        targets -= {name}
        # `import a.b` runs a/__init__.py too; rooms say nothing there but what they are.
        targets &= graph.keys()
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


@cache
def files() -> tuple[Path, ...]:
    """Every file of the package and the rules, but for cases and proofs, which are programs to check."""
    found = [*ROOT.glob("distlint/**/*.py"), *ROOT.glob("rules/**/*.py")]
    return tuple(
        sorted(
            p for p in found if not p.name.startswith(("cases", "proof")) and "cases" not in p.parts
        )
    )


@cache
def modules() -> frozenset[str]:
    return frozenset(map(module_name, files()))


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts[0] == "rules":
        parts = ("distlint", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    parts = module.split(".")[1:]
    if parts[:1] == ["analysis"] and len(parts) > 2:
        return "/".join(parts[:2])
    return parts[0] if parts else ""


def allowed(room: str, target: str) -> bool:
    if room not in ALLOWED or target in (room, ""):
        return True
    if target in ALLOWED[room]:
        return True
    return target.startswith("analysis/") and "analysis" in ALLOWED[room]


@cache
def imports(path: Path) -> tuple[tuple[str, int], ...]:
    """The modules of distlint that a file imports, at the top or in a function, with the line."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[tuple[str, int]]:
    module = module_name(path)
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    known = modules()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from ((n.name, node.lineno) for n in names if n.name.startswith("distlint"))
            case ast.ImportFrom(module=base, names=names, level=level):
                if level:
                    parts = package.split(".")[: len(package.split(".")) - (level - 1)]
                    base = ".".join([*parts, *([base] if base else [])])
                if base is None or not base.startswith("distlint"):
                    continue
                for name in names:
                    inner = f"{base}.{name.name}"
                    yield (inner if inner in known else base), node.lineno
