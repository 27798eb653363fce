"""What takes the place of a wrapper where the launch puts none on: a project's own class that keeps the model as `module`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class
from distlint.analysis.program.handed import argument_of
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, literals, own_nodes
from distlint.analysis.questions.built import classes_of, lacks
from distlint.analysis.questions.unwrapped import owns_module
from distlint.analysis.questions.wrapped import asks_for_launch
from distlint.knowledge.conventions import SAME_MODEL_METHODS
from distlint.knowledge.schema import Effect
from distlint.knowledge.wrappers import WRAPPERS
from distlint.nodes import last_name, parents_in, walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import AttributeSite, CallSite, Guard
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.program.program import Program

_WITH_MODULE: Final = frozenset(
    (
        *WRAPPERS["ddp"].classes,
        *WRAPPERS["dp"].classes,
        *WRAPPERS["fsdp1"].classes,
        "apex.parallel.DistributedDataParallel",
        "apex.parallel.distributed.DistributedDataParallel",
    )
)
"""Classes that keep the model as `module`; apex's own does, too (apex 0.1 apex/parallel/distributed.py:129)."""
_OF_DDP_ALONE: Final = frozenset(
    {
        "require_forward_param_sync",
        "require_backward_grad_sync",
        "reducer",
        "find_unused_parameters",
    }
)
"""What torch's DDP keeps, and no model does (torch 2.13.0 torch/nn/parallel/distributed.py)."""
_PARALLEL: Final = pattern(r"DataParallel$")
"""The end of the names that classes have after torch's DataParallel, which keeps the model as `module`."""
_KEEP_NO_MODULE: Final = ("peft.", "transformers.", "ema_pytorch.", "diffusers.")
"""Libraries whose classes around a model keep it under other names (peft 0.21.2 peft_model.py: `base_model`; ema_pytorch
0.7.7 ema_pytorch.py: `ema_model`)."""
_FOR_CPU: Final = pattern(r"(?i)(?:^|_)(?:cpu|no_?(?:cuda|gpu))(?:_|$)")
"""Words of options that keep a program off GPUs."""
_RETURNED: Final = "return"
_MAKES_OR_ENDS: Final = frozenset(
    {"torch.distributed.init_process_group", "torch.distributed.destroy_process_group"}
)
_ASK_GROUP: Final = frozenset({"torch.distributed.get_rank", "torch.distributed.get_world_size"})
"""They raise ValueError without a process group (torch 2.13.0 distributed_c10d.py, `_get_default_group()`)."""
_OF_LAUNCH: Final = frozenset({"world_size", "initialized", "rank"})
"""What a condition that asks how the program is launched is told by."""
_SAYS_IF_SAME: Final = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
_CALLERS: Final = 4
"""So many callers above one another are asked."""
_CALLS: Final = 2
"""Through so many calls a collective is looked for."""


def module_on_every_path(live: LiveProgram, wrap: CallSite | None) -> bool:
    """Whether a wrap stands under a condition on whose other side something else with a `module` takes its place.

    imaginaire c6f7480 imaginaire/utils/trainer.py:198: DDP where there is a process group, else the project's
    `WrappedModel(model)`, for `.module` to hold on one process, too.
    """
    if wrap is None:
        return False
    function = wrap.function
    parents = parents_in(function.node)
    node: ast.AST = wrap.node
    sinks: set[str] = set()
    found = False
    while node is not function.node:
        above = parents.get(id(node))
        if above is None:
            return False
        match above:
            case ast.IfExp(body=body, orelse=orelse) if node in (body, orelse):
                if not _has_module(live, function, orelse if node is body else body):
                    return False
                found = True
            case ast.Return():
                sinks = {_RETURNED}
            case ast.Assign(targets=targets):
                sinks = {ast.unparse(target) for target in targets}
            case ast.If(test=test, body=body, orelse=orelse) if node is not test:
                block = _block_with(parents, above)
                arm, other = (body, orelse) if node in body else (orelse, body)
                if isinstance(arm[-1], ast.Return) and _names_one(arm[-1].value, sinks):
                    sinks = {_RETURNED}
                at = block.index(above)
                # What stands in front holds where no arm does, what stands behind is come to where nothing was returned.
                before, behind = block[:at], (block[at + 1 :] if sinks == {_RETURNED} else [])
                if not _gives(live, function, (*other, *behind), sinks) and not (
                    sinks != {_RETURNED}
                    and not _changes(other, sinks)
                    and _gives(live, function, before, sinks)
                ):
                    return False
                found = True
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                return found
        node = above
    return found


