"""Which methods run on an object of a class: those of a base that is overridden only where something calls them.

A constructor that does not call `super().__init__()` leaves the one of the base undone, and with it what that alone
calls.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, dotted_name
from distlint.analysis.program.handed import namings
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function, Module
    from distlint.analysis.program.program import Program

_PRIVATE: Final = pattern(r"_\w*")
"""What holds every name that starts with an underscore."""
_OF_NO_CALLS: Final = frozenset({"abc.ABC", "object", "typing.Generic"})
"""Base classes that call no method of an object themselves."""


def may_run(program: Program, cls: Class, method: Function) -> bool:
    """Whether a method of a class, or of a base, may run on an object whose class is `cls` itself.

    A setter is run by an assignment, and a name with two underscores means the one of its own class.
    """
    owner = method.cls
    if owner is None or owner is cls or owner.methods.get(method.name) is not method:
        return True
    if method.name.startswith("__") and not method.name.endswith("__"):
        return True
    return method in running(program, cls)


def run_together(program: Program, method: Function) -> frozenset[Function]:
    """The methods that may run on an object on which a method does; none where no object runs it."""
    return frozenset(each for cls in objects_of(program, method) for each in running(program, cls))


@remembered
def objects_of(program: Program, method: Function) -> tuple[Class, ...]:
    """The classes of the objects on which a method may run: a base is none of them that only others derive from.

    Amphion d3de90f models/vc/Noro/noro_base_trainer.py:73: the one class that derives from it has a constructor of its
    own, which does not call the base's.
    """
    if method.cls is None:
        return ()
    below = program.subclasses(method.cls)
    made = [cls for cls in (method.cls, *below) if cls in below or not below or _made(program, cls)]
    return tuple(cls for cls in made if may_run(program, cls, method))


def _made(program: Program, cls: Class) -> bool:
    """Whether code names a class for another reason than to derive from it or to ask for it."""
    if cls.node.decorator_list:
        return True
    for module in program.modules.values():
        if cls.name not in module.source.text:
            continue
        if any(program.lookup(name) is cls for name in module.source.named):
            return True
        others = {id(node) for root in _not_making(module.source.tree) for node in walk(root)}
        for node in walk(module.source.tree, ast.Name, ast.Attribute, ast.Constant):
            match node:
                case ast.Name(ctx=ast.Load()) | ast.Attribute(ctx=ast.Load()):
                    named = last_name(node) == cls.name and id(node) not in others
                    if named and program.resolve_dotted(module, dotted_name(node)) is cls:
                        return True
                case ast.Constant(value=str(text)) if text.rpartition(".")[2] == cls.name:
                    return True
    return False


def _not_making(tree: ast.Module) -> Iterator[ast.expr]:
    """The places of a file where a class that is named is not made."""
    for node in walk(tree, ast.ClassDef, ast.Call, ast.arg, ast.AnnAssign, ast.FunctionDef):
        match node:
            case ast.ClassDef(bases=bases):
                yield from bases
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass" | "super"), args=args):
                yield from args
            case ast.Call(func=ast.Attribute(value=base, attr=attr)) if attr.startswith("__"):
                yield base
            case ast.arg(annotation=ast.expr() as annotation):
                yield annotation
            case ast.AnnAssign(annotation=annotation):
                yield annotation
            case ast.FunctionDef(returns=ast.expr() as returned):
                yield returned


@remembered
def running(program: Program, cls: Class) -> frozenset[Function]:
    """The methods that run: what anybody may call, and what these call.

    Amphion d3de90f models/tts/naturalspeech2/ns2_trainer.py: the constructor calls no other, and the base's
    `_accelerator_prepare()`, which wraps, is called by the base's constructor alone.
    """
    effective = _effective(program, cls)
    work = [m for m in effective.values() if not _is_private(m) or m.cls is cls]
    work += [m for m in effective.values() if m not in work and _named_outside(program, cls, m)]
    return _led_to(program, cls, effective, work)


@remembered
def reached(program: Program, cls: Class) -> frozenset[Function]:
    """The methods that run where one that the program calls on `self` alone runs only as it is called there.

    align-anything 3f9decc align_anything/trainers/base/supervised_trainer.py: of `init_deepspeed_engines()` and
    `init_accelerate_engines()` each trainer calls one.
    """
    effective = _effective(program, cls)
    work = [m for m in effective.values() if not called_on_self_alone(program, m)]
    return _led_to(program, cls, effective, work)


@remembered
def reaching(program: Program, method: Function) -> frozenset[Class]:
    """The classes of the objects on which a method is reached."""
    return frozenset(cls for cls in objects_of(program, method) if method in reached(program, cls))


@remembered
def used(program: Program, cls: Class) -> frozenset[Function] | None:
    """The methods that run on objects of a class, by what is called on the variables which hold them; None where others get these.

    BottleneckIterativeNetwork 718e191 scripts/eval_ntcd_prombt.py:86: `p = NTCDPrombtEval(…)` and `p.test()`, never `train()`.
    """
    named = namings(program, cls.name)
    if not named.calls or named.others or not _OF_NO_CALLS.issuperset(program.mro(cls)[1]):
        return None
    called: set[str] = set()
    for user, call in named.calls:
        name = next((n for n, made in assignments(user).items() if made == [call]), "")
        reads = [
            node
            for node in walk(user.node, ast.Name)
            if node.id == name and isinstance(node.ctx, ast.Load)
        ]
        asked = [node for node in walk(user.node, ast.Attribute) if node.value in reads]
        if not name.isidentifier() or len(asked) < len(reads):
            return None
        called |= {node.attr for node in asked}
    effective = _effective(program, cls)
    work = [m for name, m in effective.items() if name in called or name.startswith("__")]
    found = set(work)
    while work:
        method = work.pop()
        names = _asked_of_self(method)
        if names is None:
            return None
        of_bases = [program.find_method(cls, n, after=method.cls) for n in names if n in effective]
        more = {*of_bases, *(effective.get(name) for name in names)} - found
        fresh = [each for each in more if each is not None]
        found.update(fresh)
        work += fresh
    return frozenset(found)


@remembered
def _asked_of_self(method: Function) -> frozenset[str] | None:
    """What a method asks its own object for; None where others get the object, or what has a name that is made.

    Not where a part of that is asked for: `getattr(self, name).eval()`.
    """
    names: set[str] = set()
    known: set[ast.expr] = set()
    for node in walk(method.node, ast.Attribute):
        match node.value:
            case ast.Name(id="self" | "cls"):
                known.add(node.value)
                names.add(node.attr)
            case ast.Call(func=ast.Name(id="super")):
                names.add(node.attr)
            case ast.Call(func=ast.Name(id="getattr"), args=[ast.Name(id="self") as own, *_]):
                known.add(own)
    reads = (node for node in walk(method.node, ast.Name) if isinstance(node.ctx, ast.Load))
    if any(node.id in ("self", "cls") and node not in known for node in reads):
        return None
    return frozenset(names)


@remembered
def called_on_self_alone(program: Program, method: Function) -> bool:
    """Whether code of the method's family calls it on `self`, and no other code names it, nor a library's base class."""
    name, cls = method.name, method.cls
    if cls is None or method.decorators or name.startswith("__"):
        return False
    inside, outside = _namings(program)
    family = (*program.mro(cls)[0], *program.subclasses(cls))
    return (
        name not in outside
        and not inside.get(name, frozenset()).isdisjoint(family)
        and all(_OF_NO_CALLS.issuperset(program.mro(each)[1]) for each in family)
    )


@remembered
def _namings(program: Program) -> tuple[dict[str, set[Class]], frozenset[str]]:
    """By method, the classes that name it on `self`; the names that code has of any other object, or as a text."""
    inside: dict[str, set[Class]] = {}
    outside: set[str] = set()
    for module in program.modules.values():
        for cls in module.all_classes:
            for node in walk(cls.node, ast.Attribute):
                if _is_own(node.value):
                    inside.setdefault(node.attr, set()).add(cls)
        for read in walk(module.source.tree, ast.Attribute):
            if not _is_own(read.value):
                outside.add(read.attr)
        for text in walk(module.source.tree, ast.Constant):
            if isinstance(text.value, str):
                outside.add(text.value)
    return inside, frozenset(outside)


def _effective(program: Program, cls: Class) -> dict[str, Function]:
    family = program.mro(cls)[0]
    return {name: m for owner in reversed(family) for name, m in owner.methods.items()}


def _led_to(
    program: Program, cls: Class, effective: dict[str, Function], work: list[Function]
) -> frozenset[Function]:
    """Methods, and all that they lead to on an object of the class."""
    found = set(work)
    while work:
        for method in _called_on_self(program, cls, effective, work.pop()):
            if method not in found:
                found.add(method)
                work.append(method)
    return frozenset(found)


def _is_private(method: Function) -> bool:
    return method.name.startswith("_") and not method.name.endswith("__")


def _named_outside(program: Program, cls: Class, method: Function) -> bool:
    """Whether code beside the class and its bases names a method, on an object that is not its own `self`."""
    return not set(program.mro(cls)[0]).issuperset(_owners_that_name(program, method.name))


@remembered
def _owners_that_name(program: Program, name: str) -> frozenset[Class | None]:
    """The classes whose code names a private method on an object that is not their own; None: code of no class."""
    files = _files_with(program).get(name, ())
    return frozenset(owner for module in files for owner in _attributes(module).get(name, ()))


@remembered
def _files_with(program: Program) -> dict[str, list[Module]]:
    """By private method, the files whose text has its name: a thousand methods are not sought in each file."""
    files: dict[str, list[Module]] = {
        method: []
        for module in program.modules.values()
        for cls in module.all_classes
        for method in cls.methods
        if method.startswith("_")
    }
    for module in program.modules.values():
        for name in files.keys() & set(_PRIVATE.findall(module.source.text)):
            files[name].append(module)
    return files


@remembered
def _attributes(module: Module) -> dict[str, set[Class | None]]:
    """The private names that a file reads from objects which are not the method's own; the classes that do."""
    found: dict[str, set[Class | None]] = {}
    for function in module.all_functions:
        for node in own_nodes(function, ast.Attribute):
            if node.attr[0] == "_" and not _is_own(node.value):
                found.setdefault(node.attr, set()).add(_owner(function))
    return found


