"""Gradients that DDP never sees: what `torch.autograd.grad` gives is put into `.grad`, and the hooks have not run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Function
from distlint.analysis.program.linked import linked
from distlint.analysis.program.syntax import own_nodes
from distlint.nodes import walk
from distlint.records import dataclass

from .beside import BY_HAND
from .synchronised import sends_gradients

if TYPE_CHECKING:
    from distlint.analysis.interpreter.values import Wrap
    from distlint.analysis.live.summaries import CallGroup
    from distlint.analysis.model import Model

_GRAD: Final = "torch.autograd.grad"
_PUTS: Final = frozenset({"copy_", "add_"})
_OF_AUTOGRAD: Final = frozenset({"forward", "backward"})
"""Methods of an `autograd.Function` that gathers: what they send is no gradient of a parameter."""


@dataclass(frozen=True, slots=True, eq=False)
class Unseen:
    """Gradients of a wrapped model that no hook sees: who asks for them, of which model, where it is wrapped."""

    call: CallGroup
    name: str
    wrap: Wrap


def unseen_gradients(model: Model) -> Iterator[Unseen]:
    """The first call of each function whose gradients of a model in DDP an optimizer steps with.

    contrastive-unpaired-translation 297516d distributed_train.py:132, ICML25_10807_BiSSL 3bdeed4 utils/bissl_trainer.py:340.
    Not where a `backward()` follows, which takes what is in `.grad` along.
    """
    done: set[Function] = set()
    for call in model.calls(_GRAD):
        site = call.site
        function = site.function
        if (
            function in done
            or "create_graph" in site.keywords
            or call.guarded_by_rank
            or not _steps_only(function)
        ):
            continue
        for name in _parameters_of(function, site.node):
            wrap = _wrapped(model, function, name)
            if wrap is not None and _is_stepped_with(model, function, site.node):
                if not _sent_by_hand(model, function):
                    done.add(function)
                    yield Unseen(call, name, wrap)
                break


def _steps_only(function: Function) -> bool:
    methods = {
        call.func.attr
        for call in own_nodes(function, ast.Call)
        if isinstance(call.func, ast.Attribute)
    }
    return "step" in methods and "backward" not in methods


def _parameters_of(function: Function, call: ast.Call) -> Iterator[str]:
    """The models whose parameters a call differentiates by, as they are written: `self.net` of `self.net.parameters()`."""
    inputs = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "inputs")]
    names = {n.id for each in inputs for n in walk(each, ast.Name)}
    bound = [
        s.value
        for s in own_nodes(function, ast.Assign)
        if len(s.targets) == 1 and isinstance(s.targets[0], ast.Name) and s.targets[0].id in names
    ]
    for each in (*inputs, *bound):
        for node in walk(each, ast.Call):
            match node:
                case ast.Call(func=ast.Attribute(value=owner, attr="parameters")):
                    yield ast.unparse(owner).partition(".module")[0]


def _wrapped(model: Model, function: Function, name: str) -> Wrap | None:
    """The wrap of what a function calls by a name, where it is DDP on every path."""
    summaries = model.summaries_of(function)
    for _, run in summaries.summaries() if summaries is not None else ():
        for site in run.calls:
            owner = site.node.func.value if isinstance(site.node.func, ast.Attribute) else None
            if owner is None or site.receiver is None or ast.unparse(owner) != name:
                continue
            wraps = site.receiver.wraps
            if wraps and wraps[-1].kind == "ddp" and wraps[-1].always:
                return wraps[-1]
    return None


def _is_stepped_with(model: Model, function: Function, call: ast.Call) -> bool:
    """Whether what a call gives is put into `.grad`: here, or in a function of the program that is handed it."""
    names: set[str] = set()

    def holds(node: ast.AST) -> bool:
        return any(n is call for n in walk(node, ast.Call)) or any(
            n.id in names for n in walk(node, ast.Name)
        )

    assigns = sorted(own_nodes(function, ast.Assign), key=lambda s: s.lineno)
    for each in assigns:
        if holds(each.value):
            names |= {n.id for target in each.targets for n in walk(target, ast.Name)}
    if any(holds(loop.iter) and _puts(loop) for loop in own_nodes(function, ast.For)):
        return True
    for other in own_nodes(function, ast.Call):
        if other is not call and any(map(holds, (*other.args, *(k.value for k in other.keywords)))):
            group = model.call_at(other)
            called = group.site.callee if group is not None else None
            callee = called or model.resolve(function.module, other.func)
            if isinstance(callee, Function) and _puts(callee.node):
                return True
    return False


def _puts(node: ast.AST) -> bool:
    """Whether code sets `.grad` to something other than None, or copies into it."""
    for each in walk(node, ast.Assign, ast.Call):
        match each:
            case ast.Assign(targets=[ast.Attribute(attr="grad")], value=value):
                if not (isinstance(value, ast.Constant) and value.value is None):
                    return True
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="grad"), attr=method)):
                if method in _PUTS:
                    return True
    return False


def _sent_by_hand(model: Model, function: Function) -> bool:
    return any(
        BY_HAND.search(module.source.text)
        or any(sends_gradients(f) for f in module.all_functions if f.name not in _OF_AUTOGRAD)
        for module in linked(model.program, function.module)
    )
