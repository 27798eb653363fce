"""The tables as the analysis asks them: by name, by method, by kind.

An index only: every fact is a row of one of the other modules of this room, or of the settings.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache, lru_cache
from typing import Final, NamedTuple

from distlint.knowledge import (
    bases,
    collectives,
    conventions,
    failures,
    hooks,
    randomness,
    ranks,
    sinks,
    wrappers,
)
from distlint.knowledge.schema import CallRow, Effect
from distlint.records import dataclass

_GROUP_WORDS: Final = ("group", "comm", "communicator", "pg", "mesh")

_COLLECTIVE_EFFECTS: Final = (
    Effect.COLLECTIVE,
    Effect.SHARDED_COLLECTIVE,
    Effect.WRAPPED_COLLECTIVE,
)


def _grouped(*tables: dict[str, CallRow]) -> dict[str, tuple[CallRow, ...]]:
    rows: dict[str, tuple[CallRow, ...]] = {}
    for table in tables:
        for name, row in table.items():
            rows[name] = (*rows.get(name, ()), row)
    return rows


_CALLS: Final = _grouped(collectives.CALLS, sinks.SINKS)
_METHODS: Final = _grouped(collectives.METHODS, sinks.SINK_METHODS)

WRAPPER_TYPES: Final[dict[str, str]] = {
    kind: row.classes[0] for kind, row in wrappers.WRAPPERS.items() if row.classes
}
"""Class by wrapper kind."""

WRAPPER_CLASS_NAMES: Final = frozenset(
    name.rpartition(".")[2] for row in wrappers.WRAPPERS.values() for name in row.classes
) | {"DDP", "FSDP", "DistributedDataParallel", "FullyShardedDataParallel", "DataParallel"}

_BUILTINS: Final = frozenset(dir(builtins))
_OPTIMIZER_NAMES: Final = frozenset({"opt", "opts"})
"""Parts of the names of optimizers: `g_opt` (gigagan-pytorch 0806433 gigagan_pytorch.py:1987); `option` is another word."""
_DATA_WORDS: Final = (
    "collat",
    "loader",
    "optim",
    "sched",
    "dataset",
    "sampler",
    # llama-cookbook faae2fd getting-started/inference/local_inference/multi_modal_infer.py:61: `prepare(model, processor)`.
    "processor",
    "scaler",
    "tokenizer",
    "data",
    "iterator",
)
_DATA_TYPES: Final = ("DataLoader", "Optimizer", "Scheduler", "LRScheduler", "Dataset")
_TRAINING_CLASSES: Final = frozenset(
    {
        "transformers.Trainer",
        "transformers.TrainerCallback",
        "lightning.pytorch.LightningModule",
        "lightning.pytorch.Callback",
        "mmengine.hooks.Hook",
        "mmengine.runner.BaseLoop",
        "mmengine.evaluator.BaseMetric",
        "mmcv.runner.Hook",
    }
)

_SAME_EVERYWHERE: Final = (
    "initialized",
    "not_rank",
    "group_size",
    "world_size",
    "local_world_size",
)

RANK_WORDS: Final = frozenset(
    name.rpartition(".")[2]
    for table in (
        ranks.ATTRIBUTES, ranks.ANY_ATTRIBUTES, ranks.FUNCTIONS, ranks.ANY_METHODS, ranks.ENVIRONMENT,
        ranks.DECORATORS, ranks.ANY_DECORATORS, ranks.ARGUMENT_ATTRIBUTES, conventions.NAMED_RANKS,
    )
    for name, kind in table.items()
    if kind not in _SAME_EVERYWHERE
).union(name.rpartition(".")[2] for name in ranks.TUPLES) - {"rank", "gpu"}  # fmt: skip
"""Words that ask for the rank. Not `rank` alone: in half of the packages it is that of a matrix."""

_STRONG: Final = (
    RANK_WORDS
    | {name.rpartition(".")[2] for name, rows in _CALLS.items() if any(r.effect in _COLLECTIVE_EFFECTS for r in rows)}
    | {name for name, rows in _METHODS.items() if any(r.effect in _COLLECTIVE_EFFECTS for r in rows)}
    | {name.rpartition(".")[2] for name in (*wrappers.WRAPS, *wrappers.UNWRAPS, *wrappers.MODEL_ATTRIBUTES, *wrappers.MODEL_PARAMETERS)}
    | wrappers.ANY_UNWRAPS
    | WRAPPER_CLASS_NAMES
    | {name.rpartition(".")[2] for name in hooks.STARTED_BY}
    | {"async_op", "isend", "irecv"}
) - {
    # Words that mean something else nearly everywhere; a function that really does the thing has another.
    "step", "save", "load", "forward", "backward", "reduce", "setup", "compile", "generate", "state_dict",
    "join", "wrap", "gather", "broadcast", "scatter", "initialize", "train", "fit", "evaluate", "predict",
    "log", "test", "load_state_dict", "to", "unwrap", "send", "recv", "replicate", "from_pretrained", "split",
    "validate", "__call__", "__iter__", "compute", "device", "eval", "model", "sync", "launch", "call", "run", "all_to_all", "save_checkpoint", "load_checkpoint", "save_model", "rank_zero", "prepare", "from_local",
    "save_pretrained", "push_to_hub",
} | {
    # Objects whose `prepare`, `setup`, `initialize` and `fit` wrap a model, words too common by themselves.
    "Accelerator", "accelerator", "Fabric", "fabric", "deepspeed", "Trainer(", "from_argparse_args", "seed_everything",
    "zero_optimization", *ranks.ZERO_STAGES,
    "instantiate(",
}  # fmt: skip


GROUP_STARTS: Final = frozenset(
    name
    for name, rows in _CALLS.items()
    if any(row.op == "init_process_group" and row.effect is Effect.COLLECTIVE for row in rows)
)
"""Calls that make the process group: where there are ranks, all of them make it."""
GROUP_START_WORDS: Final = frozenset(
    word for name in GROUP_STARTS if "_" in (word := name.rpartition(".")[2])
)
"""The last names of those that mean nothing else: not `launch`, `init`."""


def _common_collectives() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for name, rows in _CALLS.items():
        owner, _, word = name.rpartition(".")
        if (
            word not in _STRONG
            and owner.rpartition(".")[2].islower()
            and any(r.effect is Effect.COLLECTIVE for r in rows)
        ):
            found.setdefault(owner, set()).add(word)
    return {owner: frozenset(words) for owner, words in found.items()}


COMMON_COLLECTIVES: Final = _common_collectives()
"""Collectives whose last word means something else nearly everywhere (`broadcast`, `scatter`), by module."""

WEAK_WORDS: Final = frozenset(
    name.rpartition(".")[2]
    for table in (
        sinks.SINKS, sinks.SINK_METHODS, failures.LOCAL_CALLS, failures.LOCAL_METHODS, failures.FAILURES,
        failures.METHOD_FAILURES, randomness.SEEDINGS, randomness.DRAWS,
    )
    for name in table
) | {"open", "FileHandler", "input", "environ", "getenv", "yield", "global", "is_initialized", "get_world_size"}  # fmt: skip
"""Words of what matters inside code that several ranks run: files, random numbers, local values, the group."""

WRITING_WORDS: Final = frozenset(
    name.rpartition(".")[2]
    for table in (sinks.SINKS, sinks.SINK_METHODS)
    for name, row in table.items()
    if row.effect in (Effect.WRITE, Effect.DOWNLOAD)
) - {
    "copy",
    "dump",
    "export",
    "link",
    "list",
    "load",
    "move",
    "rename",
    "replace",
    "save",
    "touch",
    "write",
    "writer",
}
"""Words of writes and downloads, but for those that say little by themselves."""


class WrapFact(NamedTuple):
    """How a call wraps: layers, which argument, where in the result."""

    kinds: tuple[str, ...]
    each_argument: bool
    model_position: int | None
    model_keywords: tuple[str, ...]
    result_index: int | None
    result_length: int
    unless: str
    trainable: bool


_RESULT_LENGTH: Final = 8


@cache
def wrapper(name: str) -> WrapFact | None:
    """How a call by this canonical name (or ".method") wraps a model; None where it does not."""
    row = wrappers.WRAPS.get(name)
    if row is None:
        return None
    each = row.model == "each"
    return WrapFact(
        (row.kind,),
        each,
        row.model if isinstance(row.model, int) else None,
        (row.keyword, "model", "module") if row.keyword else (),
        row.element if row.result == "tuple" else None,
        _RESULT_LENGTH,
        row.unless,
        row.trainable,
    )


@lru_cache(maxsize=4096)
def is_unwrap(name: str) -> bool:
    """Whether a call by this canonical name (or ".method") gives the model inside."""
    if name in wrappers.UNWRAPS:
        return True
    return name.rpartition(".")[2] in wrappers.ANY_UNWRAPS


def is_unwrapping_context(name: str) -> bool:
    """Whether an unwrapping call is a context manager."""
    last = name.rpartition(".")[2]
    return any(
        row.context and row.name.rpartition(".")[2] == last for row in wrappers.UNWRAPS.values()
    )


def peel(kinds: Sequence[str], attr: str) -> int | None:
    """How many layers of a model are left after reading `attr`, where it holds the model inside.

    `kinds` are those of the layers from the inside out. None where it does not hold a model.
    """
    for left, kind in reversed(tuple(enumerate(kinds))):
        row = wrappers.WRAPPERS[kind]
        if attr in row.inner:
            return left
        # `torch.compile(DDP(model)).module` is the model: what a layer lacks it reads from the next.
        if not row.forwards or attr in row.own:
            return None
    return None


def forward_waits(kinds: Iterable[str]) -> bool:
    """Whether calling a model in layers of these kinds may be a collective.

    Layers that pass everything on (`torch.compile`, PEFT) stand around a sharded model as well.
    """
    rows = [wrappers.WRAPPERS[kind] for kind in kinds]
    return any(row.forward_collective or row.forwards for row in rows)


def replicates(kinds: Iterable[str]) -> bool:
    """Whether layers of these kinds keep the whole model on each rank (DDP), however the job is launched."""
    rows = [wrappers.WRAPPERS[kind] for kind in kinds]
    return any(row.forward_collective for row in rows) and not any(
        row.sharded or row.kind in wrappers.SHARDED_BY_LAUNCH for row in rows
    )


def named_type(name: str, text: str) -> str | None:
    """The class that a variable of this name holds by convention, in a file with this text."""
    found = conventions.NAMED_TYPES.get(name)
    if found is None:
        return None
    type_, libraries = found
    return type_ if any(library in text for library in libraries) else None


def model_method(method: str, receiver: str, text: str) -> str | None:
    """The canonical name of a method that only one class of models has, by the receiver's name."""
    found = conventions.MODEL_METHODS.get(method)
    if found is None or receiver.rpartition(".")[2] not in found[1]:
        return None
    return f"{found[0]}.{method}" if any(word in text for word in found[2]) else None


