"""A collective that some ranks never reach.

## What it does
Follows each class of ranks (rank 0, the others, the first of another node, the last) through the
program, and reports a collective that one class performs while another never comes to it: under a
branch on the rank, behind an early `return`, `continue`, `break` or `raise` of some ranks, in a function
that a decorator keeps to the main process, in a thread or the handler of a `try` that only some ranks come
to, through any depth of helpers, methods, generators and context managers. The finding shows what each class does up
to where they part. Going through a shuffled loader that accelerate prepared is a collective too: each epoch begins
with a broadcast of the state of its generator.

## Why it is bad
A collective ends when every rank of its group has called it. The ranks that did wait until the timeout
of the process group ends the job, 10 to 30 minutes later, or for ever. Nothing is printed meanwhile.

## Errors you may see
- `Watchdog caught collective operation timeout`
- `Timed out waiting`
- `Connection closed by peer`

## Example
```python
if accelerator.is_main_process:
    accelerator.wait_for_everyone()
    save(model)
```

## Use instead
```python
accelerator.wait_for_everyone()
if accelerator.is_main_process:
    save(model)
```
Where rank 0 alone needs the result, all ranks still make the call, and only the writing stays guarded.

## Fix safety
The collective moves in front of the branch or behind it, with the plain assignments that it reads from.
The fix is safe where it was the first or the last thing in the branch and the analysis shows that all
ranks come to the branch; unsafe where other statements then run in another order, and where an early exit
in front of several collectives, or of one in a loop, goes since nothing behind it is written or told by one rank
alone. It is shown only where a person has to decide: nested conditions, helpers that do more, work between an early exit and the collective.

## Known limits
Collectives of a process group other than the default are not compared: who is a member is not known.
What a `while True` does that some ranks alone come to, or in which rank 0 waits for nothing, is not
compared: one rank may serve the others there (`command = scatter(...)`). Calls that do not resolve to a
definition count as doing nothing. A warning where ranks leave under one more condition than who they are (`if rank == 0:`,
and in it `if os.path.exists(log): return`), and in a function that handlers of failures alone call. Information where the ranks that do not come end with an error that nobody catches:
`torchrun` and `mp.spawn` end the others then (not so under Slurm), and where they have left on a person's answer to
`input()`, and where they have a barrier of their own for it under an option. Silent where a caller expects the hang, where the group was made behind `os.environ["WORLD_SIZE"] = "1"`, and on
`MPI.COMM_WORLD` in a program that only torch's launcher starts: it has one process there.

## References
- torch 2.13.0 torch/distributed/distributed_c10d.py: `barrier` "blocks processes until the whole group
  enters this function"
- accelerate 1.15.0 accelerate/data_loader.py:577: `synchronize_rng_states` at the start of each iteration
- Aiken and Gay, "Barrier inference", POPL 1998: single-valued expressions
- trl 0.7.7 trl/trainer/ppo_trainer.py:1346: `wait_for_everyone()` on the main process alone
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.ir import Layer
from distlint.analysis.live.joint_entry import in_handlers
from distlint.analysis.model import place_of
from distlint.analysis.program.handed import calls_of
from distlint.analysis.program.syntax import ends_process, own_nodes
from distlint.analysis.questions.ending import ends_the_job
from distlint.analysis.questions.lone_groups import makes_group_of_one
from distlint.analysis.questions.terminals import leaves_on_answer
from distlint.analysis.questions.turnstiles import half_by_unknown_test, is_half_under_option
from distlint.analysis.traces.witness import absence, event_text, related_places, waiting, witness
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.nodes import walk
from distlint.repairs.group import group_at
from distlint.repairs.group_flow import Group
from distlint.repairs.hoisting import hoist
from distlint.rule import Status

from .one_flag import is_one_flag_of_all

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.traces.divergence import Divergence

CODE = "DL101"
NAME = "collective-not-on-all-ranks"
SEVERITY = Severity.ERROR
STATUS = Status.STABLE
LITERALS = ()


def check(model: Model) -> Iterator[Finding]:
    """Every collective of the default group that some class of ranks never reaches."""
    for divergence in model.divergences():
        if divergence.kind != "rank" or divergence.layer is not Layer.ALWAYS:
            continue
        if _without_group(model, divergence) or makes_group_of_one(divergence):
            continue
        if _refuses_several(divergence) or is_one_flag_of_all(divergence):
            continue
        if divergence.missing and not half_by_unknown_test(model, divergence.event.site):
            fix = _fix(model, divergence)
            yield Finding(
                CODE,
                NAME,
                _severity(model, divergence),
                f"{waiting(divergence)}; {absence(divergence)}. {fix.message}.",
                place_of(divergence.module, divergence.anchor),
                related_places(divergence),
                fix,
                witness(divergence),
            )


def _without_group(model: Model, divergence: Divergence) -> bool:
    """Whether the group is made below: what asks for it first does nothing yet, and what does not raises.

    honeybee 68a8d84 train.py:288: `utils.barrier()` asks `is_initialized()`, and the TrainingArguments come below.
    """
    line = getattr(divergence.anchor, "lineno", 0)
    return group_at(model, divergence.function, line) is Group.LATER


def _refuses_several(divergence: Divergence) -> bool:
    """Whether all that ranks of one kind do is to say that the program is not for several.

    Marg-Li-CoT 8e6898f modern_rejection_sampling/archive/train.py:193: `else: raise NotImplementedError(…)`, of one rank alone.
    """
    return any(
        any(part is guard.node for part in walk(node.test))
        and any(map(_is_not_implemented, (node.body, node.orelse)))
        for guard in divergence.guards
        for node in own_nodes(divergence.function, ast.If)
    )


def _is_not_implemented(block: list[ast.stmt]) -> bool:
    match block:
        case [ast.Raise(exc=ast.Call(func=ast.Name(id=name)) | ast.Name(id=name))]:
            return name == "NotImplementedError"
    return False


def _severity(model: Model, divergence: Divergence) -> Severity:
    """By what stands between the ranks' parting and a collective in another file: nothing, an exit, or more conditions.

    In one file an error, but where ranks leave under one more condition than who they are.

    Of those behind conditions that are not decided none of seven causes was true since wave 13 (SwissArmyTransformer
    63dc23a examples/chatglm2/chat_model.py:47: with the arguments of this call none of it is reached).
    """
    if (
        _end_the_job(model, divergence)
        or _leave_alike(divergence)
        or _is_half_under_option(divergence)
        or any(leaves_on_answer(model, divergence.function, guard) for guard in divergence.guards)
    ):
        return Severity.INFO
    if _answers_failures(model, divergence.function):
        return Severity.WARNING
    if divergence.in_one_file:
        return Severity.WARNING if divergence.left and _may_stay(divergence) else SEVERITY
    left = divergence.left or any(guard.exits for guard in divergence.guards)
    return Severity.WARNING if left or not _is_open(model, divergence) else Severity.INFO


def _answers_failures(model: Model, function: Function) -> bool:
    """Whether all calls of a function stand in handlers: what follows a failure is rarer than a training.

    VA-VAE 708b942 LightningDiT/vavae/main.py:738, as in latent-diffusion: `melk()` saves behind `except Exception:`, and
    for a signal.
    """
    calls = calls_of(model.program, function) if not function.is_module_body else ()
    return bool(calls) and all(id(call) in in_handlers(user) for user, call in calls)


def _may_stay(divergence: Divergence) -> bool:
    """Whether the ranks that have left did so under one more condition, which may hold in no run.

    yolov9 5b1ea9a train.py:332: `if RANK in {-1, 0}:`, and in it `if callbacks.stop_training: return`, a flag that nothing
    sets. LanguageBind 7070c53 main.py:141: rank 0 returns where the log of an earlier run is there.
    """
    return bool(divergence.guards) and not any(
        isinstance(node, ast.If)
        and any(part is guard.node for part in walk(node.test))
        and any(map(_leaves, (*node.body, *node.orelse)))
        for guard in divergence.guards
        for node in walk(guard.module.source.tree)
    )


def _leave_alike(divergence: Divergence) -> bool:
    """Whether rank 0 and the others leave under a condition each, both of one value: by what they hold, in the same cases.

    cosmos-predict1 4ed35fa cosmos_predict1/utils/fsdp_optim_fix.py:68, as in torch/distributed/fsdp/_optim_utils.py: rank 0
    returns what is no tensor of several numbers, and has told the others of each of these, who return all else.
    """
    return divergence.left and any(
        isinstance(node, ast.If)
        and any(part is guard.node for part in walk(node.test))
        and bool(_asked_to_leave(node.body) & _asked_to_leave(node.orelse))
        for guard in divergence.guards
        for node in own_nodes(divergence.function)
    )


def _is_half_under_option(divergence: Divergence) -> bool:
    """Whether those who do not come have a half of their own for it, from which nothing of the rank's keeps them."""
    other = divergence.counterpart
    return other is not None and is_half_under_option(divergence.function, other.event.node)


