"""Curves that carry the rank in their names: the ranks were meant to log side by side."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.live.joint_entry import asks_for_first_gpu
from distlint.analysis.live.several import arms_by_count
from distlint.analysis.program.definitions import Function, dotted_name, last_name
from distlint.analysis.program.environment import evaluated_here, own_statements
from distlint.analysis.program.handed import namings, reads
from distlint.analysis.program.linked import linked
from distlint.analysis.program.syntax import assignments, mentions_rank, own_nodes, target_names
from distlint.analysis.questions.filesystem import names_a_part
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.model import Model

_ADDS: Final = frozenset(
    {
        "add_scalar", "add_scalars", "add_histogram", "add_image", "add_images", "add_text", "add_figure", "add_audio",
        "add_video",
    }
)  # fmt: skip

_MAX_CALLERS: Final = 3

_CURVES: Final = _ADDS - {"add_text"}
"""What is drawn again and again: a text tells of the settings, once."""


def tagged_by_rank(model: Model, site: CallSite) -> bool:
    """Whether all that is drawn with a writer, wherever it is handed, has the rank in its tag.

    modelscope/FunASR 3c58cb5 funasr/bin/train.py:219: `writer.add_scalar(f"rank{self.rank}_loss/{tag}", …)`. Writers
    are told apart by the last part of their name.
    """
    names = {name.rpartition(".")[2] for name in _kept_in(site)}
    tags = [
        names_a_part(tag, function)
        for module in linked(model.program, site.module)
        for function in (module.body, *module.all_functions)
        for owner, tag in _drawn(function)
        if owner in names
    ]
    return bool(tags) and all(tags)


def drawn_on_one(model: Model, site: CallSite) -> bool:
    """Whether all curves of a writer stand under a question for the rank: the other ranks leave files without any.

    Cream 4a13c40 CDARTS/CDARTS/retrain.py:32, whose `train()` asks `if config.local_rank == 0:` above each. The `tf_writer` of
    another script is another one (CT-Net 83badd6 main.py, beside main_ddp.py:322).
    """
    names = {name.rpartition(".")[2] for name in _kept_in(site)}
    asked = [
        _is_left_to_main(model, function, node, _MAX_CALLERS)
        for module in linked(model.program, site.module)
        if any(name in module.source.text for name in _CURVES)
        for function in (module.body, *module.all_functions)
        for node in own_nodes(function, ast.Call)
        if isinstance(node.func, ast.Attribute)
        and node.func.attr in _CURVES
        and last_name(node.func.value) in names
        and not _is_of_another(model, site.function, function, node.func.value)
    ]
    return all(asked) if asked else _opens_file(site) and _handed_on_one(model, site, names)


def _handed_on_one(model: Model, site: CallSite, names: set[str]) -> bool:
    """Whether all that is done with a writer is to hand it on under a question for the rank, and to close it.

    Superpoints_Registration 1713a3c src/trainer.py:174: `train_summary_fn(writer=self.train_writer, …)`.
    """
    asked = [
        _is_handed_on_one(model, function, node)
        for module in linked(model.program, site.module)
        for name in names
        for function, node in reads(module).get(name, ())
        if not _is_of_another(model, site.function, function, node)
    ]
    return any(asked) and all(each is not False for each in asked)


def _is_handed_on_one(model: Model, function: Function, read: ast.expr) -> bool | None:
    """Whether an argument is handed on where rank 0 alone comes; None where a writer is closed."""
    for node in own_nodes(function, ast.Call):
        if any(each is read for each in (*node.args, *(k.value for k in node.keywords))):
            return _is_left_to_main(model, function, node, _MAX_CALLERS)
        match node.func:
            case ast.Attribute(value=owner, attr="close" | "flush") if owner is read:
                return None
    return False


def _is_of_another(model: Model, method: Function, user: Function, node: ast.expr) -> bool:
    """Whether an attribute of `self` is one that another class has of its own: a writer that it makes, or a method."""
    if not (
        isinstance(node, ast.Attribute)
        and dotted_name(node.value) == "self"
        and method.cls is not None
        and user.cls is not None
        and not model.program.may_share_objects(method.cls, user.cls)
    ):
        return False
    given = [
        value
        for each in user.cls.methods.values()
        for value in assignments(each).get(f"self.{node.attr}", ())
    ]
    return model.program.find_method(user.cls, node.attr) is not None or (
        bool(given) and all(isinstance(value, ast.Call) for value in given)
    )


def never_drawn(_: Model, site: CallSite) -> bool:
    """Whether a function makes a writer for a variable of its own, and never reads that: all ranks leave empty files.

    LORIS b5bef7d d2m_loris.py:49.
    """
    names = set(_kept_in(site))
    shared = {name for node in own_nodes(site.function, ast.Global) for name in node.names}
    return (
        isinstance(site.statement, ast.Assign)
        and bool(names)
        and not site.function.is_module_body
        and shared.isdisjoint(names)
        and all("." not in name for name in names)
        and all(
            isinstance(node.ctx, ast.Store)
            for node in walk(site.function.node, ast.Name)
            if node.id in names
        )
        and _opens_file(site)
    )


def _opens_file(site: CallSite) -> bool:
    """Whether what nothing is drawn with shows up nowhere: an event file, no run of a server's."""
    return "summarywriter" in last_name(site.node.func).lower()


