"""`distlint server`: findings and fixes in an editor, over the Language Server Protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from distlint.checking import Request
from distlint.cli.failure import CannotRun
from distlint.cli.inputs import BadSetting, Inputs, cache_dir_option, prepare
from distlint.reporting.report import Report

_LIBRARIES = ("pygls", "lsprotocol")


@click.command()
@click.option("--stdio", is_flag=True, help="Speak over standard input and output (always so).")
@cache_dir_option
def server(*, cache_dir: str | None, **_: bool) -> None:
    """Serve an editor: findings while you type, fixes, the pages of rules.

    The editor starts it; see docs/editors.md for its settings.
    """
    try:
        from distlint.server.serving import serve
    except ModuleNotFoundError as error:
        if (error.name or str(error)).partition(".")[0] not in _LIBRARIES:
            raise
        what = "`distlint server` needs pygls: install distlint with its extra `lsp`"
        raise CannotRun(what) from None

    def ask(paths: tuple[str, ...], unsaved: Mapping[str, bytes]) -> Sequence[Request] | Report:
        try:
            return prepare(Inputs(paths=paths, cache_dir=cache_dir), unsaved).requests
        except BadSetting as bad:
            return bad.report

    serve(ask)
