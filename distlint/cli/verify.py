"""`distlint verify`: the runtime's contracts and the rules' proofs, on this machine's processes."""

from __future__ import annotations

import fnmatch
import importlib.util
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from distlint.cli.failure import CannotRun

if TYPE_CHECKING:
    from distlint.hardware.verify import sessions
    from distlint.hardware.verify.outcome import Outcome, Status
    from distlint.hardware.verify.record import SessionRecord, Verification


@click.command(short_help="Run the runtime's contracts and the rules' proofs on this machine.")
@click.option(
    "--nproc",
    type=click.IntRange(1, 64),
    help="Ranks for the contracts. Default: one for each GPU, at least 2, at most 8.",
)
@click.option("--backend", type=click.Choice(["gloo", "nccl"]), help="Only this backend.")
@click.option(
    "--only", type=click.Choice(["contracts", "proofs"]), help="Leave the other part out."
)
@click.option(
    "--select",
    "patterns",
    multiple=True,
    metavar="PATTERN",
    help="Only contracts and proofs of these names: 'saving.*', 'DL2*'. May be repeated.",
)
@click.option(
    "--json",
    "json_path",
    metavar="FILE",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    help="Also write the record there; - for standard output, in place of the table.",
)
@click.option("-v", "--verbose", is_flag=True, help="Say what was seen in each row.")
def verify(
    nproc: int | None,
    backend: str | None,
    only: str | None,
    patterns: tuple[str, ...],
    json_path: Path | None,
    verbose: bool,
) -> None:
    """Check on real processes of this machine what distlint promises.

    The contracts of distlint.runtime run in every process group that can be formed here: gloo on the
    CPU, gloo and NCCL on the GPUs. Each rule's proof (a small script that goes wrong on several
    ranks) is run as written, checked, fixed, and run again. Runs only code that distlint ships.

    Exit status: 0 all held, 1 something failed, 2 could not do the work.
    """
    _check(json_path)
    from distlint.hardware.verify.record import as_json
    from distlint.hardware.verify.table import render
    from distlint.hardware.verify.workspace import workspace

    try:
        with workspace():
            verification = _verify(nproc, backend, only, patterns)
    except SystemExit as stopped:
        # Threads that run proofs would be waited for; their ranks are gone.
        _say("distlint verify: asked to stop; all ranks are ended")
        sys.stderr.flush()
        os._exit(stopped.code if isinstance(stopped.code, int) else 1)
    except KeyboardInterrupt:
        click.echo("distlint verify: interrupted; all ranks are ended", err=True)
        sys.stderr.flush()
        os._exit(130)
    except OSError as error:
        raise CannotRun(f"the ranks could not be started: {error}") from error
    if not verification.outcomes and not verification.proofs_left_out and patterns:
        raise CannotRun(f"no contract and no proof has a name like {', '.join(patterns)}")
    if json_path is not None and str(json_path) == "-":
        click.echo(as_json(verification), nl=False)
    else:
        width = min(max(shutil.get_terminal_size((100, 24)).columns, 60), 140)
        click.echo(render(verification, _style, width, verbose))
        if json_path is not None:
            json_path.write_text(as_json(verification), encoding="utf-8")
    if not verification.outcomes:
        raise CannotRun("nothing could be checked here; see above")
    sys.exit(1 if verification.failed else 0)


def _check(json_path: Path | None) -> None:
    """Say what is missing before minutes are spent."""
    if importlib.util.find_spec("torch") is None:
        raise CannotRun("`distlint verify` needs torch: pip install 'torch>=2.4' accelerate")
    if sys.platform == "win32":
        raise CannotRun("`distlint verify` works on Linux and macOS; here, use WSL")
    if json_path is not None and str(json_path) != "-" and not json_path.parent.is_dir():
        raise CannotRun(f"{json_path.parent}: no such folder for --json")


def _verify(
    nproc: int | None, backend: str | None, only: str | None, patterns: tuple[str, ...]
) -> Verification:
    from distlint.hardware.verify import machine, proof_runs, sessions
    from distlint.hardware.verify.record import Verification

    began = time.monotonic()
    record = machine.machine_record()
    gpus = record.visible_gpus
    ranks = nproc or sessions.default_ranks(gpus)
    formed: list[SessionRecord] = []
    not_formed: list[str] = []
    proofs: list[Outcome] = []
    without: list[str] = []
    left_out: list[str] = []
    chosen: list[proof_runs.Proof] = []
    if only != "contracts":
        # Before minutes are spent on the contracts: a rule that cannot be loaded ends the command.
        bundled, without = proof_runs.bundled()
        chosen = [proof for proof in bundled if _selected(f"{proof.code} {proof.rule}", patterns)]
        without = [] if patterns else without
        chosen, left_out = proof_runs.on_backend(chosen, backend)
    if only != "proofs":
        planned, not_formed = sessions.plan(ranks, gpus, record.nccl is not None, backend)
        formed = _contracts(planned, patterns)
    if chosen:
        proofs = proof_runs.run_proofs(chosen, _progress())
    return Verification(
        record,
        tuple(formed),
        tuple(not_formed),
        tuple(proofs),
        tuple(without),
        time.monotonic() - began,
        tuple(left_out),
    )


def _contracts(planned: list[sessions.Session], patterns: tuple[str, ...]) -> list[SessionRecord]:
    from distlint.hardware import contracts
    from distlint.hardware.verify.contract_runs import run_contracts
    from distlint.hardware.verify.record import SessionRecord

    names = [one.name for one in contracts.ALL if _selected(one.name, patterns)]
    records = []
    for session in planned if names else []:
        _say(f"contracts · {session.title}")
        outcomes, problem = run_contracts(session, names, _progress())
        records.append(SessionRecord(session, tuple(outcomes), problem))
    return records


def _selected(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether a name, or its first word (a proof's code), is like one of the patterns."""
    words = (name, name.partition(" ")[0])
    return not patterns or any(fnmatch.fnmatch(w, pattern) for w in words for pattern in patterns)


def _progress() -> Callable[[Outcome], None]:
    """Rows as they come, on standard error, where that is a terminal."""
    from distlint.hardware.verify.table import row_text

    return lambda outcome: _say(row_text(outcome, _style))


def _say(text: str) -> None:
    if sys.stderr.isatty():
        click.echo(text, err=True)


def _style(word: str, status: Status) -> str:
    colour = {"held": "green", "failed": "red"}.get(status.value)
    return click.style(word, fg=colour) if colour and sys.stdout.isatty() else word
