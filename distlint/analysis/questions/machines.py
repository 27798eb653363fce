"""Whether the processes of a program can run on several machines."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import last_name
from distlint.analysis.program.syntax import own_nodes, spawned_index

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function

_STARTS: Final = "init_process_group"
_ONE_MACHINE: Final = re.compile(
    r"MASTER_ADDR[\"']\] = f?[\"'](?:localhost|127\.0\.0\.1)|init_method=f?[\"']tcp://(?:localhost|127\.0\.0\.1)"
)
_MACHINES: Final = re.compile(
    r"SLURM|submitit|WORLD_SIZE|n(?:um_|ode_|_)?nodes?\b|node_rank|not in os\.environ"
)
"""Words of launches on several machines, and of a default where a launcher gave no address."""


def on_one_machine(live: LiveProgram) -> bool:
    """Whether the processes meet at an address of their own machine, and so share its disk."""
    modules = list(live.program.modules.values())
    if any(_is_rank(live, f, spawned_index(f)) for m in modules for f in m.all_functions):
        return True
    texts = (module.source.text for module in modules)
    return any(_ONE_MACHINE.search(text) and not _MACHINES.search(text) for text in texts)


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
