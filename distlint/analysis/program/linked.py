"""Which files belong together: those that import one another."""

from __future__ import annotations

import ast
import posixpath
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import Class, Function, Module, last_name
from distlint.analysis.program.environment import blocks_of
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence, Set


def imported(program: Program, module: Module, without: Set[str] = frozenset()) -> Iterator[Module]:
    """The files of the program that a file imports from, be it a variable alone: a table of classes.

    `import mmrazor.engine` reads that package, not only `mmrazor` (mmrazor 90c7af1 mmrazor/utils/setup_env.py:65). Under one
    name several, too: ClearerVoice-Studio 6b3774d train/target_speaker_extraction/dataloader/dataloader.py:5 has four
    arms with an `import … as get_dataloader`. Of what configurations name, nothing `without` which it is asked.
    """
    names = (dotted for name, dotted in module.imports.items() if name not in module.installed)
    for dotted in (
        *names,
        *module.rebound,
        *module.submodules,
        *module.star_imports,
        *(each for each in module.source.named if each not in without),
    ):
        other = _module_of(program, dotted)
        if other is not None and other is not module:
            yield other


def _module_of(program: Program, dotted: str) -> Module | None:
    """The file of the program that holds what a dotted name says."""
    meaning = program.lookup(dotted) or program.modules.get(dotted.rpartition(".")[0])
    other = meaning.module if isinstance(meaning, (Function, Class)) else meaning
    return other if isinstance(other, Module) else None


@remembered
def linked(program: Program, module: Module) -> frozenset[Module]:
    """The files that import a file, at any depth, and all that it and these import.

    What a value of the file may be passed to without a resolved call is in one of these.
    """
    return _closed(importers(program, module), _imports(program))


@remembered
def importers(program: Program, module: Module) -> frozenset[Module]:
    """A file, and the files that import it, at any depth."""
    return _closed({module}, direct_importers(program))


@remembered
def leading_to(program: Program, module: Module) -> frozenset[Module]:
    """The files that import a file; of one that registers classes, those that import a package which reads it, too.

    mmrazor 90c7af1 mmrazor/engine/runner/iteprune_val_loop.py, which `import mmrazor.engine` puts into LOOPS. Whoever
    imports anything of a package has Python run its `__init__.py`: Uni-Perceiver a8c9e37 uniperceiver/engine/defaults.py:27.
    """
    if not _registers(module):
        return importers(program, module)
    found, packages, folder = {module}, _packages(program), posixpath.dirname(module.path)
    while folder:
        above = packages.get(folder)
        if above is not None:  # a folder without `__init__.py` is passed through
            if not _reads_any(program, above, found):
                break
            found |= {above, *_users_of(program, above.name)}
        folder = posixpath.dirname(folder)
    return _closed(found, direct_importers(program))


@remembered
def _packages(program: Program) -> dict[str, Module]:
    """The `__init__.py` files of the program, by their folders."""
    return {
        posixpath.dirname(module.path): module
        for module in program.modules.values()
        if posixpath.basename(module.path) == "__init__.py"
    }


@remembered
def _users_of(program: Program, package: str) -> frozenset[Module]:
    """The files that import a package, or anything of it."""
    return frozenset(
        module
        for module in program.modules.values()
        if any(
            dotted == package or dotted.startswith(f"{package}.")
            for dotted in (*module.imports.values(), *module.star_imports)
        )
    )


def _registers(module: Module) -> bool:
    """Whether a file puts classes into a registry by decorators: `@LOOPS.register_module()`."""
    return any(
        last_name(each.func if isinstance(each, ast.Call) else each).startswith("register")
        for cls in module.classes.values()
        for each in cls.node.decorator_list
    )


def _reads_any(program: Program, package: Module, files: Set[Module]) -> bool:
    """Whether a package imports from one of some files, or something that they import for it."""
    below = tuple(f"{each.name}." for each in files)
    return not files.isdisjoint(imported(program, package)) or any(
        dotted.startswith(below) for dotted in package.imports.values()
    )


@remembered
def imported_below(program: Program, module: Module) -> frozenset[Module]:
    """A file, and the files that it imports, at any depth."""
    return _closed({module}, _imports(program))


def _closed(start: Set[Module], steps: dict[Module, set[Module]]) -> frozenset[Module]:
    found = set(start)
    work = list(found)
    while work:
        more = steps[work.pop()] - found
        found |= more
        work += more
    return frozenset(found)


@remembered
def _imports(program: Program) -> dict[Module, set[Module]]:
    return {m: set(imported(program, m)) for m in program.modules.values()}


@remembered
def direct_importers(program: Program) -> dict[Module, set[Module]]:
    """The files that import each file themselves."""
    found: dict[Module, set[Module]] = {m: set() for m in program.modules.values()}
    for importer, others in _imports(program).items():
        for other in others:
            found[other].add(importer)
    return found


@remembered
def read_with(program: Program, module: Module) -> frozenset[Module]:
    """A file, and the files that have it read when they are: by an import at their top, at any depth."""
    return _closed({module}, _importers_at_top(program))


@remembered
def _importers_at_top(program: Program) -> dict[Module, set[Module]]:
    found: dict[Module, set[Module]] = {m: set() for m in program.modules.values()}
    for importer, others in _imports(program).items():
        at_top = {_module_of(program, dotted) for dotted in _imported_at_top(importer)}
        for other in others & at_top:
            found[other].add(importer)
    return found


def _imported_at_top(module: Module) -> Iterator[str]:
    """What a file imports when it is read: in no function, and for no type checker alone."""
    yield from (*module.star_imports, *module.source.named)
    blocks: list[Sequence[ast.stmt]] = [module.source.tree.body]
    while blocks:
        for statement in blocks.pop():
            match statement:
                case ast.Import(names=names) | ast.ImportFrom(names=names):
                    bound = ((each.asname or each.name).partition(".")[0] for each in names)
                    yield from (module.imports[name] for name in bound if name in module.imports)
                case ast.If(test=test, orelse=orelse) if "TYPE_CHECKING" in ast.unparse(test):
                    blocks.append(orelse)
                case ast.If() | ast.Try() | ast.With() | ast.ClassDef():
                    blocks += blocks_of(statement)


def roots_of(program: Program) -> dict[Module, set[Module]]:
    """The files that nothing imports and from which a file is imported, at any depth; itself where it is one."""
    direct = direct_importers(program)
    return {m: {each for each in importers(program, m) if not direct[each]} for m in direct}


def components(program: Program) -> list[set[Module]]:
    """The files in groups that no import joins, in the order of their first file.

    What is found in a file depends on its group alone.
    """
    leader: dict[Module, Module] = {m: m for m in program.modules.values()}

    def find(module: Module) -> Module:
        while leader[module] is not module:
            leader[module] = leader[leader[module]]
            module = leader[module]
        return module

    for module in program.modules.values():
        for other in imported(program, module):
            leader[find(other)] = find(module)
    groups: dict[Module, set[Module]] = {}
    for module in program.modules.values():
        groups.setdefault(find(module), set()).add(module)
    return list(groups.values())
