"""`--output-format sarif`: SARIF 2.1.0, which code scanning services read."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import distlint
from distlint.findings import Place, Severity, WitnessStep
from distlint.reporting.report import Report, Reported, Texts
from distlint.rule import load_rules

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render(report: Report) -> str:
    """`report` as one SARIF run. A witness becomes a code flow with one thread for each rank class.

    Source: the OASIS standard "Static Analysis Results Interchange Format Version 2.1.0".
    """
    codes = sorted({row.finding.code for row in report.findings})
    rules = load_rules() if codes else {}
    descriptors = [
        {
            "id": code,
            "name": rules[code].name,
            "shortDescription": {"text": rules[code].summary},
            "fullDescription": {"text": rules[code].summary},
            "help": {"text": rules[code].page, "markdown": rules[code].page},
            "defaultConfiguration": {"level": _LEVELS[rules[code].severity]},
        }
        for code in codes
        if code in rules
    ]
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
                ],
            }
        ],
        "results": [_result(row, index, report.texts) for row in report.findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _result(row: Reported, index: dict[Any, int], texts: Texts) -> dict[str, Any]:
    finding = row.finding
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [_location(finding.place, texts)],
    }
    if finding.code in index:
        result["ruleIndex"] = index[finding.code]
    if row.fingerprint:
        result["partialFingerprints"] = {"distlint/v1": row.fingerprint}
    if finding.related:
        result["relatedLocations"] = [
            {"id": number, **_location(related.place, texts), "message": {"text": related.message}}
            for number, related in enumerate(finding.related, 1)
        ]
    if finding.fix is not None:
        result["properties"] = {
            "fix": {
                "applicability": finding.fix.applicability.value,
                "message": finding.fix.message,
            }
        }
    if finding.witness is not None:
        threads = [
            {"id": name, "locations": [_step(step, texts) for step in steps]}
            for name, steps in finding.witness.columns
            if steps
        ]
        if threads:
            result["codeFlows"] = [{"threadFlows": threads}]
    return result


def _location(place: Place, texts: Texts) -> dict[str, Any]:
    column, end_column = texts.columns(place)
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(place.path)},
            "region": {
                "startLine": place.line,
                "startColumn": column,
                "endLine": place.end_line,
                "endColumn": end_column,
            },
        }
    }


def _step(step: WitnessStep, texts: Texts) -> dict[str, Any]:
    return {"location": {**_location(step.place, texts), "message": {"text": step.text}}}
