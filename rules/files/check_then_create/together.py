"""Findings that belong together: sections of one rank that would stand one behind the other, and what one rank alone comes to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.analysis.model import span_of
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.made_before import passed_by_one
from distlint.edits import Replace, Span, WrapInWith
from distlint.findings import Applicability, Finding, Fix, Related
from distlint.repairs.blocks import blocks

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.questions.filesystem import FileCall


def with_what_follows(model: Model, findings: Iterable[tuple[FileCall, Finding]]) -> list[Finding]:
    """The findings, those that one rank alone comes to, behind a folder which the others fail to make, as one with that.

    Multi_Lanes_Detection 2a638bd lib/experiment.py:30: the folder of a run, and below it two in it.
    """
    kept: dict[int, Finding] = {}
    for found, finding in findings:
        makers = (id(made.site.node) for made in passed_by_one(model, found))
        first = next((maker for maker in makers if maker in kept), 0)
        above = kept.get(first)
        match above, finding:
            case (
                Finding(fix=Fix(Applicability.SAFE, edits=(Replace(), *_) as edits) as fix),
                Finding(fix=Fix(Applicability.SAFE, edits=(Replace() as more,))),
            ):
                behind = Related(finding.place, "one rank alone comes to make this, too")
                kept[first] = replace(
                    above,
                    related=(*above.related, behind),
                    fix=replace(fix, edits=(*edits, more)),
                )
            case _:
                kept[id(found.site.node)] = finding
    return list(kept.values())


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
