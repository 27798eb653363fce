"""A checkpoint that holds one rank's part, or keys that only a wrapped model has.

## What it does
Reports `state_dict()` of a model sharded with FSDP2 that rank 0 alone calls, that of an optimizer of the parameters of a
model in FSDP which rank 0 alone writes, and a saved `state_dict()`
of a model that is still wrapped in DDP, DataParallel or `torch.compile`'s module. Also a Trainer's own `_save`
that takes `self.model.state_dict()` in place of the gathered state it is given, where the project has a JSON of
DeepSpeed for stage 3, and the saved `state_dict()` of a Trainer's model where a script or page launches the
program in ZeRO-3.

## Why it is bad
Under FSDP2 each rank holds its part as DTensors and `state_dict()` gathers nothing: what rank 0 saves is
its own part, without an error (measured with torch 2.13.0). So is an optimizer's state in FSDP, whatever
`FSDP.state_dict_type` says: it changes the model's alone. Under DDP all keys begin with `module.`, after
`torch.compile` with `_orig_mod.`: the file loads into nothing but a model wrapped in the same way, and
with `strict=False` it loads nothing at all, without an error.

## Errors you may see
- `Missing key(s) in state_dict`
- `Unexpected key(s) in state_dict`
- `torch.Size([0])`

## Example
```python
model = DistributedDataParallel(model)
if rank == 0:
    torch.save(model.state_dict(), path)
```

## Use instead
```python
if rank == 0:
    torch.save(unwrap(model).state_dict(), path)
```
For sharded models `save(model, path)`, called by all ranks.

## Fix safety
Unsafe: the keys in the file change, and what loads it may count on the old ones. For sharded models the
repair is shown, since the guard around it has to go.

## Known limits
Silent in files that take the prefix off again, or that load a state into a model that is still wrapped, in those
of the same package, and where a program of which they are part reads files so; where a program of the same folder, of that of a script which leads there, of one in it or around
it loads a state, and wraps a model or knows of the prefix, too: what it loads, a configuration may say.

## References
- torch 2.13.0 torch/nn/parallel/distributed.py: the model is the submodule `module`
- torch 2.13.0 torch/_dynamo/eval_frame.py: `OptimizedModule._orig_mod`
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.ranks import MAIN
from distlint.analysis.live.joint_entry import ranked
from distlint.analysis.model import place_of, related, span_of
from distlint.analysis.program.definitions import Function, dotted_name
from distlint.analysis.program.linked import linked
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.launched import root_paths
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge.schema import Effect
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.repairs import guarding
from distlint.rule import Status

from .loading import loads_into_wrapped
from .optimizers import parts_of_optimizers
from .trainers import dropped_states, ungathered_states

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.interpreter.values import Wrap
    from distlint.analysis.model import CallGroup, Model
    from distlint.analysis.program.definitions import Module
    from distlint.launch.engines import Start

CODE = "DL307"
NAME = "partial-checkpoint"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = (b'startswith("module', b"startswith('module")
NEEDS_RANKS = False  # DataParallel's prefix is there on one process, too

_PREFIX = {"ddp": "module.", "dp": "module.", "compile": "_orig_mod."}
_GATHERED = {
    "fsdp1": "FSDP.optim_state_dict(model, optimizer)",
    "fsdp2": "get_optimizer_state_dict(model, optimizer)",
}
"""What gathers the state of an optimizer, by what shards the model (torch 2.13.0 distributed/fsdp/fully_sharded_data_parallel.py,
distributed/checkpoint/state_dict.py)."""
_STRIPPED = pattern(
    r"""["']module\.[\w.]*["']|_orig_mod|consume_prefix_in_state_dict_if_present|startswith\(["']module["']\)"""
)
_CUT = pattern(r"\b(?:k|key|name|n)\[(?:7|10|17):\]")
"""The prefix taken off by its length, `module.`, `_orig_mod.` or both: `new_state[k[7:]] = v`."""


def check(model: Model) -> Iterator[Finding]:
    """States of wrapped models that are saved."""
    saved = _saved_states(model)
    for call in model.calls():
        site = call.site
        if site.method != "state_dict" or site.receiver is None or site.node.args:
            continue
        wraps = site.receiver.wraps
        if not wraps:
            continue
        kinds = {wrap.kind for wrap in wraps}
        if "fsdp2" in kinds and call.classes == {MAIN} and ranked(site) and id(site.node) in saved:
            yield _partial(call, wraps)
        elif (
            wraps[-1].kind in _PREFIX
            and not _taken_off(site)
            and not _for_the_bare_one(site)
            and id(site.node) in saved
            and not _symmetric(model, site.module)
        ):
            yield _prefixed(model, call, wraps[-1])
    for site, state, wrap in parts_of_optimizers(model):
        yield _part_of_optimizer(site, state, wrap)
    for method, node in dropped_states(model):
        yield _dropped(method, node)
    for site, start in ungathered_states(model):
        yield _ungathered(site, start)


