"""Objects that rank 0 alone is given or fills: the others have None in their place, and fail where they use it, or an empty one."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.ranks import MAIN, OTHER
from distlint.analysis.program.definitions import Class, dotted_name
from distlint.analysis.program.environment import blocks_of
from distlint.analysis.program.handed import callers_by_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, mentions_rank, own_nodes
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.interpreter.values import Value
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function


def fails_on_others(live: LiveProgram, site: CallSite) -> bool:
    """Whether the other ranks do not come to a call in a method: above it they take an element of what they lack.

    DoRA 7e2f10a image_video_text_understanding/VL-T5/src/multitask_video.py:450: `self.test_loader["tvqa"]`, which is None
    where `gpu != 0` (line 774), and what is made of it is written below.
    """
    cls = site.function.cls
    if cls is None:
        return False
    return any(_lacked_by_others(live, cls, attr) for attr in _taken_above(site))


def _taken_above(site: CallSite) -> Iterator[str]:
    """The attributes of `self` of which an element is taken on every way to a call, in a statement of its own."""
    block = site.function.body
    while block:
        above = [each for each in block if each.lineno <= site.node.lineno]
        for each in above:
            match each:
                case ast.Assign(
                    value=ast.Subscript(
                        value=ast.Attribute(value=ast.Name(id="self"), attr=attr), ctx=ast.Load()
                    )
                ):
                    yield attr
        inner = blocks_of(above[-1]) if above else ()
        block = next((b for b in inner if any(n is site.node for s in b for n in walk(s))), [])


@remembered
def _lacked_by_others(live: LiveProgram, cls: Class, attr: str) -> bool:
    """Whether every call that makes an object hands None to the other ranks, and something to rank 0, for an attribute."""
    given = list(_given(live, cls, attr))
    return bool(given) and all(map(_is_for_main, given))


def _is_for_main(given: list[tuple[bool, Value | None]]) -> bool:
    """Whether rank 0 is given what may be something, and no other rank is given anything but None."""
    nothing = [(main, v is not None and v.known and v.const is None) for main, v in given]
    return any(main and not none for main, none in nothing) and all(
        none or main for main, none in nothing
    )


def _given(live: LiveProgram, cls: Class, attr: str) -> Iterator[list[tuple[bool, Value | None]]]:
    """For each call that makes an object of a class, what the ranks pass for an attribute: whether it is rank 0, and what."""
    own, _ = live.program.mro(cls)
    makers = [c.methods["__init__"] for c in own if "__init__" in c.methods]
    kept = [values for m in makers if (values := assignments(m).get(f"self.{attr}"))]
    writers = {m.name for c in own for m in c.self_assigned.get(attr, ())}
    if not makers or writers != {"__init__"} or len(kept) != 1:
        return
    match kept[0]:
        case [ast.Name(id=name)] if name in makers[0].parameters:
            pass
        case _:
            return
    place = makers[0].parameters.index(name) - 1
    for user, call in callers_by_name(live.program, makers[0]):
        group = live.call_at(call)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "__init__":
            continue  # `super().__init__(loader)` of a class below
        made = live.resolve(user.module, call.func)
        if isinstance(made, Class) and cls not in live.program.mro(made)[0]:
            continue
        ranks = {MAIN, OTHER}
        sites = [] if group is None else [(r, s) for r, s in group.sites if r in ranks]
        yield [(rank == MAIN, site.argument(place, name)) for rank, site in sites]


def filled_by_some(functions: Iterable[Function]) -> dict[str, ast.AST]:
    """The collections that begin empty and are filled under tests of the rank alone, each with a place that fills it.

    Args:
        functions: those in which the names mean the same: one, or the methods of a class for its attributes.
    """
    begun, filled, by_all = set[str](), dict[str, ast.AST](), set[str]()
    given: dict[str, int] = {}
    for function in functions:
        tested = {
            inner
            for node in own_nodes(function, ast.If)
            if mentions_rank(node.test)
            for inner in walk(node)
        }
        for name, values in assignments(function).items():
            given[name] = given.get(name, 0) + len(values)
        for node in own_nodes(function, ast.Assign, ast.AnnAssign, ast.Call, ast.AugAssign):
            match node:
                case (
                    ast.Assign(targets=[into], value=ast.List(elts=[]) | ast.Dict(keys=[]))
                    | ast.AnnAssign(target=into, value=ast.List(elts=[]) | ast.Dict(keys=[]))
                ) if node not in tested:
                    begun.add(dotted_name(into))
                case (
                    ast.Call(
                        func=ast.Attribute(
                            value=into, attr="append" | "extend" | "update" | "add" | "insert"
                        )
                    )
                    | ast.AugAssign(target=into)
                    | ast.Assign(targets=[ast.Subscript(value=into)])
                ) if name := dotted_name(into):
                    if node in tested:
                        filled.setdefault(name, node)
                    else:
                        by_all.add(name)
    once = {name for name, number in given.items() if number == 1}
    return {name: at for name, at in filled.items() if name in begun & once - by_all}
