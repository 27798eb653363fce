"""What is called where a name chooses it at run time: from a table, a module, a registry, a configuration."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from distlint.analysis.program.configured import (
    Candidate,
    all_of,
    made_by,
    named_by,
    own_of,
)
from distlint.analysis.program.definitions import Class, Definition, Function, Module, dotted_name
from distlint.analysis.program.handed import argument_of, callers_by_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.options import options_of
from distlint.analysis.program.program import Program
from distlint.analysis.program.syntax import assignments, default_of, own_nodes
from distlint.knowledge.conventions import FROM_CONFIGURATION
from distlint.nodes import last_name, walk
from distlint.records import dataclass

Entries = dict[str, Candidate | None]
"""What is kept by name; None where it is not known what that is."""
Place = int | str
"""Where something is in each entry of a table: of a tuple the number, of a table the key."""
Variable = tuple[Module, str]
"""A name at the top of a file."""

_IMPORTS_BY_NAME: Final = frozenset(
    {"importlib.import_module", "pydoc.locate", "hydra.utils.get_class", "hydra.utils.get_object"}
)
_MOST: Final = 64
"""Candidates. Of more, they have nothing in common but that they are there."""
_DEPTH: Final = 4
_OTHERS: Final = ""
"""A name for what else is kept: files that register something need not be read."""


BUILDS: Final = frozenset({"build", "create", "make"})
"""The methods by which registries make objects."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What a call may call; `named` where the project says that it is these: in a configuration, by a default.

    `open` where a name chooses among more than is known: then there are no candidates, and `known` are those that may be.
    """

    candidates: tuple[Candidate, ...]
    named: bool
    open: bool = False
    known: tuple[Candidate, ...] = ()

    @property
    def possible(self) -> tuple[Candidate, ...]:
        """What some launch comes to: all that may be called, or what is known of it."""
        return self.candidates or self.known


@remembered
def chosen(program: Program, function: Function, call: ast.Call) -> Choice:
    """What a call calls whose function has no name of its own; no candidates where nothing bounds them."""
    if _meaning(program, function.module, call.func) in FROM_CONFIGURATION:
        found = made_by(program, function, call, None)
        own = all_of(program, function.module) if found is None else own_of(found)
        return Choice(own, named=True)
    match call.func:
        case (
            ast.Name()
            | ast.Call()
            | ast.Subscript()
            | ast.IfExp()
            | ast.Attribute(value=ast.Subscript())
        ):
            known = tuple(dict.fromkeys(_callables(program, function, call.func, _DEPTH)))
        case _:
            known = tuple(dict.fromkeys(_built(program, function, call)))
    return _choice(known)


@remembered
def chosen_as(program: Program, function: Function, node: ast.expr) -> Choice:
    """What an expression may be that means a class or function: `kind = Large if size > 1 else Small`."""
    return _choice(tuple(dict.fromkeys(_callables(program, function, node, _DEPTH))))


def _choice(known: tuple[_Known, ...]) -> Choice:
    named = [each.candidate for each in known if each.named]
    all_known = named or [each.candidate for each in known]
    kept = tuple(each for each in all_known if each is not None)
    if len(kept) < len(all_known) or len(kept) > _MOST:
        return Choice((), named=False, open=True, known=kept)
    return Choice(kept, bool(named))


@dataclass(frozen=True, slots=True)
class _Known:
    candidate: Candidate | None
    named: bool = False


def _callables(
    program: Program, function: Function, node: ast.expr, depth: int
) -> Iterator[_Known]:
    """What an expression may mean that is called, or that a function returns to be called."""
    if not depth:
        return
    match node:
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, name, *_]):
            if _found_by_name(program, function, owner) is not None:
                yield from (_Known(c, True) for c in all_of(program, function.module))
            elif isinstance(home := _meaning(program, function.module, owner), Module):
                yield from _named(program, function, name, _members(program, home))
            elif home is None and not isinstance(name, ast.Constant):
                yield _Known(None)
        case ast.Call(func=ast.Name(id="eval"), args=[name, *_]):
            entries = _members(program, function.module)
            found = [k for k in _named(program, function, name, entries) if k.named]
            yield from found or [_Known(None)]
        case ast.IfExp(body=one, orelse=other) | ast.BoolOp(values=[one, other]):
            yield from _arm(program, function, one, depth)
            yield from _arm(program, function, other, depth)
        case ast.Call() if (named := _found_by_name(program, function, node)) is not None:
            yield from (_Known(c, True) for c in named_by(program, function, named))
        case ast.Subscript(
            value=ast.Subscript(value=table, slice=name),
            slice=ast.Constant(value=int() | str() as place),
        ):  # DROID-SLAM 2dfd39f droid_slam/data_readers/factory.py:20: `{"tartan": (TartanAir,)}`
            # CLIP4Clip 508ffa3 main_task_retrieval.py:527: `DATALOADER_DICT[args.datatype]["train"](args, tokenizer)`
            yield from _named(program, function, name, _entries(program, function, table, place))
        case (
            ast.Call(func=ast.Attribute(attr="get", value=table), args=[name, *_])
            | ast.Subscript(value=table, slice=name)
        ):
            yield from _named(program, function, name, _entries(program, function, table))
        case ast.Call(func=called):
            meaning = _meaning(program, function.module, called)
            if isinstance(meaning, Function):
                for value in _returned(meaning):
                    yield from _callables(program, meaning, value, depth - 1)
        case ast.Name(id=name) if name in assignments(function):
            for value in assignments(function)[name]:
                yield from _callables(program, function, value, depth - 1)
        case ast.Name() | ast.Attribute() if depth < _DEPTH:
            meaning = _meaning(program, function.module, node)
            if isinstance(meaning, (Class, Function)):
                yield _Known(meaning)


def _arm(program: Program, function: Function, node: ast.expr, depth: int) -> Iterator[_Known]:
    """One of two that a condition chooses from: also where it is not known what that one is."""
    if isinstance(node, ast.Constant):  # `validate if args.test else None`: nobody calls None
        return
    known = tuple(_callables(program, function, node, min(depth, _DEPTH - 1)))
    yield from known or (_Known(None),)


def _built(program: Program, function: Function, call: ast.Call) -> Iterator[_Known]:
    """What a registry makes: `MODELS.build(config)`."""
    match call.func:
        case ast.Attribute(attr=attr, value=registry) if attr in BUILDS:
            for candidate in _entries(program, function, registry).values():
                yield _Known(candidate)


def _meaning(program: Program, module: Module, node: ast.AST) -> Definition | None:
    return program.resolve_dotted(module, dotted_name(node))


def _returned(function: Function) -> Iterator[ast.expr]:
    return (n.value for n in own_nodes(function, ast.Return) if n.value)


def _found_by_name(program: Program, function: Function, node: ast.expr) -> ast.expr | None:
    """The name, which stands in no code, of what an expression is, or of the module that holds it; None for another."""
    match node:
        case ast.Call(func=called, args=[name, *_]) if not isinstance(name, ast.Constant):
            return name if _meaning(program, function.module, called) in _IMPORTS_BY_NAME else None
        case ast.Name(id=variable):
            found = (
                _found_by_name(program, function, value)
                for value in assignments(function).get(variable, ())
                if isinstance(value, ast.Call)
            )
            return next((name for name in found if name is not None), None)
    return None


def _named(
    program: Program, function: Function, name: ast.expr, entries: Entries
) -> Iterator[_Known]:
    """The entries under a name; of a name that is not known those that are its default, and all others."""
    if not entries:
        return
    names = {each.lower() for each in _texts(program, function, name, _DEPTH)}
    for key, candidate in entries.items():
        yield _Known(candidate, key.lower() in names)


def _texts(program: Program, function: Function, name: ast.expr, depth: int) -> Iterator[str]:
    """What a name is, as far as it is written down: a constant, one of a loop over constants, a default."""
    if not depth:
        return
    match name:
        case ast.Constant(value=str(text)):
            yield text
        case (
            ast.Call(func=ast.Attribute(attr="get"), args=[_, ast.expr() as fallback])
            | ast.Call(func=ast.Name(id="getattr"), args=[_, _, ast.expr() as fallback])
        ):
            yield from _texts(program, function, fallback, depth - 1)
        case ast.Call(func=ast.Attribute(value=inner)):  # `name.lower()`
            yield from _texts(program, function, inner, depth)
        case ast.Name(id=local) if local in assignments(function):
            for value in assignments(function)[local]:
                parts = value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]
                for part in parts:
                    yield from _texts(program, function, part, depth - 1)
        case ast.Name(id=parameter) if parameter in function.parameters:
            default = default_of(function, parameter)
            if default is not None:
                yield from _texts(program, function, default, depth - 1)
            for user, call in callers_by_name(program, function):
                argument = argument_of(call, function, parameter)
                if argument is not None:
                    yield from _texts(program, user, argument, depth - 1)
        case ast.Attribute(attr=option) | ast.Subscript(slice=ast.Constant(value=str(option))):
            yield from option_defaults(program, option)


@remembered
def options(program: Program) -> frozenset[str]:
    """The names of the command line's options that no code sets anew: all ranks are started with the same."""
    modules = program.modules.values()
    declared = {option.name for module in modules for option in options_of(module)}
    changed = {
        node.attr
        for module in modules
        for node in walk(module.source.tree, ast.Attribute)
        if isinstance(node.ctx, ast.Store)
    }
    return frozenset(declared - changed)