def _names_one(value: ast.expr | None, sinks: set[str]) -> bool:
    """Whether what is returned is what an arm has wrapped.

    ace 57c54a7 fme/core/distributed/model_torch_distributed.py:361: `wrapped = DistributedDataParallel(…)`, a hook, and
    `return wrapped`, below which a class of the project takes the place of DDP.
    """
    return value is not None and ast.unparse(value) in sinks


def needs_group(live: LiveProgram, site: AttributeSite, wrap: CallSite | None) -> bool:
    """Whether whoever reads the `module` meets the others on torch's default group, under no other condition.

    Where the flag that wraps the model is off, there is no group, and the program has ended or ends of that: no launch that
    works leaves the model bare. mPLUG c666bfa caption_mplug_scst.py:123, `save_result()` with its `dist.barrier()` stands
    above; grounding_mplug.py:175, `dist.all_reduce()` below. A number of ranks may be 1 where there is a group.
    """
    if wrap is None or not wrap.guards or any(map(_compares, wrap.guards)):
        return False
    around = {
        id(loop)
        for loop in own_nodes(site.function, ast.For, ast.While)
        if loop.lineno < site.node.lineno <= (loop.end_lineno or 0)
    }
    callers = live.callers.get(site.function, ())
    return (
        _meets(live, site.function, _held(site.guards), around, _CALLS)
        or (bool(callers) and all(_caller_meets(live, call) for call in callers))
        or (_makes_group_too(live, wrap) and fails_without_group(live, site))
    )


def _makes_group_too(live: LiveProgram, wrap: CallSite) -> bool:
    """Whether the flag under which a function wraps a model is the one under which it makes the group.

    EnCodec_Trainer c0df846 train_multi_gpu.py:137: `if config.data_parallel:` has both, and each step asks for `dist.get_rank()`.
    """
    flags = _written(wrap)
    made = [
        call.site
        for call in live.calls("torch.distributed.init_process_group", module=wrap.module)
        if call.site.function is wrap.function
    ]
    return bool(made) and not any(flags.isdisjoint(_written(site)) for site in made)


def _written(site: CallSite) -> set[tuple[str, bool]]:
    """The conditions around a call, as written."""
    return {(ast.unparse(guard.node), guard.taken) for guard in site.guards if not guard.exits}


def asks_for_group_alone(wrap: CallSite | None) -> bool:
    """Whether a wrap stands under no condition but that there is a process group."""
    held = [guard for guard in wrap.guards if not guard.exits] if wrap is not None else []
    return bool(held) and all(g.taken and "initialized" in g.value.tags for g in held)


def meets_in_some_step(live: LiveProgram, function: Function) -> bool:
    """Whether a function meets the others on torch's default group at some time, and asks neither for one nor for ranks.

    `torchrun` sets LOCAL_RANK, by which accelerate wraps on one process as well (accelerate 1.15.0 state.py:769). Where it
    wraps nothing there is no group either, and such a program ends of that: UniVLA 0ab9e9d vla-scripts/finetune_calvin.py:519,
    `dist.barrier()` in each step that saves.
    """
    summaries = live.summaries_of(function)
    return summaries is not None and any(
        _of_default_group(call)
        and not call.tries
        and all(_OF_LAUNCH.isdisjoint(guard.value.tags) for guard in call.guards)
        for _, summary in summaries.summaries()
        for call in summary.calls
        if call.function is function
    )


