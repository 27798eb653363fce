"""Attributes of wrapped models: which layer answers, and whether the code asks before it reads."""

from __future__ import annotations

import ast
from copy import copy
from typing import TYPE_CHECKING, Final

from distlint.analysis.live.several import is_one_kernel
from distlint.analysis.program.definitions import Class, dotted_name, last_name
from distlint.analysis.program.handed import namings
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.places import place_of_any
from distlint.analysis.program.syntax import assignments, literals, own_nodes
from distlint.analysis.questions import lightning
from distlint.analysis.questions.accelerating import in_deepspeed_alone, in_plugin_alone
from distlint.knowledge import facts, ranks, settings, wrappers
from distlint.knowledge.wrappers import Wrapper
from distlint.nodes import parents_in, walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from distlint.analysis.interpreter.ir import AttributeSite, CallSite, Guard
    from distlint.analysis.interpreter.values import Wrap
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function

BY_LAUNCH: Final = frozenset({"accelerate", "trainer", "strategy"})
"""Kinds that stand for whatever the launch configuration asks for, or the strategy of Lightning's Trainer."""

_BY_PROCESSES: Final = BY_LAUNCH - {"strategy"}
_LAUNCHED: Final = wrappers.ENGINE_ONLY.union(
    *(wrappers.WRAPPERS[kind].own for kind in ("ddp", "fsdp1", "fsdp2"))
)
_SEVERAL: Final = pattern(
    r"parallel|multi|dist|ddp|world|gpus?_?n(um)?\b|n(um)?_?(of_)?gpus?\b|rank"
)
"""Names of options that ask for several GPUs, or for a launch."""
_ONE: Final = pattern(r"gpu|cuda|device")
"""Names that ask for a GPU."""
_QUESTIONS: Final = frozenset(
    {"hasattr", "getattr", "isinstance", "type", "callable", "dir", "vars"}
)
_OF_ITS_CLASS: Final = frozenset({"__class__", "__dict__", "_modules"})
"""Attributes that say what an object is, or what it has."""
_GIVE_ATTRIBUTES: Final = frozenset({"getattr", "hasattr", "callable", "vars"})
_GIVE_ITS_CLASS: Final = frozenset({"_get_name", "__dir__"})
_ONLY_LOOK: Final = frozenset(
    {"print", "str", "repr", "len", "id", "type", "isinstance", "hasattr"}
)
"""Functions that run no layer of what they are given."""
_MODE_WORDS: Final = (
    "deepspeed", "fsdp", "zero3", "zero_stage", "distributed", "ddp", "parallel", "num_processes", "world_size",
    "n_gpu", "num_gpus", "multi_gpu", "multigpu", "unwrap", "wrapped",
)  # fmt: skip
"""Words of conditions that ask how the run was launched, and so which wrapper there is; torch.compile's layer passes on
what that below has not."""
_LISTS: Final = frozenset({"named_parameters", "numel", "parameters", "state_dict"})
"""Methods that list what a module holds, or count it."""
_ABOUT_LISTS: Final = frozenset(
    {
        "append",
        "chain",
        "dict",
        "filter",
        "hasattr",
        "isinstance",
        "items",
        "len",
        "list",
        "print",
        "set",
        "sum",
        "tuple",
    }
)
_DIFFUSION: Final = pattern(r"ddpm")
"""Words of samplers that are none of DDP: PixArt-alpha cac2fd3 train_latents.py:162, `config.eval_sampler in ["iddpm", …]`."""
_ENGINES: Final = pattern(r"fsdp|deepspeed|zero_?[123]|sagemaker_mp")
"""Words of flags that are true where the wrapper passes attributes on."""
_WRAPS_ALONE: Final = ("distributed", "ddp", "is_parallel", "multi_gpu", "multigpu")
"""Words of flags that are true where DDP or DataParallel is around the model."""
_MODES_OF_DDP: Final = (
    "ddp",
    "distributed",
    "distributeddataparallel",
    "distributed_data_parallel",
)
"""Ends of the names that an option has for DDP."""


ANY_ATTRIBUTE: Final = "*"
"""The name of what is set under names that are not known.

s3prl ec8064b s3prl/downstream/runner.py:115: `for name in interfaces: setattr(model, name, getattr(model.module, name))`.
"""
Written = frozenset[tuple[int, str]]
"""Attributes that the program itself sets on a wrapper: the call that wraps, and the name."""


def set_on_wrappers(live: LiveProgram) -> Written:
    """What the program sets on wrapped models, in whatever function: reading it there is right.

    yolov7 a207844 train.py:287: `model.hyp = hyp` behind the wrap, read in utils/loss.py.
    """
    return frozenset(
        (id(layer.node), site.attr)
        for site in live.attribute_writes()
        for layer in _landings(site.receiver.wraps)
    )


def set_on_classes(live: LiveProgram) -> frozenset[str]:
    """What the program sets on the class of an object, be it that of a wrapper: `type(model).model = lambda m: m.module`.

    modulus 878fd04 examples/cfd/external_aerodynamics/aero_graph_net/train.py:98.
    """
    return frozenset(
        node.attr
        for module in live.program.modules.values()
        if "type(" in module.source.text or "__class__" in module.source.text
        for node in walk(module.source.tree, ast.Attribute)
        if isinstance(node.ctx, ast.Store) and _is_class_of(node.value)
    )


def _is_class_of(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="type"), args=[_]) | ast.Attribute(attr="__class__"):
            return True
    return False


