"""A collective that a rank misses because a failure of its own was caught.

## What it does
Reports a `try` in which something may fail on one rank alone (a download, an HTTP request, a file, a
process), whose handler goes on, returns or performs other collectives, while ranks without the failure
perform a collective inside the `try` or behind it. Where a handler expects an out-of-memory error, every
collective in the `try` counts as such a thing, forward and backward of a wrapped model among them; so it is where a handler
passes over whatever a backward raises, and goes on. A handler of whatever an element of a loop raises that ends the process
with code 0 tells the launcher that all is well: the others are left alone.

Reports also a `try` that stands in a branch on the rank, where the handler raises: only the ranks of the
branch can fail, and the function sends the others to a collective behind it.

## Why it is bad
An exception that nobody catches ends the job, since the launcher ends the other ranks. One that is caught
leaves this rank alive on another way: the others wait in the collective that it skipped, and nobody sees
the failure that was the cause.

One that a handler raises in a branch on the rank ends that rank. torchrun then ends the others after a
while; under `srun` without `--kill-on-bad-exit`, in a notebook, in a test, or where a caller catches the
exception, they wait in the collective until its timeout.

## Errors you may see
- `Watchdog caught collective operation timeout`
- `Connection closed by peer`

## Example
```python
try:
    data = requests.get(url).json()
    dist.broadcast_object_list([data])
except requests.RequestException:
    return None
```

## Use instead
```python
data = run_on_main(fetch, url, broadcast=True)
```
`run_on_main` and `main_process_first` pass an exception of the main process on to all ranks. Where each
rank does the work, catch the failure, reduce it (`any_rank(failed)`), and let all ranks decide together.

## Fix safety
Unsafe: `any_rank(failed)` behind the `try` tells all ranks, and those without the failure now return or go on
together with the one that has it; a collective behind the failure in the `try` moves out of it. Shown only
where the ranks cannot be shown to part in this way alone: other collectives or exits in the `try`, `else` or
`finally`, handlers that leave in several ways or with a value of their own, failures that handlers raise on.

## Known limits
Preview: only failures of known calls count, those of the network and of processes also below the call in
the `try`. A handler that raises again on all ranks is right, and silent, and so is a `finally` that takes
the rank that failed through the collective, and a flag set by the handler, for which the rank makes up for the collective
behind the `try`. A forward counts where the program shows what
wraps the model: in mosaicml 0.23.0 composer/trainer/trainer.py:2763 it does not. One that waits only in a
sharded model counts where the program or its launch files speak of FSDP or DeepSpeed. Information where the call only looks
into a folder (`os.listdir`), which is there for all ranks of a machine or for none, or where all ranks are on one machine and
nothing but a missing file, of one path for all, is caught, or where the handler ends the process and the others come to what
waits in sharded models alone. Silent where it reads bytes in memory
(`Image.open(BytesIO(data))`) that are neither a rank's own nor those of a turn over data, or the text of an option (`json.loads(args.extra)`) that the
program does not set: it fails on all ranks or on none.

## References
- deepspeed 0.19.8 deepspeed/compile/profilers/comm_profile.py:109: a rank out of memory leaves the loop
- mosaicml 0.32.1 composer/utils/checkpoint.py:782: ranks meet in a `finally` behind a download on one of them
- torch 2.13.0 torch/distributed/elastic/agent/server/api.py: a failed worker ends its group
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ir import Layer
from distlint.analysis.interpreter.values import Variance
from distlint.analysis.model import place_of, related
from distlint.analysis.program.syntax import attempts_around, exits
from distlint.analysis.questions.caught import catches_only
from distlint.analysis.questions.ending import handlers_end_the_job
from distlint.analysis.questions.entered import is_never_named
from distlint.analysis.questions.launched import root_paths
from distlint.analysis.questions.lightning import is_on_one_device
from distlint.analysis.questions.machines import on_one_machine
from distlint.analysis.traces.witness import (
    event_text,
    related_places,
    side,
    text_of,
    where,
    witness,
)
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge.configuration.launchers import Launcher
from distlint.knowledge.failures import LOOKS_AT_FOLDERS
from distlint.repairs.agreeing import agreed
from distlint.rule import Status

from .catching_up import catches_up
from .in_memory import in_memory_of_all, reads_an_option
from .making_good import makes_good
from .repeating import fails_again, is_installed_or_raised

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Module
    from distlint.analysis.traces.divergence import Divergence
    from distlint.launch.commands import Launch

CODE = "DL105"
NAME = "collective-skipped-by-exception"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = ()

_LOADS: Final = frozenset({"load_state", "load_checkpoint"})
"""What gives a rank the weights that it goes on with."""
_MACHINES: Final = {
    Launcher.TORCHRUN: ("nnodes",),
    Launcher.DEEPSPEED: ("num_nodes", "hostfile", "H"),
}
"""Launchers that end all ranks of their machine where one fails, with the options that give them others."""
_OF_PATHS: Final = frozenset(
    {"FileNotFoundError", "IsADirectoryError", "NotADirectoryError", "PermissionError"}
)
"""Failures that a path has for all who ask for it on one machine."""


def check(model: Model) -> Iterator[Finding]:
    """Every caught failure of one rank that makes it miss a collective."""
    seen: set[int] = set()
    for divergence in model.divergences():
        node = divergence.node
        if divergence.kind != "failure" or node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if fails_again(model.program, divergence.function, node):
            continue
        if is_installed_or_raised(divergence.function, node) or in_memory_of_all(model, node):
            continue
        if reads_an_option(model, divergence.module, node):
            continue
        if divergence.event.site is not None and is_on_one_device(divergence.event.site):
            continue
        if makes_good(model, divergence.function, node) or catches_up(model, divergence):
            continue
        # Ranks of which one does not load go on apart in every mode.
        loads = divergence.event.op in _LOADS
        if divergence.layer is Layer.SHARDED and not (loads or model.may_shard):
            continue
        event = divergence.event
        place = where(event.module, event.node, divergence.module)
        if divergence.guards:
            yield _raised_alone(model, divergence, node)
            continue
        ends = handlers_end_the_job(model, divergence.function, node, model.launch.under_slurm)
        fix = _fix(model, divergence)
        what = (
            "where one rank runs out of memory, the exception is caught here"
            if isinstance(node, ast.ExceptHandler)
            else f"where `{text_of(node)}` fails on one rank, the exception is caught there"
        )
        until = ", until the launcher ends them" if ends else ""
        waits = (
            ": where the model is sharded (FSDP, DeepSpeed ZeRO-3) they wait there, and else the ranks go on apart"
            if divergence.layer is Layer.SHARDED
            else f" and wait{until}"
        )
        yield Finding(
            CODE,
            NAME,
            Severity.INFO
            if ends
            or _fails_alike(model, divergence, node)
            or _ends_beside_whole_models(divergence, node)
            else SEVERITY,
            f"{what}, and the rank goes another way than those that come to `{event_text(event)}` "
            f"({place}){waits}. {fix.message}.",
            place_of(divergence.module, node),
            related_places(divergence),
            fix,
            witness(divergence),
        )


def _ends_beside_whole_models(divergence: Divergence, node: ast.AST) -> bool:
    """Whether a rank ends its process where the others wait in what is a collective of sharded models alone.

    scepter 9f5b439 scepter/modules/utils/config.py:464: `sys.exit()` in the handler, in front of `from_pretrained()` in a
    page of gradio's. None goes on apart, and nothing shows that the model is sharded.
    """
    around = attempts_around(divergence.function, node)
    innermost = max(around, key=lambda attempt: attempt.lineno, default=None)
    return (
        divergence.layer is Layer.SHARDED
        and innermost is not None
        and all(exits(handler.body[-1]) for handler in innermost.handlers)
    )


def _fails_alike(model: Model, divergence: Divergence, node: ast.AST) -> bool:
    """Whether what fails asks for what a folder holds: it is there for all ranks of a machine, or for none.

    EasyNLP a4ee956 easynlp/appzoo/api.py:481: `os.listdir(args.pretrained_model_name_or_path)`. So it is with a file of all
    ranks where nothing else is caught, and the group lives on one machine: graphlearn-for-pytorch 26fe3d4
    examples/igbh/train_rgnn_multi_gpu.py:125, `except FileNotFoundError` around `torch.load(ckpt_path)`.
    """
    if not isinstance(node, ast.Call):
        return False
    if model.resolve(divergence.module, node.func) in LOOKS_AT_FOLDERS:
        return True
    around = attempts_around(divergence.function, node)
    innermost = max(around, key=lambda attempt: attempt.lineno, default=None)
    call = model.call_at(node)
    return (
        innermost is not None
        and all(_is_caught_missing(handler) for handler in innermost.handlers)
        and call is not None
        and all(
            value.variance is Variance.UNIFORM
            for _, site in call.sites
            for value in (*site.args, *site.keywords.values())
        )
        and on_one_machine(model, divergence.function)
    )


def _is_caught_missing(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches that a file is not there, or may not be read, alone."""
    return catches_only(handler, _OF_PATHS)