def fails_without_group(live: LiveProgram, site: AttributeSite) -> bool:
    """Whether whoever comes to the read has called what torch refuses where there is no process group, on the way there.

    A launch that leaves the model bare makes no group. multi_modal 3804a5c train_accelerate.py:141, behind a step of a model
    whose `forward` asks for `dist.get_rank()`. What stands in each so many steps a short run may not come to.
    """
    return _refused_above(live, site.function, site.node.lineno, site.guards, _CALLERS)


def _refused_above(
    live: LiveProgram, function: Function, line: int, guards: Iterable[Guard], callers: int
) -> bool:
    """Whether a function comes to such a call above a line, or all that call it do."""
    held = _held(guards)
    summaries = live.summaries_of(function)
    if summaries is not None and any(
        call.function is function
        and call.node.lineno < line
        and not call.tries
        and all((id(g.node), g.taken) in held for g in call.guards)
        and _is_refused(live, call, _CALLS)
        for _, summary in summaries.summaries()
        for call in summary.calls
    ):
        return True
    above = live.callers.get(function, ()) if callers else ()
    return bool(above) and all(
        _refused_above(live, c.function, c.node.lineno, c.guards, callers - 1) for c in above
    )


def _is_refused(live: LiveProgram, call: CallSite, calls: int) -> bool:
    """Whether a call needs the default group, by itself or in what it runs under no condition."""
    if _of_default_group(call) or (call.name in _ASK_GROUP and not call.node.args):
        return True
    called = _forward(live, call) if call.name == "forward" else call.callee
    summaries = live.summaries_of(called) if called is not None and calls else None
    if called is None or summaries is None:
        return False
    asserted = {id(node.test) for node in own_nodes(called, ast.Assert)}
    return any(
        each.function is called
        and not each.tries
        and not each.loops
        and asserted.issuperset(id(guard.node) for guard in each.guards)
        and _is_refused(live, each, calls - 1)
        for _, summary in summaries.summaries()
        for each in summary.calls
    )


def _forward(live: LiveProgram, call: CallSite) -> Function | None:
    """The `forward` of the model that a call runs."""
    kind = call.receiver.type if call.receiver is not None else None
    cls = live.summaries.classes.get(kind) if kind is not None else None
    return live.program.find_method(cls, "forward") if cls is not None else None


def made_to_wrap(live: LiveProgram, site: AttributeSite, wrap: CallSite | None) -> bool:
    """Whether the function that reads makes the object that wraps, and tells its constructor each time to do so.

    SIMPL 2a33314 train_ddp.py:72: `Loader(args, device, is_ddp=True, …)`, whose method wraps `if self.is_ddp:`, for another
    script to load the model without.
    """
    cls = wrap.function.cls if wrap is not None else None
    init = cls.methods.get("__init__") if cls is not None else None
    if wrap is None or init is None or not wrap.guards:
        return False
    told: set[str] = set()
    for guard in wrap.guards:
        for part, holds in literals(guard.node, guard.taken):
            match assignments(init).get(ast.unparse(part), []):
                case [ast.Name(id=name)] if (
                    holds
                    and name in init.parameters
                    and _stores(live.program, last_name(part)) == 1
                ):
                    told.add(name)
                case _:
                    return False
    made = [
        node
        for node in own_nodes(site.function, ast.Call)
        if live.resolve(site.module, node.func) is cls
    ]
    given = [argument_of(call, init, name) for call in made for name in told]
    return bool(given) and all(isinstance(g, ast.Constant) and g.value is True for g in given)


@remembered
def _stores(program: Program, name: str) -> int:
    """How often a program puts something into an attribute of a name."""
    return sum(
        node.attr == name and not isinstance(node.ctx, ast.Load)
        for module in program.modules.values()
        if name in module.source.text
        for node in walk(module.source.tree, ast.Attribute)
    )