def _is_left_to_main(model: Model, function: Function, node: ast.Call, depth: int) -> bool:
    """Whether a call stands under a question for the rank, or all calls of its function do.

    VoiceFlow-TTS a12597a hifigan/parallel_wavegan/bin/train.py:305: `if self.config["rank"] == 0:` around
    `self._check_eval_interval()`, which evaluates, and that writes.
    """
    around = [*_around(function, node)]
    if any(
        isinstance(statement, ast.If)
        and (
            mentions_rank(statement.test)
            or asks_for_first_gpu(statement.test)
            or _is_arm_of_one(statement, around)
        )
        for statement in around
    ):
        return True
    named, others = namings(model.program, function.name) if depth else ((), True)
    calls = [each for each in named if not _is_of_another(model, function, each[0], each[1].func)]
    return (
        bool(calls)
        and not others
        and all(
            user is not function and _is_left_to_main(model, user, call, depth - 1)
            for user, call in calls
        )
    )


def _is_arm_of_one(test: ast.If, inside: list[ast.stmt]) -> bool:
    """Whether statements stand in the arm for one GPU, and the other asks for the rank.

    ReViT 2188c96 epoch.py:161: `if cfg.DEVICE.num_gpu > 1: if rank == 0: …`, and `else:` with the same curves.
    """
    several, one = arms_by_count(test)
    return any(each is statement for each in one for statement in inside) and any(
        mentions_rank(each.test) for statement in several for each in walk(statement, ast.If)
    )


def _around(function: Function, node: ast.Call) -> Iterator[ast.stmt]:
    """The statements of a function that a call stands in."""
    for statement, around in own_statements(function.body):
        if any(each is node for each in evaluated_here(statement)):
            yield from (*around, statement)


def handed_to_callback(model: Model, site: CallSite) -> bool:
    """Whether a writer is given to transformers' callback alone, which writes on world process zero only.

    LongVU 1b0be5c longvu/train.py:1079. transformers 5.23.0 integrations/integration_utils.py, `TensorBoardCallback`:
    `if not state.is_world_process_zero: return`; the other ranks leave a file without any curve.
    """
    names = {name.rpartition(".")[2] for name in _kept_in(site)}
    nodes = own_nodes(site.function)
    given = [
        each
        for node in nodes
        if isinstance(node, ast.Call) and _is_callback(model, site, node)
        for each in (*node.args, *(keyword.value for keyword in node.keywords))
    ]
    read = [
        node
        for node in nodes
        if isinstance(node, ast.Name | ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and last_name(node) in names
    ]
    return any(each is site.node for each in given) or (
        bool(read) and all(any(each is one for one in given) for each in read)
    )


def _is_callback(model: Model, site: CallSite, call: ast.Call) -> bool:
    meaning = model.resolve(site.module, call.func)
    return (
        isinstance(meaning, str)
        and meaning.startswith("transformers.")
        and meaning.endswith(".TensorBoardCallback")
    )


def silenced_on_others(model: Model, site: CallSite) -> bool:
    """Whether what gets a writer together with a test of the rank replaces its methods by some that ask.

    SAQ 594e9c7 core/utils.py:240: `setup_tensorboard_logger_for_distributed(args.rank == 0, tensorboard_logger)`.
    """
    names = {name.rpartition(".")[2] for name in _kept_in(site)}
    for node in own_nodes(site.function):
        if not isinstance(node, ast.Call) or not any(map(mentions_rank, node.args)):
            continue
        callee = model.resolve(site.module, node.func)
        writers = [n for n, each in enumerate(node.args) if last_name(each) in names]
        if not isinstance(callee, Function) or not writers or callee.cls is not None:
            continue
        told = {
            name
            for name, each in zip(callee.parameters, node.args, strict=False)
            if mentions_rank(each)
        }
        if writers[0] < len(callee.parameters) and _replaces(
            callee, callee.parameters[writers[0]], told
        ):
            return True
    return False


def _replaces(function: Function, writer: str, told: set[str]) -> bool:
    """Whether a function gives a writer methods that ask for what it was told."""
    replaced = {
        name: values[0]
        for name, values in assignments(function).items()
        if name.startswith(f"{writer}.") and name.rpartition(".")[2] in _CURVES
    }
    inner = [
        function.nested[value.id]
        for value in replaced.values()
        if isinstance(value, ast.Name) and value.id in function.nested
    ]
    return bool(inner) and all(
        any(
            any(part.id in told for part in walk(node.test, ast.Name))
            for node in own_nodes(each, ast.If)
        )
        for each in inner
    )


def _kept_in(site: CallSite) -> Iterator[str]:
    match site.statement:
        case ast.Assign(targets=targets):
            for target in targets:
                yield from target_names(target)
        case (
            ast.AnnAssign(target=target)
            | ast.With(items=[ast.withitem(optional_vars=ast.Name() as target)])
        ):
            yield from target_names(target)


def _drawn(function: Function) -> Iterator[tuple[str, ast.expr]]:
    """The last parts of the names of writers that a function draws with, each with the tag."""
    for node in own_nodes(function, ast.Call):
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr=attr), args=[tag, *_]) if (
                attr in _ADDS
            ):
                yield last_name(owner), tag
            case ast.Call(func=ast.Attribute(value=owner, attr=attr), keywords=keywords) if (
                attr in _ADDS
            ):
                yield from ((last_name(owner), k.value) for k in keywords if k.arg == "tag")
