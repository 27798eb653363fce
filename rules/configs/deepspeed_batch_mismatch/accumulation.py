"""Steps of accumulation that accelerate's file and the script's command line say differently."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from distlint.knowledge.configuration.launchers import Launcher
from distlint.knowledge.configuration.values import section_of
from distlint.launch.project import Format, LaunchFiles, Script
from distlint.launch.shell import Word
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Module
    from distlint.findings import Place
    from distlint.launch.commands import Launch

STEPS: Final = "gradient_accumulation_steps"
_SECTION: Final = "deepspeed_config"


class Contradiction(NamedTuple):
    """What the script is told, what accelerate's file says, and where each stands."""

    said: int
    given: Place
    written: int
    place: Place


def contradiction(files: LaunchFiles, script: Script, launch: Launch) -> Contradiction | None:
    """The number of steps in a launch that is another one in the file of accelerate that it names."""
    given, named = _given(launch), launch.options.get("config_file")
    if (
        launch.launcher is not Launcher.ACCELERATE
        or STEPS in launch.options  # the launcher's own option wins over the file
        or given is None
        or not (given.sure and (given.text or "").isdigit())
        or named is None
        or not (named.sure and named.value)
    ):
        return None
    found = files.named(str(named.value), script.path, Format.ACCELERATE)
    written = section_of(found.values, _SECTION).get(STEPS) if found is not None else None
    if found is None or not isinstance(written, int) or written == int(str(given.text)):
        return None
    return Contradiction(int(str(given.text)), given.place, written, found.place((_SECTION, STEPS)))


def _given(launch: Launch) -> Word | None:
    """The number of steps that a script is given: by an option, or by a name in front of it, with a sign or without.

    PLLaVA 6f49fd2 scripts/train_pllava_34b.sh:33: `gradient_accumulation_steps $gradient_accumulation_steps`.
    """
    option = launch.arguments.get(STEPS)
    if option is not None:
        return Word(option.value, option.place, option.sure)
    for word, following in pairwise((*launch.positional, None)):
        text = word.text if word is not None else None
        if word is not None and text is not None and text.startswith(f"{STEPS}="):
            return replace(word, text=text.partition("=")[2])
        if text == STEPS:
            return following
    return None


def accumulating(model: Model, module: Module) -> Iterator[tuple[ast.Call, Contradiction]]:
    """Where an Accelerator is told a number that does not count, for the first launch that says so.

    `accelerate launch` writes the file's number into the environment, and Accelerator prefers that: Otter 1e7eb93
    shared_scripts/Demo_OtterHD.sh:49 asks for 2, and trains with the 4 of the file.
    """
    made = [
        node
        for node in walk(module.source.tree, ast.Call)
        if last_name(node.func) == "Accelerator"
        and any(
            keyword.arg == STEPS and not isinstance(keyword.value, ast.Constant)
            for keyword in node.keywords
        )
    ]
    for call in made[:1]:
        for script, launch in model.launch.starting(module.path):
            found = contradiction(model.launch, script, launch)
            if found is not None:
                yield call, found
                return
