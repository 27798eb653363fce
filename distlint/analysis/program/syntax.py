"""What the syntax of one function says of its names: assignments, loop variables, `if` statements."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator
from typing import Final, overload

from distlint.analysis.program.definitions import Class, Function, Module, dotted_name, last_name
from distlint.analysis.program.memory import all_remembered, remembered, remembered_of_nodes
from distlint.knowledge import conventions
from distlint.knowledge.devices import LOCAL_INDEX_FIRST
from distlint.knowledge.ranks import ARGUMENT_NAMES, ZERO_STAGES
from distlint.nodes import LEAVES, A, B, C, D, children, of_kinds, parents_in, walk
from distlint.patterns import pattern

_RANK_WORDS: Final = (
    "rank",
    "main",
    "master",
    "should_save",
    "should_log",
    "primary",
    "leader",
    "process_zero",
    "coordinator",
    "global_zero",
    "is_saver",
)
_OTHER_WORDS: Final = pattern(
    r"domains?|remain(?:ing|der|s)?|maintain\w*|(?:re)?rank(?:ing|er|ed|net|loss)s?|rerank|leaderboard"
)
"""Words that hold one of those and have nothing to do with it."""
_BARS: Final = frozenset(name.rpartition(".")[2] for name in conventions.PROGRESS_BARS)
SPAWNERS: Final = frozenset(name.rpartition(".")[2] for name in LOCAL_INDEX_FIRST)
"""The functions that start others as processes, and give each its number first."""


@overload
def own_nodes(
    function: Function,
    kind: type[A],
    other: type[B] = ...,
    third: type[C] = ...,
    fourth: type[D] = ...,
    /,
) -> tuple[A | B | C | D, ...]: ...
@overload
def own_nodes(function: Function, /, *kinds: type[ast.AST]) -> tuple[ast.AST, ...]: ...
def own_nodes(function: Function, /, *kinds: type[ast.AST]) -> tuple[ast.AST, ...]:
    """The nodes of a function's body, without those of functions and classes defined in it; with `kinds` those of
    these classes alone.

    Hundreds of questions look for calls, tests or returns: what is of one kind is kept beside the whole.
    """
    known = function.memory.get(own_nodes)
    if known is None:
        known = function.memory[own_nodes] = {(): _below(function.body)}
    found: tuple[ast.AST, ...] | None = known.get(kinds)
    if found is None:
        found = known[kinds] = of_kinds(known, kinds)
    return found


def _below(body: list[ast.stmt]) -> tuple[ast.AST, ...]:
    found: list[ast.AST] = []
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        found.append(node)
        if node.__class__ not in _CLOSED:
            stack += children(node)
    return tuple(found)


def statements(
    body: list[ast.stmt], around: list[ast.expr]
) -> Iterator[tuple[ast.stmt, list[ast.expr]]]:
    """The statements of a body and of those in it, each with the conditions and loops around it."""
    for node in body:
        yield node, around
        match node:
            case ast.If(test=test) | ast.While(test=test):
                inside = [*around, test]
            case ast.For(iter=iterable):
                inside = [*around, iterable]
            case ast.With() | ast.AsyncWith() | ast.Try():
                inside = around
            case _:
                continue
        for field in ("body", "orelse", "finalbody"):
            yield from statements(getattr(node, field, []), inside)


def own_parts(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement, without the statements in it."""
    for child in children(statement):
        if isinstance(child, ast.expr | ast.keyword | ast.withitem):
            yield from walk(child)


_CLOSED: Final = LEAVES | {ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda}
"""Kinds of nodes below which there is nothing, or nothing of the function around them."""

_PARTS: Final = LEAVES | {ast.Attribute, ast.Subscript, ast.Expr, ast.keyword, ast.arg, ast.Return}
"""Kinds of nodes that bind and ask nothing by themselves: most of all nodes."""


@remembered
def assignments(function: Function) -> dict[str, list[ast.expr]]:
    """What each name of a function is assigned, in no order; of `a, b = x` both are assigned `x`.

    Of `a, b = x, y` each is assigned its own.

    An attribute goes by its whole path: `self.rank = …` says nothing of `self.log_dir`.
    """
    assigned: dict[str, list[ast.expr]] = {}
    for node in own_nodes(function):
        if node.__class__ in _PARTS:
            continue
        match node:
            case ast.Assign(targets=targets, value=value):
                for target, given in paired(targets, value):
                    for name in target_names(target):
                        assigned.setdefault(name, []).append(given)
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.AugAssign(target=target, value=value)
                | ast.NamedExpr(target=target, value=value)
            ):
                for name in target_names(target):
                    assigned.setdefault(name, []).append(value)
            case ast.For(target=target, iter=iterable) | ast.AsyncFor(target=target, iter=iterable):
                # Two values, so that a loop variable never counts as assigned once.
                for name in target_names(target):
                    assigned.setdefault(name, []).extend((iterable, iterable))
    return assigned


