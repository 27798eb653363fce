"""What code says of the launch it is made for: one process, one machine, one visible GPU for each rank."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, dotted_name, last_name
from distlint.analysis.program.handed import argument_of, calls_of
from distlint.analysis.program.linked import importers, linked, roots_of
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.options import options_of
from distlint.analysis.program.syntax import (
    asks_if_missing,
    assignments,
    literals,
    own_nodes,
    spawned_by,
)
from distlint.analysis.questions.lightning import TRAINER
from distlint.columns import split_lines
from distlint.nodes import walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite, Guard
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function, Module

_OWN_GPU: Final = pattern(
    r"""environ\[["']CUDA_VISIBLE_DEVICES["']\]\s*=\s*[^\n]*rank""", re.IGNORECASE
)
_OWN_WORKER: Final = pattern(r"ray\.remote\([^)\n]*\bnum_gpus\s*=\s*1\b")
_ON_FIRST: Final = (
    pattern(r"cuda\.set_device\(0\)"),
    pattern(r"^[^#\n]*\bdevice_ids=\[0\]", re.MULTILINE),
)
_INDICES: Final = frozenset({"gpu", "gpu_id", "device_id", "local_rank", "rank", "gpu_index"})
_SIZES: Final = pattern(r"(?:get_)?(?:world|my|mpi|dist)_?size|num_processes", re.IGNORECASE)
"""Names of the number of processes."""
_ADDRESS: Final = pattern(r"(?:tcp://)?(?:localhost|127\.0\.0\.1)(?::\d*)?$")
HERE: Final = pattern(r"tcp://(?:localhost|127\.0\.0\.1)(?![\w.])")
_COUNTS_MACHINES: Final = frozenset({"num_nodes", "n_nodes", "nnodes", "num_machines"})
_NUMBERS_MACHINE: Final = frozenset({"node_rank", "machine_rank", "node_id"})
_MACHINES: Final = pattern(r"machine_rank|node_rank|num_machines|nnodes|num_nodes|n_nodes")
_SPAWNS: Final = ("mp.spawn", "multiprocessing.spawn", "notebook_launcher")
_ADDRESSES: Final = ("MASTER_ADDR", "init_method", "dist_url", "host_name")
_LAUNCHED: Final = (
    "local_rank",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "process_index",
    "PartialState",
    "Accelerator",
    "torchrun",
)
"""Words of scripts that are started on several processes."""
_TRAINS: Final = pattern(r"\btrain(?:er|ing)?\b(?!\s*=\s*False)|Trainer|\.backward\(|\.fit\(|optim")
_WORKS: Final = pattern(
    r"\.(?:train|fit|run|step|backward|validate)\(|\boptim|(?<![a-z])(?:ranks?|dist(?:ributed)?|ddp)(?![a-z])"
)
"""What a script does that may be too much for one process, or says of ranks."""
_ON_ONE_GPU: Final = pattern(
    r"#[^\n]*\bonly (?:works? |runs? |supports? |tested )?(?:on|with|for) (?:1|one|a single|single) (?:gpu|process|device)\b",
    re.IGNORECASE,
)
_IDLE: Final = pattern(r"""^[ \t]*#.*|add_argument\(\s*["']--local[-_]rank["']""", re.MULTILINE)
"""What says nothing of ranks: comments, and the option that launchers fill, whether anybody asks for it or not."""
_MAKES_GROUP: Final = pattern(
    r"\b(?:Accelerator|PartialState|Fabric|\w*Trainer|TrainingArguments)\(|deepspeed\.init|hvd\.init|init_device_mesh"
)
"""What makes a process group beside `init_process_group`."""
_OTHER_LAUNCHERS: Final = pattern(
    r"torch\.distributed\.(?:launch|run)\b|torchrun|\bsrun\b|SLURM|WORLD_SIZE|nnodes"
)
_DEVICES: Final = pattern(r"device|gpu", re.IGNORECASE)
_OF_MACHINE: Final = pattern(r"local_(?:world_)?size|n?proc(?:s|esses)?_per_node")
"""Names for the number of ranks on one machine."""
_MAX_CALLERS: Final = 3
_NODES: Final = frozenset({"num_nodes", "nnodes", "nodes", "n_nodes", "num_machines"})


def without_launcher(guards: Iterable[Guard], function: Function) -> bool:
    """Whether conditions in force hold only where no launcher has numbered the processes."""
    return any(says_no_launcher(guard.node, guard.taken, function) for guard in guards)


def says_no_launcher(
    test: ast.expr, taken: bool, function: Function, above: frozenset[str] = frozenset()
) -> bool:
    """Whether a condition says that a process has no number: `args.rank == -1`, `args.gpu is None`.

    A flag of the function is what it was assigned: YOLOv6 e86a483 yolov6/core/engine.py:458,
    `dp_mode = device.type != "cpu" and args.rank == -1`. Under `mp.spawn` the index of the process is never
    None; without, one process has the machine (moco-v3 c349e6e main_moco.py:240).

    `above` are the flags that led here: trl 1.16.0 trl/trainer/grpo_trainer.py:657 has `tools = tools or []`.
    """
    for part, holds in literals(test, taken):
        match part:
            case ast.Name(id=name) if name not in above:
                given = assignments(function).get(name, ())
                flags = [v for v in given if isinstance(v, ast.BoolOp | ast.Compare)]
                if len(given) == len(flags) == 1 and says_no_launcher(
                    flags[0], holds, function, above | {name}
                ):
                    return True
            case ast.Compare(left=left, ops=[op], comparators=[right]) if (
                last_name(left) in _INDICES and asks_if_missing(op, right) is holds
            ):
                return True
            case ast.Compare(left=left, ops=[ast.Gt()], comparators=[ast.Constant(value=1)]) if (
                holds and last_name(left) in _one_on_several(function.module)
            ):
                return True
    return False


@remembered
def _one_on_several(module: Module) -> frozenset[str]:
    """The names of numbers that are 1 in each of several processes: of the GPUs that one drives, and what they bound.

    `if args.local_rank == -1: args.n_gpu = torch.cuda.device_count()`, `else: args.n_gpu = 1`. dlrm 090956e
    dlrm_s_pytorch.py:1083: `ngpus = 1` under `my_size > 1`, and `ndevices = min(ngpus, args.mini_batch_size, …)`.
    """
    if "device_count" not in module.source.text:
        return frozenset()
    arms = [
        (name, {id(v) for arm in (choice.body, choice.orelse) for _, v in _numbers(arm)})
        for choice in walk(module.source.tree, ast.If)
        for arm, taken in ((choice.body, True), (choice.orelse, False))
        if _says_launched(choice.test, taken)
        for name, value in _numbers(arm)
        if isinstance(value, ast.Constant) and value.value == 1
    ]
    given: dict[str, list[ast.expr]] = {}
    for name, value in _numbers([module.source.tree]):
        given.setdefault(name, []).append(value)
    found = {name for name, inside in arms if inside >= {id(v) for v in given[name]}}
    while more := {
        name
        for name, values in given.items()
        if name not in found
        and any(not isinstance(v, ast.Constant) and last_name(v) != name for v in values)
        and all(_is_bounded(v, found | {name}) for v in values)
    }:
        found |= more
    return frozenset(found)


def _numbers(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    """What nodes assign to variables and attributes, or hand on by keyword, by its last name."""
    for outer in nodes:
        for node in walk(outer, ast.Assign, ast.keyword):
            match node:
                case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value):
                    yield last_name(target), value
                case ast.keyword(arg=str(name), value=value):
                    yield name, value


def _is_bounded(value: ast.expr, names: set[str]) -> bool:
    """Whether a number is none above 1 where those of some names are 1."""
    match value:
        case ast.Name() | ast.Attribute():
            return last_name(value) in names
        case ast.Constant(value=int(number)):
            return number <= 1
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            return True
        case ast.Call(func=ast.Name(id="min"), args=args):
            return any(_is_bounded(each, names) for each in args)
        case ast.IfExp(body=body, orelse=orelse):
            return _is_bounded(body, names) and _is_bounded(orelse, names)
    return False


def _says_launched(test: ast.expr, taken: bool) -> bool:
    """Whether a condition says that there are several processes, or that a launcher has numbered this one."""
    for part, holds in literals(test, taken):
        match part:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                if last_name(left) in _INDICES and asks_if_missing(op, right) is (not holds):
                    return True
                if (
                    _SIZES.fullmatch(last_name(left))
                    and isinstance(op, ast.Gt)
                    and ast.unparse(right) == "1"
                    and holds
                ):
                    return True
    return False


def stands_without_launcher(function: Function, node: ast.AST) -> bool:
    """Whether a part of a function stands where no launcher has numbered the processes: there one has all data.

    Oscar 266075f oscar/run_gqa.py:511: "Only evaluate when single GPU otherwise metrics may not average well".
    """
    return any(
        says_no_launcher(outer.test, taken, function)
        and any(part is node for statement in branch for part in walk(statement))
        for outer in own_nodes(function, ast.If)
        for branch, taken in ((outer.body, True), (outer.orelse, False))
    )


def is_for_one_gpu(site: CallSite) -> bool:
    """Whether a comment on a call, or on a test that it stands under, says that it works on one GPU alone.

    CodeGen e3e8855 CodeXGLUE/Text-Code/text-to-code/code/run.py:624: `if args.do_eval:  # only works on 1 GPU`; below, each
    rank would compare its share with all of the data.
    """
    lines = [site.node.lineno, *(guard.node.lineno for guard in site.guards if not guard.exits)]
    if "only" not in site.module.source.text:
        return False
    written = split_lines(site.module.source.text)
    return any(_ON_ONE_GPU.search(written[line - 1]) for line in lines)


def made_without_launcher(function: Function, value: ast.expr) -> bool:
    """Whether a function gives what is read of a variable only where no launcher has numbered the processes.

    CodeGen e3e8855 CodeXGLUE/Code-Code/Clone-detection-BigCloneBench/code/run.py:303: with one, `results` is not there.
    """
    read = {node.id for node in walk(value, ast.Name)}
    made = [
        node
        for node in own_nodes(function, ast.Assign)
        if any(isinstance(target, ast.Name) and target.id in read for target in node.targets)
    ]
    return bool(made) and all(stands_without_launcher(function, node) for node in made)


@remembered
def refuses_machines(function: Function) -> bool:
    """Whether a function raises where there is more than one machine: `if num_nodes > 1: raise …`."""
    return _counts_machines(function.module) and any(
        isinstance(node.body[-1], ast.Raise)
        and any(
            isinstance(part, ast.Compare)
            and last_name(part.left) in _NODES
            and isinstance(part.ops[0], ast.Gt)
            and ast.unparse(part.comparators[0]) == "1"
            for part, holds in literals(node.test, True)
            if holds
        )
        for node in own_nodes(function, ast.If)
    )


@remembered
def _counts_machines(module: Module) -> bool:
    """Whether a file has a name for the number of machines."""
    return any(name in module.source.text for name in _NODES)


def expects_several(module: Module) -> bool:
    """Whether a file shows by its words that it is started on several processes; a Trainer alone runs on one as well."""
    return any(word in module.source.text for word in _LAUNCHED)


def may_train_on_several(module: Module) -> bool:
    """Whether a file speaks of ranks, or trains: who starts it on one GPU to try it has more for the work."""
    text = _IDLE.sub("", module.source.text)
    words = [word for word in _LAUNCHED if word in text]
    return (
        bool(words) and (words != ["local_rank"] or not _hands_on(module, "local_rank"))
    ) or _TRAINS.search(text) is not None


def looks_on(module: Module) -> bool:
    """Whether a script says nothing of ranks and trains nothing: what it uses of a trainer, one process uses as well.

    SimpleTuner bc8e6ab simpletuner/diagnostics/h3_objective_geometry.py:408 measures one batch with the trainer's model.
    """
    return (
        module.is_script
        and not expects_several(module)
        and _WORKS.search(module.source.text) is None
    )


def _hands_on(module: Module, name: str) -> bool:
    """Whether a file only hands a setting to functions that it imports from the program, and does nothing by it.

    P-tuning-v2 PT-Retrieval/batch_dense_retrieval.py:46: `setup_for_distributed_mode(encoder, …, args.local_rank)`,
    which the training shares.
    """
    calls = list(walk(module.source.tree, ast.Call))
    own = module.imports.keys() - module.installed
    handed = {
        id(argument)
        for call in calls
        if dotted_name(call.func).partition(".")[0] in own
        for argument in (*call.args, *(keyword.value for keyword in call.keywords))
    }
    return all(
        id(node) in handed
        for node in walk(module.source.tree, ast.Name, ast.Attribute)
        if last_name(node) == name
    )


def one_gpu_each(live: LiveProgram) -> bool:
    """Whether the program makes one GPU visible to each rank, which is `cuda:0` to that rank.

    consistency_models e32b69e cm/dist_util.py:27: `os.environ["CUDA_VISIBLE_DEVICES"] = f"{rank % 8}"`. Ray sets
    the variable for each worker (mochi-xdit issue 22: `@ray.remote(num_gpus=1)`). Slurm's tasks each see one where all of
    them are put onto the first: MLNeuronInverter a786488 train_dist.py:90, `set_device(0)`, and `device_ids=[0]` of DDP.
    """
    texts = [module.source.text for module in live.program.modules.values()]
    of_slurm = any("SLURM_PROCID" in text for text in texts)
    if of_slurm and all(any(sign.search(text) for text in texts) for sign in _ON_FIRST):
        return True
    return any(
        ("cuda_visible_devices" in text.lower() and _OWN_GPU.search(text))
        or _OWN_WORKER.search(text)
        for text in texts
    )


@remembered
def one_on_each_machine(module: Module) -> bool:
    """Whether a file starts one process on each machine: the numbers of the machines are those of the ranks.

    graphlearn-for-pytorch 26fe3d4 benchmarks/api/bench_dist_neighbor_loader.py:107: `world_size=num_nodes, rank=node_rank`.
    """
    return "world_size" in module.source.text and any(
        map(numbers_machines, walk(module.source.tree, ast.Call))
    )


def numbers_machines(call: ast.Call) -> bool:
    """Whether a call is given the machines' number for that of the processes, and this one's for the rank."""
    given = {k.arg: last_name(k.value) for k in call.keywords}
    return given.get("world_size") in _COUNTS_MACHINES and given.get("rank") in _NUMBERS_MACHINE


@remembered
def on_one_machine(live: LiveProgram, module: Module) -> bool:
    """Whether a file starts one machine, or all scripts that lead to it do.

    GPT-SoVITS 08d627c GPT_SoVITS/AR/data/bucket_sampler.py:48: one script imports it, whose Trainer of
    Lightning is told of no nodes, and then refuses to run on several (pytorch-lightning 2.6.6
    lightning_fabric/plugins/environments/torchelastic.py:95).
    """
    leading = live.answer(roots)[module]
    return (
        _says_one_machine(live, module)
        or (bool(leading) and all(_says_one_machine(live, m) for m in leading))
        or _groups_meet_here(live, module)
        or _groups_by_local_rank(live, module)
    )


def _groups_by_local_rank(live: LiveProgram, module: Module) -> bool:
    """Whether all groups of the files around are made with the local rank as the rank: two machines would share numbers.

    openseg.pytorch aefc755 lib/utils/distributed.py:63: `init_process_group("nccl", rank=args.local_rank)`.
    """
    ranks = [
        next((k.value for k in call.keywords if k.arg == "rank"), None)
        for each in linked(live.program, module)
        for _, call in groups_made(each)
    ]
    return bool(ranks) and all(
        rank is not None and last_name(rank) == "local_rank" for rank in ranks
    )


@remembered
def groups_of_own_devices(live: LiveProgram, module: Module) -> bool:
    """Whether the groups that a file makes, else all of the files around, have as many ranks as this machine has devices:
    a rank of another machine would not be among them.

    yolov10 453c6e3 ultralytics/engine/trainer.py:229: `world_size` is the length of the list of devices, as in the command
    by which the program starts its own ranks. LoRA_Lightning f516ba7 run_es_lora.py:62: `args.local_world_size` is handed on.
    """
    made = groups_made(module) or [
        made for each in linked(live.program, module) for made in groups_made(each)
    ]
    return bool(made) and all(
        any(
            keyword.arg == "world_size"
            and _counts_devices(live, function, keyword.value, _MAX_CALLERS)
            for keyword in call.keywords
        )
        for function, call in made
    )


def _counts_devices(live: LiveProgram, function: Function, size: ast.expr, depth: int) -> bool:
    """Whether a number is that of the devices of a machine, or a constant where it is not."""
    match size:
        case ast.Call(func=ast.Name(id="len"), args=[listed]):
            return _DEVICES.search(ast.unparse(listed)) is not None
        case ast.Call(func=func):
            return last_name(func) == "device_count"
        case ast.Attribute(attr=name):
            return _OF_MACHINE.fullmatch(name) is not None
        case ast.Name(id=name) if name in function.parameters:
            calls = calls_of(live.program, function) if depth else ()
            given = [(user, argument_of(call, function, name)) for user, call in calls]
            given += _handed_to_spawned(function, name) if depth else ()
            return bool(given) and all(
                each is not None and _counts_devices(live, user, each, depth - 1)
                for user, each in given
            )
        case ast.Name(id=name):
            values = assignments(function).get(name, [])
            counted = [value for value in values if not isinstance(value, ast.Constant)]
            return bool(counted) and all(
                _counts_devices(live, function, value, depth) for value in counted
            )
    return False


def _handed_to_spawned(function: Function, name: str) -> Iterator[tuple[Function, ast.expr | None]]:
    """What a parameter gets where its file spawns the function: `mp.spawn(work, args=(count,), nprocs=count)`."""
    index = function.parameters.index(name) - 1
    for user, call in spawned_by(function):
        match next((k.value for k in call.keywords if k.arg == "args"), None):
            case ast.Tuple(elts=elements) if 0 <= index < len(elements):
                yield user, elements[index]
            case _:
                yield user, None


def _groups_meet_here(live: LiveProgram, module: Module) -> bool:
    """Whether whoever makes a process group writes this machine's address over the launcher's, and no user has another.

    Music-Source-Separation-Training utils/settings.py:622, by which valid.py gets its ranks: `os.environ["MASTER_ADDR"]
    = "localhost"`. Of train_accelerate.py, which makes an Accelerator, valid.py knows nothing.
    """
    if not live.answer(all_meet_here):
        return False
    return not any(_makes_group(live, each) for each in importers(live.program, module))


@remembered
def _makes_group(live: LiveProgram, module: Module) -> bool:
    """Whether a file makes a process group by something else than `init_process_group`.

    A trainer of the program's own does not, unless its base does: STU-Net 0652eaf nnUNet-2.2/nnunetv2/training/nnUNetTrainer.
    """
    named = {match[0].rstrip("(") for match in _MAKES_GROUP.finditer(module.source.text)}
    return any(not _is_own(live, live.program.resolve_dotted(module, name)) for name in named)


def _is_own(live: LiveProgram, meaning: object) -> bool:
    return isinstance(meaning, Class) and not any(
        base.endswith("Trainer") for base in live.program.mro(meaning)[1]
    )


def all_meet_here(live: LiveProgram) -> bool:
    """Whether a program calls `init_process_group`, and wherever it does the processes meet on this machine."""
    made = [each for module in live.program.modules.values() for each in groups_made(module)]
    return bool(made) and all(
        _asked_here(call) or _meets_here(live, by, _MAX_CALLERS) for by, call in made
    )


def _asked_here(call: ast.Call) -> bool:
    """Whether a process group is made at an address of this machine that is written out in the call, but for the port.

    Openpilot-Deepdive 6e02f9d main.py:57: `init_method="tcp://localhost:%s" % os.environ["PORT"]`, with SLURM's rank.
    """
    given = [k.value for k in call.keywords if k.arg == "init_method"] or call.args[1:2]
    return any(
        isinstance(part.value, str) and HERE.match(part.value) is not None
        for address in given
        for part in walk(address, ast.Constant)
    )


@remembered
def groups_made(module: Module) -> list[tuple[Function, ast.Call]]:
    """The calls of `init_process_group` in a file, each with the function that makes it."""
    if "init_process_group" not in module.source.text:
        return []
    return [
        (function, node)
        for function in module.all_functions
        for node in own_nodes(function, ast.Call)
        if last_name(node.func) == "init_process_group"
    ]


def _meets_here(live: LiveProgram, function: Function, depth: int) -> bool:
    """Whether a function writes this machine's address into MASTER_ADDR, whatever was there, or all that call or spawn it do.

    STU-Net 0652eaf nnUNet-2.2/nnunetv2/run/run_training.py:165, above `mp.spawn(run_ddp, …)`, which calls `setup_ddp()`.
    """
    if _writes_address(function.body):
        return True
    above = (*calls_of(live.program, function), *spawned_by(function)) if depth else ()
    return bool(above) and all(
        any(map(_writes_address, _blocks_around(user, call))) or _meets_here(live, user, depth - 1)
        for user, call in above
    )


def _blocks_around(function: Function, call: ast.Call) -> Iterator[list[ast.stmt]]:
    """The branches of a function in which a call stands."""
    for outer in own_nodes(function, ast.If):
        for block in (outer.body, outer.orelse):
            if any(node is call for statement in block for node in walk(statement, ast.Call)):
                yield block


def _writes_address(block: list[ast.stmt]) -> bool:
    return any(
        isinstance(statement, ast.Assign)
        and _is_local(statement.value)
        and any(_text(target) == "MASTER_ADDR" for target in statement.targets)
        for statement in block
    )


def root_paths(live: LiveProgram, module: Module) -> list[str]:
    """The paths of the files that lead to a file, and that nothing imports, in order."""
    return sorted(m.source.path for m in live.answer(roots)[module])


def roots(live: LiveProgram) -> dict[Module, set[Module]]:
    """The files from which a file is imported, at any depth, and that nothing imports."""
    return roots_of(live.program)


def _says_one_machine(live: LiveProgram, module: Module) -> bool:
    return starts_one_machine(module) or _trains_on_one_node(live, module)


@remembered
def _trains_on_one_node(live: LiveProgram, module: Module) -> bool:
    """Whether a file makes Trainers of Lightning, and none for several machines."""
    nodes = _numbers_of_nodes(live, module)
    return nodes is not None and not nodes


@remembered
def _numbers_of_nodes(live: LiveProgram, module: Module) -> list[ast.expr] | None:
    """What a file gives the Trainers of Lightning that it makes as the number of machines, or what may hold that; None where
    it makes none."""
    if "Trainer" not in module.source.text:
        return None
    made = [
        node
        for node in walk(module.source.tree, ast.Call)
        if live.resolve(module, node.func) == TRAINER
    ]
    given = (keyword for call in made for keyword in call.keywords)
    return [k.value for k in given if k.arg in ("num_nodes", None)] if made else None


def _is_one(module: Module, number: ast.expr) -> bool:
    """Whether a number is 1, or an option of the file that is 1 where nobody says another.

    distributed-vae f301b5d dist/pl.py:184: `num_nodes=args.num_nodes`.
    """
    match number:
        case ast.Attribute(attr=name):
            defaults = [each.default for each in options_of(module) if each.name == name]
            return bool(defaults) and all(
                isinstance(each, ast.Constant) and each.value == 1 for each in defaults
            )
    return isinstance(number, ast.Constant) and number.value == 1


@remembered
def starts_ranks_in_fit(live: LiveProgram, module: Module) -> bool:
    """Whether a script's Trainers of Lightning are for one machine, and nothing in it speaks of another launcher.

    Then `fit` starts the other processes, which find what the first one has fetched in front of it (pytorch-lightning
    2.6.6 lightning_fabric/strategies/launchers/subprocess_script.py:84). longformer caefee6 scripts/triviaqa.py:756.
    """
    nodes = _numbers_of_nodes(live, module)
    return (
        nodes is not None
        and all(_is_one(module, each) for each in nodes)
        and not _OTHER_LAUNCHERS.search(module.source.text)
    )


@remembered
def starts_one_machine(module: Module) -> bool:
    """Whether a file starts one machine: it meets at localhost, or spawns and counts no machines.

    Not whatever names the host otherwise: yolov7 a207844 train.py:614 logs a URL of tensorboard,
    InternVL internvl/dist_utils.py:27 lists the addresses of this host, YOLOX yolox/core/launch.py:69
    starts each of several machines.
    """
    text = module.source.text
    spawns = any(word in text for word in _SPAWNS) and _names_spawn(module.source.tree)
    if not spawns and "localhost" not in text and "127.0.0.1" not in text:
        return False
    return not _MACHINES.search(text) and (spawns or meets_at_localhost(module.source.tree))


def _names_spawn(tree: ast.Module) -> bool:
    """Whether code names what starts processes, and no comment alone: Bert-VITS2 8f7fbd8 train_ms.py:78, `# Use torchrun
    instead of mp.spawn`."""
    ends = {word.rpartition(".")[2] for word in _SPAWNS}
    return any(
        (isinstance(node, ast.Name | ast.Attribute) and last_name(node) in ends)
        or (isinstance(node, ast.alias) and node.name in ends)
        for node in walk(tree)
    )


def meets_at_localhost(tree: ast.Module) -> bool:
    """Whether the address at which the processes meet is written out as this machine's own.

    Not where the launcher's variables are missing, for the one process that there is then: insightface's
    arcface_torch/train.py (SadTalker cd4c046 src/face3d/models/arcface_torch/train.py:27), `except KeyError: …
    init_process_group(init_method="tcp://127.0.0.1:12584", rank=0, world_size=1)`.
    """
    alone = {id(node) for handler in _without_launcher(tree) for node in walk(handler)}
    for statement in walk(tree):
        if id(statement) in alone:
            continue
        match statement:
            case ast.Assign(targets=[target], value=value):
                name = _text(target)
                if any(_is_local(each) and "tcp://" in ast.unparse(each) for each in walk(value)):
                    return True
            case ast.keyword(arg=str() as name, value=value):
                pass
            case ast.Call(func=made, args=[host, *_]) if last_name(made) == "TCPStore":
                name, value = _ADDRESSES[0], host
            case ast.Call(args=[ast.Constant(value=str() as name), value]):
                pass
            case ast.arguments(defaults=defaults) if any(map(_is_local, defaults)):
                return True
            case _:
                continue
        if any(word in name for word in _ADDRESSES) and any(map(_is_local, walk(value))):
            return True
    return False


def _without_launcher(tree: ast.Module) -> Iterator[ast.ExceptHandler]:
    """The handlers that take over where a variable of the launcher's is not set."""
    for node in walk(tree, ast.ExceptHandler):
        match node:
            case ast.ExceptHandler(type=ast.expr() as caught) if "KeyError" in ast.unparse(caught):
                yield node


def _is_local(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and _ADDRESS.match(node.value) is not None
    )


def _text(target: ast.expr) -> str:
    match target:
        case ast.Subscript(slice=ast.Constant(value=str() as key)):
            return key
    return dotted_name(target)
