"""A snippet checked in process: where a rule stands, and where it should."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from distlint.cli import main


def lines_of(code: str, tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> list[int]:
    """The lines of the findings of one rule in a script."""
    script = tmp_path / "script.py"
    script.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["check", "--no-cache", "--select", code, "--output-format", "json", str(script)])
    found = json.loads(capsys.readouterr().out)["findings"]
    return [finding["line"] for finding in found]


def marked(text: str) -> list[int]:
    """The lines that end in the mark `# here`."""
    return [n for n, line in enumerate(text.splitlines(), 1) if line.endswith("# here")]


def findings_in(
    code: str, tmp_path: Path, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> list[tuple[str, int]]:
    """The files and lines of the findings of one rule in a project."""
    found = _found(code, tmp_path, files, capsys)
    return [(Path(finding["path"]).name, finding["line"]) for finding in found]


def offers_in(
    code: str, tmp_path: Path, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> list[tuple[str, int, str]]:
    """The files and lines of what one rule would fix in a project, with what its fixes may do."""
    found = _found(code, tmp_path, files, capsys)
    return [(Path(f["path"]).name, f["line"], f["fix"]["applicability"]) for f in found if f["fix"]]


def severities_in(
    code: str, tmp_path: Path, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> list[str]:
    """The severities of the findings of one rule in a project of files by their names."""
    return [finding["severity"] for finding in _found(code, tmp_path, files, capsys)]


def evidence_in(
    code: str, tmp_path: Path, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> list[list[tuple[str, int]]]:
    """Of each finding of one rule in a project, what its further places say, and their lines."""
    return [
        [(place["message"], place["line"]) for place in finding["related"]]
        for finding in _found(code, tmp_path, files, capsys)
    ]


def messages_in(
    code: str, tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    """What the findings of one rule in a script say."""
    return [f["message"] for f in _found(code, tmp_path, {"script.py": text}, capsys)]


def _found(
    code: str, tmp_path: Path, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> list[dict[str, Any]]:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    arguments = ["--no-cache", "--preview", "--select", code, "--output-format", "json"]
    with pytest.raises(SystemExit):
        main(["check", *arguments, str(tmp_path)])
    findings: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["findings"]
    return findings


def severities(tmp_path: Path, code: str, *texts: str) -> list[str]:
    """The severities of the findings of one rule in a project of files that are called `file_0`, `file_1` …"""
    for number, text in enumerate(texts):
        (tmp_path / f"file_{number}.py").write_text(text, encoding="utf-8")
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with redirect_stdout(out), pytest.raises(SystemExit):
        main(["check", "--no-cache", "--select", code, "--output-format", "json", str(tmp_path)])
    return [finding["severity"] for finding in json.loads(out.detach().getvalue())["findings"]]