@remembered
def unpacked(function: Function) -> frozenset[str]:
    """The names of a function that are assigned one part of a value: of `a, b = x` both, of `a, b = x, y` none."""
    return frozenset(
        name
        for node in own_nodes(function, ast.Assign)
        for target, _ in paired(node.targets, node.value)
        if isinstance(target, ast.Tuple | ast.List)
        for name in target_names(target)
    )


@remembered
def cuts_by_parameters(function: Function) -> bool:
    """Whether a function gives back a part of what it gets, by the numbers that it gets: `items[rank::world]`."""
    return any(
        isinstance(part, ast.Slice)
        and all(
            isinstance(bound, ast.Name) and bound.id in function.parameters
            for bound in (part.lower, part.step)
        )
        for node in own_nodes(function, ast.Return)
        if node.value is not None
        for part in walk(node.value)
    )


@remembered
def takes_off_wrappers(function: Function) -> bool:
    """Whether a function reads `module` of an object, or asks for it: the model inside of a wrapper.

    ULIP f194ddb models/pointnext/PointNeXt/examples/classification/train.py:264.
    """
    return any(
        (isinstance(node, ast.Attribute) and node.attr == "module")
        or (isinstance(node, ast.Constant) and node.value == "module")
        for node in own_nodes(function)
    )


@remembered
def decided(module: Module) -> dict[int, ast.If | ast.IfExp | ast.Assert]:
    """What each test of a file decides, by the identity of the test; nothing for one of a `while`."""
    return {id(node.test): node for node in walk(module.source.tree, ast.If, ast.IfExp, ast.Assert)}


