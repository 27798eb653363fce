"""Which functions run in a program of one process, whatever they call: literal sizes that multiply to 1.

A parallel layout of sizes 1, settings that say `world_size=1`, a spawn of one process, `Fabric(devices=1)`, one task of Ray, a script whose docstring starts it with
`torchrun --nproc_per_node=1`, an assertion at the start that there is one process: what runs there is alone,
collectives included. So is what calls a function that sets up such a layout. A function that is named outside such places too may run elsewhere, and is not
among them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod
from typing import Final

from distlint.analysis.live.ray_tasks import is_one_task, starts_tasks
from distlint.analysis.live.written_sizes import (
    SAYS_ONE,
    handed_sizes,
    is_written_for_one,
    joins_as_one,
    settles_on_one,
    written_sizes,
)
from distlint.analysis.program.checks import is_asked_to_be_one, lets_one_pass
from distlint.analysis.program.definitions import Function, Module, dotted_name, last_name
from distlint.analysis.program.linked import imported, imported_below
from distlint.analysis.program.memory import all_remembered, remembered
from distlint.analysis.program.program import Program
from distlint.analysis.program.syntax import (
    assignments,
    default_of,
    mentions_rank,
    own_nodes,
)
from distlint.knowledge.libraries import canonical_name
from distlint.knowledge.sinks import COMMANDS
from distlint.nodes import LEAVES, children, walk
from distlint.patterns import pattern

_MAY_BE_ALONE: Final = tuple(
    pattern(words)
    for words in (
        "nproc[_-]per[_-]node",
        "nprocs",
        r"[\"']train_batch_size[\"']\s*:\s*1\b",
        "num_processes",
        r"world_size\s*=\s*1\b",
        r"world_size[\"']\s*:\s*1\b",
        r"world_size\s*=\s*\w+(?:\.|\[[\"'])world_size\b",
        r"parallel_size\s*=\s*1\b",
        r"dp(?<!\w..)(?:_size)?\s*=\s*1\b",
        r"ParallelContext\(\s*1\b",
        r"assert [^\n]{1,60} == 1\b",
        r"assert not \w+\.distributed\b",
        r"rank\W{0,4} (?:==|!=|>|>=|<) -?[01]\b",
        r"world_size\W{0,4} (?:!=|>) 1:\s*(?:raise|sys|exit|print)\b",
        r"WORLD_SIZE\W{0,4} (?:!=|>) 1:\s*(?:raise|sys|exit|print)\b",
        r"devices\s*=\s*(?:1\b|\[\w+\])",
        r"ray\.remote\(",
        SAYS_ONE.pattern,
    )
)
"""Each begins with letters, which are found ten times as fast as one of several beginnings."""
_SAYS_ONE: Final = pattern(r"world_size[\"']?\s*[=:]\s*1\b")
"""Settings of one process."""
SAYS_RANKS: Final = pattern(
    r"torch\.distributed|process_group|torchrun|launch|spawn|Accelerator|world_size|dist\.|rank\b|RANK\b"
)
"""What a file has that is made for several ranks."""
_SHARES: Final = pattern(r"DistributedSampler|split_between_processes|num_replicas")
"""What gives each rank its part of the data: a script made for several, whatever its example starts
(F5-TTS src/f5_tts/runtime/triton_trtllm/benchmark.py)."""
_LAUNCHED: Final = pattern(r"(?:torchrun|torch\.distributed\.\w+)\b(?:[^\n]|\\\n)*")
_LAUNCHER: Final = pattern(
    r"\btorchrun\b|torch\.distributed\.(?:run|launch)\b|\baccelerate launch\b"
)
_SUBMITS: Final = pattern(r"\s*(?:qsub|sbatch|bsub)\b")
"""How a command begins that hands a job to a cluster's queue."""
_STARTS_LAUNCHER: Final = pattern(r"os\.system\(|subprocess\.")
_COMMANDS: Final = COMMANDS | {"subprocess.Popen"}
"""Calls that run a command in a process below this one, whether they wait for it or not."""
_OF_GROUP: Final = pattern(r"rank|world_size|process_group|distributed|(?i:accelerator)")
_PER_NODE: Final = pattern(r"--nproc[_-]per[_-]node[ =]+(\S+)")
_SIZE: Final = pattern(
    r"world_size|nprocs|num_processes|.*parallel(?:ism)?_size|(?:dp|tp|pp|cp|ep|sp)(?:_size|_degree)?"
)
_WHOLE: Final = pattern(r"world_size|nprocs|num_processes|dp.*|data_parallel_size")
"""Sizes of the whole program, and of its data parallel part, which is else what the others leave over."""
_REPLICAS: Final = frozenset({"dp", "data_parallel_size"})
"""Without their number, what decides how many processes there are is the launcher."""
_SPAWNS: Final = frozenset({"spawn", "start_processes", "notebook_launcher"})
_STARTS: Final = frozenset({"init_process_group", "init_distributed"})
_JOINS: Final = pattern(
    r"(?i:init\w*_?(?:process_group|dist(?!ance)|ddp|device_mesh|parallel)|set_?up_?(?:dist|ddp)|(?:dist|ddp)\w*_?(?:init|set_?up))"
    r"|Accelerator\(|PartialState\(|Trainer\(|Fabric\(|(?:deepspeed|hvd|bmt)\.init|DistributedDataParallel\("
)
"""What a file has that makes a process group, or needs one."""
_MARKED: Final = pattern(r"mark\.world_size\(([^)]*)\)")
"""How the tests of composer and its like say on how many processes they run, and are chosen by in conftest.py."""
_LIGHTNING: Final = frozenset({"Fabric", "Trainer"})
"""What starts as many processes as it has `devices`, and refuses another number that a launcher has started."""
_OPTIONS: Final = pattern(
    r"ArgumentParser\(|sys\.argv|@hydra\.main|fire\.Fire\(|@click\.command|parse_args_into"
)
"""How a file reads the options that it is started with."""
_GPUS: Final = pattern(r"(?:n|num)_?(?:gpus?|devices|procs?|processes)|gpus|devices")
"""What is the size of the program only where the program makes it that: `WORLD_SIZE` is set from it."""


