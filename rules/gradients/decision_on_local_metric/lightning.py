"""Metrics that a LightningModule logs in validation, and that decide about checkpoints."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from distlint.analysis.live.processes import is_of_tests
from distlint.analysis.program.definitions import Class, dotted_name, last_name
from distlint.analysis.program.handed import argument_of
from distlint.analysis.program.syntax import assignments, default_of, own_nodes
from distlint.analysis.questions.lightning import (
    is_trained_on_one,
    leaves_data_whole,
    never_validates,
    trains_on_one,
)
from distlint.nodes import walk
from distlint.records import dataclass

from .configured import Watched, watched_beside, watched_in_runs

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module

MODULES: Final = ("LightningModule",)
_METHODS: Final = frozenset(
    {"validation_step", "validation_epoch_end", "on_validation_epoch_end", "validation_step_end"}
)
_SAME_EVERYWHERE: Final = ("lr", "learning_rate", "step", "epoch", "scale", "norm")
"""Ends of the names of numbers that all ranks have alike."""
_REDUCES: Final = ("reduce", "gather", "broadcast", "average_losses")
_TOGETHER: Final = ("compute", "all_gather", "all_reduce", "reduce")
_ON_THE_CPU: Final = frozenset({"tensor", "zeros", "ones", "Tensor", "FloatTensor"})
"""What makes a tensor on the CPU unless it is told a device."""
_DEPTH: Final = 2
"""Methods between a validation and what logs for it."""
SYNCED: Final = frozenset({"sync_dist", "rank_zero_only", "reduce_fx", "sync_dist_group"})


@dataclass(frozen=True, slots=True, eq=False)
class Logged:
    """A metric of a rank's share that a module logs: the call, and what watches it."""

    module: Module
    call: ast.Call
    monitored: bool
    """Whether a checkpoint or stopper is known to watch it; else the class keeps the name of a monitor, which is not
    known: threestudio extern/ldm_zero123/models/autoencoder.py, loaded frozen, which no Trainer is given."""
    shown: bool = False
    """Whether its repair is only shown: where it is logged may be a step that some ranks leave out."""
    on_device: bool = True
    """Whether the values of a dict are known to be where the model is: NCCL reduces no tensor of the CPU."""
    among: bool = False
    """Whether it is a dict with what is watched in it."""


def logged(model: Model) -> Iterator[Logged]:
    """The metrics of validation that nothing synchronises, where something watches them."""
    for module in model.modules:
        if (
            "def validation_" not in module.source.text
            and "validation_epoch" not in module.source.text
        ):
            continue
        if leaves_data_whole(module) or trains_on_one(module):
            continue
        # What the file's own Trainer watches counts, where it has one: asteroid 92c8d83
        # egs/wsj0-mix-var/Multi-Decoder-DPRNN/train.py:85 watches another metric than the other recipes.
        own = frozenset(name for _, name in _watched_in(module))
        for cls in module.all_classes:
            if not any(base.endswith(MODULES) for base in model.program.mro(cls)[1]):
                continue
            if never_validates(model.program, cls) or is_trained_on_one(model.program, cls):
                continue
            kin = [cls, *model.program.subclasses(cls)]
            watched = (own or _watched(model, cls)) | watched_in_runs(model, kin)
            seen: set[int] = set()
            for method in (cls.methods[name] for name in sorted(_METHODS & cls.methods.keys())):
                yield from _of_method(model, cls, method, watched)
                for each in _of_helpers(model, cls, method, watched):
                    if id(each.call) not in seen:
                        seen.add(id(each.call))
                        yield each


def unsynced(model: Model) -> Iterator[tuple[Module, ast.Call]]:
    """The calls of `self.log` that ask for a reduction, and for rank 0 alone in the same breath.

    `_Sync` of Lightning then does nothing. trlx 3340c2f trlx/models/modeling_nemo_ilql.py:597.
    """
    for module in model.modules:
        text = module.source.text
        if "rank_zero_only=True" not in text or "sync_dist=True" not in text:
            continue
        for function in module.all_functions:
            calls = own_nodes(function, ast.Call)
            if _is_overridden(model, function):
                continue
            if any(word in last_name(call) for call in calls for word in _REDUCES):
                continue
            for call in calls:
                group = model.call_at(call)
                alone = group is not None and group.guarded_by_rank
                if not alone and _asks_for_both(call):
                    yield module, call