def paired(targets: list[ast.expr], value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Targets with what they get: of tuples of one length element by element."""
    for target in targets:
        match target, value:
            case (ast.Tuple(elts=names), ast.Tuple(elts=values)) if len(names) == len(values) and (
                not any(isinstance(e, ast.Starred) for e in (*names, *values))
            ):
                yield from zip(names, values, strict=True)
            case _:
                yield target, value


def target_names(target: ast.expr) -> Iterator[str]:
    """The names and attribute paths that a target binds, or puts something into (`x[i] = …`)."""
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Attribute():
            path = dotted_name(target)
            if path:
                yield path
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from target_names(element)
        case ast.Starred(value=value) | ast.Subscript(value=value):
            yield from target_names(value)


@remembered
def bound_again(function: Function) -> frozenset[str]:
    """The names that a function binds to other objects; `x /= 2` and `x[0] = 1` change what `x` is."""
    targets: list[ast.expr] = []
    for node in own_nodes(
        function, ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.For, ast.withitem
    ):
        match node:
            case ast.Assign(targets=several):
                targets += several
            case (
                ast.AnnAssign(target=target, value=ast.expr())
                | ast.NamedExpr(target=target)
                | ast.For(target=target)
                | ast.withitem(optional_vars=ast.expr() as target)
            ):
                targets.append(target)
    plain = (t for each in targets for t in walk(each, ast.Name))
    return frozenset(t.id for t in plain if isinstance(t.ctx, ast.Store))


@remembered
def names_bound(module: Module) -> frozenset[str] | None:
    """The names that a file gives a value anywhere, and those of Python; None where it imports what it does not name."""
    found = set(dir(builtins)) | {"__file__", "__name__", "__doc__", "__path__", "__package__"}
    for node in walk(module.source.tree, *_BINDING):
        found.update(_binds(node))
    return None if "*" in found else frozenset(found)


_BINDING: Final = (
    *(ast.alias, ast.Name, ast.arg, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
    *(ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping, ast.Global, ast.Nonlocal),
)
"""Kinds of nodes that may give a name a value."""


def _binds(node: ast.AST) -> Iterable[str]:
    """The names that a node gives a value, or declares to be another scope's; "*" where it imports what it does not name."""
    match node:
        case ast.alias(name=name, asname=asname):
            return (asname or name.partition(".")[0],)
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return (name,)
        case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return (name,)
        case ast.ClassDef(name=name) | ast.ExceptHandler(name=str(name)):
            return (name,)
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return (name,)
        case ast.MatchMapping(rest=str(name)):
            return (name,)
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return names
    return ()


@remembered
def never_begun(function: Function) -> frozenset[str]:
    """The variables that a function adds to and never binds: it raises UnboundLocalError.

    OmniMamba b372978 trainer.py:144: `loss_accumulator += loss.item()`, in `evaluate()`.
    """
    added = [n.target for n in own_nodes(function, ast.AugAssign) if isinstance(n.target, ast.Name)]
    if not added or function.is_module_body:
        return frozenset()
    of_itself = set(map(id, added))
    others = (node for node in walk(function.node) if id(node) not in of_itself)
    return frozenset(each.id for each in added).difference(*map(_binds, others))


def storage_of(node: ast.expr) -> ast.expr:
    """What a tensor's memory belongs to: `loss` of `loss.data`, of `loss[0]`, of `loss.view(-1)`."""
    match node:
        case (
            ast.Subscript(value=owner)
            | ast.Starred(value=owner)
            | ast.Attribute(attr="data", value=owner)
            | ast.Call(func=ast.Attribute(attr="view" | "detach" | "view_as", value=owner))
        ):
            return storage_of(owner)
        case ast.NamedExpr(target=target):
            return target
    return node


def spawned_index(function: Function) -> str:
    """The parameter in which a function that is spawned gets the number of its process; "" where none is."""
    if not any(spawned_by(function)):
        return ""
    bound = function.cls is not None and not function.has_decorator("staticmethod")
    return next(iter(function.parameters[1:] if bound else function.parameters), "")


def spawned_by(function: Function) -> tuple[tuple[Function, ast.Call], ...]:
    """The calls of its own file that spawn a function, each with the function that makes it."""
    return _spawned(function.module).get(function, ())


@remembered
def _spawned(module: Module) -> dict[Function, tuple[tuple[Function, ast.Call], ...]]:
    """The functions and methods that a file spawns itself, with the calls that do so.

    vissl 09270ed tests/test_state_checkpoint_conversion.py:196: `mp.spawn(self._worker, …)`.
    """
    found: dict[Function, tuple[tuple[Function, ast.Call], ...]] = {}
    for user, call, given in spawns(module):
        if (worker := _worker(given, user)) is not None:
            found[worker] = (*found.get(worker, ()), (user, call))
    return found


@all_remembered
def spawns(module: Module) -> Iterator[tuple[Function, ast.Call, ast.expr]]:
    """The calls of a file that start processes, each with the function that makes it, and what the processes run."""
    if any(name in module.source.text for name in SPAWNERS):
        for function in module.all_functions:
            for call in own_nodes(function, ast.Call):
                if last_name(call.func) in SPAWNERS:
                    for given in (
                        *call.args[:1],
                        *(k.value for k in call.keywords if k.arg == "fn"),
                    ):
                        yield function, call, given


def _worker(given: ast.expr, function: Function) -> Function | None:
    """What a call is given to run in other processes: a function, a method, one with more arguments by keyword."""
    match given:
        case ast.Name(id=name):
            nested = (outer.nested[name] for outer in function.outward() if name in outer.nested)
            return next(nested, function.module.functions.get(name))
        case ast.Attribute(value=ast.Name(id=owner), attr=attr):
            own = next((outer.cls for outer in function.outward() if outer.cls is not None), None)
            cls = own if owner in ("self", "cls") else function.module.classes.get(owner)
            return cls.methods.get(attr) if cls is not None else None
        case ast.Call(func=called, args=[inner]) if last_name(called) == "partial":
            return _worker(inner, function)
    return None


def default_of(function: Function, name: str) -> ast.expr | None:
    """What a parameter is where the caller gives nothing."""
    if isinstance(function.node, ast.Module):
        return None
    spec = function.node.args
    names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    if name in names:
        index = names.index(name) - (len(names) - len(spec.defaults))
        return spec.defaults[index] if index >= 0 else None
    for parameter, value in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
        if parameter.arg == name:
            return value
    return None


def element_names(function: Function) -> set[str]:
    """The names that hold an element of some collection; counters, written-out lists, lists of the command line and
    merged settings give none."""
    found: set[str] = set()
    for node in own_nodes(function, ast.For, ast.AsyncFor, ast.comprehension):
        match node:
            case ast.For() if _merges_settings(node):
                continue
            case (
                ast.For(target=target, iter=iterable)
                | ast.AsyncFor(target=target, iter=iterable)
                | ast.comprehension(target=target, iter=iterable)
            ):
                found.update(_elements(function, target, iterable))
    return found


def _merges_settings(loop: ast.For) -> bool:
    """Whether a loop only puts the entries of a dict into other settings, under their keys.

    VGen 4014d1f tools/train/train_t2v_enterance.py:38: `cfg[k] = v`, or `cfg[k].update(v)`.
    """
    match loop:
        case ast.For(
            target=ast.Tuple(elts=[ast.Name(id=key), ast.Name()]),
            iter=ast.Call(func=ast.Attribute(attr="items")),
            body=body,
        ):
            return all(_puts_under(statement, key) for statement in body)
    return False


def _puts_under(statement: ast.stmt, key: str) -> bool:
    match statement:
        case ast.If(body=body, orelse=orelse):
            return all(_puts_under(each, key) for each in (*body, *orelse))
        case (
            ast.Assign(targets=[ast.Subscript(slice=ast.Name(id=name))])
            | ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(
                        value=ast.Subscript(slice=ast.Name(id=name)), attr="update" | "append"
                    )
                )
            )
            | ast.Expr(value=ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Name(id=name), _]))
        ):
            return name == key
    return False


