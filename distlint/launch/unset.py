"""Variables that a launch takes and nothing sets, where one of nearly that name is set and not used, or another script sets it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Final

from distlint.columns import split_lines
from distlint.findings import Place
from distlint.knowledge.configuration.launchers import NUMBERS
from distlint.launch.project import LaunchFiles, Script
from distlint.launch.spelling import nearest
from distlint.patterns import pattern

_GIVEN: Final = pattern(
    r"""--(?P<option>[\w-]+)(?:=|[ \t]+)["']?\$\{?(?P<name>[A-Za-z]\w*)\}?["']?(?=\s|$)"""
)
"""A variable as the whole value of an option."""
_SET: Final = pattern(
    r"(?<![\w$.{-])(?:(?P<name>[A-Za-z_]\w*)\+?=(?!=)|(?:for|read(?: -\w+)*)[ \t]+(?P<other>\w+))"
)
_USED: Final = pattern(r"\$\{?[#!]?(\w+)")
_BROUGHT: Final = pattern(
    r"^[ \t]*(?:source|\.|eval|set[ \t]+-a|mapfile|readarray)[ \t]|\bgetopts\b|\bdeclare\b",
    re.MULTILINE,
)
"""What sets variables that are not written out."""
_OF_A_LIBRARY: Final = pattern(
    r"(?:NCCL|UCX|GLOO|TORCH|PYTORCH|CUDA|OMP|MKL|FI|OMPI|SHARP|HF|WANDB)_"
)
"""How variables begin that a library reads from the environment, so that no command has to name them."""
_VARIABLE: Final = pattern(r"\$\{?([A-Za-z_]\w*)\}?")
_SHOWN: Final = pattern(r"""\bCUDA_VISIBLE_DEVICES=["']?\$\{?([A-Za-z_]\w*)\}?["']?(?=\s|$)""")
"""A variable as all that a command is told of the devices."""
_LAUNCHER: Final = (
    r"(?:torchrun|deepspeed|accelerate launch|python3? -m torch\.distributed\.(?:launch|run))"
)
_NEAR: Final = 0.8
_OTHERS: Final = 2
"""So many scripts that give a number show that there is to be one."""
_COMMENT: Final = pattern(r"(?:^|(?<=[ \t]))#.*$", re.MULTILINE)


def unset(files: LaunchFiles, script: Script) -> Iterator[tuple[str, str, Place]]:
    """The variables that launches of a script are given, each with the one that is set instead, and where it stands.

    Senna cddce26 train_tools/train_senna_llava.sh:28: `--model_name_or_path $MODEL`, and `MODEL_PATH="…"` above. What other
    scripts or pages set may come from outside; and so do all of a launch that takes several which nothing sets: SEED 93b3cf4
    MultiModalLLM/scripts/train_a100_lora_multi_node_sft.sh:20, `$HOST_GPU_NUM`, `$CHIEF_IP` and `$INDEX` of a cluster.
    """
    if script.told or _BROUGHT.search(script.text):
        return
    text = _COMMENT.sub("", script.text)
    held = _held(script)
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


def numbers_unset(files: LaunchFiles) -> Iterator[tuple[str, str, Place]]:
    """The variables of nobody's that launchers are given for a number, where others give the same program a number; each with the
    option, and where it stands.

    DetSeg 585fb7c scripts/fqdetv2/r50_fpn_fqdetv2_12e.sh:19: `--nproc_per_node=$nod main.py`, which is
    `--nproc_per_node=2 main.py` in all other scripts. A name in small letters is of no scheduler, but who starts a script by
    another one may have set it.
    """
    numbered: dict[tuple[str, str], set[str]] = {}
    for script, launch in files.launches():
        for name in NUMBERS & launch.options.keys() if launch.file else ():
            if launch.number(name) is not None:
                numbered.setdefault((launch.file, name), set()).add(script.path)
    for script, launch in files.launches():
        for name in NUMBERS & launch.options.keys():
            option = launch.options[name]
            others = numbered.get((launch.file, name), set()) - {script.path}
            if option.value is not None or len(others) < _OTHERS or _BROUGHT.search(script.text):
                continue
            for found in _GIVEN.finditer(script.command_at(launch.place.line)):
                variable = found["name"]
                if (
                    found["option"].replace("-", "_") == name
                    and variable.islower()
                    and not any(
                        _names(each, variable) for each in files.scripts if each is not script
                    )
                    and variable not in _held(script)
                ):
                    yield variable, option.written, option.place


