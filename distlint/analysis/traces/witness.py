"""From a divergence to words: what each class of ranks does beside the other, and where.

One place for the sentences, related places and witness columns of all rules on collectives.
"""

from __future__ import annotations

import ast

from distlint.analysis.interpreter.ir import Event, Guard
from distlint.analysis.interpreter.ranks import MAIN, OTHER, RankClass
from distlint.analysis.program.definitions import Module
from distlint.analysis.program.places import place_of, related
from distlint.analysis.program.syntax import decided, ends_process
from distlint.analysis.traces.divergence import Divergence
from distlint.analysis.traces.nodes import EventNode
from distlint.analysis.traces.parting import Parting, leaving_less
from distlint.findings import Place, Related, Witness, WitnessStep
from distlint.nodes import walk
from distlint.records import dataclass

_MAX_TEXT = 56
_SHOWN_TRAIL = 2
_SHOWN_PARTINGS = 3


@dataclass(frozen=True, slots=True)
class Side:
    """How a class of ranks is spoken of: "rank 0 waits", "the other ranks wait"."""

    name: str
    heading: str
    plural: bool

    def verb(self, singular: str, plural: str) -> str:
        """The verb in the right number."""
        return plural if self.plural else singular


def side(rank: RankClass | None) -> Side:
    """How to speak of a class of ranks; None stands for ranks that a local condition singles out."""
    if rank is None:
        return Side("some ranks", "some ranks", True)
    if rank is OTHER:
        return Side("the other ranks", "other ranks", True)
    if rank is MAIN:
        return Side("rank 0", "rank 0", False)
    return Side(rank.name, rank.name, False)


def text_of(node: ast.AST) -> str:
    """The source of an expression on one line, shortened."""
    text = ast.unparse(node.context_expr if isinstance(node, ast.withitem) else node)
    text = text.split("\n", 1)[0]
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 3] + "..."


def event_text(event: Event) -> str:
    """A collective as its call reads: `dist.barrier()`."""
    node = event.node
    if event.iterated:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "next"
        ):
            return text_of(node)
        return f"for ... in {text_of(node)}"
    if isinstance(node, ast.Call):
        name = text_of(node.func)
        return f"{name}()" if not node.args and not node.keywords else f"{name}(...)"
    return event.op


def where(module: Module, node: ast.AST, home: Module) -> str:
    """A place in words, seen from the file of the finding: "line 12" or "train.py:12"."""
    line = getattr(node, "lineno", 1)
    return f"line {line}" if module is home else f"{module.path}:{line}"


_WORDS = {
    ast.Return: ("returned", "return"),
    ast.Raise: ("raised", "raise"),
    ast.Continue: ("gone on to the next iteration", "continue"),
    ast.Break: ("left the loop", "break"),
    ast.Expr: ("ended the process", "exit"),
}


@dataclass(frozen=True, slots=True)
class Exit:
    """How ranks leave from a branch: the words for it, the line, whether they always do, and the arm."""

    done: str
    word: str
    line: int
    always: bool
    node: ast.stmt | None = None
    arm: bool = True


def exit_of(divergence: Divergence, guard: Guard) -> Exit | None:
    """How ranks leave from the branch of a guard; None where the collective is what the branch holds."""
    branch = _branch(guard)
    if not isinstance(branch, ast.If) or any(n is divergence.anchor for n in walk(branch)):
        return None
    arms = ((branch.body, True), (branch.orelse, False))
    for block, arm in arms:
        if block and _leaves(divergence, block[-1]):
            return Exit(*_WORDS[type(block[-1])], block[-1].lineno, True, block[-1], arm)
    for block, arm in arms:
        # The launcher ends the job where a rank raises: who returns keeps the others waiting.
        for node in sorted(_exits(divergence, block), key=lambda n: isinstance(n, ast.Raise)):
            return Exit(*_WORDS[type(node)], node.lineno, False, node, arm)
    return None