def _part_of_optimizer(site: CallSite, state: ast.Call, wrap: Wrap) -> Finding:
    assert isinstance(state.func, ast.Attribute)
    optimizer = ast.unparse(state.func.value)
    gathers = _GATHERED[wrap.kind]
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"rank 0 saves the state of its own shards alone: `{optimizer}` is of the parameters of a sharded model, and its "
        f"`state_dict()` gathers nothing. Call `{gathers}` on all ranks, and save what it gives.",
        place_of(site.module, state),
        (related(wrap.module, wrap.node, "sharded here"),),
        Fix(Applicability.DISPLAY, f"Call `{gathers}` on all ranks"),
    )


def _ungathered(site: CallSite, start: Start) -> Finding:
    advice = "Save with `trainer.save_model()`, called by all ranks, which gathers the state"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"{start.words()}, `{ast.unparse(site.node)}` holds empty tensors in place of the parameters, which are "
        f"divided among the ranks: the checkpoint loads into no model. {advice}.",
        place_of(site.module, site.node),
        start.related(),
        Fix(Applicability.DISPLAY, advice),
    )


def _dropped(method: Function, node: ast.Call) -> Finding:
    advice = "Save the `state_dict` that `_save` is given"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"under ZeRO-3 `{ast.unparse(node)}` is rank 0's own part, with empty tensors in place of the "
        f"rest: the Trainer has gathered the whole state, and gives it to `_save`. {advice}.",
        place_of(method.module, node),
        (),
        Fix(Applicability.DISPLAY, advice),
    )


def _taken_off(site: CallSite) -> bool:
    """Whether the code reads `.module` itself: below it is the model, whichever engine was chosen.

    CosyVoice ace7c47 cosyvoice/utils/train_utils.py:202: DDP under one value of an option, DeepSpeed under
    the other, which never stand around each other.
    """
    function = site.node.func
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Attribute)
        and function.value.attr == "module"
    )


def _for_the_bare_one(site: CallSite) -> bool:
    """Whether the other arm of a condition around the call takes the wrapper off: this one is for a model without.

    Comprehensive-Transformer-TTS train.py:193: `model.module.state_dict() if num_gpus > 1 else model.state_dict()`.
    """
    assert isinstance(site.node.func, ast.Attribute)
    below = f"{ast.unparse(site.node.func.value)}.module"
    for node in own_nodes(site.function):
        match node:
            case ast.If(body=[*body], orelse=[*orelse]):
                arms: list[list[ast.AST]] = [[*body], [*orelse]]
            case ast.IfExp(body=chosen, orelse=other):
                arms = [[chosen], [other]]
            case _:
                continue
        parts = [[inner for part in arm for inner in walk(part)] for arm in arms]
        for ours, theirs in (parts, parts[::-1]):
            if any(part is site.node for part in ours) and any(
                isinstance(part, ast.Attribute) and dotted_name(part) == below for part in theirs
            ):
                return True
    return False


def _saved_states(model: Model) -> set[int]:
    """The nodes of calls whose result goes into a file, directly or in a container."""
    found: set[int] = set()
    for call in model.calls():
        if call.site.row(Effect.WRITE, Effect.GUARDED_WRITE) is not None:
            for argument in call.site.node.args[:2]:
                for part in (argument, *_dict_of(call, argument)):
                    found.update(id(node) for node in walk(part, ast.Call))
    return found


def _dict_of(call: CallGroup, argument: ast.expr) -> list[ast.expr]:
    """The dict that a variable holds which is written, or the state: phenaki-pytorch 9415d4e cvivit_trainer.py:333."""
    if not isinstance(argument, ast.Name):
        return []
    values = assignments(call.site.function).get(argument.id, [])
    return [v for v in values if isinstance(v, ast.Dict | ast.Call)] if len(values) == 1 else []


@remembered
def _readers(model: Model) -> frozenset[Module]:
    """The files that load a state into a wrapped model, or know of the prefix.

    MONAI research-contributions 21ed8e5 SwinMM/Pretrain/main.py:272: `new_name = k[7:]`, of each key of what it resumes from.
    """
    texts = ((module, module.source.text) for module in model.modules)
    found = {
        module
        for module, text in texts
        if _STRIPPED.search(text) or ("load_state_dict" in text and _CUT.search(text))
    }
    for call in model.calls():
        site = call.site
        if site.method == "load_state_dict" and (
            (site.receiver is not None and site.receiver.wraps) or _is_fitted(model, site)
        ):
            found.add(site.module)
    return frozenset(found)


