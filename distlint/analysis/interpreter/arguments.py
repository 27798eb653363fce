"""What of a call's arguments makes a run of its own worth while: the context of a run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Final

from distlint.analysis.interpreter.annotations import Annotations
from distlint.analysis.interpreter.assignment import wrapped_parameter
from distlint.analysis.interpreter.values import (
    IN_TURN,
    MODEL_OUTPUT,
    UNKNOWN,
    Closure,
    Either,
    Entries,
    Value,
    Variance,
    Wrap,
)
from distlint.analysis.program.definitions import Class, Function
from distlint.analysis.program.program import Program
from distlint.analysis.program.syntax import (
    asked_by_loops,
    asked_for_constant,
    asked_for_none,
    cuts_by_parameters,
    makes_own_class,
    names_asked,
    self_attributes,
    takes_off_wrappers,
)
from distlint.knowledge.facts import Knowledge
from distlint.nodes import walk

_LASTING: Final = frozenset({"masked", "ragged", MODEL_OUTPUT})
_LITERAL_RANKS: Final = (-1, 0)
_CONSTRUCTING: Final = frozenset({"__init__", "__call__", "forward"})

Signature = tuple[Hashable, ...]
_GIVEN: Final = ("given",)
_EACH: Final = ("in-turn",)
Question = Callable[[Function], frozenset[str]]
"""Of which names a function asks something."""


class Arguments:
    """What of their arguments the functions of one program look at."""

    def __init__(
        self,
        program: Program,
        knowledge: Knowledge,
        annotations: Annotations,
        classes: dict[str, Class],
    ) -> None:
        self._program = program
        self._knowledge = knowledge
        self._annotations = annotations
        self._classes = classes
        self.plain: set[Function] = set()
        """Functions whose calls need not be followed, unless an argument matters."""
        self._declarations: dict[Function, dict[str, str]] = {}
        self._receivers: dict[tuple[Function, str], str | None] = {}
        self._self_uses: dict[Function, frozenset[str]] = {}
        self._asked: dict[Function, frozenset[str]] = {}
        self._questions: dict[tuple[Function, Question], frozenset[str]] = {}
        self._free: dict[Function, tuple[str, ...]] = {}

    def signatures(self, function: Function, given: dict[str, Value]) -> dict[str, Signature]:
        """What is known of each argument that may matter to a function."""
        if not given:
            return {}
        signatures = {n: s for n, v in given.items() if (s := _argument(n, v))}
        for name in self._constants(function):
            value = given.get(name)
            if "rank" in name or name in signatures:
                continue
            if value is not None and _is_plain(value):
                signatures[name] = ("text", str(value.const))
        for name in asked_by_loops(function):
            value = given.get(name)
            if value is not None and type(value.const) is int and name not in signatures:
                signatures[name] = ("number", value.const)
        if any(s[0] == "constant" for s in signatures.values()):
            matters = self._matters(function)
            signatures = {n: s for n, s in signatures.items() if s[0] != "constant" or n in matters}
        if signatures:
            for name, type_ in self._declared(function).items():
                if signatures.get(name) == ("type", type_):
                    del signatures[name]  # known without the argument
        return signatures

    def told(self, function: Function, bound: dict[str, Value]) -> dict[str, Value]:
        """Arguments; that one is not None only where the function asks for it, or what it hands it to."""
        if any(is_in_turn(value) for value in bound.values()):
            # Of several turns one run: which of the ranks it is, no condition is taken to know.
            bound = {n: _any_turn(v) if is_in_turn(v) else v for n, v in bound.items()}
        asked = self._handed(function, asked_for_none, self._asking_for_none)
        changed = {
            name: value.replace(not_none=False)
            for name, value in bound.items()
            if value.not_none and name not in asked
        }
        for name in asked:
            value = bound.get(name)
            if value is None or not value.never_none or isinstance(value.const, bool):
                continue
            if _is_plain(value) and name in self._constants(function):
                continue
            if type(value.const) is int and name in asked_by_loops(function):
                continue
            changed[name] = (
                Value(value.key, not_none=True)
                if _argument(name, value) in (None, _GIVEN)
                else value.replace(not_none=not value.known)
            )
        return {**bound, **changed} if changed else bound

    def _constants(self, function: Function) -> frozenset[str]:
        """The names that a function compares with texts or members: there, or in what they are passed to."""
        return self._handed(function, asked_for_constant, self._asking_for_constant)

    def _handed(
        self, function: Function, asked: Question, asking: frozenset[str]
    ) -> frozenset[str]:
        """The names of which a function asks something, or something to which it hands them on."""
        found = self._questions.get((function, asked))
        if found is None:
            found = asked(function) | {n for n, to in names_asked(function)[1] if to in asking}
            self._questions[function, asked] = found
        return found

    @cached_property
    def _asking_for_none(self) -> frozenset[str]:
        return self._names_of_asking(asked_for_none)

    @cached_property
    def _asking_for_constant(self) -> frozenset[str]:
        return self._names_of_asking(asked_for_constant)

    def _names_of_asking(self, asked: Question) -> frozenset[str]:
        """Names of functions and classes whose calls are followed, and that ask something of a parameter."""
        found: set[str] = set()
        for module in self._program.modules.values():
            for function in module.all_functions:
                if function in self.plain or asked(function).isdisjoint(function.parameters):
                    continue
                found.add(function.name)
                if function.cls is not None and function.name in _CONSTRUCTING:
                    found.add(function.cls.name)
        return frozenset(found)

    def context(
        self,
        function: Function,
        signatures: dict[str, Signature],
        receiver: Value | None,
        captured: dict[str, Value],
    ) -> Hashable:
        """What of the arguments matters: booleans, None, numbers of the rank, functions, wrapped models, types."""
        parts = [(name, part) for name, part in signatures.items() if name != "self"]
        parts += [("self", held) for held in self._held(function, receiver)]
        free = []
        if captured and function.parent is not None:
            for name in self._free_names(function):
                found = captured.get(name)
                part = _known_of(found) if found is not None else None
                if part is not None:
                    free.append((name, part))
        cls = self._receiver_class(function, receiver)
        return (cls, tuple(sorted(parts)), tuple(sorted(free))) if parts or free or cls else None

    def is_plain(self, function: Function, inputs: Sequence[Value], receiver: Value | None) -> bool:
        """Whether a call of a function with these arguments does nothing that concerns any rule."""
        return (
            function in self.plain
            and not cuts_by_parameters(function)
            and not (function.name == "__init__" and any(map(_is_kept, inputs)))
            and not (takes_off_wrappers(function) and any(value.wraps for value in inputs))
            and all(
                value.known
                or (value.type is not None and value.entries is None and not value.wraps)
                or _known_of(value) is None
                for value in inputs
            )
            and not self._held(function, receiver)
        )

    def _held(self, function: Function, receiver: Value | None) -> list[Signature]:
        """The wrapped models, and numbers of the rank, that an object was given when it was made, as far as a method asks."""
        if receiver is None or receiver.entries is None or function.cls is None:
            return []
        used = self._uses_of_self(function)
        given = [(n, v) for n, v in sorted(receiver.entries.named.items()) if n in used]
        wrapped = tuple(
            (name, "/".join(f"{key}:{wrap.kind}" for key, wraps in layers for wrap in wraps))
            for name, value in given
            if (layers := wrapped_in(value))
        )
        ranked = tuple(
            (name, repr(value.const))
            for name, value in given
            if value.variance is Variance.RANK_DEPENDENT
        )
        found: list[Signature] = [("ranked", ranked)] if ranked else []
        return [("wrapped", wrapped), *found] if wrapped else found

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
        return name in self._followed or name in self._knowledge.row_names

    @cached_property
    def _followed(self) -> frozenset[str]:
        """Names of functions and classes whose calls are followed."""
        found: set[str] = set()
        for module in self._program.modules.values():
            for function in module.all_functions:
                if function not in self.plain:
                    found.add(function.name)
                    if function.cls is not None and function.name in _CONSTRUCTING:
                        found.add(function.cls.name)
                        found.update(c.name for c in self._program.subclasses(function.cls))
            found.update(n for n, d in module.imports.items() if not d.endswith(n))
        return frozenset(found)

    def _receiver_class(self, function: Function, receiver: Value | None) -> str | None:
        """The class of the receiver, where a method comes out otherwise on it than on its own class.

        A model class of transformers has hundreds of subclasses that change nothing of what concerns
        ranks: they share one run.
        """
        if receiver is None or function.cls is None or receiver.type is None:
            return None
        key = (function, receiver.type)
        if key not in self._receivers:
            cls = self._classes.get(receiver.type)
            differs = cls is None or makes_own_class(function) or self._overrides(cls, function)
            differs = differs and receiver.type != function.cls.full_name
            self._receivers[key] = receiver.type if differs else None
        return self._receivers[key]

    def _overrides(self, cls: Class, function: Function) -> bool:
        """Whether a subclass defines, in code that is followed, what a method uses of `self`."""
        assert function.cls is not None
        known = set(self._program.mro(function.cls)[0])
        defined: set[str] = set()
        for owner in self._program.mro(cls)[0]:
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
                        method = self._program.find_method(function.cls, name)
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
            types = {
                p.arg: self._annotations.type_of(function.module, p.annotation) for p in parameters
            }
            wrapped = wrapped_parameter(self._program, function)
            if wrapped is not None:
                types.pop(wrapped[0], None)
            found = {name: type_ for name, type_ in types.items() if type_ is not None}
            self._declarations[function] = found
        return found

    def _free_names(self, function: Function) -> tuple[str, ...]:
        """The names that a function reads, in order."""
        found = self._free.get(function)
        if found is None:
            names = {
                node.id for node in walk(function.node, ast.Name) if isinstance(node.ctx, ast.Load)
            }
            found = self._free[function] = tuple(sorted(names))
        return found


def _is_kept(value: Value) -> bool:
    """Whether an object that is given a value is another one by it, whatever its constructor does."""
    return bool(value.wraps) or value.variance is Variance.RANK_DEPENDENT


def wrapped_in(value: Value) -> tuple[tuple[str, tuple[Wrap, ...]], ...]:
    """The layers around a model, or around those that a dict holds, by their keys."""
    if value.wraps or value.entries is None:
        return (("", value.wraps),) if value.wraps else ()
    return tuple(
        (name, each.wraps) for name, each in sorted(value.entries.named.items()) if each.wraps
    )


def class_of(context: Hashable) -> str | None:
    """The class of the receiver in a context."""
    return context[0] if isinstance(context, tuple) else None


def holds_models(context: Hashable) -> bool:
    """Whether the receiver in a context was given wrapped models, or numbers of the rank."""
    return isinstance(context, tuple) and any(name == "self" for name, _ in context[1])


def mentions_rank(context: Hashable) -> bool:
    """Whether an argument in a context depends on the rank."""
    if not isinstance(context, tuple):
        return False
    _, arguments, captured = context
    return any(part[0] == "ranked" for _, part in (*arguments, *captured))


def _argument(name: str, value: Value) -> Signature | None:
    """The signature of an argument; a literal rank counts too.

    `create_dataloader(..., rank=-1)` turns off the barriers that a rank of the launch turns on
    (yolov5 7.0 train.py, utils/torch_utils.py: `torch_distributed_zero_first`).
    """
    if "rank" in name and type(value.const) is int and value.variance is Variance.UNIFORM:
        return ("rank", value.const) if value.const in _LITERAL_RANKS else None
    known = _known_of(value) or (_EACH if is_in_turn(value) else None)
    if not value.not_none:
        return known
    return (*known, *_GIVEN) if known is not None else _GIVEN


def _is_plain(value: Value) -> bool:
    """Whether a value is a text or a number that is written down."""
    return type(value.const) in (str, int)


def is_in_turn(value: Value) -> bool:
    """Whether a value goes through all ranks in turn, whatever a parameter that takes it is called."""
    return IN_TURN in value.tags and value.variance is Variance.UNIFORM


def _any_turn(value: Value) -> Value:
    return value.replace(const=UNKNOWN, truth=None, not_none=value.never_none)


def _name_of(value: Value) -> str:
    """What tells one of a few functions, classes or objects from the others."""
    match value.target:
        case Closure(function=function):
            return f"{function.module.name}.{function.qualname}"
        case Class() as cls:
            return cls.full_name
    return value.type or ""


def _known_of(value: Value) -> Signature | None:
    """What of an argument makes a run of its own worth while; arguments without are unknown inside."""
    if value.variance is Variance.RANK_DEPENDENT:
        layers = _layers_of(value)
        known = repr(value.const) if value.known else "?"
        return ("ranked", known, tuple(sorted(value.tags)), layers)
    if value.known and (value.const is None or isinstance(value.const, bool)):
        return ("constant", repr(value.const))
    if value.items and all(item.known and item.const is None for item in value.items):
        return (
            "nothing",
            len(value.items),
        )  # I-JEPA's `init_distributed(rank_and_world_size=(None, None))`
    if isinstance(value.target, Closure):
        return ("function", value.target.function.qualname, id(value.target.function))
    if isinstance(value.target, Either):
        return ("either", ",".join(sorted(_name_of(each) for each in value.target.values)))
    if value.wraps:
        return ("wrapped", _layers_of(value))
    if value.entries is not None and (parts := _entries_of(value.entries)):
        return ("entries", value.type or "", value.variance, parts)
    if value.variance is Variance.RANK_LOCAL:
        kind = value.origin.kind if value.origin is not None else ""
        return ("local", kind, tuple(sorted(value.tags & _LASTING)))
    if value.type == "generator" and value.receiver is not None:
        # SwinBERT 03116f1 src/utils/tsv_file_ops.py:34: `tsv_writer(rows)` runs what it is handed, each time another one.
        run = value.receiver.const
        return ("generator", run.function.qualname, id(run.function))
    if value.type is not None:
        return ("type", value.type)
    if value.items and any(item.wraps for item in value.items):
        return ("wrapped", tuple(_layers_of(item) for item in value.items))
    return None


def _layers_of(value: Value) -> str:
    """The kinds of a model's layers, with those that another path puts on in their place."""
    return "/".join(
        w.kind if w.instead is None else f"{w.kind}|{w.instead.kind}" for w in value.wraps
    )


def _entries_of(entries: Entries) -> Signature:
    """What of a dict's entries differs between ranks or is a wrapped model: `opt["rank"]`."""
    known = (
        (name, _known_of(entry))
        for name, entry in entries.named.items()
        if entry.wraps or entry.variance is not Variance.UNIFORM
    )
    return tuple(sorted((name, *part) for name, part in known if part is not None))
