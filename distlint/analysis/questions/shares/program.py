"""The functions of a program followed from where shares begin."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterable, Iterator, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, Function, dotted_name, last_name
from distlint.analysis.program.memory import all_remembered, remembered
from distlint.analysis.program.places import related
from distlint.analysis.program.syntax import (
    asked_for_text,
    assignments,
    bound_again,
    default_of,
    own_nodes,
    picks_by,
    record_fields,
)
from distlint.analysis.questions.shares.calls import sampled
from distlint.analysis.questions.shares.files import reads_all_parts
from distlint.analysis.questions.shares.flow import Flow
from distlint.analysis.questions.shares.reading import (
    asked,
    met_at,
    of_whole_sets,
    path_of,
    where_distributed,
)
from distlint.analysis.questions.shares.slicing import (
    divisions,
    slicing_classes,
    slicing_parameters,
)
from distlint.analysis.questions.shares.values import (
    ALIKE,
    LEARNED,
    UNKNOWN,
    Held,
    Kind,
    Part,
    Seen,
    Source,
    Whose,
    combined,
    holds_whole_metrics,
    join,
    joined,
)
from distlint.knowledge import facts
from distlint.knowledge import shares as tables
from distlint.nodes import walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Definition, Module
    from distlint.analysis.program.program import Program
    from distlint.analysis.questions.shares.interfaces import Following
    from distlint.analysis.questions.shares.reading import Met

_BEGINS: Final = tuple(
    pattern(words)
    for words in (
        r"Distributed\w*Sampler",
        r"\.prepare\(",
        "prepare_data_loader",
        "split_between_processes",
        "split_dataset_by_node",
        r"rank(?<!\w....)\s*(?:::|\*)",
        r"process_index(?<!\w.{13})\s*(?:::|\*)",
        r"get_rank\(\)(?<!\w.{10})\s*(?:::|\*)",
        r"%\s*[\w.]*(?:world\w*|num_processes|num_replicas)(?:\(\))?\)?\s*[!=]=",
        r"rank(?:\(\))?, [\w.=]*world",
        r"world(?:_size)?(?:\(\))?, [\w.=]*rank",
        *(
            words + r"\[[\w.]*(?:rank|process_index)(?:\(\))?\]"
            for words in (r"\)", r"split\w*", r"chunk\w*", "parts?", "partitions?", "shards?")
        ),
    )
)
"""What a function holds in which shares begin. Each begins with letters, which are found ten times as fast as one of
several beginnings."""
_SAMPLER: Final = pattern(r"Distributed\w*Sampler")
_SAYS_SO: Final = pattern(r"gather|reduce", re.IGNORECASE)
_DEPTH: Final = 8
_LEVELS: Final = 3
"""How many calls away from where a share begins a function may be that is followed by itself."""


_ENDED: Final = frozenset({Part.SUM, Part.WHOLE, Part.PADDED, Part.UNKNOWN})


def _synchronises(method: Function) -> bool:
    """Whether a method puts shares together, by the names that it calls."""
    return any(tables.SYNCHRONISES.search(last_name(n)) for n in own_nodes(method, ast.Call))


class Shares:
    """The functions of a program, each followed for what it is given."""

    def __init__(self, live: LiveProgram) -> None:
        self.live = live
        self.seen: dict[int, Seen] = {}
        self._done: dict[object, tuple[Held, dict[str, Held]]] = {}
        self._running: list[Function] = []
        self._running_bodies: list[Flow] = []
        self._followed: set[Function] = set()
        self._again = False
        self._attributes: dict[tuple[Class, str], Held | None] = {}
        self._fields: dict[Class, dict[str, Held]] = {}
        self._ways: dict[tuple[object, ...], Source] = {}
        self._named: dict[str, Held] = {}
        self.shared = live.answer(_conditions)
        self.empty = live.answer(_give_nothing)
        self._finals: dict[Function, dict[str, Held]] = {}
        self._sources = live.answer(_beginnings)
        self._follow(live.answer(_first))
        # Only now that nothing is under way: what a class keeps is found by following its methods.
        self._named = self._loaders()
        if self._again or self._named:
            # Objects are made of shares: what their methods see is known now.
            self.seen, self._done, self._attributes, self._finals = {}, {}, {}, {}
            self._sources |= self._given()
            self._follow(_roots(live, self._sources))

    def of(self, node: ast.AST) -> Held:
        """Whose an expression is, over all ways that lead to it."""
        found = self.seen.get(id(node))
        return found.value if found is not None else ALIKE

    def found(self) -> Whose:
        """What has been found."""
        return Whose(self.seen, frozenset(self._followed))

    def see(self, node: ast.expr, value: Held, function: Function) -> None:
        """Remember whose an expression is."""
        known = self.seen.get(id(node))
        self._followed.add(function)
        if known is None:
            self.seen[id(node)] = Seen(value, function)
        elif known.value is not value:
            known.value = join(known.value, value)

    def summed(self, value: Held, module: Module, node: ast.AST) -> Held:
        """A share that is added up, or put beside the others of its rank; elsewhere the value itself."""
        source = value.source
        if not value.is_share or source is None or value.kind is Kind.LOADER:
            return value
        here = related(module, node, "what this rank has computed is put together here")
        if source.mean is not None and source.mean.place.line == here.place.line:
            return value  # `totals[key] /= steps`
        return value.but(source=self._interned(source, summed=here))

    def averaged(self, value: Held, module: Module, node: ast.AST) -> Held:
        """A share that was divided by something; elsewhere the value itself."""
        source = value.source
        if not value.is_share or source is None:
            return value
        here = related(module, node, "the mean is taken over this rank's share here")
        return value.but(source=self._interned(source, mean=here))

    def gone_over(self, value: Held, trained: bool) -> Held:
        """What a loop that trains on a share, or evaluates on it, gets from it; elsewhere the value itself."""
        source = value.source
        if not value.is_share or source is None or source.trained is trained:
            return value
        items = value.items and tuple(self.gone_over(each, trained) for each in value.items)
        return value.but(source=self._interned(source, trained=trained), items=items)

    def _interned(self, source: Source, **changes: object) -> Source:
        """The source with changes, the same object each time: functions are told apart by it."""
        made = replace(source, **changes)  # type: ignore[arg-type]
        key = made.node, made.padded, made.summed, made.mean, made.trained
        return self._ways.setdefault(key, made)

    def _follow(self, roots: list[Function]) -> None:
        for function in roots:
            self._final(function)

    def _final(self, function: Function) -> dict[str, Held]:
        """The variables at the end of a function that is followed by itself."""
        if function not in self._finals:
            self._finals[function] = {}
            if function in self._running:
                return {}
            # Who calls it may give it another number of ranks than its default, say that there are several, or send it
            # another way.
            given = {
                name: ALIKE
                for name, default in _defaults(function).items()
                if name in tables.WORLD_NAMES
                or name in asked_for_text(function)
                or isinstance(default.const, bool)
            }
            _, self._finals[function] = self._flow(function, self._start(function, given))
        return self._finals[function]

    def _flow(self, function: Function, variables: dict[str, Held]) -> tuple[Held, dict[str, Held]]:
        """What a function returns, and its variables at the end."""
        self._running.append(function)
        flow = Flow(self, function, variables)
        if function.is_module_body:
            self._running_bodies.append(flow)
        returned = flow.run()
        if function.is_module_body:
            self._running_bodies.pop()
        self._running.pop()
        return returned, flow.variables

    def _start(self, function: Function, given: dict[str, Held]) -> dict[str, Held]:
        variables = {**_defaults(function), **given}
        if function.cls is not None and "self" in variables:
            variables["self"] = Held(made=function.cls)
        return variables

    # -- calls of the program's own functions ----------------------------------------------------------

    def meaning(self, function: Function, node: ast.Call) -> tuple[Met | None, Definition | None]:
        """The call as the ranks make it, where they do, and what is called."""
        met = met_at(self.live, node)
        if met is not None:
            callee = met.callee
            if callee is not None and callee.name == "__init__" and callee.cls is not None:
                super_ = isinstance(node.func, ast.Attribute) and node.func.attr == "__init__"
                return met, callee if super_ else callee.cls
            if callee is not None:
                return met, callee
            found = self.live.resolve(function.module, node.func)
            if isinstance(found, Class):
                return met, found
            return met, None if met.name.startswith(".") else met.name
        found = self.live.resolve(function.module, node.func)
        if found is None and isinstance(node.func, ast.Name):
            return None, f"builtins.{node.func.id}" if facts.is_builtin(node.func.id) else None
        return None, found

    def method(self, cls: Class, name: str) -> Function | None:
        """A method of a class of the program."""
        return self.live.program.find_method(cls, name)

    def run(
        self,
        caller: Following,
        function: Function,
        node: ast.Call,
        args: list[Held],
        keywords: dict[str, Held],
        receiver: Held | None,
        around: dict[str, Held] | None = None,
    ) -> Held:
        """What a function of the program returns for these arguments; what it changes is changed."""
        given = _bound(function, node, args, keywords, receiver)
        for name in of_whole_sets(function):
            if name in given and given[name].kind is Kind.LOADER:
                given[name] = ALIKE
        interesting = any(h.part is not Part.ALIKE for h in given.values())
        if not interesting and around is None and function not in self._sources:
            return LEARNED
        if self.is_local(function) and not self._computes_whole(function):
            made = combined(given.values())
            if made.is_share:
                # What the method keeps of it is not looked at, nor what a function keeps in a meter beside it.
                for keeper in _keepers_given(node, args, receiver):
                    _changed_object(
                        caller, keeper, {"self.": self.summed(made, caller.module, node)}
                    )
            return made
        if function in self._running or len(self._running) > _DEPTH:
            return _unfollowed(given)
        key = (function, _told_apart(given)) if around is None else None
        found = self._done.get(key) if key is not None else None
        if found is None:
            variables = {**(around or {}), **self._start(function, given)}
            if receiver is not None and receiver.made is not None and "self" in variables:
                variables["self"] = receiver
            found = self._flow(function, variables)
            if key is not None:
                self._done[key] = found
        _changed(caller, function, node, given, found[1])
        if found[0].is_share and _SAYS_SO.search(function.name) and _synchronises(function):
            # It calls collectives and says so: what it makes of them is not always seen (pickled, padded, cut).
            return UNKNOWN
        if any(held.is_share for held in given.values()) and reads_all_parts(function):
            return UNKNOWN  # of all ranks on the one that reads, this rank's on the others
        if receiver is not None and receiver.is_share and _synchronises(function):
            assert isinstance(node.func, ast.Attribute)
            # An element of a container is reduced where it stands: of what a loop binds, `Flow` takes note behind it.
            caller.filled |= {path_of(node.func.value)} - {""}
            caller.bind(node.func.value, UNKNOWN.but(made=receiver.made))
        return found[0]

    def is_local(self, function: Function) -> bool:
        """Whether nothing in a function, nor in what it calls, has to do with ranks."""
        return self.live.summaries.is_plain(function, ()) and function not in self._sources

    def _computes_whole(self, method: Function) -> bool:
        """Whether a method computes metrics of its object that put the shares together themselves."""
        cls = method.cls
        return (
            cls is not None
            and any(last_name(call) == "compute" for call in own_nodes(method, ast.Call))
            and any(
                held is not None and holds_whole_metrics(held)
                for held in (self.attribute_of(Held(made=cls), a) for a in cls.self_assigned)
            )
        )

    def construct(
        self,
        caller: Following,
        cls: Class,
        node: ast.Call,
        args: list[Held],
        keywords: dict[str, Held],
    ) -> Held:
        """An object of a class of the program."""
        made = combined((*args, *keywords.values()))
        _, libraries = self.live.program.mro(cls)
        is_loader = _is_loader(self.live.program, cls)
        if is_loader and ("Distributed" in cls.name and "Sampler" in cls.name):
            return sampled(caller, node, args, keywords)
        if made.is_share and is_loader:
            return Held(Part.SHARE, made.source, Kind.LOADER)
        init = self.method(cls, "__init__")
        if init is None and made.is_share and (names := record_fields(cls)):
            fields = {**dict(zip(names, args, strict=False)), **keywords}
            return made.but(kind=Kind.PLAIN, fields=fields, made=cls)
        ranked = init is not None and slicing_parameters(self.live.program, cls)
        if init is not None and ranked and self._gives_rank(init, node, ranked):
            return self._part_of(caller, cls, node)
        division = self.live.answer(divisions).get(cls)
        if division is not None:
            given = {**_defaults(init), **_bound(init, node, args, keywords, None)} if init else {}
            if all(given.get(name, ALIKE).const is value for name, value in division.settings):
                return self._part_of(caller, cls, node)
        if made.is_share and any(base.endswith("Dataset") for base in (cls.name, *libraries)):
            return Held(Part.SHARE, made.source, Kind.LOADER, made=cls)
        if init is not None and (made.part is not Part.ALIKE or init in self._sources):
            self._initialise(cls, init, _bound(init, node, args, keywords, Held(made=cls)))
            source = (
                self._divided_by(cls, init)
                if is_loader or facts.is_data_set((cls.name, *libraries))
                else None
            )
            if source is not None:
                return Held(Part.SHARE, source, Kind.LOADER, made=cls)
        return Held(made=cls)

    def _divided_by(self, cls: Class, init: Function) -> Source | None:
        """Where `__init__` of a data set takes this rank's part, under no condition, of what it keeps or hands on to
        the class of a library that it derives from."""
        handed = [
            self.of(argument)
            for node in own_nodes(init, ast.Call)
            if last_name(node) == "__init__"
            for argument in (*node.args, *(k.value for k in node.keywords))
        ]
        for held in (*handed, *self._fields.get(cls, {}).values()):
            source = held.source
            if held.is_share and held.kind is Kind.LOADER and source is not None:
                where = self.seen.get(id(source.node))
                if where is not None and not _is_conditional(where.function, source.node):
                    return source
        return None

    def _part_of(self, caller: Following, cls: Class, node: ast.Call) -> Held:
        text = "each rank takes its part of this data set"
        return Held(Part.SHARE, Source(node, caller.module, text), Kind.LOADER, made=cls)

    def _gives_rank(self, init: Function, node: ast.Call, parameters: frozenset[str]) -> bool:
        """Whether a call gives one of some parameters a rank, by its words or by what the ranks give there."""
        names = init.parameters[1:]
        given = [*zip(names, node.args, strict=False), *((k.arg, k.value) for k in node.keywords)]
        met = met_at(self.live, node)
        return any(
            name in parameters
            and (
                any(
                    last_name(n) in tables.RANK_NAMES
                    for n in walk(value, ast.Name, ast.Attribute, ast.Call)
                )
                or (met is not None and value in met.ranks)
            )
            for name, value in given
        )

    def _initialise(self, cls: Class, init: Function, given: dict[str, Held]) -> None:
        """Follow `__init__`, and remember what it puts into the object."""
        key = (cls, init, _told_apart(given))
        if key in self._done or init in self._running or len(self._running) > _DEPTH:
            return
        self._done[key] = self._flow(init, self._start(init, given) | {"self": Held(made=cls)})
        kept = self._fields.setdefault(cls, {})
        for name, value in self._done[key][1].items():
            if name.startswith("self.") and name.count(".") == 1:
                attr = name[5:]
                kept[attr] = join(kept[attr], value) if attr in kept else value
                self._again |= value.is_share

    def attribute_of(self, owner: Held, attr: str) -> Held | None:
        """What the methods of a class put into an attribute of its objects; None where they do not."""
        if not isinstance(owner.made, Class):
            return None
        key = owner.made, attr
        if key not in self._attributes:
            self._attributes[key] = None
            self._attributes[key] = self._attribute(owner.made, attr)
        found = self._attributes[key]
        if owner.part is Part.ALIKE or found is None:
            return found
        if _is_text(self.live.program, owner.made, attr) or holds_whole_metrics(found):
            return found
        method = self.method(owner.made, attr)
        if method is not None and (found.part in _ENDED or _synchronises(method)):
            return UNKNOWN
        return Held(owner.part, owner.source, found.kind, made=found.made)

    def global_of(self, function: Function, name: str) -> Held | None:
        """What the statements of a file have put into a variable that its functions read; None where it is no share."""
        body = function.module.body
        if body not in self._sources or function is body or name in bound_again(function):
            return None
        running = next((flow for flow in self._running_bodies if flow.function is body), None)
        known = running.variables if running is not None else self._final(body)
        found = known.get(name)
        return found if found is not None and found.is_share else None

    def loader_named(self, attr: str) -> Held | None:
        """What each class of the program keeps under the name of a loader; None where one has it of all of the data."""
        return self._named.get(attr)

    def _loaders(self) -> dict[str, Held]:
        """The loaders that are read from an object of whatever class, by the name under which each class keeps its part.

        PonderV2 aad65d6 ponder/engines/hooks/evaluator.py:36: `self.trainer.val_loader`, of a trainer that hands itself
        to its hooks.
        """
        found = {}
        for attr, classes in self.live.answer(_keepers).items():
            known = [self.attribute_of(Held(made=cls), attr) for cls in classes]
            values = [v for v in known if v is not None and v.is_share and v.kind is Kind.LOADER]
            if values and len(values) == len(known):
                kept = {cls: {attr} for cls in classes}
                if _readers_elsewhere(self.live, kept, frozenset()):
                    found[attr] = joined(values)
        return found

    def _attribute(self, cls: Class, attr: str) -> Held | None:
        values = []
        for each in self.live.program.mro(cls)[0]:
            if attr in self._fields.get(each, {}):
                values.append(self._fields[each][attr])
            for method in each.self_assigned.get(attr, ()):
                if method.name == "__init__" and attr in self._fields.get(each, {}):
                    continue  # what it was given is known: `Trainer(loaders={"train": …, "dev": …})`
                value = self._final(method).get(f"self.{attr}")
                if value is not None:
                    values.append(value)
            if attr in each.methods and each.methods[attr].has_decorator(
                "property", "cached_property"
            ):
                returned = Flow(self, each.methods[attr], {"self": Held(made=cls)}).run()
                values.append(returned)
        return joined(values) if values else None

    def _given(self) -> frozenset[Function]:
        """The methods that read a share which their object was given: `Trainer(model, loader)`."""
        kept = {
            cls: {attr for attr, value in fields.items() if value.is_share}
            for cls, fields in self._fields.items()
        }
        readers = _readers(self.live, kept, self._sources)
        # The methods beside them, which read what these compute: `self.evaluate()`, then `self.metrics["acc"]`.
        methods = {m for r in readers if r.cls is not None for m in r.cls.methods.values()}
        return frozenset(_reached(self.live, set(self._sources) | methods, methods))


@remembered
def _is_text(program: Program, cls: Class, attr: str) -> bool:
    """Whether the objects of a class keep a text in an attribute, as they are called: no number in them.

    SelfOcc 1658c2a utils/metric_util.py:83: `def __init__(self, …, name="none"): self.name = name`.
    """
    given = [
        (method, value)
        for each in program.mro(cls)[0]
        for method in each.self_assigned.get(attr, ())
        for value in assignments(method).get(f"self.{attr}", ())
    ]
    return bool(given) and all(_is_written_out(method, value) for method, value in given)


def _is_written_out(method: Function, value: ast.expr) -> bool:
    """Whether a value is a text, or a parameter that is one where nobody gives it."""
    default = default_of(method, value.id) if isinstance(value, ast.Name) else value
    return isinstance(default, ast.Constant) and isinstance(default.value, str)


def _is_conditional(function: Function, node: ast.AST) -> bool:
    """Whether a part of a function stands under a condition that may not hold where several ranks run."""
    return any(
        where_distributed(outer.test) is not True and any(part is node for part in walk(outer))
        for outer in own_nodes(function, ast.If, ast.IfExp)
    )


def shares(live: LiveProgram) -> Whose:
    """Whose the expressions of the program are, where a share can reach them.

    It asks for no list of all files, which each change makes another one: so it is found anew only where what it follows
    has changed.
    """
    return Shares(live).found()


def _unfollowed(given: dict[str, Held]) -> Held:
    return ALIKE if combined(given.values()).part is Part.ALIKE else UNKNOWN


def _told_apart(given: dict[str, Held]) -> tuple[tuple[str, object], ...]:
    """What a function is given, as far as it does different things for it, and where its shares begin."""
    return tuple(sorted((name, (held.key(), id(held.source))) for name, held in given.items()))


def _defaults(function: Function) -> dict[str, Held]:
    """The parameters of a function where nothing is given: numbers and flags that are written out, and texts by which it
    picks."""
    found = {}
    picks = picks_by(function)
    for name in function.parameters:
        match default_of(function, name):
            case ast.Constant(value=str(text)) if name in picks:
                found[name] = ALIKE.but(const=text)
            case ast.Constant(value=bool() | int() as value):
                found[name] = ALIKE.but(const=value)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
                found[name] = ALIKE.but(const=-value)
            case _:
                found[name] = ALIKE
    return found


def _bound(
    function: Function,
    node: ast.Call,
    args: list[Held],
    keywords: dict[str, Held],
    receiver: Held | None,
) -> dict[str, Held]:
    """The parameters of a function with what a call gives them."""
    names = function.parameters
    bound: dict[str, Held] = {}
    if function.cls is not None and names[:1] == ["self"]:
        bound["self"] = receiver if receiver is not None else Held(made=function.cls)
        names = names[1:]
    if not any(isinstance(a, ast.Starred) for a in node.args):
        bound.update(zip(names, args, strict=False))
    bound.update({k: v for k, v in keywords.items() if k in names})
    if not isinstance(function.node, ast.Module):
        spec = function.node.args
        if spec.vararg is not None:
            bound[spec.vararg.arg] = combined(args).but(kind=Kind.PLAIN)
        if spec.kwarg is not None:
            others = {k: v for k, v in keywords.items() if k not in names}
            made = combined(others.values())
            bound[spec.kwarg.arg] = made.but(kind=Kind.PLAIN, fields=others or None)
    picks = picks_by(function)
    for name, held in bound.items():
        if isinstance(held.const, str) and name not in picks:
            bound[name] = held.but(const=None)  # the function does the same for all texts
    return bound


def _changed(
    caller: Following,
    function: Function,
    node: ast.Call,
    given: dict[str, Held],
    after: dict[str, Held],
) -> None:
    """Give the caller what a function has put into its arguments: `reduce_(loss)`, `meter.update(loss)`."""
    names = [n for n in function.parameters if n != "self" or function.cls is None]
    pairs: list[tuple[str, ast.expr]] = list(zip(names, node.args, strict=False))
    pairs += [(k.arg, k.value) for k in node.keywords if k.arg is not None]
    for name, argument in pairs:
        path, value = path_of(argument), after.get(name)
        if not path or value is None or name in bound_again(function) or value is given.get(name):
            continue
        if value.part in _ENDED:
            caller.put(
                path, value
            )  # and of its elements, which a helper may have reduced one by one
        elif value.kind is Kind.PLAIN:
            caller.variables[path] = value
    if isinstance(node.func, ast.Attribute) and function.cls is not None:
        _changed_object(caller, node.func.value, after)


def _keepers_given(node: ast.Call, args: list[Held], receiver: Held | None) -> Iterator[ast.expr]:
    """The object whose method is called, and the meters that a call is given.

    awesome-semantic-segmentation-pytorch d37d2a1 core/utils/score.py:46: `evaluate_worker(self, pred, label)`, defined
    in the method of the metric that calls it.
    """
    if receiver is not None and isinstance(node.func, ast.Attribute):
        yield node.func.value
    for argument, held in zip(node.args, args, strict=True):
        if _is_meter(held.made):
            yield argument


_CONTAINERS: Final = frozenset({"list", "dict", "set", "deque", "defaultdict", "Counter"})


def _is_meter(made: object) -> bool:
    return isinstance(made, Class) and (
        tables.METER_CLASSES.search(made.name) is not None or made in _adders(made.module)
    )


@remembered
def _adders(module: Module) -> frozenset[Class]:
    return frozenset(filter(_only_adds_up, module.all_classes))


def _only_adds_up(cls: Class) -> bool:
    """Whether the objects of a class begin with numbers and empty containers alone, and a method adds its argument to one."""
    begun = [
        value
        for method in cls.methods.values()
        if method.name in ("__init__", "reset")
        for node in own_nodes(method, ast.Assign)
        for value in (node.value.elts if isinstance(node.value, ast.Tuple) else [node.value])
    ]
    return (
        not cls.node.bases
        and bool(begun)
        and all(map(_is_blank, begun))
        and any(
            dotted_name(node.target).startswith("self.")
            and any(name.id in method.parameters[1:] for name in walk(node.value, ast.Name))
            for method in cls.methods.values()
            for node in own_nodes(method, ast.AugAssign)
        )
    )


def _is_blank(value: ast.expr) -> bool:
    match value:
        case ast.Constant() | ast.UnaryOp(operand=ast.Constant()):
            return True
        case ast.List(elts=[]) | ast.Dict(keys=[]):
            return True
        case ast.Call(func=func, args=args):
            return last_name(func) in _CONTAINERS and all(isinstance(a, ast.Name) for a in args)
    return False


def _changed_object(caller: Following, owner: ast.expr, after: dict[str, Held]) -> None:
    """Let an object hold what a method has put into its attributes."""
    own = {name: value for name, value in after.items() if name.startswith("self.")}
    path = path_of(owner)
    if path == "self":
        caller.variables.update(own)
        return
    parts = {value.part for value in own.values()} - {Part.ALIKE}
    made = caller.value(owner).made
    if not parts or not _is_meter(made):
        return
    source = next((v.source for v in own.values() if v.source is not None), None)
    part = Part.SHARE if parts == {Part.SHARE} else Part.UNKNOWN
    held = Held(part, source)
    if path and isinstance(owner, ast.Subscript):
        # The dict holds it, too: GLaMM e74865f train.py:615, `trackers["gIoU"].update(…)`, and a loop over
        # `trackers.values()` that reduces each.
        caller.bind(owner, held.but(made=made))
    elif path:
        caller.variables[path] = held.but(made=made)
    elif isinstance(owner, ast.Subscript):
        before = caller.value(owner.value)
        caller.keep(owner.value, held)
        if before.element is not None:
            known = caller.value(owner.value)
            caller.put(path_of(owner.value), known.but(element=held.but(made=before.element.made)))


# -- where to begin ------------------------------------------------------------------------------------


def _give_nothing(live: LiveProgram) -> frozenset[str]:
    """The names of methods of which no class of the program returns anything.

    MiniGPT-4 minigpt4/tasks/base_task.py:79: `def after_evaluation(self, **kwargs): pass`, called on a task that
    a registry has made.
    """
    gives: dict[str, bool] = {}
    for function in live.program.functions():
        if function.cls is not None:
            returns = bool(
                own_nodes(function, ast.Yield) or own_nodes(function, ast.YieldFrom)
            ) or any(node.value is not None for node in own_nodes(function, ast.Return))
            gives[function.name] = gives.get(function.name, False) or returns
    return frozenset(name for name, gave in gives.items() if not gave)


def _conditions(live: LiveProgram) -> frozenset[str]:
    """The conditions of the launch under which the program makes a sampler for each rank.

    SlowFast slowfast/datasets/utils.py:341: `DistributedSampler(dataset) if cfg.NUM_GPUS > 1 else None`, and
    tools/train_net.py:380 reduces under the same condition: where there is a share, it is reduced.
    """
    return frozenset(
        asked(node.test)
        for module in live.program.modules.values()
        if "Sampler(" in module.source.text
        for node in walk(module.source.tree, ast.If, ast.IfExp)
        if _makes_sampler(node.body) and not _makes_sampler(node.orelse)
    ) - {""}


def _makes_sampler(part: ast.expr | list[ast.stmt]) -> bool:
    return any(
        isinstance(node, ast.Call) and _SAMPLER.search(last_name(node))
        for each in (part if isinstance(part, list) else [part])
        for node in walk(each)
    )


def _beginnings(live: LiveProgram) -> frozenset[Function]:
    """The functions in which a share begins, the methods beside them, and those that call them."""
    begin: set[Function] = set()
    for module in live.program.modules.values():
        begin.update(_in_module(module))
    data_sets = {
        f.cls
        for f in begin
        if f.cls is not None
        and (
            _is_loader(live.program, f.cls)
            or facts.is_data_set((f.cls.name, *live.program.mro(f.cls)[1]))
        )
    }
    dividing = {
        cls.name for cls in (*live.answer(slicing_classes), *live.answer(divisions), *data_sets)
    }
    begin.update(f for name in dividing for f in _calling(live.program, name))
    makers = {
        maker
        for name in sorted({f.cls.name for f in begin if f.cls is not None})
        for maker in _calling(live.program, name)
        if any(_makes(node.value, name) for node in own_nodes(maker, ast.Return))
    }
    begin |= makers
    found = set(begin)
    for function in begin:
        if function.cls is not None:
            found.update(function.cls.methods.values())
    return frozenset(_reached(live, found, begin))


def _makes(value: ast.expr | None, name: str) -> bool:
    """Whether an expression makes an object of a class of this name."""
    return isinstance(value, ast.Call) and last_name(value) == name


def _reached(live: LiveProgram, found: set[Function], begin: set[Function]) -> set[Function]:
    """Functions with those to which they hand a share: by what they return, and by what they keep in an object.

    Args:
        live: the program.
        found: functions that are followed.
        begin: those of them of which the callers are looked for.

    Returns:
        All that are followed.
    """
    names = _names(begin)
    kept = _readers(live, _kept(found), found) | _readers_elsewhere(live, _kept(found), found)
    kept |= {reader for each in found if each.is_module_body for reader in _global_readers(each)}
    found |= kept
    names |= _names(kept)
    for _ in range(_LEVELS):
        more = {f for name in names for f in _calling(live.program, name)} - found
        found |= more
        kept = _readers(live, _kept(more), found) | _readers_elsewhere(live, _kept(more), found)
        found |= kept
        names = _names(more | kept)
    return found


_OF_DATA: Final = pattern(r"load|data|sampler|iter|_dl$|_ds$|split|batches")
"""Names of attributes that may hold what is read."""


def _kept(functions: Iterable[Function]) -> dict[Class, set[str]]:
    """What functions keep in their objects, by the class, as far as the names speak of data."""
    kept: dict[Class, set[str]] = {}
    for function in functions:
        if function.cls is not None:
            for attr, methods in function.cls.self_assigned.items():
                if function in methods and _OF_DATA.search(attr):
                    kept.setdefault(function.cls, set()).add(attr)
    return kept


@remembered
def _global_readers(body: Function) -> tuple[Function, ...]:
    """The functions of a file that read what its statements put into a variable whose name speaks of data."""
    names = {name for name in assignments(body) if _OF_DATA.search(name)}
    return tuple(
        function
        for function in body.module.all_functions
        if function is not body
        and any(
            node.id in names and isinstance(node.ctx, ast.Load)
            for node in own_nodes(function, ast.Name)
        )
        and not names.isdisjoint(_read_from_outside(function))
    )


def _read_from_outside(function: Function) -> set[str]:
    """The variables that a function reads and does not give a value."""
    own = bound_again(function).union(function.parameters)
    return {node.id for node in own_nodes(function, ast.Name) if node.id not in own}


_LOADER: Final = pattern(r"loader|_dl$")
"""Names of attributes that hold a loader."""
_LOADER_READ: Final = pattern("loader|_dl")


def _keepers(live: LiveProgram) -> dict[str, list[Class]]:
    """The classes that keep a loader, by the name of the attribute."""
    found: dict[str, list[Class]] = {}
    for module in live.program.modules.values():
        for cls in module.all_classes:
            for attr in cls.self_assigned:
                if _LOADER.search(attr):
                    found.setdefault(attr, []).append(cls)
    return found


def _readers_elsewhere(
    live: LiveProgram, kept: dict[Class, set[str]], known: Container[Function]
) -> set[Function]:
    """The functions that read the loader of an object which they were given: `self.trainer.val_loader`."""
    attrs = {attr for names in kept.values() for attr in names if _LOADER.search(attr)}
    found = {function for attr in attrs for function in _reading(live.program, attr)}
    return {function for function in found if function not in known}


@all_remembered
def _reading(program: Program, attr: str) -> Iterator[Function]:
    """The functions that read an attribute that may hold a loader, of another object than their own."""
    for module in program.modules.values():
        yield from _loaders_read(module).get(attr, ())


@remembered
def _loaders_read(module: Module) -> dict[str, dict[Function, None]]:
    found: dict[str, dict[Function, None]] = {}
    for function in module.all_functions if _LOADER_READ.search(module.source.text) else ():
        for node in own_nodes(function, ast.Attribute):
            own = isinstance(node.value, ast.Name) and node.value.id == "self"
            if not own and isinstance(node.ctx, ast.Load) and _LOADER.search(node.attr):
                found.setdefault(node.attr, {})[function] = None
    return found


def _readers(
    live: LiveProgram, kept: dict[Class, set[str]], known: Container[Function]
) -> set[Function]:
    """The methods that read what an object keeps, of its class and of the classes that derive from it.

    align-anything 3f9decc align_anything/trainers/text_to_text/sft.py:88: `init_datasets()` keeps the loaders that a
    method of the base class has made, and `eval()` goes over them.
    """
    found: set[Function] = set()
    for cls, attrs in kept.items():
        for each in (cls, *live.program.subclasses(cls)):
            for method in each.methods.values():
                if method not in known and _reads(method, attrs):
                    found.add(method)
    return found


def _reads(method: Function, attrs: Container[str]) -> bool:
    return any(
        isinstance(node.ctx, ast.Load)
        and node.attr in attrs
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
        for node in own_nodes(method, ast.Attribute)
    )


_COMMON: Final = frozenset(
    {"__init__", "forward", "__call__", "get", "update", "main", "train", "step"}
)


def _names(functions: set[Function]) -> set[str]:
    """The names of functions that may hand a share to who calls them."""
    return {
        f.name
        for f in functions
        if f.name not in _COMMON and any(n.value is not None for n in own_nodes(f, ast.Return))
    }


@all_remembered
def _in_module(module: Module) -> Iterator[Function]:
    if not _begins(module.source.text):
        return
    lines = module.source.text.splitlines()
    for function in module.all_functions:
        if not function.is_module_body:
            node = function.node
            text = "\n".join(lines[node.lineno - 1 : node.end_lineno])  # type: ignore[union-attr]
            if _begins(text):
                yield function
    for statement in module.source.tree.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if _begins("\n".join(lines[statement.lineno - 1 : statement.end_lineno])):
            yield module.body
            return


def _begins(text: str) -> bool:
    return any(words.search(text) for words in _BEGINS)


@all_remembered
def _calling(program: Program, name: str) -> Iterator[Function]:
    """The functions that call something of a name."""
    for module in program.modules.values():
        yield from _called(module).get(name, ())


@remembered
def _called(module: Module) -> dict[str, list[Function]]:
    """What the functions of a file call, by its name: those that do."""
    found: dict[str, list[Function]] = {}
    for function in module.all_functions:
        for name in {last_name(node) for node in own_nodes(function, ast.Call)}:
            found.setdefault(name, []).append(function)
    return found


def _is_loader(program: Program, cls: Class) -> bool:
    """Whether a class is a loader or a sampler, by its name or by those of its bases."""
    return cls.name.endswith(("Loader", "Prefetcher", "Sampler")) or any(
        base.endswith(("DataLoader", "Sampler")) for base in program.mro(cls)[1]
    )


def _first(live: LiveProgram) -> list[Function]:
    """The functions in which shares begin that are followed by themselves."""
    return _roots(live, live.answer(_beginnings))


def _roots(live: LiveProgram, wanted: Set[Function]) -> list[Function]:
    """The functions that are followed by themselves, in the order of the program."""
    order = live.answer(_order)
    modules = sorted({f.module for f in wanted}, key=lambda module: order[module.path])
    return [f for m in modules for f in m.all_functions if f in wanted and _stands_alone(f)]


def _order(live: LiveProgram) -> dict[str, int]:
    """The files of a program, numbered."""
    return {module.path: n for n, module in enumerate(live.program.modules.values())}


def _stands_alone(function: Function) -> bool:
    """Whether a function is not followed where the function around it is."""
    return function.parent is None or function.parent.is_module_body or function.cls is not None
