"""The configuration, the script and the model together: what none of them says alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from distlint.hardware.doctor.check import Check, Result, error, ok, skipped, warning
from distlint.hardware.doctor.machine import Argument, Machine, ModelFacts, ScriptFacts, Unknown
from distlint.knowledge.configuration.values import fsdp_version, section_of
from distlint.launch.spelling import nearest

_TRAINING = "TrainingArguments"
# Where a script says it, in the order in which it counts.
_ACCUMULATION = (
    (_TRAINING, "gradient_accumulation_steps"),
    ("Accelerator", "gradient_accumulation_steps"),
)
_BATCH = ((_TRAINING, "per_device_train_batch_size"), ("DataLoader", "batch_size"))


def readable(machine: Machine) -> Iterator[Result]:
    """The script and the model that were named can be read."""
    facts = [one for one in (machine.script, machine.model) if not isinstance(one, Unknown)]
    hung = [
        one for one in (machine.script, machine.model) if isinstance(one, Unknown) and one.failed
    ]
    for one in facts:
        if one.problem:
            yield error(
                f"{one.path}: {one.problem}",
                "no rank gets further than reading it.",
                "name a file that can be read.",
            )
    for other in hung:
        yield error(other.reason, "the ranks read it and hang as long.", "look at the mount.")
    good = [one.path for one in facts if not one.problem]
    if good:
        yield ok(f"read {' and '.join(good)}")
    elif not facts and not hung:
        yield skipped("neither --script nor --model was given")


def _script(machine: Machine) -> ScriptFacts | None:
    facts = machine.script
    return None if isinstance(facts, Unknown) or facts.problem else facts


def _model(machine: Machine) -> ModelFacts | None:
    facts = machine.model
    return None if isinstance(facts, Unknown) or facts.problem else facts


def _first(script: ScriptFacts, places: tuple[tuple[str, str], ...]) -> Argument | None:
    return next((a for place in places if (a := script.given(*place)) is not None), None)


def _place(script: ScriptFacts, argument: Argument) -> str:
    return f"{script.path}:{argument.line}: {argument.call}({argument.keyword}={argument.value!r})"


@dataclass(frozen=True, slots=True)
class _Said:
    """A number that a configuration gives, and where."""

    value: int
    where: str
    in_json: bool


def _deepspeed_number(machine: Machine, key: str) -> _Said | None:
    """A whole number of the DeepSpeed JSON, else of the configuration's section."""
    if isinstance(machine.config, Unknown):
        return None
    file = machine.config.deepspeed
    for path, values, in_json in (
        (file.path if file else "", file.values if file else {}, True),
        (
            machine.config.accelerate.path,
            section_of(machine.accelerate, "deepspeed_config"),
            False,
        ),
    ):
        value = values.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return _Said(value, f"{path}: {key} is {value}", in_json)
    return None


def _uses_deepspeed(machine: Machine) -> bool:
    return machine.accelerate.get("distributed_type") == "DEEPSPEED"


def batches(machine: Machine) -> Iterator[Result]:
    """Batch per process, accumulation and processes: what they multiply to, and who disagrees."""
    script = _script(machine)
    if script is None:
        yield skipped("no --script was given")
        return
    found = [
        *_accumulation(machine, script),
        *_micro_batch(machine, script),
        *_split(machine, script),
    ]
    yield from found or [ok(_effective(machine, script))]


def _accumulation(machine: Machine, script: ScriptFacts) -> Iterator[Result]:
    mine, said = _first(script, _ACCUMULATION), None
    if _uses_deepspeed(machine):
        said = _deepspeed_number(machine, "gradient_accumulation_steps")
    if mine is None or said is None or mine.value == said.value:
        return
    if mine.call == _TRAINING:
        # transformers 5.23.0 integrations/deepspeed.py, trainer_config_process: fill_match
        yield error(
            f"{_place(script, mine)}, {said.where}",
            "Trainer raises ValueError: the two must match.",
            'make them agree, or write "auto" into the configuration.',
        )
    else:
        # accelerate 1.15.0 accelerator.py: the launcher's variable replaces the argument, and
        # _prepare_deepspeed takes DeepSpeed's value with a line in the log.
        yield warning(
            f"{_place(script, mine)}, {said.where}",
            f"DeepSpeed's {said.value} is used: the optimizer steps every {said.value} batches, "
            "and the schedule you wrote is another.",
            'make them agree, or write "auto" into the configuration.',
        )