def wrapped_in_each_way(live: LiveProgram, site: AttributeSite, wrap: CallSite | None) -> bool:
    """Whether an option that says nothing of the launch chooses where the model is wrapped, and both ways wrap it above the read.

    CT-Net 83badd6 main.py:159 wraps the new model `if not args.resume`, and line 182, `if args.resume`, the one that is
    loaded: the loop behind reads `model.module` of either.

    Args:
        live: the program.
        site: the read.
        wrap: the wrap of which the read is.
    """
    if wrap is None:
        return False
    ways = [
        {
            (ast.unparse(part), holds)
            for g in each.guards
            for part, holds in literals(g.node, g.taken)
        }
        for each in _wraps_alike(live, wrap)
        if site.function is not wrap.function or each.order < site.order
    ]
    ways = [way for way in ways if not any(asks_for_launch(text) for text, _ in way)]
    return any((text, not holds) in other for way in ways for other in ways for text, holds in way)


def _wraps_alike(live: LiveProgram, wrap: CallSite) -> Iterator[CallSite]:
    """The calls of a function that put the same variable into the same wrapper, and the wrapper in its place."""
    wrapped = last_name(wrap.node.args[0]) if wrap.node.args else ""
    for node in own_nodes(wrap.function, ast.Assign):
        if wrapped and [last_name(target) for target in node.targets] == [wrapped]:
            for call in walk(node.value, ast.Call):
                made = live.call_at(call)
                inside = last_name(call.args[0]) if call.args else ""
                if made is not None and made.site.name == wrap.name and inside == wrapped:
                    yield made.site


def ends_where_bare(live: LiveProgram, site: AttributeSite, wrap: CallSite | None) -> bool:
    """Whether a number that is -1 where no launcher starts the ranks leaves the model bare, and all that lead to the read have met the others then.

    SimXNS 0163380 MASTER/finetune/wiki/inference_de.py:151 wraps under `args.local_rank != -1`, and `main()` comes to
    `if args.local_rank != 0: dist.barrier()` first, which raises without a group.
    """
    paths = {path for g in (wrap.guards if wrap is not None else ()) if (path := _numbered(g))}
    return any(_meets_as(live, site.function, path, _CALLERS) for path in paths)


def _numbered(guard: Guard) -> str:
    """What is compared with -1 by a condition that does not hold then; empty for another one."""
    match guard.node:
        case ast.Compare(left=left, ops=[ast.NotEq() | ast.Eq() as sign], comparators=[other]):
            if ast.unparse(other) == "-1" and guard.taken is isinstance(sign, ast.NotEq):
                return ast.unparse(left)
    return ""


def _meets_as(live: LiveProgram, function: Function, path: str, callers: int) -> bool:
    """Whether a function, or all that lead to it, enter a collective of the default group where a number is -1."""
    summaries = live.summaries_of(function)
    if summaries is not None and any(
        _of_default_group(call)
        and not call.tries
        and all(_holds_as(guard, path) for guard in call.guards)
        for _, summary in summaries.summaries()
        for call in summary.calls
        if call.function is function
    ):
        return True
    above = live.callers.get(function, ()) if callers else ()
    return bool(above) and all(_meets_as(live, c.function, path, callers - 1) for c in above)


def _holds_as(guard: Guard, path: str) -> bool:
    """Whether a condition on a number comes out as it was taken where the number is -1."""
    match guard.node:
        case ast.Compare(left=left, ops=[sign], comparators=[other]) if ast.unparse(left) == path:
            with suppress(ValueError):
                known = ast.literal_eval(other)
                is_in = -1 in known if isinstance(known, list | tuple) else known == -1
                holds = is_in is isinstance(sign, ast.Eq | ast.In)
                return isinstance(sign, _SAYS_IF_SAME) and holds is guard.taken
    return False


def needs_gpu(live: LiveProgram, site: AttributeSite, wrap: CallSite | None) -> bool:
    """Whether an option that keeps off GPUs alone leaves the model bare, and who reads the `module` puts data on one anyway.

    EdgeSAM b53372c training/train.py:98: `if not args.only_cpu:` around the wrap, and the loop that reads begins with
    `samples.cuda(…)`, which a model on the CPU does not take.
    """
    summaries = live.summaries_of(site.function)
    if wrap is None or summaries is None or not any(map(_keeps_off_gpus, wrap.guards)):
        return False
    return any(
        call.method == "cuda"
        and call.node.lineno < site.node.lineno
        and not call.tries
        and _held(call.guards) <= _held(site.guards)
        for _, summary in summaries.summaries()
        for call in summary.calls
        if call.function is site.function
    )


