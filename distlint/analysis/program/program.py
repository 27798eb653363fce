"""The program: all modules, and what names mean across them.

Built from syntax alone; nothing is imported. A name that the project defines is the project's, whatever
a table says of a library's function of that name; what cannot be resolved stays unresolved.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from distlint.analysis.program.definitions import Class, Definition, Function, Module, dotted_name
from distlint.analysis.program.kept import Kept
from distlint.analysis.program.memory import Memory
from distlint.analysis.program.scanning import scan
from distlint.analysis.program.source import Source
from distlint.knowledge.libraries import canonical_name

_MAX_REEXPORTS: Final = 12


class Program:
    """All modules of the analysed tree, and what names mean in them."""

    def __init__(
        self,
        sources: Iterator[Source] | list[Source],
        tops: Collection[str] = (),
        kept: Kept | None = None,
    ) -> None:
        self.modules: dict[str, Module] = {}
        self.memory: Memory = {}
        self.is_kept = kept is not None and kept.runs
        """Whether the next check may take over the runs of this one."""
        self._tops = set(tops)
        self._bases: dict[Class, tuple[Definition, ...]] = {}
        self._members: dict[tuple[Module, str], Definition | None] = {}
        self._dotted: dict[tuple[Module, str], Definition | None] = {}
        self._cuts = 0
        self._mro: dict[Class, tuple[tuple[Class, ...], tuple[str, ...]]] = {}
        self._subclasses: dict[Class, list[Class]] | None = None
        for source in sources:
            module = scan(source.module, source) if kept is None else kept.module_of(source)
            # Two scripts may share a module name (examples/*/train.py): each is known by its path too.
            name = (
                source.module
                if source.module not in self.modules
                else f"{source.module}@{source.path}"
            )
            self.modules[name] = module
            self._tops.add(source.module.partition(".")[0])
        files = list(self.modules.items())
        others = _in_folders(module for _, module in files)
        for name, module in files:
            for folder, inside in module.folders.items():
                held = {n: f"{name}:{m}" if m in module.folders else m for n, m in inside.items()}
                held = others[folder] | held
                self.modules[f"{name}:{folder}"] = _folder(f"{name}:{folder}", folder, held)
                if "/" not in folder:
                    module.imports[folder] = f"{name}:{folder}"

    def part(self, modules: Collection[Module]) -> Program:
        """The program of some of the modules. Which names are the project's own stays as it is."""
        part = Program([])
        part.modules = {name: m for name, m in self.modules.items() if m in modules}
        part._tops = self._tops
        part.is_kept = self.is_kept
        part._members, part._bases, part._mro = self._members, self._bases, self._mro
        return part

    def forget(self) -> None:
        """Let go of what was found of the modules and functions: they live as long as the whole program."""
        for module in self.modules.values():
            module.memory.clear()
            for function in module.all_functions:
                function.memory.clear()

    def lookup(self, dotted: str, depth: int = 0) -> Definition | None:
        """What an absolute dotted name means; None for a name of the project that cannot be found."""
        if dotted in self.modules:
            return self._rebound(dotted, depth) or self.modules[dotted]
        if dotted.partition(".")[0] not in self._tops:
            return canonical_name(dotted)
        head, _, attribute = dotted.rpartition(".")
        tail: list[str] = []
        while head:
            module = self.modules.get(head)
            if module is not None:
                found: Definition | None = self.member(module, attribute, depth + 1)
                for name in tail:
                    if isinstance(found, Class):
                        found = self.find_method(found, name)
                    elif isinstance(found, Module):
                        found = self.member(found, name, depth + 1)
                    elif isinstance(found, str):
                        found = canonical_name(f"{found}.{name}")
                    else:
                        return None
                return found
            tail.insert(0, attribute)
            head, _, attribute = head.rpartition(".")
        # The tree has a folder of that name, but not this module: an installed package of the same name,
        # or a file that was not read.
        return canonical_name(dotted) if dotted.partition(".")[0] not in self.modules else None

    def _rebound(self, dotted: str, depth: int) -> Definition | None:
        """What a package has put in the place of its module of a name: `from .tracks import tracks` in `__init__.py`.

        TransTrack 91cfaa7 models/__init__.py: `from models import save_track` gives the function.
        """
        head, _, name = dotted.rpartition(".")
        package = self.modules.get(head)
        if package is None or package.imports.get(name) != f"{dotted}.{name}":
            return None
        return self.member(package, name, depth + 1)

    def member(self, module: Module, name: str, depth: int = 0) -> Definition | None:
        """What `name` means at the top level of a module, followed through re-exports."""
        key = (module, name)
        if key not in self._members:
            cuts = self._cuts
            found = self._member(module, name, depth)
            if depth and self._cuts != cuts:
                return found  # right only in here: the search ended early, in a cycle perhaps
            self._members[key] = found
        return self._members[key]

    def _member(self, module: Module, name: str, depth: int) -> Definition | None:
        if depth > _MAX_REEXPORTS:
            self._cuts += 1
            return None
        if name in module.functions:
            return module.functions[name]
        if name in module.classes:
            return module.classes[name]
        if name in module.imports:
            dotted = module.imports[name]
            if name in module.installed:
                return canonical_name(dotted)
            if dotted == f"{module.name}.{name}" and dotted not in self.modules:
                return None
            return self.lookup(dotted, depth + 1)
        submodule = self.modules.get(f"{module.name}.{name}")
        if submodule is not None:
            return submodule
        if name in module.assigned:
            return None
        for star in module.star_imports:
            target = self.modules.get(star)
            if (
                target is not None
                and target is not module
                and (found := self.member(target, name, depth + 1))
            ):
                return found
        return None

    def bases(self, cls: Class) -> tuple[Definition, ...]:
        """The base classes of a class that could be resolved (subscripts are ignored)."""
        if cls not in self._bases:
            self._bases[cls] = ()  # a class that is its own base, through a name it shadows
            found = []
            for base in cls.node.bases:
                node = base.value if isinstance(base, ast.Subscript) else base
                meaning = self.resolve_dotted(cls.module, dotted_name(node))
                if isinstance(meaning, (Class, str)) and meaning is not cls:
                    found.append(meaning)
            self._bases[cls] = tuple(found)
        return self._bases[cls]

    def resolve_dotted(self, module: Module, dotted: str) -> Definition | None:
        """What a dotted name written at the top level of `module` means."""
        if not dotted:
            return None
        key = (module, dotted)
        if key not in self._dotted:
            self._dotted[key] = self._resolved(module, dotted)
        return self._dotted[key]

    def _resolved(self, module: Module, dotted: str) -> Definition | None:
        first, _, rest = dotted.partition(".")
        meaning = self.member(module, first)
        for name in rest.split(".") if rest else ():
            match meaning:
                case Module():
                    meaning = self.member(meaning, name)
                case str():
                    meaning = canonical_name(f"{meaning}.{name}")
                case Class():
                    meaning = next(
                        (
                            c
                            for c in module.all_classes
                            if c.qualname == f"{meaning.qualname}.{name}"
                        ),
                        None,
                    )
                case _:
                    return None
        return meaning

    def mro(self, cls: Class) -> tuple[tuple[Class, ...], tuple[str, ...]]:
        """The project classes in the order in which Python looks a method up, and the external ones by name.

        Where the bases have no such order (the class statement would raise), each is taken once, in
        the order written.
        """
        if cls not in self._mro:
            self._mro[cls] = ((cls,), ())  # a class that is its own base, through names that shadow
            order = self._linearized(cls, (cls,))
            self._mro[cls] = (
                tuple(c for c in order if isinstance(c, Class)),
                tuple(c for c in order if isinstance(c, str)),
            )
        return self._mro[cls]

    def may_share_objects(self, one: Class, other: Class) -> bool:
        """Whether an object may be of two classes, of which one derives from the other."""
        return one in self.mro(other)[0] or other in self.mro(one)[0]

    def _linearized(self, cls: Class, below: tuple[Class, ...]) -> list[Class | str]:
        """The C3 linearization; an external class counts as one without bases."""
        bases: list[Class | str] = []
        for base in self.bases(cls):
            if isinstance(base, (Class, str)) and base not in below and base not in bases:
                bases.append(base)
        orders: list[list[Class | str]] = [
            self._linearized(base, (*below, base)) if isinstance(base, Class) else [base]
            for base in bases
        ]
        return [cls, *merged([*orders, bases])]

    def find_method(self, cls: Class, name: str, after: Class | None = None) -> Function | None:
        """The method that `name` means on a class; with `after`, the next one behind that class."""
        own, _ = self.mro(cls)
        if after is not None:
            own = own[own.index(after) + 1 :] if after in own else self.mro(after)[0][1:]
        return next((c.methods[name] for c in own if name in c.methods), None)

    def subclasses(self, cls: Class) -> list[Class]:
        """Every project class that inherits from `cls`, at any distance."""
        if self._subclasses is None:
            self._subclasses = {}
            for module in self.modules.values():
                for candidate in module.all_classes:
                    for base in self.mro(candidate)[0][1:]:
                        self._subclasses.setdefault(base, []).append(candidate)
        return self._subclasses.get(cls, [])

    def functions(self) -> Iterator[Function]:
        """Every function of every module, module bodies included."""
        for module in self.modules.values():
            yield from module.all_functions


