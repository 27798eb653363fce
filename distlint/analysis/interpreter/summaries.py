"""Makes runs on demand and remembers them: one for each function, class of ranks and set of bound arguments.

A run that a recursion cut short is used where it was made and then forgotten; only complete runs are
remembered. Functions in which nothing depends on the rank are run once for all classes.

A run may ask for an attribute of `self` while a method that assigns it is under way: then it takes the
attribute without what that method assigns. So with a variable of a module that calls `main()` at its
end: it is taken for what the module's body has assigned by then. When the method or body is done, and
what it assigned tells nothing more, the runs made meanwhile are complete; else they are made again.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable, Iterator
from functools import cached_property
from typing import Final

from distlint.analysis.interpreter.assignment import wrapped_parameter
from distlint.analysis.interpreter.interpreter import follow
from distlint.analysis.interpreter.ir import Summary
from distlint.analysis.interpreter.ranks import MAIN, RankClass
from distlint.analysis.interpreter.signals import signal_writes
from distlint.analysis.interpreter.values import UNKNOWN, Closure, Origin, Value, Variance, join
from distlint.analysis.program.definitions import Class, Function, Module, dotted_name
from distlint.analysis.program.program import Program
from distlint.analysis.program.syntax import (
    asked_for_none,
    assignments,
    names_asked,
    self_attributes,
)
from distlint.knowledge.facts import Knowledge
from distlint.nodes import walk

_MAX_NESTING: Final = 120
_MAX_CONTEXTS: Final = 16
_LASTING: Final = frozenset({"masked", "ragged"})
_LITERAL_RANKS: Final = (-1, 0)
_DEPENDS: Final = frozenset({"rank", "local", "last"})

Key = tuple[Function, RankClass, Hashable]


class Summaries:
    """All runs of one program."""

    def __init__(self, program: Program, knowledge: Knowledge) -> None:
        self.program = program
        self.knowledge = knowledge
        self.classes: dict[str, Class] = {}
        self._functions_by_node: dict[int, Function] = {}
        self._classes_by_node: dict[int, Class] = {}
        for module in program.modules.values():
            for cls in module.all_classes:
                self.classes[cls.full_name] = cls
                self._classes_by_node[id(cls.node)] = cls
            for function in module.all_functions:
                self._functions_by_node[id(function.node)] = function
        self._memo: dict[Key, Summary] = {}
        self._provisional: dict[Key, Summary] = {}
        self._contexts: dict[tuple[Function, RankClass], set[Hashable]] = {}
        self._active: dict[Key, int] = {}
        self._stack: list[Summary] = []
        self._lowest: list[int] = []
        self._assuming: list[int] = []
        self._assumed: dict[int, dict[Hashable, tuple[str, Value | None]]] = {}
        self._read: dict[int, dict[tuple[str, int], Value | None]] = {}
        self._unconfirmed: list[tuple[Key, int, Summary]] = []
        self._declarations: dict[Function, dict[str, str]] = {}
        self._annotations: dict[tuple[Module, int], str | None] = {}
        self._computing: set[Hashable] = set()
        self._attribute_cache: dict[Hashable, Value | None] = {}
        self.plain: set[Function] = set()
        """Functions whose calls need not be followed, unless an argument matters."""
        self.signals = signal_writes(program)
        self.gave_up: dict[tuple[Function, str], None] = {}
        self._receivers: dict[tuple[Function, str], str | None] = {}
        self._self_uses: dict[Function, frozenset[str]] = {}
        self._asked: dict[Function, frozenset[str]] = {}

    @cached_property
    def _followed(self) -> frozenset[str]:
        """Names of functions and classes whose calls are followed."""
        found: set[str] = set()
        for module in self.program.modules.values():
            for function in module.all_functions:
                if function not in self.plain:
                    found.add(function.name)
                    if function.cls is not None and function.name in (
                        "__init__",
                        "__call__",
                        "forward",
                    ):
                        found.add(function.cls.name)
                        found.update(c.name for c in self.program.subclasses(function.cls))
            found.update(n for n, d in module.imports.items() if not d.endswith(n))
        return frozenset(found)

    # -- lookups by syntax ---------------------------------------------------------------------------

    def function_of(self, node: ast.AST) -> Function | None:
        """The function that a definition statement defines."""
        return self._functions_by_node.get(id(node))

    def class_of(self, node: ast.AST) -> Class | None:
        """The class that a class statement defines."""
        return self._classes_by_node.get(id(node))

    def annotation_type(self, module: Module, annotation: ast.expr | None) -> str | None:
        """The class that an annotation names (also quoted, `Optional[X]`, `X | None`), or None."""
        if annotation is None:
            return None
        key = (module, id(annotation))
        if key not in self._annotations:
            self._annotations[key] = self._annotation_type(module, annotation)
        return self._annotations[key]

    def _annotation_type(self, module: Module, node: ast.expr) -> str | None:
        match node:
            case ast.Constant(value=str() as text):
                try:
                    return self._annotation_type(module, ast.parse(text, mode="eval").body)
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    return None
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                sides = [self._annotation_type(module, side) for side in (left, right)]
                known = [s for s in sides if s is not None]
                return known[0] if len(known) == 1 else None
            case ast.Subscript(value=value, slice=inner) if (
                dotted_name(value).rpartition(".")[2] == "Optional"
            ):
                return self._annotation_type(module, inner)
            case ast.Name() | ast.Attribute():
                meaning = self.program.resolve_dotted(module, dotted_name(node))
                if isinstance(meaning, Class):
                    return meaning.full_name
                if (
                    isinstance(meaning, str)
                    and "." in meaning
                    and meaning.rpartition(".")[2][:1].isupper()
                ):
                    return meaning if not meaning.startswith(("typing.", "collections.")) else None
        return None

    # -- runs ---------------------------------------------------------------------------------------

    def summary(
        self,
        function: Function,
        rank: RankClass,
        bound: dict[str, Value] | None = None,
        receiver: Value | None = None,
        captured: dict[str, Value] | None = None,
    ) -> Summary:
        """The run of a function on a class of ranks with these arguments."""
        given = dict(_told(function, bound)) if bound else {}
        signatures = {n: s for n, v in given.items() if (s := _argument(n, v))}
        if any(s[0] == "constant" for s in signatures.values()):
            matters = self._matters(function)
            signatures = {n: s for n, s in signatures.items() if s[0] != "constant" or n in matters}
        if signatures:
            for name, type_ in self._declared(function).items():
                if signatures.get(name) == ("type", type_):
                    del signatures[name]  # known without the argument
        bound = {name: given[name] for name in signatures}
        captured = captured or {}
        context = self._context_of(function, signatures, receiver, captured)
        if receiver is not None and function.cls is not None and _class_of(context) is None:
            receiver = (
                None  # shared by all classes of receivers: the first one must not be seen in it
            )
        key = (function, rank, context)
        found = self._memo.get(key) or self._provisional.get(key)
        if found is not None:
            return found
        if key in self._active:
            index = self._active[key]
            if self._lowest:
                self._lowest[-1] = min(self._lowest[-1], index)
            return Summary(function, rank, context, arguments=(bound, receiver, captured))
        if len(self._stack) >= _MAX_NESTING:
            self._give_up(function, f"called through more than {_MAX_NESTING} nested calls")
            if self._lowest:
                self._lowest[-1] = -1
            return Summary(function, rank, context, arguments=(bound, receiver, captured))
        contexts = self._contexts.setdefault((function, rank), set())
        if len(contexts) >= _MAX_CONTEXTS and context is not None and context not in contexts:
            # Of many different calls only the ranks that they pass are told apart, and those of few.
            self._give_up(
                function,
                f"called with more than {_MAX_CONTEXTS} kinds of arguments; the others as one",
            )
            ranks = {n: v for n, v in bound.items() if v.known and "rank" in n}
            if not ranks or len(contexts) >= 2 * _MAX_CONTEXTS:
                return self.summary(function, rank)
            if len(ranks) < len(bound) or receiver is not None or captured:
                return self.summary(function, rank, ranks)
        contexts.add(context)
        if rank is not MAIN:
            main = self._memo.get((function, MAIN, context))
            if main is None and not self._mentions_rank(context):
                main = self.summary(function, MAIN, bound, receiver, captured)
            if (
                main is not None
                and not main.depends_on & _DEPENDS
                and not self._mentions_rank(context)
            ):
                self._memo[key] = main
                return main
        return self._make(key, bound, receiver, captured)

    def _make(
        self, key: Key, bound: dict[str, Value], receiver: Value | None, captured: dict[str, Value]
    ) -> Summary:
        function, rank, context = key
        summary = Summary(function, rank, context)
        depth = len(self._stack)
        first = len(self._unconfirmed)
        self._active[key] = depth
        self._stack.append(summary)
        self._lowest.append(depth)
        self._assuming.append(depth)
        try:
            variables = follow(self, summary, bound, receiver, captured)
            summary.environment = variables if function.is_module_body else {}
        finally:
            lowest = self._lowest.pop()
            assuming = self._assuming.pop()
            self._stack.pop()
            del self._active[key]
        if not self._confirmed(summary, depth):
            del self._unconfirmed[first:]
        elif len(self._unconfirmed) > first:
            self._settle(first, depth)
        if min(lowest, assuming) >= depth or not self._stack:
            self._memo[key] = summary
        else:
            # Made with a function that is still running: right only inside that run.
            summary.arguments = (bound, receiver, captured)
            self._provisional[key] = summary
            self._lowest[-1] = min(self._lowest[-1], lowest)
            self._assuming[-1] = min(self._assuming[-1], assuming)
            if lowest >= depth:
                self._unconfirmed.append((key, assuming, summary))
        if not self._stack:
            self._provisional.clear()
            self._unconfirmed.clear()
        return summary

    def _confirmed(self, summary: Summary, depth: int) -> bool:
        """Whether what was asked for while `run` was under way, is what was assumed of it."""
        assumed = self._assumed.pop(depth, {})
        read = self._read.pop(depth, {})
        return all(
            _tells_nothing_more(value, summary.self_attributes.get(attr))
            for attr, value in assumed.values()
        ) and all(summary.environment.get(name) is value for (name, _), value in read.items())

    def _settle(self, first: int, depth: int) -> None:
        """Remember the runs that waited for nothing but the run that was at `depth`."""
        waiting = self._unconfirmed[first:]
        del self._unconfirmed[first:]
        for key, assuming, summary in waiting:
            if assuming < depth:
                self._unconfirmed.append((key, assuming, summary))
            else:
                summary.arguments = None
                self._memo[key] = summary

    def is_plain(self, function: Function, inputs: Iterable[Value]) -> bool:
        """Whether a call of a function with these arguments does nothing that concerns any rule."""
        return function in self.plain and all(
            value.known
            or (value.type is not None and value.fields is None)
            or _known_of(value) is None
            for value in inputs
        )

    def final(self, summary: Summary) -> Summary:
        """The complete run in place of one that a recursion cut short; only between runs."""
        if summary.arguments is None or self._stack:
            return summary
        found = self.summary(summary.function, summary.rank, *summary.arguments)
        return summary if found.arguments is not None else found

    def keep(self, live: set[Summary]) -> None:
        """Forget the runs that no entry of the program leads to: they only served to find the entries."""
        self._memo = {key: summary for key, summary in self._memo.items() if summary in live}
        self._provisional.clear()

    def reset(self) -> None:
        """Forget what was under way, after a run ended in an exception."""
        self._active.clear()
        self._stack.clear()
        self._lowest.clear()
        self._assuming.clear()
        self._assumed.clear()
        self._read.clear()
        self._unconfirmed.clear()
        self._provisional.clear()
        self._computing.clear()

    def _context_of(
        self,
        function: Function,
        signatures: dict[str, tuple[Hashable, ...]],
        receiver: Value | None,
        captured: dict[str, Value],
    ) -> Hashable:
        """What of the arguments matters: booleans, None, numbers of the rank, functions, wrapped models, types."""
        parts = [(name, part) for name, part in signatures.items() if name != "self"]
        free = []
        if captured and function.parent is not None:
            for name in self._free_names(function):
                found = captured.get(name)
                part = _known_of(found) if found is not None else None
                if part is not None:
                    free.append((name, part))
        cls = self._receiver_class(function, receiver)
        return (cls, tuple(sorted(parts)), tuple(sorted(free))) if parts or free or cls else None

    def _give_up(self, function: Function, reason: str) -> None:
        """Note, once, what was not followed as it is."""
        self.gave_up.setdefault((function, reason))

    def _matters(self, function: Function) -> frozenset[str]:
        """The names of a function that a condition may ask: there, or in what they are passed to."""
        found = self._asked.get(function)
        if found is None:
            asked, passed = names_asked(function)
            found = asked | {name for name, called in passed if self._may_ask(called)}
            self._asked[function] = found
        return found

    def _may_ask(self, name: str) -> bool:
        """Whether something of this name, of the project or in the tables, may ask for its arguments."""
        return name in self._followed or name in self.knowledge.row_names

    def _receiver_class(self, function: Function, receiver: Value | None) -> str | None:
        """The class of the receiver, where a method comes out otherwise on it than on its own class.

        A model class of transformers has hundreds of subclasses that change nothing of what concerns
        ranks: they share one run.
        """
        if receiver is None or function.cls is None or receiver.type is None:
            return None
        key = (function, receiver.type)
        if key not in self._receivers:
            cls = self.classes.get(receiver.type)
            differs = cls is None or self._overrides(cls, function)
            differs = differs and receiver.type != function.cls.full_name
            self._receivers[key] = receiver.type if differs else None
        return self._receivers[key]

    def _overrides(self, cls: Class, function: Function) -> bool:
        """Whether a subclass defines, in code that is followed, what a method uses of `self`."""
        assert function.cls is not None
        known = set(self.program.mro(function.cls)[0])
        defined: set[str] = set()
        for owner in self.program.mro(cls)[0]:
            if owner not in known:
                defined.update(n for n, m in owner.methods.items() if m not in self.plain)
                for name, methods in owner.self_assigned.items():
                    if any(method not in self.plain for method in methods):
                        defined.add(name)
        return bool(defined) and not defined.isdisjoint(self._uses_of_self(function))

    def _uses_of_self(self, function: Function) -> frozenset[str]:
        """The attributes and methods that a method uses of `self`, in the methods that it calls as well."""
        found = self._self_uses.get(function)
        if found is None:
            assert function.cls is not None
            names: set[str] = set()
            seen = {function}
            work = [function]
            while work:
                for name in self_attributes(work.pop()):
                    if name not in names:
                        names.add(name)
                        method = self.program.find_method(function.cls, name)
                        if method is not None and method not in seen:
                            seen.add(method)
                            work.append(method)
            found = self._self_uses[function] = frozenset(names)
        return found

    def _declared(self, function: Function) -> dict[str, str]:
        """The classes that annotations give parameters, but for the one that a trainer passes wrapped."""
        found = self._declarations.get(function)
        if found is None:
            spec = function.node.args  # type: ignore[union-attr]
            parameters = (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)
            types = {p.arg: self.annotation_type(function.module, p.annotation) for p in parameters}
            wrapped = wrapped_parameter(self.program, function)
            if wrapped is not None:
                types.pop(wrapped[0], None)
            found = {name: type_ for name, type_ in types.items() if type_ is not None}
            self._declarations[function] = found
        return found

    def _free_names(self, function: Function) -> tuple[str, ...]:
        cached = self._attribute_cache.get(("free", function))
        if cached is None:
            names = {
                n.id
                for n in walk(function.node)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
            }
            cached = Value(("free",), tuple(sorted(names)))
            self._attribute_cache["free", function] = cached
        return cached.const  # type: ignore[no-any-return]

    @staticmethod
    def _mentions_rank(context: Hashable) -> bool:
        if not isinstance(context, tuple):
            return False
        _, arguments, captured = context
        return any(part[0] == "ranked" for _, part in (*arguments, *captured))

    # -- values that live outside functions ------------------------------------------------------------

    def global_value(self, module: Module, name: str, asker: Summary) -> Value | None:
        """What a name means at the top level of a module, on the asking run's class of ranks."""
        meaning = self.program.member(module, name)
        match meaning:
            case Function():
                return Value(("function", id(meaning)), target=Closure(meaning, {}))
            case Class():
                return Value(("class", id(meaning)), target=meaning)
            case Module():
                return Value(("module", meaning.name), target=meaning)
            case str():
                kind = self.knowledge.attributes.get(meaning)
                if kind is not None:
                    return None
                return Value(("external", meaning), target=meaning)
        if name in module.imports:
            # `from .state import RANK`: a variable of another module of the project.
            dotted = module.imports[name]
            home, _, attribute = dotted.rpartition(".")
            other = self.program.modules.get(home)
            if other is not None and other is not module and attribute in other.assigned:
                return self.global_value(other, attribute, asker)
            return Value(("unresolved", dotted))
        if name not in module.assigned:
            return None
        written = self.signals.variables.get(module.body, {}).get(name)
        if written is not None:
            return self.set_by_signal(Value(("global", module.name, name)), written, module)
        value = self._variable(module.body, name, asker)
        if value is None:
            return Value(("global", module.name, name))
        if value.known and value.variance is Variance.UNIFORM and name in self._rebound(module):
            return Value(("global", module.name, name))
        return (
            value
            if value.known or value.target or value.type or value.wraps or value.variance
            else value.replace(key=("global", module.name, name))
        )

    def _variable(self, body: Function, name: str, asker: Summary) -> Value | None:
        """What the body of a module leaves in a variable; what it has come to while it is under way."""
        depth = self._active.get((body, asker.rank, None))
        if depth is not None:
            value = self._stack[depth].environment.get(name)
            # A flag may be set, called with and set back: what was called in between must not know it.
            changes = value is not None and value.known and len(assignments(body).get(name, ())) > 1
            if not changes and (value is None or value.variance is not Variance.RANK_DEPENDENT):
                self._assuming[-1] = min(self._assuming[-1], depth)
                self._read.setdefault(depth, {})[name, id(value)] = value
                return value
        summary = self.summary(body, asker.rank)
        asker.depends_on |= (
            summary.depends_on
            if summary.arguments is not None or name in _ranked(summary)
            else set()
        )
        return summary.environment.get(name)

    def _rebound(self, module: Module) -> frozenset[str]:
        """Names that functions of a module assign through `global`."""
        cached = self._attribute_cache.get(("rebound", module))
        if cached is None:
            names: set[str] = set()
            for function in module.all_functions if "global " in module.source.text else ():
                if not function.is_module_body:
                    for statement in walk(function.node):
                        if isinstance(statement, ast.Global):
                            names.update(statement.names)
            cached = Value(("rebound",), frozenset(names))
            self._attribute_cache["rebound", module] = cached
        return cached.const  # type: ignore[no-any-return]

    def class_attribute(self, cls: Class, attr: str, asker: Summary) -> Value | None:
        """The value of a class variable."""
        for owner in self.program.mro(cls)[0]:
            node = owner.attributes.get(attr)
            if node is not None:
                if isinstance(node, ast.Constant):
                    return Value(("constant", type(node.value).__name__, node.value), node.value)
                return Value(("attr", owner.full_name, attr))
        return None

    def instance_attribute(self, cls: Class, attr: str, asker: Summary) -> Value | None:
        """What the methods of a class assign to `self.attr`: the join over all of them."""
        key = ("instance", cls, attr, asker.rank)
        if key in self._attribute_cache:
            value = self._attribute_cache[key]
            self._note_dependence(key, asker)
            return value
        if key in self._computing:
            return Value(("attr", ("self",), attr))
        self._computing.add(key)
        missing: list[int] = []
        result: Value | None = None
        depends_on: set[str] = set()
        try:
            for owner in self.program.mro(cls)[0]:
                for method in owner.self_assigned.get(attr, ()):
                    active = [i for k, i in self._active.items() if k[0] is method]
                    if active:
                        missing += active
                        continue
                    summary = self.summary(method, asker.rank)
                    value = summary.self_attributes.get(attr)
                    if value is None:
                        continue
                    depends_on |= (
                        summary.depends_on if value.variance is not Variance.UNIFORM else set()
                    )
                    result = (
                        value if result is None else join(result, value, ("attr", ("self",), attr))
                    )
        finally:
            self._computing.discard(key)
        if result is None:
            for owner in self.program.mro(cls)[0]:
                if attr in owner.attributes:
                    result = self.class_attribute(owner, attr, asker)
                    break
        if result is not None and not (result.known and result.variance is not Variance.UNIFORM):
            assigned_often = sum(
                len(o.self_assigned.get(attr, ())) for o in self.program.mro(cls)[0]
            )
            if result.known and (assigned_often != 1 or missing):
                result = result.replace(const=UNKNOWN)
            result = result.replace(
                key=("attr", ("self",), attr),
                items=result.items if assigned_often == 1 else None,
                fields=result.fields if assigned_often == 1 else None,
                logic=None,
            )
        if attr in self.signals.names:
            result = self.flag(cls, attr, result)
        if missing:
            self._assuming[-1] = min(self._assuming[-1], *missing)
            for depth in missing:
                self._assumed.setdefault(depth, {}).setdefault(key, (attr, result))
        else:
            self._attribute_cache[key] = result
            self._attribute_cache["consulted", key] = Value(("consulted",), frozenset(depends_on))
        asker.depends_on |= depends_on
        return result

    def flag(self, cls: Class, attr: str, value: Value | None) -> Value | None:
        """The value of an attribute of a class, as a signal handler may have changed it."""
        for owner in self.program.mro(cls)[0]:
            node = self.signals.attributes.get(owner, {}).get(attr)
            if node is not None:
                known = value or Value(("attr", ("self",), attr))
                return self.set_by_signal(known, node, owner.module)
        return value

    def set_by_signal(self, value: Value, node: ast.AST, module: Module) -> Value:
        """A value as it may be at any time after a signal handler was registered that writes it."""
        origin = Origin(node, module, "a flag that this rank's signal handler sets", "signal")
        return value.replace(
            const=UNKNOWN, truth=None, items=None, logic=None, variance=Variance.RANK_LOCAL, origin=origin,
            key=value.key if not value.known else ("signal", id(node)), tags=value.tags | {"signal"},
        )  # fmt: skip

    def _note_dependence(self, key: Hashable, asker: Summary) -> None:
        noted = self._attribute_cache.get(("consulted", key))
        if noted is not None:
            asker.depends_on |= noted.const


