"""A collective that some ranks never reach.

What it does
------------
Follows each class of ranks (rank 0, the others, the first of another node, the last) through the program,
and reports a collective that one class performs while another never comes to it: under a branch on the
rank, behind an early `return`, `continue`, `break` or `raise` of some ranks, in a function that a
decorator keeps to the main process, through any depth of helpers, methods and context managers.

Why it is bad
-------------
A collective ends when every rank of its group has called it. The ranks that did call it wait until the
timeout of the process group ends the job, 10 to 30 minutes later, or for ever.

Example
-------
    if accelerator.is_main_process:
        accelerator.wait_for_everyone()
        save(model)

Use instead
-----------
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        save(model)

Fix safety
----------
Shown, not applied, unless the collective is a barrier that is the first statement of the branch and all
ranks come to the branch: moving it in front of the guard is then safe.

Known limits
------------
Collectives of a process group other than the default are not compared: who is a member is not known.
What a server loop (`while True: command = scatter(...)`) does is not compared.

References
----------
- torch 2.13.0, torch/distributed/distributed_c10d.py: `barrier`, `all_reduce` "blocks processes until
  the whole group enters this function".
- Aiken and Gay, "Barrier inference", POPL 1998.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distlint.analysis.divergence import Divergence
from distlint.analysis.ir import Layer
from distlint.analysis.model import Model, place_of, span_of
from distlint.analysis.witness import absence, event_text, related_places, waiting, witness
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.fixing.edits import Move
from distlint.rule import Status

CODE = "DL101"
NAME = "collective-not-on-all-ranks"
SEVERITY = Severity.ERROR
STATUS = Status.STABLE
LITERALS = (
    b"barrier",
    b"wait_for_everyone",
    b"all_reduce",
    b"all_gather",
    b"gather",
    b"torch.distributed",
)


def check(model: Model) -> Iterator[Finding]:
    """Every collective of the default group that some class of ranks never reaches."""
    for divergence in model.divergences():
        if divergence.kind == "rank" and divergence.layer is Layer.ALWAYS and divergence.missing:
            first = f"{waiting(divergence)}; {absence(divergence)}."
            yield Finding(
                code=CODE,
                name=NAME,
                severity=SEVERITY,
                message=f"{first[0].upper()}{first[1:]} Move it to where all ranks pass.",
                place=place_of(divergence.module, divergence.anchor),
                related=related_places(divergence),
                fix=_fix(divergence),
                witness=witness(divergence),
            )


def _fix(divergence: Divergence) -> Fix:
    moved = _first_in_branch(divergence)
    if moved is not None:
        branch, statement = moved
        return Fix(
            Applicability.SAFE,
            f"Call `{event_text(divergence.event)}` before the branch, on all ranks",
            (Move(span_of(statement), span_of(branch)),),
        )
    return Fix(
        Applicability.DISPLAY,
        f"Call `{event_text(divergence.event)}` on all ranks, and keep only the write under the guard",
    )


def _first_in_branch(divergence: Divergence) -> tuple[ast.If, ast.stmt] | None:
    """The barrier statement that opens a branch on the rank, and that branch."""
    site = divergence.event.site
    if (
        divergence.chain
        or site is None
        or divergence.event.op != "barrier"
        or len(divergence.guards) != 1
    ):
        return None
    for node in ast.walk(divergence.module.source.tree):
        if isinstance(node, ast.If) and node.test is divergence.guards[0].node and not node.orelse:
            first = node.body[0]
            if isinstance(first, ast.Expr) and first.value is divergence.event.node:
                return node, first
    return None
