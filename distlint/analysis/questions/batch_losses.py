"""Losses of this rank's batch: what holds them in a function that sends them backward, and in its callers."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.syntax import own_nodes, storage_of, target_names
from distlint.analysis.questions.shares.reading import path_of
from distlint.analysis.questions.training import goes_backward, sent_backward
from distlint.analysis.questions.wrapped import without_gradients
from distlint.knowledge.ranks import ARGUMENT_NAMES
from distlint.knowledge.shares import SYNCHRONISES
from distlint.nodes import children, walk
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function

_KEEPS: Final = pattern(
    r"^(?:item|detach|float|cpu|numpy|mean|sum|tolist|clone|round|to|abs|type|data|get|avg|value|stack|tensor|cat|exp"
    r"|items|values|dict|compute|format|len|min|max|deque|list|tuple|div|log10|safe_div|append|extend"
    r"|isinstance|join|str|zip|enumerate|sorted|keys|nanmean|copy|pop)$"
)
"""Functions whose outcome is of the same rank as what they are given."""
_SCALES: Final = pattern(r"^scale(?:_loss)?$")
_LOSS: Final = pattern(r"loss", re.IGNORECASE)
_NO_LOSS: Final = pattern(
    r"weight|coef|scal(?:e|er|ing)|lambda|(?:^|_)(?:fn|func|type|name)s?(?:_|$)", re.I
)
"""Words in the names of what stands beside a loss and is none."""
_BESIDE: Final = pattern(r"loss|metric|stat|log(?!it|p|_?prob)|detail", re.IGNORECASE)
"""Names of what a function gives back beside a loss, and that tells of the same batch."""
_ON_THE_WAY: Final = pattern(r"gather|reduce|sync|across|average_|all_", re.IGNORECASE)
_GATHERS: Final = {
    "all_gather": 0,
    "all_gather_into_tensor": 0,
    "all_gather_object": 0,
    "gather": 1,
    "gather_object": 1,
}
"""Collectives of torch that leave what they are given as it is, with the position of what they fill."""
_DIST: Final = pattern(r"(?:torch\.distributed|dist)\.\w+$")
_PUTS: Final = frozenset({"update", "append", "add", "extend"})


Scopes = Mapping[int, ast.expr]
"""The names in the bodies of loops, by `id`, with what the loop that binds them goes through."""


@dataclass(frozen=True, slots=True, eq=False)
class Losses:
    """What holds losses of this rank in a function.

    `whole` are variables, attributes and elements by a written key that are made of one; `partly` are containers
    of which some elements are; from the lines of `until` on, something may be of all ranks. `measured` are reads of what
    was computed last without gradients, under a name that a loss has elsewhere, `joined` those of what was put together last.
    """

    whole: frozenset[str] = frozenset()
    partly: frozenset[str] = frozenset()
    scopes: Scopes = field(default_factory=dict)
    until: Mapping[str, int] = field(default_factory=dict)
    measured: frozenset[int] = frozenset()
    joined: frozenset[int] = frozenset()

    def holds(self, node: ast.AST) -> bool:
        """Whether an expression is made of a loss of this rank, and of nothing that may be of all."""
        return self._told(node) is True

    def first(self, node: ast.expr) -> ast.expr:
        """The first variable or element in an expression that holds such a loss; else the expression."""
        named = (n for n in walk(node) if isinstance(n, ast.expr) and _element(n))
        return next((n for n in named if self.holds(n)), node)

    def _told(self, node: ast.AST) -> bool | None:
        """True where a loss of this rank is in an expression, None where nothing is; False where it may be of all."""
        path = _element(node)
        if path:
            return self._of_path(path, node)
        if isinstance(node, ast.Call):
            if not _KEEPS.match(last_name(node)):
                return False
            parts: list[ast.AST] = [*node.args, *(k.value for k in node.keywords)]
            if isinstance(node.func, ast.Attribute):
                parts.append(node.func.value)
        else:
            parts = [n for n in children(node) if isinstance(n, ast.expr | ast.comprehension)]
        found: bool | None = None
        for part in parts:
            told = self._told(part)
            if told is False:
                return False
            found = found or told
        return found

    def _of_path(self, path: str, node: ast.AST) -> bool | None:
        if _ON_THE_WAY.search(path) or id(_variable(node)) in self.joined:
            return False
        if id(_variable(node)) in self.measured:
            return None
        if _is_under(path, self.whole) or path in self.partly:
            lines = [line for p, line in self.until.items() if _is_under(path, {p})]
            return not lines or node.lineno <= min(lines)  # type: ignore[attr-defined]
        over = self.scopes.get(id(_variable(node)))
        return None if over is None else self._told(over)


Returned = frozenset[str | int | None]
"""The elements of what a function returns that are losses of this rank, by key or position; None: all of it."""


def losses_of(live: LiveProgram, function: Function) -> tuple[Losses, ast.AST | None]:
    """What holds losses of this rank in a function, with what sends them backward there."""
    return live.answer(_Known).of(function)


class _Known:
    """What holds losses of this rank, for each function that was asked about."""

    def __init__(self, live: LiveProgram) -> None:
        self._live = live
        self._found: dict[Function, tuple[Losses, ast.AST | None]] = {}

    def of(self, function: Function) -> tuple[Losses, ast.AST | None]:
        if function not in self._found:
            self._found[function] = (Losses(), None)
            self._found[function] = self._compute(function)
        return self._found[function]

    def _compute(self, function: Function) -> tuple[Losses, ast.AST | None]:
        nodes = own_nodes(function)
        sent = [(n, root) for n in nodes if (root := sent_backward(n)) is not None]
        steps = [] if sent else list(self._steps(function))
        if not sent and not steps:
            return Losses(), None
        given = {name for _, names in steps for name in names}
        writes = list(_writes(function))
        begun = {path for path, _ in writes}
        begun |= {_first(path) for path in begun} - {"self"}
        roots = {path for _, root in sent for path in _roots(root)}
        roots = {path for path in roots if path in begun or _first(path) in begun}
        roots |= {term for path, value in writes if path in roots for term in _terms(value)}
        roots |= self._beside(function, roots)
        began = (*(node for node, _ in sent), *(call for call, _ in steps))
        return _closed(function, roots | given, writes), began[0]

    def _steps(self, function: Function) -> Iterator[tuple[ast.Call, list[str]]]:
        """The calls that make a step of the training and give its losses back, with what gets them."""
        for node in own_nodes(function):
            if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
                continue
            group = self._live.call_at(node.value)
            callee = group.site.callee if group is not None else None
            if callee is None or not goes_backward(callee.node):
                continue
            if any(_reduced(n) for n in own_nodes(callee)):
                continue
            names = [name for target in node.targets for name in target_names(target)]
            found = [name for name in names if _LOSS.search(name)]
            found += self._received(node, callee)
            if found:
                yield node.value, found

    def _received(self, node: ast.Assign, callee: Function) -> Iterator[str]:
        """What an assignment of a function's result puts losses into."""
        returned = self._returned(callee)
        for target in node.targets:
            for key in returned:
                match target, key:
                    case ast.Tuple(elts=elements), int() if key < len(elements):
                        yield path_of(elements[key])
                    case ast.Name() | ast.Attribute(), None:
                        yield path_of(target)
                    case ast.Name() | ast.Attribute(), _:
                        yield f"{path_of(target)}[{key!r}]"

    def _returned(self, function: Function) -> Returned:
        losses, _ = self.of(function)
        found: set[str | int | None] = set()
        for node in own_nodes(function, ast.Return):
            match node:
                case ast.Return(value=ast.Tuple(elts=elements)):
                    found.update(n for n, e in enumerate(elements) if losses.holds(e))
                case ast.Return(value=ast.Dict() as written):
                    found.update(key for key, value in _items(written) if losses.holds(value))
                case ast.Return(value=ast.Name(id=name)) if name in losses.partly:
                    found.update(_keys(name, losses.whole))
                case ast.Return(value=ast.expr() as value) if losses.holds(value):
                    found.add(None)
        return frozenset(found)

    def _beside(self, function: Function, roots: set[str]) -> set[str]:
        """What a call gives beside a loss, unless the function that it calls puts something together."""
        found: set[str] = set()
        for node in own_nodes(function, ast.Assign):
            match node:
                case ast.Assign(targets=[ast.Tuple(elts=elements)], value=ast.Call() as call):
                    paths = [path_of(element) for element in elements]
                    group = self._live.call_at(call)
                    callee = group.site.callee if group is not None else None
                    if not roots.isdisjoint(paths) and not (
                        callee is not None and any(_reduced(n) for n in own_nodes(callee))
                    ):
                        found.update(
                            p for p in paths if _BESIDE.search(p) and not _NO_LOSS.search(p)
                        )
        return found


