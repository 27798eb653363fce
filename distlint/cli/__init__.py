"""The command line: one file for each command; parses, calls, prints. No logic."""

from __future__ import annotations

import click


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="distlint")
def main() -> None:
    """Find and repair what breaks in PyTorch training code only when several processes run it."""