def _class_of(context: Hashable) -> str | None:
    """The class of the receiver in a context."""
    return context[0] if isinstance(context, tuple) else None


def _tells_nothing_more(assumed: Value | None, assigned: Value | None) -> bool:
    """Whether an attribute stays what it is taken for when another value is assigned to it too."""
    if assigned is None:
        return True
    if assumed is None:
        return _facts_of(assigned) == _facts_of(Value(()))
    return _facts_of(join(assumed, assigned, ())) == _facts_of(assumed)


def _facts_of(value: Value) -> tuple[object, ...]:
    """What is known of a value besides its number."""
    return (
        value.const if value.known else None,
        value.known,
        value.variance,
        value.type,
        value.target,
        value.wraps,
        value.tags,
        value.items is None,
    )


def _told(function: Function, bound: dict[str, Value]) -> Iterator[tuple[str, Value]]:
    """Arguments; that one is not None only where the function asks for it."""
    for name, value in bound.items():
        if value.not_none and name not in asked_for_none(function):
            value = value.replace(not_none=False)
        yield name, value


def _ranked(summary: Summary) -> set[str]:
    return {
        name
        for name, value in summary.environment.items()
        if value.variance is Variance.RANK_DEPENDENT
    }


def _signature(value: Value) -> tuple[Hashable, ...] | None:
    """What of an argument makes a run of its own worth while; arguments without are unknown inside."""
    known = _known_of(value)
    if not value.not_none:
        return known
    return (*known, "given") if isinstance(known, tuple) else ("given",)


