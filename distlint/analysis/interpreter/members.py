"""Names, attributes and subscripts: what a path in the code means on one class of ranks."""

from __future__ import annotations

import ast
from typing import Final

from distlint.analysis.interpreter.frame import Frame
from distlint.analysis.interpreter.ir import FailingRead
from distlint.analysis.interpreter.iteration import (
    MULTIPLE,
    OF_ELEMENTS,
    is_comprehension,
    of_another_length,
    rounded_up,
)
from distlint.analysis.interpreter.ranks import RANK_KINDS
from distlint.analysis.interpreter.values import (
    AGREED,
    CONTAINER,
    HOST_ARRAY,
    UNKNOWN,
    Closure,
    Either,
    OneOf,
    Origin,
    Value,
    Variance,
    Wrap,
    constant,
    join,
    variance_of,
)
from distlint.analysis.program.configured import set_by_name
from distlint.analysis.program.definitions import (
    Class,
    Function,
    Module,
    dotted_name,
    last_name,
)
from distlint.analysis.program.handed import is_put_from_outside, namings
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.places import source_of
from distlint.analysis.program.rank_globals import kind_by_default, rank_globals
from distlint.analysis.program.rank_settings import (
    is_handed_rank,
    is_kept_rank,
    is_rank_setting,
    setting,
    told_rank,
)
from distlint.analysis.program.syntax import assignments, default_of, own_nodes, spawned_index
from distlint.knowledge import conventions, facts, ranks
from distlint.knowledge.failures import BAR, RANK_PART, TENSOR, TENSOR_SIZE
from distlint.knowledge.libraries import canonical_name
from distlint.nodes import walk

SUPER: Final = "builtins.super()"
"""The target of what `super()` gives; its methods are looked up behind the class it stands in."""


def name_value(frame: Frame, name: str, node: ast.AST) -> Value:
    """What a name means here: a local, an enclosing function's, the module's, a builtin."""
    value = frame.variables.values.get(name)
    if value is not None:
        return value
    captured = frame.captured.get(name)
    if captured is not None:
        # What a test said where the function was defined may not hold where it runs.
        return captured.replace(not_none=False) if captured.not_none else captured
    module = frame.module
    if isinstance(node, ast.Name) and not frame.function.is_module_body:
        _note_unbound(frame, node)
    if (
        not frame.function.is_module_body
        or name in module.functions
        or name in module.classes
        or name in module.imports
        or (module.star_imports and name not in module.assigned)
    ):
        found = _variable(frame, module, name, node)
        if found is not None:
            return found
        meaning = frame.summaries.program.member(module, name)
        known = _listed(frame, meaning, node, name) if isinstance(meaning, str) else None
        if known is not None:
            return known
    if facts.is_builtin(name) and name not in module.assigned:
        return Value(("builtin", name), target=f"builtins.{name}")
    conventional = convention(frame, name, node)
    return conventional or Value(("global", module.name, name))


def _variable(frame: Frame, module: Module, name: str, node: ast.AST) -> Value | None:
    """What a name means at the top level of a module; of a variable that its functions fill, what they fill in."""
    kind = rank_globals(module).get(name)
    if kind is not None:
        return frame.rank_value(kind, node, f"`{name}`")
    return frame.summaries.global_value(module, name, frame.summary)


def _note_unbound(frame: Frame, node: ast.Name) -> None:
    """Remember a variable of this function that is read before any path has bound it."""
    if isinstance(node.ctx, ast.Load) and node.id in assignments(frame.function):
        site = FailingRead(node, frame.scope.guards, frame.scope.tries)
        frame.summary.unbound.append(site)


def _listed(frame: Frame, dotted: str, node: ast.AST, text: str) -> Value | None:
    """What the tables say of a variable of a library's module, or the settings of a variable or function."""
    if dotted in conventions.SURE:
        return constant(conventions.SURE[dotted])
    kind = frame.knowledge.attributes.get(dotted)
    if kind is None:
        return None
    value = frame.rank_value(kind, node, f"`{text}`")
    return value.replace(target=dotted) if dotted in frame.knowledge.functions else value


