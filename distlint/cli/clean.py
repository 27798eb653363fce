"""`distlint clean`: delete the cache."""

from __future__ import annotations

import click

from distlint.cli.failure import CannotRun
from distlint.cli.inputs import cache_dir_option
from distlint.project.cache import CacheRefused, cache_folder, remove_caches


@click.command()
@cache_dir_option
def clean(cache_dir: str | None) -> None:
    """Delete what distlint keeps about all projects. Only files that it made are deleted."""
    folder = cache_folder(cache_dir)
    if folder is None:
        raise CannotRun("there is no cache folder: this user has no home directory")
    try:
        files, size = remove_caches(folder)
    except CacheRefused as refused:
        raise CannotRun(f"{refused}; nothing was deleted") from None
    except OSError as error:
        raise CannotRun(f"{folder}: {(error.strerror or str(error)).lower()}") from None
    noun = "file" if files == 1 else "files"
    click.echo(f"{folder}: {files:,} {noun} deleted ({size / 2**20:.1f} MiB).")