def alone(program: Program) -> frozenset[Function]:
    """The functions, and bodies of scripts, that only programs of one process run."""
    launching = {f for m in program.modules.values() for f in _launching(m)}
    modules = [m for m in program.modules.values() if _may_be_alone(m)]
    # What one file writes down may be what another makes its process group of.
    written = {m for m in modules if _SAYS_ONE.search(m.source.text)}
    modules += [
        m
        for m in program.modules.values()
        if m not in written and not written.isdisjoint(imported(program, m))
    ]
    found = {f for module in modules for f in _roots(program, module)}
    found.update(_callers(program, [f for f in found if _sets_up(program, f)]))
    for function in launching:
        found.add(function)
        found.update(_always_launching(program, function))
    near = [f for m in {f.module for f in found} for f in m.functions.values()]
    near += [f for m in modules if _has_check(m) for f in _mentioned(program, m.body)]
    work = [*(f for f in near if f not in found and _only_alone(program, f, found)), *found]
    found.update(work)
    while work:
        for function in _mentioned(program, work.pop()):
            if function not in found and _only_alone(program, function, found):
                found.add(function)
                work.append(function)
    return frozenset(found)


@all_remembered
def _launching(module: Module) -> Iterator[Function]:
    if _STARTS_LAUNCHER.search(module.source.text):
        yield from filter(_launches_ranks, module.all_functions)


@remembered
def _may_be_alone(module: Module) -> bool:
    """Whether a file may say that one process runs it."""
    return any(words.search(module.source.text) for words in _MAY_BE_ALONE)


def _launches_ranks(function: Function) -> bool:
    """Whether a function starts ranks with a launcher of its own, in processes below it.

    MCG-NJU/MeMOTR 7de13f4 eval_engine.py:71: `os.system(f"python -m torch.distributed.run … main.py --mode submit …")`,
    for each checkpoint that the one process finds. EasyNLP a4ee956 easynlp/cli.py:269 puts the words into a list first.
    Or whether it submits a job in which they start: miles-credit 5e14b83 credit/pbs.py:169, `Popen("qsub launch.sh", …)`.
    """
    commands = [
        node for node in own_nodes(function, ast.Call) if dotted_name(node.func) in _COMMANDS
    ]
    words = [
        part.value
        for command in commands
        for given in (command, *_put_into_commands(function, command))
        for part in walk(given, ast.Constant)
        if isinstance(part.value, str)
    ]
    return any(map(_LAUNCHER.search, words)) or (
        any(map(_SUBMITS.match, words)) and not _asks_who_it_is(function)
    )