def _fix(model: Model, divergence: Divergence) -> Fix:
    edits = agreed(model, divergence)
    # What waits only where the model is sharded is no reason to let each turn of a script that may have one
    # process ask all ranks (kohya-ss/sd-scripts finetune/make_captions.py:144).
    if edits is None or divergence.layer is Layer.SHARDED:
        return Fix(
            Applicability.DISPLAY,
            "Let all ranks hear of the failure: `run_on_main()`, or `any_rank(failed)` behind the `try`",
        )
    text = "Let all ranks hear of the failure: `any_rank(failed)` behind the `try`"
    return Fix(Applicability.UNSAFE, text, edits)


def _is_ended_by_launcher(model: Model, module: Module) -> bool:
    """Whether all that starts a file is a launcher on one machine that ends the other ranks as soon as one has raised.

    cosmos-rl 89f2e5b tests/benchmark/launch_rollout_bench.sh:75, `torchrun`; UniAfford 0b457f7 scripts/run_train.sh:60, `deepspeed`,
    which does as well (deepspeed 0.19.8 launcher/launch.py:280).
    """
    starts = [
        [launch for _, launch in model.launch.starting(path)] for path in root_paths(model, module)
    ]
    return bool(starts) and all(
        bool(each) and all(map(_is_of_one_machine, each)) for each in starts
    )


