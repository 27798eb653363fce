"""What the shell of a batch script puts in where each task is meant to: `srun … --node_rank $SLURM_NODEID`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from distlint.columns import split_lines
from distlint.findings import Place
from distlint.launch.commands import counts_several
from distlint.launch.project import Script
from distlint.launch.shell import Command
from distlint.patterns import pattern

_NUMBERS = r"SLURM_(?:NODEID|PROCID)"
"""What Slurm tells each task: which machine it is on, and which task it is."""
_HELD = pattern(
    rf"""^[ \t]*(?:export[ \t]+)?(\w+)=["']?\$\{{?{_NUMBERS}\}}?["']?[ \t]*(?:#.*)?$""",
    re.MULTILINE,
)
_QUOTED = pattern(r'\\.|"(?:[^"\\]|\\.)*"|\'[^\']*\'', re.DOTALL)
_DYNAMIC = pattern(r"--rdzv[-_]backend[= \t]+[\"']?(?!static)")
"""A rendezvous that numbers the machines itself: lolcats 375df84 demos/llm_mmlu_eval/demo_405b.sh:34."""
_GIVEN = (
    r"""(?:--(?:node|machine)[-_]rank[=\s]+|\b(?:NODE|MACHINE|GROUP)_RANK=)["']?\$\{{?({names})\b"""
)


def expanded_once(script: Script) -> Iterator[tuple[str, Place]]:
    """Where `srun` starts tasks on several machines, each with the number that the batch script's own machine has.

    SkyThought 0d190f1 skythought/train/LLaMA-Factory/launch_3_nodes.sh:29: `--export=ALL,…,NODE_RANK=$SLURM_NODEID`.
    """
    if not script.scheduler or "srun" not in script.text:
        return
    held = [name for name in _HELD.findall(script.text) if _is_set_once(script.text, name)]
    given = re.compile(_GIVEN.format(names="|".join([_NUMBERS, *map(re.escape, held)])))
    for command in script.commands:
        if counts_several(command, script.scheduler) and not command.function:
            text = _put_in(_written(script, command))
            found = given.search(text)
            if found is not None and not _DYNAMIC.search(text):
                yield found[1], command.words[0].place


def _is_set_once(text: str, name: str) -> bool:
    return len(re.findall(rf"^[ \t]*(?:export[ \t]+|local[ \t]+)?{name}=", text, re.MULTILINE)) == 1


def _written(script: Script, command: Command) -> str:
    """A command as it stands in its script, from its first word to its last.

    What is added to a variable (`ARGS+=("--seed" 1)`) stands above: SpikeReg 98a08f6 train_spikereg.sh:106.
    """
    first = command.words[0].place
    last = max((word.place for word in command.words), key=lambda at: (at.end_line, at.end_column))
    lines = [line.encode() for line in split_lines(script.text)[first.line - 1 : last.end_line]]
    lines[-1] = lines[-1][: last.end_column]
    lines[0] = lines[0][first.column :]
    return b"\n".join(lines).decode("utf-8", "replace")


def _put_in(text: str) -> str:
    """The parts of a command in which this shell replaces variables: not what single quotes hold, nor behind a backslash."""
    return _QUOTED.sub(lambda found: _within(found[0]), text)


def _within(part: str) -> str:
    if part.startswith('"'):
        return re.sub(r"\\\$\w*", "", part)
    return "" if part.startswith("'") else part[1:].replace("$", "")