def _closed(function: Function, began: set[str], writes: list[tuple[str, ast.expr]]) -> Losses:
    """What is made of the losses that are known, through what keeps them those of this rank."""
    until: dict[str, int] = {}
    for node in own_nodes(function):
        for path in _reduced(node):
            until[path] = min(until.get(path, node.lineno), node.lineno)  # type: ignore[attr-defined]
    scopes = _scopes(function, {path for path, _ in writes})
    measured, joined = _measured(function), _joined(function, until)
    whole, partly = set(began), {_base(path) for path in began if path.endswith("]")}
    while True:
        known = Losses(frozenset(whole), frozenset(partly), scopes, until, measured, joined)
        more: set[str] = set()
        some: set[str] = set()
        for path, value in writes:
            if isinstance(value, ast.Dict):
                keys = [key for key, each in _items(value) if known.holds(each)]
                more.update(f"{path}[{key!r}]" for key in keys)
                some.update([path] if keys else ())
            elif isinstance(value, ast.Name) and value.id in partly - whole:
                some.add(path)
                more.update(f"{path}[{key!r}]" for key in _keys(value.id, known.whole))
            elif known.holds(value):
                more.add(path)
        some.update(_base(path) for path in more if path.endswith("]"))
        if more <= whole and some <= partly:
            break
        whole |= more
        partly |= some
    common = _of_all(writes, {p for node in own_nodes(function, ast.Call) for p in _filled(node)})
    kept = frozenset(p for p in whole if not _is_under(p, until.keys()) and p not in common)
    rest = frozenset(partly - until.keys() - kept)
    return Losses(kept, rest, scopes, measured=measured, joined=joined)


