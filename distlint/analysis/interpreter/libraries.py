"""Calls of what is outside the project: what the tables say that they do and return."""

from __future__ import annotations

import ast
from collections.abc import Hashable
from dataclasses import replace
from typing import Final

from distlint.analysis.interpreter.assignment import fill
from distlint.analysis.interpreter.containers import is_container
from distlint.analysis.interpreter.exceptions import catches
from distlint.analysis.interpreter.frame import Frame, is_group
from distlint.analysis.interpreter.frozen import is_frozen
from distlint.analysis.interpreter.ir import (
    CallSite,
    CallStep,
    Event,
    JumpKind,
    Layer,
    MayRaise,
    UnknownCall,
)
from distlint.analysis.interpreter.iteration import EVEN, MULTIPLE, UNEVEN, of_another_length
from distlint.analysis.interpreter.members import environment
from distlint.analysis.interpreter.signature import bind, with_bound
from distlint.analysis.interpreter.values import (
    AGREED,
    ALL_GIVEN,
    HOST_ARRAY,
    MODEL_OUTPUT,
    NO_TAGS,
    SHUFFLED,
    UNKNOWN,
    Closure,
    Entries,
    Partial,
    Value,
    Variance,
    constant,
    difference_of_object,
    variance_of,
)
from distlint.analysis.program.definitions import Class, Function, Module, dotted_name, last_name
from distlint.analysis.program.syntax import is_for_unknown_choice, own_nodes
from distlint.knowledge import conventions, facts, failures, hooks, ranks
from distlint.knowledge.schema import CallRow, Effect

_LAYERS: Final[dict[Effect, Layer]] = {
    Effect.COLLECTIVE: Layer.ALWAYS,
    Effect.SHARDED_COLLECTIVE: Layer.SHARDED,
    Effect.WRAPPED_COLLECTIVE: Layer.WRAPPED,
}
_ON_HOST: Final = ("numpy.", "pandas.")
"""Libraries whose arrays and tables are made of what all ranks have: groupwise_imbalance_regression 39a35b6 imdb_wiki/train_ddp.py:68,
`df[df["split"] == "train"]` of one file."""


def external(
    frame: Frame,
    node: ast.Call,
    name: str,
    receiver: Value | None,
    args: list[Value],
    keywords: dict[str, Value],
) -> Value:
    """A call of something outside the project, or of a method known by its name alone."""
    by_name = name.startswith(".")
    tables = frame.knowledge
    known = tables.rows_of(name)
    rows = known and tuple([row for row in known if _takes_effect(row, node, args, keywords)])
    site = frame.site(node, name, receiver, args, keywords, rows, None)
    inputs = [*args, *keywords.values()]
    if not known and name != "functools.partial":  # which calls nothing
        hand_over(frame, node, inputs, name)
    result = _rank_predicate(frame, node, name, args, keywords)
    if result is None and name in _SPECIAL:
        result = _special(frame, node, name, args, keywords)
    if result is None:
        result = _wrapping(frame, node, name, receiver, args, keywords)
    for row in rows:
        outcome = _perform(frame, site, row, args)
        result = outcome if result is None else result
    if not rows:
        backward(frame, node, [*args, *([receiver] if receiver is not None else [])], site)
    failure = (failures.METHOD_FAILURES if by_name else failures.FAILURES).get(
        name.removeprefix(".")
    )
    if failure is not None:
        may_fail(frame, node, failure, name)
    if result is None:
        result = _local(frame, node, name, by_name, receiver, args)
    handler = conventions.HANDLERS.get(receiver.type or "") if receiver is not None else None
    if result is None and handler is not None and name.rpartition(".")[2].startswith(handler[0]):
        result = Value(("call", id(node)), type=handler[1])
    if result is None:
        last = name.rpartition(".")[2]
        if last[:1].isupper() and not by_name and not last.isupper():
            of_content = last.endswith(_OF_CONTENT)
            variance, origin, tags = (variance_of if of_content else difference_of_object)(inputs)
            # Objects made from the rank are not themselves what ranks decide by, but they carry it (paths).
            type_ = None if _is_alone(name, keywords) else name
            drops = keywords.get("drop_last")
            if drops is not None and drops.truthiness() is True:
                tags = tags - UNEVEN  # a part of a batch more or less makes no turn
            tags = tags | {SHUFFLED} if _is_shuffled(name, args, keywords) else tags - {SHUFFLED}
            result = Value(("instance", id(node)), UNKNOWN, variance, origin, type=type_, tags=tags)
        else:
            filled_in = name == ".format" and receiver is not None and receiver.known
            if (
                by_name
                and not filled_in
                and (receiver is None or receiver.variance is not Variance.RANK_LOCAL)
            ):
                result = unknown_result(frame, node, inputs, pure=False)
                if receiver is not None:
                    _, _, agreed = variance_of([receiver, *inputs])
                    result.tags = result.tags | (agreed & {AGREED})  # `flag.item()`
            else:
                result = unknown_result(frame, node, [*inputs, *([receiver] if receiver else [])])
            if last in conventions.SAME_LENGTH and receiver is not None:
                result.tags = result.tags | (receiver.tags & {MULTIPLE})
            if last in conventions.PARTS and _counts_ranks(name, args, keywords):
                filled = keywords.get(conventions.FILLED_UP)
                even = filled is not None and filled.truthiness() is True
                result.tags |= {conventions.EVEN_PARTS if even else conventions.PARTS[last]}
                if name == "itertools.islice" and len(args) == 4:
                    frame.note_cut(node, node.args[1], args[1], args[3])
            if last in conventions.MASK_METHODS:
                result.tags = result.tags | _mask(receiver)
            elif last in conventions.SAME_MODEL_METHODS and receiver is not None and not args[1:]:
                # `model.to(device)`, `model.eval()` give the model back.
                result = receiver
    site.result = _as_named(frame, node, name, receiver, result)
    return site.result