def _elements(function: Function, target: ast.expr, iterable: ast.expr) -> Iterator[str]:
    match iterable:
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]) if (
            isinstance(target, ast.Tuple) and len(target.elts) == 2
        ):
            yield from _elements(function, target.elts[1], inner)
        case ast.List() | ast.Tuple() | ast.Set() | ast.Dict():
            return
        case _ if _is_setting(function, iterable):
            # Sa2VA 9832e1a sa2va_eval/run.py:66: `for model_name in args.model`, the same on each rank.
            return
        case ast.Name(id=name) if _is_listed_alike(function, name):
            return
        case _ if not _is_range(function, iterable, frozenset()):
            match target:
                case ast.Tuple(elts=[ast.Name(id=first), *others]) if first in _counters(function):
                    for other in others:
                        yield from target_names(other)
                case _:
                    yield from target_names(target)


def _is_setting(function: Function, node: ast.expr) -> bool:
    """Whether an expression is what the settings say, or the words of it: `args.models`, `cfg.get("kinds")`.

    What the function itself puts in their place is none, nor what is called like the number of a process.
    """
    match node:
        case ast.Call(func=ast.Attribute(value=text, attr="split"), keywords=[]):
            return _is_setting(function, text)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="get"), args=[_, *_]):
            return owner in ARGUMENT_NAMES and not mentions_rank(node)
        case ast.Attribute(value=ast.Name(id=owner)):
            return owner in ARGUMENT_NAMES and dotted_name(node) not in assignments(function)
    return False


def _is_listed_alike(function: Function, name: str) -> bool:
    """Whether a function lists by itself what its loop goes through: names that it writes out or has from the settings,
    or all lines of a file.

    d2go f4ac156 projects_oss/detr/main.py:335: `checkpoint_paths = [output_dir / "checkpoint.pth"]`, and a second one that
    is appended; VGen 4014d1f tools/inferences/inference_dreamvideo_entrance.py:212: `open(cfg.test_list_path).readlines()`.
    """
    made = [] if name in function.parameters else assignments(function).get(name, [])
    return (
        bool(made)
        and all(_lists_alike(each, name) or _is_setting(function, each) for each in made)
        and not any(
            mentions_rank(given) or _names_in(given) & _looped_over(function)
            for given in _added(function, name)
        )
    )


def _lists_alike(node: ast.expr, name: str) -> bool:
    """Whether an expression writes a list out, reads a file line by line, or selects from the list of a name."""
    match node:
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return not any(mentions_rank(each) or isinstance(each, ast.Starred) for each in parts)
        case ast.Call(
            func=ast.Attribute(
                value=ast.Call(func=ast.Name(id="open"), args=[path, *_]), attr="readlines"
            )
        ):
            return not mentions_rank(path)
        case ast.IfExp(body=body, orelse=orelse):
            return _lists_alike(body, name) and _lists_alike(orelse, name)
        case (
            ast.Name(id=source)
            | ast.Call(func=ast.Attribute(value=ast.Name(id=source), attr="split"))
        ):
            return source == name
        case ast.ListComp(generators=[ast.comprehension(iter=ast.Name(id=source)), *more]):
            repeats = all(
                isinstance(each.iter, ast.Call) and last_name(each.iter.func) == "range"
                for each in more
            )
            return source == name and repeats and not mentions_rank(node)
    return False


def _added(function: Function, name: str) -> Iterator[ast.expr]:
    """What a function puts into a list by its methods."""
    for node in own_nodes(function, ast.Call):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=owner), attr="append" | "extend" | "insert"),
                args=given,
            ) if owner == name:
                yield from given


@remembered
def _looped_over(function: Function) -> frozenset[str]:
    """The variables of the loops of a function that do not count."""
    return frozenset(
        name
        for node in own_nodes(function, ast.For, ast.AsyncFor)
        if not _is_range(function, node.iter, frozenset())
        for name in target_names(node.target)
    )


@remembered
def _counters(function: Function) -> frozenset[str]:
    """The names of which a function takes the remainder: they count, and are no part of anybody's data.

    UniTok bb8012e main.py:104: `for cur_iter, sample in metric_logger.monitor_enumerate(loader)`, then
    `(cur_iter + 1) % eval_interval`.
    """
    return frozenset(
        name.id
        for node in own_nodes(function, ast.BinOp)
        if isinstance(node.op, ast.Mod) and not isinstance(node.left, (ast.Constant, ast.JoinedStr))
        for name in walk(node.left, ast.Name)
    )


def _is_range(function: Function, iterable: ast.expr, seen: frozenset[str]) -> bool:
    """Whether a loop counts: through a range, with a progress bar around it or not."""
    match iterable:
        case ast.Call(func=ast.Name(id="range" | "trange") | ast.Attribute(attr="arange")):
            return True
        case ast.Call(
            func=ast.Name(id="tqdm" | "track") | ast.Attribute(attr="tqdm"), args=[inner, *_]
        ):
            return _is_range(function, inner, seen)
        case ast.Name(id=name):
            assigned = assignments(function).get(name, [])
            return name in seen or (
                bool(assigned) and all(_is_range(function, v, seen | {name}) for v in assigned)
            )
    return False


