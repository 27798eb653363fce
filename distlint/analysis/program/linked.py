"""Which files belong together: those that import one another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import Class, Function, Module
from distlint.analysis.program.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator


def imported(program: Program, module: Module) -> Iterator[Module]:
    """The files of the program that a file imports from, be it a variable alone: a table of classes."""
    names = (dotted for name, dotted in module.imports.items() if name not in module.installed)
    for dotted in (*names, *module.star_imports, *module.source.chosen):
        meaning = program.lookup(dotted) or program.modules.get(dotted.rpartition(".")[0])
        other = meaning.module if isinstance(meaning, (Function, Class)) else meaning
        if isinstance(other, Module) and other is not module:
            yield other


def linked(program: Program, module: Module) -> set[Module]:
    """The files that import a file, at any depth, and all that it and these import.

    What a value of the file may be passed to without a resolved call is in one of these.
    """
    imports = {m: set(imported(program, m)) for m in program.modules.values()}
    importers: dict[Module, set[Module]] = {}
    for importer, others in imports.items():
        for other in others:
            importers.setdefault(other, set()).add(importer)
    found = {module}
    work = [module]
    while work:  # those that import it, at any depth
        for other in importers.get(work.pop(), set()) - found:
            found.add(other)
            work.append(other)
    work = list(found)
    while work:  # and all that these import
        for other in imports.get(work.pop(), set()) - found:
            found.add(other)
            work.append(other)
    return found


def roots_of(program: Program) -> dict[Module, set[Module]]:
    """The files that nothing imports and from which a file is imported, at any depth; itself where it is one."""
    importers: dict[Module, set[Module]] = {m: set() for m in program.modules.values()}
    for importer in importers:
        for other in imported(program, importer):
            importers[other].add(importer)
    found: dict[Module, set[Module]] = {}
    for module in importers:
        above = {module}
        work = [module]
        while work:
            more = importers[work.pop()] - above
            above |= more
            work += more
        found[module] = {m for m in above if not importers[m]}
    return found


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
