"""Downloads that one section would cure: one finding, with the other places beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from distlint.edits import Edit, WrapInWith
from distlint.findings import Finding, Related


def one_of_each_section(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings, those with the same section as their fix as one.

    NVAE datasets.py:135: `CIFAR10(train=True, download=True)`, and below it the same with `train=False`.
    """
    kept: list[Finding] = []
    by_section: dict[tuple[str, tuple[Edit, ...]], int] = {}
    for finding in findings:
        fix = finding.fix
        if fix is None or not any(isinstance(edit, WrapInWith) for edit in fix.edits):
            kept.append(finding)
            continue
        at = by_section.setdefault((finding.place.path, fix.edits), len(kept))
        if at == len(kept):
            kept.append(finding)
        else:
            beside = Related(finding.place, "downloaded here, too")
            kept[at] = replace(kept[at], related=(*kept[at].related, beside))
    yield from kept