def with_bases(types: Iterable[str]) -> Iterator[str]:
    """Library classes, each followed by those it derives from."""
    for type_ in types:
        current: str | None = type_
        while current is not None:
            yield current
            current = conventions.CLASS_BASES.get(current) or bases.BASES.get(current)


def is_builtin(name: str) -> bool:
    """Whether a name is one of Python's builtins."""
    return name in _BUILTINS


def is_data_or_optimizer(type_: str | None, expression: str) -> bool:
    """Whether an argument of `prepare()` is a loader, collator, optimizer or scheduler rather than a model."""
    if type_ is not None and type_.rpartition(".")[2].endswith(_DATA_TYPES):
        return True
    last = expression.rpartition(".")[2].lower()
    if any(word in last for word in _DATA_WORDS):
        return True
    return "model" not in last and not _OPTIMIZER_NAMES.isdisjoint(last.split("_"))


def parameter_type(bases: Iterable[str], name: str) -> str | None:
    """The class of a parameter of a method, by the library classes that its class derives from."""
    for base in with_bases(bases):
        found = conventions.PARAMETER_TYPES.get(base, {}).get(name)
        if found is not None:
            return found
    return None


_ARGUMENTS: Final = frozenset({*ranks.ARGUMENT_ATTRIBUTES, *ranks.AMBIGUOUS_ARGUMENT_ATTRIBUTES})