def _of_all(writes: list[tuple[str, ast.expr]], filled: set[str]) -> set[str]:
    """What is made, in one arm or the other, of what a collective has filled: the loss of all ranks, or of the only one.

    sbi_model_comparison c4f46f9 src/Trainer.py:135: the mean of what `dist.all_gather` has filled; without ranks the loss itself.
    """
    found = set(filled)
    while filled:
        more = {
            path
            for path, value in writes
            if any(path_of(n) in found for n in walk(value, ast.Name, ast.Attribute))
        }
        if more <= found:
            break
        found |= more
    return found


def _element(node: ast.AST) -> str:
    """The path of a variable, attribute or element by a written key, also `output.get("loss")`."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=owner, attr="get" | "pop"),
            args=[ast.Constant(value=str(key)), *_],
        ):
            path = path_of(owner)
            return path and f"{path}[{key!r}]"
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return path_of(node)
    return ""


def _variable(node: ast.AST) -> ast.AST:
    """The variable with which the path of an attribute or element begins."""
    while not isinstance(node, ast.Name):
        match node:
            case ast.Attribute(value=owner) | ast.Subscript(value=owner) | ast.Call(func=owner):
                node = owner
            case _:
                break
    return node


def _is_under(path: str, paths: Collection[str]) -> bool:
    """Whether a path is one of some, or leads into one."""
    while path not in paths:
        cut = max(path.rfind("."), path.rfind("["))
        if cut < 0:
            return False
        path = path[:cut]
    return True


def _base(path: str) -> str:
    """The container in which an element is."""
    return path.rpartition("[")[0] if path.endswith("]") else path


def _first(path: str) -> str:
    """The variable with which a path begins."""
    return path.partition(".")[0].partition("[")[0]


def _keys(name: str, paths: frozenset[str]) -> Iterator[str]:
    """The written keys under which a container has what is asked for."""
    for path in paths:
        if path.startswith(f"{name}[") and path.endswith("']"):
            yield path[len(name) + 2 : -2]


def _items(node: ast.Dict) -> Iterator[tuple[str, ast.expr]]:
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value, value


def _roots(root: ast.expr) -> Iterator[str]:
    """The paths of losses in what is sent backward, without the scaler that a method of is called.

    1xgpt 0069734 train.py:621: `loss / args.gradient_accumulation_steps`, by which line 593 counts the steps.
    """
    match root:
        case ast.Call(func=ast.Attribute(), args=[given, *_]) if _SCALES.match(last_name(root)):
            yield from _roots(given)
        case ast.Call() if not _KEEPS.match(last_name(root)):
            return
        case ast.Call(func=func, args=args):
            owners = [func.value] if isinstance(func, ast.Attribute) and not args else []
            for part in (*owners, *args):
                yield from _roots(part)
        case ast.BinOp(left=left, op=ast.Div() | ast.FloorDiv()):
            yield from _roots(left)  # by a number of steps, of which counters are made too
        case ast.Attribute(value=owner) if last_name(owner) in ARGUMENT_NAMES:
            pass  # a setting
        case ast.Name() | ast.Attribute() | ast.Subscript() if path := path_of(root):
            yield path
        case ast.expr():
            for child in children(root):
                if isinstance(child, ast.expr):
                    yield from _roots(child)


def _terms(value: ast.expr) -> Iterator[str]:
    """The losses that a loss is made of: `a_loss + b_loss`, `sum(losses.values())`, `losses[0]`, `v["loss"]`."""
    path = path_of(value)
    if path or isinstance(value, ast.Subscript):
        path = path or path_of(storage_of(value))
        if _LOSS.search(path) and not _NO_LOSS.search(path):
            yield path if not path.endswith("]") or "'" in path else _base(path)
        return
    if isinstance(value, ast.Call) and not _KEEPS.match(last_name(value)):
        return
    for part in children(value):
        if isinstance(part, ast.Attribute) and isinstance(value, ast.Call) and part is value.func:
            yield from _terms(part.value)
        elif isinstance(part, ast.comprehension):
            yield from _terms(part.iter)
        elif isinstance(part, ast.expr) and not (
            isinstance(value, ast.Call) and part is value.func
        ):
            yield from _terms(part)


def _writes(function: Function) -> Iterator[tuple[str, ast.expr]]:
    """What a function puts where: in assignments, and in calls of meters, lists and dicts."""
    for node in own_nodes(function, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _assigned(target, value)
            case (
                ast.AugAssign(target=target, value=value)
                | ast.AnnAssign(target=target, value=ast.expr() as value)
            ):
                yield from _assigned(target, value)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=attr, value=owner)) as call) if (
                attr in _PUTS
            ):
                path = path_of(owner) or path_of(storage_of(owner))
                for value in (*call.args, *(k.value for k in call.keywords)):
                    if path:
                        yield path, value


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match target, value:
        case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(values):
            for name, each in zip(names, values, strict=True):
                yield from _assigned(name, each)
        case ast.Subscript(), _ if path := path_of(target):
            yield path, value
        case _:
            yield from ((name, value) for name in target_names(target))


def _written(function: Function) -> dict[str, list[ast.Assign]]:
    """The assignments of a function by the names that they bind."""
    found: dict[str, list[ast.Assign]] = {}
    for node in own_nodes(function, ast.Assign):
        for name in (name for target in node.targets for name in target_names(target)):
            found.setdefault(name, []).append(node)
    return found


def _measured(function: Function) -> frozenset[int]:
    """The reads of variables, by `id`, whose last assignment above stands where gradients are turned off.

    CodeGen e3e8855 CodeXGLUE/Code-Text/code-to-text/code/run.py:402: the `loss` of the evaluation, in the function that
    sends another of that name backward.
    """
    written = {
        name: [(node.lineno, without_gradients(function, node)) for node in nodes]
        for name, nodes in _written(function).items()
    }
    mixed = {name: sorted(at) for name, at in written.items() if len({off for _, off in at}) > 1}
    found: set[int] = set()
    for read in own_nodes(function, ast.Name) if mixed else ():
        if read.id in mixed:
            above = [off for line, off in mixed[read.id] if line < read.lineno]
            if above and above[-1]:
                found.add(id(read))
    return frozenset(found)


def _joined(function: Function, until: Mapping[str, int]) -> frozenset[int]:
    """The reads of variables, by `id`, whose last assignment above takes what was put together over the ranks.

    The mean of this rank's losses goes into a tensor, and what `all_reduce` has made of that takes its name over:
    `mean = tensor.item()`.
    """
    written = _written(function) if until else {}
    # `torch.cuda.synchronize()` puts nothing together: what is not assigned here is a module, or a setting.
    put = {path: line for path, line in until.items() if _first(path) in written}
    if not put:
        return frozenset()
    last: dict[int, ast.expr] = {}
    for read in own_nodes(function, ast.Name):
        above = [n for n in written.get(read.id, ()) if (n.end_lineno or n.lineno) < read.lineno]
        if above:
            last[id(read)] = max(above, key=lambda n: n.lineno).value
    found: set[int] = set()
    while True:
        more = {
            read
            for read, value in last.items()
            if any(
                id(n) in found or put.get(dotted_name(n), n.lineno) < n.lineno
                for n in _taken(value)
            )
        }
        if more <= found:
            return frozenset(found)
        found |= more


def _taken(value: ast.AST) -> Iterator[ast.Name | ast.Attribute]:
    """The variables and attributes whose number an expression is made of: not what says on which device, or of which shape."""
    match value:
        case ast.Name() | ast.Attribute():
            yield value
        case ast.Call(func=func, args=args):
            if _KEEPS.match(last_name(value)):
                for part in (*args, *([func.value] if isinstance(func, ast.Attribute) else ())):
                    yield from _taken(part)
        case ast.Subscript(value=owner):
            yield from _taken(owner)
        case ast.IfExp(body=body, orelse=orelse):
            yield from _taken(body)
            yield from _taken(orelse)
        case ast.expr():
            for child in children(value):
                yield from _taken(child)


def _scopes(function: Function, written: set[str]) -> Scopes:
    """What the variables of the loops stand for in their bodies: their names come again."""
    found: dict[int, ast.expr] = {}
    for loop in own_nodes(function, ast.For):
        bound = dict(_bound(loop.target, loop.iter))
        for node in (n for statement in loop.body for n in walk(statement)) if bound else ():
            if isinstance(node, ast.Name) and node.id in bound and node.id not in written:
                found[id(node)] = bound[node.id]
    return found


def _bound(target: ast.expr, over: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match target, over:
        case ast.Tuple(elts=[ast.Name(), value]), ast.Call(func=ast.Attribute(attr="items")):
            yield from ((name, over) for name in target_names(value))
        case ast.Tuple(elts=[ast.Name(), value]), ast.Call(
            func=ast.Name(id="enumerate"), args=[inner, *_]
        ):
            yield from _bound(value, inner)
        case ast.Tuple(elts=names), ast.Call(func=ast.Name(id="zip"), args=args) if len(
            names
        ) == len(args):
            for name, each in zip(names, args, strict=True):
                yield from _bound(name, each)
        case ast.Name(id=name), ast.Call(
            func=ast.Attribute(attr="values")
        ) | ast.Name() | ast.Attribute():
            yield name, over


def _reduced(node: ast.AST) -> list[str]:
    """The variables and objects that a call puts together over the ranks."""
    if not (isinstance(node, ast.Call) and SYNCHRONISES.search(last_name(node))):
        return []
    given = [*node.args, *(k.value for k in node.keywords)]
    if _is_of_torch(node):
        return _filled(node)
    if isinstance(node.func, ast.Attribute):
        given.append(node.func.value)
    return [dotted_name(n) for g in given for n in walk(g, ast.Name, ast.Attribute)]


def _filled(node: ast.Call) -> list[str]:
    """The variables that a collective of torch fills with what all ranks have."""
    if not _is_of_torch(node):
        return []
    at = _GATHERS[last_name(node)]
    given = [*node.args, *(k.value for k in node.keywords)][at : at + 1]
    return [dotted_name(n) for g in given for n in walk(g, ast.Name, ast.Attribute)]


def _is_of_torch(node: ast.Call) -> bool:
    return last_name(node) in _GATHERS and _DIST.match(dotted_name(node.func)) is not None
