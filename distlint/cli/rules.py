"""`distlint rules`: list the rules."""

from __future__ import annotations

import json
import sys

import click

from distlint.cli.output import write, write_utf8
from distlint.findings import Severity
from distlint.reporting.style import style_for
from distlint.rule import Status, load_rules


@click.command()
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text")
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
    style = style_for(sys.stdout)
    paint = {Severity.ERROR: style.red, Severity.WARNING: style.yellow, Severity.INFO: style.blue}
    width = max((len(rule.name) for rule in known), default=0)
    family = ""
    for rule in known:
        if rule.family != family:
            family = rule.family
            write(style.bold(f"\n{family.replace('_', ' ')}"))
        status = " (preview)" if rule.status is Status.PREVIEW else ""
        severity = paint[rule.severity](f"{rule.severity.value:<7}")
        write(f"  {rule.code}  {severity}  {rule.name:<{width}}  {rule.summary}{style.dim(status)}")