def devices_unset(files: LaunchFiles) -> Iterator[tuple[str, str, Place]]:
    """The launches whose devices are a variable of nobody's, where each other script that has it writes devices into it, for
    itself; each with the variable and one of those scripts.

    AI-gen-detector 1c34d89 scripts/train_clm_deepspeed.sh:10: `CUDA_VISIBLE_DEVICES=$GPU_IDS \\`, and train_clm_ddp.sh beside it
    has `GPU_IDS="0,1"`. What a page names comes from who reads it.
    """
    for script, launch in files.launches():
        given = launch.environment.get("CUDA_VISIBLE_DEVICES")
        if given is None or given.text is not None or _BROUGHT.search(script.text):
            continue
        line = split_lines(script.text)[given.place.line - 1]
        found = _SHOWN.search(line)
        if found is None or found[1] in _held(script):
            continue
        name = found[1]
        others = [each for each in files.scripts if each is not script and _names(each, name)]
        if others and all(_keeps_devices(each, name, script) for each in others):
            yield name, min(each.path for each in others), given.place


def _keeps_devices(script: Script, name: str, other: Script) -> bool:
    """Whether a script writes devices into a variable, and gives it to no other script."""
    return (
        not script.told
        and re.search(rf"^[ \t]*{name}=[\"']?\d+(?:,\d+)*[\"']?[ \t]*$", script.text, re.MULTILINE)
        is not None
        and re.search(rf"\bexport\b[^\n]*\b{name}\b", script.text) is None
        and posixpath.basename(other.path) not in script.text
    )


def launchers_unset(files: LaunchFiles, script: Script) -> Iterator[tuple[str, str, str, Place]]:
    """The commands of a script that begin with a variable which it sets nowhere, where another script of the project sets it to
    a launcher, for itself, and starts the same program so.

    videollm-online e2c78ec scripts/ego4d/narration/live1+.sh:1: `${launcher} train.py`, and live1.sh beside it has
    `launcher="torchrun --nproc_per_node 8"`. What a page or another script gives it may come from there.

    Yields:
        The variable, the program, the script that sets it, and where it stands.
    """
    if script.told or _BROUGHT.search(script.text):
        return
    lines = split_lines(script.text)
    for command in script.commands:
        words = command.words
        if len(words) < 2 or words[0].text is not None or not (words[1].text or "").endswith(".py"):
            continue
        at, program = words[0].place, words[1].text or ""
        written = lines[at.line - 1].encode()[at.column : at.end_column].decode()
        found = _VARIABLE.fullmatch(written)
        if found is None or _sets(script, found[1]):
            continue
        setting = [each for each in files.scripts if _sets(each, found[1])]
        setting.sort(key=lambda each: each.path)
        if setting and all(_keeps(each, found[1], program, script) for each in setting):
            yield found[1], program, setting[0].path, at


def _held(script: Script) -> set[str]:
    """The variables that a script sets."""
    text = _COMMENT.sub("", script.text)
    return {found["name"] or found["other"] for found in _SET.finditer(text)}


def _names(script: Script, variable: str) -> bool:
    """Whether a script or page has the name of a variable as a word."""
    return re.search(rf"\b{variable}\b", script.text) is not None


def _sets(script: Script, name: str) -> bool:
    """Whether a script or page names a variable in front of a `=`, a comment included."""
    return re.search(rf"\b{name}=", script.text) is not None


def _keeps(script: Script, name: str, program: str, other: Script) -> bool:
    """Whether a script sets a variable to a launcher that starts a program, and gives it to no other script."""
    return (
        not script.told
        and re.search(rf"^[ \t]*{name}=[\"']?{_LAUNCHER}\b", script.text, re.MULTILINE) is not None
        and re.search(rf"\$\{{?{name}\}}?[ \t]+{re.escape(program)}\b", script.text) is not None
        and re.search(rf"\bexport\b[^\n]*\b{name}\b", script.text) is None
        and other.path.rpartition("/")[2] not in script.text
    )


def _near(name: str, idle: set[str]) -> str | None:
    """The variable that is meant: one that begins with the name and goes on, or is spelled nearly so."""
    longer = sorted(
        each for each in idle if each.startswith(f"{name}_") or name.lower() == each.lower()
    )
    return longer[0] if len(longer) == 1 else nearest(name, idle, _NEAR)


def _is_set_elsewhere(files: LaunchFiles, name: str) -> bool:
    """Whether a script or page of the project sets a variable."""
    return any(_sets(each, name) for each in files.scripts)