def lost_writes(live: LiveProgram) -> list[AttributeSite]:
    """Settings that are put on a wrapper and saved from the model inside, which keeps its own.

    open-instruct open_instruct/model_utils.py:541: `model.generation_config = …` in front of
    `unwrapped = accelerator.unwrap_model(model)`, `unwrapped.save_pretrained()`.
    """
    found: dict[int, AttributeSite] = {}
    for site in live.attribute_writes():
        layer = next(_landings(site.receiver.wraps), None)
        if layer is None or site.attr not in settings.CONFIGS or not site.module.source.reported:
            continue
        summaries = live.summaries_of(site.function)
        calls = (
            [call for _, summary in summaries.summaries() for call in summary.calls]
            if summaries is not None
            else []
        )
        later = [call for call in calls if call.order > site.order]
        unwrapped = any(
            facts.is_unwrap(call.name)
            and any(wrap.node is layer.node for value in call.args[:1] for wrap in value.wraps)
            for call in later
        )
        if unwrapped and any(call.method == "save_pretrained" for call in later):
            found.setdefault(id(site.node), site)
    return sorted(found.values(), key=lambda s: (s.module.path, s.node.lineno))


def _landings(wraps: tuple[Wrap, ...]) -> Iterator[Wrap]:
    """The layers that keep an attribute which is set from outside, outermost first: torch.compile hands it on.

    What only some paths put on leaves it to the layer below on the others. yolov9 5b1ea9a train.py:231: `model.hyp = hyp`
    behind `if cuda and RANK != -1: model = smart_DDP(model)`, which stands behind DataParallel for one process.
    """
    for layer in reversed(wraps):
        if layer.kind == "compile":
            continue
        if wrappers.WRAPPERS[layer.kind].in_place:
            return
        yield layer
        if layer.instead is not None:
            yield layer.instead
        if layer.always:
            return


def layer_without(wraps: tuple[Wrap, ...], attr: str, written: Written) -> Wrapper | None:
    """The layer at which reading `attr` fails; None where a layer has it or all pass it on."""
    if attr in wrappers.MODULE_ATTRIBUTES or attr.startswith("__"):
        return None
    if attr in wrappers.PREPARED_ATTRIBUTES and not (
        attr in wrappers.PARTS_OF_MODELS and all(w.kind != "accelerate" for w in wraps)
    ):
        return None  # `prepare()` gives loaders and optimizers back from the same call
    if attr in _LAUNCHED:
        # Written for one kind of launch, whatever else may arrive there: transformers 5.23.0,
        # trainer_pt_utils.py:1408, `model.backward(loss)` under a condition of its caller; wenet
        # wenet/utils/train_utils.py:770, `model.clip_grad_norm_(clip)` of an FSDP model.
        return None
    for wrap in reversed(wraps):
        row = wrappers.WRAPPERS[wrap.kind]
        if not wrap.always and _in_an_engine(wraps, wrap):
            continue
        if attr in row.own or attr in row.inner:
            return None
        if not {(id(wrap.node), attr), (id(wrap.node), ANY_ATTRIBUTE)}.isdisjoint(written):
            return None
        if not row.forwards and not row.in_place:
            return row
    return None


def readings(site: AttributeSite) -> Iterator[AttributeSite]:
    """An attribute as it is read from what one option puts around the model, and from what another does.

    open_lm 9bb92ef open_lm/train.py:90: `model.dim`, in FSDP where `args.fsdp` says so, which has it, else in DDP.
    """
    yield site
    wraps = site.receiver.wraps
    for number, wrap in enumerate(wraps):
        if wrap.instead is not None:
            other = copy(site)
            changed = (*wraps[:number], wrap.instead, *wraps[number + 1 :])
            other.receiver = site.receiver.replace(wraps=changed)
            yield other


def _in_an_engine(wraps: tuple[Wrap, ...], wrap: Wrap) -> bool:
    """Whether an engine is around a layer that only some paths put on: then the two are alternatives.

    Megatron-DeepSpeed b934f46 megatron/training.py: `if args.deepspeed: return model` above the wrap, and
    the caller goes on with `deepspeed.initialize(model=model, …)`.
    """
    around = wraps[wraps.index(wrap) + 1 :]
    return any(outer.kind == "deepspeed" for outer in around)


def call_of_wrap(live: LiveProgram, site: AttributeSite) -> CallSite | None:
    """The call that put the outermost layer around the model which is read; None for what is no call."""
    call = live.call_at(site.receiver.wraps[-1].node)
    return call.site if call is not None else None


def under_condition(
    call: CallSite | None,
    site: AttributeSite,
    *,
    of_launch: bool = False,
    always: Collection[str] = (),
) -> bool:
    """Whether some paths come to the read without the wrap (`call`), which stands under a condition
    that the read does not stand under too.

    Where the other arm raises, every path has it: gpt-neox ea7aefd megatron/training.py,
    `if neox_args.deepspeed: … = deepspeed.initialize(…) else: raise ValueError(…)`.

    Args:
        call: the wrap.
        site: the read.
        of_launch: whether only conditions of the launch count. An option that names the engine is none: one
            process has the wrapper too, and another value means another wrapper.
        always: settings that hold on one process, too.
    """
    if call is None:
        return False
    surely = site.receiver.wraps[-1].always
    held = {(_flag(g.node), g.taken) for g in site.guards}
    return any(
        not g.exits
        # ibot da316d8 evaluation/eval_cls.py:684: `if True:` is what is left of `if args.distributed:`.
        and not isinstance(g.node, ast.Constant)
        and (_flag(g.node), g.taken) not in held
        and not (of_launch and _names_choice(g.node))
        and not (
            of_launch and site.receiver.wraps[-1].kind == "dp" and _one_gpu_will_do(g.node, call)
        )
        and not _asks_for_container(g.node)
        # `world_size > 1` is decided where several processes are followed; one process takes the other arm.
        and not (surely and g.value.truthiness() is None)
        and not (g.taken and isinstance(g.node, ast.Attribute) and g.node.attr in always)
        for g in call.guards
    )


