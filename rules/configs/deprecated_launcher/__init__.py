"""A script expects `--local_rank` from a launcher that passes `--local-rank`, or passes nothing.

## What it does
Finds scripts whose `argparse` wants a `--local-rank` that what starts them does not pass; scripts whose `argparse` (or a field's metadata of which it is made) declares `--local_rank` and not
`--local-rank`, and that read the environment nowhere; launches with `python -m torch.distributed.launch`; scripts that such a launch starts although their
`argparse` declares neither; and scripts that `deepspeed` starts, which passes `--local_rank`, or any launcher that passes
one, although hydra parses their arguments, or an `argparse` that knows none; scripts whose `--local-rank` keeps its default as
the device of every rank that `torchrun` starts; and parsers that refuse what a launch passes which the program itself puts
together (`["python", "-m", "torch.distributed.launch"]`).

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
Safe where a known launch passes the argument: both spellings are declared, for the same attribute; and where the
argument has to be given, which it then need not: its default is what `torchrun` sets. Elsewhere such a default is
unsafe: ranks take other devices than before. In a shell script, `torchrun` takes the place of the old launcher with
`--use_env`, which does the same.

## Known limits
Launches of one script that no edit repairs are one finding, at the first of them; the others are counted. A launch
that Markdown tells (README.md, docs/TRAIN.md) counts as well, for a script without such an argument where that declares all that
it is given; one with `--use_env` is a finding itself in the first
README that has one, where no script of the project has. Without a known launch, silent where the program reads
`LOCAL_RANK` from the environment (unless the option, which nothing assigns, gives `device_ids` or the current device
all the same, or the process group is made behind a test of it alone), where the script assigns the option before anything reads it, where it knows DeepSpeed, whose launcher passes `--local_rank`, and where nothing
meets other processes or divides devices or data among them, or no process group is made (or in a comment alone): the argument is left over. So where another script is started, and nothing names the function that declares it. Silent where the parser gets
words of the program instead of a command line, and, of an option that a script does not declare, where it hands its parser to what is not known. So is one that nothing reads
where no script and no page starts anything with the old launcher.
Where `parse_known_args` passes over what it does not know, only an argument that the rank's device is taken from is
found, and none where the program asks whether it was passed. Who starts processes may number them. A warning where
a Dockerfile or what a page installs lets in torch below 2 alone by the version of Python or `cudatoolkit`, or a page tells
of tests with torch 1 alone; launches are information there (the name of conda's environment may tell it, too: `source activate pt1.8`), where the script takes what any
version passes (it declares both spellings, or the hyphen beside a torch 2 that is required, reads the environment, or parses nothing itself), where it is not known, and with `--use_env`,
which passes nothing, or where the script changes to a folder of somebody's machine and starts there what no file of the project can be. A script that imports what only mmcv 1 has, beside an mmcv 2 that is installed, ends before it parses anything: silent, and information of its launches. So is a script whose imports only a library of torch 1 has (mmcv 1, timm 0.3), or that asserts such a timm, or whose own DDP calls a method that torch 2's has no more, beside a torch 1 that is asked for,
and scripts and launches beside whose requirements, environment of conda, Dockerfile or page ask for a torch below 2: what is installed passes what they take.

Not proven: the launcher's spelling is that of the torch that is installed.

## References
- torch 2.13.0, `distributed/run.py` and `distributed/launch.py`: their docstrings
- deepspeed 0.19.8, `launcher/launch.py`
"""

from __future__ import annotations

import ast
import builtins
import posixpath
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.analysis.live.several import (
    has_commented_out_group,
    makes_no_group,
    uses_ranks,
)
from distlint.analysis.model import Model, place_of, span_of
from distlint.analysis.program.definitions import Function
from distlint.analysis.program.linked import imported_below, importers
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.leftover import cannot_be_read
from distlint.columns import split_lines
from distlint.edits import AddImport, Replace, Span
from distlint.findings import Applicability, Finding, Fix, Related, Severity
from distlint.knowledge.configuration.launchers import Launcher
from distlint.launch.absent import is_dead
from distlint.launch.commands import Launch
from distlint.launch.engines import only_starts_one
from distlint.launch.environments import has_old_python
from distlint.launch.kinds import needs_mmcv_1, wants_old_timm
from distlint.launch.made import enters
from distlint.launch.project import LaunchFiles, Script
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.records import dataclass
from distlint.repairs.arguments import with_first
from distlint.repairs.guarding import source
from distlint.rule import Status