def convention(frame: Frame, name: str, node: ast.AST) -> Value | None:
    """What a name that nothing defines stands for by convention (a parameter `accelerator`)."""
    kind = conventions.NAMED_RANKS.get(name)
    if kind is None and isinstance(node, ast.arg) and name == spawned_index(frame.function):
        kind = "local_rank"
    if kind == "rank" and isinstance(node, ast.arg) and _is_of_matrix(frame.function, name):
        return None
    if kind is not None and not _is_annotated_float(node):
        return frame.rank_value(kind, node, f"`{name}`")
    type_ = facts.named_type(name, frame.module.source.text)
    return Value(("named", frame.module.name, name), type=type_) if type_ else None


@remembered
def _is_of_matrix(function: Function, name: str) -> bool:
    """Whether a parameter `rank` is that of a matrix: by its default, or as the bound of a decomposition.

    FastVideo scripts/lora_extraction/extract_lora.py:324: `rank: int = 32`, which no process has for its own, and in
    line 257 `min(rank, S.numel())` beside `svd()`. A function that knows how many processes there are is not meant: an
    optimizer that decomposes on each rank.
    """
    match default_of(function, name):
        case ast.Constant(value=int(default)) if default > 1:
            return True
    nodes = own_nodes(function)
    return (
        not any("world_size" in parameter for parameter in function.parameters)
        and any(
            isinstance(node, ast.Call) and conventions.DECOMPOSITIONS.search(last_name(node.func))
            for node in nodes
        )
        and any(
            isinstance(bound, ast.Name) and bound.id == name
            for node in nodes
            for bound in _bounds(node)
        )
    )


def _bounds(node: ast.AST) -> list[ast.expr]:
    """What something is cut off at: `min(a, b)`, `x[:, :a]`."""
    match node:
        case ast.Call(func=ast.Name(id="min"), args=args):
            return args
        case ast.Slice(upper=ast.expr() as upper):
            return [upper]
    return []


def _is_annotated_float(node: ast.AST) -> bool:
    """`rank: int | float` is that of a matrix (peft 0.21.2 tuners/lora/conversion.py:133)."""
    annotation = getattr(node, "annotation", None)
    return annotation is not None and "float" in ast.unparse(annotation)


def attribute(frame: Frame, node: ast.Attribute) -> Value:
    """`base.attr`, as the path that the code has stored or read before, else as a member of the base."""
    path = dotted_name(node)
    if path:
        known = frame.variables.values.get(path)
        if known is not None:
            return known
    base = frame.evaluate(node.value)
    kind = _kept_for_all(frame, path, base)
    if kind is not None:
        return frame.rank_value(kind, node, f"`{path}`")
    return attribute_of(frame, base, node)


def _kept_for_all(frame: Frame, path: str, base: Value) -> str | None:
    """What a process is told of itself, and its module keeps in an attribute of one object: `state.rank`."""
    name, _, attr = path.partition(".")
    if isinstance(base.target, Class):  # `Env.rank`
        return rank_globals(base.target.module).get(f"{base.target.name}.{path.rpartition('.')[2]}")
    if not attr or base.type is None or name in frame.function.parameters:
        return None
    return rank_globals(frame.module).get(path)


def _rank_by_default(frame: Frame, base: Value, node: ast.Attribute) -> Value | None:
    """What a field of a class tells of the process by its default, which nothing else of the class sets."""
    cls = frame.summaries.classes.get(base.type) if base.type is not None else None
    owners = frame.summaries.program.mro(cls)[0] if cls is not None else ()
    for number, owner in enumerate(owners, 1):
        if node.attr in owner.attributes:
            kind = kind_by_default(owner.attributes[node.attr])
            if kind is None or any(_is_given(frame, each, node.attr) for each in owners[:number]):
                return None
            return frame.rank_value(kind, node, f"`{dotted_name(node) or node.attr}`")
    return None


def _is_given(frame: Frame, cls: Class, attr: str) -> bool:
    """Whether somebody gives an attribute of a class a value: its methods, who makes an object, or who has one."""
    program = frame.summaries.program
    return (
        attr in cls.self_assigned
        or is_put_from_outside(program, attr)
        or any(
            call.args or any(given.arg in (attr, None) for given in call.keywords)
            for _, call in namings(program, cls.name).calls
        )
    )