def passed_on(live: LiveProgram, call: CallSite | None, site: AttributeSite) -> bool:
    """Whether a wrap (`call`) is of the kind that the launch asks for, and is made under those that pass attributes on.

    Of Lightning's, the strategies that the program names have a say.

    LLaVA-NeXT df17966 llava/train/llava_trainer.py:842: `delay = is_sagemaker_mp_enabled() or self.is_fsdp_enabled`,
    `if delay: self.model = self.accelerator.prepare(self.model)`, as in transformers' own Trainer.
    """
    if site.receiver.wraps[-1].kind == "strategy":
        return live.answer(lightning.passes_on)
    if site.receiver.wraps[-1].kind == "trainer" and _chosen_for_engine(site):
        return True
    return (
        call is not None
        and site.receiver.wraps[-1].kind in BY_LAUNCH
        and (
            in_deepspeed_alone(call)
            or (site.receiver.wraps[-1].kind == "accelerate" and in_plugin_alone(live, call))
            or any(
                not g.exits and g.taken and _asks_for_engine(g.node, call.function)
                for g in call.guards
            )
        )
    )


def _chosen_for_engine(site: AttributeSite) -> bool:
    """Whether the wrapper is taken in FSDP, DeepSpeed or model parallelism alone, and the bare model elsewhere.

    transformers 4.48.3 trainer.py:1206, and VITA-Audio 0abaf17 tools/trainer_v4_48_3.py:430 after it:
    `opt_model = self.model_wrapped if is_sagemaker_mp_enabled() else self.model`.
    """
    wrap = site.receiver.wraps[-1].node
    given = assignments(site.function).get(ast.unparse(site.node.value), ())
    return any(
        isinstance(value, ast.IfExp)
        and any(part is wrap for part in walk(value.body))
        and _asks_for_engine(value.test, site.function)
        for value in given
    )


def _asks_for_engine(
    test: ast.expr, function: Function, above: frozenset[str] = frozenset()
) -> bool:
    """Whether a condition holds in FSDP, DeepSpeed or model parallelism alone; a variable stands for what it is.

    `above` are the variables that led here: a parameter may be assigned a condition of itself.
    """
    match test:
        case ast.BoolOp(op=ast.Or(), values=values):
            return all(_asks_for_engine(value, function, above) for value in values)
        case ast.BoolOp(values=values):
            return any(_asks_for_engine(value, function, above) for value in values)
        case ast.Name(id=name) if (
            name not in above and len(values := assignments(function).get(name, [])) == 1
        ):
            return _asks_for_engine(values[0], function, above | {name})
        case ast.Compare(ops=[ast.Eq() | ast.Is() | ast.In()], comparators=[asked]):
            # lmms-eval 75571cf lmms_eval/models/simple/illume_plus.py:236: `distributed_type == DistributedType.FSDP`.
            kinds = asked.elts if isinstance(asked, ast.Tuple | ast.List | ast.Set) else [asked]
            words = [(_word(kind) or dotted_name(kind)).lower() for kind in kinds]
            return bool(words) and all(_ENGINES.search(word) for word in words)
        case ast.Name() | ast.Attribute() | ast.Call():
            return _ENGINES.search(last_name(test).lower()) is not None
    return False


def _flag(test: ast.expr) -> str:
    """A condition as written; an argument and the attribute of the same name that keeps it are one flag.

    stylegan2-pytorch lpips/dist_model.py:98: `if use_gpu:` around the wrap, `if self.use_gpu:` at the read.
    """
    return ast.unparse(test).removeprefix("self.")


def _names_choice(test: ast.expr) -> bool:
    """Whether a condition compares an option with a name: CosyVoice's `train_engine == "torch_ddp"`."""
    match test:
        case ast.Compare(ops=[ast.Eq() | ast.NotEq()], comparators=[ast.Constant(value=str())]):
            return True
    return False


def _one_gpu_will_do(test: ast.expr, call: CallSite) -> bool:
    """Whether a condition around DataParallel asks for one GPU and no more: one process with one has the wrapper.

    pix2pixHD 14b3b3c models/models.py:17: `if opt.isTrain and len(opt.gpu_ids) and not opt.fp16`. An option that
    asks for no GPU (`if fused:`) leaves the wrapper off on any number of them.
    """
    assigned = assignments(call.function)
    tests = [
        test,
        *(v for n in walk(test, ast.Name) for v in assigned.get(n.id, ())),
    ]
    if not any(_ONE.search(ast.unparse(each).lower()) for each in tests):
        return False
    return not any(
        _SEVERAL.search(ast.unparse(each).lower())
        or any(
            isinstance(number, ast.Constant) and type(number.value) is int and number.value > 0
            for part in walk(each, ast.Compare)
            for number in part.comparators
        )
        for each in tests
    )


def for_several(call: CallSite) -> bool:
    """Whether the conditions around a wrap ask for a launch of several processes, or for several GPUs."""
    return all(
        asks_for_launch(ast.unparse(g.node)) or _names_mode(g.node)
        for g in call.guards
        if not g.exits and g.value.truthiness() is None
    )


def asks_for_launch(test: str) -> bool:
    """Whether the text of a condition has words for several GPUs, or for a launch."""
    return _SEVERAL.search(test.lower()) is not None


def _asks_for_container(test: ast.expr) -> bool:
    """Whether a condition asks if there are several models or one: each way wraps.

    Amphion d3de90f models/vc/Noro/noro_trainer.py:253: `if isinstance(component, dict): … else: … prepare(component)`.
    """
    match test:
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, kind]):
            return last_name(kind) in ("dict", "list", "tuple")
    return False