def _micro_batch(machine: Machine, script: ScriptFacts) -> Iterator[Result]:
    mine = _first(script, _BATCH)
    said = _deepspeed_number(machine, "train_micro_batch_size_per_gpu")
    total = _deepspeed_number(machine, "train_batch_size")
    if mine is None or not isinstance(mine.value, int) or not _uses_deepspeed(machine):
        return
    if said is not None and said.value != mine.value:
        trainer = mine.call == _TRAINING
        yield (error if trainer else warning)(
            f"{_place(script, mine)}, {said.where}",
            "Trainer raises ValueError: the two must match."
            if trainer
            else "DeepSpeed scales and logs by its own number: the batch that is trained on is "
            "another.",
            'make them agree, or write "auto" into the JSON.',
        )
    elif total is not None and said is None and machine.world_size is not None:
        steps = _steps(machine, script)
        product = mine.value * steps * machine.world_size
        if product != total.value:
            yield error(
                f"{total.where}, but {_place(script, mine)} x {_step(steps)} x "
                f"{machine.world_size} processes = {product}",
                "DeepSpeed asserts that it is the product of all, on every rank.",
                f'"train_batch_size": {product}, or "auto".',
            )


def _split(machine: Machine, script: ScriptFacts) -> Iterator[Result]:
    """accelerate 1.15.0 data_loader.py, BatchSamplerShard: split_batches divides one batch."""
    batch, world = script.given("DataLoader", "batch_size"), machine.world_size
    split = script.given("DataLoaderConfiguration", "split_batches")
    if batch is None or world is None or split is None or split.value is not True:
        return
    if isinstance(batch.value, int) and batch.value % world:
        yield error(
            f"{_place(script, batch)} with split_batches and {world} processes",
            "accelerate raises ValueError in prepare(): the batch does not divide.",
            f"a batch_size that is a multiple of {world}.",
        )


def _steps(machine: Machine, script: ScriptFacts) -> int:
    said = _deepspeed_number(machine, "gradient_accumulation_steps")
    if said is not None and _uses_deepspeed(machine):
        return said.value
    mine = _first(script, _ACCUMULATION)
    return mine.value if mine is not None and isinstance(mine.value, int) else 1


def _step(steps: int) -> str:
    return f"{steps} step{'s' * (steps != 1)}"


def _effective(machine: Machine, script: ScriptFacts) -> str:
    batch, world = _first(script, _BATCH), machine.world_size
    if batch is None or not isinstance(batch.value, int) or world is None:
        return "no batch size stands in the script, or no number of processes is given"
    steps = _steps(machine, script)
    return (
        f"batch {batch.value} x {_step(steps)} x {world} "
        f"process{'es' * (world != 1)}: {batch.value * steps * world} for each step of the optimizer"
    )


def precision(machine: Machine) -> Iterator[Result]:
    """mixed_precision of the script against the configuration's."""
    script = _script(machine)
    if script is None:
        yield skipped("no --script was given")
        return
    mine, said = _precision_of(script), machine.accelerate.get("mixed_precision")
    if isinstance(mine, Result):
        yield mine
    elif mine is not None and (other := _enabled_in_json(machine, mine[0])) is not None:
        # accelerate 1.15.0 utils/dataclasses.py: DeepSpeedPlugin.set_mixed_precision
        yield error(
            f"{mine[1]}, {other}",
            "accelerate raises ValueError on every rank.",
            'set "enabled": "auto" in the JSON, or make them agree.',
        )
    elif mine is None or said is None or mine[0] == said:
        yield ok(f"the script says {mine[0] if mine else 'nothing'}, the configuration {said}")
    else:
        # accelerate 1.15.0 state.py, AcceleratorState: the argument counts, else the variable;
        # transformers 5.23.0 training_args.py: the same.
        yield warning(
            f"{mine[1]}, the configuration's mixed_precision is {said}",
            f"the script's {mine[0]} counts; the file says something else.",
            "leave it to one of them.",
        )