@remembered
def asked_for_none(function: Function) -> frozenset[str]:
    """The names that a function compares with None."""
    return frozenset(
        node.left.id
        for node in own_nodes(function)
        if node.__class__ is ast.Compare
        and isinstance(node, ast.Compare)
        and isinstance(node.left, ast.Name)
        and isinstance(node.ops[0], (ast.Is, ast.IsNot))
        and isinstance(node.comparators[0], ast.Constant)
        and node.comparators[0].value is None
    )


def asks_for_zero3(function: Function, node: ast.Compare) -> bool | None:
    """Whether a comparison is true in stage 3 of ZeRO, or false there; None where it asks something else."""
    if node.comparators[0].__class__ is not ast.Constant:
        return None
    match node:
        case (
            ast.Compare(ops=[ast.Eq() | ast.GtE()], comparators=[ast.Constant(value=3)])
            | ast.Compare(ops=[ast.Gt()], comparators=[ast.Constant(value=2)])
        ):
            answer = True
        case (
            ast.Compare(ops=[ast.NotEq() | ast.Lt()], comparators=[ast.Constant(value=3)])
            | ast.Compare(ops=[ast.LtE()], comparators=[ast.Constant(value=2)])
        ):
            answer = False
        case _:
            return None
    given = [node.left]
    if isinstance(node.left, ast.Name):
        given = assignments(function).get(node.left.id, [])
    return answer if given and all(map(_is_zero_stage, given)) else None


def _is_zero_stage(node: ast.expr) -> bool:
    match node:
        case ast.Attribute(attr=name) | ast.Call(func=ast.Attribute(attr=name), args=[]):
            return name in ZERO_STAGES
    return _entry_of(node, "stage") and any(
        _entry_of(child, "zero_optimization") for child in walk(node)
    )


def _entry_of(node: ast.AST, key: str) -> bool:
    """Whether an entry of a dict is read: `d[key]`, `d.get(key)`."""
    match node:
        case (
            ast.Subscript(slice=ast.Constant(value=found))
            | ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=found), *_])
        ):
            return found == key
    return False


def attempts_around(function: Function, node: ast.AST) -> list[ast.Try]:
    """The `try` statements of a function in whose body, handlers left out, a node stands."""
    return [
        attempt
        for attempt in own_nodes(function, ast.Try)
        if any(node is inner for statement in attempt.body for inner in walk(statement))
    ]


@remembered
def asked_by_loops(function: Function) -> frozenset[str]:
    """The parameters that the test of a `while` compares: whether it has a turn may follow from the argument."""
    return frozenset(
        part.id
        for node in own_nodes(function, ast.While)
        if isinstance(node.test, ast.Compare)
        for part in (node.test.left, *node.test.comparators)
        if isinstance(part, ast.Name) and part.id in function.parameters
    )


@remembered
def asked_for_text(function: Function) -> frozenset[str]:
    """The parameters that a function compares with texts: `if mode == "train"`."""
    found: set[str] = set()
    for node in own_nodes(function):
        if node.__class__ is not ast.Compare and node.__class__ is not ast.Match:
            continue
        match node:
            case (
                ast.Compare(
                    left=ast.Name(id=name),
                    ops=[ast.Eq() | ast.NotEq() | ast.In() | ast.NotIn()],
                    comparators=[ast.Constant(value=str())]
                    | [ast.Tuple(elts=[ast.Constant(value=str()), *_])]
                    | [ast.List(elts=[ast.Constant(value=str()), *_])]
                    | [ast.Set(elts=[ast.Constant(value=str()), *_])],
                )
                | ast.Match(subject=ast.Name(id=name))
            ):
                found.add(name)
    return frozenset(found.intersection(function.parameters))


@remembered
def asked_for_constant(function: Function) -> frozenset[str]:
    """The parameters that a function compares with texts, or with an attribute, be it of an enumeration: `flag == Flag.PARSE`."""
    found = {
        node.left.id
        for node in own_nodes(function, ast.Compare)
        if isinstance(node.left, ast.Name)
        and isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.Is | ast.IsNot)
        and isinstance(node.comparators[0], ast.Attribute)
    }
    return asked_for_text(function) | found.intersection(function.parameters)


@remembered
def picks_by(function: Function) -> frozenset[str]:
    """The parameters that say which of several things a function takes: `self.loaders[phase]`, `if phase == "train"`."""
    keys = {
        node.slice.id
        for node in own_nodes(function, ast.Subscript)
        if isinstance(node.slice, ast.Name)
    }
    return asked_for_text(function) | keys.intersection(function.parameters)


@remembered
def dereferenced(function: Function) -> dict[ast.stmt, tuple[str, ...]]:
    """The variables that a statement surely reads an attribute or item of, calls or goes through: none is None then.

    Only those that the function compares with None or hands on.
    """
    wanted = asked_for_none(function) | {name for name, _ in names_asked(function)[1]}
    found: dict[ast.stmt, tuple[str, ...]] = {}
    for node in own_nodes(function) if wanted else ():
        if node.__class__ in _EVALUATING and isinstance(node, ast.stmt):
            names = [
                name
                for each in _surely_evaluated(node)
                if each.__class__ in _USING and (name := _used(each)) in wanted
            ]
            if names:
                found[node] = tuple(dict.fromkeys(names))
    return found