def ruled_out(call: CallSite | None, site: AttributeSite | CallSite) -> bool:
    """Whether what holds at the read says that the condition of the wrap (`call`) did not.

    YOLOX 6ddff48 tools/eval.py:186: `if is_distributed: model = DDP(model)`, then
    `assert not is_distributed and args.batch_size == 1` in front of the read. Retrieval-based-Voice-Conversion-WebUI
    4338f12 tools/pymss/separator.py:1143: `if self.model_type == "vr": return VRSeparator(…)` above DataParallel, and
    `if self.model_type == "vr":` around the read.
    """
    if call is None or call.module is not site.module:
        return False
    held = {(ast.unparse(n), t) for g in site.guards for n, t in literals(g.node, g.taken)}
    return any(
        (ast.unparse(g.node), not g.taken) in held
        for g in call.guards
        if not g.exits or _of_object(g.node)
    )


def _of_object(test: ast.expr) -> bool:
    """Whether a condition asks for attributes of the object alone, which say the same in each of its methods."""
    names = {node.id for node in walk(test, ast.Name)}
    return names == {"self"} and not any(walk(test, ast.Call))


def wrapped_by_nobody(call: CallSite | None, site: AttributeSite) -> bool:
    """Whether the launch is to put the layer on, and a notebook is the launch: one process, where nothing is wrapped.

    llama-recipes faae2fd end-to-end-use-cases/NotebookLlama/Step-1 PDF-Pre-Processing-Logic.ipynb: `Accelerator()` and
    `prepare(model, tokenizer)` in the kernel, then `model.generate()`. Lightning's strategies wrap one process as well.
    """
    return site.receiver.wraps[-1].kind in _BY_PROCESSES and any(
        is_one_kernel(each.module) for each in (site, call) if each is not None
    )


def is_guarded(site: AttributeSite, *, of_model: bool = False) -> bool:
    """Whether the code asks for the attribute, the class or the launch first, or expects the failure.

    Args:
        site: the read.
        of_model: whether it wants an attribute of the model, which the arm of a flag for wrapped runs
            alone makes no better: `if self.is_distributed: self.model.head`.
    """
    path = ast.unparse(site.node.value)
    guards = (g for g in site.guards if not (of_model and _says_wrapped(g.node, g.taken)))
    return (
        any(_asks(guard, path, site) for guard in guards)
        or any(catches_attribute_error(attempt) for attempt in site.tries)
        or _is_suppressed(site)
        or _is_fallback(site, path)
    )


def _is_suppressed(site: AttributeSite) -> bool:
    """Whether the read stands in `with suppress(AttributeError)`."""
    return any(
        any(node is site.node for statement in block.body for node in walk(statement))
        for block in own_nodes(site.function, ast.With)
        for item in block.items
        if isinstance(item.context_expr, ast.Call)
        and last_name(item.context_expr.func) == "suppress"
        and any(map(_takes_attribute_error, item.context_expr.args))
    )


def _is_fallback(site: AttributeSite, path: str) -> bool:
    """Whether the read is what is done where the wrapper turned out not to be there.

    VISTA f73d7c2 vista3d/scripts/train.py:447: `try: model.module.set_auto_grad(…)`, `except BaseException:
    model.set_auto_grad(…)`.
    """
    return any(
        catches_attribute_error(attempt)
        and any(
            within is site.node
            for handler in attempt.handlers
            for within in walk(handler, ast.Attribute)
        )
        and any(
            node.attr == "module" and ast.unparse(node.value) == path
            for statement in attempt.body
            for node in walk(statement, ast.Attribute)
        )
        for attempt in own_nodes(site.function, ast.Try)
    )


def asked_by_callers(live: LiveProgram, site: AttributeSite, *, of_model: bool = True) -> bool:
    """Whether each call of the function stands under a condition that asks how the run was launched.

    MedicalGPT 2f1008c training/pretraining.py:785: `if is_deepspeed_zero3_enabled(): save_model_zero3(…)`. Not of what is
    handed on beside: `if args.multiprocessing_distributed: mp.spawn(main_worker, …)`, `else: main_worker(args.gpu, …)`
    (AVID-CMA 4538e40 main-avid.py:78).

    Args:
        live: the program.
        site: the read.
        of_model: whether it wants an attribute of the model, as in `is_guarded`.
    """
    callers = live.callers.get(site.function, ())
    if not callers or namings(live.program, site.function.name).others:
        return False
    return all(
        any(
            _names_mode(g.node) and not (of_model and _says_wrapped(g.node, g.taken))
            for g in caller.guards
        )
        for caller in callers
    )


def asked_in_another_arm(site: AttributeSite) -> bool:
    """Whether a function asks what it reads for its wrapper, but not here: what is wrapped is of the other kind.

    mozilla TTS e9e0784 TTS/tts/utils/synthesis.py:54: `if "tacotron" in CONFIG.model.lower(): model.inference(…)`, and
    for the models that come wrapped `if hasattr(model, "module"): model.module.inference(…)`.
    """
    path = ast.unparse(site.node.value)
    return any(
        last_name(node.func) in ("hasattr", "isinstance")
        and bool(node.args)
        and ast.unparse(node.args[0]) == path
        for node in own_nodes(site.function, ast.Call)
    )


def _names_mode(test: ast.expr) -> bool:
    """Whether a condition asks how the run was launched; what a remainder is for holds in every launch.

    DiT's trainers: `assert args.global_batch_size % dist.get_world_size() == 0`, in front of everything.
    """
    remainders = (n for n in walk(test, ast.BinOp) if isinstance(n.op, ast.Mod))
    within = {id(node) for remainder in remainders for node in walk(remainder)}
    words = (
        _DIFFUSION.sub("", _word(node).lower()) for node in walk(test) if id(node) not in within
    )
    return any(mode in word for word in words if word != "unwrap_model" for mode in _MODE_WORDS)


