"""Settings: found upwards, checked key by key, with the line and the nearest right word."""

from __future__ import annotations

from pathlib import Path

import pytest

from distlint.project.settings import Fault, Settings, SettingsTree


def find_settings(directory: Path, *, root: Path) -> Settings:
    tree = SettingsTree(Settings(root=root))
    settings = tree.of(str(directory))
    assert tree.faults == []
    return settings


def faults(directory: Path) -> list[Fault]:
    tree = SettingsTree(Settings(root=directory))
    tree.of(str(directory))
    return tree.faults


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_nearest_upwards_and_pyproject_without_table_is_passed(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", "[tool.distlint]\nselect = ['DL1']\n")
    write(tmp_path / "a/pyproject.toml", "[project]\nname = 'distlint-user'\n")
    inner = tmp_path / "a/b"
    inner.mkdir()
    settings = find_settings(inner, root=tmp_path)
    assert settings.select == ("DL1",)
    assert settings.root == tmp_path
    write(tmp_path / "a/distlint.toml", "preview = true\n")
    assert find_settings(inner, root=tmp_path).preview
    assert find_settings(inner, root=tmp_path).select == ()


def test_all_keys(tmp_path: Path) -> None:
    write(
        tmp_path / "distlint.toml",
        """
        select = ["DL1", "unguarded-save"]
        ignore = ["DL101"]
        preview = true
        exclude = ["generated/"]
        force-exclude = true
        respect-gitignore = false
        baseline = "accepted.json"
        runtime-module = "mypackage.distributed"
        output-format = "json"
        unsafe-fixes = true
        [per-file-ignores]
        "tests/*" = ["DL3"]
        """,
    )
    settings = find_settings(tmp_path, root=tmp_path)
    assert settings.per_file_ignores == {"tests/*": ("DL3",)}
    assert settings.runtime_module == "mypackage.distributed"
    assert settings.force_exclude
    assert not settings.respect_gitignore


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("\nselct = ['DL1']\n", 2, "did you mean `select`?"),
        ("preview = true\nper_file_ignores = {}\n", 2, "did you mean `per-file-ignores`?"),
        ("zzz = 1\n", 1, "known are `select`"),
        ("select = 'DL1'\n", 1, "must be a list of strings"),
        ("preview = 'yes'\n", 1, "must be true or false"),
        ("output-format = 'jsn'\n", 1, "did you mean `json`?"),
        ("runtime-module = 'my-package'\n", 1, "dotted name"),
        ("[per-file-ignores]\n'a' = 'DL1'\n", 2, "must be a list of strings"),
        ("x = \n", 1, "not valid TOML"),
    ],
)
def test_errors_name_line_and_remedy(tmp_path: Path, text: str, line: int, said: str) -> None:
    write(tmp_path / "distlint.toml", text)
    (fault,) = faults(tmp_path)
    assert said in fault.reason
    assert fault.line == line


def test_the_line_in_pyproject_is_the_one_of_the_table(tmp_path: Path) -> None:
    write(
        tmp_path / "pyproject.toml",
        "[tool.ruff]\nselct = 1\n\n[tool.distlint]\npreview = true\nselct = []\n",
    )
    (fault,) = faults(tmp_path)
    assert fault.line == 6


def test_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "distlint.toml").write_bytes(b"select = ['\xe9']\n")
    (fault,) = faults(tmp_path)
    assert "UTF-8" in fault.reason
    assert (fault.line, fault.column) == (1, 11)
