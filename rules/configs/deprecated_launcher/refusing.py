"""Scripts that refuse whatever rank their launcher passes: hydra's, and those whose `argparse` knows none."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of
from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.linked import imported_below
from distlint.analysis.program.syntax import own_nodes
from distlint.findings import Finding, Related, Severity
from distlint.knowledge.configuration.launchers import Launcher
from distlint.launch.commands import Launch
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function, Module

_CODE, _NAME = "DL805", "deprecated-launcher"
_RANK = pattern(r"local[-_]rank|HfArgumentParser|parse_known_args|sys\.argv|parse_args\([^)\s]")
"""What takes the argument, or leaves it to another."""
_CHANGED = pattern(
    r"sys\.argv(?:\[[^\]]*\])?(?:\s*\+?=(?!=)|\.(?:remove|append|pop|insert|extend)\()|del sys\.argv"
)
"""What takes the argument out before hydra sees it; honeybee 68a8d84 train.py:108 only prints `sys.argv`."""
_SHOWN = 5


def refused_by(model: Model, module: Module) -> Iterator[Finding]:
    """The place where a script's arguments are parsed, which ends each rank that its launcher gives a number."""
    text = module.source.text
    by_hydra = "hydra.main" in text
    if not by_hydra and "ArgumentParser(" not in text:
        return
    passing = [
        launch
        for _, launch in model.launch.starting(module.path)
        if _passes(launch, by_hydra=by_hydra)
    ]
    if not passing:
        return
    parsing = _of_hydra(model, module) if by_hydra else _of_argparse(model, module)
    if parsing is None:
        return
    of_deepspeed = passing[0].launcher is Launcher.DEEPSPEED
    given = "--local_rank" if of_deepspeed else "--local-rank"
    who = "hydra takes no option but its own" if by_hydra else "nobody declares it"
    advice = "Start with `deepspeed --no_local_rank`" if of_deepspeed else "Start with `torchrun`"
    message = (
        f"Every rank ends with `unrecognized arguments: {given}=0`: the launcher passes it, and {who}. {advice}, and read "
        "LOCAL_RANK from the environment."
    )
    places = tuple(Related(each.place, "started here") for each in passing[:_SHOWN])
    yield Finding(_CODE, _NAME, Severity.ERROR, message, place_of(module, parsing), places)


def _passes(launch: Launch, *, by_hydra: bool) -> bool:
    """Whether a launcher passes the local rank: `deepspeed` does, and torch's old launcher, which DL805 asks argparse about.

    deepspeed 0.19.5 launcher/launch.py: `if not args.no_local_rank: cmd.append(f"--local_rank={local_rank}")`. With
    another `--launcher` than its own (runner.py), MPI or Slurm start the ranks.
    """
    options = launch.options
    if launch.launcher is Launcher.DEEPSPEED:
        return launch.options_known and options.keys().isdisjoint({"no_local_rank", "launcher"})
    return by_hydra and launch.launcher is Launcher.TORCH_LAUNCH and "use_env" not in options


def _of_hydra(model: Model, module: Module) -> ast.expr | None:
    """The decorator by which hydra parses a script's arguments; None where it has none.

    honeybee 68a8d84 train.py:106: `@hydra.main(…)`, and `deepspeed ./train.py --config-name=…` in scripts/pt.sh. hydra
    1.3.2 main.py: `args_parser.parse_args()`.
    """
    if any(_CHANGED.search(each.source.text) for each in imported_below(model.program, module)):
        return None
    for function in module.all_functions:
        if isinstance(function.node, ast.FunctionDef):
            for each in function.node.decorator_list:
                func = each.func if isinstance(each, ast.Call) else each
                if model.program.resolve_dotted(module, dotted_name(func)) == "hydra.main":
                    return each
    return None


def _of_argparse(model: Model, module: Module) -> ast.expr | None:
    """The only call that parses a script's arguments, where no file that it imports knows of the local rank."""
    texts = [each.source.text for each in imported_below(model.program, module)]
    if any(_RANK.search(text) for text in (module.source.text, *texts)):
        return None
    parsing = [
        (function, node)
        for function in module.all_functions
        for node in own_nodes(function, ast.Call)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "parse_args"
    ]
    if len(parsing) != 1:
        return None
    ((function, call),) = parsing
    match call.func:
        case ast.Attribute(value=ast.Name(id=parser)) if not is_shared(model, function, parser):
            return call
    return None


def is_shared(model: Model, function: Function, parser: str) -> bool:
    """Whether a function hands a parser to what is not known, which may add arguments: all but `deepspeed.add_config_arguments`.

    TorchSemiSeg 5e0c29c exp.voc/voc8.res50v3+.CPS/train.py:49: `Engine(custom_parser=parser)`, whose constructor keeps it and
    adds `--local_rank`.
    """
    for node in own_nodes(function, ast.Call):
        if any(
            isinstance(each, ast.Name) and each.id == parser
            for each in (*node.args, *(keyword.value for keyword in node.keywords))
        ):
            meaning = model.program.resolve_dotted(function.module, dotted_name(node.func))
            if meaning is None or (
                isinstance(meaning, str) and not meaning.startswith("deepspeed.")
            ):
                return True
    return False
