"""`distlint check`: exit codes, selection, suppressions, settings, baseline, standard input."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Program


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path = path.with_name(path.name + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def codes(out: str) -> list[str]:
    return [row["code"] for row in rows(out)]


def rows(out: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(out)["findings"]
    return found


def test_clean_is_0_findings_are_1(distlint: Program, tmp_path: Path) -> None:
    write(tmp_path, a="x = 1\n")
    clean = distlint("check")
    assert (clean.code, clean.out) == (0, "No findings (1 file checked).\n")
    write(tmp_path, a="x = wrong\n")
    found = distlint("check", ".")
    assert found.code == 1
    assert found.out.startswith("a.py:1:5: error HOUSE001 wrong-name [fix]\n")
    assert distlint("check", "--exit-zero").code == 0


def test_paths_are_relative_to_where_it_runs(distlint: Program, tmp_path: Path) -> None:
    write(tmp_path, pkg__a="wrong\n", other__b="wrong\n")
    result = distlint("check", "a.py", "../other", "--output-format", "json", cwd=tmp_path / "pkg")
    assert [row["path"] for row in rows(result.out)] == ["../other/b.py", "a.py"]


def test_missing_path_is_2_and_the_rest_goes_on(distlint: Program, tmp_path: Path) -> None:
    write(tmp_path, a="wrong\n")
    result = distlint("check", "gone.py", "a.py")
    assert result.code == 2
    assert "gone.py: no such file or folder" in result.err
    assert "HOUSE001" in result.out
    assert distlint("check", "gone.py", "--exit-zero").code == 2


def test_every_bad_input_is_one_line_and_the_rest_goes_on(
    distlint: Program, tmp_path: Path
) -> None:
    write(tmp_path, good="wrong\n", syntax="def f(:\n", deep="x = " + "(" * 3000 + ")" * 3000)
    (tmp_path / "nul.py").write_bytes(b"x = '\0'\n")
    (tmp_path / "latin.py").write_bytes(b"x = '\xe9'\n")
    (tmp_path / "cookie.py").write_bytes(b"# coding: latin-1\nwrong; x = '\xe9'\n")
    (tmp_path / "crlf.py").write_bytes(b"x = 1\r\nwrong\r\n")
    (tmp_path / "bom.py").write_bytes(b"\xef\xbb\xbfwrong\n")
    (tmp_path / "long.py").write_text("x = '" + "a" * 200_000 + "'; wrong\n")
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "empty").mkdir()
    (tmp_path / "p.py").symlink_to(tmp_path / "q.py")
    (tmp_path / "q.py").symlink_to(tmp_path / "p.py")
    result = distlint("check", ".", "p.py", "empty", "notes.txt", "--output-format", "json")
    assert result.code == 2
    unreadable = {row["path"] for row in rows(result.out) if row["code"] == "DL900"}
    assert unreadable == {"syntax.py", "deep.py", "nul.py", "latin.py"}
    found = {row["path"]: row["column"] for row in rows(result.out) if row["code"] == "HOUSE001"}
    assert found == {
        "good.py": 1,
        "cookie.py": 1,
        "crlf.py": 1,
        "bom.py": 1,
        "long.py": 200_009,
    }
    problems = result.err.strip().split("\n")
    assert len(problems) == 3
    assert {line.split(": ")[1] for line in problems} == {"p.py", "empty", "notes.txt"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(distlint: Program, tmp_path: Path) -> None:
    write(tmp_path, a="wrong\n", b="wrong\n")
    (tmp_path / "a.py").chmod(0)
    result = distlint("check")
    assert result.code == 2
    assert "a.py: cannot be read: permission denied" in result.err
    assert "b.py:1:1" in result.out


def test_a_crashing_rule_names_itself_and_the_file(distlint: Program, tmp_path: Path) -> None:
    write(tmp_path, a="wrong\n", b="crash_me\n")
    result = distlint("check")
    assert result.code == 2
    assert "b.py: rule HOUSE005 (crashing-rule) failed: KeyError: 'crash_me'" in result.err
    assert "a.py:1:1: error HOUSE001" in result.out


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], {"HOUSE001", "HOUSE002"}),
        (["--select", "HOUSE001"], {"HOUSE001"}),
        (["--select", "wrong-name,risky-name"], {"HOUSE001", "HOUSE002"}),
        (["--select", "house", "--ignore", "HOUSE001"], {"HOUSE002", "HOUSE003", "HOUSE004"}),
        (["--ignore", "HOUSE"], set()),
        (["--preview"], {"HOUSE001", "HOUSE002", "HOUSE004"}),
        (["--select", "ALL"], {"HOUSE001", "HOUSE002", "HOUSE003"}),
    ],
)
def test_selection(
    distlint: Program, tmp_path: Path, options: list[str], expected: set[str]
) -> None:
    write(tmp_path, a="wrong, risky, advised, novel\n")
    assert set(codes(distlint("check", "--output-format", "json", *options).out)) == expected


@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_unknown_rule_is_2_and_names_the_nearest(distlint: Program, option: str) -> None:
    result = distlint("check", option, "HOUSE00I")
    assert result.code == 2
    assert "did you mean `HOUSE00" in result.err


def test_suppressions(distlint: Program, tmp_path: Path) -> None:
    write(
        tmp_path,
        line="wrong  # distlint: ignore[HOUSE001]\n",
        name="wrong  # distlint: ignore[wrong-name]\n",
        above="# distlint: ignore[HOUSE]\nprint(\n    wrong,\n)\n",
        whole="x = 1\nwrong\n# distlint: file-ignore[HOUSE001]\n",
        blanket="wrong, risky  # distlint: ignore\n",
        noqa="wrong  # noqa: HOUSE001\nrisky  # noqa\n",
        other="wrong  # distlint: ignore[HOUSE002]\n",
    )
    result = distlint("check", "--output-format", "json", "--select", "ALL", "--preview")
    assert [(row["path"], row["code"]) for row in rows(result.out)] == [
        ("other.py", "HOUSE001"),
        ("other.py", "DL901"),
    ]


def test_an_idle_suppression_is_judged_only_where_its_rule_runs(
    distlint: Program, tmp_path: Path
) -> None:
    write(tmp_path, a="x = 1  # distlint: ignore[HOUSE001]\n")
    assert codes(distlint("check", "--output-format", "json").out) == ["DL901"]
    assert distlint("check", "--select", "HOUSE002,DL901").code == 0
    assert distlint("check", "--ignore", "DL901").code == 0


def test_settings_select_exclude_and_per_file_ignores(distlint: Program, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        "[tool.distlint]\nignore = ['HOUSE002']\nexclude = ['gen/']\noutput-format = 'json'\n"
        "[tool.distlint.per-file-ignores]\n'tests/*' = ['HOUSE001']\n"
    )
    write(tmp_path, a="wrong, risky\n", gen__b="wrong\n", tests__c="wrong\n")
    assert codes(distlint("check").out) == ["HOUSE001"]
    assert codes(distlint("check", "--select", "HOUSE002").out) == ["HOUSE002"]
    assert codes(distlint("check", "gen/b.py").out) == ["HOUSE001"]
    assert codes(distlint("check", "gen/b.py", "--force-exclude").out) == []
    assert codes(distlint("check", "--exclude", "a.py").out) == []


def test_bad_settings_stop_the_run(distlint: Program, tmp_path: Path) -> None:
    write(tmp_path, a="wrong\n")
    settings = tmp_path / "pyproject.toml"
    settings.write_text("[tool.distlint]\npreview = true\nselct = ['DL1']\n")
    result = distlint("check")
    assert result.code == 2
    assert result.out.startswith("pyproject.toml:3:1: error DL902 bad-setting\n")
    assert "did you mean `select`?" in result.out
    assert "HOUSE001" not in result.out
    settings.write_text("[tool.distlint]\nignore = ['HOUSE009']\n")
    result = distlint("check", "--output-format", "json", "--exit-zero")
    assert result.code == 2
    (row,) = rows(result.out)
    assert (row["code"], row["line"]) == ("DL902", 2)
    assert "did you mean `HOUSE00" in row["message"]


def test_standard_input_is_checked_as_the_named_file(distlint: Program, tmp_path: Path) -> None:
    write(tmp_path, pkg__a="x = 1\n", pkg__b="wrong\n")
    result = distlint(
        "check", "-", "--stdin-filename", "pkg/a.py", "--output-format", "json", stdin=b"\nwrong\n"
    )
    assert [(row["path"], row["line"]) for row in rows(result.out)] == [("pkg/a.py", 2)]
    unsaved = distlint("check", "-", stdin="é = wrong\n".encode())
    assert "stdin.py:1:5" in unsaved.out
    assert "é = wrong" in unsaved.out
    assert distlint("check", "--stdin-filename", "a.py").code == 2
    assert distlint("check", "-", "a.py").code == 2


def test_baseline_accepts_what_is_there_and_reports_what_is_new(
    distlint: Program, tmp_path: Path
) -> None:
    write(tmp_path, a="wrong\n")
    (tmp_path / "distlint.toml").write_text("baseline = 'accepted.json'\n")
    missing = distlint("check")
    assert missing.code == 2
    assert "--write-baseline" in missing.err
    written = distlint("check", "--write-baseline", "accepted.json")
    assert (written.code, written.out) == (0, "Wrote 1 finding to accepted.json.\n")
    clean = distlint("check")
    assert clean.code == 0
    assert "1 in the baseline" in clean.out
    write(tmp_path, a="\n\nif True:\n    wrong\nwrong\n")
    shifted = distlint("check", "--output-format", "json")
    assert [row["line"] for row in rows(shifted.out)] == [5]
    (tmp_path / "sub").mkdir()
    assert distlint("check", "../a.py", cwd=tmp_path / "sub").code == 1


def test_a_single_file_is_reported_alone(distlint: Program, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    write(tmp_path, pkg____init__="wrong\n", pkg__a="wrong\n", pkg__b="wrong\n")
    result = distlint("check", "pkg/a.py", "--output-format", "json")
    assert [row["path"] for row in rows(result.out)] == ["pkg/a.py"]


def test_colors_follow_the_environment(distlint: Program, tmp_path: Path) -> None:
    write(tmp_path, a="wrong\n")
    assert "\x1b[" not in distlint("check").out
    assert "\x1b[" in distlint("check", env={"FORCE_COLOR": "1"}).out
    assert "\x1b[" not in distlint("check", env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).out


def test_statistics(distlint: Program, tmp_path: Path) -> None:
    write(tmp_path, a="wrong\nwrong\nrisky\n")
    lines = distlint("check", "--statistics").out.split("\n")
    assert lines[:2] == ["2  HOUSE001  wrong-name", "1  HOUSE002  risky-name"]


def test_an_output_that_lacks_unicode_gets_escapes(in_process: Program, tmp_path: Path) -> None:
    write(tmp_path, a="模 = wrong\n")
    result = in_process("check", env={"PYTHONIOENCODING": "ascii"})
    assert result.code == 1
    assert "\\u6a21 = wrong" in result.out
    assert result.out.isascii()


def test_fingerprints_do_not_depend_on_what_is_named(distlint: Program, tmp_path: Path) -> None:
    write(tmp_path, pkg__a="wrong\n")
    names = {
        rows(distlint("check", path, "--output-format", "json").out)[0]["fingerprint"]
        for path in (".", "pkg", "pkg/a.py")
    }
    assert len(names) == 1


def test_a_script_does_not_pull_in_its_whole_directory_tree(
    distlint: Program, tmp_path: Path
) -> None:
    write(tmp_path, a="wrong\n", b="x = 1\n", elsewhere__c="x = (\n")
    result = distlint("check", "a.py", "--verbose")
    assert result.err == ""
    assert "(1 file checked)" in result.out


def test_concise_and_quiet_print_findings_alone(distlint: Program, tmp_path: Path) -> None:
    write(tmp_path, a="wrong\nrisky\n")
    concise = distlint("check", "--output-format", "concise", "--quiet")
    assert concise.out == (
        "a.py:1:1: error HOUSE001 wrong-name [fix]: All ranks see `wrong`.\n"
        "a.py:2:1: warning HOUSE002 risky-name [unsafe fix]: All ranks see `risky`.\n"
    )
    assert (concise.code, concise.err) == (1, "")
    assert "Found" not in distlint("check", "-q").out
    write(tmp_path, a="x = 1\n")
    assert distlint("check", "-q") == distlint("check", "-q", "--output-format", "concise")
    assert distlint("check", "-q").out == ""


def test_the_report_goes_into_a_file(distlint: Program, tmp_path: Path) -> None:
    write(tmp_path, a="wrong\n")
    result = distlint("check", "--output-format", "json", "--output-file", "report.json")
    assert (result.code, result.out.split("\n")[0]) == (1, "Found 1 error (1 file checked).")
    assert codes((tmp_path / "report.json").read_text()) == ["HOUSE001"]
    quiet = distlint("check", "--output-file", "report.txt", "-q", env={"FORCE_COLOR": "1"})
    assert quiet.out == ""
    assert (tmp_path / "report.txt").read_text().startswith("a.py:1:1: error HOUSE001")
    nowhere = distlint("check", "--output-file", "missing/report.txt")
    assert nowhere.code == 2
    assert "missing/report.txt: the report cannot be written: no such file" in nowhere.err


def test_extend_select_adds_to_what_runs(distlint: Program, tmp_path: Path) -> None:
    write(tmp_path, a="wrong, risky, advised, novel\n")
    (tmp_path / "distlint.toml").write_text("ignore = ['HOUSE002']\n")
    added = distlint("check", "--output-format", "json", "--extend-select", "HOUSE003,new-name")
    assert codes(added.out) == ["HOUSE001", "HOUSE003", "HOUSE004"]
    both = ("--select", "HOUSE002", "--extend-select", "HOUSE003")
    assert codes(distlint("check", "--output-format", "json", *both).out) == [
        "HOUSE002",
        "HOUSE003",
    ]
    assert "--extend-select: no rule" in distlint("check", "--extend-select", "HOUSE00I").err


def test_color_overrules_the_environment(distlint: Program, tmp_path: Path) -> None:
    write(tmp_path, a="wrong\n")
    assert "\x1b[" in distlint("check", "--color", "always", env={"NO_COLOR": "1"}).out
    assert "\x1b[" not in distlint("check", "--color", "never", env={"FORCE_COLOR": "1"}).out
    assert "\x1b[" in distlint("fix", "--color", "always").out
    assert "\x1b[" in distlint("rules", "--color", "always").out


def test_statistics_as_json(distlint: Program, tmp_path: Path) -> None:
    write(tmp_path, a="wrong\nwrong\nrisky\n")
    document = json.loads(distlint("check", "--statistics", "--output-format", "json").out)
    assert document["version"] == 1
    assert document["statistics"] == [
        {"code": "HOUSE001", "name": "wrong-name", "count": 2},
        {"code": "HOUSE002", "name": "risky-name", "count": 1},
    ]
    refused = distlint("check", "--statistics", "--output-format", "sarif")
    assert refused.code == 2
    assert "--statistics prints text or json, not sarif" in refused.err


def test_a_baseline_follows_renamed_files_and_says_what_is_stale(
    distlint: Program, tmp_path: Path
) -> None:
    write(tmp_path, pkg__a="wrong\nrisky\n", b="risky\n")
    (tmp_path / "distlint.toml").write_text("baseline = 'accepted.json'\n")
    distlint("check", "--write-baseline", "accepted.json")
    (tmp_path / "pkg/a.py").rename(tmp_path / "pkg/c.py")
    moved = distlint("check")
    assert (moved.code, moved.out) == (0, "No findings (2 files checked; 3 in the baseline).\n")
    write(tmp_path, pkg__c="wrong\n", b="x = 1\n", pkg__d="risky\n")
    changed = distlint("check")
    assert "pkg/d.py:1:1: warning HOUSE002" in changed.out
    assert "no longer there (b.py:1 HOUSE002, pkg/a.py:2 HOUSE002)" in changed.out
    assert "no longer there" not in distlint("check", "pkg/c.py").out
    assert "no longer there" not in distlint("check", "--select", "HOUSE001").out
    (note,) = json.loads(distlint("check", "--output-format", "json").out)["notes"]
    assert "b.py:1 HOUSE002" in note
    write(tmp_path, b="(\n")
    assert "no longer there" not in distlint("check").out, "nobody knows what is in b.py"


def test_a_baseline_names_files_from_the_root_wherever_it_is_written(
    distlint: Program, tmp_path: Path
) -> None:
    (tmp_path / "distlint.toml").write_text("baseline = 'accepted.json'\n")
    write(tmp_path, pkg__a="wrong\n")
    distlint("check", "--write-baseline", "../accepted.json", cwd=tmp_path / "pkg")
    (row,) = json.loads((tmp_path / "accepted.json").read_text())["findings"]
    assert row["path"] == "pkg/a.py"
    assert distlint("check").code == 0


@pytest.mark.parametrize(
    ("comment", "right"),
    [
        ("disable=HOUSE001", "ignore[HOUSE001]"),
        ("disable-next=wrong-name, HOUSE002", "ignore[wrong-name, HOUSE002]"),
        ("ignore=HOUSE001", "ignore[HOUSE001]"),
        ("ignore: HOUSE001", "ignore[HOUSE001]"),
        ("noqa(HOUSE001)", "ignore[HOUSE001]"),
        ("ignore-file[HOUSE001]", "file-ignore[HOUSE001]"),
    ],
)
def test_a_comment_in_the_words_of_other_linters_says_what_is_meant(
    distlint: Program, tmp_path: Path, comment: str, right: str
) -> None:
    write(tmp_path, a=f"wrong  # distlint: {comment}\n")
    found = rows(distlint("check", "--output-format", "json").out)
    assert [row["code"] for row in found] == ["HOUSE001", "DL901"]
    assert f"Write `# distlint: {right}`." in found[1]["message"]
    distlint("fix", "--apply", "--unsafe-fixes", "--select", "DL901")
    assert (tmp_path / "a.py").read_text() == f"wrong  # distlint: {right}\n"


def test_a_comment_of_other_linters_without_a_known_rule_has_no_fix(
    distlint: Program, tmp_path: Path
) -> None:
    write(tmp_path, a="wrong  # distlint: disable\n", b="wrong  # distlint: disable=W0611\n")
    found = rows(distlint("check", "--output-format", "json", "--select", "DL901").out)
    assert [row["fix"] for row in found] == [None, None]
    assert all("Write `# distlint: ignore[CODE]`." in row["message"] for row in found)
    write(tmp_path, a="x = 1  # distlint: this line is fine\n", b="")
    assert distlint("check").code == 0