def _precision_of(script: ScriptFacts) -> tuple[str, str] | Result | None:
    """The script's precision and where it stands; a Result where the script contradicts itself."""
    flags = [
        flag
        for name in ("fp16", "bf16")
        if (flag := script.given(_TRAINING, name)) is not None and flag.value is True
    ]
    if len(flags) == 2:
        return error(
            f"{script.path}:{flags[0].line}: fp16 and bf16 are both True",
            "TrainingArguments raises ValueError.",
            "leave one.",
        )
    if flags:
        return flags[0].keyword, _place(script, flags[0])
    mine = script.given("Accelerator", "mixed_precision")
    return None if mine is None else (str(mine.value), _place(script, mine))


def _enabled_in_json(machine: Machine, mine: str) -> str | None:
    """Where the DeepSpeed JSON switches on the other of fp16 and bf16."""
    other = {"fp16": "bf16", "bf16": "fp16"}.get(mine)
    if isinstance(machine.config, Unknown) or machine.config.deepspeed is None or other is None:
        return None
    section = machine.config.deepspeed.values.get(other)
    on = isinstance(section, dict) and section.get("enabled") is True
    return f"{machine.config.deepspeed.path} enables {other}" if on else None


# Arguments that repeat how many processes there are.
_WORLD = (
    ("init_process_group", "world_size"),
    ("DistributedSampler", "num_replicas"),
)
_STARTS = (("spawn", "nprocs"), ("notebook_launcher", "num_processes"))


def world_size(machine: Machine) -> Iterator[Result]:
    """Numbers of processes that stand in the script, and ways to start more of them."""
    script, world = _script(machine), machine.world_size
    if script is None or world is None:
        yield skipped(
            "no --script was given" if script is None else "no number of processes is given"
        )
        return
    found = [*_world_sizes(script, world), *_placement(machine, script, world)]
    yield from found or [ok(f"nothing in the script contradicts {world} processes")]


def _world_sizes(script: ScriptFacts, world: int) -> Iterator[Result]:
    for place in _WORLD:
        said = script.given(*place)
        if said is not None and isinstance(said.value, int) and said.value != world:
            yield error(
                f"{_place(script, said)}, and {world} processes are started",
                "the rendezvous waits for the others for ever."
                if place[0] == "init_process_group"
                else "parts of the data are read twice, or by nobody.",
                f"leave {said.keyword} out: torch takes it from the launcher.",
            )
    for place in _STARTS:
        started = script.given(*place)
        if started is not None and world > 1:
            yield error(
                f"{_place(script, started)}, under a launcher that starts {world} processes",
                f"each of them starts {started.value} more, which join as the same ranks.",
                "start the script with python, or drop the call and let the launcher do it.",
            )


def _placement(machine: Machine, script: ScriptFacts, world: int) -> Iterator[Result]:
    spread = script.given("from_pretrained", "device_map")
    if (
        spread is not None
        and world > 1
        and str(spread.value).startswith(("auto", "balanced", "seq"))
    ):
        # accelerate 1.15.0 accelerator.py, prepare_model: verify_device_map
        yield error(
            f"{_place(script, spread)} with {world} processes",
            "each process spreads a whole model over all GPUs, and accelerate raises ValueError in "
            "prepare().",
            "drop device_map, or start one process.",
        )
    on_cpu = script.given("Accelerator", "cpu")
    if on_cpu is not None and on_cpu.value is True and machine.gpu_count and world > 1:
        yield warning(
            f"{_place(script, on_cpu)}, and {machine.gpu_count} GPUs are visible",
            "the processes train on the CPU, over gloo.",
            "drop cpu=True.",
        )


# torch.nn classes that models hold: not in their modeling files, and can be wrapped.
_TORCH_CLASSES = frozenset(
    {"Linear", "Embedding", "LayerNorm", "RMSNorm", "Conv1d", "Conv2d", "MultiheadAttention"}
    | {"TransformerEncoderLayer", "TransformerDecoderLayer"}
)


