"""Several packages with settings of their own: each file follows those nearest to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Program


def rows(out: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(out)["findings"]
    return found


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The root ignores HOUSE002, pkga HOUSE001, pkgb has what the root has."""
    write(
        tmp_path,
        {
            "pyproject.toml": "[tool.distlint]\nignore = ['HOUSE002']\nexclude = ['gen/']\n",
            "a.py": "wrong, risky\n",
            "gen/a.py": "wrong\n",
            "pkga/pyproject.toml": "[tool.distlint]\nignore = ['HOUSE001']\n",
            "pkga/a.py": "wrong, risky\n",
            "pkga/gen/a.py": "risky\n",
            "pkgb/pyproject.toml": "[project]\nname = 'b'\n",
            "pkgb/a.py": "wrong, risky\n",
        },
    )
    return tmp_path


ALL = [
    ("a.py", "HOUSE001"),
    ("pkga/a.py", "HOUSE002"),
    ("pkga/gen/a.py", "HOUSE002"),
    ("pkgb/a.py", "HOUSE001"),
]


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["."], ALL),
        (["pkga"], ALL[1:3]),
        (["pkgb"], ALL[3:]),
        (["pkga", "pkgb"], ALL[1:]),
        (["pkgb", "pkga"], ALL[1:]),
        (["pkga/a.py", "pkgb/a.py"], [ALL[1], ALL[3]]),
        (["a.py", "pkga/a.py", "pkgb"], [ALL[0], ALL[1], ALL[3]]),
        ([".", "pkga/a.py"], ALL),
    ],
)
def test_each_file_follows_the_nearest_settings(
    distlint: Program, repository: Path, paths: list[str], expected: list[tuple[str, str]]
) -> None:
    for _ in range(2):  # the second time from the cache
        result = distlint("check", *paths, "--output-format", "json")
        assert [(row["path"], row["code"]) for row in rows(result.out)] == expected
    if "a.py" not in paths and "." not in paths:
        below = distlint(
            "check",
            *(f"../{path}" for path in paths),
            "--output-format",
            "json",
            cwd=repository / "pkgb",
        )
        assert [row["code"] for row in rows(below.out)] == [code for _, code in expected]


@pytest.mark.usefixtures("repository")
def test_standard_input_follows_them_too(distlint: Program) -> None:
    result = distlint(
        "check",
        "-",
        "--stdin-filename",
        "pkga/new.py",
        "--output-format",
        "json",
        stdin=b"wrong, risky",
    )
    assert [row["code"] for row in rows(result.out)] == ["HOUSE002"]


@pytest.mark.usefixtures("repository")
def test_the_command_line_goes_before_all_of_them(distlint: Program) -> None:
    def found(*options: str) -> list[tuple[str, str]]:
        done = distlint("check", *options, "--output-format", "json")
        return [(row["path"], row["code"]) for row in rows(done.out)]

    assert len(found("--select", "HOUSE001,HOUSE002")) == 7
    assert found("--exclude", "/pkga/gen") == [ALL[0], ALL[1], ALL[3]]
    assert {code for _, code in found("--config", "pkga/pyproject.toml")} == {"HOUSE002"}


@pytest.mark.usefixtures("repository")
def test_findings_have_one_fingerprint_in_every_way_of_calling(distlint: Program) -> None:
    def names(*paths: str) -> dict[str, str]:
        done = distlint("check", *paths, "--output-format", "json")
        return {row["path"]: row["fingerprint"] for row in rows(done.out)}

    everything = names(".")
    assert len(set(everything.values())) == len(ALL)
    assert {**names("pkga"), **names("pkgb"), **names("a.py")} == everything


def test_fixes_follow_them(distlint: Program, repository: Path) -> None:
    settings = repository / "pkga/pyproject.toml"
    settings.write_text(settings.read_text() + "unsafe-fixes = true\n")
    result = distlint("fix", "--apply")
    assert (repository / "pkga/a.py").read_text() == "wrong, right\n"
    assert (repository / "pkgb/a.py").read_text() == "right, risky\n"
    assert result.code == 0


def test_packages_see_each_other_from_the_root(distlint: Program, tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "pyproject.toml": "[tool.distlint]\n",
            "shared/pyproject.toml": "[tool.distlint]\nignore = ['DL301']\n",
            "shared/sync.py": "import torch.distributed as dist\n\n\n"
            "def wait_for_all():\n    dist.barrier()\n",
            "shared/__init__.py": "",
            "train.py": "import torch.distributed as dist\n"
            "from shared.sync import wait_for_all\n\n\n"
            "def main():\n    if dist.get_rank() == 0:\n        wait_for_all()\n",
        },
    )
    for paths in (["."], ["train.py"], ["train.py", "shared"]):
        done = distlint("check", *paths, "--output-format", "json")
        assert [(row["path"], row["code"]) for row in rows(done.out)] == [("train.py", "DL101")]


# extend