def _is_overridden(model: Model, method: Function) -> bool:
    """Whether all classes that derive from a method's have one of their own in its place, and nothing makes that class itself.

    HumanTOMATO b5ccf06 OpenTMA/tma/models/modeltype/base.py:164: TEMOS has its own `allsplit_epoch_end()`.
    """
    cls = method.cls
    below = model.program.subclasses(cls) if cls is not None else ()
    if cls is None or not below:
        return False
    return all(
        model.program.find_method(each, method.name) is not method
        and not any(
            isinstance(node.func, ast.Attribute)
            and node.func.attr == method.name
            and isinstance(node.func.value, ast.Call)
            for own in each.methods.values()
            for node in own_nodes(own, ast.Call)
        )
        for each in below
    ) and not any(
        last_name(call.func) == cls.name
        for module in model.program.modules.values()
        if f"{cls.name}(" in module.source.text
        for call in walk(module.source.tree, ast.Call)
    )


def _asks_for_both(call: ast.Call) -> bool:
    if dotted_name(call.func) not in ("self.log", "self.log_dict") or not call.args:
        return False
    true = {
        keyword.arg
        for keyword in call.keywords
        if isinstance(keyword.value, ast.Constant) and keyword.value.value is True
    }
    if not {"sync_dist", "rank_zero_only"} <= true:
        return False
    match call.args[0]:
        case ast.Constant(value=str(name)) if name.endswith(_SAME_EVERYWHERE):
            return False
    return len(call.args) < 2 or not _gathers_itself(call.args[1])


def _watched(model: Model, cls: Class) -> frozenset[str]:
    """The names that checkpoints and stoppers which may belong to a module watch, where they are written out.

    3DTopia be8562d model/auto_regressive.py:342: the `monitor="val/loss"` of another module watches another loss.
    """
    kin = {*model.program.mro(cls)[0], *model.program.subclasses(cls)}
    beside = _beside(model, cls)
    handed = beside.handed if model.answer(_hands_monitor_on) else frozenset()
    return (
        handed
        | beside.names
        | frozenset(
            name
            for name, owners in model.answer(_watchers)
            if not owners or not owners.isdisjoint(kin)
        )
    )


def _beside(model: Model, cls: Class) -> Watched:
    """What the configurations that name a class, or one that derives from it, have watched."""
    return watched_beside(model.launch, [cls, *model.program.subclasses(cls)])


def _watchers(live: LiveProgram) -> tuple[tuple[str, frozenset[Class]], ...]:
    """The names that the program has watched, each with the LightningModule that says so, or those that the function makes
    which says so; none where it is not known for which.

    Not those of tests: nni 767ed7f test/ut/sdk/test_serializer.py:288 only looks how a stopper is written down. In
    lightning-bolts 2c4602a src/pl_bolts/models/self_supervised/swav/swav_module.py:487 is one of another script's model.
    """
    found: list[tuple[str, frozenset[Class]]] = []
    for module in live.program.modules.values():
        if "monitor" not in module.source.text or is_of_tests(module):
            continue
        owners: dict[ast.AST, frozenset[Class]] = {}
        for function in module.all_functions:
            made = frozenset(
                cls
                for call in own_nodes(function, ast.Call)
                if isinstance(cls := live.resolve(module, call.func), Class)
                and _is_module(live, cls)
            )
            if made and not function.is_module_body:
                owners |= dict.fromkeys(own_nodes(function, ast.keyword, ast.Dict), made)
        for cls in module.all_classes:
            if _is_module(live, cls):
                owners |= dict.fromkeys(walk(cls.node), frozenset({cls}))
        nothing = frozenset[Class]()
        found += ((name, owners.get(node, nothing)) for node, name in _watched_in(module))
    return tuple(found)


def _is_module(live: LiveProgram, cls: Class) -> bool:
    return any(base.endswith(MODULES) for base in live.program.mro(cls)[1])


def _watched_in(module: Module) -> Iterator[tuple[ast.AST, str]]:
    """The names that are written out in one file, each with where that is."""
    if "monitor" not in module.source.text:
        return
    for node in walk(module.source.tree, ast.keyword, ast.Dict):
        match node:
            case ast.keyword(arg="monitor", value=ast.Constant(value=str() as name)):
                yield node, name
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    match key, value:
                        case ast.Constant(value="monitor"), ast.Constant(value=str() as name):
                            yield node, name
    for function in module.all_functions:
        match default_of(function, "monitor"):
            case ast.Constant(value=str() as name) as default:
                yield default, name