def _asks(guard: Guard, path: str, site: AttributeSite) -> bool:
    if guard.exits:
        return all(
            _tells(part, guard.taken, path, site, _before_the_wrap(guard.node, site))
            for part in _ways_on(guard)
        )
    return _tells(guard.node, guard.taken, path, site, _before_the_wrap(guard.node, site))


def _ways_on(guard: Guard) -> list[ast.expr]:
    """What came out the guard's way past an early exit, one for each way: `if a and b: raise` lets runs without `a` on.

    lora d84074b training_scripts/train_lora_w_ti.py:655: `if args.train_text_encoder and
    args.gradient_accumulation_steps > 1 and accelerator.num_processes > 1: raise ValueError(…)`.
    """
    match guard.node:
        case ast.BoolOp(op=op, values=parts) if isinstance(op, ast.And) is not guard.taken:
            return parts
    return [guard.node]


def _tells(test: ast.expr, taken: bool, path: str, site: AttributeSite, too_early: bool) -> bool:
    """Whether a condition that came out one way says something of the wrapper or the attribute.

    Args:
        test: the condition.
        taken: how it came out.
        path: what is read, as written.
        site: the read.
        too_early: whether the condition was asked before the wrap.
    """
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _tells(operand, not taken, path, site, too_early)
        case ast.BoolOp(op=op, values=parts):
            told = [_tells(part, taken, path, site, too_early) for part in parts]
            one_of_them = isinstance(op, ast.And) is not taken
            if one_of_them and any(_of_another(part, path, site) for part in parts):
                return all(told)
            return any(told)
        case ast.Name(id=name) if taken and _answered_by_model(name, path, site):
            return True
    if not taken and _of_another(test, path, site):
        return False
    for node in walk(test):
        if (
            not too_early
            and (subject := _asked_for_its_kind(node)) is not None
            and any(
                f"{each}.".startswith(f"{asked}.")
                for each in _also_called(path, site.function)
                for asked in _also_called(ast.unparse(subject), site.function)
            )
        ):
            return True
        if not too_early and isinstance(node, ast.Call) and _asks_helper(node, path, site.attr):
            return True
        if isinstance(node, ast.Name) and _told_by_class(node.id, path, site):
            return True
    return (not too_early and path in _asked_by_keys(test)) or _names_mode(test)


def _asked_by_keys(test: ast.expr) -> list[str]:
    """The models that a condition asks for a wrapper by the names of their parameters.

    StyleKD 6ae4d17 Evaluation/fid.py:105: `if "module" in list(generator.state_dict().keys())[0]`.
    """
    if not any(
        isinstance(text.value, str) and text.value.rstrip(".") == "module"
        for text in walk(test, ast.Constant)
    ):
        return []
    return [
        ast.unparse(call.func.value)
        for call in walk(test, ast.Call)
        if isinstance(call.func, ast.Attribute) and call.func.attr in _LISTS
    ]


def _asked_for_its_kind(node: ast.AST) -> ast.expr | None:
    """What is asked for an attribute or its class: the name of the class is the wrapper's own, too.

    STMOTR f1d2f13 trainer.py:344: `if self.model._get_name() == "DeformableSTMOTR"` around hooks on parts of the model.
    """
    match node:
        case ast.Call(func=ast.Name(id=name), args=[subject, *_]) if name in _QUESTIONS:
            return subject
        case ast.Call(func=ast.Attribute(attr=name, value=subject)) if name in _GIVE_ITS_CLASS:
            return subject
        case ast.Attribute(attr=name, value=subject) if name in _OF_ITS_CLASS:
            return subject
    return None


def _asks_helper(call: ast.Call, path: str, attr: str) -> bool:
    """Whether a call is handed the model and the attribute's name: a `hasattr` of the program's own.

    coqui's Trainer 7704b0f trainer/trainer.py:1335: `if isimplemented(self.model, "optimize")`.
    """
    given = [*call.args, *(k.value for k in call.keywords)]
    return any(isinstance(each, ast.Constant) and each.value == attr for each in given) and any(
        ast.unparse(each) == path for each in given
    )


def _told_by_class(name: str, path: str, site: AttributeSite) -> bool:
    """Whether a variable is what the model's class says.

    retinanet-examples 65e6310 odtk/infer.py:23: `backend = "pytorch" if isinstance(model, DDP) else "tensorrt"`.
    """
    values = assignments(site.function).get(name, [])
    return (
        len(values) == 1
        and not _before_the_wrap(values[0], site)
        and any(
            (subject := _asked_for_its_kind(node)) is not None
            and ast.unparse(subject) == path
            and not (isinstance(node, ast.Call) and last_name(node.func) in _GIVE_ATTRIBUTES)
            for node in walk(values[0])
        )
    )


def _answered_by_model(name: str, path: str, site: AttributeSite) -> bool:
    """Whether a variable is true only where the object that is read has an attribute which its wrapper lacks.

    ms-swift 3602360 swift/trainers/utils.py:290: `was_enabled = getattr(model, 'is_gradient_checkpointing', False)`.
    """
    values = assignments(site.function).get(name, [])
    if len(values) != 1 or _before_the_wrap(values[0], site):
        return False
    value = values[0]
    parts = (
        value.values if isinstance(value, ast.BoolOp) and isinstance(value.op, ast.And) else [value]
    )
    for part in parts:
        match part:
            case (
                ast.Call(func=ast.Name(id="hasattr"), args=[owner, ast.Constant(value=str(attr))])
                | ast.Call(
                    func=ast.Name(id="getattr"),
                    args=[
                        owner,
                        ast.Constant(value=str(attr)),
                        ast.Constant(value=False | None | 0 | ""),
                    ],
                )
            ) if ast.unparse(owner) in _also_called(path, site.function):
                return layer_without(site.receiver.wraps, attr, frozenset()) is not None
    return False


