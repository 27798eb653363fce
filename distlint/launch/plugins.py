"""What code says to accelerate's plugins and to TrainingArguments, against itself.

What is not said may come from the environment (FSDP_VERSION, which accelerate launch sets): no defect is built on
that. Values are those that are written out; what is computed is not among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from distlint.knowledge.configuration import plugins as table
from distlint.knowledge.configuration.keys import (
    ACCELERATE_VERSION,
    FSDP_SHARDING_STRATEGIES,
    FSDP_WRAP_POLICIES,
)
from distlint.knowledge.configuration.values import OneOf, Setting, Switch, refused_values
from distlint.launch.accelerate import offload
from distlint.launch.deepspeed import stage_of, value_at
from distlint.launch.defects import Defect, mended, mild, severe
from distlint.launch.spelling import named
from distlint.launch.tree import Keys
from distlint.records import dataclass

_RAISES = f"accelerate {ACCELERATE_VERSION} raises on every rank, when the plugin is made."


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a call is given.

    Attributes:
        values: arguments, and of dicts their keys, whose values are written out; None is as good as not said.
        named: all arguments, with those that are computed.
        complete: whether there are no others, as `**settings` may bring.
        objects: the classes of torch.distributed.fsdp that arguments are objects of.
        members: arguments that are members of an enumeration of torch, not its text.
    """

    values: Mapping[str, Any]
    named: frozenset[str]
    complete: bool
    objects: Mapping[str, str] = field(default_factory=dict)
    members: frozenset[str] = frozenset()

    def lacks(self, name: str) -> bool:
        """Whether an argument is surely not given."""
        return self.complete and name not in self.named


def fsdp(given: Arguments) -> Iterator[Defect]:
    """FullyShardedDataParallelPlugin (accelerate 1.15.0, utils/dataclasses.py, `__post_init__`)."""
    values = given.values
    version = values.get("fsdp_version")
    for row, value in _refused(values, "fsdp_config", table.FSDP_KEYS):
        if row.only and version not in (1, 2):
            continue
        argument = row.key.removeprefix("fsdp_")
        if argument not in given.members:
            yield severe(
                (argument,),
                f"{argument} is {value!r}{_under(version) if row.only else ''}",
                _RAISES,
                f"Give it {row.kind.words()}.",
            )
    for argument, classes in table.OBJECTS.items():
        made = given.objects.get(argument, "")
        if version in (1, 2) and classes.get(made, version) != version:
            wanted = " or ".join(name for name, taken in classes.items() if taken == version)
            yield severe(
                (argument,),
                f"{argument} is an object of {made}{_under(version)}",
                _RAISES,
                f"Give it one of {wanted}.",
            )
    if version == 1:
        yield from _version_1(values)
    elif version == 2:
        yield from _version_2(given)
    yield from _wrapping(values)
    if values.get("activation_checkpointing_offload") is True and (
        version == 1 or values.get("activation_checkpointing") is False
    ):
        yield severe(
            ("activation_checkpointing_offload",),
            "activation_checkpointing_offload without `fsdp_version=2` and "
            "`activation_checkpointing=True`",
            _RAISES,
            "Set both, or remove it.",
        )


def _refused(
    values: Mapping[str, Any], section: str, keys: Mapping[str, str]
) -> list[tuple[Setting, object]]:
    """What the table of accelerate's YAML refuses; an argument's text is read as the text there is."""
    said = {
        keys[name]: value
        for name, value in values.items()
        if name in keys and (isinstance(value, str) or name in ("fsdp_version", "zero_stage"))
    }
    found = refused_values({section: said}, frozenset({section}))
    return [(row, value) for row, value in found if row.section and row.key != "fsdp_version"]


def _under(version: object) -> str:
    return f" under `fsdp_version={version}`"