def _mask(receiver: Value | None) -> frozenset[str]:
    """The tag of what a comparison gives: which elements, of an array that all ranks have alike or of a rank's own tensor."""
    alike = receiver is not None and HOST_ARRAY in receiver.tags
    return NO_TAGS if alike else frozenset({"bool-mask"})


def _as_named(
    frame: Frame, node: ast.Call, name: str, receiver: Value | None, result: Value
) -> Value:
    """A result with what the name of the function says of it: its class, where it is, and that it is something."""
    of_array = receiver is not None and HOST_ARRAY in receiver.tags and name.startswith(".")
    if (of_array or name.startswith(_ON_HOST)) and result.variance is Variance.UNIFORM:
        result = result.replace(tags=result.tags | {HOST_ARRAY})
    if result.type is None and (made := _made_by(frame, node, name, receiver)) is not None:
        result = result.replace(type=made)
    if not result.known and not result.not_none and conventions.gives_something(name):
        result = result.replace(not_none=True)
    return result


def _made_by(frame: Frame, node: ast.Call, name: str, receiver: Value | None) -> str | None:
    """The class of what a function makes: `Image.fromarray(x)`, and what is cut from an image or converted.

    Of a configuration, the key says it where the file imports the library: mdlm c112c52 main.py:190,
    `hydra.utils.instantiate(config.trainer, callbacks=callbacks)`.
    """
    if name in conventions.FROM_CONFIGURATION and node.args:
        made, libraries = conventions.CONFIGURED.get(_last_key(node.args[0]), (None, frozenset()))
        imported = frame.summary.function.module.imports.values()
        if not libraries.isdisjoint(dotted.partition(".")[0] for dotted in imported):
            return made
    if receiver is not None and receiver.type == conventions.IMAGE:
        return conventions.IMAGE if name.rpartition(".")[2] in conventions.IMAGE_METHODS else None
    return conventions.MADE_BY.get(name)


def _last_key(node: ast.expr) -> str:
    """The last key of a path into a configuration: `cfg.trainer`, `cfg["trainer"]`."""
    match node:
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            return key
    return dotted_name(node).rpartition(".")[2]


def _is_shuffled(name: str, args: list[Value], keywords: dict[str, Value]) -> bool:
    """Whether a loader is made that surely draws an order for each epoch."""
    place = conventions.SHUFFLED.get(name)
    if place is None:
        return False
    position, keyword = place
    given = keywords.get(keyword, args[position] if position < len(args) else None)
    return given is not None and given.const is True