def test_extended_settings(distlint: Program, repository: Path) -> None:
    write(
        repository,
        {
            "pyproject.toml": "[tool.distlint]\nignore = ['HOUSE002']\nexclude = ['pkga/gen']\n"
            "[tool.distlint.per-file-ignores]\n'pkga/a.py' = ['HOUSE004']\n",
            "pkga/pyproject.toml": "[tool.distlint]\nextend = '../pyproject.toml'\npreview = true\n",
            "pkga/a.py": "wrong, risky, novel\n",
            "pkga/b.py": "novel\n",
        },
    )
    result = distlint("check", "pkga", "--output-format", "json")
    # Patterns stay relative to the file that has them.
    assert [(row["path"], row["code"]) for row in rows(result.out)] == [
        ("pkga/a.py", "HOUSE001"),
        ("pkga/b.py", "HOUSE004"),
    ]


@pytest.mark.parametrize(
    ("extend", "said"),
    [
        ("pyproject.toml", "pyproject.toml:2:10: error DL902"),
        ("gone.toml", "`extend`: pkga/gone.toml is not a file"),
        ("../pkgb/pyproject.toml", "`extend`: pkgb/pyproject.toml has no [tool.distlint] table"),
        ("../circle.toml", "`extend`: pkga/pyproject.toml leads back to this file"),
        ("/dev/zero", "`extend`: /dev/zero is not a file"),
        ("../secret.toml", "`extend`: secret.toml:1:8: not valid TOML"),
    ],
)
def test_what_cannot_be_extended(
    distlint: Program, repository: Path, extend: str, said: str
) -> None:
    write(
        repository,
        {
            "pkga/pyproject.toml": f"[tool.distlint]\nextend = '{extend}'\n",
            "circle.toml": "extend = 'pkga/pyproject.toml'\n",
            "secret.toml": "hunter2\n",
        },
    )
    result = distlint("check", "pkga", env={"COLUMNS": "160"})
    assert result.code == 2
    assert said in result.out
    assert "hunter2" not in result.out


# Errors


def test_all_errors_at_once_each_with_its_place(distlint: Program, tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a.py": "wrong\n",
            "pyproject.toml": "[tool.ruff]\nselect = 1\n\n[tool.distlint]\n"
            "  selct = ['DL1']\nignore = [\n  'HOUSE001',\n  'é', 'HOUSE00I', # 'HOUSE00I'\n]\n"
            'preview =   \'yes\'\noutput-format = """jsn"""\n\n'
            "[tool.distlint.per-file-ignores]\n\"tests/*\" = ['DL999']\n'x' = 3\n",
            "pkg/pyproject.toml": "tool.distlint.select = ['HOUSE001', 'nope']\n"
            "tool.distlint.rank-predicates = {'mylib.f' = 'is_man', 'a b' = 'rank'}\n",
            "pkg/b.py": "wrong\n",
            "toml/distlint.toml": "preview = true\nignore = [\n",
            "toml/c.py": "wrong\n",
        },
    )
    result = distlint("check", "--output-format", "json")
    assert result.code == 2
    assert [(row["path"], row["line"], row["column"]) for row in rows(result.out)] == [
        ("pkg/pyproject.toml", 1, 37),
        ("pkg/pyproject.toml", 2, 46),
        ("pkg/pyproject.toml", 2, 56),
        ("pyproject.toml", 5, 3),
        ("pyproject.toml", 8, 3),
        ("pyproject.toml", 8, 8),
        ("pyproject.toml", 10, 13),
        ("pyproject.toml", 11, 17),
        ("pyproject.toml", 14, 14),
        ("pyproject.toml", 15, 7),
        ("toml/distlint.toml", 3, 1),
    ]
    assert {row["code"] for row in rows(result.out)} == {"DL902"}


def test_a_linked_settings_file_does_not_show_what_it_leads_to(
    distlint: Program, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("distlint password hunter2\n")
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "a.py").write_text("wrong\n")
    (checkout / "pyproject.toml").symlink_to(tmp_path / "secret")
    result = distlint("check", cwd=checkout)
    assert (result.code, "hunter2" in result.out) == (2, False)


# What applies


def test_show_settings(distlint: Program, repository: Path) -> None:
    write(
        repository,
        {"pkga/pyproject.toml": "[tool.distlint]\nextend = '../pyproject.toml'\npreview = true\n"},
    )
    result = distlint("check", "--show-settings", "--ignore", "HOUSE")
    assert (result.code, result.err) == (0, "")
    first, second = result.out.split("\n\n")
    assert first.startswith("# pyproject.toml: 2 files\n[tool.distlint]\n")
    assert second.startswith("# pkga/pyproject.toml: 1 file\n[tool.distlint]\n")
    assert 'ignore = ["HOUSE002"]  # pyproject.toml\n' in second
    assert "preview = true  # pkga/pyproject.toml\n" in second
    assert "force-exclude = false\n" in second
    assert "HOUSE001" not in result.out


@pytest.mark.usefixtures("repository")
def test_show_files(distlint: Program) -> None:
    result = distlint("check", "--show-files")
    assert result.code == 0
    assert result.out.split() == [path for path, _ in ALL]
    missing = distlint("check", "--show-files", "gone.py", "pkga")
    assert (missing.code, missing.out.split()) == (2, ["pkga/a.py", "pkga/gen/a.py"])
