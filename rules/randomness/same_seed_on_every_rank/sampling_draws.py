"""What scripts draw that sample on many ranks: from one seed each rank keeps the same samples again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.values import Variance
from distlint.analysis.program.definitions import Function, dotted_name
from distlint.analysis.program.syntax import assignments
from distlint.analysis.questions.seeding import (
    Seed,
    draws_by_syntax,
    draws_from,
    makes_torch_differ,
)
from distlint.analysis.questions.training import goes_backward
from distlint.nodes import last_name, walk

from .training_draws import SHARED_DRAWS, sites_of

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Module

_GATHERS: Final = frozenset({"all_gather", "all_gather_into_tensor", "all_gather_object", "gather"})
_WRITES: Final = frozenset(
    {"save", "save_image", "savez", "imwrite", "imsave", "write_video", "write"}
)
_MAKES: Final = ("sample", "generat", "noise", "latent", "decode", "forward")
"""Words of the names of functions that make samples."""
_MAX_DEPTH: Final = 3


def drawn_in_sampling(
    model: Model, function: Function, seed: Seed
) -> tuple[Module, ast.Call, CallSite] | None:
    """The first draw of a loop that samples, and the call that keeps what each rank has made of it.

    1d-tokenizer sample_imagenet_rar.py:82: images in files that the rank numbers.
    """
    if goes_backward(function.node) or not model.is_distributed(function.module):
        return None
    kept = next(
        (
            s
            for s in sites_of(model, function)
            if s.loops
            and _keeps(s)
            and _counts(function, s.loops[0])
            and not _goes_through(s.loops[0])
        ),
        None,
    )
    if kept is None or kept.node.lineno < seed.site.node.lineno:
        return None
    for drawing in _makers(model, function, kept.loops[0]):
        if makes_torch_differ(model, drawing.module, in_workers=False):
            return None
        inside = kept.loops[0] if drawing is function else drawing.node
        nodes = {id(node) for node in walk(inside)}
        for node, draw in draws_by_syntax(model, drawing):
            if (
                id(node) in nodes
                and draw.stream == "torch"
                and draws_from(draw, seed)
                and not any(word in draw.name for word in SHARED_DRAWS)
            ):
                return drawing.module, node, kept
    return None


def _counts(function: Function, loop: ast.stmt) -> bool:
    """Whether a loop counts its turns: one over data draws the same for other data on each rank, often on purpose."""
    if isinstance(loop, ast.While):
        return True
    if not isinstance(loop, ast.For):
        return False
    known = assignments(function)
    sources = [loop.iter, *(v for n in walk(loop.iter) for v in known.get(dotted_name(n), ()))]
    return any(last_name(n) in ("range", "trange") for v in sources for n in walk(v, ast.Call))


def _goes_through(loop: ast.stmt) -> bool:
    """Whether what a loop counts is the place of an input, of which each rank has others: `prompts[i]`.

    BAGEL c4be2ee eval/gen/gen_images_mp_wise.py: `for i in range(start, end)`, a part of the prompts for each rank.
    """
    if not isinstance(loop, ast.For):
        return False
    counted = {node.id for node in walk(loop.target, ast.Name)}
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and any(part.id in counted for part in walk(node.slice, ast.Name))
        for statement in loop.body
        for node in walk(statement)
    )


def _keeps(site: CallSite) -> bool:
    """Whether a call writes a file of this rank's own, or collects what the ranks have made."""
    if site.method in _GATHERS:
        return True
    values = (*site.args, *site.keywords.values())
    return site.method in _WRITES and any(v.variance is Variance.RANK_DEPENDENT for v in values)


def _makers(model: Model, function: Function, loop: ast.stmt) -> Iterator[Function]:
    """The function with a loop, and what is called there to make samples, at some depth."""
    yield function
    seen = {function}
    work: list[tuple[Function, ast.AST]] = [(function, loop)]
    for _ in range(_MAX_DEPTH):
        called = [f for user, node in work for f in _called(model, user, node) if f not in seen]
        seen.update(called)
        work = [(f, f.node) for f in called]
        yield from called


def _called(model: Model, user: Function, below: ast.AST) -> Iterator[Function]:
    for node in walk(below):
        if not isinstance(node, ast.Call):
            continue
        meaning = model.resolve(user.module, node.func)
        name = last_name(node.func)
        if isinstance(meaning, Function):
            yield meaning
        elif isinstance(node.func, ast.Attribute) and any(word in name for word in _MAKES):
            yield from model.answer(_methods).get(name, ())


def _methods(live: LiveProgram) -> dict[str, list[Function]]:
    """The methods of the program by name."""
    found: dict[str, list[Function]] = {}
    for module in live.program.modules.values():
        for cls in module.all_classes:
            for name, method in cls.methods.items():
                found.setdefault(name, []).append(method)
    return found