_EVALUATING: Final = frozenset(
    {
        *(ast.If, ast.Assert, ast.With, ast.For, ast.Assign, ast.AnnAssign, ast.AugAssign),
        *(ast.Expr, ast.Return, ast.Raise),
    }
)
"""Statements that evaluate an expression in any case."""
_USING: Final = frozenset({ast.Attribute, ast.Subscript, ast.Starred, ast.Call})
"""Expressions that fail on None."""


def _surely_evaluated(statement: ast.AST) -> Iterator[ast.AST]:
    """The expressions that a statement evaluates in any case, before any block in it begins."""
    work: list[ast.AST] = []
    match statement:
        case (
            ast.If(test=head)
            | ast.Assert(test=head)
            | ast.With(items=[ast.withitem(context_expr=head), *_])
        ):
            work.append(head)
        case ast.For(iter=head):
            work += [head, ast.Starred(head, ast.Load())]
        case (
            ast.Assign()
            | ast.AnnAssign(value=ast.expr())
            | ast.AugAssign()
            | ast.Expr()
            | ast.Return()
            | ast.Raise()
        ):
            work += children(statement)
    while work:
        node = work.pop()
        yield node
        if node.__class__ in LEAVES:
            continue
        if node.__class__ not in _PARTLY:
            work += children(node)
            continue
        match node:
            case ast.BoolOp(values=[first, *_]) | ast.IfExp(test=first):
                work.append(first)
            case ast.ListComp(generators=[first, *_]) | ast.SetComp(generators=[first, *_]):
                work.append(first.iter)


_PARTLY: Final = frozenset(
    {
        *(ast.BoolOp, ast.IfExp, ast.ListComp, ast.SetComp),
        *(ast.DictComp, ast.GeneratorExp, ast.Lambda, ast.NamedExpr),
    }
)
"""Expressions of which a part alone is evaluated in any case, or none."""


