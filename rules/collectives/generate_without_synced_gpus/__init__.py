"""`generate()` of a sharded model stops on each rank when that rank is done.

## What it does
Finds `generate` of a transformers model in FSDP or in a DeepSpeed engine with `synced_gpus=False`. Also
`generate` of an engine that `deepspeed.initialize` made in ZeRO stage 3, without `synced_gpus`, in a program
that makes no `HfDeepSpeedConfig`.

## Why it is bad
Each forward of a sharded model gathers parameters from all ranks. A rank whose texts end early leaves
`generate`, and the others wait in their next forward for ever. `synced_gpus` lets it go on with empty forwards
until all are done. transformers turns it on by itself under FSDP, and under ZeRO-3 where a living
`HfDeepSpeedConfig` tells of it; nothing tells of an engine that was made by hand.

## Errors you may see
- `Watchdog caught collective operation timeout`

## Example
```python
engine, *_ = deepspeed.initialize(model=model, config={"zero_optimization": {"stage": 3}})
tokens = engine.generate(prompt, max_new_tokens=64)
```

## Use instead
```python
engine, *_ = deepspeed.initialize(model=model, config={"zero_optimization": {"stage": 3}})
tokens = engine.generate(prompt, max_new_tokens=64, synced_gpus=True)
```

## Fix safety
Safe where `synced_gpus=False` is taken back: transformers then decides. Unsafe where it is added, since it runs
more forwards.

## Known limits
Silent where the parameters are gathered around the call, and for a `generate` that the program defines.

## References
- transformers 5.23.0 transformers/generation/utils.py:2566: the default of `synced_gpus`
- torch 2.13.0: both versions of FSDP set `_is_fsdp_managed_module`, which that default asks for
- transformers issue 18281, DeepSpeed issues 860, 3550
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, span_of
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.origins import Origin, origins
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Related, Severity
from distlint.launch.deepspeed import stage_of
from distlint.launch.project import Format
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.repairs.arguments import with_keyword
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.program.definitions import Function, Module

CODE = "DL110"
NAME = "generate-without-synced-gpus"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()

_SHARDED = frozenset({"fsdp1", "fsdp2", "deepspeed"})
_IN_PLACE = "torch.distributed.fsdp.fully_shard"
_ENGINE = "deepspeed.initialize"
_STAGE_3 = (
    pattern(r"""stage(?<=["']stage)["']\s*:\s*3\b"""),
    pattern(r"zero(?<!\w.{4})_?stage\s*={1,2}\s*3\b"),
)
"""Each begins with letters, which are found ten times as fast as one of several beginnings."""
_TELLS = (
    pattern(r"Hf(?<!\w..)(?:Trainer)?DeepSpeedConfig\b"),
    pattern(r"TrainingArguments(?<!\w.{17})\b"),
    pattern(r"Accelerator\((?<!\w.{12})"),
)
"""Words of programs in which transformers knows of the stage."""
_GATHERED = ("summon_full_params", "GatheredParameters", "unwrap_model_for_generation", "unshard")


def check(model: Model) -> Iterator[Finding]:
    """Each `generate` after which ranks of a sharded model part."""
    followed: set[int] = set()
    for call in model.calls(".generate"):
        site = call.site
        if site.callee is not None:
            followed.add(id(site.node))  # the program's own
        if (
            site.receiver is None
            or site.callee is not None
            or _gathers_around(site.function, site.node)
        ):
            continue
        wrap = _sharded(model, site)
        if wrap is None:
            continue
        followed.add(id(site.node))
        given = site.argument(None, "synced_gpus")
        node = site.argument_node(None, "synced_gpus")
        kind, module, made = wrap
        if given is not None and given.const is False and node is not None:
            edits: tuple[Replace, ...] = (Replace(span_of(node), "None"),)
            fix = Fix(Applicability.SAFE, "Leave `synced_gpus` to transformers", edits)
        elif given is None and kind == "deepspeed" and _is_stage_3_by_hand(model):
            fix = _added(site.module, site.node)
        else:
            continue
        yield _finding(site.module, site.node, related(module, made, "sharded here"), fix)
    generates = any(".generate(" in module.source.text for module in model.modules)
    if generates and _is_stage_3_by_hand(model):
        yield from _of_engines(model, followed)


def _of_engines(model: Model, followed: set[int]) -> Iterator[Finding]:
    """The same in functions that do not speak of ranks, whose engines were made elsewhere."""
    for module in model.modules:
        if ".generate(" not in module.source.text:
            continue
        for function in module.all_functions:
            for node in own_nodes(function, ast.Call):
                match node:
                    case ast.Call(
                        func=ast.Attribute(attr="generate", value=engine), keywords=keywords
                    ) if id(node) not in followed and not (
                        {k.arg for k in keywords} & {"synced_gpus", None}
                    ):
                        origin = _engine(model, function, engine)
                        if origin is not None and not _gathers_around(function, node):
                            place = related(origin.function.module, origin.call, "sharded here")
                            yield _finding(module, node, place, _added(module, node))


def _engine(model: Model, function: Function, node: ast.expr) -> Origin | None:
    """The call that made an engine of a model of transformers, where an expression is nothing else."""
    made = origins(model, function, node)
    for origin in made:
        if origin is None or origin.meaning != _ENGINE:
            return None
        call = origin.call
        inside = next((k.value for k in call.keywords if k.arg == "model"), None)
        loaded = origins(model, origin.function, inside) if inside is not None else [None]
        if not all(o is not None and str(o.meaning).startswith("transformers.") for o in loaded):
            return None
    return made[0] if made else None


def _added(module: Module, call: ast.Call) -> Fix:
    edit = with_keyword(module.source.text, call, "synced_gpus=True")
    safety = Applicability.UNSAFE if edit else Applicability.DISPLAY
    return Fix(safety, "Give it `synced_gpus=True`", (edit,) if edit else ())


def _finding(module: Module, call: ast.Call, sharded: Related, fix: Fix) -> Finding:
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        "The rank whose texts end first leaves, and the others wait for its part of the parameters in "
        f"their next forward. {fix.message}.",
        place_of(module, call),
        (sharded,),
        fix,
    )


