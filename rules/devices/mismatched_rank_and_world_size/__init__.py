"""The rank and the world size that a process group or a part of the data is made with do not belong together.

## What it does
Finds calls of `init_process_group` whose rank comes from a variable of Slurm or MPI, while nothing on that
path takes the world size from anywhere but the default of an option; and those whose rank is the local one
beside the number of all processes (`LOCAL_RANK` with `WORLD_SIZE`, the index that `mp.spawn` passes with
nodes times GPUs). Also where a rank takes its part of the data by its local rank out of as many parts as there are
ranks, or by its global rank out of as many as there are on one machine: `data[local_rank::world_size]`,
`dataset.shard(world_size, local_rank)`, samplers (which count the ranks where nobody says how many parts there are), MONAI's
`partition_dataset` and readers, and classes that tell lm_eval their rank.

## Why it is bad
Under a plain `srun` every rank but 0 is then beyond the world size of 1: gloo says so, with NCCL the ranks
wait until the time is over, and rank 0 trains alone and looks as if all went well. A local rank is unique on
one machine only: on the second machine the same ranks announce themselves again, and the group waits for
those that nobody is. In data, half of the parts are taken by nobody, and the others twice; nothing says so.

## Errors you may see
- `rank < size. 1 vs 1`
- `Timed out after`

## Example
```python
if "RANK" in os.environ:
    args.rank, args.world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
elif "SLURM_PROCID" in os.environ:
    args.rank = int(os.environ["SLURM_PROCID"])
dist.init_process_group("nccl", rank=args.rank, world_size=args.world_size)
```

## Use instead
```python
elif "SLURM_PROCID" in os.environ:
    args.rank = int(os.environ["SLURM_PROCID"])
    args.world_size = int(os.environ["SLURM_NTASKS"])
```

## Fix safety
Shown only: which variable holds the number of processes is the scheduler's affair.

## Known limits
Silent where the call names this machine as the place to meet, where another place of the program fills the world size in (a launcher of submitit; not
a function that nobody calls or that makes a group itself), or a launch script passes it, and in a function that nobody names, of a file that others use. What is passed on the command line
by hand is not seen. Information where the configurations that name the address of a spawned group all name this
machine, and where an option does by its default and in each launch that sets it. A local rank that the program raises by those of the machines before is a global one. Of parts, silent where the group
itself is made with the local rank for its rank (the group is the finding), and in a function that nobody names and whose options no
file around gives a local rank. A parameter called `local_rank` is not taken to be one, nor is what a file does that starts a
single machine.

## References
- torch 2.13.0 torch/distributed/distributed_c10d.py: `init_process_group`; gloo/context.cc: `rank < size`
- LTH14/mar fe470ac util/misc.py:226, salesforce/BLIP 3a29b74 utils.py:259
- meituan/YOLOv6 e86a483 tools/train.py:125: the local rank; NVIDIA/BigVGAN 7d2b454 train.py:63: the index
- open-mmlab/Amphion models/vc/Noro/noro_trainer.py:197, EleutherAI/sae sparsify/__main__.py:161: parts of the data
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.ranks import WORLD_SIZE
from distlint.analysis.model import Model, place_of, related
from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.environment import Use, accesses, statements
from distlint.analysis.program.places import functions_at
from distlint.analysis.program.syntax import (
    assignments,
    own_nodes,
    spawned_index,
    target_names,
)
from distlint.analysis.questions.entered import is_named_nowhere, is_never_named
from distlint.analysis.questions.launched import groups_of_own_devices, starts_one_machine
from distlint.analysis.questions.machines import defaults_to_this_machine, is_of_this_machine
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge.ranks import ENVIRONMENT
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.rule import Status

from .parts import Mixed, mixed_pairs, mixed_parts

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.program.definitions import Function, Module
    from distlint.analysis.program.environment import Access

_HERE = ("tcp://localhost", "tcp://127.0.0.1")

CODE = "DL511"
NAME = "mismatched-rank-and-world-size"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = ()

_SIZES = {
    "SLURM_PROCID": "SLURM_NTASKS",
    "OMPI_COMM_WORLD_RANK": "OMPI_COMM_WORLD_SIZE",
    "PMI_RANK": "PMI_SIZE",
    "MV2_COMM_WORLD_RANK": "MV2_COMM_WORLD_SIZE",
}
"""Where a scheduler keeps the world size, by the variable of the rank (see `knowledge.ranks`)."""
_MACHINES = pattern(r"nodes?|machines|world_size")


def check(model: Model) -> Iterator[Finding]:
    """Each process group whose rank and world size come from different places."""
    told: set[tuple[Function, str]] = set()
    for call in model.calls("torch.distributed.init_process_group"):
        site = call.site
        rank, size = site.argument_node(4, "rank"), site.argument_node(3, "world_size")
        if rank is None or size is None or is_never_named(model.program, site.function):
            continue
        # LLM-Shearing b87218b instruction_tuning/alpaca_farm/distributed_utils.py:37: three calls in arms of one function.
        of_one = (site.function, ast.unparse(rank))
        if (
            of_one not in told
            and _is_local(site, rank, size)
            and not _meets_here(site)
            and not groups_of_own_devices(model, site.module)
        ):
            told.add(of_one)
            # Comprehensive-Transformer-TTS dca252c config/LJSpeech/train.yaml:4: `dist_url: "tcp://localhost:54321"`.
            settled = (
                spawned_index(site.function) is not None and model.launch.on_one_machine
            ) or _is_told_to_meet_here(model, site)
            yield _finding(
                site,
                rank,
                f"`{ast.unparse(rank)}` is counted on each machine, `{ast.unparse(size)}` over all: on "
                "the second machine the same ranks announce themselves again, and the group waits for "
                "ranks that nobody is. Pass the global rank.",
                "Pass the global rank",
                Severity.INFO if settled else SEVERITY,
            )
        for access in _from_scheduler(model, site, dotted_name(rank), dotted_name(size)):
            advice = f"Take the world size from `{_SIZES[access.name]}` there"
            yield _finding(
                site,
                access.statement,
                f"the rank comes from `{access.name}`, and `{ast.unparse(size)}` keeps the default of "
                "its option, however many processes there are: of more, the ranks beyond it are refused; of fewer, all "
                f"wait in vain. {advice}.",
                advice,
            )
    for module in model.modules:
        for mixed in (*mixed_parts(model, module), *mixed_pairs(model, module)):
            yield _part(mixed)


def _part(mixed: Mixed) -> Finding:
    """A part of the data that goes by the wrong number."""
    text, module = mixed.place.text, mixed.function.module
    if mixed.local:
        advice = "Take the part by the global rank"
        message = (
            f"{text} is counted on each machine, and the number of parts over all: on two machines the parts of the "
            f"second machine's ranks are taken by nobody, and the others twice. {advice}."
        )
    else:
        advice = "Divide by the number of all ranks"
        message = (
            f"{text} counts the ranks of all machines, and there are as many parts as ranks on one: on the second "
            f"machine the ranks find no part, or one that another rank has. {advice}."
        )
    told = (
        ()
        if mixed.place.node is mixed.node
        else (related(mixed.place.module, mixed.place.node, "the rank"),)
    )
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        message,
        place_of(module, mixed.node),
        told,
        Fix(Applicability.DISPLAY, advice),
    )


def _finding(
    site: CallSite, node: ast.AST, message: str, advice: str, severity: Severity = SEVERITY
) -> Finding:
    places = (related(site.module, site.node, "the group is made here"),)
    shown = places if node.lineno < site.node.lineno else ()  # type: ignore[attr-defined]
    fix = Fix(Applicability.DISPLAY, advice)
    return Finding(CODE, NAME, severity, message, place_of(site.module, node), shown, fix)


def _meets_here(site: CallSite) -> bool:
    """Whether the call itself says that the processes meet on this machine, beside which there is no second one.

    AVID-CMA 4538e40 utils/eval_utils.py:22: `init_method='tcp://localhost:{}'.format(args.port)`.
    """
    method = site.argument_node(1, "init_method")
    if method is None:
        return False
    given = [method, *assignments(site.function).get(dotted_name(method), ())]
    return any(
        isinstance(part, ast.Constant)
        and isinstance(part.value, str)
        and part.value.startswith(_HERE)
        for each in given
        for part in walk(each)
    )


def _is_told_to_meet_here(model: Model, site: CallSite) -> bool:
    """Whether an option says where the processes meet: on this machine by its default, and in each launch that names it.

    nni 767ed7f examples/nas/legacy/cdarts/retrain.py:82, with `--dist_url 'tcp://127.0.0.1:26443'` in run_retrain_cifar.sh.
    """
    method = site.argument_node(1, "init_method")
    if not isinstance(method, ast.Attribute):
        return False
    told = [launch.arguments.get(method.attr) for _, launch in model.launch.launches(told=True)]
    return defaults_to_this_machine(model.program, site.module, method.attr) and all(
        each is None or is_of_this_machine(each.value or "") for each in told
    )


def _is_local(site: CallSite, rank: ast.expr, size: ast.expr) -> bool:
    """Whether the rank is the place on its machine, and the world size counts those of all machines."""
    given, world = site.argument(4, "rank"), site.argument(3, "world_size")
    if given is None or world is None or starts_one_machine(site.module):
        return isinstance(rank, ast.Name) and _is_index(site, rank, size)
    kinds = {tag for tag in given.tags if tag.startswith("kind:")}
    if kinds == {"kind:local_rank"}:
        # A parameter is a local rank by its name only.
        named = given.origin is None or isinstance(given.origin.node, ast.Name | ast.arg)
        return (
            not named
            and not _is_made_of_it(site, rank)
            and world.const == WORLD_SIZE
            and "world_size" in world.tags
        )
    return isinstance(rank, ast.Name) and _is_index(site, rank, size)


def _is_made_of_it(site: CallSite, rank: ast.expr) -> bool:
    """Whether the rank is computed from the place on the machine, or looked up by it.

    ByteTrack d1bf019 yolox/core/launch.py:190: `machine_rank * num_gpus_per_machine + local_rank`; UER-py 5743050
    uer/initialize.py:7: `gpu_ranks[local_rank]`.
    """
    values = [rank, *assignments(site.function).get(ast.unparse(rank), ())]
    return any(
        isinstance(value, ast.BinOp)
        or (isinstance(value, ast.Subscript) and not isinstance(value.slice, ast.Constant))
        for value in values
    )


def _is_index(site: CallSite, rank: ast.Name, size: ast.expr) -> bool:
    """Whether `mp.spawn` passes the rank, and the world size is that of a machine times their number."""
    if spawned_index(site.function) != rank.id:
        return False
    match size:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return any(_MACHINES.search(_last_word(factor)) for factor in (left, right))
    return False


def _last_word(node: ast.expr) -> str:
    match node:
        case ast.Subscript(slice=ast.Constant(value=str() as key)):
            return key
    return dotted_name(node).rpartition(".")[2]


def _from_scheduler(model: Model, site: CallSite, rank: str, size: str) -> Iterator[Access]:
    """The places where a scheduler gives the rank, on a path that leaves the world size as it was."""
    if "." not in rank or "." not in size:
        return
    function = site.function
    ranks = [
        a
        for a in accesses(model.program, site.module)
        if a.name in _SIZES and a.use is Use.READ and a.function is function.node
    ]
    ranks = [a for a in ranks if ENVIRONMENT[a.name] == "rank" and _assigns(a.statement, rank)]
    if not ranks:
        return
    sizes = [
        _arms(statement, above)
        for statement, above in statements(function.body)
        if _assigns(statement, size)
    ]
    attr = size.rpartition(".")[2]
    if not sizes or not _has_default(model, attr) or _filled_in_elsewhere(model, site, attr):
        return
    for access in ranks:
        mine = _arms(access.statement, access.above)
        if all(any(mine.get(key, arm) is not arm for key, arm in each.items()) for each in sizes):
            yield access


def _has_default(model: Model, attr: str) -> bool:
    """Whether some parser has an option of the name, or a class or configuration a field, whose default the world size keeps.

    esvit 2d6becd utils.py:448 has none: there every process ends with AttributeError. ST-LLM ae45258
    stllm/common/dist_utils.py:106 has a variable of the name in another function, which is none.
    """
    option = re.compile(rf"--{attr.replace('_', '[-_]')}\b|\b{attr}\s*(?::\s*int\s*)?=\s*\d")
    for module in model.program.modules.values():
        if not option.search(module.source.text):
            continue
        variables = {
            (node.lineno, node.col_offset)
            for function in module.all_functions
            if not function.is_module_body
            for node in own_nodes(function, ast.Name)
            if node.id == attr and isinstance(node.ctx, ast.Store)
        }
        found = option.finditer(module.source.text)
        if any(_place_in(module.source.text, each.start()) not in variables for each in found):
            return True
    return False


def _place_in(text: str, at: int) -> tuple[int, int]:
    """The line, from 1, and the column in bytes of a place in a text."""
    above = text.rfind("\n", 0, at) + 1
    return text.count("\n", 0, at) + 1, len(text[above:at].encode())


def _assigns(statement: ast.stmt, name: str) -> bool:
    return isinstance(statement, ast.Assign) and any(
        name in target_names(target) for target in statement.targets
    )


def _arms(statement: ast.stmt, above: tuple[ast.stmt, ...]) -> dict[int, bool]:
    """The `if` statements around a statement: whether it stands in the body of each."""
    return {
        id(branch): inner in branch.body
        for branch, inner in pairwise((*above, statement))
        if isinstance(branch, ast.If)
    }


def _filled_in_elsewhere(model: Model, site: CallSite, attr: str) -> bool:
    """Whether another function gives the options their world size, or a launch script passes it."""
    for module in model.program.modules.values():
        if f".{attr}" not in module.source.text:
            continue
        for statement, above in statements(module.source.tree.body):
            if (
                isinstance(statement, ast.Assign)
                and not isinstance(statement.value, ast.Constant)
                and site.function.node not in above
                and any(_is_option(n, attr) for t in statement.targets for n in target_names(t))
                and not _comes_after(statement.value)
                and not _is_of_another_start(model, module, statement)
            ):
                return True
    return any(
        name.lstrip("-").replace("-", "_") == attr
        for _, launch in model.launch.launches(told=True)
        for name in launch.arguments
    )


def _comes_after(value: ast.expr) -> bool:
    """Whether a number is that of the processes of a group: there is none before the group is made.

    Adan 2c65bea CV/timm/train.py:336: `args.world_size = torch.distributed.get_world_size()`, of another script.
    """
    return isinstance(value, ast.Call) and last_name(value.func) == "get_world_size"


def _is_of_another_start(model: Model, module: Module, statement: ast.stmt) -> bool:
    """Whether a statement is in a function that nobody names, or that makes the group itself: a start beside this one.

    mae_st c5dec1b main_finetune.py:593: `launch_one_thread()`; Painter cfec845 Painter/util/ddp_utils.py:87.
    """
    return any(
        is_named_nowhere(model.program, function)
        or any(
            last_name(node.func) == "init_process_group" for node in own_nodes(function, ast.Call)
        )
        for function in functions_at(module, statement.lineno)
    )


def _is_option(name: str, attr: str) -> bool:
    """Whether a name is an attribute of something else than the object that the function belongs to."""
    owner, _, last = name.rpartition(".")
    return last == attr and owner not in ("", "self", "cls")