def _used(node: ast.AST) -> str:
    """The variable that would raise here if it were None."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr=attr) if not attr.startswith("__"):
            return name
        case (
            ast.Subscript(value=ast.Name(id=name))
            | ast.Starred(value=ast.Name(id=name))
            | ast.Call(func=ast.Name(id="len" | "iter" | "enumerate"), args=[ast.Name(id=name)])
            | ast.Call(func=ast.Name(id=name))
        ):
            return name
    return ""


def statement_with_test(function: Function, test: ast.expr) -> ast.If | None:
    """The `if` statement of a function whose condition is this node."""
    for node in own_nodes(function, ast.If):
        if node.test is test:
            return node
    return None


@remembered_of_nodes
def assigned_names(node: ast.AST) -> frozenset[str]:
    """Names and attribute paths that statements inside a node assign."""
    names: set[str] = set()
    stack = list(children(node))
    while stack:
        child = stack.pop()
        match child:
            case ast.Name():
                if not isinstance(child.ctx, ast.Load):
                    names.add(child.id)
                continue
            case ast.Attribute():
                if not isinstance(child.ctx, ast.Load):
                    path = dotted_name(child)
                    if path:
                        names.add(path)
                    continue
            case (
                ast.Constant()
                | ast.Load()
                | ast.FunctionDef()
                | ast.AsyncFunctionDef()
                | ast.Lambda()
                | ast.ClassDef()
            ):
                continue
            case ast.Expr(value=ast.Call()):
                # Only a walrus in the arguments could assign.
                stack.append(child.value)
                continue
        stack.extend(children(child))
    return frozenset(names)


@remembered
def names_asked(function: Function) -> tuple[frozenset[str], tuple[tuple[str, str], ...]]:
    """The names whose truth decides what a function does, and those that it hands to calls.

    Returns:
        Names that stand in a condition, are called, are kept in an attribute, or go into a name that
        does; and pairs of a name and the last part of what it is passed to.
    """
    asked: set[str] = set()
    passed: set[tuple[str, str]] = set()
    flows: dict[str, set[str]] = {}
    for node in walk(function.node):
        if node.__class__ in _ASKING:
            _note_asked(node, asked, passed, flows)
    for name, called in tuple(passed):
        passed.update((source, called) for source in flows.get(name, ()))
    work = list(asked)
    while work:
        for source in flows.get(work.pop(), ()):
            if source not in asked:
                asked.add(source)
                work.append(source)
    return frozenset(asked), tuple(sorted(passed))


def _note_asked(
    node: ast.AST, asked: set[str], passed: set[tuple[str, str]], flows: dict[str, set[str]]
) -> None:
    """What one node asks, hands on and binds. The kinds of which there are most come first."""
    match node:
        case ast.Call(func=func, args=args, keywords=keywords):
            asked |= _names_in(func)
            called = last_name(func)
            for value in (*args, *[keyword.value for keyword in keywords]):
                if value.__class__ in _CARRYING:
                    passed.update([(name, called) for name in _carried(value)])
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                _note_flow(target, value, asked, flows)
        case (
            ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test)
        ):
            asked |= _names_in(test)
        case ast.BoolOp(values=values):
            for value in values[:-1]:
                asked |= _names_in(value)
        case ast.comprehension(ifs=tests, iter=iterable):
            for test in (*tests, iterable):
                asked |= _names_in(test)
        case ast.For(iter=iterable) | ast.AsyncFor(iter=iterable):
            asked |= _names_in(iterable)
        case ast.Match(subject=subject):
            asked |= _names_in(subject)
        case ast.withitem(context_expr=ast.Name(id=name)):
            asked.add(name)
        case (
            ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.AugAssign(target=target, value=value)
            | ast.NamedExpr(target=target, value=value)
        ):
            _note_flow(target, value, asked, flows)


_ASKING: Final = frozenset(
    {
        *(ast.If, ast.While, ast.IfExp, ast.Assert, ast.BoolOp, ast.comprehension, ast.For),
        *(ast.AsyncFor, ast.Match, ast.withitem, ast.Call, ast.Assign, ast.AnnAssign),
        *(ast.AugAssign, ast.NamedExpr),
    }
)
"""Kinds of nodes that ask or bind something by themselves: a fifth of all nodes."""


def _note_flow(
    target: ast.expr, value: ast.expr, asked: set[str], flows: dict[str, set[str]]
) -> None:
    names = _carried(value)
    if isinstance(target, (ast.Attribute, ast.Subscript)):
        asked |= names
    for name in target_names(target):
        flows.setdefault(name, set()).update(names)


def _carried(value: ast.expr) -> set[str]:
    """The names on whose truth a value depends: itself a name, a condition, or made of such."""
    match value:
        case ast.Name(id=name):
            return {name}
        case ast.BoolOp() | ast.Compare() | ast.IfExp() | ast.UnaryOp():
            return _names_in(value)
        case ast.Starred(value=inner):
            return _carried(inner)
        case ast.Tuple(elts=values) | ast.List(elts=values) | ast.Dict(values=values):
            return {name for each in values for name in _carried(each)}
    return set()


_CARRYING: Final = frozenset(
    {
        *(ast.Name, ast.BoolOp, ast.Compare, ast.IfExp, ast.UnaryOp),
        *(ast.Starred, ast.Tuple, ast.List, ast.Dict),
    }
)
"""Expressions on whose names `_carried` looks."""


def _names_in(node: ast.expr) -> set[str]:
    while node.__class__ is ast.Attribute:
        node = node.value
    if node.__class__ is ast.Name:
        return {node.id}
    return {child.id for child in walk(node) if child.__class__ is ast.Name}


@remembered
def self_attributes(function: Function) -> frozenset[str]:
    """The names that a method uses of `self` and of `super()`."""
    found: set[str] = set()
    for node in walk(function.node, ast.Attribute):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=attr):
                found.add(attr)
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=attr):
                found.add(attr)
    return frozenset(found)


def makes_own_class(function: Function) -> bool:
    """Whether a class method calls its class: what it makes depends on through which class it is called."""
    return function.has_decorator("classmethod") and any(
        isinstance(node.func, ast.Name) and node.func.id == "cls"
        for node in walk(function.node, ast.Call)
    )


@remembered
def makes_at_first_read(function: Function) -> bool:
    """Whether a property only makes what it keeps in an attribute, where that is None: which read is the first is
    for the whole program to say.

    MiniGPT-4 d94738a minigpt4/runners/runner_base.py:398: `self.model` wraps in DDP, and all ranks have trained with
    it before rank 0 saves it.
    """
    if not function.has_decorator("property"):
        return False
    *made, last = function.body
    if not isinstance(last, ast.Return) or not all(
        isinstance(s, ast.If) or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
        for s in made
    ):
        return False
    for node in walk(function.node, ast.If):
        match node:
            case ast.If(
                test=ast.Compare(left=kept, ops=[ast.Is()], comparators=[ast.Constant(value=None)])
            ):
                path = dotted_name(kept)
                if path.startswith("self.") and any(
                    isinstance(statement, ast.Assign)
                    and any(dotted_name(target) == path for target in statement.targets)
                    for statement in node.body
                ):
                    return True
    return False


def ends_process(function: ast.expr) -> bool:
    """Whether a call of this ends the process: `sys.exit()`, `exit()`, `quit()`, `os._exit()`."""
    return dotted_name(function) in ("sys.exit", "exit", "quit", "os._exit")


def exits(statement: ast.stmt) -> bool:
    """Whether a statement ends the process."""
    match statement:
        case ast.Expr(value=ast.Call(func=called)):
            return ends_process(called)
    return False


def ends_run(statement: ast.stmt) -> bool:
    """Whether a statement ends the process, or raises."""
    return isinstance(statement, ast.Raise) or exits(statement)


def is_for_unknown_choice(root: ast.AST, node: ast.AST) -> bool:
    """Whether a node stands in the last arm of a chain that compares one value with texts: of a value that nobody gives.

    SimXNS 0163380 PROD/ProD_base/train_DE_model_marco.py:819: `exit(0)` behind `if args.model_class == "dual_encoder"` and
    `elif args.model_class == "ColBERT"`.
    """
    parents = parents_in(root)
    below = node
    while (above := parents.get(id(below))) is not None:
        match above, parents.get(id(above)):
            case ast.If(test=test, orelse=last), ast.If(test=first, orelse=[only]) if only is above:
                if below in last and (asked := _text_asked(test)) and asked == _text_asked(first):
                    return True
        below = above
    return False


def _text_asked(test: ast.expr) -> str:
    """What a condition compares with a text, as it is written; empty for another condition."""
    match test:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=str())]):
            return ast.unparse(left)
    return ""


def is_way_out(function: Function) -> bool:
    """Whether a function ends the process where nothing keeps it from its last statement."""
    return bool(function.body) and exits(function.body[-1])


@remembered_of_nodes
def mentions_rank(node: ast.expr) -> bool:
    """Whether an expression names something that sounds like a test of the rank, by an attribute or a key."""
    for child in walk(node):
        match child:
            case ast.Attribute(attr=name):
                pass
            case ast.Subscript(slice=ast.Constant(value=str() as name)) if name != "rank":
                pass  # that alone may be the rank of a matrix, which is never 0
            case ast.Compare(
                left=ast.Subscript(slice=ast.Constant(value="rank" as name)),
                ops=[ast.Eq() | ast.NotEq()],
                comparators=[ast.Constant(value=0) | ast.UnaryOp(operand=ast.Constant(value=1))],
            ):
                pass
            # HE_MFR 9a93f49 trainner.py:300: the first of each machine.
            case ast.Compare(
                left=ast.BinOp(
                    left=ast.Subscript(slice=ast.Constant(value="rank" as name)), op=ast.Mod()
                ),
                ops=[ast.Eq() | ast.NotEq()],
                comparators=[ast.Constant(value=0)],
            ):
                pass
            # magic-animate d2bc3bc demo/animate_dist.py:174: `dist_kwargs.get("rank", 0) == 0`.
            case ast.Call(
                func=ast.Attribute(attr="get"), args=[ast.Constant(value=str() as name), *_]
            ):
                pass
            case _:
                name = dotted_name(child)
        if name and sounds_like_rank(name):
            return True
    return False


def sounds_like_rank(name: str) -> bool:
    """Whether a name has a word of the rank in it: `is_main`, `rank`; not `domain`, `rerank`."""
    bare = _OTHER_WORDS.sub("", name.lower())
    return any(word in bare for word in _RANK_WORDS)


def asks_if_missing(op: ast.cmpop, right: ast.expr) -> bool | None:
    """Whether a comparison asks for a number that is missing (True) or there (False); None for others."""
    text = ast.unparse(right)
    match op:
        case ast.Eq() | ast.Is() if text in ("-1", "None"):
            return True
        case ast.NotEq() | ast.IsNot() if text in ("-1", "None"):
            return False
        case ast.Lt() if text == "0":
            return True
        case ast.GtE() if text == "0":
            return False
        case ast.Gt() if text == "-1":
            return False
        case ast.LtE() if text == "-1":
            return True
    return None


def literals(test: ast.expr, taken: bool) -> Iterator[tuple[ast.expr, bool]]:
    """What a condition that came out one way says of its parts: each, and whether it holds."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from literals(operand, not taken)
        case ast.BoolOp(op=ast.And() | ast.Or() as op, values=values) if (
            isinstance(op, ast.And) == taken
        ):
            for value in values:
                yield from literals(value, taken)
        case _:
            yield test, taken