def _takes_effect(
    row: CallRow, node: ast.Call, args: list[Value], keywords: dict[str, Value]
) -> bool:
    """Whether a call may do what a row says, by the arguments that the row asks about.

    With `when`, the argument has to be given and may have the value; with `unless`, it must not surely
    have it. What `*` or `**` hands over is not known.
    """
    for condition in filter(None, (row.when, row.unless)):
        keyword, _, wanted = condition.partition("=")
        value = keywords.get(keyword)
        if value is None and row.condition is not None and row.condition < len(args):
            starred = any(isinstance(argument, ast.Starred) for argument in node.args)
            value = None if starred else args[row.condition]
        if wanted not in ("True", "False"):
            same = None if value is None or not value.known else value.const == wanted
        else:
            truth = None if value is None else value.truthiness()
            same = None if truth is None else truth is (wanted == "True")
        if condition == row.when and (value is None or same is False):
            return False
        if condition == row.unless and same:
            return False
    return True


def _is_alone(name: str, keywords: dict[str, Value]) -> bool:
    """Whether an object that is made with these arguments belongs to this process alone."""
    row = conventions.ALONE.get(name)
    if row is None or "num_nodes" in keywords:
        return False
    keyword, values = row
    return keyword in keywords and keywords[keyword].const in values


def may_fail(frame: Frame, node: ast.AST, failure: str, name: str = "") -> None:
    """Something may fail on one rank alone: caught here, or what the function that calls this may catch."""
    if frame.scope.failure_reaches_all:
        return
    if frame.scope.tries:
        told = name in failures.TOLD_BY_STATUS
        if not told and catches(frame.scope.tries[-1], failure, name):
            frame.steps.append(MayRaise(node, failure))
    elif failure in failures.THROUGH_CALLS and not frame.summary.failure:
        frame.summary.failure = failure


_OF_CONTENT: Final = ("Tensor", "Path")
"""Ends of the names of classes whose objects are the value that they are made of."""


def unknown_result(frame: Frame, node: ast.AST, inputs: list[Value], *, pure: bool = True) -> Value:
    """What an unknown call returns: the same on all ranks unless an argument differs.

    Code that is not resolved at all (`pure` is false) may do anything with a rank's own data: it is not
    taken to hand the difference on. What depends on the rank number does, and so does what makes a loss, by
    its name, of the outputs of a wrapped model.
    """
    variance, origin, tags = variance_of(inputs)
    if variance is Variance.RANK_LOCAL and not pure and not _makes_loss(node, tags):
        variance, origin, tags = variance_of(
            v for v in inputs if v.variance is Variance.RANK_DEPENDENT
        )
    return Value(
        ("call", id(node)),
        UNKNOWN,
        variance,
        origin,
        tags=of_another_length(tags) - {"world_size", "bool-mask"},
    )


def _counts_ranks(name: str, args: list[Value], keywords: dict[str, Value]) -> bool:
    """Whether something is cut into as many parts as there are ranks, or this rank's part is taken.

    What is cut by a method of an object of unknown class has to be given both.
    """
    given = [*(args if name.startswith(".") else args[1:]), *keywords.values()]
    size = any("world_size" in value.tags for value in given)
    rank = any(v.variance is Variance.RANK_DEPENDENT and "world_size" not in v.tags for v in given)
    parts = conventions.PARTS[name.rpartition(".")[2]] == "parts" and not name.startswith(".")
    return size and (rank or parts)


def _makes_loss(node: ast.AST, tags: frozenset[str]) -> bool:
    """Whether a call computes a loss from what a wrapped model gave, by its name."""
    if MODEL_OUTPUT not in tags or not isinstance(node, ast.Call):
        return False
    name = last_name(node.func)
    return conventions.LOSSES.search(name) is not None and conventions.REDUCING.search(name) is None


def backward(frame: Frame, node: ast.Call, inputs: list[Value], site: CallSite | None) -> None:
    """A call that may compute gradients: of what a wrapped model gave, they are reduced over the ranks."""
    if last_name(node.func) in conventions.BACKWARD and any(MODEL_OUTPUT in v.tags for v in inputs):
        frame.steps.append(Event("backward", Layer.WRAPPED, node, frame.module, site=site))


