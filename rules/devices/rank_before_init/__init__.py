"""The rank is asked for while the process group does not exist yet, and every process is told 0.

## What it does
Finds `get_rank() if is_initialized() else 0`, in place or through a function that does that, evaluated when
a module is imported, as a default argument, or in front of `init_process_group` in the same block. There also
the functions of detectron2 and mmcv that answer so, and detectron2's loader, which divides its data by them.
Also `dist.get_rank()`, `get_world_size()` and `barrier()` that a script comes to before what makes its group: they raise.
Also an answer to `is_initialized()` that is kept although the group is made further on, at any depth of calls: a flag
that a constructor asks for, or a loader that gets no `DistributedSampler`. And a learning rate, or another number, that goes by the
length of a list which the function makes as long as there are ranks when the group is there. And the import of a function that makes
the group, in a script that wraps in DDP, where nothing calls it and nothing else makes one.

## Why it is bad
The question has an answer that looks right: 0. Before the group is initialised every process gets it, and
keeps it in the variable: all of them are the main process for the rest of the run. They write the same
checkpoint, print the same line, and a barrier that only rank 0 should skip is skipped by all.

## Errors you may see
- `Default process group has not been initialized`

## Example
```python
RANK = dist.get_rank() if dist.is_initialized() else 0

def main():
    dist.init_process_group("nccl")
    if RANK == 0:
        save()
```

## Use instead
```python
def main():
    dist.init_process_group("nccl")
    if rank_info().rank == 0:
        save()
```
`rank_info()` asks the launcher's variables where there is no group yet.

## Fix safety
Safe: `rank_info().rank` is the launcher's rank where there is no group yet, and 0 on one process.

## Known limits
Silent where the file initialises the group at its top level first, itself or by a function that it calls, and where functions alone import the file, but for
scripts of one process, and where a script that nobody imports or launches hands the answer on at once and makes no group. Of functions that are called too early from another
function, those that keep the answer are reported, those that give the rank are not; a loader that accelerate divides
when it prepares it is none.

## References
- torch 2.13.0 torch/distributed/distributed_c10d.py, `is_initialized`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.live.several import is_one_kernel
from distlint.analysis.model import Model, place_of, related, span_of
from distlint.analysis.program.definitions import Function
from distlint.analysis.program.environment import blocks_of, evaluated_here
from distlint.analysis.program.linked import importers, read_with
from distlint.analysis.program.memory import all_remembered
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.kept_answers import (
    Kept,
    handed_to_maker,
    kept_answers,
    prepared_by,
)
from distlint.analysis.questions.launched import expects_several
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Related, Severity
from distlint.knowledge import ranks
from distlint.nodes import last_name, walk
from distlint.repairs.group import made_below, may_be_made_above
from distlint.rule import Status

from .counted import Counted, counted_before
from .never_made import NeverMade, never_made
from .raised import Raised, raised_before

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module

CODE = "DL509"
NAME = "rank-before-init"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = ()

_RANK = "torch.distributed.get_rank"
_READY = "torch.distributed.is_initialized"
_INIT = "torch.distributed.init_process_group"


def check(model: Model) -> Iterator[Finding]:
    """Each rank that is asked for too early."""
    for module in model.modules:
        if "rank" not in module.source.text or is_one_kernel(module):
            continue
        yield from _at_import(model, module)
        yield from map(_absent, never_made(model, module))
        yield from map(_counted, counted_before(model, module))
        for function in module.all_functions if "init_process_group" in module.source.text else ():
            if not function.is_module_body:
                yield from _before(model, module, function)
    for raised in raised_before(model):
        yield _raising(raised)
    for kept in model.answer(kept_answers):
        made = _made_later(model, kept)
        if made is not None:
            yield _kept(kept, *made)


def _made_later(model: Model, kept: Kept) -> tuple[Module, ast.Call] | None:
    """What makes the group after an answer was kept; a loader that accelerate prepares is divided there."""
    if not kept.divides and (given := handed_to_maker(model, kept)) is not None:
        return given[0].module, given[1]
    site = made_below(model, kept.function, kept.asked.lineno)
    if site is None or (
        kept.divides
        and (site.name.startswith("accelerate.") or prepared_by(model, kept.function, site.node))
    ):
        return None
    return site.module, site.node


def _kept(kept: Kept, maker: Module, made: ast.Call) -> Finding:
    module = kept.function.module
    if kept.divides:
        follows = "no sampler is made, and every rank goes through all of the data"
        advice = "Make the loader when the group is there"
    else:
        follows = f"`{kept.what}` says so for the rest of the run"
        advice = "Ask each time it is needed, not in the constructor"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"This is asked before `{last_name(made.func)}` makes the group ({maker.path}:{made.lineno}): each process takes "
        f"itself for the only one, {follows}. {advice}.",
        place_of(module, kept.asked),
        (related(maker, made, "the group is made here"),),
        Fix(Applicability.DISPLAY, advice),
    )


@all_remembered
def _at_import(model: Model, module: Module) -> Iterator[Finding]:
    """Values of the module's and its classes' variables, and defaults of its functions."""
    body = list(_executed(module.source.tree.body))
    starts = body if "init_process_group" in module.source.text else ()
    started = [
        s.lineno for s in starts for n in evaluated_here(s) if _calls(model, module, n, _INIT)
    ]
    for statement in body:
        if started and min(started) < statement.lineno:
            return
        for node in evaluated_here(statement):
            if (
                _asks(model, module, node)
                and not _is_read_later(model, module)
                and not _is_for_one(model, module, statement, node)
                and not may_be_made_above(model, module.body, node.lineno)
            ):
                yield _finding(module, node, "when the file is imported", ())


def _is_for_one(model: Model, module: Module, statement: ast.stmt, node: ast.expr) -> bool:
    """Whether a script that nobody imports or launches hands an answer on at once, and makes no group behind it: it is right.

    PatrickStar 2384535 examples/huggingface_bert.py:83, where the lines that make one are to be uncommented for several.
    """
    return (
        any(
            node in call.args or any(each.value is node for each in call.keywords)
            for call in walk(statement, ast.Call)
        )
        and not importers(model.program, module) - {module}
        and not model.launch.starting(module.path)
        and made_below(model, module.body, node.lineno) is None
    )


def _is_read_later(model: Model, module: Module) -> bool:
    """Whether functions alone import a file, in what is started on several processes: there may be a group by then.

    EasyVolcap 4cb3c00 easyvolcap/utils/egl_utils.py:46, which a sampler and a viewer import when they draw; two tests of
    one process do at their top.
    """
    at_once = read_with(model.program, module) - {module}
    later = importers(model.program, module) - at_once - {module}
    return (
        bool(later) and not module.is_script and not any(expects_several(each) for each in at_once)
    )


def _executed(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when the file is imported, but for those of a script's own block."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if not (isinstance(statement, ast.If) and "__main__" in ast.unparse(statement.test)):
            for block in blocks_of(statement):
                yield from _executed(block)


def _before(model: Model, module: Module, function: Function) -> Iterator[Finding]:
    """In front of the initialisation in the same function."""
    inits = [n for n in own_nodes(function) if _calls(model, module, n, _INIT)]
    if not inits:
        return
    first = min(inits, key=lambda n: getattr(n, "lineno", 0))
    for statement in function.body:
        if first in walk(statement):
            return
        places = (related(module, first, "initialised here"),)
        for node in evaluated_here(statement):
            if _asks(model, module, node):
                yield _finding(module, node, "before the group is initialised", places)
            elif isinstance(node, ast.Call):
                meaning = model.resolve(module, node.func)
                if isinstance(meaning, str) and meaning in ranks.ONE_PROCESS_BEFORE_INIT:
                    yield _of_library(module, node, places)


def _calls(model: Model, module: Module, node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and model.resolve(module, node.func) == name


def _asks(model: Model, module: Module, node: ast.AST) -> bool:
    """Whether an expression is the rank of an initialised group, and 0 otherwise."""
    match node:
        case ast.IfExp(test=test, body=body, orelse=ast.Constant(value=0)):
            ready = any(_calls(model, module, n, _READY) for n in walk(test))
            return ready and any(_calls(model, module, n, _RANK) for n in walk(body))
        case ast.Call(func=called):
            meaning = model.resolve(module, called)
            return isinstance(meaning, Function) and _gives_zero(model, meaning)
    return False


def _gives_zero(model: Model, function: Function) -> bool:
    """Whether a function of the project asks `is_initialized()`, and returns the rank or 0."""
    nodes = list(own_nodes(function))
    returns = [n.value for n in nodes if isinstance(n, ast.Return)]
    module = function.module
    if len(function.body) > 4 or function.parameters:
        return False
    if any(isinstance(v, ast.IfExp) and _asks(model, module, v) for v in returns):
        return True
    return (
        any(isinstance(v, ast.Constant) and v.value == 0 and v.value is not False for v in returns)
        and any(v is not None and _calls(model, module, v, _RANK) for v in returns)
        and any(_calls(model, module, n, _READY) for n in nodes)
        and not any("environ" in ast.unparse(v) for v in returns if v is not None)
    )


def _of_library(module: Module, node: ast.Call, places: tuple[Related, ...]) -> Finding:
    advice = "Call it after `init_process_group()`"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"`{last_name(node.func)}` is called before the group is initialised: on every rank it takes this "
        f"process for the only one, rank 0 of 1. {advice}.",
        place_of(module, node),
        places,
        Fix(Applicability.DISPLAY, advice),
    )


def _raising(raised: Raised) -> Finding:
    asked, made = raised.asked, raised.made
    advice = f"Ask behind `{made.method}()`"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"`{asked.method}()` raises on every rank, since `{made.method}()` makes the group below (line "
        f"{made.node.lineno}). {advice}.",
        place_of(asked.module, asked.node),
        (related(made.module, made.node, "the group is made here"),),
        Fix(Applicability.DISPLAY, advice),
    )


def _absent(found: NeverMade) -> Finding:
    name = found.maker.name
    advice = f"Call `{name}()` first"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"nothing calls `{name}()`, and nothing else makes the process group: each process is told that it is rank 0, and "
        f"`{last_name(found.wrap.func)}` raises an error. {advice}.",
        place_of(found.module, found.imported),
        (
            related(found.where, found.wrap, "this needs the group"),
            related(found.maker.module, found.maker.node, "this would make it"),
        ),
        Fix(Applicability.DISPLAY, advice),
    )


def _counted(found: Counted) -> Finding:
    module = found.function.module
    text = ast.unparse(found.length.args[0])
    advice = f"Compute it behind line {found.again.lineno}"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"`{text}` does not have an entry for each rank yet: that comes when the group is made (line "
        f"{found.again.lineno}), and what is computed here is the same however many ranks are launched. {advice}.",
        place_of(module, found.length),
        (
            related(found.made.module, found.made.node, "the group is made here"),
            related(module, found.again, "one entry for each rank from here on"),
        ),
        Fix(Applicability.DISPLAY, advice),
    )


def _finding(module: Module, node: ast.expr, when: str, places: tuple[Related, ...]) -> Finding:
    advice = "Ask `rank_info().rank`, which knows the launcher's rank before there is a group"
    return Finding(
        CODE,
        NAME,
        SEVERITY,  # all ranks do what one would, and mostly do it again behind the group
        f"this is evaluated {when}: every process gets 0 and takes itself for the main one. "
        f"{advice}.",
        place_of(module, node),
        places,
        Fix(Applicability.SAFE, advice, (Replace(span_of(node), "$rank_info().rank"),)),
    )