def _told_by_setting(frame: Frame, node: ast.Attribute) -> Value | None:
    """The rank, or a test of it, that a setting holds: by how it is asked for, or by what is put into it."""
    program = frame.summaries.program
    if is_rank_setting(node, frame.module) or is_handed_rank(node, program):
        return _rank_setting(frame, node)
    match told_rank(node, program):
        case None:
            return None
        case "rank":
            return _rank_setting(frame, node)
        case kind:
            return frame.rank_value(kind, node, f"`{ast.unparse(node)}`")


def _below(wraps: tuple[Wrap, ...], left: int) -> tuple[Wrap, ...]:
    """The layers that stay where those above are taken off; an engine and what only some paths put on are alternatives.

    SLAM-LLM a68e78f examples/s2s/utils/cosyvoice/utils/train_utils.py:146: one option wraps in DDP, another goes on to
    `deepspeed.initialize`.
    """
    engine = any(wrap.kind == "deepspeed" for wrap in wraps[left:])
    return tuple(wrap for wrap in wraps[:left] if wrap.always or not engine)


def attribute_of(frame: Frame, base: Value, node: ast.Attribute) -> Value:
    """The value of `base.attr`."""
    attr = node.attr
    if attr == "n" and conventions.DRAWN_BY_RANK in base.tags:
        text = f"`{dotted_name(node) or attr}`, which counts on the ranks that draw a bar"
        origin = Origin(node, frame.module, text, BAR)
        return Value(("attr", base.key, attr), UNKNOWN, Variance.RANK_LOCAL, origin)
    if base.const is None:
        frame.summary.none_accesses.append(frame.attribute_site(node, base))
    if base.wraps and not is_comprehension(base):
        frame.summary.attributes.append(frame.attribute_site(node, base))
        left = facts.peel([wrap.kind for wrap in base.wraps], attr)
        if left is not None:
            below = _below(base.wraps, left)
            return base.replace(
                key=("attr", base.key, attr),
                wraps=below,
                tags=base.tags if below else base.tags | {"unwrapped"},
            )
    if attr == "__class__" and (cls := class_of_instance(frame, base)) is not None:
        return cls
    of_object = base.entries is not None and (base.type is not None or base.entries.held)
    if base.entries is not None and of_object and attr in base.entries.named:
        held = base.entries.named[attr]
        if held.variance is Variance.RANK_DEPENDENT:  # another rank, another run
            kinds = {tag[5:] for tag in held.tags if tag.startswith("kind:")} or {"rank"}
            frame.summary.depends_on |= RANK_KINDS & kinds
        return _of_a_batch(base, held)
    match base.target:
        case Module():
            return _variable(frame, base.target, attr, node) or Value(("attr", base.key, attr))
        case Class():
            method = frame.summaries.program.find_method(base.target, attr)
            if method is not None:
                if not method.has_decorator("classmethod"):
                    return Value(("method", id(method)), target=Closure(method, {}))
                receiver = base.replace(type=base.target.full_name)
                return Value(("method", id(method), base.key), target=Closure(method, {}, receiver))
            return frame.summaries.class_attribute(base.target, attr) or Value(
                ("attr", base.key, attr)
            )
        case OneOf() | Either():
            shared = _of_each_class(frame, base, node)
            if shared is not None:
                return shared
        case str() if base.target != SUPER:
            dotted = canonical_name(f"{base.target}.{attr}")
            known = _listed(frame, dotted, node, dotted_name(node) or attr)
            return known or Value(("external", dotted), target=dotted)
    kind = frame.knowledge.any_attributes.get(attr) or facts.argument_attribute(
        dotted_name(node.value), attr
    )
    if base.type is not None:
        found = _rank_by_default(frame, base, node) or _member_of_instance(frame, base, node)
        plain = found is None or (found.variance is Variance.UNIFORM and found.truthiness() is None)
        if found is not None and not (plain and kind == "sharded_mode"):
            return found
    if kind is not None and not _is_lookalike(frame, base, attr):
        return frame.rank_value(kind, node, f"`{dotted_name(node) or attr}`")
    if (told := _told_by_setting(frame, node)) is not None:
        return told
    if (
        base.variance is Variance.RANK_LOCAL
        and attr in conventions.UNIFORM_ATTRIBUTES
        and "ragged" not in base.tags
    ):
        return Value(("attr", base.key, attr))
    type_ = (
        facts.named_type(attr, frame.module.source.text)
        if isinstance(node.value, ast.Name)
        else None
    )
    return Value(
        ("attr", base.key, attr),
        UNKNOWN,
        base.variance,
        base.origin,
        type=type_,
        receiver=base,
        tags=base.tags - {"local-length"},
    )


