"""The one line that a command prints when it could not do its work; exit code 2."""

from __future__ import annotations

import click


class CannotRun(click.ClickException):
    """What could not be done, where, and what to do: shown as one line, without the usage text."""

    exit_code = 2
