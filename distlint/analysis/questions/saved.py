"""What the program saves with torch.save: the names of its files whose tensors lie on the CPU, or that hold none."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Function, dotted_name, last_name
from distlint.analysis.program.environment import blocks
from distlint.analysis.program.memory import all_remembered
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.nodes import walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Module

HOST_STATE: Final = pattern(
    r"scaler|sched|sampler|loader|rng|random|args|config|dataset|cache|token|index|metric", re.I
)
"""Names of what has no tensors on a GPU in its state: numbers, settings, orders of samples."""
_ON_HOST: Final = frozenset({"cpu", "numpy", "tolist", "item", "from_numpy"})
_RENAMES: Final = frozenset(
    {"os.rename", "os.replace", "shutil.move", "shutil.copy", "shutil.copyfile"}
)
_DEPTH: Final = 3
_MAX_NAMES: Final = 8
"""Variables that stand for each other on the way to a path."""
_DEVICE: Final = pattern(r"cuda|\bdevice\b|\.to\(")


def saved_on_host(live: LiveProgram) -> frozenset[str]:
    """The names of the files into which the program only ever saves what lies in the host's memory.

    dino 7c446df eval_knn.py:222: `torch.save(features.cpu(), os.path.join(folder, "trainfeat.pth"))`.
    """
    saved: dict[str, bool] = {}
    for function, what, where in saves(live):
        on_host = _on_host(live, function, what) or _converts(function)
        for name in file_names(function, where):
            saved[name] = saved.get(name, True) and on_host
    for function, old, new in _renamings(live):
        on_host = all(saved.get(name, False) for name in file_names(function, old) or ("",))
        for name in file_names(function, new):
            saved[name] = saved.get(name, True) and on_host
    return frozenset(name for name, on_host in saved.items() if on_host)


def saves_states_on_host(live: LiveProgram) -> bool:
    """Whether the program saves the state of something, and saves nothing but what lies in the host's memory."""
    return _saves_on_host(live, [(function, what) for function, what, _ in saves(live)])


def file_saves_states_on_host(live: LiveProgram, module: Module) -> bool:
    """Whether a file of the program does so: what it loads by another name it has saved itself.

    pytorch-trainer 7776242 utils/model_checkpointing/fsdp_handler.py:35, and below it a load by the path that is handed over.
    """
    return _saves_on_host(
        live, [(user, what) for user, what, _ in saves(live) if user.module is module]
    )


def _saves_on_host(live: LiveProgram, written: list[tuple[Function, ast.expr]]) -> bool:
    return any(
        "state_dict" in ast.unparse(value)
        for function, what in written
        for value in (what, *assignments(function).get(dotted_name(what), ()))
    ) and all(_on_host(live, function, what) or _converts(function) for function, what in written)


def file_names(function: Function, path: ast.expr | None) -> frozenset[str]:
    """The names that a file may have: that of its path, or each that the methods of an object write into an attribute;
    none where one of these is not written out.

    SwinBERT 03116f1 src/utils/load_save.py:322: `self.save_path`, of two that `__init__` chooses from.
    """
    given = [(function, path)]
    if isinstance(path, ast.Attribute) and function.cls is not None:
        methods = function.cls.methods.values()
        written = dotted_name(path)
        given = [(each, value) for each in methods for value in assignments(each).get(written, ())]
    names = frozenset(file_name(each, value) for each, value in given)
    return frozenset() if "" in names else names


def file_name(function: Function, path: ast.expr | None, depth: int = _MAX_NAMES) -> str:
    """The name of a file as its path ends, where that is written out; else empty.

    Args:
        function: where the path is used; a name of its own that is assigned once is looked up.
        path: an expression.
    """
    match path:
        case ast.Name(id=name):
            values = assignments(function).get(name, [])
            looked_up = depth > 0 and len(values) == 1
            return file_name(function, values[0], depth - 1) if looked_up else ""
        case ast.Constant(value=str(text)):
            return text.rpartition("/")[2]
        case (
            ast.Call(args=[*_, ast.Constant(value=str(text))])
            | ast.BinOp(right=ast.Constant(value=str(text)))
            | ast.JoinedStr(values=[*_, ast.Constant(value=str(text))])
        ):
            return text.rpartition("/")[2]
    return ""


@all_remembered
def saves(live: LiveProgram) -> Iterator[tuple[Function, ast.expr, ast.expr]]:
    """What the program saves and where, in functions too that concern no rank and are not followed."""
    for module in live.program.modules.values():
        if "torch.save" not in module.source.text:
            continue
        for function in module.all_functions:
            for node in own_nodes(function, ast.Call):
                match node:
                    case ast.Call(func=called, args=[what, where, *_]) if (
                        live.resolve(module, called) == "torch.save"
                    ):
                        yield function, what, where


def _renamings(live: LiveProgram) -> Iterator[tuple[Function, ast.expr, ast.expr]]:
    """The old and the new path of files that the program gives another name."""
    for module in live.program.modules.values():
        if "torch.save" in module.source.text:
            for function in module.all_functions:
                for node in own_nodes(function, ast.Call):
                    match node:
                        case ast.Call(func=called, args=[old, new, *_]) if (
                            live.resolve(module, called) in _RENAMES
                        ):
                            yield function, old, new


