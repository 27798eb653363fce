"""What names stand for where nothing defines them, and types of well-known attributes and parameters.

Conventions are weak facts: they apply only where the analysis resolves nothing better.
"""

from __future__ import annotations

import re
from typing import Final

from distlint.knowledge.schema import Kind
from distlint.patterns import pattern

NAMED_RANKS: Final[dict[str, Kind]] = {
    # Parameters of worker functions: mp.spawn(worker, args=(world_size,)) passes the rank first.
    "rank": "rank",
    "global_rank": "rank",
    "world_rank": "rank",
    "local_rank": "local_rank",
    "world_size": "world_size",
    "is_main_process": "is_main",
    "is_master": "is_main",
    "is_rank_zero": "is_main",
    "is_rank_0": "is_main",
}
"""Kind by the name of a parameter or an undefined global."""

ANSWERS: Final[dict[str, Kind]] = {
    "get_rank": "rank",
    "Get_rank": "rank",
    "get_local_rank": "local_rank",
    "get_node_local_rank": "local_rank",
    "get_world_size": "world_size",
    "Get_size": "world_size",
}
"""Kind by the name of what a program calls without an argument, whatever group or launcher it asks."""

RANK_PROPERTIES: Final[dict[str, Kind]] = {
    "rank": "rank",
    "global_rank": "rank",
    "world_rank": "rank",
    "local_rank": "local_rank",
    "world_size": "world_size",
}
"""Kind by the name of a property of a class that reads it from the launcher or makes the process group."""

READS_RANKS: Final = pattern(
    r"""init_process_group|environ[\w.]*[\[(]\s*["']\w*(?:RANK|PROCID)["']|getenv\(\s*["']\w*RANK["']"""
)
"""What a class has that makes a process group, or reads this process's rank from the launcher's environment."""

TRAINING_ARGUMENTS: Final = frozenset({"training_args", "training_arguments"})
"""What the object of transformers' TrainingArguments is called."""
LISTED_SETTINGS: Final = frozenset({"report_to"})
"""What `__post_init__` of TrainingArguments makes a list of, whatever was given (read in transformers 4.29.2,
4.45.2 and 5.23.0 training_args.py)."""

PER_MACHINE: Final = pattern(
    r"(?i)(?:gpus?|procs?|process(?:es)?|devices?|workers|tasks|ranks|size|n)_?per_?(?:node|machine|host)|"
    r"local_(?:world_)?size|nproc|num_proc|(?:n|num|n_|num_)gpus?$|device_count|\bgpus$"
)
"""Names of how many processes a machine has: times the number of a machine, plus a local rank, it is a global rank."""

DECOMPOSITIONS: Final = pattern(r"(?i)svd|pca|eigh?$|low_?rank")
"""Last names of functions that decompose a matrix: beside them `rank` is that of the matrix."""

NAMED_TYPES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "accelerator": (
        "accelerate.Accelerator",
        ("accelerate", "transformers", "trl", "diffusers", "peft"),
    ),
    "fabric": ("lightning.fabric.Fabric", ("lightning",)),
}
"""Class by the name of a variable, parameter or attribute, where the file mentions one of the libraries."""

ATTRIBUTE_TYPES: Final[dict[str, str]] = {
    # transformers 5.23.0 transformers/trainer.py: Trainer.__init__ and create_accelerator_and_postprocess.
    "transformers.Trainer.accelerator": "accelerate.Accelerator",
    "transformers.Trainer.args": "transformers.TrainingArguments",
    "transformers.Trainer.state": "transformers.TrainerState",
    "transformers.Trainer.control": "transformers.TrainerControl",
    # accelerate 1.15.0 accelerate/accelerator.py: Accelerator.__init__.
    "accelerate.Accelerator.state": "accelerate.state.AcceleratorState",
    # pytorch-lightning 2.6.6 pytorch_lightning/core/module.py:220, core/datamodule.py:86, trainer/trainer.py:1219.
    "lightning.pytorch.LightningModule.trainer": "lightning.pytorch.Trainer",
    "lightning.pytorch.LightningDataModule.trainer": "lightning.pytorch.Trainer",
    "lightning.pytorch.Trainer.strategy": "lightning.pytorch.strategies.Strategy",
    "lightning.pytorch.Trainer.lightning_module": "lightning.pytorch.LightningModule",
}
"""Class of an attribute of a library's object."""