def blocks(machine: Machine) -> Iterator[Result]:
    """The classes that the configuration names against the model's."""
    model, script, values = _model(machine), _script(machine), machine.accelerate
    if model is None:
        yield skipped("no --model was given")
        return
    if not model.classes:
        yield skipped(f"the classes of {model.model_type} are not in the transformers that is here")
        return
    known = model.classes | (script.classes if script else frozenset()) | _TORCH_CLASSES
    fsdp = section_of(values, "fsdp_config") if values.get("distributed_type") == "FSDP" else {}
    moe = section_of(values, "deepspeed_config") if _uses_deepspeed(machine) else {}
    found: list[Result] = []
    for key, names in (
        ("fsdp_transformer_layer_cls_to_wrap", fsdp.get("fsdp_transformer_layer_cls_to_wrap")),
        ("deepspeed_moe_layer_cls_names", moe.get("deepspeed_moe_layer_cls_names")),
    ):
        found += _unknown_classes(key, names, known, model)
    policy = str(fsdp.get("fsdp_auto_wrap_policy", "")).upper()
    if (
        policy == "TRANSFORMER_BASED_WRAP"
        and not fsdp.get("fsdp_transformer_layer_cls_to_wrap")
        and not model.blocks
    ):
        found.append(
            warning(
                f"{model.model_type} has no _no_split_modules, and no class to wrap is named",
                f"FSDP{fsdp_version(values)} wraps nothing but the whole model: all of it is "
                "gathered at once.",
                "fsdp_transformer_layer_cls_to_wrap: the class of the model's blocks",
            )
        )
    yield from found or [ok(f"{model.model_type}: blocks {', '.join(model.blocks) or 'not named'}")]


def _unknown_classes(
    key: str, names: object, known: frozenset[str], model: ModelFacts
) -> Iterator[Result]:
    # accelerate 1.15.0 takes the text apart at the commas, and keeps the spaces.
    for name in names.split(",") if isinstance(names, str) else ():
        if name in known:
            continue
        near = nearest(name.strip(), known)
        yield error(
            f"{key} names {name!r}, which {model.model_type} has not"
            + (f" (did you mean {near}?)" if near else ""),
            "accelerate raises in prepare() on every rank: could not find the layer class.",
            f"{key}: {','.join(model.blocks) or near or 'a class of the model'}",
        )


def divisions(machine: Machine) -> Iterator[Result]:
    """What the model's heads and layers are divided by."""
    model, values = _model(machine), machine.accelerate
    if model is None:
        yield skipped("no --model was given")
        return
    sizes = section_of(values, "parallelism_config")
    megatron = section_of(values, "megatron_lm_config")
    tensor = sizes.get("parallelism_config_tp_size") or megatron.get("megatron_lm_tp_degree")
    divided = (
        ("tensor parallel size", tensor, ("num_attention_heads", "num_key_value_heads")),
        (
            "sequence parallel size",
            sizes.get("parallelism_config_sp_size"),
            ("num_attention_heads",),
        ),
        ("pipeline degree", megatron.get("megatron_lm_pp_degree"), ("num_hidden_layers",)),
    )
    found = [
        error(
            f"{name} {size}, and {model.model_type} has {key} {model.numbers[key]}",
            "they do not divide: the ranks fail when the model is sharded.",
            f"a size that divides {model.numbers[key]}.",
        )
        for name, size, keys in divided
        if isinstance(size, int) and size > 1
        for key in keys
        if key in model.numbers and model.numbers[key] % size
    ]
    shown = ", ".join(f"{key} {value}" for key, value in sorted(model.numbers.items()))
    yield from found or [ok(f"{model.model_type}: {shown or 'no heads or layers in its config'}")]


CHECKS = (
    Check("script-and-model", "job", readable),
    Check("batches", "job", batches),
    Check("precision", "job", precision),
    Check("world-size", "job", world_size),
    Check("blocks-to-wrap", "job", blocks),
    Check("divisions", "job", divisions),
)
