"""What a launch puts the model into: FSDP, ZeRO-3 or DDP, by its options and the configurations that it names."""

from __future__ import annotations

import enum
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Set
from typing import Final

from distlint.findings import Place, Related
from distlint.knowledge.configuration.launchers import Launcher
from distlint.knowledge.configuration.values import section_of
from distlint.launch.commands import Launch, Option, once_on_each
from distlint.launch.deepspeed import stage_of
from distlint.launch.project import Configuration, Format, LaunchFiles, Script
from distlint.patterns import pattern
from distlint.records import dataclass

_ONLY_SHOWS: Final = pattern(r"dry_?run")
"""Options with which a program shows what it would do: cosmos-predict1 4ed35fa cosmos_predict1/tokenizer/training/train.py:73."""


class Engine(enum.Enum):
    """What stands around the model on each rank."""

    FSDP = "FSDP"
    ZERO3 = "DeepSpeed ZeRO-3"
    DDP = "DistributedDataParallel"


SHARDING: Final = frozenset({Engine.FSDP, Engine.ZERO3})
"""Those that leave a part of the model on each rank."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """An engine, what the launch names for it (a file or an option), and the place that asks for it."""

    engine: Engine
    named: str
    place: Place


@dataclass(frozen=True, slots=True)
class Start:
    """A launch of several processes, and the engine that it chooses."""

    place: Place
    chosen: Chosen

    def words(self) -> str:
        """The launch, for a message: what happens so follows."""
        name = f"{self.chosen.named} ({self.chosen.engine.value})"
        return f"launched as `{self.place.path}` line {self.place.line} does, with {name}"

    def related(self) -> tuple[Related, ...]:
        """The launch, and what asks for the engine where that is written elsewhere."""
        launch = Related(self.place, "this launch")
        asks = Related(self.chosen.place, f"asks for {self.chosen.engine.value}")
        same = (self.place.path, self.place.line) == (asks.place.path, asks.place.line)
        return (launch,) if same else (launch, asks)


def first_start(files: LaunchFiles, path: str, engines: Set[Engine]) -> Start | None:
    """The first launch, by file and line, of the Python file `path` in one of `engines`."""
    found = [
        Start(launch.place, chosen)
        for script, launch in files.starting(path)
        if (chosen := engine_of(files, script, launch)) is not None and chosen.engine in engines
    ]
    return min(found, key=order, default=None)


def only_starts_one(files: LaunchFiles, path: str, known: Set[str]) -> bool:
    """Whether the Python file `path` is started, and each time as one process, with a launcher or without.

    MoE-LLaVA README.md:75: `deepspeed --include localhost:0 moellava/serve/gradio_web_server.py`.

    Args:
        files: what starts the program.
        path: the Python file.
        known: all Python files there are. What a page calls by a folder that is no more counts for the one file of
            that name (docs/LORA.md:15 of the same: `script/merge_lora_weights.py`, in `scripts`).
    """
    launches = files.starting(path, known)
    alone = files.alone(path, told=True)
    return bool(launches or alone) and all(
        _starts_one(launch, files.configured(script, launch)) for script, launch in launches
    )


def starts_one_on_each_machine(files: LaunchFiles, path: str, known: Set[str]) -> bool:
    """Whether every launch of the Python file `path` starts one process on a machine, whose `cuda:0` it has for itself.

    zwd-into-aurora 06e19fd scripts/inference/inference_zwd_precip.sh:74: `--nproc_per_node=1`, and `srun` runs that once on
    each node.

    Args:
        files, path, known: as for `only_starts_one`.
    """
    found = files.starting(path, known)
    return bool(found) and all(
        _one_here(launch) and once_on_each(launch, script.scheduler) and not launch.repeated
        for script, launch in found
    )


def starts_several(files: LaunchFiles, path: str, known: Set[str]) -> bool:
    """Whether the Python file `path` is started with a launcher that makes more than one process, or `srun` makes them.

    Args:
        files, path, known: as for `only_starts_one`.
    """
    return files.under_slurm(path) or any(
        not _starts_one(launch, files.configured(script, launch))
        for script, launch in files.starting(path, known)
    )


def waits_for_one(
    files: LaunchFiles, path: str, known: Set[str], asked: Iterable[tuple[str, Hashable]]
) -> bool:
    """Whether no launch of several processes gives one of the options of the Python file `path` that code waits for, and
    commands that start one process do, or it is that of a dry run.

    Args:
        files, path, known: as for `only_starts_one`.
        asked: the options, by name and value; None where it is enough that they are set.
    """
    several = [
        launch
        for script, launch in files.starting(path, known)
        if not _starts_one(launch, files.configured(script, launch))
    ]
    if not all(launch.complete for launch in several):
        return False
    alone = files.alone(path, told=True) if several else []
    return any(
        not any(_gives(launch.arguments, name, value) for launch in several)
        and (
            _ONLY_SHOWS.fullmatch(name) is not None
            or any(_gives(command.arguments, name, value) for _, command in alone)
        )
        for name, value in asked
    )


def _gives(arguments: Mapping[str, Option], name: str, value: Hashable) -> bool:
    """Whether a command gives an option; with a value, this one."""
    option = arguments.get(name)
    return option is not None and (value is None or option.value == str(value))


def start_of_several(files: LaunchFiles, path: str) -> Place | None:
    """The first launch that surely makes more than one process of the Python file `path`; None where none does."""
    found = [launch.place for _, launch in starts_of_several(files, path)]
    found += files.tasks_of(path)
    return min(found, key=lambda place: (place.path, place.line, place.column), default=None)


def starts_of_several(files: LaunchFiles, path: str) -> Iterator[tuple[Script, Launch]]:
    """The launches that surely make more than one process of the Python file `path`.

    `accelerate launch` asks the user's own configuration where it is told no number: that may be one.
    """
    for script, launch in files.surely_starting(path):
        configuration = files.configured(script, launch)
        if not _starts_one(launch, configuration) and (
            launch.launcher is not Launcher.ACCELERATE or _says_several(launch, configuration)
        ):
            yield script, launch


def _says_several(launch: Launch, configuration: Configuration | None) -> bool:
    """Whether `accelerate launch` is told of several processes: by a number, a kind of launch, or a configuration."""
    if "multi_gpu" in launch.options or any(
        name in launch.options for name in launch.row.processes
    ):
        return True
    number = configuration.values.get("num_processes") if configuration is not None else None
    return isinstance(number, int) and number > 1


def order(start: Start) -> tuple[str, int, int]:
    """Where a launch stands, to sort by."""
    return start.place.path, start.place.line, start.place.column


def engine_of(files: LaunchFiles, script: Script, launch: Launch) -> Chosen | None:
    """The engine of a launch, where nothing outside of the project has a say and it starts several processes."""
    configuration = files.configured(script, launch)
    if _starts_one(launch, configuration):
        return None
    by_script = _by_arguments(files, script, launch)
    if by_script is not None or launch.launcher is not Launcher.ACCELERATE:
        return by_script
    kind, where = _kind(launch, configuration)
    match kind, where:
        case _, None:
            return None
        case "FSDP", Place():
            return _fsdp(launch, configuration, where)
        case "DEEPSPEED", Place():
            return _zero(files, script, launch, configuration)
        case "MULTI_GPU", Place() if not any(map(_is_of_engine, launch.arguments)):
            return Chosen(Engine.DDP, _name(configuration, where, "--multi_gpu"), where)
    return None


_KINDS: Final = {"use_fsdp": "FSDP", "use_deepspeed": "DEEPSPEED", "multi_gpu": "MULTI_GPU"}
_OTHERS: Final = ("tpu", "tpu_cluster", "use_megatron_lm", "cpu")
_WHOLE: Final = ("NO_SHARD", "3")
"""How accelerate's configuration says that FSDP divides nothing: utils/constants.py, FSDP_SHARDING_STRATEGY."""
_FSDP_OF_TRAINER: Final = ("full_shard", "shard_grad_op", "hybrid_shard")
"""transformers' TrainingArguments: `--fsdp "full_shard auto_wrap"`."""
_CONFIGURED: Final = ("deepspeed", "deepspeed_config")
"""Options of scripts that take DeepSpeed's JSON: of TrainingArguments, and of deepspeed.add_config_arguments."""


