"""`distlint vendor`: the runtime as a package of the user's own."""

from __future__ import annotations

from pathlib import Path

import click

from distlint.cli.failure import CannotRun
from distlint.project.vendoring import CannotVendor, vendor_runtime


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace an earlier copy.")
def vendor(path: Path, force: bool) -> None:
    """Copy the runtime to PATH, so that the training image needs no distlint.

    PATH is the directory that becomes the package, for instance mypackage/distributed. The copy
    needs torch and nothing else. Only an earlier copy is ever replaced, and only with --force.
    """
    try:
        written = vendor_runtime(path, force=force)
    except CannotVendor as error:
        raise CannotRun(str(error)) from None
    click.echo(f"{path}: {len(written.files)} files; import it as `{written.module}`")
    click.echo("To let fixes import it, write in pyproject.toml:\n")
    click.echo(f'[tool.distlint]\nruntime-module = "{written.module}"')
