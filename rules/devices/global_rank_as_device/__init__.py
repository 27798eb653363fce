"""The global rank chooses the device, and the second machine has no such device.

## What it does
Finds a global rank (`dist.get_rank()`, `RANK`, `accelerator.process_index`, an option whose default is `RANK`) where the number of a device is
wanted: `set_device`, `device_ids`, `torch.device("cuda", …)`, `f"cuda:{…}"`, `.to(…)`, `map_location`,
`device_map`, or an entry of the GPUs that a setting lists (a warning). It goes by where the value comes from: a variable called `rank` may hold the local index.

## Why it is bad
Devices are counted on each machine, ranks over all. On one machine both are the same, so that nothing shows
in the test; on two machines with eight GPUs rank 8 asks for `cuda:8`, and the job dies with "invalid device
ordinal" on the second machine while the first waits for it.

## Errors you may see
- `invalid device ordinal`

## Example
```python
torch.cuda.set_device(dist.get_rank())
```

## Use instead
```python
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
```
or `rank_info().local_rank`, or what the framework gives: `accelerator.device`.

## Fix safety
Safe: on one machine both numbers are the same, and all devices of a function that one rank chooses change
together. Shown only where the rank goes through a variable that the device is computed from in another way, and
where that variable goes on to a function or an object that chooses a device by it too.

## Known limits
`rank % device_count()` is right while every machine has the same number of ranks and GPUs, and reported as
information only. Parameters called `rank` are not reported: `mp.spawn` passes the local index first. But one that
a constructor keeps is, where all who make such objects hand over the global rank, and one that a spawned function makes of its
index and the ranks of the machines before it, wherever its settings are handed: once in each file. Nor
are files that start a single machine (`MASTER_ADDR` set to localhost, a `TCPStore` there, `mp.spawn` where no machines are
counted), or whose groups are as large as this machine has devices; nor a list whose length the program compares with the world
size, which has an entry for each rank.

## References
- accelerate, commit 0cb1a334: "invalid device ordinal" from `process_index`, repaired by
  `local_process_index`
- torch 2.13.0 torch/cuda/__init__.py:677
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.values import RANK_MODULO
from distlint.analysis.model import Model, place_of, related, span_of
from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.launched import (
    groups_of_own_devices,
    on_one_machine,
    refuses_machines,
    roots,
    starts_one_machine,
)
from distlint.analysis.questions.unread import never_read
from distlint.edits import Edit, Insert, Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge import devices
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.repairs.guarding import source
from distlint.rule import Status

from .device_choice import Chosen, chosen_by, same_choice
from .handed import Kept, kept_ranks, optional_ranks
from .handed_on import handed_on
from .spawned import counted_ranks

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.interpreter.values import Origin, Value
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function, Module

CODE = "DL504"
NAME = "global-rank-as-device"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = ()

_ARGUMENTS: dict[str, tuple[int | None, str]] = {
    row.name: (row.device if isinstance(row.device, int) else None, row.keyword)
    for row in devices.DEVICE_CALLS.values()
    if row.device != ""
}
_MANY = 3
"""From so many places on the local rank gets a variable."""
_NAME = "local_rank"
_LOCAL_RANK = "$rank_info().local_rank"
_LISTS = pattern(r"^(?:gpus|devices|(?:gpu|device|cuda)_?(?:ids|list|s))$")
_METHODS = {"to": (0, "device"), "cuda": (0, "device"), "set_device": (0, "device")}


def check(model: Model) -> Iterator[Finding]:
    """Each device that a global rank chooses; one for each origin in a function."""
    told: set[Module] = set()
    for module in model.modules:
        for kept in sorted(counted_ranks(model.program, module), key=lambda each: each.node.lineno):
            if kept.function.module not in told and not refuses_machines(kept.function):
                told.add(kept.function.module)
                yield _handed(kept)
        if on_one_machine(model, module) or groups_of_own_devices(model, module):
            continue
        found: dict[tuple[Function, str, bool], list[tuple[Chosen, Origin]]] = {}
        for function, node, value in _devices(model, module):
            origin = _global_rank(value) if not refuses_machines(function) else None
            chosen = chosen_by(function, node) if origin is not None else None
            if (
                origin is None
                or chosen is None
                or not _asks_rank(model, chosen.index, value, origin)
            ):
                continue
            if RANK_MODULO in value.tags:
                chosen = replace(chosen, modulo=True)
            if never_read(model, function, node):
                continue
            places = found.setdefault((function, origin.text, chosen.modulo), [])
            if all(chosen.node is not other.node for other, _ in places):
                places.append((chosen, origin))
        seen = {n for places in found.values() for chosen, _ in places for n in walk(chosen.node)}
        for (function, _, _), places in found.items():
            of_rank = [chosen for chosen, _ in places]
            for each in same_choice(function, of_rank[0]):
                if seen.isdisjoint(inside := set(walk(each.node))):
                    seen |= inside
                    of_rank.append(each)
            yield _finding(model, function, _in_order(of_rank), places[0][1])
        for kept in (
            *kept_ranks(model.program, module),
            *optional_ranks(model.program, module),
        ):
            if not refuses_machines(kept.function):
                yield _handed(kept)


def _in_order(places: list[Chosen]) -> list[Chosen]:
    return sorted(places, key=lambda each: (each.node.lineno, each.node.col_offset))


def _handed(kept: Kept) -> Finding:
    """A device that is chosen by the rank which an object was given."""
    fix = Fix(Applicability.DISPLAY, "Hand over the local rank")
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"`{ast.unparse(kept.node)}` was given the global rank, which counts the ranks of all machines: on the second "
        "machine the ranks ask for devices that it does not have (`invalid device ordinal`), and those of the first "
        f"wait for them. {fix.message}.",
        place_of(kept.function.module, kept.node),
        (related(kept.module, kept.asked, "the global rank"),),
        fix,
    )


def _devices(model: Model, module: Module) -> Iterator[tuple[Function, ast.expr, Value]]:
    """The arguments that choose a device, with the value that rank 0 sees."""
    for call in model.calls(module=module):
        for node, value in _arguments(call.site):
            yield call.site.function, node, value


def _arguments(site: CallSite) -> Iterator[tuple[ast.expr, Value]]:
    wanted = [_ARGUMENTS.get(site.name) or _METHODS.get(site.method)]
    if site.name == "torch.device":
        wanted = [(0, "type"), (1, "index")]
    elif site.method == "from_pretrained":
        wanted = [(None, "device_map")]
    elif "device_ids" in site.keywords:
        wanted.append((None, "output_device"))
    for place in wanted:
        if place is not None:
            value = site.argument(*place)
            node = site.argument_node(*place)
            if value is not None and node is not None and not _is_overlooked(site, value):
                yield node, value


def _is_overlooked(site: CallSite, value: Value) -> bool:
    """Whether a barrier is given a number in place of a list of one, of which it takes no notice.

    torch 2.13.0 torch/distributed/distributed_c10d.py, `barrier`: `if isinstance(device_ids, list)`; older ones raise on all
    ranks. video-SALMONN-2 61faec0 video_SALMONN2_plus/qwenvl/train/train_qwen.py:208.
    """
    return site.name == "torch.distributed.barrier" and isinstance(value.const, int)


def _global_rank(value: Value) -> Origin | None:
    """Where the global rank in a value was asked for; None for local indices and mere names."""
    if "kind:rank" not in value.tags or "kind:local_rank" in value.tags or value.origin is None:
        return None
    # A parameter or an undefined name is a rank by convention only: verl 0.9.1,
    # workers/megatron_workers.py sets `rank = int(os.environ["LOCAL_RANK"])`.
    return None if isinstance(value.origin.node, ast.Name | ast.arg) else value.origin


def _asks_rank(model: Model, index: ast.expr, value: Value, origin: Origin) -> bool:
    """Whether the number is the rank itself, and not something that was computed with it."""
    if (
        isinstance(index, ast.Subscript)
        and index is not origin.node
        and not isinstance(index.slice, ast.Constant)
    ):
        return _of_a_list(model, index)
    name = ast.unparse(index.func if isinstance(index, ast.Call) else index).lower()
    if any(n is origin.node for n in walk(index)):
        return True
    if "local" in name:
        # Cream 4a13c40 CDARTS/CDARTS_segmentation/train/train_cydas.py:202: `args.local_rank = dist.get_rank()`. It is
        # the local one where all is one machine (nnUNet nnunetv2/training/nnUNetTrainer/nnUNetTrainer.py:81).
        held = value.items[0] if value.items else value
        return (
            isinstance(index, ast.Attribute)
            and _is_put_into(index.attr, origin)
            and held.known
            and "world_size" not in held.tags
            and not any(map(starts_one_machine, model.answer(roots)[origin.module]))
        )
    return "rank" in name or "process_index" in name


def _is_put_into(attr: str, origin: Origin) -> bool:
    """Whether a rank is put into an attribute where it is asked for.

    Not by a helper that has a group of each machine, and asks for the rank where there is none (YOLOX 6ddff48
    yolox/utils/dist.py:104, `get_local_rank()`).
    """
    return any(
        any(last_name(target) == attr for target in node.targets)
        and any(part is origin.node for part in walk(node.value))
        for node in walk(origin.module.source.tree, ast.Assign)
    )


def _of_a_list(model: Model, index: ast.Subscript) -> bool:
    """Whether a rank chooses among the GPUs that a setting lists: `configs["gpus"][rank]`.

    Not among those that a request lists, one for each rank (LLaMA2-Accessory 3777c43
    accessory/model/multi_gpu_wrapper.py:78), nor where the program wants as many as there are ranks.
    """
    match index.value:
        case (
            ast.Attribute(attr=str() as name)
            | ast.Subscript(slice=ast.Constant(value=str() as name))
        ):
            return (
                _LISTS.search(name) is not None
                and _is_global_rank(index.slice)
                and name not in model.answer(_counted_as_ranks)
            )
    return False


def _counted_as_ranks(live: LiveProgram) -> frozenset[str]:
    """The settings whose length the program compares with the number of ranks: an entry for each rank of all machines.

    ULTRA 427966a ultra/util.py:111: `len(cfg.train.gpus) != world_size` raises, and README.md:253 lists the devices of one
    machine once for each machine.
    """
    return frozenset(
        last_name(counted)
        for module in live.program.modules.values()
        if "len(" in module.source.text and "world_size" in module.source.text
        for node in walk(module.source.tree, ast.Compare)
        if len(node.comparators) == 1
        for one, other in permutations((node.left, node.comparators[0]))
        if "world_size" in last_name(other)
        and isinstance(one, ast.Call)
        and last_name(one.func) == "len"
        for counted in one.args
    )


def _finding(model: Model, function: Function, places: list[Chosen], origin: Origin) -> Finding:
    """One finding for the devices of a function that one rank chooses, at the first."""
    module, modulo = function.module, places[0].modulo
    fix = _fix_of(model, function, places)
    text = (
        "the ranks of a machine share devices here where another machine has more or fewer GPUs"
        if modulo
        else "on the second machine the ranks ask for devices that it does not have (`invalid "
        "device ordinal`), and those of the first wait for them"
    )
    return Finding(
        CODE,
        NAME,
        Severity.INFO if modulo else SEVERITY,
        f"{origin.text} counts the ranks of all machines: {text}. {fix.message}.",
        place_of(module, places[0].node),
        (
            related(origin.module, origin.node, "the global rank"),
            *(
                related(module, each.node, "here too")
                for each in places[1:]
                if origin.node not in walk(each.node)
            ),
        ),
        fix,
    )


def _fix_of(model: Model, function: Function, places: list[Chosen]) -> Fix:
    """All the places in one fix: what would stay is found as before.

    Shown only where the same variable goes on to what chooses a device by it elsewhere.
    """
    fixes = [_fix(function, each) for each in places]
    if places[0].modulo or not all(fix.edits for fix in fixes):
        return Fix(Applicability.DISPLAY, fixes[0].message)
    source_of_all = _of_a_variable_for_devices(function, places)
    if source_of_all is not None:
        return Fix(Applicability.SAFE, fixes[0].message, (source_of_all,))
    if kept := next((n for n in _variables(places) if _goes_on(function, n)), ""):
        advice = f"{fixes[0].message}, wherever `{kept}` chooses the device"
        return Fix(Applicability.DISPLAY, advice)
    for name in dict.fromkeys(_variables(places)):
        call = handed_on(model.program, function, name)
        if call is not None:
            advice = f"{fixes[0].message}, and hand it to `{ast.unparse(call.func)}(...)` in line {call.lineno} too"
            return Fix(Applicability.DISPLAY, advice)
    edits = tuple(dict.fromkeys(edit for fix in fixes for edit in fix.edits))
    written_once = _written_once(function, places, edits) if len(edits) >= _MANY else ()
    return Fix(Applicability.SAFE, fixes[0].message, written_once or edits)


def _written_once(
    function: Function, places: list[Chosen], edits: tuple[Edit, ...]
) -> tuple[Edit, ...]:
    """The edits with a variable of the local rank, beside the one of the rank that chooses in all places; () where none may be.

    waifu-diffusion trainer/diffusers_trainer.py:679: `rank = get_rank()`, for `set_device` and twice two devices of DDP.
    NeuralSpeech 8cf4fbc AdapterASR/train.py:377 calls the rank `local_rank`: then it becomes that, and what else reads it
    asks for the rank itself.
    """
    names = [n for each in places for n in walk(each.node) if _is_global_rank(n)]
    made = _only_assignment(function, names)
    if made is not None and not set(function.parameters).isdisjoint(map(last_name, made.targets)):
        made = None  # it may be made in some calls alone
    texts = tuple(edit for edit in edits if isinstance(edit, Replace))
    if len(texts) < len(edits) or not all(edit.code.count(_LOCAL_RANK) == 1 for edit in texts):
        return ()
    if made is not None and last_name(made.targets[0]) == _NAME:
        return _asked_anew(function, made, names)
    first = next((s for s in function.body if places[0].node in walk(s)), None)
    at = made or first
    if at is None or any(n.id == _NAME for n in walk(function.node, ast.Name)):
        return ()
    return (
        Insert(span_of(at), f"{_NAME} = {_LOCAL_RANK}", after=made is not None),
        *(replace(edit, code=edit.code.replace(_LOCAL_RANK, _NAME)) for edit in texts),
    )


def _only_assignment(function: Function, names: Sequence[ast.AST]) -> ast.Assign | None:
    """The one statement of a function that gives all of some names their value; None where there is no such."""
    ids = {n.id for n in names if isinstance(n, ast.Name)}
    if len(ids) != 1 or not all(isinstance(n, ast.Name) for n in names):
        return None
    stored = [
        node
        for node in walk(function.node, ast.Name)
        if node.id in ids and isinstance(node.ctx, ast.Store)
    ]
    found = [n for n in own_nodes(function, ast.Assign) if n.targets == stored]
    return found[0] if found else None


def _asked_anew(function: Function, made: ast.Assign, names: Sequence[ast.AST]) -> tuple[Edit, ...]:
    """A variable that becomes the local rank, and the rank again in the one other place that reads it."""
    asked, target = made.value, made.targets[0]
    others = [
        node
        for node in walk(function.node, ast.Name)
        if isinstance(target, ast.Name) and node.id == target.id and node not in (*names, target)
    ]
    if not isinstance(asked, ast.Call) or asked.args or asked.keywords or len(others) > 1:
        return ()
    text = source(function.module.source.text, asked)
    return (
        Replace(span_of(asked), _LOCAL_RANK),
        *(Replace(span_of(node), text) for node in others),
    )


def _goes_on(function: Function, name: str) -> bool:
    """Whether other methods of the class choose by the same attribute: what is changed here alone would part from them.

    VoiceCraft a702dfd steps/trainer.py:27: `self.rank`, by which the batches of line 95 are moved.
    """
    attr = name.removeprefix("self.")
    return (
        attr != name
        and function.cls is not None
        and any(
            (
                isinstance(node, ast.Call)
                and last_name(node.func) in _METHODS.keys() | {"device"}
                and any(dotted_name(part) == name for part in walk(node, ast.Attribute))
            )
            or (
                isinstance(node, ast.keyword)
                and node.arg == "device"
                and dotted_name(node.value) == name
            )
            for method in function.cls.methods.values()
            if method is not function
            for node in own_nodes(method)
        )
    )


def _variables(places: list[Chosen]) -> Iterator[str]:
    """The variables and attributes of the rank that choose the devices."""
    for place in places:
        for node in walk(place.node, ast.Name, ast.Attribute):
            if _is_global_rank(node):
                yield dotted_name(node)


def _of_a_variable_for_devices(function: Function, places: list[Chosen]) -> Replace | None:
    """The value of a variable that is read for devices alone: it becomes the local rank.

    RT-DETR rtdetr_pytorch/src/misc/dist.py:100: `rank = get_rank()`, for `device_ids` and `output_device`.
    """
    names = [n for place in places for n in walk(place.node, ast.Name) if _is_global_rank(n)]
    made = _only_assignment(function, names)
    if made is None or len(names) != len(places):
        return None
    reads = {n for n in walk(function.node, ast.Name) if n.id == names[0].id}
    if reads.difference(made.targets) != set(names):
        return None
    return Replace(span_of(made.value), _LOCAL_RANK)


def _fix(function: Function, chosen: Chosen) -> Fix:
    advice = "Use the local rank"
    node = chosen.node
    names = [n for n in walk(node) if _is_global_rank(n)]
    if len(names) != 1:
        return Fix(Applicability.DISPLAY, advice)
    # MeMOTR 7de13f4 main.py:101: `set_device(distributed_rank())`, where the name alone says rank.
    found = next((n for n in walk(node, ast.Call) if n.func is names[0]), names[0])
    device = _device_in_use(function, found)
    if device:
        code = device
    elif isinstance(found, ast.Attribute) and found.attr == "process_index":
        code = f"{ast.unparse(found.value)}.local_process_index"
    else:
        code = _LOCAL_RANK
    inside = any(walk(node, ast.FormattedValue))
    if inside:
        # An f-string is one token before Python 3.12: it is replaced whole.
        whole = next(n for n in walk(node, ast.JoinedStr))
        if len(whole.values) != 2 or not isinstance(whole.values[0], ast.Constant):
            return Fix(Applicability.DISPLAY, advice)
        written = source(function.module.source.text, whole)
        if code.startswith("$") and whole.values[0].value == "cuda:" and _is_set(function, whole):
            text = f"{written[-1]}cuda{written[-1]}"
            return Fix(Applicability.SAFE, advice, (Replace(span_of(whole), text),))
        opening, closing = re.split(r"{.*}", written, maxsplit=1)
        text = f"{opening}{{{code}}}{closing}"
        return Fix(Applicability.SAFE, advice, (Replace(span_of(whole), text),))
    return Fix(Applicability.SAFE, advice, (Replace(span_of(found), code),))


def _is_set(function: Function, place: ast.AST) -> bool:
    """Whether what moves somewhere does so when the device of the process is chosen: "cuda" is then that one.

    contrastors 2f7bf1d scripts/text/index_filtering.py:339: `set_device` is the second line of the script, and the
    batches of a loop go to the device.
    """
    body = function.module.body
    moves = any(
        last_name(node.func) == "to" and place in node.args
        for node in own_nodes(function, ast.Call)
    )
    return moves and any(
        isinstance(node, ast.Call)
        and last_name(node.func) == "set_device"
        and (maker is body or node.lineno < getattr(place, "lineno", 0))
        and (maker is not body or function is not body or node.lineno < getattr(place, "lineno", 0))
        for maker in {function, body}
        for node in own_nodes(maker)
    )


def _device_in_use(function: Function, found: ast.AST) -> str:
    """The variable that holds the device of this rank, made of the same rank further up; empty without one.

    facebookresearch/DiT train.py:120: `device = rank % torch.cuda.device_count()`.
    """
    for node in walk(function.node, ast.Assign):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.BinOp(left=left, op=ast.Mod(), right=ast.Call(func=counted)),
            ) if (
                node.lineno < getattr(found, "lineno", 0)
                and ast.unparse(left) == ast.unparse(found)
                and ast.unparse(counted).endswith("device_count")
            ):
                return name
    return ""


def _is_global_rank(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name):
            return "rank" in name.lower()
        case ast.Attribute(attr=attr):
            return attr in ("process_index", "rank", "global_rank")
        case ast.Call(func=ast.Attribute(attr="get_rank") | ast.Name(id="get_rank")):
            return True
    return False
