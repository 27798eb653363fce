"""What a key in an editor costs: CPU seconds from a changed text to what is found in the project.

    python bench/keystrokes.py path/to/unpacked/verl-0.9.1 verl/trainer/ppo/ray_trainer.py

Types a statement at the start of a function of FILE (of `--function`, else of the last one), a character at a
time, in a session of the language server; nothing is written. The first check and the least, the middle and the
most of the others are printed.
"""

from __future__ import annotations

import argparse
import ast
import os
import tempfile
import time
from pathlib import Path

from distlint.cli.inputs import Inputs, prepare
from distlint.server.session import Session

TYPED = "print(1)"


def texts(text: str, function: str | None) -> list[str]:
    """The text after some of the keys; after one it does not parse."""
    found = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and function in (None, node.name)
    ]
    if not found:
        raise SystemExit(f"there is no function {function or ''}")
    first = found[-1].body[0]
    lines = text.split("\n")
    at, blanks = first.lineno - 1, " " * first.col_offset
    return [
        "\n".join([*lines[:at], blanks + TYPED[:end], *lines[at:]])
        for end in (len("print"), len(TYPED) - 1, len(TYPED))
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("file", type=Path, help="below the directory")
    parser.add_argument("--function")
    options = parser.parse_args()
    os.chdir(options.directory)
    path = options.file.absolute()
    with tempfile.TemporaryDirectory() as cache:
        session = Session(
            (".",),
            lambda paths, unsaved: prepare(Inputs(paths, cache_dir=cache), unsaved).requests,
        )

        def cost() -> float:
            session.tidy()  # the server does so while nobody types
            start = time.process_time()
            session.check()
            return time.process_time() - start

        print(f"first check  {cost():6.2f} s")
        costs = []
        for text in texts(path.read_text(encoding="utf-8"), options.function):
            session.edit(str(path), text)
            costs.append(cost())
        costs.sort()
        print(
            f"a key        {costs[0]:6.2f} s  {costs[len(costs) // 2]:6.2f} s  {costs[-1]:6.2f} s"
        )


if __name__ == "__main__":
    main()