from .composed import refused_here
from .filled import is_given_by_hand, is_overwritten, numbers_itself
from .leaving import is_made_by_none, leaves_the_rest, parses_what_is_written
from .refusing import is_shared, refused_by
from .unfilled import ignored_by_torchrun, is_unfilled

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module

CODE = "DL805"
NAME = "deprecated-launcher"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = (
    b"--local_rank",
    b"--local-rank",
    b"hydra.main",
    b"torch._six.",
    b"torchvision.models.utils",
)

_PLAIN = pattern(r"python[\d.]* -m torch\.distributed\.launch")
_SPELLED = pattern(r"--local[-_]rank")
_READ = pattern(r"(?<!\bself)\.local_rank\b|(?<!dest=)[\"']local_rank[\"']|\*\*vars\(")
"""What asks for the argument: an attribute, but of what keeps a number in its own; a key; all that were parsed."""
_FILLED_IN = pattern(r"\blocal_rank is (?:not )?None\b")
"""What asks whether the launcher has passed the argument, and does without."""
_TAKEN = pattern(r"\.local_rank\b(?!\s*=[^=])")
_READ_ELSEWHERE = pattern(
    r"""["']LOCAL_RANK["']|\.local_rank\s*=[^=]|deepspeed|SLURM|accelerate|HfArgumentParser|\brank\s*%\s*\w*\.?cuda"""
)
"""What gives a rank its device, however it was started."""
_USE_ENV = pattern(r"--use[-_]env")
_OF_TORCH_1 = pattern(
    r"\bmmcv\.(?:runner|parallel)\b|^from timm\.data import (?:[^\n]*[ ,])?Dataset\b", re.MULTILINE
)
"""What mmcv 2.0.0 has no more (Vision-RWKV 0e0e38a classification/test.py:99), and timm 0.4.5. timm 0.3.4 has
`from torch._six import container_abcs` (timm/models/layers/helpers.py:6), which torch 1.9.0 has no more."""
_GONE = frozenset({"torch._six", "torchvision.models.utils"})
"""Modules that torch 2 does not have, nor the torchvision that comes with it (`launch.kinds.needs_torch_1`)."""
_DDP = pattern(r"^class \w+\([\w.]*DistributedDataParallel\):", re.MULTILINE)
_FRAMEWORKS = frozenset({"jittor", "mindspore", "oneflow", "paddle"})


@dataclass(frozen=True, slots=True)
class _Instead:
    """What a launch may be started with: the command, and the first version of torch that has it."""

    command: str
    since: tuple[int, ...]


_INSTEAD = (
    _Instead("torchrun", (1, 10)),  # torch 1.10.0 setup.py
    _Instead("python -m torch.distributed.run", (1, 9)),  # torch 1.9.0 torch/distributed/run.py
)
_HYPHEN = (2,)
"""Since this torch the old launcher passes `--local-rank`."""
_PASSES_A_HYPHEN = (
    "`torch.distributed.launch` is deprecated, and since torch 2.0 it passes `--local-rank` where older ones pass "
    "`--local_rank`. Start with `torchrun` (torch 1.10 and later), and read LOCAL_RANK from the environment."
)
_KNOWN = 3
"""So many options of a launch in a page show that the script which declares all of them is meant."""
_SHOWN = 5
"""So many other launches of a script are shown beside the first: the rest are counted."""

_ELSEWHERE = ("LOCAL_RANK", "deepspeed", "SLURM_LOCALID", "HfArgumentParser", "accelerate")
"""What says that the rank comes from elsewhere, or that the launcher is another one."""


