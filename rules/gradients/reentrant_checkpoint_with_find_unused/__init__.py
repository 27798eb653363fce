"""Reentrant activation checkpointing in a model that DDP searches for unused parameters.

## What it does
Finds `torch.utils.checkpoint.checkpoint` and `checkpoint_sequential`, without `use_reentrant=False`, in the
classes that a model is built from which `DistributedDataParallel` gets with `find_unused_parameters=True`, or
`accelerator.prepare` beside `DistributedDataParallelKwargs(find_unused_parameters=True)`.

## Why it is bad
The reentrant checkpoint hides the layers inside it from the graph. DDP looks through the graph after each
forward, does not find their parameters and marks them as unused, which is as good as done. In the backward
their gradients come all the same, and the first `backward()` raises on every rank.

## Errors you may see
- `Expected to mark a variable ready only once.`
- `has been marked as ready twice`

## Example
```python
class Net(nn.Module):
    def forward(self, x):
        return checkpoint(self.layer, x)

model = DistributedDataParallel(Net(), find_unused_parameters=True)
```

## Use instead
```python
class Net(nn.Module):
    def forward(self, x):
        return checkpoint(self.layer, x, use_reentrant=False)

model = DistributedDataParallel(Net(), find_unused_parameters=True)
```

## Fix safety
Unsafe: where no input of the checkpoint requires a gradient, the layers inside it are trained from now on.

## Known limits
Only models whose class is in the program. A warning where a flag turns the checkpoint on, silent where nothing
in the program can. Silent with `static_graph`.

## References
- torch 2.13.0 torch/utils/checkpoint.py:496: `use_reentrant` is True where it is not given
- pytorch issue 24005, FocalNet issue 4, peft issue 313
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, span_of
from distlint.analysis.program.definitions import last_name
from distlint.analysis.program.syntax import default_of, own_nodes
from distlint.analysis.questions.built import classes_of, parts, wrapped_classes
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.repairs.arguments import with_keyword
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.live.summaries import CallGroup
    from distlint.analysis.program.definitions import Class, Function

CODE = "DL616"
NAME = "reentrant-checkpoint-with-find-unused"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = (b"utils.checkpoint", b"torch.utils import checkpoint")

_CHECKPOINTS = frozenset(
    f"torch.utils.checkpoint.{name}" for name in ("checkpoint", "checkpoint_sequential")
)
_WORDS = ("checkpoint", "ckpt")
_TURNED_ON = pattern(
    r"gradient_checkpointing_enable\(|enable_gradient_checkpointing\(|\._set_gradient_checkpointing\b|TrainingArguments"
)
"""What has transformers, or diffusers, set the flag of the models."""
_SETTER = "_set_gradient_checkpointing"
_ASKED = "ddp_find_unused_parameters"


def check(model: Model) -> Iterator[Finding]:
    """Each reentrant checkpoint below a wrap that looks for unused parameters."""
    found: dict[int, tuple[Function, ast.Call, CallGroup]] = {}
    for wrap, root in _searched(model):
        classes, functions = parts(model, root)
        for function in (*functions, *(m for c in classes for m in c.methods.values())):
            for node in _reentrant(model, function):
                found.setdefault(id(node), (function, node, wrap))
    yield from _asked_of_trainer(model)
    for function, node, wrap in found.values():
        if function.module.source.reported:
            flag = _flag(function, node)
            if flag is None or _may_be_on(model, flag):
                yield _finding(function, node, wrap, flag)


def _asked_of_trainer(model: Model) -> Iterator[Finding]:
    """Each Trainer that is asked for both."""
    for module in model.modules:
        if _ASKED not in module.source.text:
            continue
        for node in walk(module.source.tree):
            if not isinstance(node, ast.Call):
                continue
            given = {k.arg: ast.unparse(k.value) for k in node.keywords}
            reentrant = given.get("gradient_checkpointing_kwargs", "").replace("'", '"')
            if (
                given.get(_ASKED) == "True"
                and given.get("gradient_checkpointing") == "True"
                and re.search(r"use_reentrant\"?[:=] ?True", reentrant)
            ):
                advice = f"Leave `{_ASKED}` out, or say `use_reentrant` False"
                yield Finding(
                    CODE,
                    NAME,
                    SEVERITY,
                    "DDP takes the parameters inside the checkpoints for unused, and the first `backward()` raises "
                    f"on every rank. {advice}.",
                    place_of(module, next(k for k in node.keywords if k.arg == _ASKED).value),
                    (),
                    Fix(Applicability.DISPLAY, advice),
                )


def _searched(model: Model) -> Iterator[tuple[CallGroup, Class]]:
    """The calls that make DDP look for unused parameters, each with a class that the model is of."""
    for wrap in model.calls("torch.nn.parallel.DistributedDataParallel"):
        if _is_on(wrap) and not _is_static(wrap):
            yield from ((wrap, root) for root in wrapped_classes(model, wrap.site) if root)
    for asked in model.calls(".DistributedDataParallelKwargs"):
        if _is_on(asked) and not _is_static(asked):
            for call in model.calls("accelerate.Accelerator.prepare", module=asked.site.module):
                for given in call.site.node.args:
                    roots = classes_of(model, call.site.function, given)
                    yield from ((asked, root) for root in roots if root)


def _is_on(call: CallGroup) -> bool:
    value = call.site.argument(None, "find_unused_parameters")
    return value is not None and value.truthiness() is True


def _is_static(wrap: CallGroup) -> bool:
    """Whether the graph is said to be the same in each step: then DDP waits for what it saw in the first."""
    return (
        "static_graph" in wrap.site.keywords or "_set_static_graph" in wrap.site.module.source.text
    )


def _reentrant(model: Model, function: Function) -> Iterator[ast.Call]:
    if "checkpoint" not in function.module.source.text:
        return
    for node in own_nodes(function, ast.Call):
        if (
            "heckpoint" in last_name(node.func)
            and model.resolve(function.module, node.func) in _CHECKPOINTS
        ):
            given = {k.arg: k.value for k in node.keywords}
            value = given.get("use_reentrant", ast.Constant(value=True))
            if None not in given and isinstance(value, ast.Constant) and value.value:
                yield node


def _flag(function: Function, call: ast.Call) -> str | None:
    """The name of the flag that turns a checkpoint on, by the conditions around it; None where there is none."""
    for node in own_nodes(function):
        match node:
            case ast.If(test=test, body=body) if any(n is call for s in body for n in walk(s)):
                tests = [test]
            case ast.IfExp(test=test, body=branch) if any(n is call for n in walk(branch)):
                tests = [test]
            case _:
                continue
        for name in (name for t in tests for n in walk(t) for name in _asked(n)):
            if any(word in name for word in _WORDS):
                return name
    return None


def _asked(node: ast.AST) -> Iterator[str]:
    """The flag that a part of a condition reads: a name, an attribute, `getattr(config, "flag", False)`."""
    match node:
        case ast.Name() | ast.Attribute():
            yield last_name(node)
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
            yield name


def _may_be_on(model: Model, flag: str) -> bool:
    """Whether the program can turn a flag on: it is set or given as something that is not a false constant.

    Not by the method with which transformers sets it where nothing asks for that: X2-VLM 21ed5a5 models/xroberta.py:617.
    """
    for module in model.program.modules.values():
        if _TURNED_ON.search(module.source.text):
            return True
        if flag not in module.source.text:
            continue
        setters = {
            node
            for function in module.all_functions
            if function.name == _SETTER
            for node in own_nodes(function, ast.Assign)
        }
        for node in walk(module.source.tree):
            if node in setters:
                continue
            match node:
                case ast.keyword(arg=name, value=value) if name == flag:
                    given = [value]
                case ast.Assign(targets=targets, value=value):
                    given = [value for target in targets if last_name(target) == flag]
                case _:
                    continue
            if any(not _is_off(value, flag) for value in given):
                return True
    return any(
        isinstance(default, ast.Constant) and bool(default.value)
        for function in model.program.functions()
        if not function.is_module_body
        for default in [default_of(function, flag)]
    )


def _is_off(value: ast.expr, flag: str) -> bool:
    """Whether a value is a false constant, or a parameter of that name that is handed on."""
    match value:
        case ast.Constant(value=const):
            return not const
        case ast.Name(id=name):
            return name == flag
    return False


def _finding(function: Function, node: ast.Call, wrap: CallGroup, flag: str | None) -> Finding:
    fix = Fix(Applicability.UNSAFE, "Give it `use_reentrant=False`", _edits(function, node))
    where = f"where `{flag}` is on, " if flag is not None else ""
    return Finding(
        CODE,
        NAME,
        SEVERITY if flag is None else Severity.WARNING,
        f"{where}DDP takes the parameters inside this checkpoint for unused, and the first `backward()` "
        f"raises on every rank. {fix.message}.",
        place_of(function.module, node),
        (related(wrap.site.module, wrap.site.node, "unused parameters are looked for here"),),
        fix if fix.edits else Fix(Applicability.DISPLAY, fix.message),
    )


def _edits(function: Function, node: ast.Call) -> tuple[Replace, ...]:
    for keyword in node.keywords:
        if keyword.arg == "use_reentrant":
            return (Replace(span_of(keyword.value), "False"),)
    edit = with_keyword(function.module.source.text, node, "use_reentrant=False")
    return (edit,) if edit is not None else ()
