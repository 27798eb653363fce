"""What a call makes of the shares that it is given."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.chosen import chosen
from distlint.analysis.program.definitions import Class, Function, last_name
from distlint.analysis.program.syntax import names_bound, storage_of
from distlint.analysis.questions.alone import under_main_alone
from distlint.analysis.questions.shares.files import merging
from distlint.analysis.questions.shares.reading import element_of, path_of, views
from distlint.analysis.questions.shares.values import (
    ALIKE,
    EMPTY_METRIC,
    LEARNED,
    PLAIN,
    UNKNOWN,
    WHOLE_METRIC,
    WORLD,
    Held,
    Kind,
    Part,
    Source,
    combined,
    explained,
    joined,
    met,
    plain,
)
from distlint.knowledge import facts, randomness
from distlint.knowledge import shares as tables
from distlint.knowledge.conventions import SAME_MODEL_METHODS
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.questions.shares.interfaces import Following
    from distlint.analysis.questions.shares.reading import Met
    from distlint.knowledge.shares import Ending

_SAMPLER_ENDS: Final = ("DistributedSampler", "DistributedEvalSampler", "DistributedBatchSampler")
_READS: Final = pattern(r"(?:load|iter|data|batch|shard|stream).*(?<!s)$", re.IGNORECASE)
"""Names of what reads one set of data: what `get_loaders` gives is for training and for evaluation."""
_WORLD: Final = pattern(r"world|num_replicas")
_MOST: Final = 8
"""Functions of which one is chosen at run time. Of more, nothing is known."""
_LOADER: Final = "torch.utils.data.DataLoader"
_OF_FULL_BATCHES: Final = "DataLoader(drop_last=True)"
"""A loader to which `prepare()` adds nothing: each rank gets full batches alone (accelerate 1.15.0 data_loader.py:235)."""


def called(flow: Following, node: ast.Call) -> Held:
    """What a call returns; what it does to its arguments is done."""
    args = [flow.value(a) for a in node.args]
    keywords = _keywords(flow, node)
    receiver = flow.value(node.func.value) if isinstance(node.func, ast.Attribute) else None
    if _gathers_elements(node):
        return combined([v for v in (receiver, *args, *keywords.values()) if v is not None])
    if isinstance(node.func, ast.Attribute) and tables.SYNCHRONISES.search(node.func.attr):
        flow.forget_parts(path_of(node.func.value))
    site, meaning = flow.shares.meaning(flow.function, node)
    if site is not None and not isinstance(meaning, Function | Class) and _takes_part(site, node):
        return _divided(flow, node, padded=False)
    if isinstance(meaning, str):
        found = _of_library(flow, node, meaning, args, keywords)
        if found is not None:
            return found
    if isinstance(meaning, str) and args and facts.wrapper(meaning) is not None:
        return args[0]
    if site is not None and site.is_collective:
        return _of_collective(flow, node, args)
    if meaning is None and isinstance(node.func, ast.Name):
        held = flow.variables.get(node.func.id)
        if held is not None and isinstance(held.made, Function):
            return flow.shares.run(flow, held.made, node, args, keywords, None, flow.variables)
    if meaning is None:
        found = _of_chosen(flow, node, args, keywords)
        if found is not None:
            return found
    match meaning:
        case Function():
            return flow.shares.run(flow, meaning, node, args, keywords, receiver)
        case Class():
            return flow.shares.construct(flow, meaning, node, args, keywords)
    if meaning is None:
        own = flow.value(node.func)
        forward = flow.shares.method(own.made, "forward") if isinstance(own.made, Class) else None
        if forward is not None:
            return flow.shares.run(flow, forward, node, args, keywords, own)
    if receiver is not None and isinstance(receiver.made, Class) and meaning is None:
        method = flow.shares.method(receiver.made, last_name(node))
        if method is not None:
            return flow.shares.run(flow, method, node, args, keywords, receiver)
    if receiver is not None:
        found = _of_method(flow, node, receiver, args, keywords)
        if found is not None:
            return found
    return _of_unknown(flow, node, meaning, args, keywords)


def _keywords(flow: Following, node: ast.Call) -> dict[str, Held]:
    """What a call is given by name; what stands under the keys of a dict is given by these: `DataLoader(data, **kwargs)`.

    PointContrast 47e8682 downstream/semseg/lib/dataset.py:383: `DataLoader(**data_args)`, of `data_args["sampler"] = …`.
    """
    found: dict[str, Held] = {}
    for keyword in node.keywords:
        held = flow.value(keyword.value)
        if keyword.arg is not None:
            found[keyword.arg] = held
            continue
        found.update(held.fields or {})
        if not explained(held):
            found["**"] = held
    return found


def _gathers_elements(node: ast.Call) -> bool:
    """Whether a call picks elements of a tensor, by their numbers along a dimension: nothing of other ranks.

    LCASAFormer 4e5b3cb detect_pipline/ap_helper.py:70: `torch.gather(residuals, 2, …)`.
    """
    match node:
        case ast.Call(
            func=ast.Attribute(attr="gather", value=ast.Name(id="torch")), args=[_, *args]
        ):
            pass
        case ast.Call(func=ast.Attribute(attr="gather"), args=args):
            pass
        case _:
            return False
    given = [*args[:1], *(k.value for k in node.keywords if k.arg == "dim")]
    return any(map(_is_number, given))


def _is_number(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=int()):
            return True
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int())):
            return True
    return False


def _of_chosen(
    flow: Following, node: ast.Call, args: list[Held], keywords: dict[str, Held]
) -> Held | None:
    """What the functions return of which one is chosen at run time: by a condition, a table, a name.

    ULIP f194ddb models/pointnext/PointNeXt/examples/segmentation/main.py:167: `validate if … else validate_sphere`,
    and both reduce.
    """
    choice = chosen(flow.shares.live.program, flow.function, node)
    functions = [each for each in choice.candidates if isinstance(each, Function)]
    if choice.open or len(functions) > _MOST:
        given = combined([*args, *keywords.values()])
        return UNKNOWN if given.part in _NOT_OF_ALL else None
    if not functions or len(functions) < len(choice.candidates):
        return None
    before = dict(flow.variables)
    returned, after = [], []
    for function in functions:
        flow.variables = dict(before)
        returned.append(flow.shares.run(flow, function, node, args, keywords, None))
        after.append(flow.variables)
    flow.variables = met(after)
    return joined(returned)


def _takes_part(site: Met, node: ast.Call) -> bool:
    """Whether something unseen that reads data is told which of how many ranks it is for.

    transformer-xl 44781ed pytorch/train.py: `corpus.get_dist_iterator("valid", rank, world_size)`.
    """
    given = (*node.args, *(keyword.value for keyword in node.keywords))
    return (
        _READS.search(last_name(node)) is not None
        and any(_WORLD.search(last_name(each)) for each in given)
        and site.tells_rank
    )


# -- what libraries do -------------------------------------------------------------------------------


def _of_library(
    flow: Following, node: ast.Call, name: str, args: list[Held], keywords: dict[str, Held]
) -> Held | None:
    ending = tables.ENDINGS.get(name)
    if ending is not None:
        return _ended(flow, node, ending, args, keywords)
    last = name.rpartition(".")[2]
    if name.startswith("accelerate.Accelerator.prepare"):
        return _prepared(flow, node, args)
    if name in tables.SAME and args:
        return args[0]
    if name in tables.SAME_EACH and args:
        return args[0] if len(args) == 1 else Held(items=tuple(args))
    if name in tables.SPLITS:
        text = "each rank takes its part here"
        return Held(Part.SHARE, Source(node, flow.module, text), Kind.LOADER)
    if _is_sampler(name):
        return sampled(flow, node, args, keywords)
    if name == _LOADER or last.endswith(("DataLoader", "FastDataLoader")):
        return _loader(node, args, keywords)
    if name in ("builtins.len", "len") and args:
        return _length(args[0])
    if last in tables.WORLD_NAMES or (
        last in ("float", "int") and args and args[0].kind is Kind.WORLD
    ):
        return WORLD
    if name in tables.EMPTIED:
        return UNKNOWN if "num_process" in keywords else EMPTY_METRIC
    if name in tables.METERS or last == tables.METER:
        return PLAIN
    if name in tables.PARAMETERS:
        return LEARNED
    if name.startswith(tables.WHOLE_METRICS):
        return Held(kind=Kind.OTHER, made=WHOLE_METRIC)
    return None


def _is_sampler(name: str) -> bool:
    row = randomness.SAMPLERS.get(name)
    return row.distributed if row is not None else name.endswith(_SAMPLER_ENDS)


def sampled(flow: Following, node: ast.Call, args: list[Held], keywords: dict[str, Held]) -> Held:
    """A sampler of this rank's part; of one replica, that is all.

    msn 4388dc1 logistic_eval.py:135: `init_data(…, world_size=1, rank=0)` hands them to the sampler.
    """
    replicas = keywords.get("num_replicas", args[1] if len(args) > 1 else ALIKE)
    if replicas.const == 1 and not isinstance(replicas.const, bool):
        return Held(kind=Kind.LOADER)
    return _divided(flow, node, padded=not _drops_last(node))


def _divided(flow: Following, node: ast.Call, *, padded: bool) -> Held:
    source = Source(node, flow.module, "each rank gets its part of the data here", padded)
    return Held(Part.SHARE, source, Kind.LOADER)


def _drops_last(node: ast.Call) -> bool:
    """Whether a sampler or loader leaves out the last batch where it is not full."""
    return any(
        k.arg == "drop_last" and getattr(k.value, "value", None) is True for k in node.keywords
    )


def _ended(
    flow: Following, node: ast.Call, ending: Ending, args: list[Held], keywords: dict[str, Held]
) -> Held:
    """The outcome of a gather or reduction, where the share is one."""
    if any(k.arg == "group" for k in node.keywords):
        return _of_collective(flow, node, args)
    named = ending.parameters[ending.given : ending.given + 1]
    shared = args[ending.given : ending.given + 1] or [keywords[n] for n in named if n in keywords]
    given = shared[0] if shared else ALIKE
    part = _outcome(node, ending, given)
    source = given.source
    shape = given.items or given.fields or given.element
    result = Held(part, source, ended=node)
    if shape is not None and ending.fills is None:
        # Of a tuple or dict each element is gathered.
        items = tuple(result for _ in given.items) if given.items is not None else None
        result = result.but(items=items)
    if ending.fills is None:
        return result
    filled = _argument(node, ending, ending.fills)
    if filled is not None:
        _fill(flow, filled, result)
        _fill_views(flow, filled)
    return ALIKE


def _argument(node: ast.Call, ending: Ending, position: int) -> ast.expr | None:
    if position < len(node.args):
        return node.args[position]
    names = ending.parameters[position : position + 1]
    return next((k.value for k in node.keywords if k.arg in names), None)


def _outcome(node: ast.Call, ending: Ending, given: Held) -> Part:
    if given.part is not Part.SHARE:
        return Part.WHOLE if given.part is Part.ALIKE else given.part
    if ending.operation:
        words = [ast.unparse(k.value) for k in node.keywords if k.arg == ending.operation]
        at = ending.operation_at
        if not words and at is not None and at < len(node.args):
            words = [ast.unparse(node.args[at])]
        if words and any(mean in words[0].lower() for mean in tables.MEANS):
            return Part.WHOLE
        return Part.SUM if not words or "sum" in words[0].lower() else Part.UNKNOWN
    if ending.outcome == "padded":
        return Part.PADDED if given.source is not None and given.source.padded else Part.WHOLE
    return Part(ending.outcome)


def _fill(flow: Following, argument: ast.expr, result: Held) -> None:
    """What an argument holds after a call that puts its outcome there."""
    if not isinstance(argument, ast.Subscript):
        argument = storage_of(argument)
    path = path_of(argument)
    if path:
        kept = flow.variables.get(path)
        flow.filled.add(path)
        flow.put(path, result.but(kind=kept.kind if kept is not None else Kind.OTHER))
    elif isinstance(argument, ast.Subscript):
        flow.bind(argument.value, result)


def _of_collective(flow: Following, node: ast.Call, args: list[Held]) -> Held:
    """Another collective: nothing is known of what it is given any more, nor of what it returns."""
    for argument, held in zip(node.args, args, strict=True):
        if held.part is not Part.ALIKE:
            _fill(flow, argument, UNKNOWN)
        _fill_views(flow, argument)
    return UNKNOWN


def _fill_views(flow: Following, argument: ast.expr) -> None:
    """Nothing is known any more of the views of a tensor that a collective has filled."""
    path = path_of(storage_of(argument))
    for view in views(flow.shares.live.program, flow.function).get(path, ()):
        flow.put(view, UNKNOWN)


def _prepared(flow: Following, node: ast.Call, args: list[Held]) -> Held:
    """What `prepare` gives back: loaders give each rank its part from here on."""
    if any(isinstance(a, ast.Starred) for a in node.args):
        return ALIKE
    found = tuple(_one_prepared(flow, node, a, h) for a, h in zip(node.args, args, strict=True))
    if len(found) == 1:
        return found[0]
    return Held(items=found) if found else ALIKE


def _one_prepared(flow: Following, node: ast.Call, argument: ast.expr, held: Held) -> Held:
    of = argument.value if isinstance(argument, ast.Subscript) else argument  # `loaders["val"]`
    name = last_name(of).lower()
    named = name.endswith(("loader", "loaders", "_dl", "dataloader")) or "loader" in name
    if held.kind is not Kind.LOADER and not named:
        return held
    if isinstance(argument, ast.List | ast.Tuple | ast.ListComp):
        return ALIKE
    return _divided(flow, node, padded=held.made != _OF_FULL_BATCHES)


def _loader(node: ast.Call, args: list[Held], keywords: dict[str, Held]) -> Held:
    """A loader gives a share where its sampler or its data set is one."""
    names = ("sampler", "batch_sampler", "dataset", "**")
    given = [keywords[k] for k in names if k in keywords] + args
    share = next((held for held in given if held.is_share), None)
    if share is None:
        return Held(kind=Kind.LOADER, made=_OF_FULL_BATCHES if _drops_last(node) else None)
    source = share.source
    if source is not None and _drops_last(node):
        source = Source(source.node, source.module, source.text)
    return Held(Part.SHARE, source, Kind.LOADER)


def _length(held: Held) -> Held:
    if held.kind is Kind.LOADER:
        return Held(kind=Kind.LENGTH, source=held.source) if held.is_share else ALIKE
    return plain(held)


# -- methods and functions that no table knows -------------------------------------------------------


def _of_method(
    flow: Following, node: ast.Call, receiver: Held, args: list[Held], keywords: dict[str, Held]
) -> Held | None:
    assert isinstance(node.func, ast.Attribute)
    method, owner = node.func.attr, node.func.value
    given = [*args, *keywords.values()]
    if method in tables.EMPTY:
        # ibot da316d8 evaluation/eval_logistic_regression.py:173: `feats.new_zeros(len(dataset), …)`, filled by rank 0
        # from what was gathered.
        return PLAIN
    if receiver.made == WHOLE_METRIC:
        if method in SAME_MODEL_METHODS:
            return receiver
        return Held(Part.WHOLE) if method in ("compute", "__call__") else ALIKE
    if receiver.made == EMPTY_METRIC.made and method == "compute":
        if path := path_of(owner):
            flow.put(path, EMPTY_METRIC)
        return combined((receiver, *given)).but(made=None)
    if (found := _read_of_dict(method, receiver, args, given)) is not None:
        return found
    if tables.SYNCHRONISES.search(method):
        if receiver.part is not Part.ALIKE:
            _fill(flow, owner, UNKNOWN)
        return UNKNOWN if any(v.part is not Part.ALIKE for v in (receiver, *given)) else ALIKE
    if method in tables.KEEPS:
        kept = combined(given)
        if all(
            each.kind is not Kind.LOADER for each in given
        ):  # `loaders.append(loader)` adds nothing up
            kept = flow.shares.summed(kept, flow.module, node)
        if receiver.kind is Kind.PLAIN and path_of(owner):
            flow.keep(owner, kept)
            if method == "update" and receiver.fields is not None:
                _updated(flow, path_of(owner), receiver.fields, args, keywords)
        elif method in tables.APPENDS and (around := _container_of(flow, owner, receiver)):
            flow.keep(around, kept)
        elif kept.part is not Part.ALIKE:
            _fill(flow, owner, UNKNOWN)
        return combined((receiver, kept)) if method.endswith("_") else ALIKE
    if receiver.kind is Kind.LOADER and method in tables.SAME_DATA:
        return receiver
    if method in tables.NOT_DATA:
        return ALIKE
    if receiver.part is not Part.ALIKE:
        # A method of a tensor: `loss.item()`, `outputs.argmax(-1)`, `preds.eq(labels)`.
        return combined((receiver, *given))
    if receiver.learned and all(v.part is Part.ALIKE for v in given):
        return LEARNED  # `log_lambda.exp()`
    return None


def _read_of_dict(method: str, receiver: Held, args: list[Held], given: list[Held]) -> Held | None:
    """What a method of a dict reads from it; None for other methods."""
    if method == "get" and receiver.fields and args and isinstance(args[0].const, str):
        return receiver.fields.get(args[0].const)  # `loaders.get("val")`
    if method in ("items", "values", "keys") and not given:
        value = _values(receiver)
        pair = Held(value.part, value.source, items=(ALIKE, value), ended=value.ended)
        element = {"items": pair, "values": value, "keys": ALIKE}[method]
        return Held(element.part, element.source, element=element, ended=element.ended)
    return None


def _updated(
    flow: Following,
    path: str,
    before: Mapping[str, Held],
    args: list[Held],
    keywords: dict[str, Held],
) -> None:
    """Let a dict hold under its keys what it was updated with: `kwargs.update(sampler=sampler)`."""
    given = [*args, Held(fields=keywords)]
    if all(each.fields is not None for each in given) and "**" not in keywords:
        fields = {**before}
        for each in given:
            fields.update(each.fields or {})
        flow.variables[path] = flow.variables[path].but(fields=fields)


def _container_of(flow: Following, owner: ast.expr, element: Held) -> ast.expr | None:
    """The dict of lists to one of which something is appended; None where the element is known to be something else.

    Open3D-ML 5e81f52 ml3d/torch/pipelines/object_detection.py:196: `self.valid_losses[name].append(value)`.
    """
    match owner:
        case ast.Subscript(value=around):
            pass
        case ast.Call(func=ast.Attribute(attr="setdefault", value=around)):
            pass
        case _:
            return None
    held = flow.value(around)
    if element.made is not None or held.kind is not Kind.PLAIN or not path_of(around):
        return None
    known = [v for v in (held.fields or {}).values() if v.kind is not Kind.PLAIN]
    return around if not known else None


def _values(held: Held) -> Held:
    if held.fields and combined(held.fields.values()).part is held.part:
        return joined(held.fields.values())
    return Held(held.part, held.source, ended=held.ended)


def _of_unknown(
    flow: Following,
    node: ast.Call,
    meaning: object,
    args: list[Held],
    keywords: dict[str, Held],
) -> Held:
    name = last_name(node)
    if meaning is None and isinstance(node.func, ast.Name):
        bound = names_bound(flow.module)
        if bound is not None and name not in bound:
            return UNKNOWN  # it raises NameError: hotr d3cb632 main.py:144, `evaluate_coco()`, which is no longer imported
    given = [*args, *keywords.values()]
    # OpenDiloco a5b7236 open_diloco/train_fsdp.py:361: `enumerate(iterable=loader, start=…)`, whose index is no share.
    counted = [keywords["iterable"]] if name == "enumerate" and "iterable" in keywords else args
    if name in ("enumerate", "zip") and counted:
        return _pairs(name, counted)
    if name == "next" and args:
        if under_main_alone(flow.shares.live, flow.function, node):
            # A sample that rank 0 draws for itself is nobody's part of a pass over the data, and no rank is there
            # to put another beside it (soundstorm-pytorch 8119522 soundstorm_pytorch/trainer.py:285).
            return LEARNED
        return element_of(args[0])
    if name in tables.RUNNERS and args:
        return args[0]
    if "loader" in name.lower() and any(v.is_share for v in given):
        return _loader(node, args, keywords)
    if name in tables.EMPTY:
        return PLAIN
    if name in tables.PLAIN:
        made = combined(given)
        of = flow.shares.live.resolve(flow.module, node.args[0]) if node.args else None
        element = Held(made=of) if name == "defaultdict" and isinstance(of, Class) else None
        fields = keywords if name == "dict" and keywords and not args else None
        return made.but(kind=Kind.PLAIN, element=element, fields=fields)
    held = combined(given)
    if held.part is Part.ALIKE:
        return LEARNED if meaning is None or held.learned else ALIKE
    if isinstance(meaning, str) and (
        meaning.startswith(tables.LOCAL_LIBRARIES) or facts.is_builtin(meaning)
    ):
        return held
    if isinstance(meaning, str) and meaning.startswith(tables.DISTRIBUTED_LIBRARIES):
        return UNKNOWN
    if tables.SYNCHRONISES.search(name) or name in tables.ASKS:
        return UNKNOWN if held.part in _NOT_OF_ALL else held
    if isinstance(node.func, ast.Attribute) and meaning is None:
        if name in flow.shares.empty:
            return ALIKE
        if held.part in _NOT_OF_ALL and name in flow.shares.live.answer(merging):
            return UNKNOWN
    # `model(batch)`, `criterion(output, target)`, `scheduler.add_noise(…)`: objects that the program
    # was given. What puts shares together says so in its name.
    return held


_NOT_OF_ALL: Final = frozenset({Part.SHARE, Part.SUM, Part.PADDED})


def _pairs(name: str, args: list[Held]) -> Held:
    found = map(element_of, args)
    each = pair(next(found)) if name == "enumerate" else _together(tuple(found))
    return Held(each.part, each.source, element=each)


def pair(element: Held) -> Held:
    """What `enumerate` gives in each turn: a number that says nothing of the data, and the element."""
    return _together((ALIKE, element))


def _together(items: tuple[Held, ...]) -> Held:
    return combined(items).but(items=items)
