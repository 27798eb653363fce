"""`distlint new-rule`: write the folder of a new rule."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from distlint.cli.output import write
from distlint.project.settings import shown_path

if TYPE_CHECKING:
    from distlint.authoring.scaffold import NewRule


@click.command(short_help="Write the folder of a new rule.")
@click.argument("code", metavar="CODE")
@click.argument("name", metavar="NAME")
@click.option(
    "--into",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="A package of your own; without it the rule becomes one of distlint's, in its repository.",
)
def new_rule(code: str, name: str, into: Path | None) -> None:
    """Write the folder of the rule CODE, called NAME after the bug: page, check, cases, proof.

    What is written is a small rule that works. `distlint test-rules` tests it, and names what is still
    to be filled in.
    """
    from distlint.authoring.scaffold import Refused, own_rule, third_party_rule, write_rule
    from distlint.rule import load_rules

    taken = {word for rule in load_rules().values() for word in (rule.code, rule.name)}
    try:
        if into is None:
            rule = own_rule(code, name, taken)
        else:
            rule = third_party_rule(code, name, into, taken)
        files = write_rule(rule)
    except Refused as refused:
        raise click.UsageError(str(refused)) from None
    for path in files:
        write(f"wrote {shown_path(path)}")
    write(_what_next(rule, third_party=into is not None))


def _what_next(rule: NewRule, *, third_party: bool) -> str:
    folder = shown_path(rule.folder)
    lines = ["", f"Next: distlint test-rules {folder}"]
    if third_party:
        from distlint.rule import ENTRY_POINT_GROUP

        lines += [
            "",
            "For `distlint check` to find it, once it is done, the package that brings it is installed",
            "with this in its pyproject.toml:",
            "",
            f'[project.entry-points."{ENTRY_POINT_GROUP}"]',
            f'{rule.package.replace(".", "_")} = "{rule.package}"',
        ]
    else:
        lines.append("and, when it holds: python docs/generate.py")
    return "\n".join(lines)
