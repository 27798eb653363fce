"""Where a rank's share of the data begins, and which calls make the whole of the shares."""

# No `from __future__ import annotations` here: see `knowledge.schema`.
import re
from typing import Final, Literal, NamedTuple

from distlint.patterns import pattern

Outcome = Literal["whole", "padded", "sum", "unknown"]


class Ending(NamedTuple):
    """A call after which a value is no longer this rank's share.

    `outcome` is what it gives: "whole" (all shares, or their mean), "padded" (all shares with the
    repetitions that fill the last batch), "sum" (over the ranks), "unknown".
    """

    name: str
    outcome: Outcome
    source: str
    given: int = 0
    """Position of the share."""
    fills: int | None = None
    """Position of the argument that holds the outcome afterwards; None where it is returned."""
    operation: str = ""
    """Keyword of the operation; where it is a mean, maximum or minimum the outcome is whole."""
    operation_at: int | None = None
    parameters: tuple[str, ...] = ()
    """Names of the positions that are spoken of."""


ENDINGS: Final[dict[str, Ending]] = {
    row.name: row
    for row in (
        Ending(
            "accelerate.Accelerator.gather", "padded", "accelerate 1.15.0 accelerate/accelerator.py"
        ),
        Ending(
            "accelerate.Accelerator.gather_for_metrics",
            "whole",
            "accelerate 1.15.0 accelerate/accelerator.py",
        ),
        Ending(
            "accelerate.Accelerator.reduce",
            "sum",
            "accelerate 1.15.0 accelerate/accelerator.py",
            operation="reduction",
            operation_at=1,
        ),
        Ending(
            "accelerate.utils.gather", "padded", "accelerate 1.15.0 accelerate/utils/operations.py"
        ),
        Ending(
            "accelerate.utils.gather_object",
            "whole",
            "accelerate 1.15.0 accelerate/utils/operations.py",
        ),
        Ending(
            "accelerate.utils.reduce",
            "sum",
            "accelerate 1.15.0 accelerate/utils/operations.py",
            operation="reduction",
            operation_at=1,
        ),
        Ending(
            "torch.distributed.all_reduce",
            "sum",
            "torch 2.13.0 torch/distributed/distributed_c10d.py",
            fills=0,
            operation="op",
            operation_at=1,
            parameters=("tensor",),
        ),
        Ending(
            "torch.distributed.reduce",
            "sum",
            "torch 2.13.0 torch/distributed/distributed_c10d.py",
            fills=0,
            operation="op",
            operation_at=2,
            parameters=("tensor",),
        ),
        *(
            Ending(
                f"torch.distributed.{name}",
                "whole",
                "torch 2.13.0 torch/distributed/distributed_c10d.py",
                given=1,
                fills=0,
                parameters=parameters,
            )
            for name, parameters in (
                ("all_gather", ("tensor_list", "tensor")),
                ("all_gather_into_tensor", ("output_tensor", "input_tensor")),
                ("all_gather_object", ("object_list", "obj")),
            )
        ),
        *(
            Ending(
                f"torch.distributed.{name}",
                "whole",
                "torch 2.13.0 torch/distributed/distributed_c10d.py",
                fills=1,
                parameters=parameters,
            )
            for name, parameters in (
                ("gather", ("tensor", "gather_list")),
                ("gather_object", ("obj", "object_gather_list")),
            )
        ),
        Ending(
            "torch.distributed.broadcast",
            "unknown",
            "torch 2.13.0 torch/distributed/distributed_c10d.py",
            fills=0,
            parameters=("tensor",),
        ),
    )
}
"""By canonical name. Other collectives leave a value of which nothing is known."""

MEANS: Final = ("mean", "avg", "max", "min", "product", "band", "bor")
"""Words of the operations that do not add up."""

SYNCHRONISES: Final = pattern(
    r"gather|reduce|sync|broadcast|across|(^|_)all_|(^|_)dist_|collect|merge|aggregat|world|consensus",
    re.IGNORECASE,
)
"""Words in the name of a function of unknown code that may put the shares together."""

LOCAL_LIBRARIES: Final = (
    "torch.", "numpy.", "sklearn.", "scipy.", "math.", "statistics.", "builtins.", "collections.", "pandas.",
    "itertools.", "json.", "torchvision.", "timm.", "copy.", "nltk.", "sacrebleu.", "evaluate.", "einops.",
)  # fmt: skip
"""Libraries whose functions know of one process: what they make of a share is a share."""

DISTRIBUTED_LIBRARIES: Final = (
    "accelerate.", "deepspeed.", "lightning", "pytorch_lightning", "torch.distributed", "megatron", "mmengine.",
    "horovod", "ray.", "composer.", "fairseq.", "ignite.", "transformers.Trainer",
)  # fmt: skip
"""Libraries whose functions may put shares together whatever they are called."""

ASKS: Final = frozenset(
    {
        "compute",
        "evaluate",
        "summarize",
        "result",
        "results",
        "eval_batch",
        "train_batch",
        "get_metric",
        "finish",
    }
)
"""Methods of unknown objects that give what these have kept, put together or not."""

WHOLE_METRICS: Final = ("torchmetrics.",)
"""Libraries of metrics whose `compute()` puts the shares together (torchmetrics 1.9 metric.py:
`_wrap_compute`)."""