def _asks_who_it_is(function: Function) -> bool:
    """Whether a function tells ranks apart, or meets others: rank 0 may submit the job that goes on with the training."""
    return any(
        mentions_rank(node.test)
        if isinstance(node, ast.If)
        else _OF_GROUP.search(last_name(node.func))
        for node in own_nodes(function, ast.If, ast.Call)
    )


def _put_into_commands(function: Function, command: ast.Call) -> Iterator[ast.AST]:
    """What a function assigns to the variables of a command, or to those that it is joined of, and puts into them."""
    names = {node.id for node in walk(command, ast.Name)}
    made = [value for name in names for value in assignments(function).get(name, ())]
    yield from made
    names |= {node.id for value in made for node in walk(value, ast.Name)}
    for node in own_nodes(function, ast.Call):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=owner), attr="append" | "extend"), args=args
            ) if owner in names:
                yield from args


def _always_launching(program: Program, function: Function) -> Iterator[Function]:
    """The functions that do nothing with ranks themselves and call one that launches them: they are the one process too."""
    for user, use in _uses(program, function):
        if use.called and not user.is_module_body and not _names_rank(user):
            yield user


def _names_rank(function: Function) -> bool:
    return any(
        _OF_GROUP.search(last_name(node)) for node in own_nodes(function, ast.Name, ast.Attribute)
    )


def _callers(program: Program, work: list[Function]) -> Iterator[Function]:
    """What calls a function that sets up one process: it is the same process, before the call and after.

    Conversion scripts of nanotron build a layout of sizes 1 in a helper.
    """
    seen = set(work)
    while work:
        function = work.pop()
        users = [user for user, use in _uses(program, function) if use.called]
        for user in (*users, *_own_users(program, function)):
            if user not in seen and not user.is_module_body:
                seen.add(user)
                work.append(user)
                yield user


def _own_users(program: Program, method: Function) -> Iterator[Function]:
    """The methods that call a method of their own object.

    ROLL 8eb27cc mcore_adapter/src/mcore_adapter/models/converter/post_converter.py:410: `self._init_model()` makes a group of one.
    """
    cls = method.cls
    for each in (cls, *program.subclasses(cls)) if cls is not None else ():
        if program.find_method(each, method.name) is method:
            for user in each.methods.values():
                if any(
                    dotted_name(node.func) == f"self.{method.name}"
                    for node in own_nodes(user, ast.Call)
                ):
                    yield user


def _sets_up(program: Program, function: Function) -> bool:
    return any(_makes_group_of_one(program, function, s) for s in _straight(function.body))


def _only_alone(program: Program, function: Function, found: set[Function]) -> bool:
    """Whether the program names a function, and only where one process runs it."""
    uses = [(user, use) for user, use in _uses(program, function) if user is not function]
    return bool(uses) and all(
        user in found or _drives(user) or is_behind_one(user, use.line)
        if use.called
        else _hands_to_one(use) or (user in found and not _drives(user) and not starts_tasks(user))
        for user, use in uses
    )


def is_pytests(function: Function) -> bool:
    """Whether pytest calls a function, in its own process."""
    return (
        function.name.startswith("test_")
        and (function.parent is None or function.parent.is_module_body)
        and is_of_tests(function.module)
    )


def is_of_tests(module: Module) -> bool:
    """Whether a file is one that pytest collects."""
    file = module.name.rpartition(".")[2]
    return file.startswith("test_") or file.endswith("_test")


def is_program(module: Module) -> bool:
    """Whether people start a file with options of its own, and pytest finds nothing in it to call.

    FAN ee1b7df segmentation/tools/test_city_c.py, which torch's launcher starts, as `tools/test_net.py` of many detectors.
    """
    return (
        module.is_script
        and _OPTIONS.search(module.source.text) is not None
        and not any(name.startswith("test") for name in module.functions)
        and not any(name.startswith("Test") for name in module.classes)
    )