def _also_called(path: str, function: Function) -> set[str]:
    """A name, a path of attributes or an entry of a dictionary, and what it is another name or a copy for.

    minGPT's trainers: `model, config = self.model, self.config`, then `model.module if hasattr(self.model, "module")`
    (RWKV-LM 524481d RWKV-v1/src/trainer.py:62). Oscar 266075f oscar/run_vqa.py:630: of `best_model["model"]`, which is
    a copy of the model wherever it is set, `hasattr(model, "module")` says the same.
    """
    given = [v for f in function.outward() for v in assignments(f).get(path, ())]
    if path.endswith("]"):
        given += [v for f in function.outward() for v in _entries(f).get(path, ())]
    same = {dotted_name(_copied(value)) for value in given}
    alike = len(given) == 1 or all(_copied(value) is not value for value in given)
    return {path, *(same - {""} if alike and len(same) == 1 else ())}


def _copied(value: ast.expr) -> ast.expr:
    """What an expression copies: wrapped as the copy is."""
    match value:
        case ast.Call(func=func, args=[of]) if last_name(func) in ("copy", "deepcopy"):
            return of
    return value


@remembered
def _entries(function: Function) -> dict[str, list[ast.expr]]:
    """What is put under the text keys of dictionaries, by `best["model"]`."""
    found: dict[str, list[ast.expr]] = {}
    for node in own_nodes(function, ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Subscript(slice=ast.Constant(value=str())) as at]):
                found.setdefault(ast.unparse(at), []).append(node.value)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict(keys=keys, values=values)):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        found.setdefault(f"{name}[{key.value!r}]", []).append(value)
    return found


def _of_another(test: ast.expr, path: str, site: AttributeSite) -> bool:
    """Whether a condition asks for another attribute, which the wrapper has as little: where it has not, `site`
    is read from the wrapper all the same.

    trlx 3340c2f trlx/trainer/accelerate_ppo_trainer.py:74: `not hasattr(model, "frozen_head") and not model.peft_type`.
    What only the wrapper has is read where there is one: `model.config if hasattr(model, "config") else
    model.module.config` (LoRA c4593f0 examples/NLU/examples/legacy/question-answering/run_squad.py:364).
    """
    if site.attr == "module":
        return False
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _of_another(operand, path, site)
        case ast.Call(func=ast.Name(id="hasattr"), args=[asked, ast.Constant(value=str(attr))]):
            return (
                attr != site.attr
                and ast.unparse(asked) == path
                and layer_without(site.receiver.wraps, attr, frozenset()) is not None
            )
    return False


def _before_the_wrap(question: ast.expr, site: AttributeSite) -> bool:
    """Whether a question was put to the model before the same function wrapped it.

    kohya-ss/sd-scripts lumina_train_network.py:356: `assert isinstance(nextdit, NextDiT)`, then
    `nextdit = accelerator.prepare(nextdit)`. An attribute that holds the wrapped model wraps nothing where it is read
    (anemoi-core 2cb9b6e training/src/anemoi/training/diagnostics/callbacks/checkpoint.py:59).
    """
    wrap = site.receiver.wraps[-1].node
    asked, wrapped, read = (place_of_any(node) for node in (question, wrap, site.node))
    own = not isinstance(wrap, ast.Attribute) and any(
        node is wrap for node in walk(site.function.node)
    )
    return own and asked < wrapped < read


def _word(node: ast.AST) -> str:
    """What a part of a condition is called; a text that something is compared with is a word too.

    wenet 0154699 wenet/utils/train_utils.py:759: `info_dict["train_engine"] == "deepspeed"`.
    """
    match node:
        case ast.Name(id=word) | ast.Attribute(attr=word) | ast.Constant(value=str(word)):
            return word
    return ""


def _says_wrapped(test: ast.expr, taken: bool) -> bool:
    """Whether the arm is that of runs whose model is in a wrapper which passes nothing on.

    yolov7 a207844 utils/loss.py:429: `model.module.model[-1] if is_parallel(model) else model.model[-1]`.
    """
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, taken = test.operand, not taken
    match test:
        case ast.Compare(
            ops=[ast.Eq() | ast.NotEq() as op], comparators=[ast.Constant(value=str(mode))]
        ):
            # parler-tts training/run_parler_tts_training.py:895: `parallel_mode.value != "distributed"`.
            return taken is isinstance(op, ast.Eq) and mode.lower().endswith(_MODES_OF_DDP)
    name = _DIFFUSION.sub("", last_name(test).lower())
    return taken and any(word in name for word in _WRAPS_ALONE)


def catches_attribute_error(attempt: ast.Try) -> bool:
    """Whether a handler of a `try` takes AttributeError."""
    for handler in attempt.handlers:
        if handler.type is None:
            return True
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        if any(map(_takes_attribute_error, kinds)):
            return True
    return False


def _takes_attribute_error(kind: ast.expr) -> bool:
    return ast.unparse(kind) in ("AttributeError", "Exception", "BaseException")


def may_run_forward(live: LiveProgram, statement: ast.stmt, read: ast.Attribute) -> bool:
    """Whether what is read from a model may be run there: called, or handed on as a part of the model.

    Args:
        live: the program.
        statement: the statement that holds the read.
        read: an attribute of a model.
    """
    parents = parents_in(statement)
    node: ast.AST = read
    while (parent := parents.get(id(node))) is not None:
        match parent:
            case ast.Call(func=func) if func is node:
                name = func.attr if isinstance(func, ast.Attribute) else ""
                if node is read and name in live.answer(without_layers):
                    return False
                part = node is read or settings.names_model(read.attr)
                if not name or (part and not wrappers.trains_nothing(name)):
                    return True
                if name in live.answer(layer_runners) or (part and _is_unread(live, name)):
                    return True
            case ast.Call(func=ast.Name(id=name)) if name in _ONLY_LOOK:
                return False
            case ast.Call() | ast.keyword():
                return settings.names_model(read.attr) and node is read
            case ast.Attribute() | ast.Subscript():
                if isinstance(parent, ast.Subscript) and parent.slice is node:
                    return False
            case _:
                return False
        node = parent
    return False


