"""Saves of gathered weights that the other ranks make, too, of what ZeRO-3 has left them: nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import last_name
from distlint.analysis.program.syntax import assignments
from distlint.knowledge.versions import SAVES_BY_FUNCTION
from distlint.launch.engines import Engine

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.model import Model
    from distlint.launch.engines import Start

_GATHERS: Final = "get_state_dict"
"""accelerate 1.15.0 accelerator.py: under ZeRO-3 it gives the weights on rank 0, and None on the others."""
_GUARDS_ALL: Final = "peft"
"""peft 0.21.2 peft_model.py:298: its `save_pretrained` asks `is_main_process` for the weights as well."""


def emptied(model: Model) -> Iterator[tuple[CallSite, Start]]:
    """Calls of `save_pretrained(…, is_main_process=…, state_dict=…)` by all ranks of a launch in ZeRO-3.

    transformers 5.23.0 modeling_utils.py: `is_main_process` asks for the configuration alone. Where the state is None, each
    rank writes that of the model, whose parameters are divided, to the one model.safetensors. EasyContext 6b0d310 train.py:180.
    """
    for call in model.calls(".save_pretrained"):
        site = call.site
        if (
            call.by_all
            and len(call.classes) > 1
            and "is_main_process" in site.keywords
            and _is_gathered(site)
            and _writes_safetensors(site)
            and _GUARDS_ALL not in site.module.source.text
            and not model.is_before(*SAVES_BY_FUNCTION, site.module)
            and (start := model.start_in({Engine.ZERO3}, site.module)) is not None
        ):
            yield site, start


def _is_gathered(site: CallSite) -> bool:
    """Whether what is saved is what `get_state_dict` gave, here or in a variable of the function."""
    given = site.argument_node(None, "state_dict")
    if given is None:
        return False
    values = [given, *assignments(site.function).get(ast.unparse(given), ())]
    return any(isinstance(v, ast.Call) and last_name(v.func) == _GATHERS for v in values)


def _writes_safetensors(site: CallSite) -> bool:
    """Whether no argument turns off the file that no function of the caller's writes."""
    safe = site.keywords.get("safe_serialization")
    return safe is None or safe.truthiness() is True
