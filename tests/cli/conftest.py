"""Running the program as a user does, with a package of house rules installed beside it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from distlint.cli import main

RULE = '''
"""{summary}"""
import ast
from distlint.findings import Applicability, Finding, Fix, Place, Severity
from distlint.edits import Replace, Span
from distlint.rule import Status

CODE, NAME = "{code}", "{name}"
SEVERITY, STATUS = Severity("{severity}"), Status("{status}")
LITERALS = (b"{word}",)

def check(model):
    for module in model.modules:
        source = module.source
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Name) and node.id == "{word}":
                {body}
'''
REPORT = """where = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
                fix = Fix(Applicability("{fix}"), "Write right", (Replace(Span(*where), "right"),))
                yield Finding(CODE, NAME, SEVERITY, "All ranks see `{word}`.",
                              Place(source.path, *where), fix=fix)"""
RULES = {
    # code: (name, severity, status, word, applicability of its fix)
    "HOUSE001": ("wrong-name", "error", "stable", "wrong", "safe"),
    "HOUSE002": ("risky-name", "warning", "stable", "risky", "unsafe"),
    "HOUSE003": ("advised-name", "info", "stable", "advised", "display"),
    "HOUSE004": ("new-name", "warning", "preview", "novel", "safe"),
    "HOUSE005": ("crashing-rule", "error", "stable", "crash_me", ""),
}

TERMINAL = ("NO_COLOR", "FORCE_COLOR", "COLUMNS")
"""Variables of the environment that change how text looks."""


@dataclass(frozen=True)
class Result:
    """What one run of the program left behind."""

    code: int
    out: str
    err: str


Program = Callable[..., Result]


@pytest.fixture(scope="session")
def house_rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory to put on the path: a package of rules, registered as third parties do."""
    root = tmp_path_factory.mktemp("site")
    package = root / "house_rules"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for code, (name, severity, status, word, fix) in RULES.items():
        body = REPORT.format(fix=fix, word=word) if fix else "yield {}[node.id]"
        if fix == "display":
            body = body.replace('(Replace(Span(*where), "right"),)', "()")
        text = RULE.format(
            summary=f"The name `{word}`.\n\n## What it does\nFinds it.\n",
            code=code,
            name=name,
            severity=severity,
            status=status,
            word=word,
            body=body,
        )
        (package / f"{code.lower()}.py").write_text(text)
    metadata = root / "house_rules-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: house-rules\nVersion: 1.0\n"
        "Project-URL: Documentation, https://house.example/rules\n"
    )
    (metadata / "entry_points.txt").write_text("[distlint.rules]\nhouse = house_rules\n")
    return root


@pytest.fixture
def in_process(house_rules: Path, tmp_path: Path) -> Program:
    """Runs `python -m distlint` in `tmp_path` as a process; a keyword `cwd` or `env` changes that."""

    def run(
        *arguments: str, stdin: bytes = b"", cwd: Path = tmp_path, env: dict[str, str] | None = None
    ) -> Result:
        environment = {key: value for key, value in os.environ.items() if key not in TERMINAL}
        environment |= {"PYTHONPATH": str(house_rules), "PYTHONIOENCODING": "utf-8", **(env or {})}
        done = subprocess.run(
            [sys.executable, "-m", "distlint", *arguments],
            input=stdin,
            capture_output=True,
            cwd=cwd,
            env=environment,
            timeout=120,
            check=False,
        )
        out, err = done.stdout.decode(), done.stderr.decode()
        assert "Traceback" not in err, err
        return Result(done.returncode, out, err)

    return run


@pytest.fixture
def distlint(
    house_rules: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> Program:
    """Calls the program in `tmp_path` without a new process, which costs ten times as much."""
    monkeypatch.syspath_prepend(house_rules)
    for name in TERMINAL:
        monkeypatch.delenv(name, raising=False)

    def run(
        *arguments: str, stdin: bytes = b"", cwd: Path = tmp_path, env: dict[str, str] | None = None
    ) -> Result:
        with monkeypatch.context() as patch:
            patch.chdir(cwd)
            patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            for name, value in (env or {}).items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                main(list(arguments), prog_name="distlint")
            sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        assert isinstance(ended.value.code, int)
        return Result(ended.value.code, out.decode(), err.decode())

    return run