def check_launch(files: LaunchFiles) -> Iterator[Finding]:
    """Launches with the old launcher: each that can be repaired, and one for each script that others start."""
    yield from _of_pages(files)
    others: dict[str, list[tuple[Script, Launch]]] = {}
    for script, launch in files.launches():
        if launch.launcher is not Launcher.TORCH_LAUNCH:
            continue
        runs = _runs(files, script, launch)
        if runs is None and "use_env" in launch.options:
            continue  # the launcher of its time
        if "torchrun" in launch.sought:
            continue  # for a torch without it: Sa2VA 9832e1a tools/dist.sh:29, behind `if command -v torchrun`
        if runs is not None and (fix := _with_torchrun(script, launch, runs)) is not None:
            yield Finding(CODE, NAME, Severity.INFO, _does_the_same(runs), launch.place, (), fix)
        else:
            others.setdefault(_program_of(script, launch), []).append((script, launch))
    for group in others.values():
        group.sort(key=lambda each: not each[0].reported)
        (_, launch), *more = group
        # Nobody starts what is not there: what a vendored script was started with, nobody misses.
        # With timm 0.3.2, or mmcv-full 1.4.2 (insightface 7fadd42 detection/scrfd/README.md:55), the code runs with no torch that deprecates the launcher, and one that is pinned below 2
        # (MapTR a6872d8 docs/install.md:15) passes what the script takes, of which its own finding tells. One that goes on with
        # whatever is passed, or is passed nothing, is told of the deprecation at each start, and nothing is lost (MDT
        # 7d26c21 run.sh:12). Of what is started by a name that the environment completes nothing shows that it refuses anything.
        of_its_time = all(
            is_dead(files, *e)
            or e[1].script is None
            or e[1].script.text is None
            or files.takes_any_rank(*e)
            or _is_of_another_machine(files, *e)
            or files.ends_with_mmcv_2(*e)
            or "use_env" in e[1].options
            or files.older_than("timm", (0, 3, 3), e[0].path)
            or files.older_than("mmcv-full", (1, 4, 3), e[0].path)
            or (_is_older(files, *e, _HYPHEN) and not files.takes_a_hyphen(*e))
            for e in group
        )
        severity = Severity.INFO if of_its_time else SEVERITY
        text = _does_the_same(_INSTEAD[0]) if "use_env" in launch.options else _PASSES_A_HYPHEN
        if more:
            text += f" {len(more)} more launch{'es' * (len(more) > 1)} of this script need{'s' * (len(more) == 1)} the same."
        places = tuple(Related(each.place, "started here, too") for _, each in more[:_SHOWN])
        yield Finding(CODE, NAME, severity, text, launch.place, places)


def _of_pages(files: LaunchFiles) -> Iterator[Finding]:
    """What a README has people type: one finding for the first page, where no script of the project does it.

    DynamicViT 0eefbc4 README.md:127 tells ten such launches, all with `--use_env`.
    """
    if any(launch.launcher is Launcher.TORCH_LAUNCH for _, launch in files.launches()):
        return
    for script in files.scripts:
        if not script.told or not posixpath.basename(script.path).startswith("README"):
            continue
        found = [
            (launch, fix)
            for launch in script.launches
            if launch.launcher is Launcher.TORCH_LAUNCH
            and launch.script is not None
            and not is_dead(files, script, launch)
            and (runs := _runs(files, script, launch)) is not None
            and (fix := _with_torchrun(script, launch, runs)) is not None
        ]
        if found:
            (launch, first), *more = found
            runs = _runs(files, script, launch) or _INSTEAD[0]
            fix = replace(first, edits=tuple(edit for _, each in found for edit in each.edits))
            places = tuple(Related(each.place, "and here") for each, _ in more[:_SHOWN])
            yield Finding(
                CODE, NAME, Severity.INFO, _does_the_same(runs), launch.place, places, fix
            )
            return


def _is_of_another_machine(files: LaunchFiles, script: Script, launch: Launch) -> bool:
    """Whether a launch is made in somebody's folder, and starts there what the project is not known to have.

    research-contributions 21ed8e5 DAE/Pretrain_full_contrast/scripts/ablation_m20.sh:96: `cd /workspace/…`, and a `main.py`.
    """
    folders = [each for each in enters(script) if posixpath.isabs(each)]
    return bool(folders) and not any(files.starts_in(each, script, launch) for each in folders)


def _runs(files: LaunchFiles, script: Script, launch: Launch) -> _Instead | None:
    """What a launch may be started with instead, with the torch that it runs with; None for one too old."""
    return next((r for r in _INSTEAD if not _is_older(files, script, launch, r.since)), None)


def _program_of(script: Script, launch: Launch) -> str:
    """What stands for the program that a launch starts; one that is not known is of its shell script alone."""
    name = launch.script.text if launch.script is not None else None
    if name is None:
        return f"{script.path}:"
    folder = "" if name.startswith("/") else posixpath.dirname(script.path)
    return posixpath.normpath(posixpath.join(folder, name))


def _does_the_same(runs: _Instead) -> str:
    since = ".".join(map(str, runs.since))
    return (
        f"`torch.distributed.launch` is deprecated and warns on every start. Start with `{runs.command}` (torch {since} "
        "and later), which does what `--use_env` asks for."
    )


def _is_older(files: LaunchFiles, script: Script, launch: Launch, since: tuple[int, ...]) -> bool:
    """Whether the torch that a launch runs with has no such command yet.

    groundingLMM e74865f GranD/run_pipeline.sh:54 runs in an environment of conda with torch 1.9.0.
    """
    return files.older_than("torch", since, script.path, launch.conda)


