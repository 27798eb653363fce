"""`distlint watch-job`: what rank 0 of a job starts where DISTLINT_RUN is set; no command for people."""

from __future__ import annotations

import os
import socket
import sys

import click

from distlint.cli.failure import CannotRun
from distlint.cli.run import listener, say, watching
from distlint.hardware.sanitizer import supervision
from distlint.hardware.sanitizer.ranks import Plan


@click.command(hidden=True)
@click.argument("host")
@click.argument("port", type=int)
@click.argument("prefix")
@click.argument("ranks", type=int)
@watching
def watch_job(
    host: str,
    port: int,
    prefix: str,
    ranks: int,
    stall_timeout: float,
    patience: float,
    notice: float,
    replicas: bool,
) -> None:
    """Watch the ranks of a job through its store, and end them when they diverge."""
    from distlint.hardware.sanitizer.job_store import Meeting
    from distlint.hardware.sanitizer.job_watch import Job

    try:
        job = Job(Meeting(host, port, prefix), ranks)
    except RuntimeError as error:
        raise CannotRun(f"the job's store at {host}:{port} cannot be reached: {error}") from error
    plan = Plan(
        command=(),
        ranks=ranks,
        backend=None,
        stall=stall_timeout,
        patience=patience,
        output_to_stderr=False,
        notice=notice,
        replicas=replicas,
    )
    click.echo(
        f"distlint run: watches {ranks} ranks; `kill -USR1 {os.getpid()}` on {socket.gethostname()} "
        "shows where they are",
        err=True,
    )
    diverged = False
    try:
        result = supervision.run_launched(plan, job, listener())
        diverged = result.divergence is not None
        say(result, as_json=False)
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        job.leave(diverged)
