"""What the assumed run answers where code leaves it open: it has several ranks and is under way."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

WORLD_SIZES: Final = ("world_size",)
"""How attributes end that hold the number of ranks: it is not 1.

Source: fairseq 0.12.2 fairseq/trainer.py:854, `if ...distributed_world_size == 1: return None`.
"""


def answer(condition: Hashable) -> bool | None:
    """What a condition, by its symbol, turns out to be in such a run; None where it may be either."""
    match condition:
        case ("compare", "Eq" | "Gt" as how, ("attr", _, str() as name), ("constant", _, 1)):
            if name.endswith(WORLD_SIZES):
                return how == "Gt"
        case ("hasattr", ("function", _), _):
            # What a function keeps since its first call, which ranks make as the program starts
            # (fairseq 0.12.2 fairseq/distributed/utils.py:423, a process group).
            return True
    return None


_SHARDS: Final = frozenset({"fsdp", "use_fsdp", "enable_fsdp", "fsdp_enabled", "is_fsdp"})
"""Attributes that say whether the model is sharded.

Source: open_clip src/open_clip_train/main.py, `if args.fsdp: task.prepare_fsdp(...)`, `task._fsdp_enabled`.
"""


def asks_for_sharding(condition: Hashable) -> bool:
    """Whether a condition is a flag that is set where the model is sharded."""
    match condition:
        case ("attr", _, str() as name):
            return name.lstrip("_") in _SHARDS
    return False
