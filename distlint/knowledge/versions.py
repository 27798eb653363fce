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

SAVES_BY_FUNCTION: Final = "transformers", (4, 35)
"""transformers 4.16.1 modeling_utils.py:1062: `save_function(state_dict, output_model_file)` writes the weights. From 4.35.0 on
`save_pretrained` writes safetensors by default (mosaicml/composer pull request 2684), by no function of the caller's;
5.23.0 has the argument no more."""
WRITES_ON_MAIN: Final = frozenset({"torch_xla.core.xla_model.save"})
"""Functions to hand to it that write on one rank alone; so does the method `save` of an Accelerator (sinks)."""
