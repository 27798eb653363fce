"""`python -m distlint.proving PROOF…`: run proofs and say what was seen."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click

from distlint.proving.declaration import Declaration, DeclarationError, read_declaration
from distlint.proving.steps import (
    Step,
    as_written,
    discover,
    found_by_check,
    right_when_fixed,
    unmet_requirement,
)


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--check", "and_check", is_flag=True, help="Also: does `distlint check` find it?")
@click.option("--fixed", "and_fixed", is_flag=True, help="Also: is it right after its fix?")
@click.option("--all", "everything", is_flag=True, help="All three steps.")
@click.option("--output", "show_output", is_flag=True, help="Print what each rank printed.")
def main(
    paths: tuple[Path, ...],
    and_check: bool,
    and_fixed: bool,
    everything: bool,
    show_output: bool,
) -> None:
    """Run the proofs at PATHS (files, or folders searched for proof.py). It executes them.

    Exit status 0 when every step held, 1 when one did not, 2 when a header is not understood.
    """
    proofs = discover(paths)
    if not proofs:
        raise click.UsageError("no proof.py there")
    failed = False
    for path in proofs:
        click.echo(str(path))
        try:
            declaration = read_declaration(path)
        except DeclarationError as error:
            click.echo(f"  header     {error}", err=True)
            sys.exit(2)
        if missing := unmet_requirement(declaration):
            click.echo(f"  not run    {missing}")
            continue
        steps: list[Callable[[Declaration], Step]] = [as_written]
        steps += [found_by_check] if and_check or everything else []
        steps += [right_when_fixed] if and_fixed or everything else []
        for run_step in steps:
            step = run_step(declaration)
            failed |= not step.held
            _show(step, declaration, show_output)
    sys.exit(1 if failed else 0)


def _show(step: Step, declaration: Declaration, show_output: bool) -> None:
    mark = "held" if step.held else "FAILED"
    seconds = f" ({step.execution.seconds:.1f} s)" if step.execution else ""
    click.echo(f"  {step.name:<10} {mark:<6} {step.seen}{seconds}")
    if step.execution is None or (step.held and not show_output):
        return
    for end in step.execution.ranks:
        for line in end.output.splitlines():
            click.echo(f"    rank {end.rank}: {line}")


if __name__ == "__main__":
    main()