def hand_over(frame: Frame, node: ast.Call, inputs: list[Value], name: str = "") -> None:
    """Unknown code that receives a function or generator of the project may run it; a thread does."""
    for value in inputs:
        if value.type == "generator" and value.receiver is not None:
            frame.steps.append(UnknownCall(value.receiver.const, node, frame.module))
        elif isinstance(value.target, Closure) and not value.target.function.is_generator:
            closure = value.target
            bound = (
                bind(closure.function, closure.receiver, *with_bound(closure, [], {}))
                if closure.args or closure.keywords
                else {}
            )
            summary = frame.run_of(closure.function, bound, closure.receiver, closure.captured)
            frame.summary.children.append(summary)
            frame.summary.depends_on |= summary.depends_on
            frame.steps.append(
                CallStep(summary, node)
                if name in hooks.THREADS
                else UnknownCall(summary, node, frame.module)
            )


def _rank_predicate(
    frame: Frame, node: ast.Call, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value | None:
    """What a call tells about the rank: in a group that is passed, its place in the group."""
    tables = frame.knowledge
    by_name = name.startswith(".")
    if name in ranks.TUPLES:
        return _rank_tuple(frame, node, ranks.TUPLES[name])
    kind = tables.any_methods.get(name[1:]) if by_name else tables.functions.get(name)
    if kind is None and not by_name and not args and not keywords:
        # A function of a library that nobody lists: `detectron2.utils.comm.is_main_process()`.
        kind = tables.any_methods.get(name.rpartition(".")[2])
    if kind is None:
        return None
    position = 0 if by_name else ranks.GROUP_ARGUMENTS.get(name)
    if position is not None and kind in ("rank", "local_rank", "is_main", "world_size"):
        given = args[position] if position < len(args) else None
        if is_group(keywords.get("group", given)):
            kind = "group_rank" if kind != "world_size" else "group_size"
    return frame.rank_value(kind, node, f"`{dotted_name(node.func) or name.lstrip('.')}()`")


def _rank_tuple(frame: Frame, node: ast.Call, kinds: tuple[str, ...]) -> Value:
    """What a call tells of the process at once: `rank, world_size = get_dist_info()`."""
    text = f"`{dotted_name(node.func)}()`"
    items = tuple(frame.rank_value(kind, node, text) for kind in kinds)
    variance, origin, _ = variance_of(items)
    return Value(("call", id(node)), UNKNOWN, variance, origin, items=items)


_SPECIAL: Final = frozenset(
    {
        *("os.getenv", "os.environ.get", "os.environ.setdefault", "os.environ.pop"),
        *("functools.partial", "copy.copy", "copy.deepcopy"),
        *("typing.cast", "typing_extensions.cast"),
        *conventions.PREPARED_LOADERS,
        *conventions.PROGRESS_BARS,
    }
)
"""The functions of which `_special` knows something."""


def _special(
    frame: Frame, node: ast.Call, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value | None:
    """Library functions whose value can be computed."""
    if name in ("os.getenv", "os.environ.get", "os.environ.setdefault", "os.environ.pop"):
        if args and isinstance(args[0].const, str):
            return environment(frame, args[0].const, node, args[1] if len(args) > 1 else None)
        return None
    if not args:
        return None
    if name == "functools.partial":
        return _partial(args[0], tuple(args[1:]), tuple(keywords.items()), node)
    if name in conventions.PREPARED_LOADERS and facts.wrapper(name) is None:
        return _prepared_loader(frame, name, args[0], ("prepared", id(node), 0))
    if name in ("copy.copy", "copy.deepcopy"):
        return args[0]
    if name in conventions.PROGRESS_BARS:
        hidden = keywords.get("disable")
        if hidden is not None and hidden.variance is Variance.RANK_DEPENDENT:
            return args[0].replace(tags=args[0].tags | {conventions.DRAWN_BY_RANK})
        return args[0]
    return args[-1] if name in ("typing.cast", "typing_extensions.cast") else None


def _partial(
    function: Value,
    args: tuple[Value, ...],
    keywords: tuple[tuple[str, Value], ...],
    node: ast.Call,
) -> Value:
    """A function with some arguments bound."""
    match function.target:
        case Closure() as closure if args or keywords:
            known = {**dict(closure.keywords), **dict(keywords)}
            bound = replace(closure, args=(*closure.args, *args), keywords=tuple(known.items()))
            return function.replace(key=("partial", id(node)), target=bound)
        case Class() | Module() | Partial() | str() if args or keywords:
            return Value(("partial", id(node)), target=Partial(function, args, keywords))
    return function


def _wrapping(
    frame: Frame,
    node: ast.Call,
    name: str,
    receiver: Value | None,
    args: list[Value],
    keywords: dict[str, Value],
) -> Value | None:
    """Calls that put a layer around a model, or take the layers off."""
    if facts.is_unwrap(name):
        if not args:
            return None
        return args[0].replace(
            key=("unwrapped", args[0].key),
            wraps=(),
            tags=args[0].tags | {"unwrapped"},
            variance=Variance.UNIFORM,
            origin=None,
        )
    wrapper = facts.wrapper(name)
    if wrapper is None:
        return None
    unless = keywords.get(wrapper.unless)
    if unless is not None and unless.truthiness() is True:
        return args[0] if args else None
    layers = frame.wraps(wrapper.kinds, node)
    if wrapper.each_argument:
        items = tuple(
            _wrapped_argument(frame, name, wrapper, value, node, i)
            for i, value in enumerate(args[: len(node.args)])
        )
        starred = next((i for i, a in enumerate(node.args) if isinstance(a, ast.Starred)), None)
        if starred == 0 or not items:
            return None
        if starred is not None:
            # `model, *optimizers = accelerator.prepare(model, *optimizers)`: the first places are known.
            first = {str(i): value for i, value in enumerate(items[:starred])}
            rest = Value(("rest", id(node)))
            return Value(("call", id(node)), truth=True, entries=Entries(first, rest))
        return items[0] if len(items) == 1 else Value(("call", id(node)), items=items, truth=True)
    model = next((keywords[k] for k in wrapper.model_keywords if k in keywords), None)
    if model is None and wrapper.model_position is not None and wrapper.model_position < len(args):
        model = args[wrapper.model_position]
    base = model if model is not None else Value(("call", id(node)))
    if isinstance(base.target, Closure) and not base.wraps and not facts.replicates(wrapper.kinds):
        return base  # a compiled function: nobody shards one (fish-speech 3dd1f85 text2semantic/inference.py:385)
    if (
        wrapper.trainable
        and node.args
        and is_frozen(frame.summaries.program, frame.function, node.args[0])
    ):
        return base
    # `if n_gpu > 1: model = DataParallel(model)`, then `if local_rank != -1: model = DDP(model)`: a launcher sees to it
    # that one of them holds (LoRA c4593f0 examples/NLU/examples/legacy/question-answering/run_squad.py:85).
    # Nor does what only some paths have in DDP come into another: CT-Net 83badd6 main_ddp.py:254 wraps for `--tune_from`
    # what line 205 has wrapped for `--resume`.
    below = base.wraps
    if facts.replicates(wrapper.kinds):
        below = tuple(
            w for w in below if w.kind != "dp" and (w.always or not facts.replicates([w.kind]))
        )
    wrapped = base.replace(
        key=("wrapped", id(node)),
        wraps=(*below, *layers),
        tags=base.tags - {"unwrapped"},
        target=None,
        variance=Variance.UNIFORM,
        origin=None,
        receiver=None,
    )
    if wrapper.result_index is None:
        return wrapped
    items = tuple(
        wrapped if i == wrapper.result_index else Value(("item", ("call", id(node)), i))
        for i in range(wrapper.result_length)
    )
    return Value(("call", id(node)), items=items, truth=True)


def _prepared_loader(frame: Frame, name: str, value: Value, key: Hashable) -> Value:
    """A loader as what prepares it hands it back: every rank gets as many batches."""
    type_ = value.type
    shuffled = SHUFFLED in value.tags and type_ == conventions.LOADER
    if shuffled and conventions.SEEDABLE_SAMPLER not in frame.module.source.text:
        type_ = conventions.PREPARED_LOADERS.get(name, type_)
    return value.replace(key=key, type=type_, tags=(value.tags - UNEVEN) | {"prepared"})


def _called(argument: ast.expr) -> str:
    """What an argument is called; an entry goes by its key.

    ChatGLM-Efficient-Tuning 3c12daa src/glmtuner/tuner/ppo/trainer.py:45: `prepare(kwargs["data_collator"])`.
    """
    match argument:
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            return key
    return dotted_name(argument)


def _comes_back(argument: ast.expr, value: Value) -> bool:
    """Whether `prepare()` gives an argument back as it is, or as a loader: what came unwrapped from an earlier one is no model.

    BigVGAN 84be3f0 train.py:273: `x, y, y_mel = accelerator.prepare(x, y, y_mel)`, tensors of a batch of a prepared loader.
    """
    return facts.is_data_or_optimizer(value.type, _called(argument)) or (
        isinstance(argument, ast.Name) and "prepared" in value.tags and not value.wraps
    )


def _prepares_no_model(node: ast.Call, args: list[Value]) -> bool:
    """Whether no rank waits in `prepare()`, as no model is among its arguments."""
    return len(args) == len(node.args) > 0 and all(map(_comes_back, node.args, args))


def _wrapped_argument(
    frame: Frame, name: str, wrapper: facts.WrapFact, value: Value, node: ast.Call, index: int
) -> Value:
    """An argument of `prepare()` as it comes back: only models are wrapped."""
    key, expression = ("prepared", id(node), index), node.args[index]
    if _comes_back(expression, value):
        return _prepared_loader(frame, name, value, key)
    program = frame.summaries.program
    bare = is_container(program, frame.function, value, expression) or (
        wrapper.trainable and is_frozen(program, frame.function, expression)
    )
    return value.replace(
        key=key,
        wraps=(*value.wraps, *(() if bare else frame.wraps(wrapper.kinds, node))),
        tags=(value.tags - {"unwrapped"}) | {"prepared"},
        target=None,
    )


def _perform(frame: Frame, site: CallSite, row: CallRow, args: list[Value]) -> Value | None:
    """Carry out one row: events, arguments filled, and the result."""
    node = site.node
    if row.mentions and (
        not any(word in frame.module.source.text for word in row.mentions)
        # What other versions do is another matter (accelerate 0.22.0 data_loader.py:556).
        or any("version" in ast.unparse(guard.node) for guard in site.guards)
    ):
        return None
    layer = _LAYERS.get(row.effect)
    for extra in row.also:
        layer = _LAYERS.get(extra) if layer is None else layer
    if layer is not None and not row.context:
        if not (row.result == "wrapped" and _prepares_no_model(node, args)):
            frame.event(row, layer, node, site)
    elif row.effect in (Effect.WAIT, Effect.SEND):
        return None
    elif row.effect is Effect.EXIT:
        failed = bool(args) and fails(args[0])
        refused = failed or is_for_unknown_choice(site.function.node, node)
        frame.leave(JumpKind.FAILURE if refused else JumpKind.PROCESS, node)
    if layer is None:
        return None
    grouped = frame.is_grouped(site, row)
    agreed = NO_TAGS if grouped else frozenset({AGREED})
    uniform = Value(("filled", id(node)), tags=agreed)
    for position in row.fills:
        if position < len(node.args):
            fill(frame, node.args[position], uniform)
    for keyword in node.keywords:
        if keyword.arg in row.fills_keywords:
            fill(frame, keyword.value, uniform)
    match row.result:
        case "none":
            return constant(None)
        case "rank":
            return Value(
                ("call", id(node), frame.summary.rank.rank),
                UNKNOWN,
                Variance.RANK_DEPENDENT,
                frame.origin(node, f"the result of `{row.op}`", _kind_of_result(site.name)),
            )
        case "local":
            return Value(
                ("call", id(node)),
                UNKNOWN,
                Variance.RANK_LOCAL,
                frame.origin(node, f"the result of `{row.op}`", "data"),
            )
        case "same-as-arg":
            return (
                args[0].replace(
                    variance=Variance.UNIFORM, origin=None, key=("call", id(node)), const=UNKNOWN
                )
                if args
                else None
            )
        case "group":
            made = conventions.GROUP_TYPES.get(row.op)
            return Value(("call", id(node)), tags=frozenset({"group"}), truth=True, type=made)
        case "work":
            return Value(("call", id(node)), tags=frozenset({"work"}))
        case "wrapped":
            return None
    number = ("call", id(node), frame.summary.rank.rank) if grouped else ("call", id(node))
    return Value(number, tags=agreed)


def _kind_of_result(name: str) -> str:
    return ALL_GIVEN if conventions.gives_something(name) else "rank"


def fails(code: Value) -> bool:
    """Whether a process that exits with this code has failed, so that the launcher ends the others.

    Source: python 3.11 `sys.exit`; torch 2.13.0 torch/distributed/elastic/multiprocessing/api.py:973.
    """
    return code.known and code.const not in (None, 0)


def _local(
    frame: Frame,
    node: ast.Call,
    name: str,
    by_name: bool,
    receiver: Value | None,
    args: list[Value],
) -> Value | None:
    """Calls whose result is each rank's own: tensor contents, the clock, files, random names."""
    if by_name and name[1:] in conventions.UNIFORM_METHODS and not args:
        return Value(("call", id(node)))
    fact = failures.LOCAL_METHODS.get(name[1:]) if by_name else failures.LOCAL_CALLS.get(name)
    if fact is None:
        return None
    if fact.needs_local_input:
        variance, _, tags = variance_of([*([receiver] if receiver is not None else []), *args])
        if variance is not Variance.RANK_LOCAL and not tags & {"masked"}:
            return None
    of_model = NO_TAGS.union(*(value.tags for value in args)) & {MODEL_OUTPUT}
    even = fact.tag == "rank-part" and bool(args) and MULTIPLE in args[0].tags
    own = EVEN if even else fact.tag
    tags = (receiver.tags if receiver is not None else NO_TAGS) | {own} | of_model
    return Value(
        ("call", id(node)),
        UNKNOWN,
        Variance.RANK_LOCAL,
        frame.origin(node, fact.text, fact.tag),
        tags=tags,
    )


def forward(
    frame: Frame, node: ast.Call, model: Value, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """A call of a wrapped model: its forward is a collective of the wrapper's."""
    site = frame.site(node, "forward", model, args, keywords, (), None)
    kinds = [wrap.kind for wrap in model.wraps]
    layer = Layer.WRAPPED if facts.replicates(kinds) else Layer.SHARDED
    local = (
        layer is Layer.WRAPPED
        and _keeps_buffers(model)
        and (frame.scope.without_gradients or _evaluates(frame.function, node))
    )
    if facts.forward_waits(kinds) and not local:
        first_only = layer is Layer.WRAPPED and frame.scope.without_gradients
        event = Event("forward", layer, node, frame.module, site=site, first_only=first_only)
        frame.steps.append(event)
    # One process alone takes what DataParallel gave backward (CodeT5 7de7f69 CodeT5/run_defect.py:152).
    others = [wrap.instead.kind for wrap in model.wraps if wrap.instead is not None]
    result = Value(
        ("call", id(node)),
        UNKNOWN,
        Variance.RANK_LOCAL,
        frame.origin(node, "the output of this rank's batch", "tensor"),
        tags=frozenset({MODEL_OUTPUT}) if facts.forward_waits((*kinds, *others)) else NO_TAGS,
    )
    site.result = result
    return result


def _evaluates(function: Function, call: ast.Call) -> bool:
    """Whether a model that is called was put into evaluation last, above: its SyncBatchNorm does not communicate either.

    Improving-Deep-Watermarking 55dcd53 ddp_train.py:409: `net_Gen.eval()`, and a picture of rank 0 behind the `no_grad` block.
    """
    model = ast.unparse(call.func)
    modes = [
        (node.lineno, node.func.attr)
        for node in own_nodes(function, ast.Call)
        if isinstance(node.func, ast.Attribute)
        and node.func.attr in ("eval", "train")
        and node.lineno < call.lineno
        and ast.unparse(node.func.value) == model
    ]
    return max(modes, default=(0, ""))[1] == "eval"


def _keeps_buffers(model: Value) -> bool:
    """Whether DDP is told not to broadcast buffers, or may be: then a forward without gradients stays local.

    With buffers, the first forward after a step with gradients broadcasts them, in evaluation as well
    (torch 2.13.0 torch/nn/parallel/distributed.py:1781, :2382). modulus 878fd04
    examples/cfd/external_aerodynamics/xaeronet/surface/train.py:157: `broadcast_buffers=dist.broadcast_buffers`, a
    property that is False unless a script sets it.
    """
    return any(
        keyword.arg == "broadcast_buffers"
        and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is True)
        for wrap in model.wraps
        if wrap.kind == "ddp" and isinstance(wrap.node, ast.Call)
        for keyword in wrap.node.keywords
    )