METER_CLASSES: Final = pattern(
    r"Meter|Metric|Recorder|Average|Smoothed|Statistic|Stats|Evaluator|Accumulator|Calculator|Counter"
    r"|Confusion|Scor(?:ers?|es)(?!\w)|[rR]unning_?[sS]core|(?:I[oO]U|Accuracy)(?!\w*Loss)"
)
"""Names of classes whose objects are what they were given: what is read from them is of the same ranks."""

EMPTIED: Final = ("evaluate.load", "datasets.load_metric")
"""What makes a metric that `compute()` leaves empty (evaluate 0.4.6 module.py: `compute` ends with `self.data = None`)."""

METERS: Final = ("timm.utils.AverageMeter", *EMPTIED)
"""Objects of libraries that keep what one process gives them."""

METER: Final = "AverageMeter"
"""What the class is called in every project that has one: of a file that is not there, it keeps what it is given."""

PARAMETERS: Final = ("torch.nn.Parameter", "torch.nn.parameter.Parameter")
"""Calls that make what has a gradient of its own (torch 2.13.0 torch/nn/parameter.py)."""

PLAIN: Final = frozenset(
    {
        "list", "dict", "set", "tuple", "defaultdict", "Counter", "deque", "OrderedDict", "array", "DataFrame",
        "tensor", "full",
    }
)  # fmt: skip
"""Last names of calls that make a container or a number that keeps what is put into it."""

EMPTY: Final = frozenset(
    {
        "zeros", "ones", "empty", "zeros_like", "ones_like", "empty_like", "new_zeros", "new_ones", "new_empty",
    }
)  # fmt: skip
"""Last names of calls that make a tensor or array in the shape of what they are given, with nothing of it in it."""

KEEPS: Final = frozenset(
    {
        "append", "extend", "add", "insert", "update", "add_", "add_batch", "setdefault", "appendleft", "copy_",
        "push",
    }
)  # fmt: skip
"""Methods that put their arguments into the receiver."""

APPENDS: Final = frozenset({"append", "extend", "insert", "appendleft"})
"""Methods that a list has, whoever holds it."""

SAME_DATA: Final = frozenset(
    {
        "select", "map", "filter", "shuffle", "with_format", "with_transform", "remove_columns", "select_columns",
        "rename_column", "rename_columns", "cast", "cast_column", "add_column", "sort", "take", "skip", "repeat",
        "to_iterable_dataset",
    }
)  # fmt: skip
"""Methods of data sets that give a data set back, with the same rows or some of them (datasets 4.0.0, guide "Process":
each returns a new `Dataset`)."""

NOT_DATA: Final = frozenset(
    {
        "shape",
        "dtype",
        "device",
        "ndim",
        "size",
        "dim",
        "requires_grad",
        "is_cuda",
        "type",
        "ndimension",
        "num_workers",
        "batch_size",
    }
)
"""Attributes and methods of a tensor that say nothing of what is in it."""

RUNNERS: Final = frozenset(
    {"tqdm", "iter", "track", "trange", "list", "tuple", "sorted", "reversed", "prefetch"}
)
"""Last names of calls that give the elements of their first argument."""

OF_THE_WHOLE_SET: Final = frozenset({"dataset", "batch_size", "num_workers", "collate_fn"})
"""Attributes of a loader that are the same on all ranks, whatever its sampler leaves to each: torch 2.13.0
torch/utils/data/dataloader.py, `DataLoader.__init__`."""

WORLD_NAMES: Final = frozenset(
    {
        "world_size",
        "num_processes",
        "num_replicas",
        "n_gpus",
        "n_gpu",
        "ngpus",
        "num_gpus",
        "get_world_size",
    }
)
"""Last names of expressions that give the number of ranks."""

RANK_NAMES: Final = frozenset(
    {
        "rank",
        "get_rank",
        "Get_rank",
        "process_index",
        "process_rank",
        "global_rank",
        "local_rank",
        "dp_rank",
        "world_rank",
    }
)
"""Last names of expressions that give a rank."""

SPLITS: Final = frozenset(
    {
        "accelerate.Accelerator.split_between_processes",
        "accelerate.PartialState.split_between_processes",
        "datasets.distributed.split_dataset_by_node",
    }
)
"""Calls that give each rank its part of the first argument."""

SAME: Final = frozenset(
    {
        "accelerate.Accelerator.skip_first_batches",
        "accelerate.skip_first_batches",
        "accelerate.Accelerator.pad_across_processes",
        "accelerate.utils.pad_across_processes",
    }
)
"""Calls that give their first argument back, whosever it is."""

SAME_EACH: Final = frozenset({"lightning.fabric.Fabric.setup_dataloaders"})
"""Calls that give all their arguments back; loaders of iterable data are not divided (pytorch-lightning 2.6.6
lightning_fabric/fabric.py:449)."""

DISTRIBUTED: Final = frozenset(
    {
        "is_initialized", "is_available", "is_dist_avail_and_initialized", "is_distributed", "use_distributed",
        "is_dist_initialized", "is_dist_available_and_initialized", "distributed", "ddp", "use_ddp", "multi_gpu",
        "is_ddp", "multigpu", "is_parallel", "use_dist", "is_multi_gpu",
    }
)  # fmt: skip
"""Last names of conditions that hold where several ranks run."""
