"""What a call writes to a file: the expressions of it, and whether it is large, a checkpoint or a few lines."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.syntax import assignments, mentions_rank, own_nodes
from distlint.analysis.questions.commands import command_of, copied_by_command
from distlint.analysis.questions.filesystem import FileCall, handle_of
from distlint.analysis.questions.shares.program import shares
from distlint.analysis.questions.shares.values import Part
from distlint.knowledge import sinks
from distlint.knowledge.facts import with_bases
from distlint.knowledge.schema import Effect
from distlint.nodes import walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function

_SETTINGS: Final = pattern(
    r"(?:^|_)(?:args?|cfgs?|configs?|conf|opts?|options|hparams|hps|flags)$", re.IGNORECASE
)
"""Names of what the command line and the configuration say."""
_LARGE: Final = pattern(r"ckpt|checkpoint|weight|\.pth?\b|\.bin\b|latest|best", re.IGNORECASE)
"""Words in the names of files that hold weights."""
_SMALL: Final = pattern(
    r"__file__|conf|cfg|ya?ml|\.(?:py|json|toml|ini|txt|md|sh|gin)['\"]", re.IGNORECASE
)
"""What files of settings and texts are called."""
_STATE: Final = pattern(
    r"(?i)state|model|(?:^|_)net|weight|param|ckpt|checkpoint|optim|ema|adapter|lora|generator|discriminator|encoder|decoder|module"
)
"""Words in the names of what a checkpoint holds."""
_NO_STATE: Final = pattern(
    r"(?i)output|result|pred|score|answer|feature|metric|stat(?:s|istics)|name|time|(?:^|_)h?params$"
)
"""Words in the names of what a model has given, and of options, none of which is its state: CodeGen e3e8855
codegen_sources/model/src/utils.py:163, `pickle.dump(params, …)`."""
_ON_ALL: Final = pattern(r"(?i)all_?(?:gather|reduce)|gather_for_metrics")
"""Names of what gives every rank the shares of all."""
_ENDED: Final = frozenset({Part.WHOLE, Part.PADDED, Part.SUM})
_ONLY_MODULES_HAVE: Final = frozenset({
    "buffers", "eval", "modules", "named_buffers", "named_modules", "named_parameters", "parameters",
    "train",
})  # fmt: skip
"""Methods of `torch.nn.Module` that states, optimizers, schedulers and tensors lack."""
_MAX_STEPS: Final = 3


def written(found: FileCall) -> list[ast.expr]:
    """What a call, or the calls that it opens a file for, write to it: all that they are given beside the path."""
    site = found.site
    if site.name in sinks.OPENS:
        return list(_into(site))
    owner = site.node.func.value if isinstance(site.node.func, ast.Attribute) else None
    given = [*site.node.args, *(keyword.value for keyword in site.node.keywords)]
    if owner is not None and not _is_library(owner, site):
        given.append(owner)
    return [each for each in given if each is not found.path]


def _is_library(owner: ast.expr, site: CallSite) -> bool:
    return dotted_name(owner).partition(".")[0] in site.function.module.imports


def _into(site: CallSite) -> Iterator[ast.expr]:
    """What is given to the calls that get the file which a call opens, or are methods of it, on other ranks than 0, too."""
    handle = handle_of(site)
    nodes = list(while_open(site))
    on_main = left_to_main(nodes, site)
    for node in nodes:
        if isinstance(node, ast.Call) and node is not site.node and node not in on_main:
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            if any(is_handle(each, handle, site) for each in (*given, owner) if each is not None):
                yield from (each for each in given if not is_handle(each, handle, site))


def left_to_main(nodes: Iterable[ast.AST], site: CallSite) -> frozenset[ast.AST]:
    """What stands below tests of the rank that a call itself stands above: `if rank == 0: log.write(…)`.

    FFSVC2022_Baseline_System 7375884 train_dist.py:112: all ranks write a header, and rank 0 the lines of the training.
    """
    tested = (
        set(walk(node))
        for node in nodes
        if isinstance(node, ast.If) and not node.orelse and mentions_rank(node.test)
    )
    return frozenset(part for inside in tested if site.node not in inside for part in inside)


def while_open(site: CallSite) -> Iterator[ast.AST]:
    """The nodes at which the file that a call opens may be used: those of its `with` statement, if it has one.

    SpeechTokenizer 30c96fb speechtokenizer/trainer/trainer.py:86: further down two more files are called `f`.
    """
    for node in own_nodes(site.function, ast.With, ast.AsyncWith):
        if any(item.context_expr is site.node for item in node.items):
            return walk(node)
    return iter(own_nodes(site.function))


def is_handle(node: ast.expr, handle: str | None, site: CallSite) -> bool:
    """Whether an expression is the file that a call opens, by the name that it gets or without one."""
    if handle is None:
        return node is site.node
    return isinstance(node, ast.Name) and node.id == handle


def is_settings(node: ast.expr) -> bool:
    """Whether an expression names what the command line and the configuration say: `args`, `cfg.model_args`."""
    return isinstance(node, ast.Name | ast.Attribute) and bool(_SETTINGS.search(last_name(node)))


def is_small_object(node: ast.expr) -> bool:
    """Whether an expression names what is saved in a few small files: a tokenizer, a processor, a configuration."""
    match node:
        case ast.Name() | ast.Attribute():
            name = last_name(node)
        case ast.Subscript(slice=ast.Constant(value=str() as name)):
            pass
        case _:
            return False
    return sinks.SMALL_OBJECTS.search(name) is not None


def is_large(live: LiveProgram, found: FileCall) -> bool:
    """Whether a write takes long, so that others meet it half done: weights, arrays, videos, whole folders.

    Not the options of the command line, or totals of all ranks, as `torch.save` writes them (CodeRL ec3c526
    transformers/examples/research_projects/bertology/run_prune_gpt.py:364; multimodal 3c2a85a
    examples/albef/finetune_retrieval.py:396).
    """
    site = found.site
    if site.method == "save_pretrained":
        owner = site.node.func.value if isinstance(site.node.func, ast.Attribute) else None
        few = owner is not None and is_small_object(owner)
        few = few or sinks.SMALL_CLASSES.search(site.name.rpartition(".")[0]) is not None
        return not few and site.name not in sinks.FEW_SMALL_FILES
    command = command_of(site.node, site.function) if site.name in sinks.COMMANDS else None
    copied = copied_by_command(command) if command is not None else None
    if copied is not None or site.name in sinks.COPIES:
        source = copied[0] if copied is not None else site.argument_node(0, "src")
        text = ast.unparse(source) if source is not None else ""
        return _LARGE.search(text) is not None and not _SMALL.search(text)
    if site.name in sinks.COMMANDS:
        return True  # an archive that a program unpacks
    if site.name in sinks.OPENS and site.name not in sinks.LARGE:
        return any(
            _names_state(data, site.function) and not _is_put_together(live, data, site.function)
            for data in _dumped(site)
        )
    if site.name not in sinks.LARGE:
        return False
    data = site.argument_node(sinks.LARGE[site.name])
    return data is None or not (
        _is_few_lines(data, site.function) or _is_put_together(live, data, site.function)
    )


def holds_state(found: FileCall) -> bool:
    """Whether a call writes a checkpoint: large, slow, and what a crashed job starts again from."""
    site = found.site
    if site.method == "save_pretrained" or site.name in sinks.ONLY_STATES:
        return True
    if site.name in sinks.OPENS:
        return any(_names_state(data, site.function) for data in _dumped(site))
    data = site.argument_node(0, "obj") if site.name == "torch.save" else None
    return data is not None and _names_state(data, site.function)


def pickles_module(live: LiveProgram, found: FileCall) -> bool:
    """Whether a call writes a module itself, of which `distlint.runtime.save` would write the state dict.

    KDAD b8cbf91 Reversedistillation.py:214.
    """
    data = found.site.argument_node(0, "obj")
    if found.site.name != "torch.save" or data is None:
        return False
    value = found.site.argument(0, "obj")
    cls = live.summaries.classes.get(value.type) if value is not None and value.type else None
    if cls is not None and "torch.nn.Module" in with_bases(tuple(live.program.mro(cls)[1])):
        return True
    if value is not None and (value.wraps or "unwrapped" in value.tags):
        return True
    name = dotted_name(data)
    return bool(name) and any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr in _ONLY_MODULES_HAVE
        and dotted_name(call.func.value) == name
        for call in own_nodes(found.function, ast.Call)
    )


def _names_state(data: ast.expr, function: Function) -> bool:
    """Whether an object, or what its variable is assigned or filled with, names what a checkpoint holds."""
    return any(
        isinstance(node, ast.Name | ast.Attribute) and _STATE.search(last_name(node))
        for part in _made_of(data, function)
        for node in walk(part)
    )


def _dumped(site: CallSite) -> Iterator[ast.expr]:
    """The objects that are written whole into the file which a call opens: `dill.dump(data, f)`, `torch.save(data, f)`.

    stylegan-t 36ab80c training/training_loop.py:462: networks by dill.
    """
    handle = handle_of(site)
    for node in while_open(site):
        match node:
            case ast.Call(func=called, args=[data, file, *_]) if (
                dotted_name(called) in sinks.DUMPS
                and is_handle(file, handle, site)
                and not is_settings(data)
                and not _NO_STATE.search(dotted_name(data))
            ):
                yield data


def _made_of(node: ast.expr, function: Function) -> list[ast.expr]:
    """An expression, and what its variable is assigned in the function."""
    return [node, *assignments(function).get(dotted_name(node), ())]


def _is_few_lines(node: ast.expr, function: Function, depth: int = _MAX_STEPS) -> bool:
    """Whether nothing but settings, numbers and words goes into an object."""
    match node:
        case ast.Constant():
            return True
        case ast.Dict(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
            return all(_is_few_lines(each, function, depth) for each in parts)
        case ast.Call(func=called) if last_name(called) in ("vars", "dict", "parse_args"):
            return True
        case ast.Name(id=name) if depth and (made := assignments(function).get(name)):
            parts = [*made, *_put_into(function, name)]
            return all(_is_few_lines(each, function, depth - 1) for each in parts)
    return is_settings(node)


def _put_into(function: Function, name: str) -> Iterator[ast.expr]:
    """What is put into a collection: elements, and what its methods are given."""
    for node in own_nodes(function, ast.Assign, ast.Call):
        match node:
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=owner))], value=given) if (
                owner == name
            ):
                yield given
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=attr), args=args) if (
                owner == name and attr in ("append", "extend", "update", "add", "insert")
            ):
                yield from args


def _is_put_together(
    live: LiveProgram, node: ast.expr, function: Function, depth: int = _MAX_STEPS
) -> bool:
    """Whether what is written is what every rank has got when the ranks put their shares together, and nothing besides."""
    made = assignments(function).get(dotted_name(node), ())
    match [*made] or [node]:
        case [ast.Dict(values=values)]:
            # Beside the state of a model it is one: `{"model": model.state_dict(), "score": total}`.
            return bool(values and depth) and all(
                _is_put_together(live, value, function, depth - 1) for value in values
            )
    held = live.answer(shares).of(node)
    return (
        held.part in _ENDED
        and isinstance(held.ended, ast.Call)
        and _ON_ALL.search(last_name(held.ended.func)) is not None
    )


def is_fetched(found: FileCall) -> bool:
    """Whether what is written comes over the network: it takes long, and stands there in part meanwhile.

    UniTok bb8012e eval/llamagen/tokenizer/tokenizer_image/lpips.py:29: `requests.get(url, stream=True)`, and
    `open(local_path, "wb")`; yolov9 5b1ea9a utils/loggers/comet/comet_utils.py:56: `experiment.get_asset(…)`.
    """
    if found.effect is Effect.DOWNLOAD:
        return True
    mode = found.site.argument(1, "mode") if found.site.name in sinks.OPENS else None
    binary = mode is not None and isinstance(mode.const, str) and "b" in mode.const
    return (binary or found.site.method == "write_bytes") and any(
        sinks.FETCHES.search(dotted_name(node.func)) for node in own_nodes(found.function, ast.Call)
    )