def _is_unread(live: LiveProgram, method: str) -> bool:
    """Whether a method that gives something is neither a library's nor of a class that is read: it may run the model."""
    return (
        method.startswith("get_")
        and method not in wrappers.GETTERS
        and not any(
            method in cls.methods
            for module in live.program.modules.values()
            for cls in module.all_classes
        )
    )


def without_layers(live: LiveProgram) -> frozenset[str]:
    """The names that stand for nothing with parameters on any object of the program: methods, and attributes.

    tevatron dd06310 src/tevatron/retriever/modeling/encoder.py:104: `_dist_gather_tensor` gathers what it is given. llm.c
    f1e2ace train_llama3.py:422: `model.tokenizer = AutoTokenizer.from_pretrained(…)`.
    """
    kept: dict[str, list[bool]] = {}
    made: set[str] = set()
    methods: dict[str, list[Function]] = {}
    for module in live.program.modules.values():
        for cls in module.all_classes:
            for name, method in cls.methods.items():
                methods.setdefault(name, []).append(method)
            for name in (*cls.attributes, *_names_at_class_level(cls)):
                kept.setdefault(name, []).append(False)
        for function in (module.body, *module.all_functions):
            for path, values in assignments(function).items():
                owner, _, name = path.rpartition(".")
                if owner:
                    if not all(isinstance(value, ast.Constant) for value in values):
                        made.add(name)
                    kept.setdefault(name, []).extend(
                        _has_no_parameters(live, function, v) for v in values
                    )
    plain = {name for name, found in kept.items() if all(found)} - methods.keys()
    lists = {
        name
        for name, found in methods.items()
        if name not in kept and all(map(_lists_parameters, found))
    }
    # Of a name alone, a loss or a method of a trainer may have the same: what makes ranks meet is more than that.
    gathers = {
        name
        for name, found in methods.items()
        if name not in kept
        and all(_uses_only(method, plain) and _meets(live, method) for method in found)
    }
    numbers = plain | _told_by_settings(live)
    asks_nothing = {
        name
        for name, found in methods.items()
        if name not in kept and all(_asks_nothing(method, numbers) for method in found)
    }
    return frozenset((plain & made) | gathers | lists | asks_nothing)


def _told_by_settings(live: LiveProgram) -> set[str]:
    """The names of attributes that hold what settings say, or what is computed of such: `self.width = cfg.width`."""
    kept: dict[str, list[ast.expr]] = {}
    for module in live.program.modules.values():
        for function in (module.body, *module.all_functions):
            for path, values in assignments(function).items():
                owner, _, name = path.rpartition(".")
                if owner:
                    kept.setdefault(name, []).extend(values)
        for cls in module.all_classes:
            for name in (*cls.attributes, *_names_at_class_level(cls)):
                kept.setdefault(name, []).append(ast.Name("_"))
    known: set[str] = set()
    while more := {
        name
        for name, values in kept.items()
        if name not in known and all(_is_told(value, known) for value in values)
    }:
        known |= more
    return known


def _is_told(value: ast.expr, known: set[str]) -> bool:
    match value:
        case ast.Constant():
            return True
        case ast.Attribute(value=ast.Name(id="self"), attr=attr):
            return attr in known
        case ast.Attribute(value=owner):
            return last_name(owner) in ranks.ARGUMENT_NAMES
        case ast.Subscript(value=several, slice=ast.Constant()):
            return _is_told(several, known)
        case ast.BinOp(left=left, right=right):
            return _is_told(left, known) and _is_told(right, known)
        case ast.UnaryOp(operand=operand):
            return _is_told(operand, known)
        case ast.Call(func=ast.Name(id="int" | "float" | "bool" | "round"), args=[given]):
            return _is_told(given, known)
    return False


def _asks_nothing(method: Function, numbers: set[str]) -> bool:
    """Whether a method of a model asks its object for numbers at most, and calls nothing that it is given.

    DPR a31212d train_dense_encoder.py:468: `create_biencoder_input` makes tensors of a batch's texts. open-pi-zero c3df7fb
    src/model/vla/pizero.py:271: masks and positions, as long as the settings say.
    """
    given = method.parameters
    if given[:1] != ["self"] or method.name.startswith("__") or method.cls is None:
        return False
    if "forward" not in method.cls.methods or method.name == "forward":
        return False
    called = {dotted_name(n.func) for n in walk(method.node, ast.Call)}
    return _uses_only(method, numbers) and not called.intersection(given)


def _lists_parameters(method: Function) -> bool:
    """Whether all that a method calls lists parameters, and it hands back no layer: what is called runs none.

    magvit2-pytorch a00519f magvit2_pytorch.py:1473: `discr_parameters()`, for the clipping of their gradients.
    """
    called = {last_name(n.func) for n in walk(method.node, ast.Call)}
    layers = (ast.Attribute, ast.Name, ast.Subscript, ast.Dict, ast.List, ast.Tuple)
    given = (n.value for n in walk(method.node, ast.Return, ast.Yield, ast.YieldFrom))
    return (
        bool(called & _LISTS)
        and called <= _LISTS | _ABOUT_LISTS
        and not any(isinstance(each, layers) for each in given)
    )


