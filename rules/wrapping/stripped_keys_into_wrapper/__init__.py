"""A state dict without the prefix `module.` is loaded into a model that DDP has wrapped.

## What it does
Reports `load_state_dict()` of a model inside DDP or DataParallel with a state from whose keys the function has taken the
wrapper's prefix: `k.replace("module.", "")`, `k.removeprefix("module.")`, `k[len("module."):]`, `k[7:]`. Or with the state from a file that the program itself writes from the model
inside of the wrapper.

## Why it is bad
Each key of the wrapped model begins with `module.`, and none of the state's does. With `strict=False` nothing is loaded and nothing is
said: the run goes on from random weights, on several processes only, since on one the model is bare. Without, every rank
ends with `Missing key(s)`.

## Errors you may see
- `Missing key(s) in state_dict: "module.`

## Example
```python
model = DistributedDataParallel(model)
state = {key.replace("module.", ""): value for key, value in checkpoint.items()}
model.load_state_dict(state, strict=False)
```

## Use instead
```python
state = {key.replace("module.", ""): value for key, value in checkpoint.items()}
unwrap(model).load_state_dict(state, strict=False)
```

## Fix safety
Safe: the state goes into the model itself, on one process as on many. Shown only where a caller also hands over a model that is
still bare and the runtime's `unwrap` is not there.

## Known limits
The prefix has to be taken off in the function that loads, whatever the launch: not under a condition but one of the keys. A file is known by its name, where that is written out; whatever
may be written to it has to be the state of an unwrapped model. FSDP and DeepSpeed have no such prefix, and are not looked at; nor
are wraps of which it is not sure that the call comes behind them, and methods that are called above the wrap alone.

## References
- torch 2.13.0 torch/nn/parallel/distributed.py: the model is the submodule `module`
- torch 2.13.0 torch/nn/modules/module.py, `load_state_dict`: with `strict=False` missing and unexpected keys are only returned
- suncet 731547d src/fine_tune.py:306: `load_from_path()` gets the encoder that `init_model()` has wrapped
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.model import Model, place_of, related, span_of
from distlint.analysis.program.definitions import Function
from distlint.analysis.program.environment import own_statements
from distlint.analysis.program.syntax import target_names
from distlint.analysis.questions.above_the_wrap import above_the_wrap
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Related, Severity
from distlint.nodes import is_false, walk
from distlint.repairs import guarding
from distlint.rule import Status

from .saved_bare import saved_bare

if TYPE_CHECKING:
    from distlint.analysis.interpreter.values import Wrap
    from distlint.analysis.live.summaries import CallGroup

CODE = "DL213"
NAME = "stripped-keys-into-wrapper"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()

_PREFIX: Final = "module."
_KINDS: Final = frozenset({"ddp", "dp"})
_TAKES_OFF: Final = frozenset({"replace", "removeprefix", "lstrip"})


def check(model: Model) -> Iterator[Finding]:
    """Each load of a state without the prefix into a model that has it."""
    for call in model.calls():
        site = call.site
        if site.method != "load_state_dict" or not isinstance(site.node.func, ast.Attribute):
            continue
        wrap = next(
            (
                each.receiver.wraps[-1]
                for _, each in call.sites
                if each.receiver is not None and each.receiver.wraps
            ),
            None,
        )
        state = site.argument_node(0, "state_dict")
        if wrap is None or wrap.kind not in _KINDS or wrap.instead is not None or state is None:
            continue
        if above_the_wrap(model, site.function, wrap):
            continue
        stripped = _stripped(site.function, state)
        if stripped is not None:
            place = related(site.module, stripped, "the prefix is taken off")
            yield _finding(call, wrap, "those of the state no longer do", place)
        elif (saved := saved_bare(model, site.function, state)) is not None:
            place = related(*saved, "saved without the wrapper")
            yield _finding(call, wrap, "those of the file do not", place)


def _stripped(function: Function, state: ast.expr) -> ast.AST | None:
    """Where a function takes the prefix off the keys of a state; None where it does not, or puts it on again."""
    if not isinstance(state, ast.Name):
        return next((n for n in walk(state) if _takes_off(n)), None)
    found: ast.AST | None = None
    for statement, around in own_statements(function.body):
        if not isinstance(statement, ast.Assign):
            continue
        if not any(state.id in _held(target) for target in statement.targets):
            continue
        parts = [n for t in (statement.value, *statement.targets) for n in walk(t)]
        taken = next((n for n in parts if _takes_off(n)), None)
        if taken is None and any(_puts_on(n) for n in parts):
            return None
        if taken is not None and all(map(_asks_for_keys, around)):
            found = found or taken
    return found


def _asks_for_keys(outer: ast.stmt) -> bool:
    """Whether a statement around is a loop, or a condition of the keys alone.

    LanguageBind 7070c53 main.py:460: `if not args.distributed and next(iter(sd.items()))[0].startswith("module")`.
    """
    if not isinstance(outer, ast.If):
        return True
    return not isinstance(outer.test, ast.BoolOp) and any(
        n.value in (_PREFIX, "module") for n in walk(outer.test, ast.Constant)
    )


def _held(target: ast.expr) -> frozenset[str]:
    """The names that an assignment sets, or sets an element of: `state[key[7:]] = value`."""
    inner = target.value if isinstance(target, ast.Subscript) else target
    return frozenset(target_names(inner))


def _takes_off(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=attr), args=[ast.Constant(value=str(prefix)), *rest]):
            emptied = not rest or (isinstance(rest[0], ast.Constant) and rest[0].value == "")
            return attr in _TAKES_OFF and prefix == _PREFIX and emptied
        case ast.Subscript(slice=ast.Slice(lower=ast.Constant(value=7), upper=None)):
            return True
        case ast.Subscript(
            slice=ast.Slice(
                lower=ast.Call(func=ast.Name(id="len"), args=[ast.Constant(value=text)])
            )
        ):
            return bool(text == _PREFIX)
    return False


def _puts_on(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value in (_PREFIX, "module")


def _finding(call: CallGroup, wrap: Wrap, without: str, place: Related) -> Finding:
    site = call.site
    assert isinstance(site.node.func, ast.Attribute)
    owner = site.node.func.value
    text = ast.unparse(owner)
    silent = is_false(site.argument_node(1, "strict"))
    what = (
        "and `strict=False` says nothing: no weight is loaded"
        if silent
        else "and every rank ends with `Missing key(s)`"
    )
    code = f"$unwrap({guarding.source(site.module.source.text, owner)})"
    return Finding(
        CODE,
        NAME,
        SEVERITY if wrap.always else Severity.WARNING,
        f"`{text}` is wrapped here, so its keys begin with `{_PREFIX}`; {without}, {what}. "
        f"Load into `unwrap({text})`.",
        place_of(site.module, site.node),
        (
            place,
            related(wrap.module, wrap.node, "wrapped here"),
        ),
        Fix(Applicability.SAFE, f"Load into `unwrap({text})`", (Replace(span_of(owner), code),)),
    )
