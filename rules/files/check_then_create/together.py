"""Sections of one rank that would stand one behind the other: one is enough."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.analysis.model import span_of
from distlint.analysis.program.syntax import own_nodes
from distlint.edits import Span, WrapInWith
from distlint.findings import Applicability, Finding, Fix
from distlint.repairs.blocks import blocks

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function


def in_one_section(model: Model, findings: list[Finding]) -> Iterator[Finding]:
    """The findings, those whose sections would stand one behind the other with one section for all.

    Amphion d3de90f models/vocoders/vocoder_inference.py:106: two folders are removed, each where it is there.
    """
    sections: dict[tuple[str, Span], list[Finding]] = {}
    for finding in findings:
        if (section := _section(finding)) is not None:
            sections.setdefault((finding.place.path, section.first), []).append(finding)
    made: dict[int, Fix] = {}
    paths = {path for path, _ in sections}
    for module in model.modules:
        for function in module.all_functions if module.path in paths else ():
            for run in _runs(function, module.path, sections):
                fixes = [f.fix for each in run for f in sections[each] if f.fix is not None]
                safe = all(fix.applicability is Applicability.SAFE for fix in fixes)
                edit = WrapInWith(run[0][1], run[-1][1], "$main_process_first()")
                both = replace(
                    fixes[0],
                    applicability=Applicability.SAFE if safe else Applicability.UNSAFE,
                    edits=(edit,),
                )
                made |= {id(finding): both for each in run for finding in sections[each]}
    for finding in findings:
        fix = made.get(id(finding))
        yield finding if fix is None else replace(finding, fix=fix)


def _section(finding: Finding) -> WrapInWith | None:
    match finding.fix:
        case Fix(edits=(WrapInWith() as section,)):
            return section
    return None


def _runs(
    function: Function, path: str, sections: Mapping[tuple[str, Span], object]
) -> Iterator[list[tuple[str, Span]]]:
    """The statements of each block, two or more in a row, that each get a section of their own."""
    for block in (function.body, *(b for node in own_nodes(function) for b in blocks(node))):
        run: list[tuple[str, Span]] = []
        for statement in [*block, None]:
            key = (path, span_of(statement)) if statement is not None else None
            if key is not None and key in sections:
                run.append(key)
                continue
            if len(run) > 1:
                yield run
            run = []
