"""Scripts of one machine that are told of several, and read nothing of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from distlint.findings import Place
from distlint.knowledge.configuration.launchers import Launcher
from distlint.launch.commands import Launch, script_started
from distlint.launch.project import LaunchFiles, Script

_MACHINES: Final = frozenset({"NNODES", "NUM_NODES", "N_NODES", "NUM_MACHINES"})
"""What scripts call the number of machines."""


def told_in_vain(files: LaunchFiles) -> Iterator[tuple[str, str, Place, Launch]]:
    """The commands that start a script with a number of machines above 1 which it does not read, and that launches for one.

    deepgen e6cb0c2 TRAIN.md:20: `GPUS_PER_NODE=8 NNODES=8 bash scripts/train_ddp.sh`, which has `torchrun --nproc_per_node 8
    --nnodes 1`.

    Yields:
        The variable, the script, where it is set, and the launch.
    """
    for script in files.scripts:
        for command in script.commands:
            said = [
                (name, word.place)
                for name in sorted(_MACHINES & command.environment.keys())
                if (word := command.environment[name]).place.line == command.line
                and (word.text or "").isdecimal()
                and int(word.text or 0) > 1
            ]
            found = script_started(command) if said else None
            path = files.script_meant(found[0].text or "", script.path) if found else ""
            for started in files.scripts if path else ():
                if started.path == path and not started.told and _is_of_one_machine(started):
                    yield from (
                        (name, path, place, started.launches[0])
                        for name, place in said
                        if re.search(rf"\b{name}\b", started.text) is None
                    )


def _is_of_one_machine(script: Script) -> bool:
    """Whether each launch of a script is by torch, and of one machine: by its options, and nothing that comes from outside."""
    return bool(script.launches) and all(
        launch.launcher in (Launcher.TORCHRUN, Launcher.TORCH_LAUNCH)
        and launch.options_known
        and "PET_" not in script.text
        and (
            launch.row.machines not in launch.options
            or ((number := launch.number(launch.row.machines)) is not None and number[0] == 1)
        )
        for launch in script.launches
    )
