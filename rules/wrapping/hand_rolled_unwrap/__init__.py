"""A model is unwrapped by asking for an attribute's name, which networks have too.

## What it does
Finds unwrapping by `hasattr(model, "module")`: the conditional expression, the `if`, the `while` loop, and
`getattr(model, "module", model)`; and loops over `"model"`.

## Why it is bad
An attribute's name is not a wrapper. A network that owns a part called `module` loses everything around it,
and a loop over `"model"` takes `LlamaForCausalLM` apart down to `LlamaModel`: the head is gone, and
`generate` or the saved checkpoint is wrong without an error. What `torch.compile` wraps is left wrapped,
and its checkpoint has keys that start with `_orig_mod.`.

## Example
```python
while hasattr(model, "module"):
    model = model.module
```

## Use instead
```python
model = unwrap(model)
```

## Fix safety
Safe where the function itself wraps what it unwraps, by a class that `unwrap` knows. Unsafe elsewhere:
`unwrap` takes modules only, and leaves wrappers of other libraries alone. Only shown in a file that imports
a library with wrappers of its own (Megatron-Core, ColossalAI): it has an unwrapping function, too.

## Known limits
A warning where the program is seen to bring a model here that the test gets wrong: one of a class that keeps
a `module`, or a compiled one whose weights are then asked for by name, with nobody below or in a caller who
takes `_orig_mod` off; for `model`, where the program uses transformers. Elsewhere advice (info), and silent
on what is known to be in DDP or DeepSpeed alone and in programs that have a wrapper of their own.
Tests by class (`isinstance(model, DistributedDataParallel)`) are not reported: they take off what they
name. Nor is the first `module` of an object called `self`.

## References
- transformers 5.23.0, `LlamaForCausalLM`: `model` is the network without its head
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, source_of, span_of
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.unwrapped import Lost, layers, lost
from distlint.analysis.questions.wrapped import has_own_wrapper
from distlint.edits import Delete, Edit, Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge.wrappers import WRAPPERS
from distlint.nodes import walk
from distlint.repairs.blocks import blocks
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function, Module

CODE = "DL205"
NAME = "hand-rolled-unwrap"
SEVERITY = Severity.WARNING
STATUS = Status.PREVIEW
LITERALS = (b', "module"', b", 'module'")
NEEDS_RANKS = False

_WEIGHTS = frozenset({"parameters", "buffers"})
_KNOWN = frozenset(
    {"ddp", "dp", "fsdp1", "compile", "deepspeed", "accelerate", "trainer", "strategy"}
)
_ALONE = frozenset({"ddp", "dp", "deepspeed", "strategy"})
_OWN_WRAPPERS = frozenset(
    name.partition(".")[0]
    for kind in ("colossalai", "megatron_ddp")
    for name in WRAPPERS[kind].classes
)
"""verl 0.9.1 verl/utils/checkpoint/megatron_checkpoint_manager.py:385: Megatron's DDP is not torch's."""


def check(model: Model) -> Iterator[Finding]:
    """Each place that unwraps by an attribute's name."""
    words = [literal.decode() for literal in LITERALS]
    modules = [m for m in model.modules if any(word in m.source.text for word in words)]
    if not modules:
        return
    seen = model.answer(layers)
    own = model.answer(has_own_wrapper)
    for module in modules:
        digging = _loops_to_parts(module)
        for function in (module.body, *module.all_functions):
            for node in own_nodes(function):
                found = _unwraps(node)
                if found is None or node in digging or (own and found[1] == "module"):
                    continue  # by class, a wrapper of the program's own would stay on
                subject, attr, whole = found
                kinds = {
                    w.kind for ws in seen.get((function, ast.unparse(subject)), ()) for w in ws
                }
                why = _lost(model, function, node, subject, attr)
                if why is None and kinds and kinds <= _ALONE:
                    continue  # the name says what the class says: nothing is compiled in between
                if isinstance(node, ast.stmt) and _gives_weights(module, node, subject):
                    continue  # the same ones, however much is taken off
                known = bool(kinds) and kinds <= _KNOWN
                whole = whole and (known or not _has_own_wrappers(module))
                safe = known and _wrapped_here(function, subject)
                yield _finding(module, node, subject, attr, whole, safe, why)


def _lost(
    model: Model, function: Function, node: ast.AST, subject: ast.expr, attr: str
) -> Lost | None:
    """What goes wrong with a model that the program is seen to bring here."""
    if attr == "module":
        return lost(model, function, node, subject, again=isinstance(node, ast.While))
    programs = model.program.modules.values()
    named = any("transformers" in part for m in programs for part in m.imports.values())
    return Lost.PART if named else None


def _wrapped_here(function: Function, subject: ast.expr) -> bool:
    """Whether the function itself makes what it unwraps: `unwrap` refuses what is no module, which another
    caller may hand over (open_clip 89fb801 tests/test_zero_shot_eval.py: plain objects with a `module`)."""
    made = assignments(function).get(ast.unparse(subject), ())
    return any(isinstance(value, ast.Call) for value in made)


def _has_own_wrappers(module: Module) -> bool:
    return any(name.partition(".")[0] in _OWN_WRAPPERS for name in module.imports.values())


