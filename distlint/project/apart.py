"""Scripts that train, and in which nothing joins processes: each that a launcher starts of them works by itself."""

from __future__ import annotations

import ast
import posixpath
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Final

from distlint.knowledge.numbering import MAKES_GROUP, VARIABLES
from distlint.knowledge.packages import ALONE, JOINS
from distlint.nodes import children, last_name, walk
from distlint.patterns import pattern
from distlint.project.entries import Entry, imports_of, scripts_launched
from distlint.project.imports import Imports, Written

_TELLS_RANKS: Final = pattern(rf"{VARIABLES}|--(?:local[_-]|world[_-]|global[_-])?(?:rank|size)")
"""Texts by which a program asks for the number of its process."""
_STARTS: Final = frozenset(
    {"spawn", "start_processes", "fork", "import_module", "__import__", "exec", "execfile"}
    | {"instantiate", "locate", "run_path", "run_module", "fromfile", "get_class", "get_object"}
)
"""What starts processes, or runs code that its text does not name."""
_EXTENSION: Final = pattern(r"Extension\(\s*(?:name\s*=\s*)?[\"']([\w.]+)[\"']")
_INITIALIZED: Final = frozenset({"dist.is_initialized", "torch.distributed.is_initialized"})
Body = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Part = tuple[str, str, int, bool, str]
"""A function, or the statements of a file or class that are in none: its name, that of its class, the line at which it goes
backward (0 for none), whether it steps, and the names in it."""
_STARTED: Final = "__main__"
"""The name of what a file does only where it is the one that is started."""


def trained_apart(entries: Sequence[Entry], launch: Iterable[Entry]) -> dict[str, tuple[str, int]]:
    """The scripts that launches name, or that tell of one at their heads, which train and join no processes, each with where it
    goes backward.

    Each file that they import, at any depth, is one of the tree or of a package that joins none, too.
    """
    named = {name for entry in launch for name in entry.ask(scripts_launched)}
    named |= {posixpath.basename(e.file.shown) for e in entries if e.facts and e.facts.told}
    scripts = [
        entry
        for entry in entries
        if posixpath.basename(entry.file.shown) in named and _may_be_apart(entry)
    ]
    if not scripts:
        return {}
    tree = _Tree(entries)
    found: dict[str, tuple[str, int]] = {}
    for script in sorted(scripts, key=lambda entry: entry.file.shown):
        read = _read_by(script, tree)
        at = _backward(script, read) if read is not None else None
        if at is not None:
            found[script.file.shown] = at
    return found


class _Tree:
    """The files of a run by the modules that they make, and the extensions that a `setup.py` among them builds of C++ or CUDA."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.imports = Imports(entry.file.path for entry in entries)
        self.modules = {self.imports.name(entry.file.path): entry for entry in entries}
        self.built = {
            name
            for entry in entries
            if posixpath.basename(entry.file.shown) == "setup.py"
            for name in entry.ask(extensions)
        }


def _may_be_apart(entry: Entry) -> bool:
    return entry.facts is not None and entry.facts.readable and not entry.ask(joins)


def _read_by(script: Entry, tree: _Tree) -> list[Entry] | None:
    """A script and the files that it imports, at any depth; None where one joins processes, or is not there."""
    found, work = {script.file.path: script}, [script]
    while work:
        below = _imported(work.pop(), tree)
        if below is None:
            return None
        for entry in below:
            if entry.file.path not in found:
                if not _may_be_apart(entry):
                    return None
                found[entry.file.path] = entry
                work.append(entry)
    return list(found.values())


def _imported(entry: Entry, tree: _Tree) -> list[Entry] | None:
    """The files that a file imports, with the packages they are in; None where it imports what may join processes."""
    written, added, script = entry.ask(imports_of)
    asked: list[Written] = [(level, module, name) for level, module, name in written]
    meant = tree.imports.meant(entry.file.path, asked, added, script)
    found: list[Entry] = []
    for each in asked:
        dotted = meant.get(each)
        if dotted is None:
            if each[0] or not (_is_alone(each[1]) or each[1] in tree.built):
                return None
            continue
        while dotted and dotted not in tree.modules:
            dotted = dotted.rpartition(".")[0]
        if not dotted:
            return None
        while dotted:
            found += [tree.modules[dotted]] if dotted in tree.modules else []
            dotted = dotted.rpartition(".")[0]
    return found


def _is_alone(module: str) -> bool:
    top, _, below = module.partition(".")
    return top in sys.stdlib_module_names or (
        top in ALONE and (top == "torch" or "distributed" not in below)
    )


def _backward(script: Entry, read: Iterable[Entry]) -> tuple[str, int] | None:
    """Where what a script runs, by the names in it, goes backward, if it also steps; None for no training."""
    parts = [
        (entry, *part)
        for entry in read
        for part in entry.ask(parts_of)
        if entry is script or part[0] != _STARTED
    ]
    reached = {_STARTED}
    taken: list[tuple[str, int]] = []
    steps, more = False, True
    while more:
        rest, more = [], False
        for part in parts:
            entry, name, owner, backward, step, names = part
            if (name and name not in reached) or (owner and owner not in reached):
                rest.append(part)
                continue
            reached.update(names.split())
            steps, more = steps or step, True
            taken += [(entry.file.shown, backward)] if backward else []
        parts = rest
    own = [each for each in taken if each[0] == script.file.shown]
    return min(own or taken, default=None) if steps else None


# Questions about a file. Their names are the keys under which the answers are kept.


def joins(entry: Entry) -> bool:
    """Whether a file may join processes: it makes their group, starts them, asks for their number, or runs what it does not name.

    What waits for a group (`if dist.is_initialized():`) makes none: SWELU_LLM 9af7041 src/train.py:97.
    """
    tree = entry.parse()
    if tree is None:
        return True
    libraries, names = _of_libraries(tree)
    return any(_joins(node, libraries, names) for node in _without_group(tree))


def extensions(entry: Entry) -> list[str]:
    """The modules that a `setup.py` builds: GAI-GS cb1dec3 submodules/fused-ssim/setup.py."""
    return sorted(set(_EXTENSION.findall(entry.read())))


def parts_of(entry: Entry) -> list[list[Any]]:
    """The parts of a file: its functions, and the statements of the file and of each class that are in none."""
    tree = entry.parse()
    return [] if tree is None else [list(part) for part in _parts(tree, "", "")]


def _of_libraries(tree: ast.Module) -> tuple[set[str], dict[str, str]]:
    """The local names of modules of packages, and of what is imported from these, each with its own name."""
    modules: set[str] = set()
    names: dict[str, str] = {}
    for node in walk(tree, ast.Import, ast.ImportFrom):
        match node:
            case ast.Import(names=aliases):
                modules |= {a.asname or a.name.partition(".")[0] for a in aliases}
            case ast.ImportFrom(module=str() as module, names=aliases, level=0) if _is_alone(
                module
            ):
                names |= {a.asname or a.name: a.name for a in aliases}
    return modules | names.keys(), names


def _joins(node: ast.AST, modules: Set[str], names: Mapping[str, str]) -> bool:
    match node:
        case ast.Name(id=name):
            return JOINS.fullmatch(names.get(name, "")) is not None or _makes(name)
        case ast.Attribute(attr=attr):
            return _makes(attr) or (JOINS.fullmatch(attr) is not None and _root(node) in modules)
        case ast.Call(func=func):
            return last_name(func) in _STARTS
        case ast.Constant(value=str() as text):
            return _TELLS_RANKS.fullmatch(text) is not None
    return False


def _root(node: ast.expr) -> str:
    """The name at which a chain of attributes begins; empty where it is none."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return last_name(node) if isinstance(node, ast.Name) else ""


