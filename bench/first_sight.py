"""Prints the tables of docs/precision.md on first sight, from the rows that were judged by hand.

    python bench/first_sight.py [bench/judged.jsonl]
    python bench/first_sight.py --by-record 0.7 [bench/judged.jsonl]
    python bench/first_sight.py --by-launch [bench/judged.jsonl]

With `--edits` it prints what judges said of the edits, where the finding was true and where it was not.

With `--by-record` it prints what each wave would have shown if a rule had been hidden whose share of true findings was
below the number in all waves before it (one rule in one repository counts once; from the third repository on): whether the
record of a rule says how it will do in code that nobody has read.

With `--by-launch` it parts the findings of waves 27 to 35 on files that all ranks write, fetch, make or remove (DL301,
DL303, DL304, DL305) whose evidence of several ranks was code that works in one process, too: those where a launch beside
the code started a file that leads there on several processes (`launched`), and the others. What makes the group, spawns
the ranks or is such a launch itself is no such evidence, and its rows have no `launched`.

A row is a finding as it was reported (it has a `severity`, and `preview` where its rule was in preview then), an edit at a place without one, or a defect that a
blind reader wrote down (it has a `grade`). `truth` is "bug", "correct" or "unclear"; `edit` what the judge said of the fix that was offered.
A defect counts as reported where `reported_before` is true; only families that had a rule then are counted.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import click

EDITS = ("right", "ugly", "needless", "wrong")
Row = dict[str, Any]


def share(rows: list[Row], severity: str, *, preview: bool = True) -> str:
    """How many findings of a severity are true, of those that are true or false; of stable rules alone without `preview`."""
    decided = [
        r
        for r in rows
        if r["severity"] == severity and r["truth"] != "unclear" and (preview or "preview" not in r)
    ]
    return true_of(decided)


def reported(rows: list[Row], grade: str) -> str:
    """How many defects of a grade were reported, of those whose family had rules."""
    asked = [r for r in rows if r["grade"] == grade and r["has_rule"] and r["truth"] == "bug"]
    found = sum(bool(r["reported_before"]) for r in asked)
    return f"{found} of {len(asked)} ({found / len(asked):.0%})" if asked else "–"


def counted(by_rule: Counter[tuple[str, int, str]], code: str, waves: list[int]) -> str:
    """The true, false and unclear findings of a rule in some waves."""
    truths = ("bug", "correct", "unclear")
    return ", ".join(str(sum(by_rule[code, wave, truth] for wave in waves)) for truth in truths)


def record(rows: list[Row]) -> dict[str, tuple[float, int]]:
    """The mean share of true findings of each rule over repositories, and how many those are."""
    places: dict[tuple[str, int, str], list[bool]] = {}
    for row in rows:
        places.setdefault((row["code"], row["wave"], row["repo"]), []).append(row["truth"] == "bug")
    shares: dict[str, list[float]] = {}
    for (code, _, _), true in places.items():
        shares.setdefault(code, []).append(sum(true) / len(true))
    return {code: (sum(each) / len(each), len(each)) for code, each in shares.items()}


def by_record(rows: list[Row], least: float) -> None:
    """Print what would have been shown in each wave by the record of the waves before it, beside what was."""
    findings = [r for r in rows if r.get("severity") and r["truth"] != "unclear"]
    seen: list[int] = list(dict.fromkeys(r["wave"] for r in findings))
    print("| wave | shown by default | shown by the record |")
    kept: list[Row] = []
    shown: list[Row] = []
    for number, wave in enumerate(seen):
        here = [r for r in findings if r["wave"] == wave]
        before = record([r for r in findings if r["wave"] in seen[:number]])
        if not any("preview" in r for r in here):  # before there was anything to hide
            continue
        stable = [r for r in here if "preview" not in r]
        by = [
            r
            for r in here
            if (
                before[r["code"]][0] >= least
                if before.get(r["code"], (0.0, 0))[1] >= 3
                else "preview" not in r
            )
        ]
        shown += stable
        kept += by
        print("|", wave, "|", true_of(stable), "|", true_of(by), "|")
    print("| all |", true_of(shown), "|", true_of(kept), "|")


def by_launch(rows: list[Row]) -> None:
    """Print what was true of the findings whose evidence works in one process, too, with a launch and without."""
    print(
        "| a launch of several processes | true | repositories with true ones | with false ones |"
    )
    for name, launched in (("beside the code", True), ("not there", False)):
        here = [r for r in rows if r.get("launched") is launched]
        where = [{r["repo"] for r in here if r["truth"] == truth} for truth in ("bug", "correct")]
        print("|", name, "|", true_of(here), "|", " | ".join(str(len(each)) for each in where), "|")


def true_of(rows: list[Row]) -> str:
    """How many of these findings are true."""
    true = sum(r["truth"] == "bug" for r in rows)
    return f"{true} of {len(rows)} ({true / len(rows):.0%})" if rows else "–"


def edits_offered(rows: list[Row]) -> None:
    """Print what judges said of the edits of each wave, where the finding was true and where it was not."""
    print("| wave | edits where the finding was true | where it was not |")
    edits = [r for r in rows if r.get("edit") in EDITS]
    waves = sorted({r["wave"] for r in edits})
    for name, inside in (*((str(w), {w}) for w in waves), ("all", set(waves))):
        counts = Counter((r["truth"] == "bug", r["edit"]) for r in edits if r["wave"] in inside)
        told = (", ".join(f"{counts[true, e]} {e}" for e in EDITS) for true in (True, False))
        print("|", name, "|", " | ".join(told), "|")


@click.command(help=__doc__, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument(
    "judged",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    default=Path(__file__).with_name("judged.jsonl"),
)
@click.option("--by-record", "least", type=click.FloatRange(0, 1), metavar="SHARE")
@click.option("--by-launch", "launches", is_flag=True)
@click.option("--edits", "edits_alone", is_flag=True)
def main(judged: Path, *, least: float | None, launches: bool, edits_alone: bool) -> None:
    """Print a row for each wave, then findings by rule."""
    rows: list[Row] = [json.loads(line) for line in judged.read_text().splitlines() if line.strip()]
    if least is not None:
        by_record(rows, least)
    elif launches:
        by_launch(rows)
    elif edits_alone:
        edits_offered(rows)
    else:
        by_wave(rows)


def by_wave(rows: list[Row]) -> None:
    """Print a row for each wave, then findings by rule."""
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
