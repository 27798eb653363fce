"""A script expects `--local_rank` from a launcher that passes `--local-rank`, or passes nothing.

## What it does
Finds scripts whose `argparse` declares `--local_rank` and not `--local-rank`, and that read the environment
nowhere; launches with `python -m torch.distributed.launch`; and scripts that such a launch starts although their
`argparse` declares neither.

## Why it is bad
Since torch 2.0, `torch.distributed.launch` passes `--local-rank=0`, with a hyphen: `argparse` refuses it, and every
rank ends at once. `torchrun` passes nothing: the argument keeps its default, and every rank of a machine takes the
same GPU, or believes that it is alone.

## Errors you may see
- `error: unrecognized arguments: --local-rank=0`
- `error: unrecognized arguments: --local_rank=0`
- `The module torch.distributed.launch is deprecated`
- `ChildFailedError`

## Example
```python
parser.add_argument("--local_rank", type=int, default=0)
args = parser.parse_args()
torch.cuda.set_device(args.local_rank)
```

## Use instead
```python
parser.add_argument("--local-rank", "--local_rank", type=int, default=int(os.environ.get("LOCAL_RANK", 0)))
args = parser.parse_args()
torch.cuda.set_device(args.local_rank)
```

## Fix safety
Safe where a known launch passes the argument: both spellings are declared, for the same attribute. Elsewhere the
default becomes what `torchrun` sets, too, which is unsafe: ranks take other devices than before. In a shell script,
`torchrun` takes the place of the old launcher with `--use_env`, which does the same.

## Known limits
Of the launches of one program without `--use_env` the first is a warning, the others are information. A launch that the README tells counts as well. Without a known launch, silent where the program reads `LOCAL_RANK` from
the environment, and where it knows DeepSpeed, whose launcher passes `--local_rank`. `parse_known_args` passes over what it does not know.

Not proven: the launcher's spelling is that of the torch that is installed.

## References
- torch 2.13.0, `distributed/run.py` and `distributed/launch.py`: their docstrings
- deepspeed 0.19.8, `launcher/launch.py`
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of
from distlint.analysis.program.syntax import own_nodes
from distlint.columns import split_lines
from distlint.edits import AddImport, Replace, Span
from distlint.findings import Applicability, Finding, Fix, Related, Severity
from distlint.knowledge.configuration.launchers import Launcher
from distlint.launch.commands import Launch
from distlint.launch.project import LaunchFiles, Script
from distlint.repairs.arguments import with_first
from distlint.repairs.guarding import source
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module

CODE = "DL805"
NAME = "deprecated-launcher"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = (b"--local_rank", b"--local-rank")

_PLAIN = re.compile(r"python[\d.]* -m torch\.distributed\.launch")
_USE_ENV = re.compile(r"--use[-_]env")
_ELSEWHERE = ("LOCAL_RANK", "deepspeed", "SLURM_LOCALID", "HfArgumentParser", "accelerate")
"""What says that the rank comes from elsewhere, or that the launcher is another one."""


def check_launch(files: LaunchFiles) -> Iterator[Finding]:
    """Launches with the old launcher; of those of one program the first is a warning.

    OFA run_scripts: 76 launches, whose cause is one argument of the program.
    """
    seen: dict[str, Launch] = {}
    for script, launch in files.launches():
        if launch.launcher is not Launcher.TORCH_LAUNCH:
            continue
        if "use_env" in launch.options:
            text = (
                "`torch.distributed.launch` is deprecated and warns on every start. Start with `torchrun`, "
                "which does what `--use_env` asks for."
            )
        else:
            text = (
                "`torch.distributed.launch` is deprecated, and since torch 2.0 it passes `--local-rank` "
                "where older ones pass `--local_rank`. Start with `torchrun`, and read LOCAL_RANK from the "
                "environment."
            )
        fix = _with_torchrun(script, launch)
        program = (launch.script.text if launch.script is not None else None) or script.path
        first = seen.setdefault(program.rpartition("/")[2], launch) if fix is None else launch
        severity = SEVERITY if first is launch else Severity.INFO
        places = () if first is launch else (Related(first.place, "the first of these launches"),)
        yield Finding(CODE, NAME, severity, text, launch.place, places, fix)


def _with_torchrun(script: Script, launch: Launch) -> Fix | None:
    """`torchrun` in place of the launcher and `--use_env`, where both stand there as they are."""
    option, lines = launch.options.get("use_env"), split_lines(script.text)
    places = [launch.place] if option is None else [launch.place, option.place]
    written = [
        lines[at.line - 1].encode()[at.column : at.end_column].decode("utf-8", "replace")
        for at in places
        if at.line == at.end_line
    ]
    if len(written) < 2 or not _PLAIN.fullmatch(written[0]) or not _USE_ENV.fullmatch(written[1]):
        return None
    (start, flag) = (Span(at.line, at.column, at.end_line, at.end_column) for at in places)
    before = replace(flag, column=max(flag.column - 1, 0))  # the blank before it
    edits = (Replace(start, "torchrun"), Replace(before, ""))
    return Fix(Applicability.SAFE, "Start with `torchrun`", edits)


def check(model: Model) -> Iterator[Finding]:
    """Scripts whose `argparse` does not take what the launcher passes."""
    for module in model.modules:
        text = module.source.text
        if "argparse" not in text and "ArgumentParser" not in text:
            continue
        declared = list(_declared(module))
        started = [
            launch
            for _, launch in model.launch.starting(module.path)
            if launch.launcher is Launcher.TORCH_LAUNCH and "use_env" not in launch.options
        ]
        names = {name for _, spelled in declared for name in spelled}
        elsewhere = any(word in each.source.text for each in model.modules for word in _ELSEWHERE)
        if declared and "--local-rank" not in names and (started or not elsewhere):
            yield _misspelled(module, declared[0][0], started)
        elif not declared and started:
            yield from _undeclared(module, started[0])


def _declared(module: Module) -> Iterator[tuple[ast.Call, list[str]]]:
    """The calls that declare the local rank, and the spellings in each."""
    for function in module.all_functions:
        for node in own_nodes(function):
            match node:
                case ast.Call(func=ast.Attribute(attr="add_argument"), args=args):
                    names = [str(each.value) for each in args if isinstance(each, ast.Constant)]
                    if any(name.replace("-", "_") == "__local_rank" for name in names):
                        yield node, names


def _misspelled(module: Module, call: ast.Call, started: list[Launch]) -> Finding:
    if started:
        text = (
            "Every rank ends with `unrecognized arguments: --local-rank`, as torch 2 spells it. "
            "Declare both spellings, or start with `torchrun`."
        )
    else:
        text = (
            "No launcher of today fills this argument: `torchrun` passes nothing, and torch 2's old "
            "launcher spells it `--local-rank`. Declare both spellings, and read LOCAL_RANK."
        )
    written = source(module.source.text, call.args[0])
    first = with_first(module.source.text, call, written.replace("--local_rank", "--local-rank"))
    places = tuple(Related(launch.place, "started here") for launch in started[:1])
    fix = Fix(Applicability.SAFE, "Declare both spellings", (first,))
    code = None if started else _reading(module, call, first.code)
    if code is not None:
        advice = "Declare both spellings, and read LOCAL_RANK"
        edits = (replace(first, code=code), AddImport("os"))
        fix = Fix(Applicability.UNSAFE, advice, edits)
    severity = Severity.ERROR if started else SEVERITY
    return Finding(CODE, NAME, severity, text, place_of(module, call), places, fix)


def _reading(module: Module, call: ast.Call, code: str) -> str | None:
    """The code of a call whose default, a number, becomes a read of LOCAL_RANK; None where there is none."""
    given = {keyword.arg: keyword for keyword in call.keywords}
    match given.get("type"), given.get("default"):
        case ast.keyword(value=ast.Name(id="int")), ast.keyword(value=number) as default:
            written = source(module.source.text, default)
            quote = '"' if '"' in source(module.source.text, call.args[0]) else "'"
            read = f"default=int(os.environ.get({quote}LOCAL_RANK{quote}, {ast.unparse(number)}))"
            plain = re.fullmatch(r"-?\d+", ast.unparse(number))
            return code.replace(written, read) if plain and code.count(written) == 1 else None
    return None


def _undeclared(module: Module, launch: Launch) -> Iterator[Finding]:
    """The first `parse_args()` of a script that gets an argument which it does not know."""
    for function in module.all_functions:
        for node in own_nodes(function):
            match node:
                case ast.Call(func=ast.Attribute(attr="parse_args"), args=[], keywords=[]):
                    text = (
                        "Every rank ends with `unrecognized arguments: --local-rank`: the launcher passes "
                        "it, and nobody declares it. Start with `torchrun`, or pass `--use_env`."
                    )
                    places = (Related(launch.place, "started here"),)
                    yield Finding(CODE, NAME, Severity.ERROR, text, place_of(module, node), places)
                    return
