"""What training code imports so that it does the same on one process and on many.

Nothing to configure; works uninitialised, on CPUs and on GPUs. Importing it imports no torch.
The package imports nothing else of distlint and can be copied (`distlint vendor`).
"""

from __future__ import annotations

from .agreement import all_ranks, any_rank
from .attention import attn_implementation
from .debugging import breakpoint
from .devices import same_device, to_device_of
from .environment import clean_distributed_env, temporary_env
from .errors import DesyncError, MainProcessError, RankError, RankTimeoutError
from .identity import RankInfo, rank_info
from .output import print_on_main
from .randomness import decorrelate, generator, rank_rng, seed_everything
from .saving import save
from .sections import barrier, main_process_first, on_main_process, run_on_main
from .state import full_state_dict
from .temporary import temporary_attr, temporary_config
from .wrapping import unwrap

wait_for_everyone = barrier

__all__ = [
    "DesyncError",
    "MainProcessError",
    "RankError",
    "RankInfo",
    "RankTimeoutError",
    "all_ranks",
    "any_rank",
    "attn_implementation",
    "barrier",
    "breakpoint",
    "clean_distributed_env",
    "decorrelate",
    "full_state_dict",
    "generator",
    "main_process_first",
    "on_main_process",
    "print_on_main",
    "rank_info",
    "rank_rng",
    "run_on_main",
    "same_device",
    "save",
    "seed_everything",
    "temporary_attr",
    "temporary_config",
    "temporary_env",
    "to_device_of",
    "unwrap",
    "wait_for_everyone",
]
