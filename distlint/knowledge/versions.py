"""The first version of a package that has what a fix may write."""

from __future__ import annotations

from typing import Final, NamedTuple


class Since(NamedTuple):
    """A name in new code, the package that it is of, and the first version that has it."""

    name: str
    package: str
    version: tuple[int, ...]


SINCE: Final = (
    # accelerate src/accelerate/accelerator.py, the first release with each method.
    Since("gather_for_metrics", "accelerate", (0, 12)),
    Since("sync_gradients", "accelerate", (0, 11)),
    Since("main_process_first", "accelerate", (0, 4)),
    Since("local_main_process_first", "accelerate", (0, 4)),
    # torch 1.11.0 torch/utils/checkpoint.py.
    Since("use_reentrant", "torch", (1, 11)),
)

TRAINER_WITH_ACCELERATOR: Final = "transformers", (4, 30)
"""transformers 4.30.0 trainer.py: the first `Trainer` that has an Accelerator."""