PARAMETER_TYPES: Final[dict[str, dict[str, str]]] = {
    # transformers 5.23.0 transformers/trainer_callback.py: CallbackHandler.call_event passes `model=` by
    # keyword to every event.
    "transformers.TrainerCallback": {
        "model": "transformers.PreTrainedModel",
        "**": "transformers.TrainerCallback.**",
    },
    # pytorch-lightning 2.6.6 pytorch_lightning/callbacks/callback.py: what every hook gets.
    "lightning.pytorch.Callback": {
        "trainer": "lightning.pytorch.Trainer",
        "pl_module": "lightning.pytorch.LightningModule",
    },
}
"""By class that users derive from: what its methods receive, by name; "**" for the collected keywords."""

CLASS_KEYS: Final = frozenset({"target", "_target_", "class_path"})
"""The keys that hydra, jsonargparse and `instantiate_from_config` read a class from."""
REGISTRY_KEYS: Final = frozenset({"class", "type", "class_name"})
"""The keys of a section under which registries look for a name."""
FROM_CONFIGURATION: Final = frozenset(
    {
        "hydra.utils.instantiate",
        "hydra.utils.call",
        "torchdrug.core.Configurable.load_config_dict",
    }
)
"""Functions that make what a section of a configuration names: `_target_` (hydra-core 1.3.2 hydra/utils.py), `class`
(torchdrug 0.2.1 torchdrug/core/core.py)."""

CONFIGURED: Final[dict[str, tuple[str, frozenset[str]]]] = {
    "trainer": ("lightning.pytorch.Trainer", frozenset({"lightning", "pytorch_lightning"})),
    "pl_trainer": ("lightning.pytorch.Trainer", frozenset({"lightning", "pytorch_lightning"})),
    "fabric": ("lightning.fabric.Fabric", frozenset({"lightning", "lightning_fabric"})),
}
"""Class of what a configuration's key stands for in a file that imports one of the libraries."""

ITEM_TYPES: Final[dict[str, str]] = {
    "transformers.TrainerCallback.**[model]": "transformers.PreTrainedModel",
    # torch 2.13.0 torch/distributed/device_mesh.py: `mesh["dp"]` is the mesh of one dimension.
    "torch.distributed.device_mesh.DeviceMesh[]": "torch.distributed.device_mesh.DeviceMesh",
}
"""Class of an item of a library's dict, by its key; `[]` is that of every named item."""

HANDLERS: Final = {"transformers.CallbackHandler": ("on_", "transformers.TrainerControl")}
"""Objects that run callbacks: how the names of their events begin, and the class of what each gives back: flags that
the callbacks set by the step count, the same on all ranks whatever is logged (transformers 5.23.0
transformers/trainer_callback.py: CallbackHandler.call_event)."""

GROUP_TYPES: Final[dict[str, str]] = {
    "init_device_mesh": "torch.distributed.device_mesh.DeviceMesh",
}
"""Class of what makes process groups, by the collective that makes it."""

TENSOR: Final = "torch.Tensor"
"""Class of what `full_tensor()` of a DTensor gives, which has no such method (torch 2.13.0
torch/distributed/tensor/_api.py:748)."""