def _with_torchrun(script: Script, launch: Launch, runs: _Instead) -> Fix | None:
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
    instead = runs.command
    if instead != "torchrun":  # the interpreter stays as it is written
        instead = written[0].replace("torch.distributed.launch", "torch.distributed.run")
    edits = (Replace(start, instead), Replace(_with_blanks(flag, lines[flag.line - 1]), ""))
    return Fix(Applicability.SAFE, f"Start with `{runs.command}`", edits)


def _with_blanks(flag: Span, line: str) -> Span:
    """An option with the blanks that go with it: those behind it where it begins a line, whose indentation stays.

    LLM2CLIP cba3b45 llm2clip/run.sh:4: a tab, `--use_env training/main.py`. A continued line without another word goes.
    """
    written = line.encode()
    if written[: flag.column].strip():
        return replace(flag, column=flag.column - 1)
    rest = written[flag.end_column :]
    if rest.strip() == b"\\":
        return Span(flag.line, 0, flag.line + 1, 0)
    return replace(flag, end_column=flag.end_column + len(rest) - len(rest.lstrip()))


def check(model: Model) -> Iterator[Finding]:
    """Scripts whose `argparse` does not take what the launcher passes."""
    # Where none has a parser, how they are launched is not asked for.
    if not any(
        "argparse" in module.source.text or "hydra.main" in module.source.text
        for module in model.modules
    ):
        return
    for module in model.modules:
        yield from refused_by(model, module)
    elsewhere = any(word in each.source.text for each in model.modules for word in _ELSEWHERE)
    declared = {module.path: list(_declared(module)) for module in model.modules}
    # Where what is not known is left to others, no rank ends of it.
    started = {
        module.path: []
        if leaves_the_rest(module, declared[module.path])
        else _started(model, module)
        for module in model.modules
    }
    helpers = {path for path, each in declared.items() if each and not started[path]}
    for module in model.modules:
        if declared[module.path] and _ends_at_its_imports(model, module):
            continue
        own, launched = declared[module.path], started[module.path]
        yield from _wanted(model, module, own)
        if left_out := [
            *_left_out(model, module, own),
            *_ignored(model, module, own),
            *(refused_here(model, module, own) if not launched else ()),
        ]:
            yield from left_out
            continue
        if own and "--local-rank" not in {name for _, names in own for name in names}:
            node = own[0][0]
            if not isinstance(node, ast.Call):  # an alias, of which the script's parser is made
                launched = [launch for each in started.values() for launch in each]
            elif not launched and not _is_own_script(module, node):
                launched = _started_with(model, module, own)
                if launched and is_made_by_none(model, module, node):
                    continue
            if launched or (
                isinstance(node, ast.Call)
                and (not elsewhere or is_unfilled(model, module, node))
                and not any(map(numbers_itself, model.modules))
                and not is_overwritten(model, module)
                and not is_given_by_hand(model, module)
                and not any(_FILLED_IN.search(each.source.text) for each in model.modules)
                and _is_for_several(model, module)
                # CodeBERT c0de43d UniXcoder/downstream-tasks/code-completion/run.py:226: what is left over from another
                # script, whose DDP would find no group.
                and not makes_no_group(model.program, module)
                and not has_commented_out_group(model.program, module)
                and not _is_of_other_framework(module)
                and (
                    _is_asked_for(model, module, node)
                    or (
                        _is_passed_somewhere(model)
                        and not _is_run_alone(model, module)
                        # KGAT_TEST 94cb020 legacy/train_original_multi_gpu_backup.py:353: a left-over, and `mp.spawn`
                        and "spawn(" not in module.source.text
                    )
                )
            ):
                yield _misspelled(model, module, node, launched)
        elif (
            not own
            # DL-Art-School f31a333 codes/multi_modal_train.py:61 declares it for itself, and starts codes/train.py.
            and not any(each.path in helpers for each in imported_below(model.program, module))
            and (sure := _surely_started(model, module))
        ):
            yield from _undeclared(model, module, sure[0])


