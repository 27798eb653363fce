"""An argument that a collective cannot work with.

## What it does
Reports arguments of collectives: an output list that holds one and the same tensor N times
(`world_size * [torch.zeros(1)]`), a Python number where a tensor is needed (`loss.item()`, a literal,
`len(...)`), and a tensor made on the CPU where the process group was made for NCCL, or where accelerate
gathers or reduces it and makes the group for the devices that it finds, and a tensor that is gathered twice, the second time into a list
of tensors like another. Also `args=(cfg)` of a call that starts
the ranks (`mp.spawn`, `Process`, `notebook_launcher`), where `args=(cfg,)` is meant; and a root that is the rank of
another group (`broadcast(x, get_global_rank(tasks, 0), group=shared)`), and `new_group` of ranks that follow from
the rank that calls it.

## Why it is bad
With an aliased list every received tensor overwrites the one before, without an error: all entries are
the last rank's. A number raises TypeError, with accelerate only where there are several processes, so
that the script passes on one. Brackets around one value make no tuple: the ranks are called with `*cfg`, which
raises TypeError before any of them starts, or, of a dict, hands on its keys. NCCL has no way to send from CPU memory: "No backend type associated with
device type cpu". `new_group` numbers its groups by the calls: ranks that make other groups in the same call give them one
name, and mix up what they tell each other under it. With accelerate a script that works on one GPU, and on several CPUs, stops there.

## Errors you may see
- `No backend type associated with device type cpu`
- `Tensors must be CUDA and dense`
- `argument after * must be an iterable`

## Example
```python
gathered = dist.get_world_size() * [torch.zeros(1)]
dist.all_gather(gathered, value)
```

## Use instead
```python
gathered = [torch.zeros(1) for _ in range(dist.get_world_size())]
dist.all_gather(gathered, value)
```
Hand the tensor itself to the collective, and call `.item()` on the result.

## Fix safety
Safe for a list of a newly made tensor, which becomes a comprehension. Unsafe where the element is a
variable: it is cloned, and for the comma that makes a tuple. Numbers and devices are shown only.

## Known limits
Variables are followed within one function, where they are assigned once. `torch.tensor(x)` is reported
where `x` is plainly numbers: made from a tensor, it stays on that tensor's device. Silent in files that set
a default device or ask accelerate for the CPU. What a function is given as its own argument may be a tuple, and
is not judged in brackets.

## References
- torch 2.13.0 torch/distributed/distributed_c10d.py: `all_gather(tensor_list, ...)`, "correctly-sized
  tensors to be used for output"; `_check_single_tensor` raises TypeError
- torch 2.13.0 torch/distributed/distributed_c10d.py: `new_group` "requires that all processes in the main group enter this
  function, even if they are not going to be members of the group"
- accelerate 1.15.0 accelerate/utils/operations.py: `recursively_apply(error_on_other_type=True)`;
  `_gpu_gather`: what it receives is made on `state.device`, what it sends stays where it is
- accelerate 1.15.0 accelerate/state.py:790: several GPUs talk over "nccl"
- torch 2.13.0 torch/multiprocessing/spawn.py: `_wrap` calls `fn(i, *args)`; PointNeXt issue 20
- trl 0.16.0 trl/trainer/sft_trainer.py:505; trl 0.17.0 passes `device=inputs["position_ids"].device`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from distlint.analysis.model import place_of, related, source_of, span_of
from distlint.analysis.program.definitions import Function, dotted_name
from distlint.analysis.program.syntax import assignments, own_nodes, target_names
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.rule import Status

from .own_groups import own_groups
from .roots import foreign_roots

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.interpreter.values import Value
    from distlint.analysis.model import Model

CODE = "DL108"
NAME = "bad-collective-argument"
SEVERITY = Severity.ERROR
STATUS = Status.STABLE
LITERALS = ()

_LISTS: Final = {
    "torch.distributed.all_gather": (0, "tensor_list"),
    "torch.distributed.gather": (1, "gather_list"),
    "torch.distributed.all_to_all": (0, "output_tensor_list"),
}
"""Position and keyword of the list that receives one tensor from each rank."""

_TENSORS: Final = {
    "torch.distributed.all_reduce": (0, "tensor"),
    "torch.distributed.broadcast": (0, "tensor"),
    "torch.distributed.reduce": (0, "tensor"),
    "torch.distributed.all_gather": (1, "tensor"),
    "torch.distributed.gather": (0, "tensor"),
    "accelerate.Accelerator.gather": (0, "tensor"),
    "accelerate.Accelerator.reduce": (0, "tensor"),
    "accelerate.Accelerator.pad_across_processes": (0, "tensor"),
}
"""Position and keyword of the tensor."""

_ON_DEVICE: Final = {
    **{name: place for name, place in _TENSORS.items() if name.startswith("accelerate.")},
    "accelerate.Accelerator.gather_for_metrics": (0, "input_data"),
    "accelerate.utils.gather": (0, "tensor"),
    "accelerate.utils.reduce": (0, "tensor"),
}
"""Those of accelerate, which hand a tensor to the backend as it is; numbers may be right for some."""

_STARTS: Final = (
    "torch.multiprocessing.spawn",
    "torch.multiprocessing.spawn.spawn",
    "torch.multiprocessing.start_processes",
    "torch.multiprocessing.Process",
    "multiprocessing.Process",
    "accelerate.notebook_launcher",
    "accelerate.debug_launcher",
)
"""Calls that hand `*args` to a function in other processes."""

_IN_BRACKETS: Final = pattern(r"args(?<!\w....)\s*=\s*\(")
"""Begins with letters, which are found ten times as fast as the border of a word."""

_MAKES: Final = frozenset({"tensor", "zeros", "ones", "empty", "full", "rand", "randn", "arange"})


_ELSEWHERE: Final = ("set_default_device", "set_default_tensor_type", "cpu=True", "use_cpu")
"""Words of files in which a new tensor, or the group, is on another device than usual."""


def check(model: Model) -> Iterator[Finding]:
    """Aliased lists, numbers and CPU tensors handed to collectives."""
    nccl = any(_asks_for_nccl(c.site) for c in model.calls("torch.distributed.init_process_group"))
    for call in model.calls(*_LISTS, *_TENSORS, *_ON_DEVICE):
        site = call.site
        if site.name in _LISTS:
            yield from _aliased(site)
            yield from _of_another(model, site)
        if site.name in _TENSORS:
            yield from _number(site)
            if nccl and site.name.startswith("torch.") and site.argument(None, "group") is None:
                yield from _on_cpu(site, _TENSORS[site.name])
        if site.name in _ON_DEVICE:
            yield from _on_cpu(site, _ON_DEVICE[site.name])
    for site, root, of, own in foreign_roots(model):
        yield _foreign(site, root, of, own)
    for site, ranks, value in own_groups(model):
        yield _own(site, ranks, value)
    for module in model.modules:
        if _IN_BRACKETS.search(module.source.text):
            for function in module.all_functions:
                yield from _no_tuples(model, function)


def _foreign(site: CallSite, root: ast.expr, of: str, own: str) -> Finding:
    """`broadcast(x, get_global_rank(this, 0), group=that)`: whose `this` differs, names another root."""
    advice = f"Name a rank of `{own}`"
    return Finding(
        CODE,
        NAME,
        Severity.WARNING,
        f"The root of this `{site.method}` is a rank of `{of}`, and the ranks of `{own}` take part: where these are in "
        f"several such groups, they wait for different roots. {advice}.",
        place_of(site.module, root),
        (),
        Fix(Applicability.DISPLAY, advice),
    )


def _own(site: CallSite, ranks: ast.expr, value: Value) -> Finding:
    """`new_group(block_of(rank))`: ranks of another block make another group under the same number."""
    fix = Fix(
        Applicability.DISPLAY, "Let every rank make all groups, in one order, and keep its own"
    )
    origin = value.origin
    places = (
        (related(origin.module, origin.node, f"{origin.text} differs from rank to rank"),)
        if origin is not None and hasattr(origin.node, "lineno")
        else ()
    )
    text = source_of(site.module, ranks)
    message = (
        f"each rank makes the group of its own `{text}` alone: groups that ranks make in one call have one name, and where "
        f"there are several they mix up what they agree on, and hang. {fix.message}."
    )
    return Finding(
        CODE, NAME, Severity.WARNING, message, place_of(site.module, site.node), places, fix
    )


def _no_tuples(model: Model, function: Function) -> Iterator[Finding]:
    """`args=(cfg)` in a call that starts processes: brackets, and no comma."""
    module = function.module
    for node in own_nodes(function):
        if not isinstance(node, ast.Call):
            continue
        keyword = next((k for k in node.keywords if k.arg == "args"), None)
        if keyword is None or model.resolve(module, node.func) not in _STARTS:
            continue
        if not _IN_BRACKETS.match(source_of(module, keyword)):
            continue
        value = keyword.value
        if not isinstance(value, ast.Name | ast.Constant) or _may_be_tuple(model, function, value):
            continue
        text = source_of(module, value)
        edit = Replace(span_of(value), f"{text},")
        fix = Fix(Applicability.UNSAFE, f"Write `args=({text},)`", (edit,))
        message = (
            f"`({text})` is no tuple: the ranks are called with `*{text}`, which raises TypeError or hands on "
            f"something else. {fix.message}."
        )
        yield Finding(CODE, NAME, SEVERITY, message, place_of(module, value), (), fix)


def _may_be_tuple(model: Model, function: Function, node: ast.expr) -> bool:
    """Whether a value in brackets may be a tuple already: what a function is given, what is made as one."""
    if not isinstance(node, ast.Name):
        return False
    values = assignments(function).get(node.id, [])
    return not values or any(_may_make_tuple(model, function, value) for value in values)


def _may_make_tuple(model: Model, function: Function, value: ast.expr) -> bool:
    match value:
        case ast.Constant() | ast.Dict():
            return False
        case ast.Call(func=called) if dotted_name(called) not in ("tuple", "list"):
            made = model.resolve(function.module, called)
            return isinstance(made, Function) and any(
                isinstance(n.value, ast.Tuple) for n in own_nodes(made, ast.Return)
            )
    return True


def _given(site: CallSite, position: int, keyword: str) -> tuple[ast.expr, ast.expr] | None:
    """An argument as written, and what it was assigned where it is a variable assigned once."""
    node = site.argument_node(position, keyword)
    if not isinstance(node, ast.Name):
        return (node, node) if node is not None else None
    values = assignments(site.function).get(node.id, [])
    return (node, values[0]) if len(values) == 1 else (node, node)


def _finding(site: CallSite, at: ast.expr, message: str, fix: Fix, made: ast.expr) -> Finding:
    places = () if made is at else (related(site.module, made, "made here"),)
    return Finding(CODE, NAME, SEVERITY, message, place_of(site.module, at), places, fix)


def _aliased(site: CallSite) -> Iterator[Finding]:
    given = _given(site, *_LISTS[site.name])
    match given:
        case (at, ast.BinOp(op=ast.Mult(), left=ast.List(elts=[element]), right=count) as made):
            pass
        case (at, ast.BinOp(op=ast.Mult(), left=count, right=ast.List(elts=[element])) as made):
            pass
        case (
            at,
            ast.ListComp(
                elt=ast.Name() | ast.Attribute() as element,
                generators=[
                    ast.comprehension(
                        target=turn, iter=ast.Call(func=ast.Name(id="range"), args=[count]), ifs=[]
                    )
                ],
            ) as made,
        ) if not set(target_names(turn)) & {n.id for n in walk(element, ast.Name)}:
            # contrastors 613ddfd src/contrastors/eval/imagenet/imagenet.py:164: an outside name, for each turn
            pass
        case _:
            return
    if isinstance(element, ast.Constant):
        return
    new = isinstance(element, ast.Call)
    item = source_of(site.module, element) + ("" if new else ".clone()")
    times = source_of(site.module, count)
    fix = Fix(
        Applicability.SAFE if new else Applicability.UNSAFE,
        "Make a tensor for each rank",
        (Replace(span_of(made), f"[{item} for _ in range({times})]"),),
    )
    message = (
        f"the list that `{site.method}` fills holds one tensor {times} times: what each rank sent is "
        f"overwritten by the next, and all entries are those of the last rank. {fix.message}."
    )
    yield _finding(site, made, message, fix, made if at is made else at)


def _of_another(model: Model, site: CallSite) -> Iterator[Finding]:
    """What a second gather receives into a list made for another tensor, while it sends what the first one has sent.

    VideoActionModel 948f1f1 vam/evaluation/hbird.py:254: `dist.all_gather(receive_labels, self.feature_memory)`.
    """
    sent, wanted = _sent(site), _made_like(site)
    if sent is None or not wanted or (text := ast.unparse(sent)) == wanted:
        return
    for other in model.calls(site.name, module=site.module):
        before = other.site
        if (
            before.function is site.function
            and before.node.lineno < site.node.lineno
            and (same := _sent(before)) is not None
            and ast.unparse(same) == text == _made_like(before)
            and not _is_set_between(site.function, sent, before.node, site.node)
        ):
            fix = Fix(Applicability.DISPLAY, f"Hand over `{wanted}`")
            message = (
                f"`{text}` is gathered a second time, into a list of tensors like `{wanted}`: where "
                f"their sizes differ the ranks raise or hang, else `{wanted}` is lost. {fix.message}."
            )
            places = (related(site.module, before.node, "gathered before"),)
            place = place_of(site.module, sent)
            yield Finding(CODE, NAME, SEVERITY, message, place, places, fix)
            return


def _is_set_between(function: Function, sent: ast.expr, first: ast.Call, second: ast.Call) -> bool:
    """Whether what is sent may have got another value between two calls: it, a part of it, or what it is a part of is set,
    or changed in place (`t.copy_(labels)`), or its owner is asked to do something (`self.advance()`)."""
    path = dotted_name(sent)
    owner = path.rpartition(".")[0]
    for node in own_nodes(function, ast.Name, ast.Attribute, ast.Subscript, ast.Call):
        if not first.lineno <= node.lineno <= second.lineno:
            continue
        match node:
            case ast.Call(func=ast.Attribute(value=whose, attr=name)):
                on = dotted_name(whose)
                if (on == path and name.endswith("_")) or (on and on == owner):
                    return True
            case ast.Name() | ast.Attribute() if isinstance(node.ctx, ast.Store):
                if f"{path}.".startswith(f"{dotted_name(node)}."):
                    return True
            case ast.Subscript(value=whose, ctx=ast.Store()) if dotted_name(whose) == path:
                return True
    return False


def _sent(site: CallSite) -> ast.expr | None:
    """The variable or attribute that a gather sends."""
    node = site.argument_node(*_TENSORS[site.name]) if site.name in _TENSORS else None
    return node if isinstance(node, ast.Name | ast.Attribute) else None


def _made_like(site: CallSite) -> str:
    """The tensor like which each element of the list that a gather fills is made; empty where that is not seen."""
    match _given(site, *_LISTS[site.name]):
        case (
            _,
            ast.ListComp(
                elt=ast.Call(func=made, args=[ast.Name() | ast.Attribute() as like]),
                generators=[ast.comprehension(iter=ast.Call(func=ast.Name(id="range")), ifs=[])],
            ),
        ) if last_name(made) in ("zeros_like", "empty_like", "ones_like"):
            return ast.unparse(like)
    return ""


def _number(site: CallSite) -> Iterator[Finding]:
    given = _given(site, *_TENSORS[site.name])
    if given is None or not _is_number(given[1]):
        return
    at, made = given
    fix = Fix(Applicability.DISPLAY, "Hand over the tensor, and take the number from the result")
    alone = " where there are several processes" if site.name.startswith("accelerate") else ""
    message = (
        f"`{source_of(site.module, made) or ast.unparse(made)}` is a Python number: `{site.method}` "
        f"raises TypeError{alone}. {fix.message}."
    )
    yield _finding(site, at, message, fix, made)


def _is_number(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case ast.Call(func=ast.Attribute(attr="item"), args=[], keywords=[]):
            return True
        case ast.Call(func=ast.Name(id="len" | "float" | "int")):
            return True
    return False


def _on_cpu(site: CallSite, place: tuple[int, str]) -> Iterator[Finding]:
    given = _given(site, *place)
    text = site.module.source.text
    if given is None or any(word in text for word in _ELSEWHERE):
        return
    at, made = given
    match made:
        case ast.Call(func=function, args=args, keywords=keywords) if dotted_name(function) in {
            f"torch.{name}" for name in _MAKES
        } and not any(k.arg in ("device", None) for k in keywords):
            if dotted_name(function) == "torch.tensor" and not _is_plain(site, args[:1]):
                return
        case _:
            return
    if isinstance(at, ast.Name) and _moved(site, at.id):
        return
    fix = Fix(Applicability.DISPLAY, "Make it on this rank's device: `device=...`")
    if site.name in _ON_DEVICE:
        where = "where accelerate runs on several GPUs the process group takes no such tensor"
    else:
        where = "the process group was made for NCCL alone"
    message = (
        f"`{ast.unparse(made)}` is on the CPU, and {where}: `{site.method}` raises RuntimeError "
        f"on every rank. {fix.message}."
    )
    yield _finding(site, at, message, fix, made)


def _is_plain(site: CallSite, nodes: Sequence[ast.expr], depth: int = 4) -> bool:
    """Whether these are plainly numbers of Python: a tensor would decide on the device itself."""
    return bool(nodes) and depth > 0 and all(_is_numbers(site, node, depth) for node in nodes)


def _is_numbers(site: CallSite, node: ast.expr, depth: int) -> bool:
    match node:
        case ast.Constant() | ast.ListComp() | ast.Compare():
            # A list is copied to the CPU, whatever it holds.
            return not isinstance(node, ast.Compare) or _is_plain(
                site, [node.left, *node.comparators], depth - 1
            )
        case ast.List() | ast.Tuple():
            return True
        case ast.BinOp(left=left, right=right):
            return _is_plain(site, [left, right], depth - 1)
        case ast.UnaryOp(operand=operand):
            return _is_plain(site, [operand], depth - 1)
        case ast.Call(func=ast.Name(id="len" | "float" | "int" | "bool")):
            return True
        case ast.Call(func=ast.Attribute(attr="item" | "numel" | "tolist"), args=[]):
            return True
        case ast.Call(func=ast.Attribute(attr="size"), args=[_]):
            return True
        case ast.Subscript(value=ast.Attribute(attr="shape")):
            return True
        case ast.Name(id=name):
            return _is_plain(site, assignments(site.function).get(name, []), depth - 1)
    return False


def _moved(site: CallSite, name: str) -> bool:
    return any(
        n.attr in ("cuda", "to", "data") and isinstance(n.value, ast.Name) and n.value.id == name
        for n in own_nodes(site.function, ast.Attribute)
    )


def _asks_for_nccl(site: CallSite) -> bool:
    backend = site.argument(0, "backend")
    return backend is not None and backend.const == "nccl"