def _is_own(receiver: ast.expr) -> bool:
    """Whether an object is that of the method: `self`, `super()`."""
    match receiver:
        case ast.Name(id="self" | "cls") | ast.Call(func=ast.Name(id="super")):
            return True
    return False


def _may_be_own(method: Function, receiver: ast.expr) -> bool:
    """Whether an object may be that of the method, or its class; what a function within is handed is another one.

    align-anything 3f9decc align_anything/trainers/janus/dpo_gen.py:65: `getattr(a, field_name)` of two configurations.
    """
    if not isinstance(receiver, ast.Name) or _is_own(receiver):
        return True
    return any(
        any(isinstance(each, ast.Name) and each.id == receiver.id for each in node.targets)
        for node in walk(method.node, ast.Assign)
    )


def _owner(function: Function) -> Class | None:
    return next((each.cls for each in function.outward() if each.cls is not None), None)


@remembered
def _names_of_methods(program: Program, cls: Class) -> frozenset[str]:
    """The names of the methods of a class and of all that it inherits from."""
    family = {owner for each in program.mro(cls)[0] for owner in program.mro(each)[0]}
    return frozenset(name for owner in family for name in owner.methods)


@dataclass(frozen=True, slots=True)
class _Naming:
    """What a method names of objects that may be its own."""

    anything: bool
    """Whether `getattr()` reads a name that is not written there."""
    texts: frozenset[str]
    of_bases: tuple[tuple[ast.expr | None, str], ...]
    """What it reads of `super(…)`, with the class that this is given."""
    attributes: dict[str, tuple[ast.expr, ...]]
    """The other attributes that it reads, with what it reads them of."""