def _wanted(
    model: Model, module: Module, own: list[tuple[ast.expr, list[str]]]
) -> Iterator[Finding]:
    """An argument that has to be given as torch 2 spells it, where another launcher starts the script.

    InternImage 31c962d classification/main.py:132: `parser.add_argument("--local-rank", required=True)`, with torch
    1.11, whose launcher passes `--local_rank`; `torchrun` passes nothing.
    """
    names = {name for _, written in own for name in written}
    if len(own) != 1 or "--local_rank" in names or not isinstance(call := own[0][0], ast.Call):
        return
    code = _made_optional(module, call, source(module.source.text, call))
    starts = [
        (launch, _passes_rank(launch))
        for script, launch in model.launch.starting(module.path)
        if launch.launcher in (Launcher.TORCH_LAUNCH, Launcher.TORCHRUN)
        and (
            not _passes_rank(launch)
            or model.launch.older_than("torch", _HYPHEN, script.path, launch.conda)
        )
    ]
    if code is None or not starts:
        return
    (launch, spelled), text = starts[0], module.source.text
    how = "torch 1's launcher passes it as `--local_rank`" if spelled else "`torchrun` passes none"
    advice = "Declare both spellings, and read LOCAL_RANK"
    written = source(text, call.args[0])
    both = f"{written}, {written.replace('--local-rank', '--local_rank')}"
    code = code.replace(written, both, 1)
    fix = Fix(Applicability.SAFE, advice, (Replace(span_of(call), code), AddImport("os")))
    yield Finding(
        CODE,
        NAME,
        Severity.ERROR,
        f"Every rank ends with `the following arguments are required: --local-rank`: {how}. {advice}.",
        place_of(module, call),
        (Related(launch.place, "started here"),),
        fix,
    )


def _left_out(
    model: Model, module: Module, own: list[tuple[ast.expr, list[str]]]
) -> Iterator[Finding]:
    """An argument that `parse_known_args` passes over as torch 2 spells it, and that devices are chosen by.

    RepVGG eae7c52 main.py:63, which reads RANK from the environment, and its device from `args.local_rank`.
    """
    if len(own) != 1 or own[0][1] != ["--local_rank"] or not leaves_the_rest(module):
        return
    launched = [
        each
        for each in _started(model, module)
        if (number := each.number("nproc_per_node")) is None or number[0] > 1
    ]
    if (
        launched
        and isinstance(call := own[0][0], ast.Call)
        and (texts := [each.source.text for each in imported_below(model.program, module)])
        and any(_TAKEN.search(text) for text in texts)
        and not any(_READ_ELSEWHERE.search(text) for text in texts)
        and not model.launch.older_than("torch", _HYPHEN, module.path)
    ):
        advice = "Declare both spellings"
        written = source(module.source.text, call.args[0])
        both = written.replace("--local_rank", "--local-rank")
        first = with_first(module.source.text, call, both)
        yield Finding(
            CODE,
            NAME,
            SEVERITY,
            "Torch 2's old launcher passes `--local-rank`, and `parse_known_args` leaves it out: every rank goes on with "
            f"the default, on the same device. {advice}.",
            place_of(module, call),
            tuple(Related(each.place, "started here") for each in launched[:_SHOWN]),
            Fix(Applicability.SAFE, advice, (first,)),
        )


def _ignored(
    model: Model, module: Module, own: list[tuple[ast.expr, list[str]]]
) -> Iterator[Finding]:
    """An argument with a hyphen, or with both spellings, whose default is the device of every rank that `torchrun` starts."""
    if len(own) != 1 or "--local-rank" not in own[0][1] or not isinstance(own[0][0], ast.Call):
        return
    call = own[0][0]
    started = ignored_by_torchrun(model, module, call)
    if not started or is_overwritten(model, module) or any(map(numbers_itself, model.modules)):
        return
    default = next(k.value for k in call.keywords if k.arg == "default")
    advice = "Read LOCAL_RANK"
    text = (
        f"`torchrun` passes no such argument: every rank keeps the default, {ast.unparse(default)}, and takes the same device. "
        f"{advice}."
    )
    code = _reading(module, call, source(module.source.text, call))
    edits = (Replace(span_of(call), code), AddImport("os")) if code is not None else None
    fix = Fix(Applicability.UNSAFE, advice, edits) if edits is not None else None
    places = tuple(Related(each.place, "started here") for each in started[:_SHOWN])
    yield Finding(CODE, NAME, SEVERITY, text, place_of(module, call), places, fix)


def _ends_at_its_imports(model: Model, module: Module) -> bool:
    """Whether a script ends before it parses anything.

    DFormer 814799b mmseg/.mim/tools/train.py:12 has `from mmcv.runner import …`, and README.md:111 installs mmcv 2.1.0.
    """
    return cannot_be_read(model.program, module) or (
        needs_mmcv_1(module.source.text.encode())
        and model.launch.asks_for("mmcv", (2,), module.path)
    )


def _is_for_several(model: Model, module: Module) -> bool:
    """Whether something shows that several processes run a script, or one that imports it: else nobody misses the rank.

    ColBERT colbert/utils/parser.py:21 is left over from command lines that are no more: nothing imports it.
    """
    return uses_ranks(model.program, module) or any(
        model.launch.starting(each.path) for each in importers(model.program, module)
    )