def _version_1(values: Mapping[str, Any]) -> Iterator[Defect]:
    reshard, strategy = values.get("reshard_after_forward"), values.get("sharding_strategy")
    strategies = OneOf(FSDP_SHARDING_STRATEGIES, (1, 2, 3, 4, 5))
    if isinstance(reshard, bool) or (isinstance(reshard, str) and not strategies.takes(reshard)):
        yield severe(
            ("reshard_after_forward",),
            f"reshard_after_forward is {reshard!r}{_under(1)}",
            _RAISES,
            "Give `sharding_strategy` instead, or set `fsdp_version=2`.",
        )
    elif (
        isinstance(reshard, str)
        and isinstance(strategy, str)
        and not strategy.isdecimal()
        and not reshard.isdecimal()
        and reshard.upper() != strategy.upper()
    ):
        # accelerator.py: `fsdp_plugin.sharding_strategy or fsdp_plugin.reshard_after_forward`
        yield mild(
            ("reshard_after_forward",),
            f"reshard_after_forward is {reshard} beside sharding_strategy {strategy}{_under(1)}",
            f"accelerate does not read it there: the strategy is {strategy}.",
            "Give one of the two.",
        )
    if (
        values.get("cpu_ram_efficient_loading") is True
        and values.get("sync_module_states") is False
    ):
        yield mended(
            ("sync_module_states",),
            "sync_module_states is False beside `cpu_ram_efficient_loading=True`",
            "only rank 0 loads the weights, so accelerate sets it to True with a warning.",
            "Remove it.",
        )
    least, policy = values.get("min_num_params"), str(values.get("auto_wrap_policy")).upper()
    if isinstance(least, int) and least <= 0 and policy == "SIZE_BASED_WRAP":
        yield mild(
            ("min_num_params",),
            f"min_num_params is {least} with SIZE_BASED_WRAP",
            "accelerate drops the policy without a word: the model is one FSDP unit.",
            "Give it a number above 0, as 100_000_000.",
        )


def _version_2(given: Arguments) -> Iterator[Defect]:
    values = given.values
    if "reshard_after_forward" in given.members:
        yield severe(
            ("reshard_after_forward",),
            f"reshard_after_forward is a ShardingStrategy{_under(2)}",
            _RAISES,
            "Give it True for FULL_SHARD, False for SHARD_GRAD_OP.",
        )
    strategy = values.get("sharding_strategy")
    if strategy is not None and given.lacks("reshard_after_forward"):
        # Otherwise than in the YAML, where the strategy is not read and nothing fails.
        yield severe(
            ("sharding_strategy",),
            f"sharding_strategy is {strategy}{_under(2)}, without reshard_after_forward",
            _RAISES,
            "Replace it: `reshard_after_forward=True` for FULL_SHARD, False for SHARD_GRAD_OP.",
        )
    elif strategy is not None and "reshard_after_forward" in given.named:
        yield mild(
            ("sharding_strategy",),
            f"sharding_strategy is {strategy}{_under(2)}",
            "accelerate reads reshard_after_forward alone there.",
            "Remove it.",
        )
    if "forward_prefetch" in values:
        yield severe(
            ("forward_prefetch",),
            f"forward_prefetch is given{_under(2)}",
            "accelerate raises ValueError on every rank, be it True or False.",
            "Remove it.",
        )
    for name in table.FSDP2_WARNS:
        yield from _dropped((name,), values.get(name), f"{name} is {values.get(name)}{_under(2)}")
    if values.get("limit_all_gathers") is False:
        # utils/fsdp_utils.py, fsdp2_prepare_model: what fully_shard is given
        yield mild(
            ("limit_all_gathers",),
            f"limit_all_gathers is False{_under(2)}",
            "accelerate does not read it there: FSDP2 has no such setting.",
            "Remove it.",
        )


def _wrapping(values: Mapping[str, Any]) -> Iterator[Defect]:
    policy = str(values.get("auto_wrap_policy")).upper()
    if values.get("transformer_cls_names_to_wrap") and policy in ("SIZE_BASED_WRAP", "NO_WRAP"):
        yield mild(
            ("transformer_cls_names_to_wrap",),
            f"transformer_cls_names_to_wrap with {policy}",
            "the classes are not read.",
            'Set `auto_wrap_policy="TRANSFORMER_BASED_WRAP"`, or remove them.',
        )