CLASS_BASES: Final[dict[str, str]] = {
    # transformers 5.23.0 and trl 1.16.0: the classes that users derive trainers from.
    "transformers.Seq2SeqTrainer": "transformers.Trainer",
    "trl.trainer.base_trainer.BaseTrainer": "transformers.Trainer",
    "trl.trainer.base_trainer._BaseTrainer": "transformers.Trainer",
    "trl.SFTTrainer": "transformers.Trainer",
    "trl.DPOTrainer": "transformers.Trainer",
    "trl.GRPOTrainer": "transformers.Trainer",
    "trl.RLOOTrainer": "transformers.Trainer",
    "trl.RewardTrainer": "transformers.Trainer",
    "trl.KTOTrainer": "transformers.Trainer",
    "trl.PPOTrainer": "transformers.Trainer",
    "sentence_transformers.SentenceTransformerTrainer": "transformers.Trainer",
    "transformers.Seq2SeqTrainingArguments": "transformers.TrainingArguments",
    "trl.GRPOConfig": "transformers.TrainingArguments",
    "trl.SFTConfig": "transformers.TrainingArguments",
    "trl.DPOConfig": "transformers.TrainingArguments",
    # Every model that can generate mixes it in: what is handed on as a model is taken to be one.
    "transformers.PreTrainedModel": "transformers.GenerationMixin",
    # transformers 5.23.0 transformers/tokenization_python.py:1427, tokenization_utils_tokenizers.py:1580.
    "transformers.PreTrainedTokenizer": "transformers.PreTrainedTokenizerBase",
    "transformers.PreTrainedTokenizerFast": "transformers.PreTrainedTokenizerBase",
    "deepspeed.PipelineEngine": "deepspeed.DeepSpeedEngine",
    "lightning.fabric.wrappers._FabricModule": "lightning.LightningModule",
    # mmengine 0.10.7 mmengine/runner/loops.py:21 to 417.
    "mmengine.runner.EpochBasedTrainLoop": "mmengine.runner.BaseLoop",
    "mmengine.runner.IterBasedTrainLoop": "mmengine.runner.BaseLoop",
    "mmengine.runner.ValLoop": "mmengine.runner.BaseLoop",
    "mmengine.runner.TestLoop": "mmengine.runner.BaseLoop",
}
"""The library class that a library class derives from, as far as rows of the base apply to it."""

MODEL_METHODS: Final[dict[str, tuple[str, frozenset[str], tuple[str, ...]]]] = {
    # Neither nn.Module nor a Hugging Face model has it: what is called a model there is an engine
    # (llamafactory 0.7.1 train/ppo/trainer.py:480, transformers 5.23.0 trainer.py:3553).
    name: (
        "deepspeed.DeepSpeedEngine",
        frozenset(
            {"model", "model_wrapped", "wrapped_model", "model_engine", "deepspeed_engine", "deepspeed_model"}
        ),
        ("deepspeed", "zero_to_fp32"),
    )
    for name in ("save_checkpoint", "load_checkpoint")
}  # fmt: skip
"""The class whose method a call of that name on a *model* means: by the last name of the receiver, where
the file mentions one of the words."""

ALONE: Final[dict[str, tuple[str, tuple[object, ...]]]] = {
    # pytorch-lightning 2.6.6 accelerator_connector.py:419: one device of one node is no strategy for many.
    # Recipes test so on rank 0 after training (NeMo examples/asr/speech_classification/speech_to_label.py).
    "lightning.pytorch.Trainer": ("devices", (1, "1")),
    "lightning.fabric.Fabric": ("devices", (1, "1")),
}
"""Classes whose objects are one process's own where a keyword has one of these values, and nothing says
how many nodes there are."""

DEVICES: Final = frozenset({"devices", "gpus", "tpu_cores"})
"""Arguments of Lightning's Trainer that say how many ranks a node runs (pytorch-lightning 2.6.6
pytorch_lightning/trainer/trainer.py:93; `gpus` up to 1.9)."""

STARTS_RANKS: Final = DEVICES | {"strategy", "accelerator", "num_nodes", "distributed_backend"}
"""Arguments of Lightning's Trainer by which a script shows that it is made for several ranks."""

STARTS_SCRIPTS: Final = pattern(
    r"(?:ddp|fsdp|deepspeed)(?!\w*(?:spawn|fork|notebook))|(?:DDP|FSDP|DeepSpeed)(?!Spawn)"
)
"""How names of Lightning's strategies begin that start the script again in each process (pytorch-lightning 2.6.6
pytorch_lightning/strategies/__init__.py)."""