def _of_method(
    model: Model, cls: Class, method: Function, watched: frozenset[str]
) -> Iterator[Logged]:
    said = False
    named = any(
        last_name(node.func) == "log" and _text_of(node.args[0], {}) in watched
        for node in own_nodes(method, ast.Call)
        if node.args
    )
    for node in own_nodes(method):
        if not isinstance(node, ast.Call) or dotted_name(node.func) not in (
            "self.log",
            "self.log_dict",
        ):
            continue
        if not node.args or any(k.arg is None or k.arg in SYNCED for k in node.keywords):
            if last_name(node.func) == "log_dict" and _is_logged_by_all(model, node):
                yield from _of_entries(model, cls, method, node, watched)
            continue
        if last_name(node.func) == "log_dict":
            found = list(_of_entries(model, cls, method, node, watched))
            yield from found
            if (
                not found
                and "monitor" in cls.self_assigned
                and not isinstance(node.args[0], ast.Dict)
            ):
                on_device = _is_on_device(model, cls, method, node.args[0], frozenset())
                among = not (said or named) and _is_watched_by_itself(model, cls)
                said = said or among
                yield Logged(method.module, node, among, on_device=on_device, among=among)
            continue
        value = node.args[1] if len(node.args) > 1 else None
        if value is None or put_together(model, cls, method, value):
            continue
        match node.args[0]:
            case ast.Constant(value=str() as name) if name in watched:
                yield Logged(method.module, node, True, shown=_is_logged_again(method, value))


def _is_logged_again(method: Function, value: ast.expr) -> bool:
    """Whether a method logs the dict as well whose entry it logs: of one key Lightning takes one set of arguments.

    lightning 2.5.1 pytorch/trainer/connectors/logger_connector/result.py, `_ResultCollection.log`. DiffViewTrans af2f5cc
    ldm/models/autoencoder.py:387.
    """
    return isinstance(value, ast.Subscript) and any(
        dotted_name(call.func) == "self.log_dict"
        and any(dotted_name(given) == dotted_name(value.value) != "" for given in call.args[:1])
        for call in own_nodes(method, ast.Call)
    )


def _is_logged_by_all(model: Model, call: ast.Call) -> bool:
    """Whether all ranks log although `rank_zero_only` says otherwise, which only keeps their values apart.

    lightning 2.5.1 pytorch/trainer/connectors/logger_connector/result.py:92.
    """
    group = model.call_at(call)
    return (
        {k.arg for k in call.keywords} & SYNCED == {"rank_zero_only"}
        and all(k.arg is not None for k in call.keywords)
        and not (group is not None and group.guarded_by_rank)
    )


def _of_entries(
    model: Model, cls: Class, method: Function, call: ast.Call, watched: frozenset[str]
) -> Iterator[Logged]:
    """A dict that is put together in the method, with an entry in it that something watches.

    foldingdiff 18c8653 foldingdiff/modelling.py:749: `loss_dict["val_loss"] = avg_loss`, `self.log_dict(loss_dict, …)`.
    """
    values = [value for key, value in _entries(method, call.args[0]) if key in watched]
    if values and not any(put_together(model, cls, method, value) for value in values):
        yield Logged(method.module, call, True, shown=True)


