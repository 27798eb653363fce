"""Prints the tables of docs/precision.md on first sight, from the rows that were judged by hand.

    python bench/first_sight.py [bench/judged.jsonl]

A row is a finding as it was reported (it has a `severity`, and `preview` where its rule was in preview then), an edit at a place without one, or a defect that a
blind reader wrote down (it has a `grade`). `truth` is "bug", "correct" or "unclear"; `edit` what the judge said of the fix that was offered.
A defect counts as reported where `reported_before` is true; only families that had a rule then are counted.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

EDITS = ("right", "ugly", "needless", "wrong")
Row = dict[str, Any]


def share(rows: list[Row], severity: str, *, preview: bool = True) -> str:
    """How many findings of a severity are true, of those that are true or false; of stable rules alone without `preview`."""
    decided = [
        r
        for r in rows
        if r["severity"] == severity and r["truth"] != "unclear" and (preview or "preview" not in r)
    ]
    true = sum(r["truth"] == "bug" for r in decided)
    return f"{true} of {len(decided)} ({true / len(decided):.0%})" if decided else "–"


def reported(rows: list[Row], grade: str) -> str:
    """How many defects of a grade were reported, of those whose family had rules."""
    asked = [r for r in rows if r["grade"] == grade and r["has_rule"] and r["truth"] == "bug"]
    found = sum(bool(r["reported_before"]) for r in asked)
    return f"{found} of {len(asked)} ({found / len(asked):.0%})" if asked else "–"


def counted(by_rule: Counter[tuple[str, int, str]], code: str, waves: list[int]) -> str:
    """The true, false and unclear findings of a rule in some waves."""
    truths = ("bug", "correct", "unclear")
    return ", ".join(str(sum(by_rule[code, wave, truth] for wave in waves)) for truth in truths)


def main() -> None:
    """Print a row for each wave, then findings by rule."""
    path = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("judged.jsonl"))
    rows: list[Row] = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    waves = sorted({r["wave"] for r in rows})
    print(
        "| wave | findings | true | false | unclear | errors true | warnings true | "
        "errors by default | warnings by default | A | B | edits |"
    )
    by_rule: Counter[tuple[str, int, str]] = Counter()
    for wave in waves:
        findings = [r for r in rows if r["wave"] == wave and r.get("severity")]
        defects = [r for r in rows if r["wave"] == wave and "grade" in r]
        truths = Counter(r["truth"] for r in findings)
        edits = Counter(r["edit"] for r in rows if r["wave"] == wave and "edit" in r)
        by_rule.update((r["code"], wave, r["truth"]) for r in findings)
        cells = (
            wave, len(findings), truths["bug"], truths["correct"], truths["unclear"],
            share(findings, "error"), share(findings, "warning"),
            share(findings, "error", preview=False), share(findings, "warning", preview=False),
            reported(defects, "A"), reported(defects, "B"),
            ", ".join(f"{edits[e]} {e}" for e in EDITS),
        )  # fmt: skip
        print("|", " | ".join(map(str, cells)), "|")
    print("\n| rule | all waves: true, false, unclear | the last three |")
    for code in sorted({code for code, _, _ in by_rule}):
        print(
            f"| {code} |",
            counted(by_rule, code, waves),
            "|",
            counted(by_rule, code, waves[-3:]),
            "|",
        )


if __name__ == "__main__":
    main()