@remembered
def _naming(method: Function) -> _Naming:
    anything = False
    texts: set[str] = set()
    of_bases: list[tuple[ast.expr | None, str]] = []
    attributes: dict[str, list[ast.expr]] = {}
    for node in walk(method.node, ast.Call, ast.Constant, ast.Attribute):
        match node:
            case ast.Call(func=ast.Name(id="getattr"), args=[of, name, *_]) if not isinstance(
                name, ast.Constant
            ) and _may_be_own(method, of):
                anything = True
            case ast.Constant(value=str(name)):
                texts.add(name)
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super"), args=given), attr=attr):
                of_bases.append((given[0] if given else None, attr))
            case ast.Attribute(value=base, attr=attr):
                attributes.setdefault(attr, []).append(base)
    read = {attr: tuple(bases) for attr, bases in attributes.items()}
    return _Naming(anything, frozenset(texts), tuple(of_bases), read)


def _called_on_self(
    program: Program, cls: Class, effective: dict[str, Function], method: Function
) -> Iterator[Function]:
    """The methods that a method names: the object's own, and those of its bases that it names as such."""
    naming = _naming(method)
    if naming.anything:
        yield from effective.values()
    for text in naming.texts & effective.keys():
        yield effective[text]
    for given, attr in naming.of_bases:
        after = method.cls
        if given is not None:
            named = program.resolve_dotted(method.module, dotted_name(given))
            after = named if isinstance(named, Class) else after
        found = program.find_method(cls, attr, after=after)
        if found is not None:
            yield found
    family = program.mro(cls)[0]
    methods = _names_of_methods(program, cls)
    names = {each.name for each in family}
    for attr in naming.attributes.keys() & methods:
        for base in naming.attributes[attr]:
            named = (
                program.resolve_dotted(method.module, dotted_name(base))
                if last_name(base) in names
                else None
            )
            if isinstance(named, Class) and named in family:
                found = program.find_method(named, attr)
                if found is not None:
                    yield found
            elif attr in effective:
                yield effective[attr]