def _known_of(value: Value) -> tuple[Hashable, ...] | None:
    if value.variance is Variance.RANK_DEPENDENT:
        layers = "/".join(w.kind for w in value.wraps)
        known = repr(value.const) if value.known else "?"
        return ("ranked", known, tuple(sorted(value.tags)), layers)
    if value.known and (value.const is None or isinstance(value.const, bool)):
        return ("constant", repr(value.const))
    if isinstance(value.target, Closure):
        return ("function", value.target.function.qualname, id(value.target.function))
    if value.wraps:
        return ("wrapped", "/".join(w.kind for w in value.wraps))
    if value.fields and any(each.wraps for each in value.fields.values()):
        entries = sorted((n, "/".join(w.kind for w in v.wraps)) for n, v in value.fields.items())
        return ("wrapped", *(part for entry in entries for part in entry))
    if value.variance is Variance.RANK_LOCAL:
        kind = value.origin.kind if value.origin is not None else ""
        return ("local", kind, tuple(sorted(value.tags & _LASTING)))
    if value.type is not None:
        return ("type", value.type)
    if value.items and any(item.wraps for item in value.items):
        return ("wrapped", tuple("/".join(w.kind for w in item.wraps) for item in value.items))
    return None


def _argument(name: str, value: Value) -> tuple[Hashable, ...] | None:
    """The signature of an argument; a literal rank counts too.

    `create_dataloader(..., rank=-1)` turns off the barriers that a rank of the launch turns on
    (yolov5 7.0 train.py, utils/torch_utils.py: `torch_distributed_zero_first`).
    """
    if "rank" in name and type(value.const) is int and value.variance is Variance.UNIFORM:
        return ("rank", value.const) if value.const in _LITERAL_RANKS else None
    return _signature(value)
