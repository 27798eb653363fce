"""Groups that meet at a machine by its name, under a launcher that numbers the machines as it likes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.syntax import assignments
from distlint.knowledge.configuration.launchers import Launcher
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.live.summaries import CallGroup
    from distlint.analysis.model import Model
    from distlint.launch.commands import Launch

_GROUP: Final = "torch.distributed.init_process_group"
_OF_TORCHRUN: Final = "MASTER_ADDR"
"""Where rank 0 is, by what torchrun tells each process: torch 2.13.0 torch/distributed/elastic/agent/server/api.py."""


def numbered_freely(model: Model) -> Iterator[tuple[CallGroup, ast.expr, Launch]]:
    """The calls that meet at a host of the code's own, with the address and a launch whose machines have no numbers.

    pytorch issue 137402: `init_method=f"tcp://{os.environ['HEAD_NODE']}:29600"`, rank 0 listens there, and
    `--rdzv_backend c10d` makes any machine the first.
    """
    for call in model.calls(_GROUP):
        address = call.site.argument_node(1, "init_method")
        if address is None or call.site.argument_node(4, "rank") is None:
            continue
        parts = [address, *(v for n in walk(address) for v in _values(call, n))]
        texts = [n.value for p in parts for n in walk(p, ast.Constant)]
        if _OF_TORCHRUN in call.site.module.source.text or not any(
            str(text).startswith("tcp://") for text in texts
        ):
            continue
        for _, launch in model.launch.starting(call.site.module.path):
            if _has_no_numbers(launch):
                yield call, address, launch
                break


def _values(call: CallGroup, node: ast.AST) -> list[ast.expr]:
    return assignments(call.site.function).get(node.id, []) if isinstance(node, ast.Name) else []


def _has_no_numbers(launch: Launch) -> bool:
    """Whether torchrun starts several machines that find their numbers when they meet."""
    backend = launch.options.get("rdzv_backend")
    machines = launch.number("nnodes")
    return (
        launch.launcher is Launcher.TORCHRUN
        and backend is not None
        and backend.value in ("c10d", "etcd", "etcd-v2")
        and machines is not None
        and machines[0] > 1
    )
