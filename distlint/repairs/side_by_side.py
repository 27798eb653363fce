"""Statements one below the other that each get the same guard: they go under one, and the ranks wait once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Module
from distlint.analysis.program.places import span_of
from distlint.columns import split_lines
from distlint.edits import Delete, Edit, Replace, Span
from distlint.findings import Applicability, Finding
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.records import dataclass
from distlint.repairs.blocks import blocks

_GUARDED: Final = pattern(r"if ([^\n]+):\n((?:    [^\n]*\n?)+)([^ \n].*)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Guarded:
    """A finding whose fix puts one statement under a test."""

    number: int
    span: Span
    test: str
    body: str
    rest: str
    """What all ranks do behind it: they wait."""


def side_by_side(model: Model, findings: Sequence[Finding]) -> list[Finding]:
    """The findings, with one fix for those whose statements stand side by side and get the same guard.

    lightweight-gan efbec45 lightweight_gan/lightweight_gan.py:1626: four calls of `rmtree()`, which rank 0 would have
    made under four tests, with four barriers.
    """
    made = list(findings)
    by_path: dict[str, list[_Guarded]] = {}
    for number, finding in enumerate(findings):
        if (guarded := _guarded(number, finding)) is not None:
            by_path.setdefault(finding.fixed_path, []).append(guarded)
    for path, some in by_path.items():
        module = next((m for m in model.program.modules.values() if m.path == path), None)
        if module is None or len(some) < 2:
            continue
        for run in _runs(module, some):
            *first, last = run
            code = f"if {last.test}:\n{''.join(each.body for each in run)}{last.rest}".rstrip("\n")
            edits: tuple[Edit, ...] = (*(Delete(e.span) for e in first), Replace(last.span, code))
            fixes = [fix for each in run if (fix := findings[each.number].fix) is not None]
            least = next((f for f in fixes if f.applicability is Applicability.UNSAFE), fixes[0])
            for each in run:
                made[each.number] = replace(findings[each.number], fix=replace(least, edits=edits))
    return made


def _guarded(number: int, finding: Finding) -> _Guarded | None:
    fix = finding.fix
    if fix is None or fix.elsewhere or fix.applicability is Applicability.DISPLAY:
        return None
    match fix.edits:
        case (Replace(span=span, code=code),) if guard := _GUARDED.fullmatch(code):
            body = guard[2] if guard[2].endswith("\n") else f"{guard[2]}\n"
            return _Guarded(number, span, guard[1], body, guard[3] or "")
    return None


def _runs(module: Module, some: Sequence[_Guarded]) -> Iterator[list[_Guarded]]:
    """The stretches of two and more statements, with nothing between them, that get the same guard."""
    by_span = {each.span: each for each in some}
    lines = split_lines(module.source.text)
    for block in (b for node in walk(module.source.tree) for b in blocks(node)):
        run: list[_Guarded] = []
        for statement in [*block, None]:
            guarded = None if statement is None else by_span.get(span_of(statement))
            if run and (guarded is None or not _goes_on(run[-1], guarded, lines)):
                if len(run) > 1:
                    yield run
                run = []
            if guarded is not None:
                run.append(guarded)


def _goes_on(last: _Guarded, following: _Guarded, lines: Sequence[str]) -> bool:
    """Whether a statement may stand under the guard of the one above it: a comment would be torn from what it says."""
    between = lines[last.span.end_line - 1 : following.span.line - 1]
    return last.test == following.test and not any("#" in line for line in between)
