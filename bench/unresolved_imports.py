"""Imports that name a file of their tree, and how many of them distlint does not find there.

    python bench/unresolved_imports.py TREES_DIR [--list]

Each folder in `TREES_DIR` is one tree. An import names a file of its tree where the path of some file ends
with the module as it is written (`from models.unet import UNet`: `…/models/unet.py`), and its first part
is no module of the standard library. Some of these mean an installed package
of the same name (`import datasets` beside an unrelated `datasets.py`): those should not resolve.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from distlint.project.imports import Imports, as_written, written_imports


def main() -> int:
    """Count over each tree; what stays unresolved is listed with `--list`."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("trees", type=Path)
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    total: Counter[bool] = Counter()
    for tree in sorted(each for each in arguments.trees.resolve().iterdir() if each.is_dir()):
        found: Counter[bool] = Counter()
        for place, written, resolves in imports_of(tree):
            found[resolves] += 1
            if arguments.list and not resolves:
                print(f"  {place.relative_to(tree)}: {written}")
        print(f"{tree.name}: {found[False]} of {found.total()} do not resolve")
        total += found
    print(f"in all: {total[False]} of {total.total()} do not resolve")
    return 0


def imports_of(tree: Path) -> Iterator[tuple[Path, str, bool]]:
    """The imports that name a file of `tree`: where, what is written, and whether it is found."""
    paths = sorted(path for path in tree.rglob("*.py") if path.is_file())
    imports = Imports(map(str, paths))
    endings = {ending for path in paths for ending in _endings(path.relative_to(tree))}
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
            syntax = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        meant = imports.meant(str(path), *as_written(str(path), syntax, text))
        seen: dict[tuple[int, str], bool] = {}
        for written in written_imports(syntax):
            dots, module, _ = written
            if module in endings and (dots or top_of(module) not in sys.stdlib_module_names):
                seen[dots, module] = seen.get((dots, module), False) or written in meant
        for (dots, module), resolves in seen.items():
            yield path, "." * dots + module, resolves


def top_of(module: str) -> str:
    """The first part of a dotted name."""
    return module.partition(".")[0]


def _endings(path: Path) -> Iterator[str]:
    parts = path.with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    for start in range(len(parts)):
        yield ".".join(parts[start:])


if __name__ == "__main__":
    sys.exit(main())
