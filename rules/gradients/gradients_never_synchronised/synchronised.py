"""What may keep the replicas of a model equal: a wrapper, a framework, gradients sent by hand, code that is not seen."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, Function
from distlint.analysis.program.syntax import own_nodes
from distlint.knowledge import facts
from distlint.nodes import walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.model import Model

_WRAPPERS: Final = pattern(
    r"DistributedDataParallel|\bDDP\b|\bFSDP\b|FullySharded|fully_shard|ShardedDataParallel|DistributedOptimizer"
    r"|ZeroRedundancy|deepspeed|accelerat|horovod|\bhvd\b|lightning|\bFabric\b|fairscale|colossal|bagua|byteps|megatron"
    r"|\bapex\b|torch_xla|\bmpu\b|mmcv|mmengine|composer|ignite|torchtitan|fairseq|catalyst|detectron|parallelize"
    r"|distributed\.rpc|pipelining|\bwrap_model|\bray\b|\bTrainer\b|replicate\(|comm_hook|register_hook"
    r"|post_accumulate_grad"
)
"""Words of what synchronises, in the text of a file: most wrap a model far from where it is trained."""

_SENDS: Final = pattern(
    r"all_?reduce|reduce_scatter|all_?gather|broadcast(?!_buffers)|isend|irecv|(average|sync|reduce)_(grad|param|model|weight)",
    re.IGNORECASE,
)
_SENT: Final = pattern(r"\bgrads?\b|_grad\b|param|weight|state_dict", re.IGNORECASE)
_NAMES: Final[dict[type[ast.AST], str]] = {
    ast.Name: "id",
    ast.Attribute: "attr",
    ast.arg: "arg",
    ast.keyword: "arg",
    ast.alias: "name",
    ast.FunctionDef: "name",
    ast.AsyncFunctionDef: "name",
    ast.ClassDef: "name",
    ast.ExceptHandler: "name",
    ast.MatchAs: "name",
    ast.MatchStar: "name",
}
"""The field that holds a name, of each kind of node that has one."""
_PLAIN: Final = frozenset({"dp", "compile"})
"""Kinds of wrapper that leave the ranks apart: DataParallel joins the GPUs of one process."""
_SEEN: Final = ("torch.", "transformers.", "builtins.", "tqdm.", "numpy.", "math.", "copy.", ".")
"""Where a call of a library, or of a method of what is not known, hands no model to code that is not seen."""


def synchronises(live: LiveProgram) -> bool:
    """Whether anything in a program may keep the replicas equal."""
    modules = live.program.modules.values()
    return (
        any(_WRAPPERS.search(module.source.text) for module in modules)
        or any(sends_gradients(f) for module in modules for f in module.all_functions)
        or any(
            (fact := facts.wrapper(call.site.name)) is not None
            and not _PLAIN.issuperset(fact.kinds)
            for call in live.calls()
        )
    )


def sends_gradients(function: Function) -> bool:
    """Whether a function sends something to other ranks and speaks of gradients or parameters, in whatever words."""
    names = set(_names(function))
    return any(map(_SENDS.search, names)) and any(map(_SENT.search, names))


def _names(function: Function) -> Iterator[str]:
    for node in own_nodes(function):
        field = _NAMES.get(node.__class__)
        if field is not None and (name := getattr(node, field)) is not None:
            yield name


def hands_model_on(model: Model, function: Function, models: frozenset[str]) -> bool:
    """Whether a function gives its model to code that is not seen, or has it from there."""
    summaries = model.summaries_of(function)
    sites = [s for _, run in summaries.summaries() for s in run.calls] if summaries else []
    return any(_is_unseen(model, site) and _concerns(site, models) for site in sites)


def _is_unseen(model: Model, site: CallSite) -> bool:
    return not (
        site.callee is not None
        or site.rows
        or site.name.startswith(_SEEN)
        or isinstance(model.program.lookup(site.name), Class | Function)
    )


def _concerns(site: CallSite, models: frozenset[str]) -> bool:
    """Whether a call gets a model or optimizer whole, or its outcome becomes one."""
    given = (*site.node.args, *(k.value for k in site.node.keywords))
    made = site.statement
    written = (
        {ast.unparse(n) for t in made.targets for n in walk(t) if isinstance(n, ast.expr)}
        if isinstance(made, ast.Assign) and made.value is site.node
        else set()
    )
    return any(_whole(g) in models for g in given) or not models.isdisjoint(written)


def _whole(node: ast.expr) -> str:
    """What an argument holds: the model for `model`, and for `model.parameters()`."""
    match node:
        case ast.Call(func=ast.Attribute(attr=attr, value=owner)) if attr.endswith("parameters"):
            return ast.unparse(owner)
    return ast.unparse(node)