def _is_of_other_framework(module: Module) -> bool:
    """Whether a script trains without torch, which another launcher starts then.

    insightface 7fadd42 recognition/arcface_oneflow/train.py:42, `python3 -m oneflow.distributed.launch` in train_ddp.sh.
    """
    tops = {name.partition(".")[0] for name in module.imports.values()}
    return "torch" not in tops and not tops.isdisjoint(_FRAMEWORKS)


def _is_run_alone(model: Model, module: Module) -> bool:
    """Whether scripts and pages start a file as one process: insightface 7fadd42 parsing/dml_csr/README.md:47."""
    return only_starts_one(model.launch, module.path, frozenset())


def _is_asked_for(model: Model, module: Module, declared: ast.Call) -> bool:
    """Whether a script misses the argument where it is not passed: something reads it, or argparse wants it."""
    return _is_read(model, module, declared) or any(
        each.arg == "required" for each in declared.keywords
    )


def _is_passed_somewhere(model: Model) -> bool:
    """Whether the project knows the old launcher: else nobody starts a script with it whose argument is left over.

    swav 06b1b7c starts main_swav.py so, and main_deepclusterv2.py by a scheduler; dust3r 4c24a6e all with `torchrun`.
    """
    return any(_passes_rank(launch) for _, launch in model.launch.launches(told=True))


def _is_of_it(module: Module, launch: Launch) -> bool:
    """Whether a launch starts this very script: a page may tell how another project's of that name is started.

    detectron2 (in EVA 5623d08, EVA-01/det/docs/notes/benchmarks.md:87) compares itself with maskrcnn-benchmark. LongVU 1b0be5c
    docs/eval.md:42 starts its own: the script declares all that it is given.
    """
    page, options = posixpath.basename(launch.place.path), launch.arguments.values()
    return (
        not page.endswith(".md")
        or page.startswith("README")
        or _SPELLED.search(module.source.text) is not None
        or (
            len(options) >= _KNOWN
            and all(f'"{each.written}"' in _quoted(module.source.text) for each in options)
        )
    )


def _quoted(text: str) -> str:
    return text.replace("'", '"')


def _started(model: Model, module: Module) -> list[Launch]:
    """The launches of a script whose launcher passes the local rank as an argument."""
    return [launch for _, launch in model.launch.starting(module.path) if _passes_rank(launch)]


def _surely_started(model: Model, module: Module) -> list[Launch]:
    """Those that mean no other file of that name.

    SphereFormer 0ff1e0a detection/tools/scripts/dist_train.sh:19 starts the `train.py` of the folder above its own, not that
    of the top.
    """
    found = model.launch.surely_starting(module.path)
    return [each for _, each in found if _passes_rank(each) and _is_of_it(module, each)]


def _passes_rank(launch: Launch) -> bool:
    return launch.launcher is Launcher.TORCH_LAUNCH and "use_env" not in launch.options


def _is_own_script(module: Module, declared: ast.Call) -> bool:
    """Whether an argument is declared where a file is started itself: not in a function or class of options."""
    inside = {id(part) for each in module.all_functions for part in own_nodes(each)}
    return (
        id(declared) in {id(part) for part in own_nodes(module.body)} or id(declared) not in inside
    )


def _started_with(
    model: Model, module: Module, declared: list[tuple[ast.expr, list[str]]]
) -> list[Launch]:
    """The launches that pass the rank to scripts which take their options from a file, and have no parser of their own.

    pix2pixHD 14b3b3c scripts/train_512p_fp16.sh starts train.py, which asks options/base_options.py:22.
    """
    asking = (
        each
        for each in sorted(importers(model.program, module), key=lambda each: each.path)
        if each is not module
        and "ArgumentParser(" not in each.source.text
        and not leaves_the_rest(each)
    )
    own = [] if leaves_the_rest(module, declared) else asking
    return [launch for each in own for launch in _started(model, each)]


def _for_one_version(module: Module) -> set[ast.expr]:
    """The calls that a test of a version decides.

    Swin-Transformer f82860b main.py:72: `if PYTORCH_MAJOR_VERSION == 1: parser.add_argument("--local_rank", …)`.
    """
    return {
        each
        for node in walk(module.source.tree, ast.If)
        if "version" in ast.unparse(node.test).lower()
        for each in walk(node, ast.Call)
    }