def _rank_setting(frame: Frame, node: ast.Attribute | ast.Subscript) -> Value:
    """The rank that a setting holds: of all ranks or of those of one machine, which tells rank 0 from the others alike."""
    rank = frame.rank_value("rank", node, f"`{ast.unparse(node)}`")
    return rank.replace(tags=frozenset({"rank"}))


def _kept_rank(frame: Frame, node: ast.Subscript) -> Value | None:
    """The rank among the settings that a dict holds: `self.config["rank"]`, `args["local_rank"]`."""
    if is_rank_setting(node, frame.module) or is_kept_rank(node, frame.summaries.program):
        return _rank_setting(frame, node)
    read = setting(node)
    kind = facts.argument_attribute(*read) if read is not None else None
    if kind != "local_rank" or read is None or read[1] != "local_rank":
        return None  # `config["distributed"]`, `cfg["gpu"]` may hold a section of the configuration
    return frame.rank_value(kind, node, f"`{ast.unparse(node)}`")


def _common_method(
    frame: Frame, base: Value, classes: tuple[Class, ...], attr: str
) -> Value | None:
    """The method that all classes inherit of which an object may be: it runs whichever is chosen.

    contrastors 613ddfd src/contrastors/train.py:96: `TRAINER_REGISTRY[model_type](config, dtype).train()`.
    """
    first, *others = (frame.summaries.program.find_method(cls, attr) for cls in classes)
    if first is None or first.cls is None or any(other is not first for other in others):
        return None
    if first.decorators:
        return None
    receiver = base.replace(type=classes[0].full_name, target=None)  # a run that may be
    return Value(("method", id(first), base.key), target=Closure(first, {}, receiver))


def _of_each_class(frame: Frame, base: Value, node: ast.Attribute) -> Value | None:
    """What an object has in any case that is of one of a few classes."""
    match base.target:
        case OneOf(classes=classes):
            return _common_method(frame, base, classes, node.attr)
        case Either(values=values):
            return _property_of_each(frame, values, node)
    return None


def _property_of_each(frame: Frame, values: tuple[Value, ...], node: ast.Attribute) -> Value | None:
    """What a property gives of an object that is of one of a few classes, all of which have it.

    Where one tells the rank, those that say the same on each process are of runs without others: ace 57c54a7
    fme/core/distributed/distributed.py:410, `self._distributed.rank`, of three backends.
    """
    known, find = frame.summaries.classes, frame.summaries.program.find_method
    for value in values:
        cls = known.get(value.type) if value.type is not None else None
        method = find(cls, node.attr) if cls is not None else None
        if method is None or not method.has_decorator("property", "cached_property"):
            return None
    found = [_member_of_instance(frame, value, node) or Value(()) for value in values]
    telling = [each for each in found if each.variance is Variance.RANK_DEPENDENT]
    first, *others = telling or found
    for other in others:
        first = join(first, other, ("either", first.key, other.key))
    return first


def class_of_instance(frame: Frame, value: Value) -> Value | None:
    """The class of the project of which a value is an object: `type(self)`, `self.__class__`."""
    cls = frame.summaries.classes.get(value.type) if value.type is not None else None
    if cls is None or value.target is not None:
        return None
    return Value(("type", value.key), type=value.type, target=cls, truth=True)


def _is_lookalike(frame: Frame, base: Value, attr: str) -> bool:
    return (
        base.type is not None
        and frame.knowledge.attributes.get(f"{base.type}.{attr}") == "not_rank"
    )