def _in_folders(modules: Iterable[Module]) -> dict[str, dict[str, str]]:
    """What is in the folders that imports name: who imports one file of a folder finds there what others have imported.

    diffusion-of-thoughts eb19cba evaluation_batch.py:458: `lib.ddp.wrap_main(main)`, below `import lib.datasets`.
    """
    found: dict[str, dict[str, set[str]]] = {}
    for module in modules:
        for folder, inside in module.folders.items():
            known = found.setdefault(folder, {})
            for name, meant in inside.items():
                if meant not in module.folders:
                    known.setdefault(name, set()).add(meant)
    return {
        folder: {name: next(iter(meant)) for name, meant in inside.items() if len(meant) == 1}
        for folder, inside in found.items()
    }


def _folder(name: str, path: str, inside: dict[str, str]) -> Module:
    """A folder through which a file imports modules that are known without it.

    FiD fe769f3 train_reader.py:17: `import src.slurm`, `import src.util`, of the files `slurm` and `util`; the name
    `src` means both.
    """
    module = scan(name, Source(path, name, "", ast.Module([], []), reported=False))
    module.imports.update(inside)
    return module


def merged(orders: list[list[Class | str]]) -> list[Class | str]:
    """The merge step of C3: the first head that no other order has further down, again and again."""
    rest = [list(order) for order in orders if order]
    found: list[Class | str] = []
    while rest:
        later = {each for order in rest for each in order[1:]}
        head = next((order[0] for order in rest if order[0] not in later), rest[0][0])
        found.append(head)
        rest = [
            kept for order in rest if (kept := [e for e in order if e is not head and e != head])
        ]
    return found
