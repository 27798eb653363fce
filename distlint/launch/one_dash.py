"""Long options of Slurm's commands that are written with one dash, and that these take for a short one with a value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import Final

from distlint.findings import Place
from distlint.launch.places import Lines
from distlint.launch.project import Script
from distlint.launch.shell import Word
from distlint.patterns import pattern

_COMMANDS: Final = frozenset({"srun", "sbatch", "salloc"})
_REFUSED: Final = frozenset(
    {
        "cpus-per-task",
        "gpus",
        "gpus-per-node",
        "gpus-per-task",
        "gres",
        "mem",
        "mem-per-cpu",
        "mem-per-gpu",
        "nodes",
        "ntasks",
        "ntasks-per-node",
        "partition",
        "time",
    }
)
"""Those of which what is left behind the first letter is no value of the option that it stands for: `-mem=0` is `-m em=0`, a
distribution that Slurm 24.05 does not know (src/common/slurm_opt.c). `-output=log` writes a file `utput=log`, and goes on."""
_WRITTEN: Final = pattern(r"-([a-z][a-z-]+)(?:=.*)?")
_TAKES_NONE: Final = pattern(r"|[^-].*|-\w.+|--.*=.*")
"""In front of a word that is no value: nothing, another word, an option that has its value: `-n4`, `--nodes=4`."""
_IN_COMMENT: Final = pattern(r"^#SBATCH[ \t]+(-[a-z][a-z-]+)(?=[= \t])", re.MULTILINE)
_PROGRAM: Final = pattern(
    r"(?:.*/)?(?:python[\d.]*|bash|sh|torchrun|accelerate|deepspeed)|.*\.(?:py|sh|sbatch|slurm)|\./.*"
)


def written_with_one_dash(script: Script) -> Iterator[tuple[str, str, Place]]:
    """The options of Slurm that it refuses, each with the command that does, and where it stands.

    sscd-copy-detection 9590266 docs/Training.md:26: `srun --nodes=4 --gpus-per-node=8 -mem=0`.
    """
    for command in script.commands:
        name = command.words[0].text if command.words else None
        if name not in _COMMANDS:
            continue
        before = ""
        for word in takewhile(lambda each: not _starts(each), command.words[1:]):
            text = word.text or word.option
            if not text.startswith("-") and _TAKES_NONE.fullmatch(before):
                break  # no value of the option in front of it: the program
            before = text
            found = _WRITTEN.fullmatch(text)
            if found is not None and found[1] in _REFUSED:
                yield name, f"-{found[1]}", word.place
    lines = Lines(script.path, script.text)
    for found in _IN_COMMENT.finditer(script.text):
        if found[1][1:] in _REFUSED:
            yield "sbatch", found[1], lines.place(*found.span(1))


def _starts(word: Word) -> bool:
    """Whether a word is the program, and what follows are its own options; one that is not known may be."""
    return (word.text is None and not word.option) or _PROGRAM.fullmatch(
        word.text or ""
    ) is not None