def _kind(launch: Launch, configuration: Configuration | None) -> tuple[str, Place | None]:
    """accelerate's type of a launch and the place that says it: an option has the say, then the configuration.

    accelerate 1.15.0 commands/launch.py, _validate_launch_command.
    """
    for option, kind in _KINDS.items():
        if option in launch.options:
            return kind, launch.options[option].place
    if configuration is None or any(option in launch.options for option in _OTHERS):
        return "", None
    return str(configuration.values.get("distributed_type")), configuration.place(
        ("distributed_type",)
    )


def _fsdp(launch: Launch, configuration: Configuration | None, where: Place) -> Chosen | None:
    strategy: object = _section(configuration, "fsdp_config").get("fsdp_sharding_strategy")
    if (option := launch.options.get("fsdp_sharding_strategy")) is not None:
        strategy = option.value
    if str(strategy) in _WHOLE:
        return None
    return Chosen(Engine.FSDP, _name(configuration, where, "--use_fsdp"), where)


def _zero(
    files: LaunchFiles, script: Script, launch: Launch, configuration: Configuration | None
) -> Chosen | None:
    """ZeRO-3 by what has the first say: the options of the launch, then the section of the configuration."""
    if (file := launch.options.get("deepspeed_config_file")) is not None:
        return _by_json(files, script, file)
    if (stage := launch.options.get("zero_stage")) is not None:
        return _by_stage(stage)
    if configuration is None:
        return None
    section = _section(configuration, "deepspeed_config")
    if "deepspeed_config_file" in section:
        found = files.json_of(configuration)
        if found is None or stage_of(found.values) != 3:
            return None
        return Chosen(Engine.ZERO3, configuration.path, found.place(_STAGE))
    if str(section.get("zero_stage")) != "3":
        return None
    place = configuration.place(("deepspeed_config", "zero_stage"))
    return Chosen(Engine.ZERO3, configuration.path, place)


