"""Variables that a launch takes and nothing sets, where one of nearly that name is set and not used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from distlint.columns import split_lines
from distlint.findings import Place
from distlint.launch.project import LaunchFiles, Script
from distlint.launch.spelling import nearest

_GIVEN: Final = re.compile(
    r"""--[\w-]+(?:=|[ \t]+)["']?\$\{?(?P<name>[A-Za-z]\w*)\}?["']?(?=\s|$)"""
)
"""A variable as the whole value of an option."""
_SET: Final = re.compile(
    r"(?<![\w$.{-])(?:(?P<name>[A-Za-z_]\w*)\+?=(?!=)|(?:for|read(?: -\w+)*)[ \t]+(?P<other>\w+))"
)
_USED: Final = re.compile(r"\$\{?[#!]?(\w+)")
_BROUGHT: Final = re.compile(
    r"^[ \t]*(?:source|\.|eval|set[ \t]+-a|mapfile|readarray)[ \t]|\bgetopts\b|\bdeclare\b",
    re.MULTILINE,
)
"""What sets variables that are not written out."""
_OF_A_LIBRARY: Final = re.compile(
    r"(?:NCCL|UCX|GLOO|TORCH|PYTORCH|CUDA|OMP|MKL|FI|OMPI|SHARP|HF|WANDB)_"
)
"""How variables begin that a library reads from the environment, so that no command has to name them."""
_NEAR: Final = 0.8
_COMMENT: Final = re.compile(r"(?:^|(?<=[ \t]))#.*$", re.MULTILINE)


def unset(files: LaunchFiles, script: Script) -> Iterator[tuple[str, str, Place]]:
    """The variables that launches of a script are given, each with the one that is set instead, and where it stands.

    Senna cddce26 train_tools/train_senna_llava.sh:28: `--model_name_or_path $MODEL`, and `MODEL_PATH="…"` above. What other
    scripts or pages set may come from outside; and so do all of a launch that takes several which nothing sets: SEED 93b3cf4
    MultiModalLLM/scripts/train_a100_lora_multi_node_sft.sh:20, `$HOST_GPU_NUM`, `$CHIEF_IP` and `$INDEX` of a cluster.
    """
    if script.told or _BROUGHT.search(script.text):
        return
    text = _COMMENT.sub("", script.text)
    held = {found["name"] or found["other"] for found in _SET.finditer(text)}
    idle = {each for each in held - set(_USED.findall(text)) if not _OF_A_LIBRARY.match(each)}
    lines = split_lines(script.text)
    for launch in script.launches if idle else ():
        start = launch.place.line
        given = [
            (number, found)
            for number in range(start, start + script.command_at(start).count("\n") + 1)
            for found in _GIVEN.finditer(lines[number - 1])
            if found["name"] not in held
        ]
        meant = {found["name"]: _near(found["name"], idle) for _, found in given}
        if None in meant.values():
            continue
        for number, found in given:
            near = meant[found["name"]]
            if near is not None and not _is_set_elsewhere(files, found["name"]):
                place = Place(script.path, number, found.start(), number, found.end())
                yield found["name"], near, place


def _near(name: str, idle: set[str]) -> str | None:
    """The variable that is meant: one that begins with the name and goes on, or is spelled nearly so."""
    longer = sorted(
        each for each in idle if each.startswith(f"{name}_") or name.lower() == each.lower()
    )
    return longer[0] if len(longer) == 1 else nearest(name, idle, _NEAR)


def _is_set_elsewhere(files: LaunchFiles, name: str) -> bool:
    """Whether a script or page of the project names a variable in front of a `=`, a comment included."""
    return any(re.search(rf"\b{name}=", each.text) for each in files.scripts)