def _keeps_off_gpus(guard: Guard) -> bool:
    """Whether the other arm of a condition is that of an option for the CPU."""
    return any(
        _FOR_CPU.search(last_name(part)) is not None and not holds
        for part, holds in literals(guard.node, guard.taken)
    )


def _caller_meets(live: LiveProgram, call: CallSite) -> bool:
    """Whether who makes a call meets the others in the same run.

    Pyramid-Flow 3040d71 train/train_video_vae.py:279, `torch.distributed.barrier()` above the loop over the epochs.
    """
    return _meets(live, call.function, _held(call.guards), set(map(id, call.loops)), _CALLS)


def _compares(guard: Guard) -> bool:
    return any(walk(guard.node, ast.Compare))


def _held(guards: Iterable[Guard]) -> set[tuple[int, bool]]:
    return {(id(guard.node), guard.taken) for guard in guards}


def _meets(
    live: LiveProgram, function: Function, held: set[tuple[int, bool]], loops: set[int], calls: int
) -> bool:
    """Whether a function, or what it calls, enters a collective under no conditions but those that are `held`."""
    summaries = live.summaries_of(function)
    return summaries is not None and any(
        not call.tries
        and _held(call.guards) <= held
        and loops.issuperset(map(id, call.loops))
        and (
            _of_default_group(call)
            or (
                calls > 0
                and call.callee is not None
                and _meets(live, call.callee, set(), set(), calls - 1)
            )
        )
        for _, summary in summaries.summaries()
        for call in summary.calls
        if call.function is function
    )


def _of_default_group(call: CallSite) -> bool:
    """Whether a call needs the default group; what makes or ends it unasked says that the flag does not decide whether it is."""
    return (
        call.name.startswith("torch.distributed.")
        and call.name not in _MAKES_OR_ENDS
        and any(row.effect is Effect.COLLECTIVE for row in call.rows)
        and not any(keyword.arg in ("group", "pg", None) for keyword in call.node.keywords)
    )


def wrapped_above(site: AttributeSite) -> bool:
    """Whether the function itself sees to it, above the read, that the model is in a wrapper with a `module`.

    cav-mae 68fe8c2 src/traintest_ft.py:37: `if not isinstance(model, DataParallel): model = DataParallel(model)`, whatever
    its callers hand over. DoRA 7e2f10a image_video_text_understanding/VL-T5/src/ddp_fix.py:46: a copy of DDP's `forward`,
    which asks for `require_forward_param_sync` and the like, too.
    """
    path, read = ast.unparse(site.node.value), site.node
    for node in own_nodes(site.function, ast.If, ast.Attribute):
        match node:
            case ast.If(
                test=ast.UnaryOp(
                    op=ast.Not(),
                    operand=ast.Call(func=ast.Name(id="isinstance"), args=[asked, kind]),
                ),
                body=[*_, ast.Assign(targets=[target], value=ast.Call(func=made))],
            ) if ast.unparse(asked) == ast.unparse(target) == path:
                if node.lineno < read.lineno and last_name(made) in _names(kind):
                    return not _in_an_arm(site.function, node, read)
            case ast.Attribute(value=owner, attr=attr) if attr in _OF_DDP_ALONE:
                if ast.unparse(owner) == path:
                    return True
    return False


def _names(kinds: ast.expr) -> set[str]:
    """The classes of a test, by their names."""
    return {last_name(each) for each in getattr(kinds, "elts", [kinds])}


def _in_an_arm(function: Function, statement: ast.stmt, read: ast.AST) -> bool:
    """Whether a statement stands under a condition that the read does not stand under."""
    return any(
        node is not statement
        and any(each is statement for each in walk(node))
        and not any(each is read for each in walk(node))
        for node in own_nodes(function, ast.If, ast.For, ast.While, ast.Try)
    )


