"""`distlint explain`: print the page of a rule."""

from __future__ import annotations

import difflib
import sys

import click

from distlint.cli.output import color_option, style_of, write
from distlint.reporting.style import Style
from distlint.rule import Rule, load_rules


@click.command()
@click.argument("rule", metavar="CODE|NAME")
@color_option
def explain(rule: str) -> None:
    """Print the page of a rule: what it finds, why it is bad, what to write instead."""
    rules = load_rules()
    found = _find(rule, rules)
    if found is None:
        known = [word for each in rules.values() for word in (each.code, each.name)]
        close = difflib.get_close_matches(rule, known, n=1, cutoff=0.5) or (
            difflib.get_close_matches(rule.upper(), known, n=1, cutoff=0.5)
        )
        hint = f"did you mean `{close[0]}`?" if close else "`distlint rules` lists them all"
        raise click.UsageError(f"no rule is called `{rule}`; {hint}")
    style = style_of(sys.stdout)
    write(style.bold(f"{found.code} {found.name}"))
    write(style.dim(f"{found.severity.value}, {found.status.value}, in {found.family}"))
    write("")
    write(_painted(found.page, style))


def _find(word: str, rules: dict[str, Rule]) -> Rule | None:
    folded = word.strip().lower().replace("_", "-")
    return next((each for each in rules.values() if folded in (each.code.lower(), each.name)), None)


def _painted(page: str, style: Style) -> str:
    """The page with its headings and code set off."""
    lines = []
    code = False
    for line in page.split("\n"):
        if line.startswith("```"):
            code = not code
            continue
        if code:
            lines.append("    " + style.cyan(line))
        elif line.startswith("#"):
            lines.append(style.bold(line.lstrip("# ")))
        else:
            lines.append(line)
    return "\n".join(lines)