@remembered
def option_defaults(program: Program, name: str) -> tuple[str, ...]:
    """The texts that an option or field of a name is where nobody says otherwise."""
    first = name.partition("_")[0]  # `--main-port` is `main_port`
    return tuple(
        text
        for module in program.modules.values()
        if first in module.source.text
        for text in _defaults_in(module).get(name, ())
    )


@remembered
def _defaults_in(module: Module) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in default_values(module):
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            found.setdefault(name, []).append(value.value)
    return found


def default_values(module: Module) -> Iterator[tuple[str, ast.expr | None]]:
    """The options and fields that a file declares, each with its default."""
    yield from ((option.name, option.default) for option in options_of(module))
    for node in walk(module.source.tree, ast.AnnAssign):
        match node:
            case ast.AnnAssign(
                target=ast.Name(id=name), value=ast.Call(func=func, keywords=keywords)
            ) if last_name(func) == "field":
                yield name, next((k.value for k in keywords if k.arg == "default"), None)
            case ast.AnnAssign(target=ast.Name(id=name), value=value):
                yield name, value


# Where the candidates are kept


@remembered
def _members(program: Program, module: Module) -> Entries:
    """The functions and classes that a module has, its own and what it imports."""
    names = [*module.functions, *module.classes, *module.imports]
    for star in module.star_imports:
        other = program.modules.get(star)
        names += [*other.functions, *other.classes] if other is not None else []
    found = {name: program.member(module, name) for name in names if name[0] != "_"}
    return {
        name: meaning if isinstance(meaning, (Class, Function)) else None
        for name, meaning in found.items()
        if not _is_module(meaning)
    }


