"""Where samplers and streams of the project are used, and the loops that train on them on several ranks."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.linked import linked
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.lightning import fits, makers
from distlint.analysis.questions.training import sent_backward
from distlint.knowledge import facts
from distlint.nodes import last_name, walk
from distlint.patterns import pattern

from .evened import is_joined

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Class, Module

_TRAINER: Final = "transformers.Trainer"
_WRAPS: Final = pattern(
    r"\b(?:DistributedDataParallel|DDP|FullyShardedDataParallel|FSDP|fully_shard)\("
)
EVALUATION: Final = pattern(r"eval|val(?:id|_|\b)|test|infer|predict", re.IGNORECASE)
"""Names of what is not trained on."""


def is_used(model: Model, cls: Class) -> bool:
    """Whether a file uses a class for other data than that of an evaluation."""
    for module in linked(model.program, cls.module):
        if cls.name not in module.source.text:
            continue
        for function in (module.body, *module.all_functions):
            if function.cls is cls or EVALUATION.search(function.name):
                continue
            for statement in own_nodes(function, ast.Assign, ast.Return, ast.Expr):
                if any(n.id == cls.name for n in walk(statement, ast.Name)):
                    targets = statement.targets if isinstance(statement, ast.Assign) else []
                    if not any(EVALUATION.search(ast.unparse(t)) for t in targets):
                        return True
    return False


def trains(model: Model, module: Module, *, streams: bool) -> tuple[Module, ast.AST] | None:
    """The loop that trains a wrapped model in the files around one, or the Trainer that is given a sampler or stream there."""
    around = sorted(linked(model.program, module), key=lambda m: (m is not module, m.path))
    for sites in model.answer(fits).values() if streams else ():
        for fit in sites:
            made = makers(fit)
            if fit.module in around and made and all(map(_goes_to_the_end, made)):
                return fit.module, fit.node
    for each in around:
        if "_sampler" in each.source.text and "Trainer" in each.source.text:
            for cls in each.all_classes:
                if _TRAINER in facts.with_bases(model.program.mro(cls)[1]):
                    return each, cls.node
    if not any(_WRAPS.search(each.source.text) for each in around):
        return None
    found = [(each, loop) for each in around for loop in _training_loops(each)]
    return next((f for f in found if not streams or not _is_counted(f[1])), None)


def _goes_to_the_end(trainer: ast.Call) -> bool:
    """Whether a Trainer of Lightning counts whole passes over its data, which end where a rank's stream does.

    Lightning issue 11242; one that counts steps may be done before any stream ends.
    """
    given = {keyword.arg for keyword in trainer.keywords}
    return "max_epochs" in given and given.isdisjoint(("max_steps", "limit_train_batches", None))


@remembered
def _training_loops(module: Module) -> tuple[ast.For, ...]:
    """The loops over all of a loader that send something backward, in which every rank takes all turns."""
    if "zero_grad" not in module.source.text and "backward" not in module.source.text:
        return ()
    return tuple(
        loop
        for function in module.all_functions
        for loop in own_nodes(function, ast.For)
        if any("load" in n.id.lower() for n in walk(loop.iter, ast.Name))
        and any(sent_backward(node) is not None or _clears(node) for node in walk(loop))
        and not is_joined(function, loop)
    )


def _clears(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) == "zero_grad"


def _is_counted(loop: ast.For) -> bool:
    """Whether a loop ends by a number of turns, which a stream may outlast."""
    return any(
        any(isinstance(s, ast.Break | ast.Return) for s in node.body) for node in walk(loop, ast.If)
    )