def _declared(module: Module) -> Iterator[tuple[ast.expr, list[str]]]:
    """What declares the local rank, and the spellings in each: a call, or an alias in a field's metadata.

    fairseq 0.12.2 dataclass/configs.py: `field(metadata={"argparse_alias": "--local_rank"})`.
    """
    if not _SPELLED.search(module.source.text):
        return
    of_one_version = _for_one_version(module)
    for node in walk(module.source.tree, ast.Call, ast.keyword):
        match node:
            case ast.Call(func=ast.Attribute(attr="add_argument"), args=args) if (
                node not in of_one_version
            ):
                names = [str(each.value) for each in args if isinstance(each, ast.Constant)]
                if any(_SPELLED.fullmatch(name) for name in names) and not parses_what_is_written(
                    module, node
                ):
                    yield node, names
            case ast.keyword(arg="metadata", value=ast.Dict(values=values)):
                for value in values:
                    if isinstance(value, ast.Constant) and value.value == "--local_rank":
                        yield value, [value.value]


def _is_read(model: Model, module: Module, declared: ast.Call) -> bool:
    """Whether something in the program asks for the argument, beside what declares it.

    swav 06b1b7c main_deepclusterv2.py:93: "this argument is not used and should be ignored". Under another name
    (`dest="rank"`, ColBERT colbert/utils/parser.py:21) it counts as read. A script that declares one itself reads its own
    (insightface 7fadd42 parsing/dml_csr/train.py:192, of which test.py:65 has a left-over).
    """
    renamed = any(
        keyword.arg == "dest" and getattr(keyword.value, "value", None) != "local_rank"
        for keyword in declared.keywords
    )
    return renamed or any(
        _READ.search(each.source.text)
        for each in model.modules
        if each is module
        or each in imported_below(model.program, module)
        or not (each.is_script and any(_declared(each)))
    )


def _misspelled(model: Model, module: Module, declared: ast.expr, started: list[Launch]) -> Finding:
    read = started or not isinstance(declared, ast.Call) or _is_read(model, module, declared)
    if not read:
        text = (
            "Torch 2's old launcher spells this argument `--local-rank`, and a start with it ends with `unrecognized "
            "arguments`, though nothing reads it. Declare both spellings."
        )
    elif started:
        what = "`unrecognized arguments: --local-rank`, as torch 2 spells it"
        if isinstance(declared, ast.Call) and any(map(_is_required, declared.keywords)):
            what = "`the following arguments are required: --local_rank`, as torch 2 passes `--local-rank`"
        text = (
            f"Every rank ends with {what}. "
            "Declare both spellings, or start with `torchrun`, which passes nothing, and read LOCAL_RANK."
        )
    else:
        text = (
            "No launcher of today fills this argument: `torchrun` passes nothing, and torch 2's old "
            "launcher spells it `--local-rank`. Declare both spellings, and read LOCAL_RANK."
        )
    fix, advice = None, "Declare both spellings, and read LOCAL_RANK"
    if isinstance(declared, ast.Call):
        written = source(module.source.text, declared.args[0])
        both = written.replace("--local_rank", "--local-rank")
        first = with_first(module.source.text, declared, both)
        fix = Fix(Applicability.SAFE, "Declare both spellings", (first,))
        code = _made_optional(module, declared, first.code)
        if code is not None:
            fix = Fix(Applicability.SAFE, advice, (replace(first, code=code), AddImport("os")))
        elif not started and read and (code := _reading(module, declared, first.code)) is not None:
            fix = Fix(Applicability.UNSAFE, advice, (replace(first, code=code), AddImport("os")))
    places = tuple(Related(launch.place, "started here") for launch in started[:_SHOWN])
    # Up to torch 1.13 the launcher passes `--local_rank`; what mmcv 1 or the first timm trains runs with little that is newer.
    old = model.launch.older_than("torch", _HYPHEN, module.source.path)
    old = old or (bool(started) and all(has_old_python(launch.conda) for launch in started))
    of_torch_1 = _OF_TORCH_1.search(module.source.text) is not None or _has_old_mmcv(model, module)
    severity = Severity.ERROR if started and not old and not of_torch_1 else SEVERITY
    if (
        model.launch.pinned_before("timm", (0, 3, 3), module.path)
        or _needs_torch_1(model, module)
        or (old and (of_torch_1 or _calls_into_torch_1(model, module)))
        or model.launch.pinned_before("torch", _HYPHEN, module.path)
        or model.launch.told_before("torch", _HYPHEN, module.path)
    ):
        severity = Severity.INFO
    return Finding(CODE, NAME, severity, text, place_of(module, declared), places, fix)