def _names_at_class_level(cls: Class) -> Iterator[str]:
    """What a class declares without a value: `model: nn.Module`."""
    for statement in cls.node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id


def _has_no_parameters(live: LiveProgram, function: Function, value: ast.expr) -> bool:
    """Whether a value is a constant, a number of the process group, or a tokenizer."""
    match value:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            given = assignments(function).get(name, ())
            return bool(given) and all(
                isinstance(each, ast.Call) and _has_no_parameters(live, function, each)
                for each in given
            )
        case ast.Call(func=ast.Attribute(attr="from_pretrained", value=made)):
            meaning = live.resolve(function.module, made)
        case ast.Call(func=made):
            meaning = live.resolve(function.module, made)
        case _:
            return False
    if isinstance(meaning, str):
        of_text = meaning.startswith("transformers.") and "Tokenizer" in meaning
        return of_text or meaning.startswith("torch.distributed.")
    # A class without any base but `object`: no module.
    return (
        isinstance(meaning, Class)
        and not meaning.node.bases
        and not meaning.node.keywords
        and not meaning.node.decorator_list
    )


def _meets(live: LiveProgram, method: Function) -> bool:
    """Whether a method calls a collective of torch."""
    calls = (node for node in walk(method.node, ast.Call))
    names = (live.resolve(method.module, call.func) for call in calls)
    return any(isinstance(n, str) and n.startswith("torch.distributed.") for n in names)


def _uses_only(method: Function, plain: set[str]) -> bool:
    """Whether a method asks its object for such attributes alone, and hands it to nobody."""
    if method.parameters[:1] != ["self"] or method.name.startswith("__"):
        return False
    asked = [node for node in walk(method.node, ast.Name) if node.id == "self"]
    read = [node.value for node in walk(method.node, ast.Attribute) if node.attr in plain]
    names = {n.id for n in walk(method.node, ast.Name)}
    return "super" not in names and all(any(each is one for one in read) for each in asked)


def layer_runners(live: LiveProgram) -> frozenset[str]:
    """The names of methods of the program, other than `forward`, that call layers with gradients on.

    kohya-ss/sd-scripts sdxl_train_control_net_lllite_old.py:422: `network.set_cond_image(image)` runs the
    layers that are trained. ScoreVAE c4e4ba6 models/BeatGANsUNet.py:206: what `get_score_fn()` gives calls
    `self.forward`.
    """
    classes = [cls for module in live.program.modules.values() for cls in module.all_classes]
    methods = [
        (name, method)
        for cls in classes
        for name, method in cls.methods.items()
        if not (name.startswith("__") or any(map(_turns_off, method.decorators)))
    ]
    parts = {attr for cls in classes for attr in cls.self_assigned} - {name for name, _ in methods}
    calls = [(name, _calls_with_gradients(method)) for name, method in methods]
    found = frozenset(
        name for name, called in calls if any(_is_part(func, parts) for func in called)
    )
    while True:
        runners = {
            name for name, called in calls if any(last_name(func) in found for func in called)
        }
        if runners <= found:
            return found - {"forward"}
        found |= runners


def _calls_with_gradients(method: Function) -> list[ast.expr]:
    """What a method calls with gradients on."""
    return [
        node.func for node in walk(method.node, ast.Call) if not without_gradients(method, node)
    ]


def _is_part(called: ast.expr, parts: set[str]) -> bool:
    if isinstance(called, ast.Subscript):
        called = called.value
    match called:
        case ast.Attribute(value=ast.Name(id="self"), attr=attr):
            return attr in parts or attr == "forward"
        case ast.Name(id="self"):
            return True
    return False


def without_gradients(function: Function, node: ast.AST) -> bool:
    """Whether a node of a function runs under `no_grad` or `inference_mode`, by syntax."""
    if any(_turns_off(decorator) for decorator in function.decorators):
        return True
    return id(node) in _nodes_without_gradients(function)


@remembered
def _nodes_without_gradients(function: Function) -> frozenset[int]:
    """The nodes of a function, by their identity, that stand in a block which turns gradients off."""
    return frozenset(
        id(inner)
        for part in walk(function.node, ast.With, ast.AsyncWith)
        if any(_turns_off(item.context_expr) for item in part.items)
        for statement in part.body
        for inner in walk(statement)
    )


def _turns_off(expression: ast.expr) -> bool:
    text = ast.unparse(expression)
    return "no_grad" in text or "inference_mode" in text


def has_own_wrapper(live: LiveProgram) -> bool:
    """Whether a class of the program is handed the network that it keeps as `module`: a wrapper of its own.

    DeepSpeedExamples 83757d9 training/DeepSpeed-Domino/megatron/model/module.py: Megatron's Float16Module, with
    `self.add_module("module", module.half())`. imaginaire 3b4b3a0 imaginaire/utils/trainer.py: what one process has
    in place of DDP, so that `.module` is always there.
    """
    return any(
        _keeps_as_module(init)
        for module in live.program.modules.values()
        for cls in module.all_classes
        if (init := cls.methods.get("__init__")) is not None
    )


def _keeps_as_module(init: Function) -> bool:
    """Whether a constructor puts what it is handed under the name `module`, as it is or in another precision."""
    for node in own_nodes(init):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="self"), attr="add_module"),
                args=[ast.Constant(value="module"), kept],
            ):
                pass
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr="module")],
                value=kept,
            ):
                pass
            case _:
                continue
        if _handed(kept) in init.parameters[1:]:
            return True
        if "module" in init.parameters and any(
            part.id == "module" for part in walk(kept, ast.Name)
        ):
            return True
    return False


def _handed(node: ast.expr) -> str:
    """The name of which an expression is, with methods that are called on it: `model.half()`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return node.id if isinstance(node, ast.Name) else ""
