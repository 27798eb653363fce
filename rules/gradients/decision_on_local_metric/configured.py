"""What configurations have a checkpoint or stopper watch, beside the module that they name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from distlint.launch.sections import classes_in_sections, values_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from distlint.analysis.program.definitions import Class
    from distlint.launch.project import LaunchFiles

_WATCHES: Final = re.compile(r"checkpoint|ckpt|early|stop|callback", re.IGNORECASE)
"""Words of the keys under which a checkpoint or stopper is configured."""
_TRAINS: Final = re.compile(r"^(?:data|lightning|trainer|callbacks)\b\s*:", re.MULTILINE)
"""The sections of a configuration that is for a training, not for samples of what was trained."""
_ARGUMENTS: Final = ("", ".params", ".init_args")
"""What stands between a section and the arguments of its class: nothing (hydra), `params` (ldm), `init_args` (jsonargparse)."""


@dataclass(frozen=True, slots=True)
class Watched:
    """What the configurations that name a module have watched."""

    names: frozenset[str] = frozenset()
    """By a section of the checkpoint itself."""
    handed: frozenset[str] = frozenset()
    """What the module is told, where no section of the checkpoint says otherwise."""
    always_otherwise: bool = False
    """Whether each configuration that names the module has the checkpoint watch something by a section of its own.

    Make-An-Audio 0d84177 configs/train/diffusion.yaml:118: `lightning.modelcheckpoint.params.monitor: epoch`.
    """


def watched_beside(launch: LaunchFiles, classes: Iterable[Class]) -> Watched:
    """What configurations for a training that name one of some classes have watched."""
    meant = [f".{each.module.written}.{each.name}" for each in classes]
    watched: set[str] = set()
    handed: set[str] = set()
    otherwise: list[bool] = []
    for file in launch.naming if meant else ():
        if not _TRAINS.search(file.text):
            continue
        named = classes_in_sections(file.kind, file.text)
        sections = [keys for keys, name in named if _is_any(name, meant)]
        monitors = values_of(file.kind, file.text, "monitor") if sections else []
        if not monitors:
            continue
        own = [value for keys, value in monitors if _WATCHES.search(keys)]
        watched.update(own)
        otherwise.append(bool(own))
        places = {keys + between for keys in sections for between in _ARGUMENTS}
        handed.update(value for keys, value in monitors if keys in places and not own)
    return Watched(frozenset(watched), frozenset(handed), bool(otherwise) and all(otherwise))


def _is_any(name: str, meant: Iterable[str]) -> bool:
    """Whether a configuration means one of some classes, whatever folder Python starts from."""
    return any(each.endswith(f".{name}") or f".{name}".endswith(each) for each in meant)
