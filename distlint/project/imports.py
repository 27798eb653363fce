"""Which file of the tree an import means: the search order that Python has when that file runs."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from distlint.patterns import pattern
from distlint.project.missing import is_missing
from distlint.project.modules import (
    ROOT_MARKERS,
    is_package,
    package_root,
    project_root,
)
from distlint.project.search_path import added_folders
from distlint.project.vendoring import is_copy

Written = tuple[int, str, str]
"""An import as written: the dots before it, the module, and the name taken from it ("" for none)."""


_RUNTIME_FILES: Final = ("__init__.py", "agreement.py", "sections.py")
"""Some of the runtime's: only a folder with them is asked whether it is a copy."""


_HOSTS: Final = frozenset({"extensions", "custom_nodes"})
"""Folders of a host application into which people clone plug-ins, which import themselves from there:
sd_dreambooth_extension 4244f6b scripts/main.py:20, `from extensions.sd_dreambooth_extension.dreambooth.ui_functions import …`."""


def _is_runtime(dotted: str) -> bool:
    """Whether a module is the bundled runtime, of which the tables say what its functions do.

    In distlint's own repository a fix that imports it would join a script with all that imports it, too, and each
    trial of the fix would look at four hundred files.
    """
    return dotted == "distlint.runtime" or dotted.startswith("distlint.runtime.")