def _makes(name: str) -> bool:
    return MAKES_GROUP.search(name) is not None


def _without_group(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes of a file that a process comes to which is in no group."""
    flags = _flags(tree)
    work: list[ast.AST] = [tree]
    while work:
        node = work.pop()
        yield node
        if isinstance(node, ast.If | ast.IfExp) and (known := _holds(node.test, flags)) is not None:
            taken = node.body if known else node.orelse
            work += [node.test, *(taken if isinstance(taken, list) else [taken])]
        else:
            work += children(node)


def _flags(tree: ast.Module) -> frozenset[str]:
    """The names of variables and attributes that only ever hold whether there is a group: `self.parallel = dist.is_initialized()`."""
    given: dict[str, list[bool | None]] = {}
    for node in walk(tree, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name | ast.Attribute):
                given.setdefault(last_name(target), []).append(_holds(node.value, frozenset()))
    return frozenset(name for name, values in given.items() if set(values) == {False})


def _holds(test: ast.expr, flags: Set[str]) -> bool | None:
    """Whether a condition holds in a process that is in no group; None where it does not ask for one."""
    match test:
        case ast.Call(func=func):
            asks = last_name(func) == "is_initialized" and ast.unparse(func) in _INITIALIZED
            return False if asks else None
        case ast.Name() | ast.Attribute():
            return False if last_name(test) in flags else None
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _holds(operand, flags)
            return None if inner is None else not inner
        case ast.BoolOp(op=ast.And(), values=values):
            return False if any(_holds(each, flags) is False for each in values) else None
        case ast.BoolOp(op=ast.Or(), values=values):
            return False if all(_holds(each, flags) is False for each in values) else None
    return None


def _parts(node: ast.Module | ast.If | Body, name: str, owner: str) -> Iterator[Part]:
    inner: list[Body] = []
    names: set[str] = set()
    backward, steps = 0, False
    work = [*children(node)]
    while work:
        each = work.pop()
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner.append(each)
            work += each.decorator_list
            continue
        if isinstance(each, ast.If) and isinstance(node, ast.Module) and _asks_for_start(each.test):
            yield from _parts(each, _STARTED, "")
            continue
        match each:
            case ast.Name(id=word):
                names.add(word)
            case ast.Attribute(attr=word):
                names.add(word)
            case ast.Call(func=ast.Attribute(value=value, attr="backward")) if not _is_super(value):
                backward = min(backward or each.lineno, each.lineno)
            case ast.Call(func=ast.Attribute(attr="step")):
                steps = True
        work += children(each)
    yield name, owner, backward, steps, " ".join(sorted(names))
    for each in inner:
        inside = node.name if isinstance(node, ast.ClassDef) else owner
        yield from _parts(each, each.name, inside)


def _asks_for_start(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and last_name(test.left) == "__name__"


def _is_super(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and last_name(value.func) == "super"