def _is_module(meaning: Definition | None) -> bool:
    """Whether a name means a module: of the project, or one that is imported as a whole."""
    return isinstance(meaning, Module) or (isinstance(meaning, str) and "." not in meaning)


def _entries(
    program: Program, function: Function, table: ast.expr, place: Place | None = None
) -> Entries:
    """What a table or a registry holds, by name; of a table of tuples what is at a place in each."""
    match table:
        case ast.Dict(keys=keys, values=values):
            return _of_literal(program, function.module, keys, values, place)
        case ast.Call(func=ast.Name(id="globals"), args=[]):
            return _members(program, function.module)
        case ast.Attribute(attr="__dict__", value=owner):
            home = _meaning(program, function.module, owner)
            return _members(program, home) if isinstance(home, Module) else {}
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=attr) if function.cls:
            own = function.cls.attributes.get(attr)
            return _entries(program, function, own, place) if isinstance(own, ast.Dict) else {}
        case ast.Name(id=name) if name in assignments(function):
            found = [v for v in assignments(function)[name] if isinstance(v, ast.Dict)]
            return {k: c for v in found for k, c in _entries(program, function, v, place).items()}
    variable = _variable(program, function.module, table)
    return _of_variable(program, *variable, place) if variable is not None else {}


def _of_literal(
    program: Program,
    module: Module,
    keys: list[ast.expr | None],
    values: list[ast.expr],
    place: Place | None = None,
) -> Entries:
    found: Entries = {}
    for key, entry in zip(keys, values, strict=True):
        value = _part(entry, place)
        if isinstance(value, ast.Constant) and value.value is None:
            continue  # nobody calls None
        meaning = _meaning(program, module, value)
        written = key.value if isinstance(key, ast.Constant) else None
        name = written if isinstance(written, str) else last_name(value)
        found[name] = meaning if isinstance(meaning, (Class, Function)) else None
    return found


def _part(entry: ast.expr, place: Place | None) -> ast.expr:
    """What is at a place of an entry that is a tuple or a table."""
    match entry:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) if place is not None:
            inside = isinstance(place, int) and -len(parts) <= place < len(parts)
            return parts[place] if isinstance(place, int) and inside else entry
        case ast.Dict(keys=keys, values=values) if isinstance(place, str):
            held = zip(keys, values, strict=True)
            return next(
                (v for k, v in held if isinstance(k, ast.Constant) and k.value == place), entry
            )
    return entry


