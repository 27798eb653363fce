"""`--output-format junit`: JUnit XML, which most CI servers read."""

from __future__ import annotations

from itertools import groupby
from xml.etree import ElementTree

from distlint.patterns import pattern
from distlint.reporting.report import Report

_NOT_XML = pattern("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report) -> str:
    """One suite for each file with findings, one failed case for each finding.

    Without findings there is one case that passed: several servers reject a report without cases.
    What could not be done is a case with an error.
    """
    root = ElementTree.Element("testsuites", name="distlint")
    for path, rows in groupby(report.findings, key=lambda row: row.finding.place.path):
        cases = list(rows)
        suite = _suite(root, path, tests=len(cases), failures=len(cases))
        for row in cases:
            finding = row.finding
            column, _ = report.texts.columns(finding.place)
            name = f"{finding.code} {finding.name}"
            case = ElementTree.SubElement(
                suite,
                "testcase",
                {
                    "name": name,
                    "classname": _clean(path.removesuffix(".py")),
                    "file": _clean(path),
                    "line": str(finding.place.line),
                },
            )
            failure = ElementTree.SubElement(
                case,
                "failure",
                {"message": _clean(finding.message), "type": finding.severity.value},
            )
            failure.text = _clean(
                f"{path}:{finding.place.line}:{column}: {name}: {finding.message}"
            )
    if report.problems:
        suite = _suite(root, "not done", tests=len(report.problems), errors=len(report.problems))
        for problem in report.problems:
            case = ElementTree.SubElement(
                suite, "testcase", name=_clean(problem.path or "distlint"), classname="distlint"
            )
            ElementTree.SubElement(case, "error", message=_clean(problem.reason))
    elif not report.findings:
        suite = _suite(root, "distlint", tests=1)
        ElementTree.SubElement(suite, "testcase", name="no findings", classname="distlint")
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(
        root, encoding="unicode"
    )


def _suite(
    root: ElementTree.Element, name: str, *, tests: int, failures: int = 0, errors: int = 0
) -> ElementTree.Element:
    counts = {"tests": str(tests), "failures": str(failures), "errors": str(errors)}
    return ElementTree.SubElement(root, "testsuite", {"name": _clean(name), **counts})


def _clean(text: str) -> str:
    """`text` without the characters that XML 1.0 forbids."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
