"""The number of GPUs of the machine is taken for the number of ranks, or for a sign of model parallelism.

## What it does
Finds `if torch.cuda.device_count() > 1:` around what is meant for one process with several GPUs
(`DataParallel`, `model.is_parallelizable = True`, a second device), and `world_size=device_count()` handed
to `init_process_group`, or `num_replicas=device_count()` to a `DistributedSampler`, in programs that several ranks run, and
a WORLD_SIZE of all devices beside a `CUDA_VISIBLE_DEVICES` that may name fewer. A `world_size` that a variable counts is one where
scripts tell torch's launcher how many ranks it has to start.

## Why it is bad
Under a launcher every rank sees all GPUs of its machine. Each then spreads its model over the GPUs of the
others: eight copies everywhere. A Trainer (transformers before 5) that is told the model is parallel leaves
it where it is, on the CPU. As a world size the number is that of one machine: on two machines the group
forms twice, or not at all.

## Example
```python
if torch.cuda.device_count() > 1:
    model.is_parallelizable = True
    model.model_parallel = True
```

## Use instead
```python
if torch.cuda.device_count() > 1 and rank_info().world_size == 1:
    model.is_parallelizable = True
    model.model_parallel = True
```

## Fix safety
Unsafe: under a launcher the branch is no longer taken. A world size is only shown: it comes from
`WORLD_SIZE`, or is left out.

## Known limits
A world size is an error, and a warning where the group meets at `tcp://127.0.0.1`. A condition that asks for the launch as well, here or around it (`not args.distributed`, `ddp`,
`world_size`, `local_rank`), is trusted. Scripts that start one process for each GPU themselves
(`mp.spawn`, `nprocs=`) may count devices. The flags of the model say nothing where the project's
requirements.txt asks for transformers 5 or later. Silent where no script that leads to a file, or no file that goes with it, makes a process group.

## References
- torch 2.13.0 torch/cuda/__init__.py:1150
- transformers 4, trainer.py: `is_model_parallel` from `model.is_parallelizable and model.model_parallel`
- axolotl, commit 067b021c: core/trainers/ebft/strided.py takes the neighbour's GPU
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from distlint.analysis.live.several import has_group, makes_no_group
from distlint.analysis.model import Model, place_of, source_of, span_of
from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.environment import statements
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.launched import (
    HERE,
    on_one_machine,
    root_paths,
    roots,
    says_no_launcher,
)
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge import devices
from distlint.knowledge.configuration.launchers import OF_TORCH
from distlint.nodes import walk
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function, Module

CODE = "DL508"
NAME = "device-count-as-world-size"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = ()

_SAMPLER = "torch.utils.data.DistributedSampler"
_LAUNCH = (
    "ddp", "distributed", "world", "rank", "launch", "initialized", "nproc", "deepspeed", "fsdp",
    "local", "parallel_mode", "num_processes", "multi_gpu", "data_parallel",
)  # fmt: skip
"""Words of what asks for the launch, or for DataParallel in its place (TAP 352891f pythia/trainers/base_trainer.py:123:
`data_parallel is True`, an option of its own beside `distributed`)."""
_STARTS_RANKS = ("mp.spawn", "multiprocessing.spawn", "nprocs", "mp.Process", "notebook_launcher")
_PARALLEL_FLAGS = frozenset({"is_parallelizable", "model_parallel"})
_WITHOUT_FLAGS = (5,)
"""The release of transformers whose Trainer no longer reads them: transformers 5.6.0, trainer.py:459."""


def check(model: Model) -> Iterator[Finding]:
    """Each count of devices that stands for something else."""
    for module in model.modules:
        text = module.source.text
        if "device_count" not in text:
            continue
        if "CUDA_VISIBLE_DEVICES" in text:
            yield from map(_too_many, _more_than_visible(model, module))
        if any(word in text for word in _STARTS_RANKS):
            continue
        leading = model.answer(roots)[module]
        if (
            not model.is_distributed(module)
            or not has_group(model.program, module)
            or (leading and all(makes_no_group(model.program, each) for each in leading))
        ):
            continue
        for statement, above in statements(module.source.tree.body):
            if isinstance(statement, ast.If) and _counts(model, module, statement.test):
                tests = [s.test for s in (statement, *above) if isinstance(s, ast.If)]
                what = _for_one_process(model, module, statement)
                lone = says_no_launcher(statement.test, True, _function_of(module, above))
                if what and not lone and not any(_asks_launch(test) for test in tests):
                    yield _branch(module, statement, what)
        yield from _parts(model, module)
        for call in model.calls("torch.distributed.init_process_group", module=module):
            node = call.site.argument_node(None, "world_size")
            if (
                isinstance(node, ast.Name)
                and _is_count(model, call.site.function, node)
                and _is_told_how_many(model, module)
            ):
                yield _unequal(module, node)
            if isinstance(node, ast.Call) and model.resolve(module, node.func) in devices.COUNTS:
                address = call.site.argument_node(1, "init_method")
                # autodeeplab 065cf99 train_distributed.py:37: of one machine, on which the number may be right
                here = address is not None and HERE.search(ast.unparse(address))
                yield Finding(
                    CODE,
                    NAME,
                    SEVERITY if here else Severity.ERROR,
                    "the group waits for as many ranks as this machine has GPUs: on two machines, "
                    "or with fewer ranks, it never forms as meant. Leave `world_size` to the "
                    "launcher.",
                    place_of(module, node),
                    (),
                    Fix(Applicability.DISPLAY, "Leave `world_size` to the launcher"),
                )


def _is_told_how_many(model: Model, module: Module) -> bool:
    """Whether launchers start the ranks of a file, each as many as it is told, on whichever GPUs there are.

    PTT 3e73557 scripts/train_ddp.sh:9: `--nproc_per_node=${NGPUS}`, the first argument.
    """
    known = frozenset(each.source.path for each in model.program.modules.values())
    found = [
        launch
        for path in root_paths(model, module)
        for _, launch in model.launch.starting(path, known)
    ]
    return bool(found) and all(
        launch.launcher in OF_TORCH
        and "nproc_per_node" in launch.options
        and "CUDA_VISIBLE_DEVICES" not in launch.environment
        for launch in found
    )


def _unequal(module: Module, node: ast.expr) -> Finding:
    advice = "Leave `world_size` to the launcher"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        "the group waits for as many ranks as this machine has GPUs, and the launcher starts as many as it is told: with fewer "
        f"each waits for ranks that nobody starts. {advice}.",
        place_of(module, node),
        (),
        Fix(Applicability.DISPLAY, advice),
    )


def _more_than_visible(model: Model, module: Module) -> Iterator[tuple[Function, ast.Assign]]:
    """Where a function that names the GPUs of the ranks it starts writes a WORLD_SIZE of all that were there before.

    Uni-Mol 90f52c4 unimol_tools/unimol_tools/tasks/trainer.py:93: `world_size = torch.cuda.device_count()`, then
    `CUDA_VISIBLE_DEVICES = gpu`, which may be "0,1", and `WORLD_SIZE = str(world_size)`.
    """
    for function in module.all_functions:
        written = {_written(node): node for node in own_nodes(function, ast.Assign)}
        size, visible = written.get("WORLD_SIZE"), written.get("CUDA_VISIBLE_DEVICES")
        if size is None or visible is None or not isinstance(visible.value, ast.Name):
            continue
        counted = [
            node.id
            for node in walk(size.value, ast.Name)
            if all(v.lineno < visible.lineno for v in assignments(function).get(node.id, ()))
            and _is_count(model, function, node)
        ]
        if counted and any(
            not _names_all(model, function, value, (*counted, visible.value.id))
            and not isinstance(value, ast.Constant)
            for value in assignments(function).get(visible.value.id, ())
        ):
            yield function, size


def _names_all(model: Model, function: Function, value: ast.expr, counted: Sequence[str]) -> bool:
    """Whether the names of GPUs are made of how many there are, here or where one is assigned of which they are made."""
    made = [value]
    for part in walk(value, ast.Name):
        made += assignments(function).get(part.id, ())
    return any(
        (isinstance(part, ast.Name) and part.id in counted)
        or (isinstance(part, ast.Name | ast.Call) and _is_count(model, function, part))
        for each in made
        for part in walk(each)
    )


def _written(node: ast.Assign) -> str:
    """The variable of the environment that an assignment sets."""
    match node.targets:
        case [ast.Subscript(value=owner, slice=ast.Constant(value=str(name)))]:
            return name if dotted_name(owner) in ("os.environ", "environ") else ""
    return ""


def _too_many(found: tuple[Function, ast.Assign]) -> Finding:
    function, size = found
    advice = "Count the GPUs that CUDA_VISIBLE_DEVICES names"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        "this is the number of all GPUs of the machine, and the ranks see those alone that CUDA_VISIBLE_DEVICES names here: where "
        f"these are fewer, the group waits for ranks that have no GPU. {advice}.",
        place_of(function.module, size),
        (),
        Fix(Applicability.DISPLAY, advice),
    )


def _parts(model: Model, module: Module) -> Iterator[Finding]:
    """The samplers that are told as many parts as this machine has GPUs.

    gmflow b512343 main.py:341: `DistributedSampler(data, num_replicas=torch.cuda.device_count(), rank=args.local_rank)`.
    """
    if on_one_machine(model, module):
        return
    for call in model.calls(_SAMPLER, module=module):
        node = call.site.argument_node(1, "num_replicas")
        if node is not None and _is_count(model, call.site.function, node):
            advice = "Leave `num_replicas` and `rank` out: the sampler asks the process group"
            yield Finding(
                CODE,
                NAME,
                SEVERITY,
                "the data is cut into as many parts as this machine has GPUs: on two machines each goes through the same "
                f"parts, and with fewer ranks than GPUs some are read by nobody. {advice}.",
                place_of(module, node),
                (),
                Fix(Applicability.DISPLAY, advice),
            )


def _is_count(model: Model, function: Function, node: ast.expr, depth: int = 3) -> bool:
    """Whether a number is that of this machine's devices, by way of variables and attributes that hold nothing else.

    ResShift 3ce1d81 trainer.py:63: `self.num_gpus = num_gpus`, of `num_gpus = torch.cuda.device_count()`.
    """
    if isinstance(node, ast.Call):
        return model.resolve(function.module, node.func) in devices.COUNTS
    path, cls = dotted_name(node), function.cls
    if not path or not depth:
        return False
    makers: tuple[Function, ...] = (function,)
    if path.startswith("self.") and cls is not None:
        makers = tuple(
            method
            for each in model.program.mro(cls)[0]
            for method in each.self_assigned.get(path.removeprefix("self."), ())
        )
    made = [(maker, value) for maker in makers for value in assignments(maker).get(path, ())]
    return bool(made) and all(_is_count(model, *each, depth - 1) for each in made)


def _function_of(module: Module, above: Sequence[ast.AST]) -> Function:
    """The innermost function around a statement, given what encloses it."""
    nodes = {id(node) for node in above}
    inside = [f for f in module.all_functions if id(f.node) in nodes]
    return max(inside, key=lambda f: f.node.lineno, default=module.body)  # type: ignore[union-attr]


def _counts(model: Model, module: Module, test: ast.expr) -> bool:
    """Whether a condition asks for more than one device."""
    return any(
        isinstance(n.left, ast.Call)
        and model.resolve(module, n.left.func) in devices.COUNTS
        and isinstance(n.ops[0], ast.Gt | ast.GtE | ast.NotEq)
        and isinstance(n.comparators[0], ast.Constant)
        for n in walk(test, ast.Compare)
    )


def _asks_launch(test: ast.expr) -> bool:
    text = ast.unparse(test).lower()
    return any(word in text for word in _LAUNCH)


def _for_one_process(model: Model, module: Module, statement: ast.If) -> str:
    """What the branch does that only one process may do; "" for nothing."""
    for inner, above in statements(statement.body):
        if any(isinstance(s, ast.If) and _asks_launch(s.test) for s in above):
            continue
        if isinstance(inner, ast.Assign):
            target = inner.targets[0]
            if (
                isinstance(target, ast.Attribute)
                and target.attr in _PARALLEL_FLAGS
                and not model.launch.asks_for("transformers", _WITHOUT_FLAGS, module.path)
            ):
                return "takes its model to be spread over them, and does not move it to its own"
        if isinstance(inner, ast.Assign | ast.Return | ast.Expr) and inner.value is not None:
            for node in walk(inner.value):
                if (
                    isinstance(node, ast.Call)
                    and model.resolve(module, node.func) == "torch.nn.parallel.DataParallel"
                ):
                    return "spreads its batches over the GPUs of the others"
                if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _counted(node):
                    return "takes the GPU of its neighbour as well"
    return ""


def _counted(node: ast.BinOp) -> bool:
    text = ast.unparse(node.right)
    plus = isinstance(node.left, ast.BinOp) and isinstance(node.left.op, ast.Add)
    return plus and ("device_count" in text or "num_gpus" in text or "n_gpu" in text)


def _branch(module: Module, statement: ast.If, what: str) -> Finding:
    advice = "Ask for the number of ranks as well"
    test = source_of(module, statement.test)
    if isinstance(statement.test, ast.BoolOp) and isinstance(statement.test.op, ast.Or):
        test = f"({test})"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"every rank sees all GPUs of its machine: each {what}. {advice}.",
        place_of(module, statement.test),
        (),
        Fix(
            Applicability.UNSAFE,
            advice,
            (Replace(span_of(statement.test), f"{test} and $rank_info().world_size == 1"),),
        ),
    )
