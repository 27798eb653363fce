"""Formats: each of them, made from one report, read back by what reads it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from distlint.findings import (
    Applicability,
    Finding,
    Fix,
    Place,
    Related,
    Severity,
    Witness,
    WitnessStep,
)
from distlint.project.files import Problem
from distlint.reporting import concise, github, gitlab, junit, sarif
from distlint.reporting import json as json_format
from distlint.reporting.frames import Mark, frame
from distlint.reporting.report import Report, Reported, Texts
from distlint.reporting.style import Style
from distlint.reporting.text import Layout, render

TRAIN = """\
def save_checkpoint(model, größe, path):
    rank = dist.get_rank()
    if rank != 0:
        return
    torch.save(model.state_dict(), path)



    größe; dist.barrier()
"""
OTHER = "def main():\n\tsave_checkpoint(model, 3, path)\n"


def place(line: int, text: str, path: str = "train.py", source: str = TRAIN) -> Place:
    code = source.split("\n")[line - 1]
    column = len(code[: code.index(text)].encode())
    return Place(path, line, column, line, column + len(text.encode()))


def step(line: int, text: str, says: str = "", path: str = "train.py") -> WitnessStep:
    return WitnessStep(Place(path, line, 4, line, 8), f"{text} {says}".strip())


@pytest.fixture
def report() -> Report:
    guard = Related(place(3, "rank != 0"), "the other ranks return here")
    call = Related(place(2, "save_checkpoint", "other.py", OTHER), "called here")
    deadlock = Finding(
        "DL101",
        "collective-not-on-all-ranks",
        Severity.ERROR,
        "Rank 0 waits in `barrier()`; the other ranks returned at line 4. Move it, 100%.",
        place(9, "dist.barrier()"),
        (guard, call),
        Fix(Applicability.SAFE, "Move the barrier in front of the guard"),
    )
    save = Finding(
        "DL301",
        "unguarded-save",
        Severity.WARNING,
        "Every rank writes `path`.",
        place(5, "torch.save(model.state_dict(), path)"),
        fix=Fix(Applicability.DISPLAY, "Call save() on all ranks"),
    )
    texts = Texts({"train.py": TRAIN, "other.py": OTHER})
    return Report(
        findings=[Reported(save, "f1"), Reported(deadlock, "f2")],
        problems=[Problem("gone.py", "no such file or folder")],
        files=2,
        texts=texts,
    )


@pytest.fixture
def witnessed(report: Report) -> Report:
    finding = report.findings[1].finding
    witness = Witness(
        (
            (
                "rank 0",
                (step(3, "if rank != 0", "→ goes on"), step(9, "dist.barrier()", "← waits")),
            ),
            (
                "other ranks",
                (
                    step(3, "if rank != 0", "→ return"),
                    step(2, "(end of save_checkpoint)", path="other.py"),
                ),
            ),
        ),
        (step(2, "save_checkpoint()", path="other.py"),),
    )
    new = Finding(
        finding.code,
        finding.name,
        finding.severity,
        finding.message,
        finding.place,
        finding.related,
        witness=witness,
    )
    report.findings[1] = Reported(new, "f2")
    return report


def test_json_is_the_promised_object(report: Report) -> None:
    report.notes.append("a file was left out")
    document = json.loads(json_format.render(report))
    save, deadlock = document.pop("findings")
    assert document == {
        "version": 1,
        "problems": [{"path": "gone.py", "message": "no such file or folder"}],
        "notes": ["a file was left out"],
        "given_up": [],
    }
    assert deadlock == {
        "code": "DL101",
        "name": "collective-not-on-all-ranks",
        "severity": "error",
        "message": report.findings[1].finding.message,
        "path": "train.py",
        "line": 9,
        "column": 12,
        "end_line": 9,
        "end_column": 26,
        "fix": {"applicability": "safe", "message": "Move the barrier in front of the guard"},
        "related": [
            {"path": "train.py", "line": 3, "column": 8, "message": "the other ranks return here"},
            {"path": "other.py", "line": 2, "column": 2, "message": "called here"},
        ],
        "fingerprint": "f2",
    }
    assert save["fix"]["applicability"] == "display"


def test_json_holds_the_witness(witnessed: Report) -> None:
    _, deadlock = json.loads(json_format.render(witnessed))["findings"]
    first, second = deadlock["witness"]["classes"]
    assert first["ranks"] == "rank 0"
    assert first["trace"][1] == {
        "path": "train.py",
        "line": 9,
        "column": 5,
        "text": "dist.barrier() ← waits",
    }
    assert second["trace"][1]["path"] == "other.py"
    assert [call["line"] for call in deadlock["witness"]["chain"]] == [2]


def test_text_shows_frame_related_places_fix_and_summary(report: Report) -> None:
    text = render(report, Layout(Style(), 100))
    assert "train.py:9:12: error DL101 collective-not-on-all-ranks [fix]" in text
    assert "train.py:5:5: warning DL301 unguarded-save\n" in text
    assert "3 │     if rank != 0:\n    │        --------- the other ranks return here" in text
    assert "9 │     größe; dist.barrier()\n    │            ^^^^^^^^^^^^^^" in text
    assert "⋮" in text
    assert "other.py:2:2" in text
    assert "2 │     save_checkpoint(model, 3, path)\n    │     --------------- called here" in text
    assert "fix: Move the barrier in front of the guard" in text
    assert "to do: Call save() on all ranks" in text
    assert text.endswith(
        "Found 1 error and 1 warning (2 files checked).\n1 fixable with `distlint fix --apply`.\n"
        "Why, and what to write instead: `distlint explain DL101`."
    )


def test_text_shows_the_witness_side_by_side(witnessed: Report) -> None:
    lines = render(witnessed, Layout(Style(), 100)).split("\n")
    (head,) = [line for line in lines if "rank 0  " in line and "other ranks" in line]
    (same,) = [line for line in lines if "goes on" in line]
    assert "→ return" in same
    assert head.index("other ranks") == same.rindex("if rank != 0")
    (parted,) = [line for line in lines if "← waits" in line]
    assert "end of" in parted
    assert any("calls: save_checkpoint() (other.py:2)" in line for line in lines)


@pytest.mark.parametrize("width", [40, 80, 140])
def test_text_keeps_to_its_width(witnessed: Report, width: int) -> None:
    witnessed.findings.append(
        Reported(
            Finding("DL1", "n", Severity.ERROR, "m " * 90, Place("long.py", 1, 90_000, 1, 90_004)),
            "f3",
        )
    )
    witnessed.texts.add("long.py", "x = '" + "模" * 100_000 + "'")
    text = render(witnessed, Layout(Style(), width))
    frames = [line for line in text.split("\n") if "│" in line]
    assert frames
    for line in frames:
        wide = sum(2 if char == "模" else 1 for char in line)
        assert wide <= width


@pytest.mark.parametrize("width", [40, 80, 140])
def test_long_names_do_not_push_the_column_beside_them(witnessed: Report, width: int) -> None:
    finding = witnessed.findings[1].finding
    assert finding.witness is not None
    (one, steps), other = finding.witness.columns
    name = "trainer.strategy.distributed_backend.wait_for_everyone_else_and_then_return"
    columns = ((one, (steps[0], step(9, f"{name}(...)"))), other)
    witnessed.findings = [Reported(replace(finding, witness=Witness(columns)), "f2")]
    lines = render(witnessed, Layout(Style(), width)).split("\n")
    first = next(number for number, line in enumerate(lines) if one in line)
    start = lines[first].index("other ranks")
    table = lines[first : lines.index("", first)]
    assert name in "".join(line[:start].strip() for line in table).replace(" ", "")
    assert any(line[start:].startswith("(end of") for line in table)
    assert all(line[start - 1 : start] in ("", " ") for line in table)


@pytest.mark.parametrize("width", range(44, 80, 3))
def test_an_arrow_stays_with_what_it_points_to(witnessed: Report, width: int) -> None:
    text = render(witnessed, Layout(Style(), width))
    assert "← waits" in text
    assert "→ return" in text
    assert "→ goes" in text


def test_without_unicode_the_frame_is_ascii(report: Report) -> None:
    text = render(report, Layout(Style(unicode=False), 100))
    assert "|" in text
    assert text.replace("ö", "o").replace("ß", "s").isascii()


def test_colors_are_only_added(report: Report) -> None:
    plain = render(report, Layout(Style(), 100))
    painted = render(report, Layout(Style(color=True), 100))
    assert "\x1b[1;31m" in painted
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == plain


def test_control_characters_of_a_file_do_not_reach_the_terminal() -> None:
    finding = Finding("DL1", "n", Severity.ERROR, "m", Place("a.py", 1, 0, 1, 1))
    report = Report([Reported(finding, "f")], texts=Texts({"a.py": "x = '\x1b[2J'"}))
    assert "\x1b" not in render(report, Layout(Style(), 80))


def test_clean_and_incomplete_summaries() -> None:
    assert render(Report(files=3), Layout(Style(), 80)) == "No findings (3 files checked)."
    text = render(Report(files=1, problems=[Problem("a", "b")]), Layout(Style(), 80))
    assert "in what could be checked (1 file checked)" in text


def test_sarif(witnessed: Report) -> None:
    document = json.loads(sarif.render(witnessed))
    (run,) = document["runs"]
    assert document["version"] == "2.1.0"
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["invocations"][0]["executionSuccessful"] is False
    result = run["results"][1]
    assert result["locations"][0]["physicalLocation"]["region"] == {
        "startLine": 9,
        "startColumn": 12,
        "endLine": 9,
        "endColumn": 26,
    }
    assert [flow["id"] for flow in result["codeFlows"][0]["threadFlows"]] == [
        "rank 0",
        "other ranks",
    ]
    for row in run["results"]:
        if "ruleIndex" in row:
            assert run["tool"]["driver"]["rules"][row["ruleIndex"]]["id"] == row["ruleId"]


def test_github_escapes(report: Report) -> None:
    lines = github.render(report).split("\n")
    assert len(lines) == 2
    assert lines[0].startswith("::warning file=train.py,line=5,endLine=5,title=DL301")
    assert lines[1].startswith("::error file=train.py,line=9,")
    assert lines[1].endswith("Move it, 100%25.")


def test_gitlab(report: Report) -> None:
    rows = json.loads(gitlab.render(report))
    assert [row["severity"] for row in rows] == ["major", "critical"]
    assert rows[1]["location"] == {"path": "train.py", "lines": {"begin": 9, "end": 9}}
    assert len({row["fingerprint"] for row in rows}) == 2


def test_junit(report: Report) -> None:
    root = ElementTree.fromstring(junit.render(report))
    assert [suite.get("failures") for suite in root] == ["2", "0"]
    assert root.find(".//failure[@type='error']") is not None
    assert root.find(".//error") is not None
    clean = ElementTree.fromstring(junit.render(Report(files=1)))
    assert [case.get("name") for case in clean.iter("testcase")] == ["no findings"]


def test_junit_survives_what_xml_forbids() -> None:
    finding = Finding("DL1", "n", Severity.ERROR, "a\x00b\x1b", Place("a.py", 1, 0, 1, 1))
    report = Report([Reported(finding, "f")], texts=Texts({"a.py": "x"}))
    ElementTree.fromstring(junit.render(report))


def test_a_vanished_file_has_no_frame(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone.py")
    finding = Finding("DL1", "n", Severity.ERROR, "m", Place(gone, 7, 3, 7, 9))
    report = Report([Reported(finding, "f")], files=1)
    assert f"{gone}:7:1: error DL1 n" in render(report, Layout(Style(), 80))


def test_a_sentence_is_said_once(report: Report) -> None:
    finding = replace(
        report.findings[0].finding,
        message="Every rank writes `path`. Call `save` on all ranks.",
        fix=Fix(Applicability.SAFE, "Call `save` on all ranks"),
    )
    report.findings = [Reported(finding, "f1")]
    text = render(report, Layout(Style(), 100))
    assert text.count("Call `save` on all ranks") == 1
    assert "\n  Every rank writes `path`.\n" in text
    assert "\n  fix: Call `save` on all ranks\n" in text


def test_concise_is_one_line_for_each_finding(report: Report) -> None:
    report.texts.add("train.py", TRAIN)
    lines = concise.render(report, Style()).split("\n")
    assert lines[:2] == [
        "train.py:5:5: warning DL301 unguarded-save: Every rank writes `path`.",
        "train.py:9:12: error DL101 collective-not-on-all-ranks [fix]: "
        + report.findings[1].finding.message,
    ]
    assert lines[2].startswith("Found 1 error and 1 warning")
    assert concise.render(report, Style(), quiet=True).split("\n") == lines[:2]


@pytest.mark.parametrize(
    ("codes", "problems", "wanted"),
    [
        ([], [], 0),
        (["DL101"], [], 1),
        (["DL902"], [], 2),
        (["DL101", "DL902"], [], 2),
        ([], [Problem("gone.py", "no such file or folder")], 2),
    ],
)
def test_exit_code(codes: list[str], problems: list[Problem], wanted: int) -> None:
    """1 for findings, 2 where something could not be done: also a file that does not parse."""
    found = [Finding(c, "name", Severity.ERROR, "text", Place("a.py", 1, 0, 1, 1)) for c in codes]
    report = Report(findings=[Reported(f, "f") for f in found], problems=problems)
    assert report.exit_code() == wanted


def test_github_takes_columns_within_one_line_only() -> None:
    finding = Finding("DL301", "name", Severity.ERROR, "text", Place("a,b.py", 1, 0, 2, 1))
    report = Report(findings=[Reported(finding, "f")], texts=Texts({"a,b.py": "x(\n)\n"}))
    assert github.render(report) == (
        "::error file=a%2Cb.py,line=1,endLine=2,title=DL301 name::a,b.py:1:1: DL301 Text"
    )


def test_a_path_is_an_uri_in_sarif(report: Report) -> None:
    finding = report.findings[1].finding
    report.findings = [
        Reported(replace(finding, place=replace(finding.place, path="my runs/größe#1.py")), "f1")
    ]
    ((result,),) = (run["results"] for run in json.loads(sarif.render(report))["runs"])
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact["uri"] == "my%20runs/gr%C3%B6%C3%9Fe%231.py"


def test_gitlab_marks_all_lines_of_a_finding(report: Report) -> None:
    finding = report.findings[0].finding
    report.findings = [Reported(replace(finding, place=replace(finding.place, end_line=7)), "f1")]
    (row,) = json.loads(gitlab.render(report))
    assert row["location"]["lines"] == {"begin": 5, "end": 7}


def test_the_most_frequent_rule_comes_first_in_the_statistics(report: Report) -> None:
    save, deadlock = report.findings
    report.findings = [save, deadlock, deadlock]
    assert [(code, count) for code, _, count in report.statistics()] == [("DL101", 2), ("DL301", 1)]
    report.findings = [deadlock, save]
    assert [code for code, _, _ in report.statistics()] == ["DL101", "DL301"]


FRAMED = "\n".join(f"line_{number}()" for number in range(1, 21)) + "\n"


def framed(*lines: int) -> list[str]:
    """The numbers and marks of a frame around these lines, of which the first is the finding's."""
    texts = Texts({"a.py": FRAMED})
    marks = [Mark(Place("a.py", line, 0, line, 5), primary=line == lines[0]) for line in lines]
    return [row.split()[0] for row in frame(marks, texts, Style(False, True), 80)]


def test_lines_between_near_places_are_shown() -> None:
    assert framed(10, 14) == ["9", "10", "│", "11", "12", "13", "14", "│"]
    assert framed(10, 15) == ["9", "10", "│", "11", "⋮", "15", "│"]


def test_an_empty_place_is_marked() -> None:
    marks = [Mark(Place("a.py", 3, 4, 3, 4), primary=True)]
    rows = frame(marks, Texts({"a.py": FRAMED}), Style(False, True), 80)
    assert [row.partition("^")[1] for row in rows].count("^") == 1