def argument_attribute(owner: str, attr: str, compared_with: object = None) -> str | None:
    """The kind of `args.local_rank`, by the name of the object that holds a script's settings.

    `compared_with` is the constant that the attribute is compared with, where it is: `args.rank` is a rank
    only then.
    """
    if attr not in _ARGUMENTS or owner.rpartition(".")[2] not in ranks.ARGUMENT_NAMES:
        return None
    if compared_with in (0, -1) and type(compared_with) is int:
        found = ranks.AMBIGUOUS_ARGUMENT_ATTRIBUTES.get(attr)
        if found is not None:
            return found
    return ranks.ARGUMENT_ATTRIBUTES.get(attr)


def is_group_name(expression: str) -> bool:
    """Whether a receiver is a process group by its name: `self.pynccl_comm.group`."""
    words = expression.rpartition(".")[2].lower().split("_")
    return any(word in _GROUP_WORDS for word in words)


def is_collective(rows: tuple[CallRow, ...]) -> bool:
    """Whether any row is a collective of some layer."""
    return any(row.effect in _COLLECTIVE_EFFECTS for row in rows)


def is_training_class(bases: Iterable[str]) -> bool:
    """Whether a class derives from one whose methods run on every rank of a training."""
    return any(base in _TRAINING_CLASSES for base in with_bases(bases))


