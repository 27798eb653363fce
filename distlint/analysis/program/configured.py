"""What the configurations beside the code name, by the keys that lead to a section: `instantiate(cfg.model)`.

Which file a program loads is not known: what all of them name under a key is what the program makes of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from distlint.analysis.program.definitions import Class, Function, Module, dotted_name
from distlint.analysis.program.handed import argument_of
from distlint.analysis.program.memory import all_remembered, remembered
from distlint.analysis.program.program import Program
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.knowledge import conventions
from distlint.nodes import last_name, walk

Candidate = Class | Function
Named = tuple[Candidate | None, ...]
"""What configurations name under one key; None among it for something of a library."""
Keys = tuple[str, ...]

_DEPTH: Final = 4
_NAMES_CLASS: Final = conventions.CLASS_KEYS | conventions.REGISTRY_KEYS
"""The keys of a section under which the class stands that it is of."""
_SAME: Final = frozenset(
    {"deepcopy", "copy", "dict", "to_container", "to_object", "create", "OmegaConf", "resolve"}
)
"""Functions and methods that give the section back that they get, or what is in it."""
_TOP: Final = "."
"""In front of the folder of a configuration that names a class at its top (`Source.chosen`)."""


@remembered
def named_at(program: Program, module: Module, keys: Keys) -> Named | None:
    """What configurations have a file make of the section under some keys; None where none has such a section.

    The more keys agree, from the last one on, the better.
    """
    names = _names_at(module, keys)
    meanings = dict.fromkeys(meaning_of(program, name) for name in names if name)
    own = tuple(meaning for meaning in meanings if meaning is not None)
    return (*own, *([None] if "" in names else [])) if names else None


def module_named(program: Program, function: Function, name: ast.expr) -> Module | None:
    """The one file that configurations name for what a function imports by its name; None where they name several.

    doppelgangers b372942 train_multi_gpu.py:106: `importlib.import_module(cfg.trainer.type).Trainer(cfg, args)`.
    """
    match name:
        case (
            ast.Attribute(value=section, attr=key)
            | ast.Subscript(value=section, slice=ast.Constant(value=str(key)))
        ) if key in _NAMES_CLASS:
            names = _names_at(function.module, keys_of(function, section))
            return program.modules.get(names[0]) if len(names) == 1 else None
    return None


def _names_at(module: Module, keys: Keys) -> tuple[str, ...]:
    """The names in the section under some keys: "" for one of a library."""
    known = _sections(module).get(keys[-1], ()) if keys else ()
    shared = [(_shared(path, keys), name) for path, name in known]
    most = max((count for count, _ in shared), default=0)
    return tuple(dict.fromkeys(name for count, name in shared if count == most)) if most else ()


def _shared(path: Keys, keys: Keys) -> int:
    """How many keys are the same, from the last one on."""
    count = 0
    for one, other in zip(reversed(path), reversed(keys), strict=False):
        if one != other:
            break
        count += 1
    return count


@remembered
def _sections(module: Module) -> dict[str, tuple[tuple[Keys, str], ...]]:
    """The sections that name a class, by their last key."""
    found: dict[str, list[tuple[Keys, str]]] = {}
    for written, name in module.source.chosen:
        keys = tuple(written.removeprefix(_TOP).split("."))
        found.setdefault(keys[-1], []).append((keys, name))
    return {key: tuple(sections) for key, sections in found.items()}


@remembered
def at_top(program: Program, module: Module, folder: str) -> tuple[Candidate, ...]:
    """What configurations name at their top, in folders of a name; in all where that is empty."""
    names = dict.fromkeys(
        name
        for keys, name in module.source.chosen
        if name and (keys == _TOP + folder if folder else keys.startswith(_TOP))
    )
    meanings = dict.fromkeys(meaning_of(program, name) for name in names)
    return tuple(m for m in meanings if m is not None)


def meaning_of(program: Program, name: str) -> Candidate | None:
    """What a configuration means by a name: with dots where it stands, else the one class of that name."""
    if "." in name:
        meaning = program.lookup(name)
        return meaning if isinstance(meaning, (Class, Function)) else None
    return _class_named(program).get(name)


@remembered
def _class_named(program: Program) -> dict[str, Class | None]:
    """The classes at the top of files, by their names; None for several of one name."""
    found: dict[str, Class | None] = {}
    for module in program.modules.values():
        for name, cls in module.classes.items():
            found[name] = None if name in found else cls
    return found


# What a call makes an object of


@remembered
def made_by(
    program: Program, function: Function, call: ast.Call, callee: Function | None
) -> Named | None:
    """What configurations have a call make that is given a section; None where they do not say, or it makes nothing.

    `callee` is the function of the program that is called, if one is.
    """
    if not makers(program):
        return None
    section, home = _section(program, function, call, callee)
    keys = keys_of(function, section) if section is not None else ()
    return named_at(program, home, keys) if keys else None


def named_by(program: Program, function: Function, name: ast.expr) -> tuple[Candidate, ...]:
    """What a name may mean that a function reads out of a section: `cfg.model._target_`; of any section, all.

    open-pi-zero c3df7fb scripts/run.py:59: `hydra.utils.get_class(cfg._target_)`, of the whole configuration, which
    `@hydra.main(config_path=…)` of the file takes out of one folder.
    """
    match name:
        case (
            ast.Attribute(value=section, attr=key)
            | ast.Subscript(value=section, slice=ast.Constant(value=str(key)))
        ) if key in _NAMES_CLASS:
            keys = keys_of(function, section)
            found: Named | None = named_at(program, function.module, keys) if keys else None
            if found is None and isinstance(section, ast.Name):
                found = at_top(program, function.module, _folder_of_hydra(function.module)) or None
            if found is not None:
                return own_of(found)
    return all_of(program, function.module)


def own_of(named: Named) -> tuple[Candidate, ...]:
    """What is of the program."""
    return tuple(each for each in named if each is not None)


@remembered
def _folder_of_hydra(module: Module) -> str:
    """The folder out of which hydra takes the configuration of a script: `@hydra.main(config_path="conf/train")`."""
    for function in module.all_functions:
        for decorator in function.decorators:
            match decorator:
                case ast.Call(func=called, keywords=keywords) if last_name(called) == "main":
                    for keyword in keywords:
                        if keyword.arg == "config_path":
                            texts = [n.value for n in walk(keyword.value, ast.Constant)]
                            paths = [text for text in texts if isinstance(text, str) and text]
                            return paths[-1].rpartition("/")[2] if paths else ""
    return ""


@remembered
def making(program: Program) -> tuple[tuple[Function, ast.Call, tuple[Candidate, ...]], ...]:
    """The calls that make what configurations name, each with that: of a section that is not known, all."""
    modules = program.modules.values() if makers(program) else ()
    return tuple(made for module in modules for made in _making_in(program, module))


@all_remembered
def _making_in(
    program: Program, module: Module
) -> Iterator[tuple[Function, ast.Call, tuple[Candidate, ...]]]:
    for function in module.all_functions:
        for call in own_nodes(function, ast.Call):
            called = _called(program, function, call)
            callee = called if isinstance(called, Function) else None
            section, home = _section(program, function, call, callee)
            if section is None or _hands_on(program, function, section):
                continue
            made = made_by(program, function, call, callee)
            own = all_of(program, home) if made is None else own_of(made)
            yield function, call, own


@remembered
def made_at(program: Program) -> dict[ast.AST, tuple[Candidate, ...]]:
    """What configurations have each call make, by the calls."""
    return {call: made for _, call, made in making(program)}


def _hands_on(program: Program, function: Function, section: ast.expr) -> bool:
    """Whether a function makes what it is told to: who calls it says of which section."""
    return isinstance(section, ast.Name) and section_of(program, function)[0] == section.id


@remembered
def all_of(program: Program, module: Module) -> tuple[Candidate, ...]:
    """All that configurations have a file make."""
    meanings = dict.fromkeys(meaning_of(program, name) for _, name in module.source.chosen if name)
    return tuple(meaning for meaning in meanings if meaning is not None)


def _section(
    program: Program, function: Function, call: ast.Call, callee: Function | None
) -> tuple[ast.expr | None, Module]:
    """The section that a call makes an object of, and the file whose classes that may be."""
    if callee is not None:
        parameter, home = section_of(program, callee)
        return (argument_of(call, callee, parameter) if parameter else None), home
    meaning = program.resolve_dotted(function.module, dotted_name(call.func))
    if isinstance(meaning, str) and meaning in conventions.FROM_CONFIGURATION and call.args:
        return call.args[0], function.module
    return None, function.module


@remembered
def section_of(program: Program, function: Function, depth: int = _DEPTH) -> tuple[str, Module]:
    """The parameter of whose section a function makes an object, and the file that finds the class; "" for none.

    ldm/util.py of stable-diffusion: `return get_obj_from_str(config["target"])(**config.get("params", dict()))`.
    """
    nothing = "", function.module
    if not depth or function.is_module_body or function.name == "__init__":
        return nothing
    for node in own_nodes(function):
        if not isinstance(node, ast.Return) or not isinstance(node.value, ast.Call):
            continue
        call = node.value
        meaning = _called(program, function, call)
        if meaning is None and _is_found(function, call.func):
            read = _read_for_class(program, function)
            if read:
                return read, function.module
        elif isinstance(meaning, Function) and meaning is not function:
            inner, home = section_of(program, meaning, depth - 1)
            given = argument_of(call, meaning, inner) if inner else None
            if isinstance(given, ast.Name) and given.id in function.parameters:
                return given.id, home
    return nothing


def _called(program: Program, function: Function, call: ast.Call) -> object:
    """What a call calls: a function, or a method of a class that is named, or of the own one."""
    match call.func:
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name) if function.cls:
            return program.find_method(function.cls, name)
        case ast.Attribute(value=owner, attr=name):
            cls = program.resolve_dotted(function.module, dotted_name(owner))
            if isinstance(cls, Class):
                return program.find_method(cls, name)
    return program.resolve_dotted(function.module, dotted_name(call.func))


def _is_found(function: Function, called: ast.expr) -> bool:
    """Whether what is called was looked up: a call's result, or a variable that holds one."""
    if isinstance(called, ast.Name):
        return any(
            isinstance(v, ast.Call | ast.Subscript)
            for v in assignments(function).get(called.id, ())
        )
    return isinstance(called, ast.Call | ast.Subscript)