def _variable(program: Program, module: Module, node: ast.expr) -> Variable | None:
    """Where a table has its name: in the file itself, or in the one that it is imported from."""
    path = dotted_name(node)
    owner, _, name = path.rpartition(".")
    if owner:
        home = _meaning(program, module, node.value) if isinstance(node, ast.Attribute) else None
        return (home, name) if isinstance(home, Module) and name in home.assigned else None
    for _ in range(_DEPTH):
        if name in module.assigned:
            return module, name
        origin, _, imported = module.imports.get(name, "").rpartition(".")
        other = program.modules.get(origin)
        if other is None:
            return None
        module, name = other, imported
    return None


@remembered
def _of_variable(
    program: Program, module: Module, name: str, place: Place | None = None
) -> Entries:
    found: Entries = dict(_registered(program).get((module, name), {}))
    if found:
        found[_OTHERS] = None
    stored = dict(_stored(module, name))
    for value in assignments(module.body).get(name, ()):
        if value in stored:
            found.update(_of_literal(program, module, [stored[value]], [value], place))
        elif isinstance(value, ast.Dict):
            found.update(_of_literal(program, module, value.keys, value.values, place))
        else:  # `TABLE["name"] = Class`
            found[_OTHERS] = None
    return found


def _stored(module: Module, name: str) -> Iterator[tuple[ast.expr, ast.Constant]]:
    """What a file puts into a table of its own by a written key: `TABLE["name"] = {"train": make}`, each with the key."""
    for node in own_nodes(module.body, ast.Assign):
        match node:
            case ast.Assign(
                targets=[ast.Subscript(value=ast.Name(id=table), slice=ast.Constant() as key)],
                value=value,
            ) if table == name:
                yield value, key


@remembered
def _registered(program: Program) -> dict[Variable, Entries]:
    """What decorators put into registries: `@MODELS.register("name")`, `@register_model` of the project."""
    found: dict[Variable, Entries] = {}
    for module in program.modules.values():
        defined: list[Candidate] = [*module.classes.values(), *module.functions.values()]
        for each in defined:
            decorators = each.node.decorator_list if isinstance(each, Class) else each.decorators
            for decorator in decorators:
                for registry in _registries(program, module, decorator):
                    found.setdefault(registry, {})[_key(decorator, each.name)] = each
    return found


def _registries(program: Program, module: Module, decorator: ast.expr) -> Iterator[Variable]:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    if "register" not in last_name(called):
        return
    meaning = _meaning(program, module, called)
    if isinstance(meaning, Function):
        yield from _filled(program, meaning)
    elif isinstance(called, ast.Attribute):
        registry = _variable(program, module, called.value)
        if registry is not None:
            yield registry


@remembered
def _filled(program: Program, function: Function) -> tuple[Variable, ...]:
    """The tables at the top of a file that a function puts something into."""
    homes = [
        _variable(program, function.module, node.value)
        for node in walk(function.node, ast.Subscript)
        if isinstance(node.ctx, ast.Store)
    ]
    return tuple(home for home in homes if home is not None)


def registries_of(program: Program, cls: Class) -> Iterator[Variable]:
    """The registries that a class is put into by its decorators."""
    for decorator in cls.node.decorator_list:
        yield from _registries(program, cls.module, decorator)


def tables_of(program: Program, cls: Class) -> Iterator[Variable]:
    """The tables at the top of files that hold a class."""
    for module in program.modules.values():
        if cls.name not in module.source.text:
            continue
        for statement in module.source.tree.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict(values=values)):
                    if any(
                        last_name(value) == cls.name
                        and not isinstance(value, ast.Call)
                        and _meaning(program, module, value) is cls
                        for value in values
                    ):
                        yield module, name


@remembered
def takers(program: Program, registry: Variable) -> tuple[tuple[Function, ast.expr], ...]:
    """The places in functions that name a registry to take something out of it, or to hand it on."""
    name = registry[1]
    return tuple(
        (function, node)
        for module in program.modules.values()
        if name in module.source.text
        for function in module.all_functions
        if not function.is_module_body and registry not in _filled(program, function)
        for node in own_nodes(function, ast.Name, ast.Attribute)
        if last_name(node) == name and _variable(program, module, node) == registry
    )


def _key(decorator: ast.expr, name: str) -> str:
    """The name under which a decorator registers something: its text, else the name of what is decorated."""
    given = (
        [*decorator.args, *(k.value for k in decorator.keywords)]
        if isinstance(decorator, ast.Call)
        else []
    )
    texts = [n.value for n in given if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return texts[0] if texts else name