_DATA_SETS: Final = ("Dataset", "DataSet", "ImageFolder", "DatasetFolder", "CocoDetection")
"""How the names of libraries' data sets end: torch's, torchvision's, torch_geometric's, those of the OpenMMLab."""


FETCHING_CLASSES: Final = frozenset(
    row.name for row in sinks.SINKS.values() if row.effect is Effect.DOWNLOAD and row.when
)
"""Classes of data sets whose constructors fetch them, where they are told to."""


def is_data_set(bases: Iterable[str]) -> bool:
    """Whether a class derives from a library's data set, by the name."""
    return any(base.endswith(_DATA_SETS) for base in bases)


def model_parameter(bases: Iterable[str], method: str) -> tuple[str, str] | None:
    """The parameter of a trainer's method that receives a wrapped model, and the wrapper's kind."""
    for base in with_bases(bases):
        found = wrappers.MODEL_PARAMETERS.get(f"{base}.{method}")
        if found is not None:
            return found
    return None


Member = tuple[str, str]
"""What an attribute is: ("kind", of rank predicate), ("wraps", kind of layer) or ("type", of the value)."""


@dataclass(frozen=True, eq=False)
class Knowledge:
    """The tables together with the rows of a project's settings; of one project, and never changed.

    calls            all rows of a call by its canonical name
    methods          rows by method name alone, for receivers of unknown class
    functions        kind of rank predicate by canonical name of the function
    attributes       the same for attributes of a class, or variables of a module
    any_methods      the same by name of a method alone
    any_attributes   the same by name of an attribute alone
    listed           names in the settings: what they say beats what the project's code of that name does
    """

    calls: Mapping[str, tuple[CallRow, ...]]
    methods: Mapping[str, tuple[CallRow, ...]]
    functions: Mapping[str, str]
    attributes: Mapping[str, str]
    any_methods: Mapping[str, str]
    any_attributes: Mapping[str, str]
    listed: frozenset[str] = frozenset()
    strong_words: frozenset[str] = field(init=False)
    """Words of which a function that has to do with ranks holds at least one."""
    row_names: frozenset[str] = field(init=False)
    """The last part of every name that has a row."""
    _members: dict[tuple[tuple[str, ...], str], Member | None] = field(
        init=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        """Gather the words that follow from the rows."""
        last = {name.rpartition(".")[2] for name in self.listed}
        object.__setattr__(self, "strong_words", _STRONG | last)
        names = frozenset(name.rpartition(".")[2] for name in self.calls) | self.methods.keys()
        object.__setattr__(self, "row_names", names)

    @staticmethod
    @cache
    def default() -> Knowledge:
        """What the tables say."""
        return Knowledge(
            _CALLS,
            _METHODS,
            ranks.FUNCTIONS,
            ranks.ATTRIBUTES,
            ranks.ANY_METHODS,
            ranks.ANY_ATTRIBUTES,
        )

    @staticmethod
    def with_rows(collective_names: Iterable[str], predicates: Mapping[str, str]) -> Knowledge:
        """What the tables and the settings of a project say.

        Args:
            collective_names: dotted names of functions, or ".method".
            predicates: kind ("is_main", "rank" …) by dotted name or ".attribute".
        """
        known = Knowledge.default()
        names = tuple(collective_names)
        if not names and not predicates:
            return known
        by_name = {name: kind for name, kind in predicates.items() if not name.startswith(".")}
        by_last = {name[1:]: kind for name, kind in predicates.items() if name.startswith(".")}
        functions = [name for name in names if not name.startswith(".")]
        methods = [name[1:] for name in names if name.startswith(".")]
        return replace(
            known,
            calls={**known.calls, **{n: _always(n, known.calls.get(n, ())) for n in functions}},
            methods={**known.methods, **{n: _always(n, known.methods.get(n, ())) for n in methods}},
            functions={**known.functions, **by_name},
            attributes={**known.attributes, **by_name},
            any_methods={**known.any_methods, **by_last},
            any_attributes={**known.any_attributes, **by_last},
            listed=frozenset((*names, *predicates)),
        )

    def rows_of(self, name: str) -> tuple[CallRow, ...]:
        """The rows of a call by its canonical name: those of the class, else those of all methods of that name.

        Args:
            name: dotted; ".method" of a receiver of unknown class.

        waifu-diffusion 1a83ead trainer/diffusers_trainer.py:877: `StableDiffusionPipeline(…).save_pretrained(path)`.
        """
        owner, _, last = name.rpartition(".")
        if not owner:
            return self.methods.get(last, ())
        known = self.calls.get(name, ())
        if known or last not in sinks.ONE_MEANING or not owner.rpartition(".")[2][:1].isupper():
            return known
        return self.methods.get(last, ())

    def member_of(self, types: tuple[str, ...], attr: str) -> Member | None:
        """What the first of some library classes, or of their bases, that has a row says of an attribute."""
        key = (types, attr)
        if key not in self._members:
            self._members[key] = next(self._rows_of_member(types, attr), None)
        return self._members[key]

    def _rows_of_member(self, types: tuple[str, ...], attr: str) -> Iterator[Member]:
        tables = (
            ("kind", self.attributes),
            ("wraps", wrappers.MODEL_ATTRIBUTES),
            ("type", conventions.ATTRIBUTE_TYPES),
        )
        for type_ in with_bases(types):
            dotted = f"{type_}.{attr}"
            for what, table in tables:
                found = table.get(dotted)
                if found is not None:
                    yield what, found

    def is_known_call(self, name: str) -> bool:
        """Whether any table has a row for the call."""
        return (
            name in self.calls
            or name in self.functions
            or name in wrappers.WRAPS
            or name in wrappers.UNWRAPS
        )

    def inherited_call(self, type_: str, method: str, text: str) -> str | None:
        """The canonical name of a library method called through `super()`, where a table has a row for
        it that holds in a file with this text; of a constructor that fetches, the name of its class."""
        if method == "__init__" and type_ in FETCHING_CLASSES:
            return type_
        name = f"{type_}.{method}"
        rows = self.calls.get(name, ())
        holds = any(not r.mentions or any(word in text for word in r.mentions) for r in rows)
        return name if holds else None


def _always(name: str, rows: tuple[CallRow, ...]) -> tuple[CallRow, ...]:
    """The rows of a call that the settings name as a collective: it is one in every mode.

    What the tables say beside that stays.
    """
    if not is_collective(rows):
        return (
            *rows,
            CallRow(name, Effect.COLLECTIVE, op=name.rpartition(".")[2], source="settings"),
        )
    return tuple(
        row._replace(effect=Effect.COLLECTIVE, when="", unless="")
        if row.effect in _COLLECTIVE_EFFECTS
        else row
        for row in rows
    )