def runs_alone(function: Function) -> bool:
    """Whether pytest calls a function of a file that says nothing of ranks: one process, whatever it calls.

    open_lm 9bb92ef tests/test_training_simple.py calls `main()`, which meets other ranks where there are some. Where a
    file marks its tests for several processes, the others are for one (llm-foundry 8c8dd48
    tests/a_scripts/inference/test_convert_composer_to_hf.py:1394, beside some with `@pytest.mark.world_size(2)`).
    """
    if not is_pytests(function):
        return False
    return not _says_ranks(function.module) or (
        _MARKED.search(function.module.source.text) is not None
        and not _is_marked_for_several(function)
    )


@remembered
def _says_ranks(module: Module) -> bool:
    return SAYS_RANKS.search(module.source.text) is not None


def _is_marked_for_several(function: Function) -> bool:
    """Whether a mark of a test, or of its class, asks for more than one process."""
    of_class = function.cls.node.decorator_list if function.cls is not None else []
    marks = (_MARKED.findall(ast.unparse(each)) for each in (*function.decorators, *of_class))
    return any(size != "1" for sizes in marks for size in sizes)


def _drives(function: Function) -> bool:
    """Whether one process runs a function: pytest's, or that which starts the others."""
    return is_pytests(function) or any(
        last_name(node.func) in _SPAWNS for node in walk(function.node, ast.Call)
    )


@all_remembered
def _roots(program: Program, module: Module) -> Iterator[Function]:
    body = module.source.tree
    if _is_launched_alone(ast.get_docstring(body) or "") and not _SHARES.search(module.source.text):
        yield module.body
    for function in module.all_functions:
        launches = (d for d in function.decorators if isinstance(d, ast.Call))
        if (
            any(_is_one(d, {}) for d in launches)
            or _sets_up(program, function)
            or _insists_on_one(function)
            or _is_of_one(function)
            or settles_on_one(program, function)
            or joins_as_one(program, function)
        ):
            yield function
    if _insists_on_one(module.body) or is_written_for_one(program, module):
        yield module.body
    for node in walk(body, ast.Call):
        if node.args and _may_launch(node):
            given = program.resolve_dotted(module, dotted_name(node.args[0]))
            if isinstance(given, Function) and (
                all(_hands_to_one(use) for _, use in _uses(program, given))
                or _has_all_devices(program, given)
                or _is_started_as_one_task(program, given)
            ):
                yield given


def _is_started_as_one_task(program: Program, function: Function) -> bool:
    """Whether the program names a function in one place alone, where Ray makes one process of it."""
    uses = list(_uses(program, function))
    return len(uses) == 1 and all(
        use.call is not None and is_one_task(program, user, use.call, function)
        for user, use in uses
    )


def _has_all_devices(program: Program, worker: Function) -> bool:
    """Whether a worker that is started as one process or as several meets no other, and puts its model on all GPUs.

    PFENet a505675 train.py:86: an option for several processes is left over, above `else: main_worker(…)`; the worker has
    DataParallel without a list of devices, and nothing makes a process group.
    """
    return (
        any(use.called for _, use in _uses(program, worker))
        and any(
            isinstance(statement, ast.Assign) and _is_on_all_devices(statement.value)
            for statement in worker.body
        )
        and not any(_joins(each) for each in imported_below(program, worker.module))
    )


def _is_on_all_devices(value: ast.expr) -> bool:
    match value:
        case ast.Call(func=func, args=[_], keywords=[]):
            return last_name(func) == "DataParallel"
    return False


@remembered
def _joins(module: Module) -> bool:
    """Whether a file makes a process group, or may."""
    return _JOINS.search(module.source.text) is not None


def _may_launch(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Call) or last_name(call.func) in (*_SPAWNS, "remote")


def _is_launched_alone(docstring: str) -> bool:
    """Whether every launch command of a docstring starts one process."""
    commands = _LAUNCHED.findall(docstring)
    counts = [_PER_NODE.findall(command) for command in commands]
    return bool(counts) and all(
        found == ["1"] and "nnodes" not in command
        for found, command in zip(counts, commands, strict=True)
    )