def _member_of_instance(frame: Frame, base: Value, node: ast.Attribute) -> Value | None:
    """`attr` of an object whose class is known: of the project, or of a library."""
    summaries, attr = frame.summaries, node.attr
    assert base.type is not None
    cls = summaries.classes.get(base.type)
    outside: tuple[str, ...] = (base.type,)
    if cls is not None:
        method = summaries.program.find_method(cls, attr)
        if method is not None:
            if method.has_decorator("property", "cached_property"):
                result = frame.call(Closure(method, {}, base), [], {}, node, None)
                told = _rank_property(method)
                if told is not None and not result.known:
                    return frame.rank_value(told, node, f"`{dotted_name(node) or attr}`")
                return result if result.type == "generator" else result.replace(receiver=base)
            if method.has_decorator("staticmethod"):
                return Value(("method", id(method), base.key), target=Closure(method, {}))
            return Value(("method", id(method), base.key), target=Closure(method, {}, base))
        _, outside = summaries.program.mro(cls)
    match frame.knowledge.member_of(outside, attr):
        case "kind", kind:
            return frame.rank_value(kind, node, f"`{dotted_name(node) or attr}`")
        case "wraps", kind:
            return Value(("attr", base.key, attr), wraps=frame.wraps((kind,), node))
        case "type", known:
            return Value(("attr", base.key, attr), type=known)
    if cls is not None:
        made = set_by_name(summaries.program, cls, attr)
        if made is not None:
            return Value(("attr", base.key, attr), type=made.full_name)
        value = summaries.instance_attribute(cls, attr, frame.summary)
        if value is not None:
            return value
    return None


@remembered
def _rank_property(method: Function) -> str | None:
    """The kind of rank that a property gives, by its name, of a class that keeps what the launcher says.

    modulus 878fd04 physicsnemo/distributed/manager.py:133: `return self._rank`, which static methods of the class read
    from the environment and set on an object that they make.
    """
    kind = conventions.RANK_PROPERTIES.get(method.name)
    if kind is None or method.cls is None:
        return None
    kept = any(
        isinstance(node.value, ast.Attribute | ast.Subscript)
        for node in own_nodes(method, ast.Return)
    )
    text = source_of(method.module, method.cls.node)
    return kind if kept and conventions.READS_RANKS.search(text) else None


def _is_table(node: ast.Subscript) -> bool:
    """Whether lines are picked of what has columns with names, as no tensor has: `table[table["split"] == part]`."""
    whole = ast.dump(node.value)
    return any(
        isinstance(part.slice, ast.Constant)
        and isinstance(part.slice.value, str)
        and ast.dump(part.value) == whole
        for part in walk(node.slice, ast.Subscript)
    )