PARTS: Final[dict[str, str]] = {
    # numpy 2.4.6 numpy/lib/_shape_base_impl.py: the first parts may have one element more.
    "array_split": "parts",
    # monai 1.5.1 monai/data/utils.py: `partition_dataset`, the first parts of which may have one element more.
    "partition_dataset": "parts",
    # python 3.11 itertools: every n-th element.
    "islice": "local-length",
    # datasets 5.2.0 datasets/arrow_dataset.py: the first shards may have one row more.
    "shard": "local-length",
}
"""Functions and methods that cut something into parts which may differ by an element, where the number of ranks
(and this rank's number) is among their arguments: the tag of the part, or of the list of parts."""

FILLED_UP: Final = "even_divisible"
"""The argument by which all parts get as many elements: their tag is then that of such (monai 1.5.1 monai/data/utils.py)."""

EVEN_PARTS: Final = "even-parts"

SAME_LENGTH: Final = frozenset({"copy", "reset_index", "to_dict", "to_list", "tolist"})
"""Methods of a list or table that give as many elements as it has."""

LOADER: Final = "torch.utils.data.DataLoader"
SHUFFLED: Final[dict[str, tuple[int, str]]] = {LOADER: (2, "shuffle")}
"""Classes of loaders and the argument, by position and keyword, by which they draw the order of each epoch."""

PREPARED_LOADERS: Final[dict[str, str]] = {
    # accelerate 1.15.0 accelerate/data_loader.py:1249: the sampler of a shuffled loader has a generator, whose state
    # rank 0 broadcasts at the start of each epoch; other loaders have none (line 1271).
    "accelerate.Accelerator.prepare": "accelerate.data_loader.DataLoaderShard",
    "accelerate.Accelerator.prepare_data_loader": "accelerate.data_loader.DataLoaderShard",
}
"""What prepares loaders, and the class of what it makes of a shuffled one."""

SEEDABLE_SAMPLER: Final = "use_seedable_sampler"
"""Setting of accelerate with which the order of a loader comes from a seed: nothing is broadcast."""

BACKWARD: Final = frozenset({"backward", "manual_backward", "loss_scaler"})
"""Names of what computes gradients when it is called; `loss_scaler(loss, optimizer)` is timm's (timm 1.0.31
timm/utils/cuda.py:20)."""

LOSSES: Final = pattern(r"loss|criterion|objective|^scale$", re.IGNORECASE)
"""Names of functions that make a loss of what a model gives; `scaler.scale(loss)` is a loss still."""

REDUCING: Final = pattern(r"reduc|gather|averag|sync|across|mean|log|print", re.IGNORECASE)
"""Names of functions that may give all ranks one value of a loss, or do something else with it."""

UNIFORM_ATTRIBUTES: Final = frozenset(
    {"dtype", "device", "ndim", "requires_grad", "__class__", "is_cuda", "is_leaf"}
)
"""Attributes that are the same on all ranks even of a rank's own tensor."""

UNIFORM_METHODS: Final = frozenset({"dim", "ndimension", "element_size", "is_floating_point"})
"""Methods whose answer is the same on all ranks even for a rank's own tensor: code fixes it, no batch does."""

SIZES: Final = ("shape", "size")
"""The attribute and the method that give a tensor's sizes: what they are is each rank's own, how many they are not."""

MASK_METHODS: Final = frozenset(
    {
        "bool",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "isnan",
        "isinf",
        "isfinite",
        "logical_and",
        "logical_or",
        "logical_not",
    }
)
"""Methods and functions of tensors that give a boolean mask."""

SAME_MODEL_METHODS: Final = frozenset(
    {"to", "cuda", "cpu", "eval", "train", "half", "float", "bfloat16", "requires_grad_", "apply"}
)
"""Methods of `nn.Module` that return the module (torch 2.13.0 torch/nn/modules/module.py)."""

PROGRESS_BARS: Final = frozenset(
    {
        "tqdm.tqdm",
        "tqdm.auto.tqdm",
        "tqdm.autonotebook.tqdm",
        "tqdm.notebook.tqdm",
        "tqdm.std.tqdm",
        "tqdm.rich.tqdm",
        "rich.progress.track",
        "accelerate.utils.tqdm",
    }
)
"""Calls that give the elements of their first argument and draw a bar (tqdm 4.67, rich 14): with a bar on
rank 0 only, all ranks go through the same."""