@remembered
def _insists_on_one(function: Function) -> bool:
    """Whether a function ends at its start where there are several processes.

    Lumina-T2X 1c60696 lumina_next_t2i/sample.py:339: `assert args.num_gpus == 1` in front of `main(args, 0, port)`,
    which sets `WORLD_SIZE` from it.
    """
    body = [
        statement
        for outer in function.body
        for statement in (
            outer.body if isinstance(outer, ast.If) and _is_start(outer.test) else [outer]
        )
    ]
    return (
        any(map(_refuses_several, body))
        or any(map(_has_one_sample, body))
        or any(map(lets_one_pass, body))
        or any(
            _becomes_size(function.module, size)
            for statement in body
            for size in is_asked_to_be_one(statement)
        )
    )


def _refuses_several(statement: ast.stmt) -> bool:
    """Whether a script ends where its options ask for several processes.

    fairchem 31c0963 src/fairchem/core/modules/scaling/fit.py:230: `assert not args.distributed`.
    """
    match statement:
        case ast.Assert(test=ast.UnaryOp(op=ast.Not(), operand=ast.Attribute(attr="distributed"))):
            return True
    return False


def _has_one_sample(statement: ast.stmt) -> bool:
    """Whether a configuration of DeepSpeed has one sample in the batch of all ranks, which it refuses to more of them.

    t-zero 7a699e3 inference/model_offload.py:32; DeepSpeed 0.17 deepspeed/runtime/config.py: `_batch_assertion`.
    """
    match statement:
        case ast.Assign(value=ast.Dict(keys=keys, values=values)):
            return any(
                isinstance(key, ast.Constant)
                and key.value == "train_batch_size"
                and isinstance(size, ast.Constant)
                and size.value == 1
                for key, size in zip(keys, values, strict=True)
            )
    return False


def _is_start(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and dotted_name(test.left) == "__name__"


@remembered
def _has_check(module: Module) -> bool:
    return any(lets_one_pass(node) for node in walk(module.source.tree, ast.Assert, ast.If))


def is_behind_one(function: Function, line: int) -> bool:
    """Whether a line stands below a check, in a block around it, that several processes do not pass.

    terapipe 1a17aa2 terapipe.py:370: `assert dist.get_world_size() == 1` in the branch that saves; in the other one all
    ranks load.
    """
    block: list[ast.stmt] = function.body if _has_check(function.module) else []
    while block:
        inside: list[ast.stmt] = []
        for statement in block:
            if statement.lineno <= line <= (statement.end_lineno or statement.lineno):
                inside = _block_at(statement, line)
            elif statement.lineno < line and lets_one_pass(statement):
                return True
        block = inside
    return False


def _block_at(statement: ast.stmt, line: int) -> list[ast.stmt]:
    """The block right below a statement that a line stands in."""
    owners = [statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]
    for owner in owners:
        for name in ("body", "orelse", "finalbody"):
            block: list[ast.stmt] = getattr(owner, name, [])
            if block and block[0].lineno <= line <= (block[-1].end_lineno or line):
                return block
    return []


def _becomes_size(module: Module, size: ast.expr) -> bool:
    """Whether a file makes as many processes as an option says: `os.environ["WORLD_SIZE"] = str(args.num_gpus)`."""
    name = last_name(size)
    if not _GPUS.fullmatch(name):
        return False
    for node in walk(module.source.tree):
        match node:
            case ast.Assign(
                targets=[ast.Subscript(slice=ast.Constant(value="WORLD_SIZE"))], value=given
            ):
                pass
            case ast.keyword(arg="world_size" | "nprocs", value=given):
                pass
            case _:
                continue
        if any(last_name(n) == name for n in walk(given, ast.Name, ast.Attribute)):
            return True
    return False


def _is_of_one(method: Function) -> bool:
    """Whether the constructor of a method's class ends where there are several processes.

    LOMO 45d4bac lomo/src/lomo_lora_trainer.py:44: "Distributed training for LOMO+LoRA is not supported yet."
    """
    constructor = method.cls.methods.get("__init__") if method.cls is not None else None
    return constructor is not None and _insists_on_one(constructor)


def _straight(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, (ast.With, ast.AsyncWith)) or (
            isinstance(statement, ast.If) and _is_start(statement.test)
        ):
            # miles-credit 5e14b83 credit/models/checkpoint.py:431: a library whose own start shows it on one GPU.
            yield from _straight(statement.body)
        elif isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return)):
            yield statement