def _is_of_one_machine(launch: Launch) -> bool:
    several = _MACHINES.get(launch.launcher, ())
    return launch.launcher in _MACHINES and all(
        name not in launch.options or (launch.number(name) or (0,))[0] == 1 for name in several
    )


def _raised_alone(model: Model, divergence: Divergence, node: ast.AST) -> Finding:
    """The finding for a failure that a handler raises on, where other ranks cannot fail and wait."""
    event, home = divergence.event, divergence.module
    absent, waiters = side(divergence.absent), side(divergence.waiters)
    fix = Fix(
        Applicability.DISPLAY,
        "Pass the failure on to all ranks: `run_on_main()`, or meet them in a `finally`",
    )
    return Finding(
        CODE,
        NAME,
        Severity.INFO
        if _is_ended_by_launcher(model, home) or is_never_named(model.program, divergence.function)
        else SEVERITY,
        f"where `{text_of(node)}` fails, {absent.name} {absent.verb('raises', 'raise')}, and "
        f"{waiters.name} {waiters.verb('waits', 'wait')} in `{event_text(event)}` "
        f"({where(event.module, event.node, home)}) until the launcher or the timeout ends the job. "
        f"{fix.message}.",
        place_of(home, node),
        (*related_places(divergence), related(home, divergence.anchor, "the others wait here")),
        fix,
        witness(divergence),
    )
