"""The table of values: what each setting of accelerate's configuration may be, by its key.

Read in accelerate 1.15.0: commands/launch.py passes the sections on as environment variables,
utils/launch.py; the ranks read them in utils/dataclasses.py (FullyShardedDataParallelPlugin,
DeepSpeedPlugin, TorchDynamoPlugin) and parallelism_config.py. tests/hardware/test_config_values.py
gives the values of each row to the installed accelerate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, TypeAlias

from distlint.knowledge.configuration.keys import (
    FSDP_SHARDING_STRATEGIES,
    FSDP_STATE_DICTS,
    FSDP_WRAP_POLICIES,
)
from distlint.records import dataclass

# utils/environment.py, str_to_bool: the spellings of a switch; YAML's own booleans come as bool.
_TRUE = frozenset({"y", "yes", "t", "true", "on", "1"})
_FALSE = frozenset({"n", "no", "f", "false", "off", "0"})


@dataclass(frozen=True, slots=True)
class Switch:
    """True or false, in one of the spellings that str_to_bool reads."""

    def takes(self, value: object) -> bool:
        """Whether the reader takes this value."""
        return str(value).lower() in _TRUE | _FALSE

    def words(self) -> str:
        """What to write, for a message."""
        return "true or false"


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of these names, in capitals or not; where the reader takes an enumeration's number, too."""

    names: tuple[str, ...]
    numbers: tuple[int, ...] = ()

    def takes(self, value: object) -> bool:
        """Whether the reader takes this value."""
        text = str(value)
        if text.isdecimal():
            return int(text) in self.numbers
        return text.upper() in {name.upper() for name in self.names}

    def words(self) -> str:
        """What to write, for a message."""
        return f"one of {', '.join(self.names)}"


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number in a range; `quoted` where text is converted, `auto` where that word is taken, `floats` where 1.0 is 1."""

    least: int | None = None
    most: int | None = None
    quoted: bool = True
    auto: bool = False
    floats: bool = False

    def takes(self, value: object) -> bool:
        """Whether the reader takes this value."""
        if isinstance(value, bool) or (self.auto and value == "auto"):
            return not isinstance(value, bool)
        number = value
        if self.quoted and isinstance(value, str) and value.strip().lstrip("-").isdecimal():
            number = int(value)
        if self.floats and isinstance(value, float) and value.is_integer():
            number = int(value)
        if not isinstance(number, int):
            return False
        return (self.least is None or self.least <= number) and (
            self.most is None or number <= self.most
        )

    def words(self) -> str:
        """What to write, for a message."""
        if self.least is None:
            return "a whole number"
        until = "on" if self.most is None else f"to {self.most}"
        return f"a whole number from {self.least} {until}"


@dataclass(frozen=True, slots=True)
class Amount:
    """A number above zero; 0 and "auto" where the reader takes them."""

    zero: bool = True

    def takes(self, value: object) -> bool:
        """Whether the reader takes this value."""
        if value == "auto":
            return True
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            return False
        try:
            number = float(value)
        except ValueError:
            return False
        return number > 0 or (self.zero and number == 0)

    def words(self) -> str:
        """What to write, for a message."""
        return "a number that is not negative" if self.zero else "a number above 0"


Kind: TypeAlias = Switch | OneOf | Whole | Amount

_ON_RANKS = "accelerate raises ValueError on every rank."
_AT_LAUNCH = "accelerate launch fails before it starts anything."
_NOT_TRUE = "what is not true counts as false: save_pretrained then writes empty weights."
_BY_DEEPSPEED = "DeepSpeed refuses it on every rank (deepspeed 0.19.8 runtime/zero)."


@dataclass(frozen=True, slots=True)
class Setting:
    """A row.

    Attributes:
        section: of the configuration; empty for the top level.
        key: as accelerate names it.
        kind: what it may be.
        why: what happens with another value.
        only: other settings of the section, without which this one is not read.
    """

    section: str
    key: str
    kind: Kind
    why: str
    only: Mapping[str, object] = field(default_factory=dict)


# utils/dataclasses.py, DynamoBackend
DYNAMO_BACKENDS = (
    "NO",
    "EAGER",
    "AOT_EAGER",
    "INDUCTOR",
    "AOT_TS_NVFUSER",
    "NVPRIMS_NVFUSER",
    "CUDAGRAPHS",
    "OFI",
    "FX2TRT",
    "ONNXRT",
    "TENSORRT",
    "AOT_TORCHXLA_TRACE_ONCE",
    "TORCHXLA_TRACE_ONCE",
    "TVM",
    "HPU_BACKEND",
    "NEURON",
)
# utils/constants.py, TORCH_DYNAMO_MODES; torch 2.13.0 _inductor/__init__.py, list_mode_options adds
# the last one. accelerate hands the mode to torch.compile as it is.
DYNAMO_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
BACKWARD_PREFETCHES = ("BACKWARD_PRE", "BACKWARD_POST", "NO_PREFETCH")
OFFLOAD_DEVICES = ("none", "cpu", "nvme")

_FSDP, _DEEPSPEED, _DYNAMO = "fsdp_config", "deepspeed_config", "dynamo_config"
_PARALLEL = "parallelism_config"
_V1: Mapping[str, object] = {"fsdp_version": 1}
_V2: Mapping[str, object] = {"fsdp_version": 2}

SETTINGS: tuple[Setting, ...] = (
    Setting("", "num_machines", Whole(1, quoted=False), _AT_LAUNCH),
    Setting("", "main_process_port", Whole(0, 65535, quoted=False), _AT_LAUNCH),
    Setting(_DYNAMO, "dynamo_backend", OneOf(DYNAMO_BACKENDS), _AT_LAUNCH),
    Setting(_DYNAMO, "dynamo_mode", OneOf(DYNAMO_MODES), "torch.compile raises in prepare()."),
    Setting(_DYNAMO, "dynamo_use_fullgraph", Switch(), _ON_RANKS),
    Setting(_DYNAMO, "dynamo_use_dynamic", Switch(), _ON_RANKS),
    Setting(_DYNAMO, "dynamo_use_regional_compilation", Switch(), _ON_RANKS),
    Setting(_FSDP, "fsdp_version", Whole(1, 2), _ON_RANKS),
    Setting(
        _FSDP,
        "fsdp_sharding_strategy",
        OneOf(FSDP_SHARDING_STRATEGIES, (1, 2, 3, 4, 5)),
        _ON_RANKS,
        _V1,
    ),
    Setting(_FSDP, "fsdp_reshard_after_forward", Switch(), _ON_RANKS, _V2),
    Setting(_FSDP, "fsdp_auto_wrap_policy", OneOf(FSDP_WRAP_POLICIES), _ON_RANKS),
    Setting(_FSDP, "fsdp_state_dict_type", OneOf(FSDP_STATE_DICTS[1], (1, 2, 3)), _ON_RANKS, _V1),
    Setting(_FSDP, "fsdp_state_dict_type", OneOf(FSDP_STATE_DICTS[2], (1, 3)), _ON_RANKS, _V2),
    Setting(_FSDP, "fsdp_backward_prefetch", OneOf(BACKWARD_PREFETCHES, (1, 2)), _ON_RANKS),
    Setting(
        _FSDP,
        "fsdp_min_num_params",
        Whole(),
        _ON_RANKS,
        {"fsdp_auto_wrap_policy": "SIZE_BASED_WRAP"},
    ),
    Setting(_FSDP, "fsdp_offload_params", Switch(), _ON_RANKS),
    Setting(_FSDP, "fsdp_activation_checkpointing", Switch(), _ON_RANKS),
    Setting(_FSDP, "fsdp_activation_checkpointing_offload", Switch(), _ON_RANKS),
    Setting(_FSDP, "fsdp_cpu_ram_efficient_loading", Switch(), _ON_RANKS),
    Setting(_FSDP, "fsdp_use_orig_params", Switch(), _ON_RANKS, _V1),
    Setting(_FSDP, "fsdp_sync_module_states", Switch(), _ON_RANKS, _V1),
    Setting(_FSDP, "fsdp_forward_prefetch", Switch(), _ON_RANKS, _V1),
    Setting(_DEEPSPEED, "zero_stage", Whole(0, 3), _BY_DEEPSPEED),
    Setting(_DEEPSPEED, "offload_optimizer_device", OneOf(OFFLOAD_DEVICES), _BY_DEEPSPEED),
    Setting(_DEEPSPEED, "offload_param_device", OneOf(OFFLOAD_DEVICES), _BY_DEEPSPEED),
    Setting(_DEEPSPEED, "gradient_accumulation_steps", Whole(1, auto=True), _ON_RANKS),
    Setting(_DEEPSPEED, "gradient_clipping", Amount(), _ON_RANKS),
    Setting(_DEEPSPEED, "zero3_init_flag", Switch(), _ON_RANKS),
    Setting(_DEEPSPEED, "zero3_save_16bit_model", OneOf(("true", "false")), _NOT_TRUE),
    *(
        Setting(_PARALLEL, f"parallelism_config_{name}_size", Whole(1, quoted=False), _ON_RANKS)
        for name in ("dp_replicate", "dp_shard", "tp", "cp", "sp")
    ),
    Setting(_PARALLEL, "parallelism_config_cp_backend", OneOf(("torch",)), _ON_RANKS),
    Setting(_PARALLEL, "parallelism_config_sp_backend", OneOf(("deepspeed",)), _ON_RANKS),
)

# launch.py, _validate_launch_command: keys of these sections may leave their prefix out.
PREFIXES = {_FSDP: "fsdp", "fp8_config": "fp8", _DYNAMO: "dynamo_"}
_FULL = {_FSDP: "fsdp_", "fp8_config": "fp8_", _DYNAMO: "dynamo_"}


def full_key(section: str, key: object) -> str:
    """A key of a section as accelerate completes it: `version` in fsdp_config is `fsdp_version`."""
    text = str(key)
    prefix = PREFIXES.get(section)
    return text if prefix is None or text.startswith(prefix) else _FULL[section] + text


def section_of(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A section with completed keys; empty where there is none, or it is no mapping."""
    section = values if not name else values.get(name)
    if not isinstance(section, dict):
        return {}
    return {full_key(name, key): value for key, value in section.items()}


def fsdp_version(values: Mapping[str, Any]) -> int:
    """1 or 2, as the ranks read it; 1 where it is not said or cannot be read."""
    version = section_of(values, _FSDP).get("fsdp_version", 1)
    return 2 if str(version).strip() == "2" else 1


def refused_values(values: Mapping[str, Any], read: frozenset[str]) -> list[tuple[Setting, object]]:
    """The rows whose values accelerate, or what it starts, refuses.

    Args:
        values: the configuration.
        read: the sections that are read under its distributed_type; the others cannot fail.
    """
    found: list[tuple[Setting, object]] = []
    for row in SETTINGS:
        if row.section and row.section not in read:
            continue
        section = section_of(values, row.section) if row.section else dict(values)
        value = section.get(row.key)
        if value is not None and _is_read(row, section, values) and not row.kind.takes(value):
            found.append((row, value))
    return found


def _is_read(row: Setting, section: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    for key, wanted in row.only.items():
        is_ = fsdp_version(values) if key == "fsdp_version" else str(section.get(key)).upper()
        if is_ != wanted:
            return False
    return True