def _makes_group_of_one(program: Program, function: Function, statement: ast.stmt) -> bool:
    value = getattr(statement, "value", None)
    if not isinstance(value, ast.Call):
        return False
    name = last_name(value.func)
    if name in _STARTS:
        return _is_one(value, written_sizes(program, function, value))
    helper = program.resolve_dotted(function.module, dotted_name(value.func))
    if isinstance(helper, Function) and _starts_one(program, function, value, helper):
        return True
    if name in _LIGHTNING:
        return _has_one_device(function.module, value) and _all_have_one_device(function.module)
    if not isinstance(value.func, ast.Call):
        sizes = [k for k in value.keywords if k.arg is not None and _SIZE.fullmatch(k.arg)]
        layout = len(sizes) > 1 and any(k.arg in _REPLICAS for k in sizes)
        if layout and _is_one(value, _defaults(program, function, sizes)):
            return True
    if not name.endswith("ParallelContext"):
        return False
    given = [a.value for a in value.args if isinstance(a, ast.Constant)]
    plain = len(given) > 1 and len(given) == len(value.args) and set(given) == {1}
    return _is_one(value, {}) or (plain and not value.keywords)


def _starts_one(program: Program, function: Function, call: ast.Call, helper: Function) -> bool:
    """Whether a helper makes a process group of what it is handed: `setup(rank=0, world_size=1)`."""
    started = [
        statement.value
        for statement in _straight(helper.body)
        if isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and last_name(statement.value.func) in _STARTS
    ]
    return bool(started) and _is_one(started[0], handed_sizes(program, function, call, helper))