def _has_old_mmcv(model: Model, module: Module) -> bool:
    """Whether a script imports an mmcv that is pinned to one built for C++14, as no torch 2 takes it: mmcv pull request 2865.

    AiT 3527d50 vae/train_depth_vqvae_dist.py:12, and requirements.txt has `mmcv-full==1.4.8`.
    """
    tops = {name.partition(".")[0] for name in module.imports.values()}
    return "mmcv" in tops and model.launch.pinned_before("mmcv-full", (1, 7, 2), module.path)


def _calls_into_torch_1(model: Model, module: Module) -> bool:
    """Whether what a script imports has a DDP of its own that calls a method which torch 2's has no more.

    soho 95824a8 commons/parallel/distributed.py:43: `self._sync_params()`. torch 1.10.0
    torch/nn/parallel/distributed.py:1100 has it, torch 1.11.0 `_sync_buffers` in its place.
    """
    return any(
        "self._sync_params()" in text and "def _sync_params" not in text and _DDP.search(text)
        for text in (each.source.text for each in imported_below(model.program, module))
    )


def _needs_torch_1(model: Model, module: Module) -> bool:
    """Whether a script, or what it imports, ends with torch 2 before it parses anything: `torch._six` is gone.

    Siamese-Image-Modeling bbdec30 util/misc.py:24, mage 1becb14 util/misc.py:10: `from torch._six import inf`;
    maskrcnn-benchmark 57eec25 maskrcnn_benchmark/utils/imports.py:4: `if torch._six.PY3:`. Not in a `try`. Nor does torch 2
    import the timm that some assert.
    """
    return wants_old_timm(module.source.text.encode()) or any(
        (isinstance(statement, ast.ImportFrom) and statement.module in _GONE)
        or (isinstance(statement, ast.If) and "torch._six." in ast.unparse(statement.test))
        for each in imported_below(model.program, module)
        if any(name in each.source.text for name in _GONE)
        for statement in each.source.tree.body
    )


def _made_optional(module: Module, call: ast.Call, code: str) -> str | None:
    """The code of a call whose argument has to be given: LOCAL_RANK becomes its default; None for others.

    `torchrun` passes nothing, and argparse ends every rank: GroupViT 13b7861 main_group_vit.py:82. `type` is
    applied to a default that is a text.
    """
    given = {keyword.arg: keyword for keyword in call.keywords}
    match given.get("required"):
        case ast.keyword() as required if _is_required(required) and "default" not in given:
            written, text = source(module.source.text, required), module.source.text
            quote = '"' if '"' in source(text, call.args[0]) else "'"
            read = f"default=os.environ.get({quote}LOCAL_RANK{quote}, {quote}0{quote})"
            return code.replace(written, read) if code.count(written) == 1 else None
    return None


def _is_required(keyword: ast.keyword) -> bool:
    """Whether a keyword of `add_argument` has an argument be given.

    `required=int` does, as a class is true: research-contributions 21ed8e5 DiNTS/ensemble.py:62.
    """
    if keyword.arg != "required":
        return False
    match keyword.value:
        case ast.Constant(value=value):
            return bool(value)
        case ast.Name(id=name):
            return isinstance(getattr(builtins, name, None), type)
    return False


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


def _undeclared(model: Model, module: Module, launch: Launch) -> Iterator[Finding]:
    """The first `parse_args()` of a script that gets an argument which it does not know."""
    found = next(
        (each for function in module.all_functions for each in _strict(model, function)), None
    )
    if found is None:
        return
    function, call = found
    parser = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    if isinstance(parser, ast.Name) and is_shared(model, function, parser.id):
        return
    text = (
        "Every rank ends with `unrecognized arguments: --local-rank`: the launcher passes "
        "it, and nobody declares it. Start with `torchrun`, or pass `--use_env`."
    )
    places = (Related(launch.place, "started here"),)
    yield Finding(CODE, NAME, Severity.ERROR, text, place_of(function.module, call), places)


def _strict(model: Model, function: Function) -> Iterator[tuple[Function, ast.Call]]:
    """The calls by which a function parses the command line and takes nothing that it does not know.

    Where it calls a `parse_args()` of the program itself, those in there: NBFNet eb49ff2 script/run.py:48 calls that of
    nbfnet/util.py, which has `parse_known_args()` twice, and drops the rest.
    """
    for node in own_nodes(function, ast.Call):
        match node:
            case ast.Call(func=ast.Attribute(attr="parse_args"), args=[], keywords=[]):
                meaning = model.resolve(function.module, node.func)
                if not isinstance(meaning, Function):
                    yield function, node
                elif not leaves_the_rest(meaning.module):
                    yield from _strict(model, meaning) if meaning is not function else ()