def _loops_to_parts(module: Module) -> set[ast.AST]:
    """Loops over `model` that look for a part of the network (its layers), in no unwrapping function.

    peft 0.21.2, `peft/tuners/tuners_utils.py`, `replicate_layers`: the innermost model is what it wants.
    """
    return {
        node
        for function in module.all_functions
        if not function.is_module_body and "unwrap" not in function.name
        for node in walk(function.node, ast.While)
        if _asked(node.test, "model") is not None
    }


def _unwraps(node: ast.AST) -> tuple[ast.expr, str, bool] | None:
    """The model, the attribute's name, and whether the node does nothing else; None for others."""
    match node:
        case ast.IfExp(test=test, body=body, orelse=orelse):
            subject = _asked(test, "module")
            if subject is not None and _holds(body, subject, "module"):
                plain = ast.unparse(orelse) == ast.unparse(subject)
                same = ast.unparse(body) == f"{ast.unparse(subject)}.module"
                return (subject, "module", True) if plain and same else None
        case ast.While(test=test, body=[ast.Assign(targets=[target], value=value)]):
            for attr in ("module", "model"):
                subject = _asked(test, attr)
                if subject is not None and _steps(target, value, subject, attr):
                    return subject, attr, not node.orelse
        case ast.If(test=test, body=[ast.Assign(targets=[target], value=value)], orelse=[]):
            subject = _asked(test, "module")
            if subject is not None and _steps(target, value, subject, "module"):
                return subject, "module", True
        case ast.Call(
            func=ast.Name(id="getattr"), args=[subject, ast.Constant(value="module"), default]
        ) if ast.unparse(subject) == ast.unparse(default) and not _is_self(subject):
            return subject, "module", True
    return None


def _gives_weights(module: Module, node: ast.stmt, subject: ast.expr) -> bool:
    """Whether the function asks what it has unwrapped for weights alone.

    peft 0.21.2 peft/tuners/lora/corda.py:51: `next(iter(model.parameters())).device`.
    """
    functions = [f for f in module.all_functions if any(n is node for n in own_nodes(f))]
    inside = {id(each) for each in walk(node)}
    owner = {id(n.value): n.attr for f in functions for n in own_nodes(f, ast.Attribute)}
    reads = [
        owner.get(id(n), "")
        for f in functions
        for n in own_nodes(f, ast.Name)
        if ast.unparse(n) == ast.unparse(subject) and id(n) not in inside
    ]
    return bool(reads) and set(reads) <= _WEIGHTS


def _asked(test: ast.expr, attr: str) -> ast.expr | None:
    """The object of `hasattr(object, attr)`."""
    match test:
        case ast.Call(func=ast.Name(id="hasattr"), args=[subject, ast.Constant(value=name)]):
            return subject if name == attr and not _is_self(subject) else None
    return None


def _is_self(subject: ast.expr) -> bool:
    return isinstance(subject, ast.Name) and subject.id in ("self", "cls")


def _holds(node: ast.expr, subject: ast.expr, attr: str) -> bool:
    path = f"{ast.unparse(subject)}.{attr}"
    return any(ast.unparse(n) == path for n in walk(node, ast.Attribute))


def _copied_above(module: Module, node: ast.stmt, subject: ast.expr) -> ast.Assign | None:
    """`unwrapped = model` on the line above `while hasattr(unwrapped, …)`."""
    block = next(
        (block for parent in walk(module.source.tree) for block in blocks(parent) if node in block),
        [node],
    )
    match block[max(block.index(node) - 1, 0)]:
        case ast.Assign(targets=[ast.Name() as target], value=ast.Name()) as above if ast.unparse(
            target
        ) == ast.unparse(subject):
            return above
    return None


def _steps(target: ast.expr, value: ast.expr, subject: ast.expr, attr: str) -> bool:
    """Whether an assignment is `subject = subject.attr`."""
    return (
        ast.unparse(target) == ast.unparse(subject)
        and ast.unparse(value) == f"{ast.unparse(subject)}.{attr}"
    )


def _finding(
    module: Module,
    node: ast.AST,
    subject: ast.expr,
    attr: str,
    whole: bool,
    safe: bool,
    why: Lost | None,
) -> Finding:
    text = source_of(module, subject)
    edits: tuple[Edit, ...] = (Replace(span_of(node), f"$unwrap({text})"),)
    if isinstance(node, ast.stmt):
        above = _copied_above(module, node, subject)
        wrapped = text if above is None else source_of(module, above.value)
        edits = (Replace(span_of(node), f"{text} = $unwrap({wrapped})"),)
        edits = edits if above is None else (Delete(span_of(above)), *edits)
    advice = f"Use `unwrap({text})`, which decides by class"
    return Finding(
        CODE,
        NAME,
        Severity.INFO if why is None else SEVERITY,
        f"`{text}` is unwrapped by the name `{attr}`: {_consequence(attr, why)}. {advice}.",
        place_of(module, node),
        (),
        Fix(
            Applicability.SAFE if safe else Applicability.UNSAFE,
            advice,
            edits,
        )
        if whole
        else Fix(Applicability.DISPLAY, advice),
    )


def _consequence(attr: str, why: Lost | None) -> str:
    part = (
        "a network loses its head"
        if attr == "model"
        else "a network that owns a `module` loses what is around it"
    )
    match why:
        case Lost.PART:
            return f"on every rank {part}"
        case Lost.COMPILED:
            return "the model is compiled and stays so, and the names of its weights start with `_orig_mod.`"
    return f"on every rank {part}, and a compiled one stays wrapped"
