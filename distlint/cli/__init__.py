"""The command line: one file for each command; parses, calls, prints. No logic."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys
from typing import Any, NoReturn

import click

import distlint

INTERRUPTED = 130
"""What a shell reports of a program that Ctrl-C ended."""

COMMANDS = {
    "check": "Report what breaks when several processes run the code.",
    "fix": "Show the fixes as a diff; --apply writes them.",
    "explain": "Print the page of a rule.",
    "rules": "List the rules.",
    "clean": "Delete the cache.",
    "vendor": "Copy the runtime into your package.",
    "verify": "Run the runtime's contracts and the rules' proofs on this machine.",
    "doctor": "Check this machine before a distributed job starts.",
    "config": "Write the accelerate configuration for this machine.",
    "plan": "Say how much memory a model needs on each GPU.",
    "new-rule": "Write the folder of a new rule.",
    "test-rules": "Test rules: their cases, fixes and proofs.",
    "run": "Run a script on several processes and name the first divergence.",
    "server": "Serve an editor: findings and fixes while you type.",
}
"""Each command lives in the module of its name, which is loaded when the command is called."""


HIDDEN = frozenset({"watch-job"})
"""Commands that only distlint itself calls."""


class LazyGroup(click.Group):
    """A group whose commands are imported only when one of them runs: `check` starts in 0.05 s."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Run the command line. Whatever goes wrong is one line and exit code 2."""
        from distlint.rule import BrokenRules

        try:
            try:
                return super().main(*arguments, **options)
            finally:
                sys.stdout.flush()  # a full disk shows here, not after the last line of Python
        except BrokenRules as error:
            _fail(str(error))
        except BrokenPipeError:  # the reader has seen enough
            _drop_output()
            sys.exit(2)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            if error.filename is None and error.errno == errno.ENOENT:
                _fail("the working directory is gone: change to one that is there")
            if error.filename is None:
                _drop_output()
                _fail(f"the output cannot be written: {reason}")
            _fail(f"{os.fsdecode(error.filename)}: {reason}")
        except Exception as error:
            from distlint.checking import crash_text

            _fail(f"distlint failed: {crash_text(error)}")

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Click would end with 1, which means findings."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            _fail("interrupted", INTERRUPTED)
        except BrokenPipeError:
            # Click would end with 1 here, too.
            _drop_output()
            sys.exit(2)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS and cmd_name not in HIDDEN:
            return None
        name = cmd_name.replace("-", "_")
        command = getattr(importlib.import_module(f"distlint.cli.{name}"), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _fail(line: str, code: int = 2) -> NoReturn:
    with contextlib.suppress(OSError):  # nobody is there to be told
        click.echo(f"Error: {' '.join(line.split())}", err=True)
    sys.exit(code)


def _drop_output() -> None:
    """Let what is left in the buffers go nowhere: Python would try to write it again at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(distlint.__version__, prog_name="distlint")
def main() -> None:
    """Find and repair what breaks in PyTorch training code only when several processes run it."""