def comes_out(test: ast.expr, of_part: Callable[[ast.expr], bool | None]) -> bool | None:
    """How a condition comes out by what is known of the parts that it joins; None where that is open."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = comes_out(operand, of_part)
            return None if inner is None else not inner
        case ast.BoolOp(op=op, values=values):
            known = [comes_out(each, of_part) for each in values]
            decides = isinstance(op, ast.Or)
            if decides in known:
                return decides
            return None if None in known else not decides
    return of_part(test)


def only_adds_a_bar(node: ast.IfExp) -> bool:
    """Whether both arms give the same elements: `tqdm(loader) if is_main else loader`."""
    for drawn, plain in ((node.body, node.orelse), (node.orelse, node.body)):
        match drawn:
            case ast.Call(args=[inner, *_]) if last_name(drawn.func) in _BARS:
                return ast.unparse(inner) == ast.unparse(plain)
    return False


def record_fields(cls: Class) -> list[str]:
    """The fields of a dataclass or NamedTuple that derives from no other, in their order; none for other classes."""
    bases = {last_name(base) for base in cls.node.bases}
    decorators = {last_name(each) for each in cls.node.decorator_list}
    if bases != {"NamedTuple"} and (bases or "dataclass" not in decorators):
        return []
    return [
        node.target.id
        for node in cls.node.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
