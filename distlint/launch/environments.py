"""Which environment of conda the commands of a script run in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise
from typing import Final

from distlint.launch.shell import Command
from distlint.patterns import pattern

_TOOLS: Final = frozenset({"conda", "mamba", "micromamba"})
_SOURCE: Final = frozenset({"source", "."})
_OF_TORCH: Final = pattern(
    r"(?:^|[^a-z])(?:pt|torch|pytorch)[-_]?v?(\d\.\d+(?:\.\d+)?)", re.IGNORECASE
)


_OF_PYTHON: Final = pattern(r"(?:^|[^A-Za-z])p(?:y(?:thon)?)?[-_]?3\.?[5-7](?!\d)")


def has_old_python(environment: str) -> bool:
    """Whether an environment is called after a Python for which there is no torch 2: compression_imagenet_code 2587b41
    run_cifar.sh:18, `source activate pytorch_latest_p37`."""
    return _OF_PYTHON.search(environment) is not None


def torch_of(environment: str) -> tuple[int, ...]:
    """The torch that the name of an environment tells of; empty for one that tells of none.

    Parametric-Contrastive-Learning fe56535 GPaCo/MAE-ViTs/sh/finetune_base_mae.sh:13: `source activate py3.8_pt1.8.1`.
    """
    found = _OF_TORCH.search(environment)
    return tuple(map(int, found[1].split("."))) if found else ()


def activated(commands: Sequence[Command], known: Set[str]) -> Iterator[str]:
    """The environment in which each command runs, in their order; empty where nothing says.

    groundingLMM e74865f GranD/run_pipeline.sh:23: `run_in_env grand_env_3 pushd 3_image_tagging`, a function with
    `conda activate "$env"` in it, and the launches below.

    Args:
        commands: those of one script.
        known: the names that environments are known to have: what a function that activates one is given.
    """
    asked = {each.function: names for each in commands if (names := list(_asks(each)))}
    active = ""
    for command in commands:
        texts = [word.text for word in command.words]
        if command.function:  # what it is called with decides
            yield ""
            continue
        names = list(_asks(command))
        if names:
            active = names[-1] or ""
        elif texts and texts[0] in asked and texts[0]:
            given = [text for text in texts[1:] if text in known]
            fixed = asked[texts[0]][-1]
            active = fixed or (given[0] or "" if given else "")
        yield _of_run(texts) or active


def _asks(command: Command) -> Iterator[str | None]:
    """The environment that a command activates: None for one that is not known, empty for none."""
    match [word.text for word in command.words]:
        case [str(tool), "activate", name, *_] if tool.rpartition("/")[2] in _TOOLS:
            yield name
        case [str(tool), str(script), name, *_] if (
            tool in _SOURCE and script.rpartition("/")[2] == "activate"
        ):
            yield name
        case [str(tool), "deactivate", *_] if tool.rpartition("/")[2] in _TOOLS:
            yield ""


def _of_run(texts: Sequence[str | None]) -> str:
    """The environment of `conda run -n NAME command`."""
    match texts:
        case [str(tool), "run", *rest] if tool.rpartition("/")[2] in _TOOLS:
            for option, value in pairwise(rest):
                if option in ("-n", "--name"):
                    return value or ""
    return ""