class Imports:
    """The modules that some files make, and which of them an import in one of the files means.

    The name of a module is the one that its package gives it. Where several files have one name
    (`examples/*/train.py`), all but one carry a number after the first part: `train~2`, `models~3.unet`; `train.py`
    beside a package `train` is `train~script`.
    `configured` are the classes that configurations have a program make, each with the keys of its section.
    """

    def __init__(self, paths: Iterable[str], configured: Iterable[tuple[str, str]] = ()) -> None:
        self._files = frozenset(paths)
        self.configured = tuple(sorted(set(configured)))
        self._inside: set[str] = set()
        self._folders: dict[str, tuple[str, str]] = {}  # root, and the dotted name below it
        self._names: dict[str, str] = {}
        self._numbers: dict[str, dict[str, int]] = {}
        self._words: set[str] = set()
        self._known: dict[tuple[str, str, str, str], str | None] = {}
        self._copies: dict[str, bool] = {}
        self._adds: dict[str, list[str]] = {}
        self._top = _outermost(os.path.commonpath(self._files)) if self._files else ""
        scripts: set[tuple[str, str]] = set()
        packages: set[tuple[str, str]] = set()
        for path in self._files:
            folder, _, filename = path.rpartition(os.sep)
            if folder not in self._folders:
                self._add(folder)
            root, inside = self._folders[folder]
            stem = filename.rpartition(".")[0] or filename
            self._words.add(stem)
            if inside:
                packages.add((inside.partition(".")[0], root))
            elif stem != "__init__":
                scripts.add((stem, root))
        self._packages: dict[str, list[str]] = {}
        for top, root in sorted(packages, key=_nearest_the_top):
            self._packages.setdefault(top, []).append(root)
            self._number(top, root)
        for top, root in sorted(scripts - packages, key=_nearest_the_top):
            self._number(top, root)

    def _add(self, folder: str) -> None:
        root = package_root(folder)
        inside = folder[len(root) :].strip(os.sep).replace(os.sep, ".")
        self._folders[folder] = root, inside
        while folder not in self._inside:
            self._inside.add(folder)
            self._words.add(os.path.basename(folder))
            if len(folder) <= min(len(self._top), len(root)):
                break
            folder = os.path.dirname(folder)

    def _number(self, top: str, root: str) -> None:
        numbers = self._numbers.setdefault(top, {})
        numbers[root] = len(numbers) + 1

    def name(self, path: str) -> str:
        """The name of the module that the file at `path` makes; no other file of these has it."""
        name = self._names.get(path)
        if name is None:
            folder, _, filename = path.rpartition(os.sep)
            root, inside = self._folders[folder]
            stem = filename.rpartition(".")[0] or filename
            parts = [inside] if inside else []
            parts += [] if stem == "__init__" else [stem]
            top, dot, rest = (".".join(parts) or os.path.basename(folder)).partition(".")
            number = self._numbers.get(top, {}).get(root, 1)
            name = f"{top}~{number}{dot}{rest}" if number > 1 else f"{top}{dot}{rest}"
            if stem != "__init__" and os.path.join(folder, stem, "__init__.py") in self._files:
                name += "~script"  # what imports mean is the package beside it
            self._names[path] = name
        return name

    def meant(
        self, path: str, written: Iterable[Written], added: Sequence[str], script: bool
    ) -> dict[Written, str]:
        """What imports `written` in the file at `path` mean, where that is something of these files.

        Names of modules of these files, and names in them. `added` are the folders that the file adds to
        the search path; `script` says whether it is run as one (`as_written`).
        """
        found: dict[Written, str] = {}
        written = list(written)
        added = [*added, *self._added_beside(os.path.dirname(path), written)]
        for each in written:
            meaning = self._meaning(path, each, added, script)
            if meaning is not None:
                found[each] = meaning
        return found

    def chosen(
        self, path: str, added: Sequence[str], script: bool
    ) -> tuple[dict[Written, str], tuple[tuple[str, str], ...]]:
        """What the file at `path` makes of configurations, where it finds classes by their names.

        Returns:
            The imports of these classes as `meant` gives them, and the keys of each section with its class: by the
            name of this tree, as it is written where only a registry may know it, "" for one of a library.
        """
        dotted = {
            name: (0, *name.rpartition(".")[::2]) for _, name in self.configured if "." in name
        }
        meant = self.meant(path, dict.fromkeys(dotted.values()), added, script)
        pairs = {
            (keys, meant.get(dotted[name], "") if name in dotted else name)
            for keys, name in self.configured
        }
        return meant, tuple(sorted(pairs))

    def lacking(self, path: str, written: Iterable[Written]) -> Iterator[Written]:
        """The imports of modules that the one package of this name does not have, and that nothing makes.

        VeOmni d977449 tasks/deprecated_task/train_flux.py:45: `from veomni.utils.lora_utils import …`, which was removed.
        """
        folder = os.path.dirname(path)
        root, inside = self._folders[folder]
        for each in written:
            dots, dotted, _ = each
            if dots:
                above = inside.split(".")[: len(inside.split(".")) - (dots - 1)]
                dotted = ".".join([*above, dotted]) if dotted and all(above) else ""
            match self._packages.get(dotted.partition(".")[0], ()):
                case [home] if (
                    (home == root or not dots)
                    and self._find(home, dotted) is None
                    and _installs(home)
                    and self._is_the_only(home, dotted.partition(".")[0])
                    and is_missing(home, dotted, self._top)
                ):
                    yield each

    def _is_the_only(self, home: str, package: str) -> bool:
        """Whether no folder elsewhere has the name of a package, be it none itself.

        Senna cddce26 llava/senna/train_senna_llava_multi_img.py:40 imports `llava.senna` from beside `llava_next/llava`.
        """
        own = os.path.join(home, package)
        return all(each == own for each in self._inside if os.path.basename(each) == package)

    def _added_beside(self, folder: str, written: Iterable[Written]) -> Iterator[str]:
        """The folders that files beside a script add, which it imports for that: `import _init_paths`.

        HRNet-Semantic-Segmentation 0bbb288 tools/train.py:26, and `from core.function import validate` of `lib` below.
        """
        for dots, dotted, _ in written:
            file = os.path.join(folder, f"{dotted}.py")
            if not dots and "path" in dotted and file in self._files:
                if file not in self._adds:
                    self._adds[file] = _folders_of(file)
                yield from self._adds[file]

    def _meaning(
        self, path: str, written: Written, added: Sequence[str], script: bool
    ) -> str | None:
        dots, dotted, name = written
        folder = os.path.dirname(path)
        if dots:
            for _ in range(dots - 1):
                folder = os.path.dirname(folder)
            return self._from(folder, dotted, name, path)
        top, _, plugged = dotted.partition(".")
        if top in _HOSTS and top not in self._words:
            return self._plugged_in(folder, plugged.partition(".")[2], name, path)
        if top not in self._words or top in sys.stdlib_module_names:
            return None
        if _is_runtime(dotted) and self._package_of(path) != top:
            return None
        for root in self._from_here(added, folder):
            if (meaning := self._from(root, dotted, name, path)) is not None:
                return meaning
        own = path if os.path.basename(path) == f"{top}.py" else ""
        key = (folder, dotted, name, own)
        if key not in self._known:
            self._known[key] = self._in_order(folder, dotted, name, path)
        meaning = self._known[key]
        if meaning is None and script and is_package(folder):
            here = folder
            while meaning is None and is_package(here):
                meaning = self._from(here, dotted, name, path)
                here = os.path.dirname(here)
        return meaning

    def _plugged_in(self, folder: str, dotted: str, name: str, path: str) -> str | None:
        """What a plug-in means that imports itself from where its host has it: below a folder around, be it a package."""
        here = folder
        while dotted and here in self._inside:
            if (meaning := self._from(here, dotted, name, path)) is not None:
                return meaning
            here = os.path.dirname(here)
        return None

    def _package_of(self, path: str) -> str:
        """The outermost package of a file; empty for a script."""
        return self._folders[os.path.dirname(path)][1].partition(".")[0]

    def _in_order(self, folder: str, dotted: str, name: str, path: str) -> str | None:
        """Below its own folder (a script), or that of its package; below those around it; elsewhere."""
        roots = [*self._around(package_root(folder)), *self._projects(dotted, folder)]
        for root in roots:
            if (meaning := self._from(root, dotted, name, path)) is not None:
                return meaning
        # A package that has no such module: what is imported is still of that package.
        top, _, rest = dotted.partition(".")
        for root in roots if rest else ():
            if (module := self._from(root, top, "", path)) is not None:
                return f"{module}.{rest}.{name}" if name not in ("", "*") else f"{module}.{rest}"
        return None

    def _from_here(self, added: Iterable[str], folder: str) -> Iterator[str]:
        """The folders added to the path; what is relative starts where the program is started."""
        for each in added:
            if os.path.isabs(each):
                yield each
            else:
                for start in self._around(folder):
                    yield os.path.normpath(os.path.join(start, each))

    def _around(self, start: str) -> Iterator[str]:
        """`start` and the folders around it, each with its `src`, from the innermost."""
        here = start
        while True:
            yield here
            yield os.path.join(here, "src")
            parent = os.path.dirname(here)
            if parent == here or len(here) <= len(self._top):
                return
            here = parent

    def _projects(self, dotted: str, folder: str) -> list[str]:
        """The projects of the tree that install a package of this name, the nearest first."""
        found = [
            root for root in self._packages.get(dotted.partition(".")[0], ()) if _installs(root)
        ]
        return sorted(found, key=lambda root: (-len(os.path.commonpath((root, folder))), root))

    def _from(self, root: str, dotted: str, name: str, importer: str) -> str | None:
        """What `name` of the module `dotted` means below `root`; None where no such module is."""
        if root not in self._inside:
            return None
        file = self._find(root, dotted)
        if file is None:
            return None
        if file:
            if file == importer and dotted:
                return None  # wandb.py that imports wandb
            module = self._runtime_name(file, importer) or self.name(file)
            return module if name in ("", "*") else f"{module}.{name}"
        if name in ("", "*"):
            return None
        file = self._find(root, f"{dotted}.{name}" if dotted else name)
        return self.name(file) if file and file != importer else None

    def _runtime_name(self, file: str, importer: str) -> str:
        """The name in the bundled runtime of a module of a copy of it, for what imports the copy; else empty.

        What its functions do the tables say, and that it speaks of FSDP says nothing of the project.
        """
        folder, _, filename = file.rpartition(os.sep)
        if folder not in self._copies:
            beside = (os.path.join(folder, each) for each in _RUNTIME_FILES)
            self._copies[folder] = all(each in self._files for each in beside) and is_copy(folder)
        if not self._copies[folder] or importer.startswith(folder + os.sep):
            return ""
        stem = filename.removesuffix(".py")
        return "distlint.runtime" if stem == "__init__" else f"distlint.runtime.{stem}"

    def _find(self, root: str, dotted: str) -> str | None:
        """The file of the module `dotted` below `root`; "" for a folder without `__init__.py`."""
        here = os.path.join(root, *dotted.split(".")) if dotted else root
        if (package := os.path.join(here, "__init__.py")) in self._files:
            return package
        if dotted and (module := f"{here}.py") in self._files:
            return module
        return "" if here in self._inside else None


