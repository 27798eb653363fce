"""A fact that nobody reads is no knowledge: every column and every table has a reader."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

import distlint
from distlint import knowledge
from tests.once import once

PACKAGE = Path(distlint.__file__).parent
TABLES = Path(knowledge.__file__).parent
RULES = PACKAGE.parent / "rules"
INDEX = TABLES / "facts.py"


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def _code() -> tuple[Path, ...]:
    """The modules of the package and of the rules, without their cases."""
    paths = [path for root in (PACKAGE, RULES) for path in sorted(root.rglob("*.py"))]
    return tuple(
        path
        for path in paths
        if not path.name.startswith(("cases", "proof")) and "cases" not in path.parts
    )


@pytest.fixture(scope="session")
def reads(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, frozenset[str]]:
    """The attributes and names that each module reads; attributes of what asks the tables, and of their index, under `columns`."""
    found: dict[str, list[str]] = once(tmp_path_factory, "reads-of-tables", _reads)
    return {path: frozenset(names) for path, names in found.items()}


def _reads() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    columns: set[str] = set()
    for path in _code():
        text = path.read_text("utf-8")
        attributes, imported = _read_and_imported(ast.parse(text))
        found[str(path)] = sorted(attributes | imported)
        if path == INDEX or (TABLES not in path.parents and "distlint.knowledge" in text):
            columns |= attributes
    return {**found, "columns": sorted(columns)}


def _read_and_imported(tree: ast.Module) -> tuple[set[str], set[str]]:
    attributes: set[str] = set()
    imported: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            if isinstance(node.ctx, ast.Load):
                attributes.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            imported.update(alias.name for alias in node.names)
    return attributes, imported


def _own_reads(tree: ast.Module, outside: ast.stmt) -> set[str]:
    """Names and attributes that a module reads, of the class `outside` only in its methods."""
    own = [each for each in getattr(outside, "body", []) if isinstance(each, ast.FunctionDef)]
    methods = own if isinstance(outside, ast.ClassDef) else []
    return {
        node.id if isinstance(node, ast.Name) else node.attr
        for statement in (*(each for each in tree.body if each is not outside), *methods)
        for node in ast.walk(statement)
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)
    }


def _definitions() -> Iterator[tuple[Path, ast.stmt]]:
    for path in sorted(TABLES.rglob("*.py")):
        yield from ((path, statement) for statement in _tree(path).body)


def _columns() -> list[tuple[str, str, str]]:
    return [
        (path.name, statement.name, field.target.id)
        for path, statement in _definitions()
        if isinstance(statement, ast.ClassDef)
        for field in statement.body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
    ]


def _tables() -> list[tuple[Path, str, ast.stmt]]:
    found: list[tuple[Path, str, ast.stmt]] = []
    for path, statement in _definitions():
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                if not name.startswith("__"):
                    found.append((path, name, statement))
            case ast.FunctionDef(name=name):
                found.append((path, name, statement))
    return found


@pytest.mark.parametrize("module,row,column", _columns(), ids="-".join)
def test_every_column_is_read(
    module: str, row: str, column: str, reads: Mapping[str, frozenset[str]]
) -> None:
    own = {
        name
        for path in TABLES.rglob(module)
        for statement in _tree(path).body
        if isinstance(statement, ast.ClassDef) and statement.name == row
        for name in _own_reads(_tree(path), statement)
    }
    assert column in reads["columns"] | own, f"{row}.{column} has no reader"


@pytest.mark.parametrize(
    "path,name,statement", _tables(), ids=lambda part: part if isinstance(part, str) else ""
)
def test_every_table_is_read(
    path: Path, name: str, statement: ast.stmt, reads: Mapping[str, frozenset[str]]
) -> None:
    others = (names for other, names in reads.items() if other not in (str(path), "columns"))
    elsewhere = any(name in names for names in others)
    assert elsewhere or name in _own_reads(_tree(path), statement), f"{name} has no reader"
