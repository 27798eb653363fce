"""A model with adapters in FSDP of the first version, which cannot put frozen and trained parameters into one.

## What it does
Finds `get_peft_model(...)` whose result `FullyShardedDataParallel` wraps in the same function without
`use_orig_params=True`, or `accelerator.prepare()` under FSDP with `fsdp_use_orig_params: false`. Also a model loaded in
bf16 or fp16 whose adapters peft keeps in fp32, which is its default, in `FullyShardedDataParallel`.

## Why it is bad
FSDP of the first version lays all parameters of a unit into one flat tensor. Without the original parameters that
tensor as a whole is trained or not, and it has one dtype always. A unit of frozen weights and adapters, or of
bf16 and fp32, is refused: every rank raises ValueError before the first step.

## Errors you may see
- `Must flatten tensors with uniform `requires_grad` when `use_orig_params=False``
- `Must flatten tensors with uniform dtype but got torch.bfloat16 and torch.float32`

## Example
```python
model = get_peft_model(model, LoraConfig(r=8))
model = FullyShardedDataParallel(model, device_id=local_rank)
```

## Use instead
```python
model = get_peft_model(model, LoraConfig(r=8))
model = FullyShardedDataParallel(model, device_id=local_rank, use_orig_params=True)
```
or peft's `fsdp_auto_wrap_policy(model)`, which gives the adapters units of their own.

## Fix safety
Unsafe: the sharding keeps the parameters apart, and checkpoints of the optimizer have another form; or the adapters
are trained in the model's own precision.

## Known limits
The adapters, the wrap and, for the dtype, the loading have to stand in one function, the model in one variable.
Silent where anything else is done with the model in between, or a wrapping policy of the program's own decides
about the units. transformers' Trainer takes peft's policy by itself, and is not reported.

## References
- torch 2.13.0 torch/distributed/fsdp/_flat_param.py:806: `_validate_tensors_to_flatten`
- peft 0.21.2 peft/mapping_func.py:110: `autocast_adapter_dtype` is on
- transformers 5.23.0 transformers/distributed/fsdp.py:279: `update_fsdp_plugin_peft`
- peft issue 1702, direct-preference-optimization issue 90
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from distlint.analysis.model import Model, place_of, related
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.findings import Applicability, Finding, Fix, Related, Severity
from distlint.knowledge.configuration.launchers import Launcher
from distlint.knowledge.configuration.values import fsdp_version, section_of
from distlint.launch.project import Configuration, Format
from distlint.nodes import walk
from distlint.repairs.arguments import with_keyword
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function, Module

CODE = "DL212"
NAME = "unflattenable-parameters"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = (b"get_peft_model(",)

_ADAPTS = ("peft.get_peft_model", "peft.mapping.get_peft_model", "peft.mapping_func.get_peft_model")
_FSDP = "torch.distributed.fsdp.FullyShardedDataParallel"
_PREPARES = ("accelerate.Accelerator.prepare", "accelerate.Accelerator.prepare_model")
_HALF = ("torch.bfloat16", "torch.float16", "torch.half")
_ASKS = frozenset({"print_trainable_parameters", "train", "eval", "config", "enable_input_require_grads",
                   "gradient_checkpointing_enable", "get_nb_trainable_parameters"})  # fmt: skip
"""Attributes that leave dtypes, and what is trained, as they are."""
_POLICIES = ("transformer_auto_wrap_policy", "size_based_auto_wrap_policy", "ModuleWrapPolicy")
"""Policies whose units are whole layers: an adapter is inside of one."""
_OF_PEFT = "fsdp_auto_wrap_policy("


def check(model: Model) -> Iterator[Finding]:
    """Each wrap of a model with adapters that raises."""
    for module in model.modules:
        if "get_peft_model" not in module.source.text or _OF_PEFT in module.source.text:
            continue
        for function in module.all_functions:
            calls = list(own_nodes(function, ast.Call))
            for adapts in calls:
                if model.resolve(module, adapts.func) in _ADAPTS:
                    yield from _wrapped(model, function, adapts, calls)


def _wrapped(
    model: Model, function: Function, adapts: ast.Call, calls: list[ast.Call]
) -> Iterator[Finding]:
    """The calls that flatten the model to which adapters were given."""
    module = function.module
    name = _holder(function, adapts)
    for call in sorted(calls, key=lambda c: (c.lineno, c.col_offset)):
        if call.lineno <= adapts.lineno or not name:
            continue
        if not any(isinstance(a, ast.Name) and a.id == name for a in call.args):
            continue
        if _changed(function, name, adapts, call):
            return
        if model.resolve(module, call.func) == _FSDP:
            yield from _in_fsdp(model, function, adapts, call)
            return
        group = model.call_at(call)
        if group is not None and group.site.name in _PREPARES:
            yield from _prepared(model, function, adapts, call)
            return


def _holder(function: Function, call: ast.Call) -> str:
    """The variable that holds what a call gives; "" where it is none."""
    for node in own_nodes(function, ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is call:
                return name
    return ""


def _changed(function: Function, name: str, adapts: ast.Call, wrap: ast.Call) -> bool:
    """Whether anything between two calls may change the parameters of the model."""
    asked = {id(node.value) for node in own_nodes(function, ast.Attribute) if node.attr in _ASKS}
    end = (adapts.end_lineno or adapts.lineno, adapts.end_col_offset or 0)
    return any(
        node.id == name
        and end < (node.lineno, node.col_offset) < (wrap.lineno, wrap.col_offset)
        and not isinstance(node.ctx, ast.Store)
        and id(node) not in asked
        for node in own_nodes(function, ast.Name)
    )


def _in_fsdp(
    model: Model, function: Function, adapts: ast.Call, wrap: ast.Call
) -> Iterator[Finding]:
    module = function.module
    given = {k.arg: k.value for k in wrap.keywords}
    if None in given or any(str(name).startswith("ignored") for name in given):
        return
    if not _by_layers(function, given.get("auto_wrap_policy")):
        return
    places = (related(module, adapts, "adapters beside frozen weights"),)
    keeps = given.get("use_orig_params")
    if keeps is None or (isinstance(keeps, ast.Constant) and keeps.value is False):
        advice = "Give FSDP `use_orig_params=True`"
        edit = with_keyword(module.source.text, wrap, "use_orig_params=True") if not keeps else None
        fix = _fix(advice, edit)
        text = f"FSDP cannot flatten adapters together with frozen weights: every rank raises ValueError. {advice}."
        yield Finding(CODE, NAME, SEVERITY, text, place_of(module, wrap), places, fix)
    if _in_half(model, function, adapts) and _keeps_fp32(adapts):
        advice = "Give `get_peft_model` `autocast_adapter_dtype=False`"
        fix = _fix(advice, with_keyword(module.source.text, adapts, "autocast_adapter_dtype=False"))
        text = (
            "the adapters are fp32 beside weights of half precision, and FSDP cannot flatten two dtypes: every rank "
            f"raises ValueError. {advice}."
        )
        places = (related(module, wrap, "flattened here"),)
        yield Finding(CODE, NAME, SEVERITY, text, place_of(module, adapts), places, fix)


def _fix(advice: str, edit: Any) -> Fix:
    return Fix(
        Applicability.UNSAFE if edit else Applicability.DISPLAY, advice, (edit,) if edit else ()
    )


def _by_layers(function: Function, policy: ast.expr | None) -> bool:
    """Whether the units of FSDP are whole layers, or the whole model."""
    if policy is None or (isinstance(policy, ast.Constant) and policy.value is None):
        return True
    values = assignments(function).get(policy.id, []) if isinstance(policy, ast.Name) else [policy]
    return len(values) == 1 and any(word in ast.unparse(values[0]) for word in _POLICIES)


def _keeps_fp32(adapts: ast.Call) -> bool:
    given = {k.arg: k.value for k in adapts.keywords}
    value = given.get("autocast_adapter_dtype", ast.Constant(value=True))
    return None not in given and isinstance(value, ast.Constant) and value.value is True


def _in_half(model: Model, function: Function, adapts: ast.Call) -> bool:
    """Whether the model that gets adapters was loaded in half precision, by all that its variable is given."""
    if not adapts.args or not isinstance(adapts.args[0], ast.Name):
        return False
    name = adapts.args[0].id
    loads = [v for v in assignments(function).get(name, []) if v is not adapts]
    before = [v for v in loads if v.lineno < adapts.lineno]
    return len(before) == 1 and any(
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr == "from_pretrained"
        and any(
            k.arg in ("torch_dtype", "dtype") and model.resolve(function.module, k.value) in _HALF
            for k in value.keywords
        )
        and not any(k.arg == "quantization_config" for k in value.keywords)
        and not _changed(function, name, value, adapts)
        for value in before
    )


def _prepared(
    model: Model, function: Function, adapts: ast.Call, prepare: ast.Call
) -> Iterator[Finding]:
    """`prepare` under FSDP that flattens."""
    module = function.module
    plugin = _plugin(model, function)
    told = "FullyShardedDataParallelPlugin(" in module.source.text
    found = None if told else _flattens(model, module)
    if found is None and plugin is None:
        return
    advice = "Set `use_orig_params` true, or take peft's `fsdp_auto_wrap_policy`"
    text = f"FSDP cannot flatten adapters together with frozen weights: every rank raises ValueError. {advice}."
    asked = (
        Related(found.place(("fsdp_config", "fsdp_use_orig_params")), "flat parameters")
        if found is not None
        else related(module, plugin or adapts, "flat parameters")
    )
    places = (related(module, adapts, "adapters beside frozen weights"), asked)
    fix = Fix(Applicability.DISPLAY, advice)
    yield Finding(CODE, NAME, SEVERITY, text, place_of(module, prepare), places, fix)


def _flattens(model: Model, module: Module) -> Configuration | None:
    """The configuration of a launch of the file, or the only one there is, with flat parameters."""
    used = [
        configuration
        for script, launch in model.launch.starting(module.path)
        if launch.launcher is Launcher.ACCELERATE
        and (option := launch.options.get("config_file")) is not None
        and (
            configuration := model.launch.named(option.value or "", script.path, Format.ACCELERATE)
        )
        is not None
    ]
    known = used or list(model.launch.of(Format.ACCELERATE))
    if not used and len(known) != 1:
        return None
    for each in known:
        written = section_of(each.values, "fsdp_config").get("fsdp_use_orig_params")
        is_fsdp = str(each.values.get("distributed_type")).upper() == "FSDP"
        if is_fsdp and fsdp_version(each.values) == 1 and str(written).lower() == "false":
            return each
    return None


def _plugin(model: Model, function: Function) -> ast.Call | None:
    """The call that makes accelerate's settings for FSDP, with flat parameters: in the function, else in the file."""
    module = function.module
    if "FullyShardedDataParallelPlugin(" not in module.source.text:
        return None
    for nodes in (own_nodes(function), tuple(walk(module.source.tree))):
        made = [n for n in nodes if isinstance(n, ast.Call) and _makes_plugin(model, module, n)]
        if made:
            return made[0] if all(_is_flat(call) for call in made) else None
    return None


def _makes_plugin(model: Model, module: Module, call: ast.Call) -> bool:
    return str(model.resolve(module, call.func)).endswith(".FullyShardedDataParallelPlugin")


def _is_flat(call: ast.Call) -> bool:
    given = {k.arg: getattr(k.value, "value", None) for k in call.keywords}
    own = not given.keys() & {None, "auto_wrap_policy"}
    return own and given.get("fsdp_version") in (None, 1) and given.get("use_orig_params") is False
