"""`distlint explain`: print the page of a rule, or name the rules that know the text of an error."""

from __future__ import annotations

import difflib
import sys

import click

from distlint.cli.output import color_option, style_of, write
from distlint.knowledge.errors import ERRORS, KnownError
from distlint.pages import errors_of, flat, says
from distlint.records import dataclass
from distlint.reporting.style import Style
from distlint.rule import Rule, load_rules


@click.command()
@click.argument("rule", metavar="CODE|NAME|ERROR|-")
@color_option
def explain(rule: str) -> None:
    """Print the page of a rule: what it finds, why it is bad, what to write instead.

    A piece of the text of an error names the rules, and the checks of `distlint doctor`, that know it; `-` reads
    such texts from standard input: `torchrun train.py 2>&1 | distlint explain -`.
    """
    rules = load_rules()
    if rule == "-":
        _tell(_answers(sys.stdin.buffer.read().decode("utf-8", "replace"), rules), "this text")
        return
    found = _find(rule, rules)
    if found is not None:
        _write_page(found, style_of(sys.stdout))
        return
    answers = _answers(rule, rules)
    if answers.any or " " in rule.strip():
        _tell(answers, f"`{rule}`")
        return
    known = [word for each in rules.values() for word in (each.code, each.name)]
    close = difflib.get_close_matches(rule, known, n=1, cutoff=0.5) or (
        difflib.get_close_matches(rule.upper(), known, n=1, cutoff=0.5)
    )
    hint = f"did you mean `{close[0]}`?" if close else "`distlint rules` lists them all"
    raise click.UsageError(f"no rule is called `{rule}`; {hint}")


def _write_page(rule: Rule, style: Style) -> None:
    write(style.bold(f"{rule.code} {rule.name}"))
    write(style.dim(f"{rule.severity.value}, {rule.status.value}, in {rule.family}"))
    write("")
    write(_painted(rule.page, style))


@dataclass(frozen=True, slots=True)
class _Answers:
    """What knows an error that is in a text: causes, rules and checks of the doctor, those with the error."""

    known: list[KnownError]
    explained: list[tuple[Rule, str]]
    checks: list[tuple[str, str]]

    @property
    def any(self) -> bool:
        """Whether anything knows one."""
        return bool(self.known or self.explained or self.checks)


def _answers(text: str, rules: dict[str, Rule]) -> _Answers:
    from distlint.hardware.doctor.errors import ERRORS as CHECKED

    whole = flat(text)
    return _Answers(
        [error for error in ERRORS if says(error.text, whole)],
        [
            (rule, error)
            for rule in rules.values()
            if (error := _first(errors_of(rule.page), whole)) is not None
        ],
        [
            (name, error)
            for name, errors in CHECKED.items()
            if (error := _first(errors, whole)) is not None
        ],
    )


def _first(errors: tuple[str, ...], whole: str) -> str | None:
    return next((error for error in errors if says(error, whole)), None)


def _tell(answers: _Answers, shown: str) -> None:
    """Name what knows the errors; print the page where that is one rule alone."""
    known, explained, checks = answers.known, answers.explained, answers.checks
    if not answers.any:
        raise click.UsageError(
            f"no rule and no check knows {shown}; give a piece of the error as it was printed, or check the "
            "code: `distlint check`"
        )
    style = style_of(sys.stdout)
    if len(explained) == 1 and not checks and not known:
        _write_page(explained[0][0], style)
        return
    for row in known:
        write(f"{style.bold(row.text)}: {row.cause}")
        write(f"    {row.do}")
        write(style.dim(f"    {row.source}"))
    for rule, error in explained:
        write(f"{style.bold(f'{rule.code} {rule.name}')}: {rule.summary}")
        write(style.dim(f"    {error}"))
    for name, error in checks:
        write(f"{style.bold(f'distlint doctor, {name}')}")
        write(style.dim(f"    {error}"))
    if not explained:
        return
    write("")
    write("`distlint explain CODE` prints a page; `distlint check` finds the place.")


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