def _outermost(folder: str) -> str:
    """The folder to start from for imports in `folder`: that of its project, else the one around it."""
    project = project_root(Path(folder))
    return str(project) if project else os.path.dirname(folder)


def _nearest_the_top(package: tuple[str, str]) -> tuple[str, int, str]:
    top, root = package
    return top, root.count(os.sep), root


@cache
def _installs(root: str) -> bool:
    """Whether packages in this folder get installed: a project has them there."""
    project = os.path.dirname(root) if os.path.basename(root) == "src" else root
    return any(os.path.exists(os.path.join(project, marker)) for marker in ROOT_MARKERS)


def _folders_of(path: str) -> list[str]:
    """The folders that the file at `path` adds to the search path; none where it cannot be read."""
    try:
        text = Path(path).read_text("utf-8")
        return list(added_folders(path, ast.parse(text))) if "sys.path" in text else []
    except (OSError, ValueError, SyntaxError, RecursionError):
        return []


def _is_script(text: str) -> bool:
    """Whether a file in a package is run as a script: folders of the package are searched then."""
    return "__main__" in text and not _RELATIVE.search(text)


_RELATIVE: Final = pattern(r"^\s*from\s+\.", re.MULTILINE)


def as_written(path: str, tree: ast.Module, text: str) -> tuple[list[Written], list[str], bool]:
    """What `Imports.meant` asks of the content of the file at `path`."""
    added = list(added_folders(path, tree)) if "sys.path" in text else []
    return list(written_imports(tree)), added, _is_script(text)


def written_imports(tree: ast.Module) -> Iterator[Written]:
    """The imports of a module and of its functions, without a walk over every expression."""
    stack: list[ast.AST] = list(tree.body)
    while stack:
        node = stack.pop()
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield 0, alias.name, ""
            case ast.ImportFrom(module=module, names=names, level=level):
                for alias in names:
                    yield level, module or "", alias.name
        if isinstance(node, _SIMPLE):
            continue
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                stack.extend(block)


_SIMPLE: Final = (
    ast.Assign,
    ast.AugAssign,
    ast.AnnAssign,
    ast.Expr,
    ast.Return,
    ast.Raise,
    ast.Import,
    ast.ImportFrom,
)
