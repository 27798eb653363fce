"""What people leave in code while they debug or track it: debuggers, trackers, and what each of them opens."""

from __future__ import annotations

from typing import Final

from distlint.records import dataclass

BREAKPOINTS: tuple[str, ...] = (
    "builtins.breakpoint",
    "pdb.set_trace",
    "ipdb.set_trace",
    "pudb.set_trace",
    "bdb.set_trace",
    "IPython.embed",
    "IPython.core.debugger.set_trace",
    "code.interact",
)
"""Calls that read what a person types (Python 3.13, ipdb 0.13.13, pudb 2025.1, IPython 9.8). Not
`torch.distributed.breakpoint`, which stops one rank and lets the others wait, nor `debugpy.breakpoint`."""


@dataclass(frozen=True, slots=True)
class Tracker:
    """A call that opens a run of an experiment tracker.

    Attributes:
        name: canonical.
        what: what each process opens.
        apart: the arguments that say the ranks' runs belong apart on purpose.
        source: where that was read.
        noted: the arguments that are noted in the run, and say nothing of which run it is.
    """

    name: str
    what: str
    apart: tuple[str, ...]
    source: str
    noted: tuple[str, ...] = ()


OPEN_MODES: Final = frozenset({"online", "offline"})
"""Values of `mode` with which a tracker opens a run (wandb 0.23.1 sdk/wandb_init.py): on each rank, where they are
written out."""

TRACKERS: tuple[Tracker, ...] = (
    Tracker(
        "wandb.init",
        "a run",
        ("group", "mode", "settings"),
        "wandb 0.23.1 sdk/wandb_init.py",
        noted=("config",),
    ),
    Tracker("mlflow.start_run", "a run", ("nested", "run_id"), "mlflow 3.7.0 tracking/fluent.py"),
    Tracker(
        "torch.utils.tensorboard.SummaryWriter",
        "an event file",
        (),
        "torch 2.13.0 utils/tensorboard/writer.py",
    ),
    Tracker(
        "torch.utils.tensorboard.writer.SummaryWriter",
        "an event file",
        (),
        "torch 2.13.0 utils/tensorboard/writer.py",
    ),
    Tracker("tensorboardX.SummaryWriter", "an event file", (), "tensorboardX 2.6.4 writer.py"),
    Tracker(
        "swanlab.init",
        "an experiment",
        ("group", "mode"),
        "swanlab 0.7.4 data/sdk.py",
        noted=("config",),
    ),
    Tracker("comet_ml.Experiment", "an experiment", ("disabled",), "comet_ml 3.53 experiment.py"),
    Tracker(
        "comet_ml.start", "an experiment", ("experiment_key", "mode"), "comet_ml 3.53 start.py"
    ),
    Tracker(
        "neptune.init_run", "a run", ("custom_run_id", "mode"), "neptune 1.14 metadata_containers"
    ),
    Tracker("clearml.Task.init", "a task", (), "clearml 2.0 task.py"),
    Tracker("aim.Run", "a run", ("run_hash",), "aim 3.29 sdk/run.py"),
)
