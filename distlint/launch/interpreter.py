"""Shell scripts that Slurm is to start, and whose first line names no interpreter."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.launch.commands import program_of_slurm
from distlint.launch.project import LaunchFiles, Script
from distlint.launch.shell import Word


def without_interpreter(files: LaunchFiles, script: Script) -> Iterator[tuple[str, Word]]:
    """The shell scripts of the project that `sbatch` or `srun` starts by themselves, and that do not begin with `#!`.

    Slurm 24.05, src/sbatch/opt.c, `get_script_buf`: "This does not look like a batch script". CutLER cca0a27 README.md:156:
    `sbatch tools/train-1node.sh`, whose first line is a comment.

    Yields:
        The command, and the script that it starts.
    """
    for command in script.commands if script.followed else ():
        word = program_of_slurm(command)
        if word is not None and word.sure:
            path = files.script_meant(word.text or "", script.path)
            if path and not files.begins(path, "#!"):
                yield command.words[0].text or "", word