@remembered
def _read_for_class(program: Program, function: Function, depth: int = _DEPTH) -> str:
    """The parameter in which a function looks for the name of a class, itself or by one that it calls; "" for none."""
    for node in own_nodes(function, ast.Subscript, ast.Attribute, ast.Call):
        match node:
            case (
                ast.Subscript(value=section, slice=ast.Constant(value=str(key)))
                | ast.Attribute(value=section, attr=key)
                | ast.Call(
                    func=ast.Attribute(value=section, attr="get" | "pop"),
                    args=[ast.Constant(value=str(key)), *_],
                )
            ) if key in _NAMES_CLASS:
                parameter = _parameter(function, section, _DEPTH)
                if parameter:
                    return parameter
            case ast.Call() if depth:
                meaning = _called(program, function, node)
                if isinstance(meaning, Function) and meaning is not function:
                    inner = _read_for_class(program, meaning, depth - 1)
                    given = argument_of(node, meaning, inner) if inner else None
                    parameter = _parameter(function, given, _DEPTH) if given is not None else ""
                    if parameter:
                        return parameter
    return ""


def _parameter(function: Function, section: ast.expr, depth: int) -> str:
    """The parameter that an expression is, or is a copy of; "" for none."""
    match section:
        case ast.Name(id=name) if name in function.parameters and name not in ("self", "cls"):
            return name
        case ast.Name(id=name) if depth:
            for value in assignments(function).get(name, ()):
                if found := _parameter(function, value, depth - 1):
                    return found
        case ast.Call(func=ast.Attribute(value=inner, attr=attr), args=[]) if attr in _SAME:
            return _parameter(function, inner, depth)
        case ast.Call(func=called, args=[inner, *_]) if last_name(called) in _SAME:
            return _parameter(function, inner, depth)
    return ""