def _block_with(parents: dict[int, ast.AST], statement: ast.stmt) -> list[ast.stmt]:
    above = parents[id(statement)]
    for name in ("body", "orelse", "finalbody"):
        block = getattr(above, name, None)
        if isinstance(block, list) and statement in block:
            return block
    return [statement]


def _gives(
    live: LiveProgram, function: Function, block: Iterable[ast.stmt], sinks: set[str]
) -> bool:
    """Whether every way through a block that goes on gives what has a `module`."""
    gives = False
    for statement in block:
        match statement:
            case ast.Raise():
                return True
            case ast.Return(value=ast.expr() as value) if sinks == {_RETURNED}:
                return gives or _has_module(live, function, value)
            case ast.Return():
                return False
            case ast.Assign(targets=targets, value=value):
                if sinks.intersection(map(ast.unparse, targets)):
                    gives = _has_module(live, function, value) or _is_put_around(
                        live, function, value, sinks
                    )
            case ast.If(body=body, orelse=orelse):
                one, other = (_gives(live, function, each, sinks) for each in (body, orelse))
                if one and other:
                    gives = True
                elif (_changes(body, sinks) and not one) or (_changes(orelse, sinks) and not other):
                    gives = False
    return gives


def _changes(block: Iterable[ast.stmt], sinks: set[str]) -> bool:
    return any(
        isinstance(node, ast.Return)
        or (
            isinstance(node, ast.Name | ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and ast.unparse(node) in sinks
        )
        for statement in block
        for node in walk(statement)
    )


def _has_module(live: LiveProgram, function: Function, value: ast.expr) -> bool:
    """Whether a value surely has a `module`: a wrapper, or an object of a class that keeps one."""
    match value:
        case ast.Call(func=ast.Attribute(attr=attr, value=inner)) if (
            attr in SAME_MODEL_METHODS and live.resolve(function.module, value.func) is None
        ):
            return _has_module(live, function, inner)
        case ast.Call() if live.resolve(function.module, value.func) in _WITH_MODULE:
            return True
        case ast.Call(func=made) if _of_another_library(live, function, made):
            return bool(_PARALLEL.search(last_name(made)))
    classes = classes_of(live, function, value)
    return None not in classes and all(
        owns_module(live, cls) or _derives_from_wrapper(live, cls) for cls in classes
    )


def _is_put_around(live: LiveProgram, function: Function, value: ast.expr, sinks: set[str]) -> bool:
    """Whether an object of a class, which is not known to lack `module`, takes the place of the model that it is handed.

    equiformer_v2 cf45ee2 oc20/trainer/base_trainer_oc20.py:383: `self.model = OCPDataParallel(self.model, …)` of another
    library, on one process as well, and DDP around it where there is a group.
    """
    match value:
        case ast.Call(func=made, args=[inner, *_]) if ast.unparse(inner) in sinks:
            meaning = live.resolve(function.module, made)
            if isinstance(meaning, Class):
                return not lacks(live, meaning, "module")
            return (
                _of_another_library(live, function, made)
                and last_name(made)[:1].isupper()
                and not str(meaning).startswith(_KEEP_NO_MODULE)
            )
    return False


def _of_another_library(live: LiveProgram, function: Function, made: ast.expr) -> bool:
    """Whether what is called is imported from a library whose code is not seen."""
    meaning = live.resolve(function.module, made)
    return isinstance(meaning, str) and not meaning.startswith(("torch.", "builtins."))


def _derives_from_wrapper(live: LiveProgram, cls: Class | None) -> bool:
    """Whether a class of the project is a wrapper by its base.

    openseg.pytorch aefc755 lib/extensions/parallel/data_parallel.py:40: `class DataParallelModel(DataParallel)`, what
    segmentor/tools/module_runner.py:74 gives where there is no process group.
    """
    return cls is not None and not _WITH_MODULE.isdisjoint(live.program.mro(cls)[1])