_STAGE: Final = ("zero_optimization", "stage")


def _by_arguments(files: LaunchFiles, script: Script, launch: Launch) -> Chosen | None:
    """What the script itself is told."""
    for name in _CONFIGURED:
        if (given := launch.arguments.get(name)) is not None and given.value is not None:
            return _by_json(files, script, given)
    if (stage := launch.arguments.get("zero_stage")) is not None:
        return _by_stage(stage)
    fsdp = launch.arguments.get("fsdp")
    if fsdp is not None and fsdp.sure and (fsdp.value or "").startswith(_FSDP_OF_TRAINER):
        return Chosen(Engine.FSDP, "--fsdp", fsdp.place)
    return None


def _by_json(files: LaunchFiles, script: Script, option: Option) -> Chosen | None:
    if option.value is None or not option.sure:
        return None
    found = files.named(option.value, script.path, Format.DEEPSPEED)
    if found is None or stage_of(found.values) != 3:
        return None
    return Chosen(Engine.ZERO3, found.path, found.place(_STAGE))


def _by_stage(option: Option) -> Chosen | None:
    if option.sure and option.value == "3":
        return Chosen(Engine.ZERO3, "--zero_stage 3", option.place)
    return None


def _starts_one(launch: Launch, configuration: Configuration | None) -> bool:
    """Whether a launch starts one process, which waits for nobody."""
    machines = launch.options.get(launch.row.machines)
    if launch.launcher is not Launcher.ACCELERATE and machines is not None:
        return machines.value == "1" and _one_here(launch)
    if launch.launcher is Launcher.ACCELERATE and configuration is not None:
        said = any(name in launch.options for name in launch.row.processes)
        return _one_here(launch) if said else configuration.values.get("num_processes") == 1
    return _one_here(launch)


def _one_here(launch: Launch) -> bool:
    number = launch.number(*launch.row.processes)
    if number is not None:
        return number[0] == 1
    if launch.launcher is Launcher.DEEPSPEED:  # all GPUs that it sees
        seen = launch.environment.get("CUDA_VISIBLE_DEVICES")
        included = launch.options.get("include")  # `localhost:0`, `worker-0@worker-1:0,2`
        chosen = included.value if included is not None else None
        return (seen is not None and (seen.text or "").isdecimal()) or (
            chosen is not None and re.fullmatch(r"[^@,:]+:\d+", chosen) is not None
        )
    # torchrun starts one where it is not told a number.
    named = any(name in launch.options for name in launch.row.processes)
    return launch.launcher is not Launcher.ACCELERATE and launch.options_known and not named


def _section(configuration: Configuration | None, name: str) -> dict[str, object]:
    return {} if configuration is None else section_of(configuration.values, name)


def _name(configuration: Configuration | None, where: Place, option: str) -> str:
    """The configuration that says it, else the option."""
    named = configuration is not None and configuration.path == where.path
    return where.path if named else option


def _is_of_engine(argument: str) -> bool:
    return any(word in argument for word in ("fsdp", "deepspeed", "zero"))