def subscript(frame: Frame, node: ast.Subscript) -> Value:
    """`base[index]`."""
    base = frame.evaluate(node.value)
    index = frame.evaluate(node.slice)
    if base.const is None or _is_empty_dict(base):
        frame.note_nothing(node)
    if (
        isinstance(base.target, str)
        and base.target == "os.environ"
        and isinstance(index.const, str)
    ):
        return environment(frame, index.const, node)
    if (
        base.items is not None
        and isinstance(index.const, int)
        and -len(base.items) <= index.const < len(base.items)
    ):
        return base.items[index.const]
    entries = base.entries if isinstance(index.const, str) else None
    if entries is not None and (held := entries.at(index.const)) is not None:
        return _of_a_batch(base, held)
    if base.known and index.known:
        try:
            return constant(base.const[index.const], *variance_of((base, index))[:2])
        except (TypeError, KeyError, IndexError):
            return Value(("item", base.key, index.key))
    if base.variance is Variance.UNIFORM and (rank := _kept_rank(frame, node)) is not None:
        return rank
    variance, origin, tags = variance_of((entries.rest if entries is not None else base, index))
    if isinstance(node.slice, ast.Slice) and AGREED in base.tags:
        # scBERT 262fd4b utils.py:214, a part of what was gathered: `concat[:num_total_examples]`.
        tags |= frozenset({AGREED} if index.variance is Variance.UNIFORM else ())
    alike = AGREED in tags or (HOST_ARRAY in tags and variance is Variance.UNIFORM)
    if "bool-mask" in index.tags and not alike and not _is_table(node):
        # `x[mask]`: how many elements are left is each rank's own.
        variance, tags = Variance.RANK_LOCAL, (tags - {"bool-mask"}) | {"masked", "ragged"}
        origin = Origin(
            node,
            frame.module,
            f"`{ast.unparse(node)}`, a masked tensor of local length",
            TENSOR_SIZE,
        )
    elif (
        index.variance is Variance.RANK_DEPENDENT
        and isinstance(node.slice, ast.Slice)
        and node.slice.step
    ):
        # `names[rank::world_size]`: the first ranks may have one more.
        variance, tags = Variance.RANK_LOCAL, tags | {"local-length"}
        text = f"`{ast.unparse(node)}`, of which the first ranks may have more"
        origin = Origin(node, frame.module, text, RANK_PART)
    elif index.variance is Variance.RANK_DEPENDENT and _last_has_fewer(frame, node.slice):
        tags = tags | {"local-length"}
    elif (
        index.variance is Variance.RANK_DEPENDENT
        and base.variance is Variance.UNIFORM
        and base.items is not None
    ):
        variance, origin = index.variance, index.origin
    elif index.variance is Variance.RANK_DEPENDENT and "parts" in tags:
        # `np.array_split(names, world_size)[rank]`
        tags = (tags - {"parts"}) | {"local-length"}
        frame.note_cut(node.slice, node.slice, index, base)
    elif index.variance is Variance.RANK_DEPENDENT and conventions.EVEN_PARTS in tags:
        tags = tags - {conventions.EVEN_PARTS}
        frame.note_cut(node.slice, node.slice, index, base)
    tags = of_another_length(tags)
    if isinstance(node.slice, ast.Slice) and not (node.slice.lower or node.slice.step):
        tags = tags | (index.tags & {MULTIPLE})  # `x[: len(x) - len(x) % ranks]`
    wraps = base.wraps if isinstance(index.const, int) or not index.known else ()
    if not isinstance(node.slice, ast.Slice):
        tags = tags - {CONTAINER, OF_ELEMENTS}
    type_ = (
        conventions.ITEM_TYPES.get(
            f"{base.type}[{index.const}]", conventions.ITEM_TYPES.get(f"{base.type}[]")
        )
        if base.type is not None and isinstance(index.const, str)
        else None
    )
    return Value(
        ("item", base.key, index.key),
        UNKNOWN,
        variance,
        origin,
        tags=tags,
        wraps=wraps,
        receiver=base,
        type=type_,
    )


def _is_empty_dict(value: Value) -> bool:
    return value.truth is False and value.entries is not None and not value.entries.named


def _last_has_fewer(frame: Frame, part: ast.expr) -> bool:
    """Whether a slice is a part of the data whose size was rounded up."""
    both = isinstance(part, ast.Slice) and part.lower is not None and part.upper is not None
    return both and rounded_up(frame.function, part)


def _of_a_batch(base: Value, held: Value) -> Value:
    """A dict or record that holds a tensor of this rank is a batch: what else is in it belongs to it.

    trl 1.16.0 trl/experimental/sdft/sdft_trainer.py:842: a mask beside the ids that the model generated.
    """
    known = held.known or held.wraps or held.type is not None
    of_tensors = base.origin is not None and base.origin.kind == TENSOR
    if known or not of_tensors or held.variance is Variance.RANK_LOCAL:
        return held
    return held.replace(variance=base.variance, origin=base.origin, tags=held.tags | base.tags)


def environment(frame: Frame, name: str, node: ast.AST, default: Value | None = None) -> Value:
    """The value of an environment variable: a string that launchers set, or unknown and uniform."""
    kind = ranks.ENVIRONMENT.get(name)
    if kind is None:
        return Value(("environ", name))
    value = frame.rank_value(kind, node, f"the environment variable {name}")
    return (
        value.replace(const=str(value.const), key=("environ", name, value.const))
        if value.known
        else value
    )
