"""States that the program itself saves from the model inside of a wrapper, where a load goes into the wrapper."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.program.environment import blocks_of, evaluated_here, statements
from distlint.analysis.program.handed import calls_of
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.saved import file_name, saves
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module


def saved_bare(model: Model, function: Function, state: ast.expr) -> tuple[Module, ast.expr] | None:
    """Where the program saves what a load gets, if all that it may be is the state of a model without its wrapper.

    MONAI research-contributions 21ed8e5 DAE/Pretrain_full_contrast/main_runner.py:163 loads `ckpt_best.pth` into DDP, and
    `save_checkpoint(args, epoch, model_without_ddp, …)` writes it.

    Args:
        model: the program.
        function: where the state is loaded.
        state: what `load_state_dict()` is given.

    Returns:
        The file with the call of `state_dict()` that is saved, and the call; None where the file, its part or the model is
        not known.
    """
    load, key = _read(function, state)
    if load is None or not load.args or model.resolve(function.module, load.func) != "torch.load":
        return None
    name, written = file_name(function, load.args[0]), _written(function, load.args[0])
    if not name and not written:
        return None
    found: tuple[Module, ast.expr] | None = None
    same = [
        each
        for each in saves(model)
        if each[0] is function and _written(function, each[2]) == written
    ]
    for writer, what, where in same if written and same else saves(model) if name else ():
        this = True if written and same else _may_be(writer, where, name)
        for saved in _parts(writer, what, key) if this is not False else ():
            if saved is None or not _is_bare(model, writer, saved):
                return None
            found = found or ((writer.module, saved) if this else None)
    return found


def _read(function: Function, state: ast.expr) -> tuple[ast.Call | None, str]:
    """The call that reads a file, and the key of the part that is taken of it: `torch.load(path)["model"]`."""
    match state:
        case ast.Name(id=name):
            values = _given_above(function, name, state)
            return _read(function, values[0]) if len(values) == 1 else (None, "")
        case ast.Subscript(value=held, slice=ast.Constant(value=str(key))):
            load, outer = _read(function, held)
            return (load, key) if not outer else (None, "")
        case ast.Call():
            return state, ""
    return None, ""


def _written(function: Function, path: ast.expr) -> str:
    """A path that is put together of texts and options, as it is written, to be found again in the same function.

    CMUNeXt 18e7d7b main_ddp.py:126: `"checkpoint/{}_best_{}.pth".format(args.model, …)` above the epochs and below.
    """
    values = assignments(function).get(path.id, []) if isinstance(path, ast.Name) else [path]
    if len(values) != 1 or isinstance(values[0], ast.Name):
        return ""
    texts = any(isinstance(node.value, str) for node in walk(values[0], ast.Constant))
    changed = {
        node.id
        for node in own_nodes(function, ast.Name)
        if isinstance(node.ctx, ast.Store) and len(assignments(function).get(node.id, ())) != 1
    }
    steady = not any(node.id in changed for node in walk(values[0], ast.Name))
    return ast.unparse(values[0]) if texts and steady else ""


def _given_above(function: Function, name: str, read: ast.expr) -> list[ast.expr]:
    """The values of a variable that a read may find: those below it only in a loop around both."""
    values = assignments(function).get(name, [])
    ends = [
        node.end_lineno or 0
        for node in own_nodes(function, ast.For, ast.While)
        if node.lineno < read.lineno <= (node.end_lineno or 0)
    ]
    return [each for each in values if each.lineno <= max([read.lineno, *ends])]


def _may_be(function: Function, path: ast.expr, name: str) -> bool | None:
    """Whether a path may end in a file name; None where it is not written out."""
    values = assignments(function).get(path.id, []) if isinstance(path, ast.Name) else []
    found: set[bool] = set()
    for each in values or [path]:
        last = each.args[-1] if isinstance(each, ast.Call) and each.args else each
        known = file_name(function, each) or file_name(function, last)
        if not known:
            return None
        found.add(name.endswith(known) if isinstance(last, ast.JoinedStr) else name == known)
    return True in found


def _parts(function: Function, what: ast.expr, key: str) -> Iterator[ast.expr | None]:
    """What is saved under a key; None for what is not known."""
    if not isinstance(what, ast.Name):
        yield from _of_dict(what, key)
        return
    first = _set_for_sure(function, what)
    for node in own_nodes(function, ast.Assign):
        for target in node.targets:
            match target:
                case ast.Name(id=name) if name == what.id and node.lineno >= first:
                    yield from _of_dict(node.value, key)
                case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=changed)) if (
                    name == what.id and changed == key
                ):
                    yield node.value


def _set_for_sure(function: Function, read: ast.Name) -> int:
    """The line of the last assignment above that stands in a block which the read is in as well; else 0."""
    found = list(statements(function.body))
    way = next(((*above, s) for s, above in found if any(n is read for n in evaluated_here(s))), ())
    return max(
        (
            s.lineno
            for s, above in found
            if isinstance(s, ast.Assign)
            and s.lineno < read.lineno
            and above == way[: len(above)]
            and any(isinstance(t, ast.Name) and t.id == read.id for t in s.targets)
            and any(
                s in block and way[len(above)] in block
                for block in (blocks_of(above[-1]) if above else [function.body])
            )
        ),
        default=0,
    )


def _of_dict(node: ast.expr, key: str) -> Iterator[ast.expr | None]:
    match node:
        case ast.Dict(keys=keys, values=parts) if key:
            for known, part in zip(keys, parts, strict=True):
                if known is None:
                    yield None
                elif isinstance(known, ast.Constant) and known.value == key:
                    yield part
        case _:
            yield None if key else node


def _is_bare(model: Model, function: Function, saved: ast.expr) -> bool:
    """Whether an expression is the state of a model that was taken out of its wrapper, by all that lead there."""
    match saved:
        case ast.Call(func=ast.Attribute(attr="state_dict", value=owner), args=[]):
            pass
        case _:
            return False
    here = model.call_at(saved)
    if here is None:
        return False  # a run never comes to it: it stands behind a `return`
    if isinstance(owner, ast.Name) and owner.id in function.parameters:
        place = function.parameters.index(owner.id)
        groups = [model.call_at(call) for _, call in calls_of(model.program, function)]
        sites = [site for group in groups if group is not None for _, site in group.sites]
        values = [site.argument(place, owner.id) for site in sites if site.callee is function]
    else:
        values = [site.receiver for _, site in here.sites]
    return bool(values) and all(
        each is not None and not each.wraps and "unwrapped" in each.tags for each in values
    )
