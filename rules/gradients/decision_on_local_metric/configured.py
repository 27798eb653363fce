"""What configurations have a checkpoint or stopper watch, beside the module that they name."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.linked import leading_to
from distlint.analysis.questions.configured_trainers import leads_to_by
from distlint.launch.sections import classes_in_sections, values_of
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Class
    from distlint.launch.project import LaunchFiles, TextFile

_WATCHES: Final = pattern(r"checkpoint|ckpt|early|stop|callback", re.IGNORECASE)
"""Words of the keys under which a checkpoint or stopper is configured."""
_TRAINS: Final = pattern(r"^(?:data|lightning|trainer|callbacks)\b\s*:", re.MULTILINE)
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
        if not _TRAINS.search(file.text) or _is_left_over(launch, file):
            continue
        named = classes_in_sections(file.kind, file.text)
        sections = [keys for keys, name in named if _is_any(name, meant)]
        monitors = values_of(file.kind, file.text, "monitor") if sections else []
        if not monitors:
            continue
        own = [value for keys, value in monitors if _WATCHES.search(keys)]
        watched.update(own)
        otherwise.append(bool(own))
        # A part of the module that is fitted watches nothing: StableSR 398ee93 configs/stableSRNew/v2-finetune_text_T_512.yaml:52.
        fitted = [keys for keys in sections if "." not in keys]
        places = {keys + between for keys in fitted for between in _ARGUMENTS}
        handed.update(value for keys, value in monitors if keys in places and not own)
    return Watched(frozenset(watched), frozenset(handed), bool(otherwise) and all(otherwise))


def watched_in_runs(model: Model, classes: list[Class]) -> frozenset[str]:
    """What runs on several devices have watched, whose configuration makes one of some classes, or whose code alone does.

    smoltalk e35a405 scripts/example/train_ddp.sh:18: `model=causal_lm trainer=ddp`, and `monitor: "val_loss"` in
    configs/example/callbacks/default.yaml.
    """
    meant = [f".{each.module.written}.{each.name}" for each in classes]
    by_name = any(_is_any(name, meant) for name in model.classes_below(""))
    return frozenset(
        name
        for each in classes
        for entry in leading_to(model.program, each.module)
        for run in model.runs_on_several(entry)
        if (
            any(_is_any(name, meant) for name in run.classes)
            if by_name
            else leads_to_by(model.program, entry, each.module, run.classes)
        )
        for name in run.watched
    )


def _is_left_over(launch: LaunchFiles, file: TextFile) -> bool:
    """Whether scripts and pages name other configurations of the project, and never this one.

    Dreambooth-Stable-Diffusion 12fa950 configs/autoencoder came with the code that it was made from.
    """
    texts = [script.text for script in launch.scripts]
    named = [posixpath.basename(each.path) for each in launch.naming]
    return any(name in text for text in texts for name in named) and not any(
        posixpath.basename(file.path) in text for text in texts
    )


def _is_any(name: str, meant: Iterable[str]) -> bool:
    """Whether a configuration means one of some classes, whatever folder Python starts from."""
    return any(each.endswith(f".{name}") or f".{name}".endswith(each) for each in meant)
