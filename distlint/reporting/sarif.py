"""`--output-format sarif`: SARIF 2.1.0, which code scanning services read."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import distlint
from distlint.findings import Applicability, Fix, Place, Severity, WitnessStep
from distlint.fixing.replacements import Changes, Replacement
from distlint.reporting.report import Report, Reported
from distlint.rule import Rule, load_rules

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_UNSAFE = " (unsafe: numbers, timing or files may change)"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render(report: Report) -> str:
    """`report` as one SARIF run. A witness becomes a code flow with one thread for each rank class.

    Source: the OASIS standard "Static Analysis Results Interchange Format Version 2.1.0".
    """
    codes = sorted({row.finding.code for row in report.findings})
    rules = load_rules() if codes else {}
    descriptors = [_descriptor(rules[code]) for code in codes if code in rules]
    index = {descriptor["id"]: number for number, descriptor in enumerate(descriptors)}
    run = {
        "tool": {
            "driver": {
                "name": "distlint",
                "semanticVersion": distlint.__version__,
                "rules": descriptors,
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not report.problems,
                "toolExecutionNotifications": [
                    {
                        "level": "error",
                        "message": {
                            "text": f"{problem.path}: {problem.reason}"
                            if problem.path
                            else problem.reason
                        },
                    }
                    for problem in report.problems
                ]
                + [
                    {"level": "note", "message": {"text": f"not compared to its end: {text}"}}
                    for text in report.given_up
                ],
            }
        ],
        "results": [_result(row, index, report) for row in report.findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _descriptor(rule: Rule) -> dict[str, Any]:
    result: dict[str, Any] = {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.summary},
        "help": {"text": rule.page, "markdown": rule.page},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }
    if rule.documentation:
        result["helpUri"] = f"{rule.documentation}#{rule.code}"
    return result


def _result(row: Reported, index: dict[Any, int], report: Report) -> dict[str, Any]:
    finding = row.finding
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [_location(finding.place, report)],
    }
    if finding.code in index:
        result["ruleIndex"] = index[finding.code]
    if row.fingerprint:
        result["partialFingerprints"] = {"distlint/v1": row.fingerprint}
    if finding.related:
        result["relatedLocations"] = [
            {"id": number, **_location(related.place, report), "message": {"text": related.message}}
            for number, related in enumerate(finding.related, 1)
        ]
    if finding.fix is not None:
        result["properties"] = {
            "fix": {
                "applicability": finding.fix.applicability.value,
                "message": finding.fix.message,
            }
        }
        if changes := report.changes.get(row.fingerprint):
            result["fixes"] = [_fix(finding.fix, changes, report)]
    if finding.witness is not None:
        threads = [
            {"id": name, "locations": [_step(step, report) for step in steps]}
            for name, steps in finding.witness.columns
            if steps
        ]
        if threads:
            result["codeFlows"] = [{"threadFlows": threads}]
    return result


def _fix(fix: Fix, changes: Changes, report: Report) -> dict[str, Any]:
    """One fix as ranges to delete and texts to put there, in each file."""
    unsafe = fix.applicability is Applicability.UNSAFE
    return {
        "description": {"text": fix.message + (_UNSAFE if unsafe else "")},
        "artifactChanges": [
            {
                "artifactLocation": _artifact(report.from_root(path)),
                "replacements": _replacements(pieces),
            }
            for path, pieces in changes.items()
        ],
    }


def _replacements(pieces: tuple[Replacement, ...]) -> list[dict[str, Any]]:
    return [
        {
            "deletedRegion": {
                "startLine": piece.line,
                "startColumn": piece.column,
                "endLine": piece.end_line,
                "endColumn": piece.end_column,
            },
            "insertedContent": {"text": piece.text},
        }
        for piece in pieces
    ]


def _artifact(path: str) -> dict[str, Any]:
    return {"uri": quote(path), "uriBaseId": "%SRCROOT%"}


def _location(place: Place, report: Report) -> dict[str, Any]:
    column, end_column = report.texts.columns(place)
    return {
        "physicalLocation": {
            "artifactLocation": _artifact(report.from_root(place.path)),
            "region": {
                "startLine": place.line,
                "startColumn": column,
                "endLine": place.end_line,
                "endColumn": end_column,
            },
        }
    }


def _step(step: WitnessStep, report: Report) -> dict[str, Any]:
    return {"location": {**_location(step.place, report), "message": {"text": step.text}}}