def _is_fitted(model: Model, site: CallSite) -> bool:
    """Whether what is loaded comes out of a function of the program that knows of the prefix.

    EgoVLPv2 550c059 EgoTaskQA/main_end2end.py:166: `state_dict_data_parallel_fix(saved, model.state_dict())`.
    """
    given = site.node.args[:1]
    made = [
        v
        for a in given
        if isinstance(a, ast.Name)
        for v in assignments(site.function).get(a.id, ())
    ]
    return any(
        isinstance(each, ast.Call)
        and isinstance(callee := model.resolve(site.module, each.func), Function)
        and _STRIPPED.search(guarding.source(callee.module.source.text, callee.node)) is not None
        for each in (*given, *made)
    )


def _symmetric(model: Model, module: Module) -> bool:
    """Whether what is saved in a file is read as it is: by itself, a file of its package, folder or program, one beside a script that
    leads here, or another.

    Chinese-CLIP 31863c7 cn_clip/training/train.py:309: main.py beside it resumes into the model in DDP, eval/ and
    deploy/ take `module.` off. jepa 51c59d5 app/vjepa/train.py:332: utils.py loads it into the same wrapper. TransReID dec5504
    processor/processor.py:96: model/make_model.py takes `module.` off, and train.py imports both.
    """
    package = _top(module)
    around = {posixpath.dirname(each) for each in root_paths(model, module)}
    return (
        loads_into_wrapped(model)
        or any(
            _top(each) == package
            or (
                "torch.load(" in each.source.text
                and (
                    posixpath.dirname(each.path) in around or each in linked(model.program, module)
                )
            )
            for each in _readers(model)
        )
        or _read_by_another(model, module)
    )


def _read_by_another(model: Model, module: Module) -> bool:
    """Whether a program that shares no file with this one, but the folder or one around it, or that of a script which leads
    here, loads states into wrapped models.

    FudanOCR dce7190 image-ids-CTR/train.py:44 loads what CCR-CLIP/main.py:39 saves, by a path of its configuration and with
    `strict=False`: without the prefix it would go on with random weights. srgan_cosmo2d 8bad41d predict.py:209 wraps what it
    loads, beside the script that runs toolbox/Trainer.py.
    """
    own = {each.path for each in model.program.modules.values()}
    folder = posixpath.dirname(module.path)
    others = {posixpath.dirname(each) for each in model.launch.loads_wrapped - own}
    around = {posixpath.dirname(each) for each in root_paths(model, module)}
    return not others.isdisjoint({folder, *around}) or any(
        each and folder and posixpath.commonpath([each, folder]) in (each, folder)
        for each in others
    )


def _top(module: Module) -> str:
    """The package that a file belongs to; its folder, where it is in none."""
    name = module.written
    return name.partition(".")[0] if "." in name else posixpath.dirname(module.path)


def _partial(call: CallGroup, wraps: tuple[Wrap, ...]) -> Finding:
    site = call.site
    owner = ast.unparse(site.node.func.value) if isinstance(site.node.func, ast.Attribute) else ""
    return Finding(
        CODE,
        NAME,
        Severity.ERROR,
        f"rank 0 saves its own part of `{owner}` only: the model is sharded, and nothing gathers the "
        f"rest. Call `save({owner}, path)` on all ranks, outside the test of the rank.",
        place_of(site.module, site.node),
        (related(wraps[-1].module, wraps[-1].node, "sharded here"),),
        Fix(Applicability.DISPLAY, f"Call `save({owner}, path)` on all ranks"),
    )


def _prefixed(model: Model, call: CallGroup, wrap: Wrap) -> Finding:
    site = call.site
    function = site.node.func
    assert isinstance(function, ast.Attribute)
    owner = ast.unparse(function.value)
    prefix = _PREFIX[wrap.kind]
    code = f"$unwrap({guarding.source(site.module.source.text, function.value)})"
    edit = Replace(span_of(function.value), code)
    advice = f"Save the state of `unwrap({owner})`"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"all keys of the saved state begin with `{prefix}`, since `{owner}` is still wrapped: the "
        f"file loads into nothing but a model wrapped like it. Save `unwrap({owner}).state_dict()`.",
        place_of(site.module, site.node),
        (related(wrap.module, wrap.node, "wrapped here"),),
        # Below a compiled layer may be FSDP, past which each rank has pieces: distributed-vae f301b5d fsdp_mnist.py:504.
        Fix(Applicability.DISPLAY, advice)
        if wrap.kind == "compile" and model.may_shard
        else Fix(Applicability.UNSAFE, advice, (edit,)),
    )