def _exits(divergence: Divergence, block: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a block by which ranks leave it."""
    inner = leaving_less(block)
    nodes = (node for statement in block for node in walk(statement))
    return [
        n for n in nodes if isinstance(n, ast.stmt) and n not in inner and _leaves(divergence, n)
    ]


def _is_only_exit(divergence: Divergence, guard: Guard) -> bool:
    """Whether ranks leave from the branch of a guard at one statement alone."""
    branch = _branch(guard)
    if not isinstance(branch, ast.If):
        return False
    return len(_exits(divergence, branch.body)) + len(_exits(divergence, branch.orelse)) == 1


def _branch(guard: Guard) -> ast.If | ast.IfExp | None:
    """What a condition decides; None for one of `and`, `or`, `while`, `assert` or a decorator."""
    found = decided(guard.module).get(id(guard.node))
    return None if isinstance(found, ast.Assert) else found


def _arms(divergence: Divergence, parting: Parting) -> tuple[bool, bool]:
    """The arms that the waiting class and the other take, as their runs say.

    Where a class answers either way, it takes the way on which the two part.
    """
    waiting, absent = parting.waiting, parting.absent
    if waiting is None:
        left = exit_of(divergence, parting.guard)
        waiting = not absent if absent is not None else left is None or not left.arm
    return waiting, not waiting if absent is None else absent


def _answers(divergence: Divergence, parting: Parting) -> tuple[str, str]:
    """What the waiting class and the other do at a condition."""
    guard = parting.guard
    left = exit_of(divergence, guard)
    branch = _branch(guard)
    if any(guard.node is decorator for decorator in divergence.function.decorators):
        words = {True: f"runs {divergence.function.name}", False: "returns at once"}
    elif left is not None:
        words = {left.arm: left.word, not left.arm: "goes on"}
    else:
        words = {True: "enters", False: "else" if branch and branch.orelse else "skips"}
    waiting, absent = _arms(divergence, parting)
    return words[waiting], words[absent]


def _leaves(divergence: Divergence, statement: ast.stmt) -> bool:
    match statement:
        case ast.Return() | ast.Raise() | ast.Continue() | ast.Break():
            return True
        case ast.Expr(value=ast.Call(func=function) as call):
            return ends_process(function) or id(call) in divergence.ending
    return False


def absence(divergence: Divergence) -> str:
    """What the ranks do that do not come to the collective, as the second half of a sentence."""
    absent = side(divergence.absent)
    home = divergence.module
    others = divergence.others
    if others is not None:
        return f"{absent.name} {absent.verb('is', 'are')} in `{event_text(others)}` ({where(others.module, others.node, home)})"
    if not divergence.guards:
        return f"{absent.name} never {absent.verb('reaches', 'reach')} it"
    guard = divergence.guards[-1]
    if any(guard.node is decorator for decorator in divergence.function.decorators):
        name = divergence.function.name
        return f"`@{text_of(guard.node)}` keeps {absent.name} out of `{name}`"
    left = exit_of(divergence, guard)
    if left is not None:
        line = f"line {left.line}" if guard.module is home else f"{guard.module.path}:{left.line}"
        if left.always:
            return f"{absent.name} {absent.verb('has', 'have')} {left.done} at {line}"
        return f"{absent.name} may have {left.done} at {line}"
    if _arms(divergence, divergence.partings[-1])[1]:
        return f"{absent.name} {absent.verb('takes', 'take')} the branch `{text_of(guard.node)}` ({where(guard.module, guard.node, home)})"
    return f"{absent.name} {absent.verb('does', 'do')} not enter the branch `{text_of(guard.node)}` ({where(guard.module, guard.node, home)})"


def waiting(divergence: Divergence) -> str:
    """Who waits where, as the first half of a sentence."""
    waiters = side(divergence.waiters)
    event = divergence.event
    return f"{waiters.name} {waiters.verb('waits', 'wait')} in `{event_text(event)}` ({where(event.module, event.node, divergence.module)})"


def related_places(divergence: Divergence) -> tuple[Related, ...]:
    """The conditions that divide the ranks, the calls that lead to the collective, the collective."""
    places: list[Related] = []
    for guard in divergence.guards:
        places.append(related(guard.module, guard.node, "the ranks part here"))
        left = exit_of(divergence, guard)
        if left is not None and left.node is not None:
            done = f"they have {left.done} here"
            places.append(
                related(guard.module, left.node, done, needed=_is_only_exit(divergence, guard))
            )
    if divergence.condition is not None and divergence.node is not None:
        origin = divergence.condition.origin
        test = (
            getattr(divergence.node, "test", None)
            or getattr(divergence.node, "iter", None)
            or divergence.node
        )
        places.append(related(divergence.module, test, "this can differ between ranks"))
        if origin is not None and origin.node is not test and hasattr(origin.node, "lineno"):
            places.append(
                related(origin.module, origin.node, f"{origin.text} differs from rank to rank")
            )
    for call in divergence.chain:
        places.append(
            related(
                _module_of_call(divergence, call.node),
                call.node,
                f"calls `{call.summary.function.qualname}`",
                needed=True,
            )
        )
    if divergence.event.node is not divergence.anchor or divergence.condition is not None:
        event = divergence.event
        text = f"the collective: `{event_text(event)}`"
        places.append(related(event.module, event.node, text, needed=True))
    if divergence.others is not None:
        other = divergence.others
        places.append(
            related(
                other.module, other.node, f"{side(divergence.absent).name}: `{event_text(other)}`"
            )
        )
    return tuple(dict.fromkeys(places))


def _module_of_call(divergence: Divergence, node: ast.AST) -> Module:
    module = (divergence.caller or divergence.function).module
    for call in divergence.chain:
        if call.node is node:
            return module
        module = call.summary.function.module
    return module


def witness(divergence: Divergence) -> Witness:
    """The two columns: what the waiting class does beside the other, up to where they part."""
    waiters, absent = side(divergence.waiters), side(divergence.absent)
    mine: list[WitnessStep] = []
    theirs: list[WitnessStep] = []
    for act in divergence.path[-_SHOWN_TRAIL:]:
        step = WitnessStep(_place(act.event), event_text(act.event))
        mine.append(step)
        theirs.append(step)
    # Where nothing explains why they part, all that divides them would be a long list.
    shown = divergence.partings if divergence.explained else divergence.partings[-_SHOWN_PARTINGS:]
    for parting in shown:
        guard = parting.guard
        place = place_of(guard.module, guard.node)
        decorates = any(guard.node is each for each in divergence.function.decorators)
        test = f"@{text_of(guard.node)} " if decorates else f"if {text_of(guard.node)} "
        mine_does, theirs_do = _answers(divergence, parting)
        mine.append(WitnessStep(place, f"{test} → {mine_does}"))
        theirs.append(WitnessStep(place, f"{test} → {theirs_do}"))
    if divergence.condition is not None and divergence.node is not None:
        test_node = (
            getattr(divergence.node, "test", None)
            or getattr(divergence.node, "iter", None)
            or divergence.node
        )
        place = place_of(divergence.module, test_node)
        mine.append(WitnessStep(place, f"{text_of(test_node)}  → one way"))
        theirs.append(WitnessStep(place, f"{text_of(test_node)}  → the other"))
    for call in divergence.chain:
        mine.append(
            WitnessStep(
                place_of(_module_of_call(divergence, call.node), call.node),
                f"{text_of(getattr(call.node, 'func', call.node))}(...)",
            )
        )
    mine.append(WitnessStep(_place(divergence.event), f"{event_text(divergence.event)}  ← waits"))
    if divergence.others is not None:
        theirs.append(
            WitnessStep(_place(divergence.others), f"{event_text(divergence.others)}  ← waits")
        )
    else:
        theirs.append(WitnessStep(_end_of(divergence), f"(end of {divergence.function.name})"))
    chain = tuple(
        WitnessStep(
            place_of(_module_of_call(divergence, c.node), c.node), c.summary.function.qualname
        )
        for c in divergence.chain
    )
    return Witness(((waiters.heading, tuple(mine)), (absent.heading, tuple(theirs))), chain)


def _place(event: Event) -> Place:
    return place_of(event.module, event.node)


def _end_of(divergence: Divergence) -> Place:
    node = divergence.function.node
    line = (
        getattr(node, "end_lineno", None) or getattr(node.body[-1], "end_lineno", 1)
        if not isinstance(node, ast.Lambda)
        else node.lineno
    )
    return Place(divergence.module.path, int(line or 1), 0, int(line or 1), 0)


__all__ = [
    "EventNode",
    "absence",
    "event_text",
    "exit_of",
    "related_places",
    "side",
    "text_of",
    "waiting",
    "where",
    "witness",
]
