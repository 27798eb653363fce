"""Whether the processes that come to a function can run on several machines."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from distlint.analysis.live.joint_entry import calling, leading
from distlint.analysis.program.definitions import Function, last_name
from distlint.analysis.program.linked import linked
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.options import options_of
from distlint.analysis.program.syntax import SPAWNERS, own_nodes, spawned_index, spawns
from distlint.analysis.questions.launched import (
    HERE,
    all_meet_here,
    groups_of_own_devices,
    meets_at_localhost,
    roots,
)
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Module
    from distlint.analysis.program.program import Program

_STARTS: Final = "init_process_group"
_ONE_MACHINE: Final = pattern(
    r"MASTER_ADDR[\"']\] = f?[\"'](?:localhost|127\.0\.0\.1)|init_method=f?[\"']tcp://(?:localhost|127\.0\.0\.1)"
)
_HOME: Final = pattern(r"tcp://|MASTER_ADDR")
_SPAWNS: Final = pattern(r"\bspawn\(|\bstart_processes\(")
_MACHINES: Final = pattern(
    r"SLURM|submitit|WORLD_SIZE|n(?:um_|ode_|_)?nodes?\b|node_rank|machines?\b|machine_rank|not in os\.environ"
)
"""Words of launches on several machines, and of a default where a launcher gave no address."""


def on_one_machine(live: LiveProgram, function: Function) -> bool:
    """Whether the processes meet at an address of their own machine, and so share its disk: in all scripts that lead here.

    ULIP f194ddb models/pointnext/PointNeXt/examples/classification/main.py:63: `dist_url = f"tcp://localhost:{port}"` above
    `mp.spawn(main, …)`; the main.py of the repository, which imports the same package, runs on several.
    """
    above = live.answer(roots)
    tops = leading(live.answer(_callers), function)
    starts = {root for top in tops for root in above[top.module]}
    if groups_of_own_devices(live, function.module) and live.answer(all_meet_here):
        # SegVol 5768c97 train.py:122: with another number of the machine, the rank is outside of the group.
        return True
    if not starts:
        return any(_says_one(live, module) for module in above)
    return all(_starts_one(live, root) for root in starts)


def speaks_of_machines(module: Module) -> bool:
    """Whether a file has a word of launches on several machines."""
    return _MACHINES.search(module.source.text) is not None


@remembered
def submits_jobs(program: Program) -> bool:
    """Whether the program has submitit start it."""
    return any(
        dotted.partition(".")[0] == "submitit"
        for module in program.modules.values()
        for dotted in module.imports.values()
    )


def _callers(live: LiveProgram) -> dict[Function, set[Function]]:
    return calling(
        (function, run)
        for function, summaries in live.of_several.items()
        for _, run in summaries.summaries()
    )


@remembered
def _starts_one(live: LiveProgram, root: Module) -> bool:
    """Whether a script, or what it imports, lets ranks meet on one machine alone."""
    return any(_says_one(live, m) for m, above in live.answer(roots).items() if root in above)


@remembered
def _says_one(live: LiveProgram, module: Module) -> bool:
    text = module.source.text
    elsewhere = live.answer(_spawned_elsewhere)
    for each in module.all_functions:
        first = next(iter(each.parameters), "") if each in elsewhere else ""
        if _is_rank(live, each, spawned_index(each) or first):
            return True
    if _HOME.search(text) is not None and any(map(_spawns_at_home, module.all_functions)):
        return True
    if _MACHINES.search(text):
        return False
    return _ONE_MACHINE.search(text) is not None or (
        _SPAWNS.search(text) is not None and meets_at_localhost(module.source.tree)
    )


def _spawned_elsewhere(live: LiveProgram) -> frozenset[Function]:
    """The functions that a file spawns which imports them.

    MockingBird 28dc5e1 control/cli/vocoder_train.py:75: `mp.spawn(train_hifigan, …)`, of models/vocoder/hifigan/train.py.
    """
    return frozenset(
        meant
        for module in live.program.modules.values()
        for _, _, given in spawns(module)
        if isinstance(meant := live.resolve(module, given), Function)
        and meant.module is not module
        and meant.cls is None
    )


def defaults_to_this_machine(program: Program, module: Module, option: str) -> bool:
    """Whether an option of the files around a file, where the processes meet, is this machine's address where nobody says.

    nni 767ed7f examples/nas/legacy/cdarts/config.py:81: `--dist_url`, 'tcp://127.0.0.1:23456'.
    """
    declared = [
        each.default
        for other in linked(program, module)
        if option in other.source.text
        for each in options_of(other)
        if each.name == option
    ]
    return bool(declared) and all(
        isinstance(default, ast.Constant)
        and isinstance(default.value, str)
        and is_of_this_machine(default.value)
        for default in declared
    )


def is_of_this_machine(address: str) -> bool:
    """Whether an address is that at which a machine meets itself."""
    return HERE.match(address) is not None


def _spawns_at_home(function: Function) -> bool:
    """Whether a function starts processes that meet at an address which it has written out itself, asking nothing.

    vicreg 4e12602 evaluate.py:118: `args.dist_url = f"tcp://localhost:{…}"` above `spawn(…)`. Slurm is asked for its
    signals alone. SegVol 5768c97 train.py:212: `os.environ["MASTER_ADDR"] = "127.0.0.1"`, whatever `--node_rank` is.
    """
    here = False
    for statement in function.body:
        match statement:
            case ast.Assign(
                targets=[
                    ast.Attribute(attr="dist_url" | "init_method")
                    | ast.Subscript(slice=ast.Constant(value="MASTER_ADDR"))
                ],
                value=value,
            ):
                here = (
                    re.match(r"f?[\"'](?:tcp://)?(?:localhost|127\.0\.0\.1)", ast.unparse(value))
                    is not None
                )
            case ast.Expr(value=ast.Call(func=called)) if last_name(called) in SPAWNERS and here:
                return True
    return False


def _is_rank(live: LiveProgram, function: Function, index: str) -> bool:
    """Whether the number that `mp.spawn` gives, which begins at 0 on each machine, is the rank in the group."""
    for node in own_nodes(function) if index else ():
        if not isinstance(node, ast.Call):
            continue
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        if any(isinstance(value, ast.Name) and value.id == index for value in given):
            call = live.call_at(node)
            callee = call.site.callee if call is not None else None
            calls = [node] if callee is None else list(own_nodes(callee))
            if any(isinstance(n, ast.Call) and last_name(n.func) == _STARTS for n in calls):
                return True
    return False