def _entries(method: Function, made: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The entries of a dict whose keys are written out, where it is made or put into it in the method."""
    name = made.id if isinstance(made, ast.Name) else ""
    for value in assignments(method).get(name, ()) if name else (made,):
        if isinstance(value, ast.Dict):
            for key, entry in zip(value.keys, value.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, entry
    for node in own_nodes(method, ast.Assign) if name else ():
        match node:
            case ast.Assign(
                targets=[
                    ast.Subscript(value=ast.Name(id=owner), slice=ast.Constant(value=str() as text))
                ],
                value=put,
            ) if owner == name:
                yield text, put


def _is_watched_by_itself(model: Model, cls: Class) -> bool:
    """Whether a module says by default or by a configuration what a checkpoint is to watch, the program hands that on to
    one, and the module synchronises nothing that it logs.

    stable-diffusion 21f890f ldm/models/diffusion/ddpm.py:54 has `monitor="val/loss"`, and main.py:580
    `default_modelckpt_cfg["params"]["monitor"] = model.monitor`.
    """
    init = model.program.find_method(cls, "__init__")
    default = default_of(init, "monitor") if init is not None else None
    beside = _beside(model, cls)
    return (
        (
            (isinstance(default, ast.Constant) and isinstance(default.value, str))
            or bool(beside.handed)
        )
        and not beside.always_otherwise
        and model.answer(_hands_monitor_on)
        and _is_made(model, cls)
        and not any(
            keyword.arg == "sync_dist"
            for each in model.program.mro(cls)[0]
            for method in each.methods.values()
            for node in own_nodes(method, ast.Call)
            for keyword in node.keywords
        )
    )


def _is_made(model: Model, cls: Class) -> bool:
    """Whether a configuration or a call names a class, or one that derives from it.

    LightningDiT 2725fed vavae/ldm/models/diffusion/ddpm.py came with the autoencoder, and nobody makes what is in it.
    """
    names = {cls.name, *(each.name for each in model.program.subclasses(cls))}
    return any(
        dotted.rpartition(".")[2] in names
        for module in model.program.modules.values()
        for dotted in module.source.named
    ) or any(
        isinstance(node, ast.Call) and last_name(node) in names
        for module in model.program.modules.values()
        if any(f"{name}(" in module.source.text for name in names)
        for node in walk(module.source.tree)
    )


def _hands_monitor_on(live: LiveProgram) -> bool:
    """Whether the program has a checkpoint or stopper watch what an object names: `monitor=model.monitor`."""
    for module in live.program.modules.values():
        if ".monitor" in module.source.text and not is_of_tests(module):
            for node in walk(module.source.tree, ast.keyword, ast.Assign):
                match node:
                    case (
                        ast.keyword(arg="monitor", value=ast.Attribute(attr="monitor"))
                        | ast.Assign(
                            targets=[ast.Subscript(slice=ast.Constant(value="monitor"))],
                            value=ast.Attribute(attr="monitor"),
                        )
                    ):
                        return True
    return False


def _of_helpers(
    model: Model,
    cls: Class,
    method: Function,
    watched: frozenset[str],
    told: Mapping[str, str | None] = MappingProxyType({}),
    depth: int = _DEPTH,
) -> Iterator[Logged]:
    """The same in the methods that a validation calls, whose arguments may be part of the name of what is logged.

    facebookresearch/recipes fb47e15 torchrecipes/audio/source_separation/module/conv_tasnet.py:94:
    `self._step(batch, subset="val")`, and `self.log(f"losses/{subset}_loss", …)` there. Or in what that calls:
    nuplan-devkit e9241ef nuplan/planning/training/modeling/lightning_module_wrapper.py:80, `self._log_step(loss, …, prefix)`.
    """
    for call in own_nodes(method, ast.Call):
        helper = _method_of(model, cls, call)
        if helper is None or helper.name == "forward" or helper.name in _METHODS:
            continue
        given = {name: _text_given(call, helper, name, told) for name in helper.parameters}
        for node in own_nodes(helper, ast.Call):
            if (
                dotted_name(node.func) == "self.log"
                and len(node.args) > 1
                and not any(k.arg is None or k.arg in SYNCED for k in node.keywords)
                and _text_of(node.args[0], given) in watched
                and not put_together(model, cls, helper, node.args[1])
            ):
                yield Logged(helper.module, node, True, shown=True)
        if depth:
            yield from _of_helpers(model, cls, helper, watched, given, depth - 1)


def _text_given(
    call: ast.Call, helper: Function, name: str, told: Mapping[str, str | None]
) -> str | None:
    """The text that a call gives for a parameter, or that is its default."""
    given = argument_of(call, helper, name) or default_of(helper, name)
    return _text_of(given, told) if given is not None else None


def _text_of(node: ast.expr, told: Mapping[str, str | None]) -> str | None:
    """The text of an expression that puts parameters into it: `f"{stage}_loss"`."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name) | ast.FormattedValue(value=ast.Name(id=name), format_spec=None):
            return told.get(name)
        case ast.JoinedStr(values=values):
            parts = [_text_of(value, told) for value in values]
            return "".join(p for p in parts if p is not None) if None not in parts else None
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text_of(ast.JoinedStr([left, right]), told)
    return None


def _is_on_device(
    model: Model, cls: Class, method: Function, made: ast.expr, seen: frozenset[Function]
) -> bool:
    """Whether the class itself puts a dict together, and of no tensor without a device.

    taming-transformers taming/modules/losses/vqperceptual.py: `torch.tensor(disc_factor)` in what `self.loss(...)`
    gives back, and the class of `self.loss` comes from a configuration.
    """
    values = [made]
    for node in walk(made, ast.Name):
        values += assignments(method).get(node.id, [])
    calls = [n for value in values for n in walk(value, ast.Call)]
    followed = [_method_of(model, cls, call) for call in calls]
    if not calls or any(f is None for f in followed):
        return False
    return all(
        f is None or f in seen or _makes_on_device(model, cls, f, seen | {method}) for f in followed
    )


def _makes_on_device(model: Model, cls: Class, method: Function, seen: frozenset[Function]) -> bool:
    """Whether a method makes no tensor without a device, nor do the methods whose results it hands on."""
    for node in own_nodes(method, ast.Call):
        if last_name(node) in _ON_THE_CPU and all(
            keyword.arg != "device" for keyword in node.keywords
        ):
            return False
    handed = [n.value for n in own_nodes(method, ast.Return) if n.value]
    names = {n.id for value in handed for n in walk(value, ast.Name)}
    assigned = [value for name in names for value in assignments(method).get(name, [])]
    return all(
        (followed := _method_of(model, cls, value)) is None
        or followed in seen
        or _makes_on_device(model, cls, followed, seen | {method})
        for value in (*handed, *assigned)
        if isinstance(value, ast.Call)
    )


def _method_of(model: Model, cls: Class, call: ast.Call) -> Function | None:
    """The method of the class that `self.name(...)` calls; of `self(...)`, its `forward`."""
    match call.func:
        case ast.Name(id="self"):
            name = "forward"
        case ast.Attribute(value=ast.Name(id="self"), attr=attr):
            name = attr
        case _:
            return None
    return model.program.find_method(cls, name)


def put_together(model: Model, cls: Class, method: Function, value: ast.expr) -> bool:
    """Whether the ranks' values are put together before they are logged, or by the object that is."""
    return (
        _gathers_itself(value)
        or _is_constant(method, value)
        or _is_of_metric(model, cls, method, value)
    )


def _is_constant(method: Function, value: ast.expr) -> bool:
    """Whether a value is a variable that holds what is written out, and that nothing is added to.

    OnePose 59b8838 src/models/GATsSPG_lightning_model.py:70: `loss_mean = 0`.
    """
    if not isinstance(value, ast.Name):
        return False
    held = assignments(method).get(value.id, ())
    added = (n.target for n in own_nodes(method, ast.AugAssign))
    return (
        bool(held)
        and all(isinstance(each, ast.Constant) for each in held)
        and not any(isinstance(each, ast.Name) and each.id == value.id for each in added)
    )


def _gathers_itself(value: ast.expr) -> bool:
    """Whether a value is a metric object of the module, or what one computed: those synchronise."""
    match value:
        case ast.Attribute(value=ast.Name(id="self")):
            return True
        case ast.Constant():
            return True
    return bool(_gathering(value))


def _gathering(value: ast.expr) -> list[ast.Call]:
    """The calls in an expression that put together what the ranks have."""
    return [n for n in walk(value, ast.Call) if last_name(n) in _TOGETHER]


def _is_of_metric(model: Model, cls: Class, method: Function, value: ast.expr) -> bool:
    """Whether a value is of a variable of what a metric computed over the ranks, or of what was gathered.

    ST-P3 6b11e13 stp3/trainer.py:380: `scores = self.metric_vehicle_val.compute()`, and `scores[1]` is logged.
    """
    assigned = assignments(method)
    return any(
        all(
            any(_is_of_all(model, cls, call) for call in _gathering(each))
            for each in assigned[node.id]
        )
        for node in walk(value, ast.Name)
        if node.id in assigned
    )


def _is_of_all(model: Model, cls: Class, call: ast.Call) -> bool:
    """Whether a call is no `compute()` of a class of the program that has no states of torchmetrics."""
    owner = dotted_name(call.func).rpartition(".")[0]
    makers = cls.self_assigned.get(owner.removeprefix("self."), ())
    for maker in makers if last_name(call) == "compute" else ():
        for made in assignments(maker).get(owner, ()):
            if isinstance(made, ast.Call):
                meaning = model.resolve(maker.module, made.func)
                if isinstance(meaning, Class) and not _is_synchronised(model, meaning):
                    return False
    return True


def _is_synchronised(model: Model, metric: Class) -> bool:
    """Whether a class of the program is a metric of torchmetrics, and registers what it counts: `add_state(...)`."""
    classes, bases = model.program.mro(metric)
    return any(base.endswith(".Metric") for base in bases) and any(
        isinstance(node, ast.Call) and last_name(node) == "add_state"
        for each in classes
        for method in each.methods.values()
        for node in own_nodes(method)
    )