DRAWN_BY_RANK: Final = "drawn-by-rank"
"""What a bar is that some ranks have disabled: its `update()` counts nothing there (tqdm 4.67 tqdm/std.py:1229)."""

_GIVING_METHODS: Final = frozenset(
    {
        "absolute",
        "as_posix",
        "bfloat16",
        "bool",
        "clone",
        "contiguous",
        "copy",
        "cpu",
        "cuda",
        "decode",
        "detach",
        "double",
        "encode",
        "endswith",
        "flatten",
        "float",
        "format",
        "from_config",
        "from_pretrained",
        "half",
        "hexdigest",
        "int",
        "isoformat",
        "item",
        "items",
        "keys",
        "long",
        "lower",
        "lstrip",
        "mean",
        "model_dump",
        "modules",
        "named_modules",
        "named_parameters",
        "numpy",
        "parameters",
        "parse_args",
        "parse_known_args",
        "permute",
        "readlines",
        "replace",
        "reshape",
        "rsplit",
        "rstrip",
        "size",
        "split",
        "splitlines",
        "squeeze",
        "startswith",
        "state_dict",
        "strftime",
        "strip",
        "sum",
        "to",
        "to_dict",
        "tolist",
        "transpose",
        "unsqueeze",
        "upper",
        "values",
        "view",
    }
)
"""Methods that never give None, of tensors, modules, dicts, texts and paths: python 3.12, torch 2.13.0."""
_GIVING_FUNCTIONS: Final = frozenset(
    {
        "torch.arange",
        "torch.cat",
        "torch.device",
        "torch.distributed.checkpoint.state_dict.get_model_state_dict",
        "torch.distributed.checkpoint.state_dict.get_optimizer_state_dict",
        "torch.distributed.checkpoint.state_dict.get_state_dict",
        "torch.empty",
        "torch.from_numpy",
        "torch.full",
        "torch.ones",
        "torch.rand",
        "torch.randn",
        "torch.stack",
        "torch.tensor",
        "torch.zeros",
        "glob.glob",
        "os.getcwd",
        "os.listdir",
        "time.time",
    }
)
_GIVING_MODULES: Final = ("os.path.", "numpy.", "collections.", "pathlib.", "datetime.")


def gives_something(name: str) -> bool:
    """Whether a library's function, or a method known by its name alone, never gives None."""
    if name.startswith("."):
        return name[1:] in _GIVING_METHODS
    return (
        name in _GIVING_FUNCTIONS
        or name.startswith(_GIVING_MODULES)
        or name.rpartition(".")[2] in ("from_pretrained", "state_dict")
    )


IMAGE = "PIL.Image.Image"
"""The class of Pillow's images, which functions make: its own constructor is not for users."""
MADE_BY = {
    "PIL.Image.fromarray": IMAGE,
    "PIL.Image.frombytes": IMAGE,
    "PIL.Image.new": IMAGE,
    "PIL.Image.open": IMAGE,
    "torchvision.transforms.functional.to_pil_image": IMAGE,
    "torchvision.transforms.v2.functional.to_pil_image": IMAGE,
    "iopath.common.file_io.PathManagerFactory.get": "iopath.common.file_io.PathManager",
    "mmcv.Config.fromfile": "mmcv.Config",
    "mmcv.utils.Config.fromfile": "mmcv.Config",
    "mmengine.Config.fromfile": "mmengine.config.Config",
    "mmengine.config.Config.fromfile": "mmengine.config.Config",
}
"""Class of what a function gives that makes an object."""
IMAGE_METHODS = frozenset({"convert", "copy", "crop", "resize", "rotate", "transpose"})
"""Methods of an image that give another one."""

SURE: Final[dict[str, bool]] = {"six.PY3": True, "six.PY2": False}
"""What libraries say of the Python that runs, which is one that torch runs on (six 1.17.0 six.py)."""