def _has_one_device(module: Module, call: ast.Call) -> bool:
    """Whether Lightning drives one device: `Fabric(devices=1)`, `Trainer(devices=[0])`, up to 1.9 `Trainer(gpus=[0])`."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    devices = given.get("devices", given.get("gpus"))
    if isinstance(devices, ast.Name):
        # warp-drive bac017e tutorials/tutorial-7: `num_gpus = 1`, and `devices=num_gpus`.
        written = _constants(module.body).get(devices.id)
        return written == 1 and "num_nodes" not in given
    match devices:
        case ast.Constant(value=1) | ast.List(elts=[_]):
            nodes = given.get("num_nodes")
            return nodes is None or (isinstance(nodes, ast.Constant) and nodes.value == 1)
    return False


@remembered
def _all_have_one_device(module: Module) -> bool:
    """Whether a file makes no other: a script that tests on one device may have trained on several before."""
    return all(_has_one_device(module, call) for call in _made_by_lightning(module))


def _made_by_lightning(module: Module) -> Iterator[ast.Call]:
    """The calls of a file that make what starts as many processes as it has devices, by their names."""
    for node in walk(module.source.tree, ast.Call):
        if last_name(node.func) in _LIGHTNING:
            yield node


@remembered
def trains_on_one_device(program: Program) -> bool:
    """Whether a program makes Trainers of Lightning, and each for one device: its modules meet no other rank.

    As the one of warp-drive bac017e tutorials/tutorial-7-training_with_warp_drive_and_pytorch_lightning.py does.
    """
    made = [
        (module, call)
        for module in program.modules.values()
        if "Trainer(" in module.source.text
        for call in _made_by_lightning(module)
        if _is_lightnings(program.resolve_dotted(module, dotted_name(call.func)))
    ]
    return bool(made) and all(_has_one_device(module, call) for module, call in made)


def _is_lightnings(meaning: object) -> bool:
    return isinstance(meaning, str) and canonical_name(meaning) == "lightning.pytorch.Trainer"


def _defaults(program: Program, function: Function, sizes: list[ast.keyword]) -> dict[str, object]:
    """What `config.dp` is where `config = make_config()` leaves `dp` at its default, by its path."""
    found: dict[str, object] = {}
    for keyword in sizes:
        match keyword.value:
            case ast.Attribute(value=ast.Name(id=name), attr=attr):
                match assignments(function).get(name, ()):
                    case [ast.Call(func=made, args=[], keywords=[])]:
                        maker = program.resolve_dotted(function.module, dotted_name(made))
                        given = default_of(maker, attr) if isinstance(maker, Function) else None
                        if isinstance(given, ast.Constant):
                            found[dotted_name(keyword.value)] = given.value
    return found


def _is_one(call: ast.Call, names: dict[str, object]) -> bool:
    """Whether the sizes that a call names are literal, and multiply to 1."""
    sizes: list[object] = []
    whole = False
    for keyword in call.keywords:
        if keyword.arg is not None and _SIZE.fullmatch(keyword.arg):
            value = keyword.value
            sizes.append(
                value.value if isinstance(value, ast.Constant) else names.get(ast.unparse(value))
            )
            whole = whole or bool(_WHOLE.fullmatch(keyword.arg))
    numbers = [size for size in sizes if isinstance(size, int)]
    return whole and len(numbers) == len(sizes) and prod(numbers) == 1


class _Use:
    """A place that names a function: whether it calls it there, or of which call it is an argument."""

    __slots__ = ("call", "called", "line", "names")

    def __init__(
        self, call: ast.Call | None, called: bool, line: int, names: dict[str, object]
    ) -> None:
        self.call = call
        self.called = called
        self.line = line
        self.names = names


def _hands_to_one(use: _Use) -> bool:
    """Whether a function is handed to one process: `spawn(f, nprocs=1)`, `launch(tp=1, dp=1)(f)`."""
    call = use.call
    if call is None:
        return False
    if isinstance(call.func, ast.Call):
        return _is_one(call.func, use.names)
    return last_name(call.func) in _SPAWNS and _is_one(call, use.names)


def _mentioned(program: Program, function: Function) -> Iterator[Function]:
    """The plain functions that a function names."""
    for node in walk(function.node, ast.Name, ast.Attribute):
        found = program.resolve_dotted(function.module, dotted_name(node))
        if isinstance(found, Function) and found.cls is None and not found.is_module_body:
            yield found
    yield from function.nested.values()


def _uses(program: Program, function: Function) -> Iterator[tuple[Function, _Use]]:
    """Where the program names a function: the function that does, and how."""
    for module, node, parent, user in _naming(program).get(function.name, ()):
        if program.resolve_dotted(module, dotted_name(node)) is function:
            call = parent if isinstance(parent, ast.Call) and node in parent.args else None
            called = isinstance(parent, ast.Call) and parent.func is node
            yield user, _Use(call, called, node.lineno, _constants(user))


@remembered
def _naming(program: Program) -> dict[str, list[tuple[Module, ast.expr, ast.AST, Function]]]:
    """The places that have the name of a function of the program, by it, also where a file imports it as another."""
    found: dict[str, list[tuple[Module, ast.expr, ast.AST, Function]]] = {}
    for module in program.modules.values():
        for name, places in _named(program, module).items():
            here = [(module, *place) for place in places]
            for meant in {name, module.imports.get(name, name).rpartition(".")[2]}:
                found.setdefault(meant, []).extend(here)
    return found


@remembered
def _named(program: Program, module: Module) -> dict[str, list[tuple[ast.expr, ast.AST, Function]]]:
    """The places of a file that have the name of a function of the program, or an imported one: what stands
    around each, and the function that it is in."""
    names = _function_names(program) | module.imports.keys()
    by_node = {id(f.node): f for f in module.all_functions}
    found: dict[str, list[tuple[ast.expr, ast.AST, Function]]] = {}
    work: list[tuple[ast.AST, Function]] = [(module.source.tree, module.body)]
    for parent, user in work:
        for node in children(parent):
            if isinstance(node, (ast.Name, ast.Attribute)) and (name := last_name(node)) in names:
                found.setdefault(name, []).append((node, parent, user))
            if node.__class__ not in LEAVES:
                work.append((node, by_node.get(id(node), user)))
    return found


@remembered
def _function_names(program: Program) -> frozenset[str]:
    return frozenset(f.name for f in program.functions())


@remembered
def _constants(function: Function) -> dict[str, object]:
    """Names that a function binds once, to a literal."""
    values: dict[str, list[object]] = {}
    for node in walk(function.node, ast.Assign):
        for target in node.targets:
            literal = node.value.value if isinstance(node.value, ast.Constant) else None
            values.setdefault(dotted_name(target), []).append(literal)
    return {name: given[0] for name, given in values.items() if len(given) == 1}
