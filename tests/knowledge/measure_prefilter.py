"""Counts how many files and lines under the given folders pass the prefilter, by package."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from distlint.knowledge.literals import PREFILTER


def passing(root: Path) -> Iterator[tuple[str, int, bool]]:
    """Each Python file below `root`: the folder it is in, its number of lines, whether it passes."""
    for path in sorted(root.rglob("*.py")):
        content = path.read_bytes()
        folder = path.relative_to(root).parts[0]
        yield folder, content.count(b"\n"), any(word in content for word in PREFILTER)


def main() -> None:
    """Print one line for each package and one for all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path, help="a folder with one unpacked package per folder")
    totals: dict[str, list[int]] = {}
    for folder, lines, passes in passing(parser.parse_args().root):
        for name in (folder, "all"):
            row = totals.setdefault(name, [0, 0, 0, 0])
            row[0] += 1
            row[1] += lines
            row[2] += passes
            row[3] += lines * passes
    for name, (files, lines, some_files, some_lines) in sorted(totals.items()):
        print(
            f"{name:32} {some_files:6} of {files:6} files ({some_files / files:.1%}), "
            f"{some_lines:8} of {lines:8} lines ({some_lines / max(lines, 1):.1%})"
        )


if __name__ == "__main__":
    main()
