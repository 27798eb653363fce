"""`distlint rules`: list the rules."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection

import click

from distlint.cli.output import color_option, style_of, write, write_utf8
from distlint.codes import family_of, free_code
from distlint.findings import Severity
from distlint.rule import Rule, Status, load_rules


@click.command()
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text")
@color_option
def rules(output_format: str) -> None:
    """List the rules: code, severity, name, what each one finds."""
    known = load_rules().values()
    if output_format == "json":
        rows = [
            {
                "code": rule.code,
                "name": rule.name,
                "family": rule.family,
                "severity": rule.severity.value,
                "status": rule.status.value,
                "summary": rule.summary,
            }
            for rule in known
        ]
        write_utf8(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    style = style_of(sys.stdout)
    paint = {Severity.ERROR: style.red, Severity.WARNING: style.yellow, Severity.INFO: style.blue}
    width = max((len(rule.name) for rule in known), default=0)
    family = ""
    for rule in known:
        if rule.family != family:
            family = rule.family
            write(style.bold(f"\n{family.replace('_', ' ')}") + style.dim(_free(rule, known)))
        status = " (preview)" if rule.status is Status.PREVIEW else ""
        severity = paint[rule.severity](f"{rule.severity.value:<7}")
        write(f"  {rule.code}  {severity}  {rule.name:<{width}}  {rule.summary}{style.dim(status)}")


def _free(first: Rule, known: Collection[Rule]) -> str:
    """The next code of the family that `first` opens, where the family is one of distlint's own."""
    family = family_of(first.code)
    free = family and free_code(family.prefix, [rule.code for rule in known])
    return f"  (next free code: {free})" if free else ""