def _sharded(model: Model, site: CallSite) -> tuple[str, Module, ast.AST] | None:
    """What shards the model that generates: the kind of wrapper, and the place of the call."""
    assert site.receiver is not None
    for wrap in site.receiver.wraps:
        if wrap.kind in _SHARDED:
            return wrap.kind, wrap.module, wrap.node
    generates = site.node.func
    for node in own_nodes(site.function, ast.Expr):
        match node:
            case ast.Expr(value=ast.Call(func=called, args=[given, *_]) as call) if (
                isinstance(generates, ast.Attribute)
                and ast.unparse(given) == ast.unparse(generates.value)
                and model.resolve(site.module, called) == _IN_PLACE
            ):
                return "fsdp2", site.module, call
    return None


def _gathers_around(function: Function, call: ast.Call) -> bool:
    """Whether each rank has all parameters around the call."""
    for node in own_nodes(function, ast.With):
        if any(n is call for s in node.body for n in walk(s)):
            for item in node.items:
                text = ast.unparse(item.context_expr)
                if any(word in text for word in _GATHERED) and "recurse=False" not in text:
                    return True
    return False


def _is_stage_3_by_hand(model: Model) -> bool:
    """Whether an engine shards its parameters, and transformers does not know."""
    texts = [module.source.text for module in model.program.modules.values()]
    if any(words.search(text) for words in _TELLS for text in texts):
        return False
    stages = [stage_of(file.values) for file in model.launch.of(Format.DEEPSPEED)]
    return 3 in stages or any(words.search(text) for words in _STAGE_3 for text in texts)