def deepspeed(given: Arguments) -> Iterator[Defect]:
    """DeepSpeedPlugin (accelerate 1.15.0, utils/dataclasses.py, `__post_init__`)."""
    values = given.values
    config = values.get("hf_ds_config")
    if isinstance(config, dict):
        yield from _beside_json(values, config)
        stage = stage_of(config)
    else:
        stage = values.get("zero_stage")
        same = {name: name for name in table.DEEPSPEED_KEYS}
        for row, value in _refused(values, "deepspeed_config", same):
            yield severe(
                (row.key,), f"{row.key} is {value!r}", row.why, f"Give it {row.kind.words()}."
            )
        parts = {part: f"offload_{part}_device" for part in ("param", "optimizer")}
        devices = {part: str(values.get(name, "none")).lower() for part, name in parts.items()}
        yield from offload(str(stage), devices, {part: (name,) for part, name in parts.items()})
    if values.get("zero3_init_flag") is True and stage in (0, 1, 2):
        yield mended(
            ("zero3_init_flag",),
            f"zero3_init_flag is True with ZeRO stage {stage}",
            "accelerate switches it off with a warning.",
            "Remove it.",
        )


def _beside_json(values: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[Defect]:
    yield from without_zero(config, "hf_ds_config")
    for name, path in table.IN_JSON.items():
        said, written = values.get(name), value_at(config, path)
        if said is not None and written not in (None, "auto") and said != written:
            yield mild(
                (name,),
                f"{name} is {said!r}, and {'.'.join(path)} of hf_ds_config {written!r}",
                f"accelerate reads the argument only where the configuration says auto: {written!r} holds.",
                "Remove one of them.",
            )


def without_zero(config: Mapping[str, Any], argument: str) -> Iterator[Defect]:
    """A configuration of DeepSpeed that accelerate refuses; "" stands in it for what may be spread."""
    if "zero_optimization" not in config and "" not in config:
        yield severe(
            (argument,),
            f"{argument} has no zero_optimization",
            "accelerate raises ValueError on every rank.",
            '"zero_optimization": {"stage": 2}',
        )


def trainer(given: Arguments) -> Iterator[Defect]:
    """TrainingArguments of transformers (5.23.0, training_args.py), and what it makes of FSDP."""
    values = given.values
    config = values.get("fsdp_config")
    options, asked = _options(values.get("fsdp")), values.get("fsdp")
    if asked and values.get("deepspeed"):
        yield severe(  # trainer.py, Trainer.__init__
            ("fsdp",),
            "fsdp is given beside deepspeed",
            "the Trainer raises ValueError on every rank.",
            "Remove one of them.",
        )
    unknown = [word for word in options if word not in table.OPTIONS]
    if unknown:
        yield severe(
            ("fsdp",),
            f"fsdp has {', '.join(unknown)}",
            "TrainingArguments raises ValueError on every rank.",
            f"Give it words of {', '.join(sorted(table.OPTIONS))}.",
        )
    if isinstance(values.get("deepspeed"), dict):
        yield from without_zero(values["deepspeed"], "deepspeed")
    if not isinstance(config, dict):
        return
    said = {key.removeprefix("fsdp_"): key for key in config if key}
    settings = {name: _switched(config[key]) for name, key in said.items()}
    off = given.lacks("fsdp") or ("fsdp" in given.named and asked in ("", False, []))
    if off and config and "" not in config and not _read_without_fsdp(settings):
        yield mild(
            ("fsdp_config",),
            "fsdp_config without fsdp",
            "TrainingArguments does not read it: the Trainer shards nothing because of it.",
            "Give `fsdp` as well, or remove it.",
        )
    for name in sorted(settings.keys() - table.TRAINER_KEYS):
        if settings[name] in table.ASKS_FOR_NOTHING or _asked_by_options(
            name, settings[name], options
        ):
            continue
        yield mild(
            ("fsdp_config", said[name]),
            f"fsdp_config has unknown {named([name], table.TRAINER_KEYS)}",
            f"transformers {table.TRANSFORMERS_VERSION} never reads it: what it asks for does not happen.",
            "Correct or remove it (another transformers may know it).",
        )
    yield from _of_version(settings, said, options)
    policy = settings.get("auto_wrap_policy")
    if isinstance(policy, str) and policy not in FSDP_WRAP_POLICIES:
        yield severe(
            ("fsdp_config", said["auto_wrap_policy"]),
            f"{said['auto_wrap_policy']} is {policy!r}",
            f"transformers {table.TRANSFORMERS_VERSION} raises ValueError on every rank; earlier ones never read it.",
            f"Give it one of {', '.join(FSDP_WRAP_POLICIES)}, in capitals.",
        )


def _switched(value: object) -> object:
    """A value as transformers reads it: text may be a switch or a number."""
    if not isinstance(value, str):
        return value
    if value.isdecimal():
        return int(value)
    return {"true": True, "false": False}.get(value.lower(), value)


def _asked_by_options(name: str, value: object, options: list[str]) -> bool:
    """Whether `fsdp="…"` asks for the same as a key that nobody reads."""
    return (name == "offload_params" and "offload" in options) or (
        name == "sharding_strategy" and str(value).lower() in options
    )


def _read_without_fsdp(settings: Mapping[str, Any]) -> bool:
    return any(key in table.TRAINER_READS_ALWAYS or key.startswith("xla") for key in settings)


def _options(asked: object) -> list[str]:
    """The words of `fsdp="full_shard auto_wrap"`."""
    if isinstance(asked, str) and asked.lower() not in ("true", "false"):
        return asked.split()
    return [word for word in asked if isinstance(word, str)] if isinstance(asked, list) else []


def _of_version(
    settings: Mapping[str, Any], said: Mapping[str, str], options: list[str]
) -> Iterator[Defect]:
    """What goes with the version that the dict names; where it names none, transformers decides (4.x: 1, 5.x: 2)."""
    version, reshard = settings.get("version"), settings.get("reshard_after_forward")
    at = ("fsdp_config", said.get("reshard_after_forward", ""))
    if version == 1 and isinstance(reshard, bool):
        yield severe(
            at,
            f"{at[1]} is {reshard} with version 1",
            f"transformers {table.TRANSFORMERS_VERSION} makes text of it, which accelerate refuses (KeyError on "
            "every rank); earlier ones never read it.",
            "Set version 2, or name a strategy in `fsdp`.",
        )
    if version != 2:
        return
    for word in options:
        if word in table.OPTIONS_ONLY_1:
            yield severe(
                ("fsdp",),
                f"fsdp has {word}, and fsdp_config version 2",
                f"transformers {table.TRANSFORMERS_VERSION} raises ValueError on every rank; with earlier ones, "
                "accelerate does not read the strategy under version 2.",
                "Name full_shard or shard_grad_op, or set version 1.",
            )
    if isinstance(reshard, str) and not Switch().takes(reshard):
        yield severe(
            at,
            f"{at[1]} is {reshard!r} with version 2",
            "FSDP2 takes true or false there: ValueError on every rank.",
            "Give it True for full_shard, False for shard_grad_op.",
        )
    if str(settings.get("state_dict_type")).upper() == "LOCAL_STATE_DICT":
        key = said["state_dict_type"]
        yield severe(
            ("fsdp_config", key),
            f"{key} is {settings['state_dict_type']} with version 2",
            _RAISES,
            "Give it FULL_STATE_DICT or SHARDED_STATE_DICT.",
        )
    for name in table.TRAINER_ONLY_1:
        key, value = said.get(name, ""), settings.get(name)
        yield from _dropped(("fsdp_config", key), value, f"{key} is {value} with version 2")


def _dropped(keys: Keys, value: object, saw: str) -> Iterator[Defect]:
    """A setting of version 1 under version 2; of what FSDP2 does anyway, nothing is lost."""
    if value is None or (value is False and "use_orig_params" not in keys[-1]):
        return
    if str(value).upper() == "NO_PREFETCH":
        return
    if value is True and "use_orig_params" in keys[-1]:
        why = "it is dropped, and FSDP2 keeps the original parameters in any case."
        yield mended(keys, saw, why, "Remove it.")
    else:
        yield mild(keys, saw, "it is dropped: FSDP2 has no such setting.", "Remove it.")