def _on_host(live: LiveProgram, function: Function, what: ast.expr, depth: int = _DEPTH) -> bool:
    """Whether what is saved lies in the host's memory, or is none of tensors."""
    match what:
        case ast.Constant():
            return True
        case ast.Attribute():
            return _counts(function, what)
        case ast.Call(func=ast.Attribute(attr="state_dict", value=owner)):
            # Open-Sora opensora/utils/ckpt.py: `torch.save(sampler.state_dict(step), …)`, integers
            return (
                HOST_STATE.search(last_name(owner)) is not None
                or live.resolve(function.module, owner) == "apex.amp"
                or _moved(function, owner, what)
                or _is_offloaded(function, what)
            )
        case ast.Call(func=func):
            return last_name(func) in _ON_HOST or _takes_to_host(live, function, func)
        case ast.IfExp(body=one, orelse=other):
            return all(_on_host(live, function, part, depth) for part in (one, other))
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Dict(values=parts):
            return all(_on_host(live, function, part, depth) for part in parts)
        case ast.DictComp(value=part):
            return _on_host(live, function, part, depth)
        case ast.ListComp(elt=part):
            return _on_host(live, function, part, depth) or _makes_samples(function)
        case ast.Name(id=name) if depth:
            values = assignments(function).get(name, [])
            found = [value for value in values if _on_host(live, function, value, depth - 1)]
            made_of_itself = any(
                isinstance(part, ast.Name) and part.id == name
                for value in found
                for part in walk(value)
            )
            return bool(found) and (len(found) == len(values) or made_of_itself)
    return False


def _counts(function: Function, attribute: ast.Attribute) -> bool:
    """Whether an attribute is a number that the methods of an object count up: `self.step += 1`."""
    methods = function.cls.methods.values() if function.cls is not None else ()
    return any(
        isinstance(node.value, ast.Constant) and dotted_name(node.target) == dotted_name(attribute)
        for method in methods
        for node in own_nodes(method, ast.AugAssign)
    )


def _takes_to_host(live: LiveProgram, function: Function, called: ast.expr) -> bool:
    """Whether a function of the program moves each tensor of what it gets to the host, and none to another device.

    SwinBERT 03116f1 src/utils/load_save.py:199: `_to_cpu(state)`, which calls itself for each element.
    """
    helper = live.resolve(function.module, called)
    if not isinstance(helper, Function):
        return False
    calls = [last_name(node.func) for node in own_nodes(helper, ast.Call)]
    return "cpu" in calls and helper.name in calls and not {"cuda", "to"} & set(calls)


def _is_offloaded(function: Function, state: ast.expr) -> bool:
    """Whether FSDP puts the state that is taken into the host's memory: `with FSDP.state_dict_type(…, FULL_STATE_DICT, cfg):`.

    torch 2.13.0 distributed/fsdp/api.py, `FullStateDictConfig(offload_to_cpu=True)`.
    """
    for node in own_nodes(function, ast.With):
        if any(part is state for statement in node.body for part in walk(statement)):
            given = [part for item in node.items for part in walk(item.context_expr)]
            for name in [part.id for part in given if isinstance(part, ast.Name)]:
                for scope in (function, function.module.body):
                    given += [n for v in assignments(scope).get(name, ()) for n in walk(v)]
            if any(isinstance(part, ast.Call) and _offloads(part) for part in given):
                return True
    return False


def _offloads(call: ast.Call) -> bool:
    return any(
        keyword.arg == "offload_to_cpu" and getattr(keyword.value, "value", None) is True
        for keyword in call.keywords
    )


def _moved(function: Function, owner: ast.expr, state: ast.expr) -> bool:
    """Whether a model has moved itself to the host before its state is taken, and nothing has moved or replaced it since.

    BiSeNet 6b4b67a old/train.py:168: `net.cpu()`, then `net.module.state_dict()`: it moves in place, also under a wrapper.
    """
    root = dotted_name(owner)
    names = {root, root.removesuffix(".module")}
    for block in blocks(function.body):
        above = list(takewhile(lambda each: each.lineno <= state.lineno, block))
        if above and any(part is state for part in walk(above[-1])):
            changes = [each for each in above[:-1] if any(_changes(n, names) for n in walk(each))]
            if changes and _moves_to_host(changes[-1], names):
                return True
            if changes:
                return False
    return False


def _changes(node: ast.AST, names: set[str]) -> bool:
    """Whether a model of one of the names is moved, or another one put in its place."""
    match node:
        case ast.Call(func=ast.Attribute(attr="cpu" | "to" | "cuda", value=moved)):
            return dotted_name(moved) in names
        case ast.Name(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
            return dotted_name(node) in names
    return False


def _moves_to_host(statement: ast.stmt, names: set[str]) -> bool:
    match statement:
        case (
            ast.Expr(value=ast.Call(func=ast.Attribute(attr="cpu", value=moved)))
            | ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(attr="to", value=moved), args=[ast.Constant(value="cpu")]
                )
            )
        ):
            return dotted_name(moved) in names
    return False


def _makes_samples(function: Function) -> bool:
    """Whether a list that a function makes is one of samples: its file names no device.

    litgpt extensions/xla/scripts/prepare_alpaca.py: `[prepare_sample(example=…, tokenizer=…) for sample in train_set]`.
    """
    return _DEVICE.search(function.module.source.text) is None


def _converts(function: Function) -> bool:
    """Whether a function saves what it has loaded onto the CPU, and moves nothing to another device.

    s1 77272c6 gpt-accelera/scripts/convert_hf_checkpoint.py: `torch.load(…, map_location="cpu")`, renamed keys,
    `torch.save(result, directory / "model.pth")`.
    """
    calls = own_nodes(function, ast.Call)
    loads = [node for node in calls if last_name(node.func) == "load" and _on_cpu(node)]
    return bool(loads) and not any(last_name(node.func) in ("to", "cuda") for node in calls)


def _on_cpu(load: ast.Call) -> bool:
    places = [*load.args[1:2], *(k.value for k in load.keywords if k.arg == "map_location")]
    return any("cpu" in ast.unparse(place) for place in places)
