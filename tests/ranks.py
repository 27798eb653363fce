"""A script on ranks that are forked off an interpreter with torch in it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from distlint.proving import launch, warm

_LIMIT_S = 180.0


def run_right(
    interpreter: warm.WarmInterpreter,
    ranks: int,
    command: Sequence[str],
    folder: Path,
    variables: Mapping[str, str] | None = None,
) -> list[str]:
    """What each of the ranks prints that run `python COMMAND` in `folder`; all have to end with status 0."""
    base = {**launch.proof_environment(os.environ), **(variables or {})}
    port = launch.free_port()
    outputs = [folder / f"{rank}.output" for rank in range(ranks)]
    started: list[launch.RankProcess] = []
    try:
        for rank, output in enumerate(outputs):
            env = launch.rank_environment(base, rank, ranks, port)
            argv = [sys.executable, *command]
            started.append(interpreter.start(argv, rank, env, folder, output))
        ends = [one.process.wait(_LIMIT_S) for one in started]
    finally:
        launch.end(started)
    said = [output.read_text(errors="replace") for output in outputs]
    assert not any(ends), "\n".join(text[-3000:] for text in said)
    return said