def _asked_to_leave(block: list[ast.stmt]) -> set[str]:
    """The values that the conditions ask for under which a block is left, by name; not what they call."""
    tests = [
        node.test
        for statement in block
        for node in walk(statement, ast.If)
        if any(map(_leaves, (*node.body, *node.orelse)))
    ]
    called = {id(node.func) for test in tests for node in walk(test, ast.Call)}
    owners = {id(n.value) for test in tests for n in walk(test, ast.Attribute)}
    return {
        node.id
        for test in tests
        for node in walk(test, ast.Name)
        if id(node) not in called and id(node) not in owners
    }


def _leaves(statement: ast.stmt) -> bool:
    """Whether a statement leaves its block, whatever is asked."""
    match statement:
        case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
            return True
        case ast.Expr(value=ast.Call(func=func)):
            return ends_process(func)
        case ast.With(body=body):
            return any(map(_leaves, body))
    return False


def _end_the_job(model: Model, divergence: Divergence) -> bool:
    """Whether the ranks that do not come have ended with an error: the launcher ends those that wait.

    retinanet-examples 65e6310 odtk/train.py:137, `raise` on a loss that is not finite, and `mp.spawn` raises it again;
    oat c1a074c k8s/hostfile.py:21, `assert os.environ["LOCAL_RANK"] == "0"`: one process on each machine, or none goes on.
    """
    return bool(divergence.guards) and all(
        guard.exits
        and any(
            ends_the_job(model, divergence.function, node, model.launch.under_slurm)
            for node in walk(guard.module.source.tree, ast.If, ast.Assert)
            if any(part is guard.node for part in walk(node.test))
        )
        for guard in divergence.guards
    )


def _is_open(model: Model, divergence: Divergence) -> bool:
    """Whether conditions of unknown outcome stand around the collective, or a call that leads to it, in other files."""
    groups = [model.call_at(call.node) for call in divergence.chain]
    sites = [divergence.event.site, *(group.site for group in groups if group is not None)]
    return any(
        guard.value.truthiness() is None
        for site in sites
        if site is not None and site.module is not divergence.module
        for guard in site.guards
    )


def _fix(model: Model, divergence: Divergence) -> Fix:
    hoisted = hoist(model, divergence)
    if hoisted is not None:
        safety = Applicability.SAFE if hoisted.exact else Applicability.UNSAFE
        return Fix(safety, hoisted.text, hoisted.edits)
    if divergence.event.iterated:
        return Fix(
            Applicability.DISPLAY,
            "A prepared loader that shuffles begins with a broadcast of its random state: let all ranks go through "
            "it, or give the ranks that do a loader that is not prepared",
        )
    name = event_text(divergence.event)
    return Fix(
        Applicability.DISPLAY,
        f"Let all ranks come to `{name}`, and keep only what one rank is to write under the guard",
    )