def keys_of(function: Function, section: ast.expr, depth: int = _DEPTH) -> Keys:
    """The keys that lead to a section, as far as an expression has them; the first name is that of a variable."""
    if not depth:
        return ()
    match section:
        case (
            ast.Attribute(value=around, attr=key)
            | ast.Subscript(value=around, slice=ast.Constant(value=str(key)))
            | ast.Call(
                func=ast.Attribute(value=around, attr="get" | "pop"),
                args=[ast.Constant(value=str(key)), *_],
            )
            | ast.Call(func=ast.Name(id="getattr"), args=[around, ast.Constant(value=str(key)), *_])
        ):
            inner = () if isinstance(around, ast.Name) else keys_of(function, around, depth)
            return (*inner, key)
        case ast.Call(func=ast.Attribute(value=inner, attr=attr), args=[]) if attr in _SAME:
            return keys_of(function, inner, depth)
        case ast.Call(func=called, args=[inner, *_]) if last_name(called) in _SAME:
            return keys_of(function, inner, depth)
        case ast.Name(id=name) if name in function.parameters:
            return (name,)
        case ast.Name(id=name):
            found = {keys_of(function, v, depth - 1) for v in assignments(function).get(name, ())}
            return found.pop() if len(found) == 1 else ()
    return ()


@remembered
def makers(program: Program) -> tuple[Module, ...]:
    """The files that find classes by names which configurations hold."""
    return tuple(module for module in program.modules.values() if module.source.chosen)


# What stands in an attribute that is set by its name


@remembered
def set_by_name(program: Program, cls: Class, attr: str) -> Class | None:
    """The class of what a configuration puts into an attribute that a class declares and no method assigns.

    MhLiao/DB 65ca77a experiment.py: `logger = State()`, and concern/config.py:116 `setattr(self, state_name, …)` for
    each state with what stands under its name.
    """
    owners = program.mro(cls)[0]
    declared = any(isinstance(each.attributes.get(attr), ast.Call) for each in owners)
    if (
        not declared
        or any(attr in each.self_assigned for each in owners)
        or not any(_sets_by_name(method) for each in owners for method in each.methods.values())
    ):
        return None
    found = {name for home in makers(program) for _, name in _sections(home).get(attr, ())}
    made = meaning_of(program, found.pop()) if len(found) == 1 else None
    return made if isinstance(made, Class) else None


@remembered
def _sets_by_name(method: Function) -> bool:
    """Whether a method sets attributes of its object whose names are not written there."""
    for node in own_nodes(method, ast.Call):
        match node:
            case ast.Call(func=ast.Name(id="setattr"), args=[ast.Name(id="self"), name, _]):
                if not isinstance(name, ast.Constant):
                    return True
    return False
