"""Files: what a walk takes, what it leaves out, and what it says about the rest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from distlint.project.files import FileSet
from distlint.project.files import discover as discover_in
from distlint.project.naming import escaped, path_of
from distlint.project.settings import Settings, SettingsTree


def discover(paths: list[str | Path], settings: Settings) -> FileSet:
    return discover_in(paths, SettingsTree(settings, fixed=settings))


def tree(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")


def found(result: FileSet, root: Path) -> list[str]:
    return sorted(Path(file.path).relative_to(root).as_posix() for file in result.files)


def test_usual_folders_are_left_out(tmp_path: Path) -> None:
    tree(
        tmp_path,
        "a.py",
        "pkg/b.py",
        "pkg/notes.txt",
        ".venv/c.py",
        "node_modules/d.py",
        "build/e.py",
        "dist/__init__.py",
        "dist/f.py",
        "env/pyvenv.cfg",
        "env/lib/g.py",
        "pkg/__pycache__/h.py",
        "pkg/._b.py",
        "x.egg-info/i.py",
    )
    result = discover([tmp_path], Settings(root=tmp_path))
    assert found(result, tmp_path) == ["a.py", "dist/__init__.py", "dist/f.py", "pkg/b.py"]


def test_a_named_folder_is_looked_at_whatever_its_name(tmp_path: Path) -> None:
    tree(tmp_path, "build/a.py")
    assert found(discover([tmp_path / "build"], Settings()), tmp_path) == ["build/a.py"]


def test_gitignore_with_nesting_and_negation(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "out/b.py", "gen_c.py", "sub/gen_d.py", "sub/keep/gen_e.py")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("# comment\nout/\ngen_*.py\n")
    (tmp_path / "sub/keep/.gitignore").write_text("!gen_e.py\n")
    result = discover([tmp_path], Settings(root=tmp_path))
    assert found(result, tmp_path) == ["a.py", "sub/keep/gen_e.py"]
    below = discover([tmp_path / "sub"], Settings(root=tmp_path))
    assert found(below, tmp_path) == ["sub/keep/gen_e.py"]
    ignored = discover([tmp_path / "out"], Settings(root=tmp_path))
    assert found(ignored, tmp_path) == ["out/b.py"]
    off = discover([tmp_path], Settings(root=tmp_path, respect_gitignore=False))
    assert len(off.files) == 5


def test_exclude_and_force_exclude(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "gen/b.py")
    settings = Settings(root=tmp_path, exclude=("gen/",))
    assert found(discover([tmp_path], settings), tmp_path) == ["a.py"]
    named = tmp_path / "gen/b.py"
    assert found(discover([named], settings), tmp_path) == ["gen/b.py"]
    forced = discover([named], Settings(root=tmp_path, exclude=("gen/",), force_exclude=True))
    assert forced.files == []
    assert forced.problems == []


def test_each_file_once(tmp_path: Path) -> None:
    tree(tmp_path, "a/b.py")
    result = discover([tmp_path, tmp_path / "a", tmp_path / "a/b.py"], Settings(root=tmp_path))
    assert len(result.files) == 1


def test_paths_are_shown_relative_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree(tmp_path, "here/a.py", "there/b.py")
    monkeypatch.chdir(tmp_path / "here")
    result = discover([".", "../there"], Settings())
    assert [file.shown for file in result.files] == ["../there/b.py", "a.py"]


def reasons(result: FileSet) -> list[str]:
    return [problem.reason for problem in result.problems]


def test_what_cannot_be_looked_at_is_one_line_each(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "notes.txt")
    (tmp_path / "empty").mkdir()
    names = ["missing.py", "empty", "notes.txt", "a.py"]
    result = discover([tmp_path / name for name in names], Settings(root=tmp_path))
    assert found(result, tmp_path) == ["a.py"]
    assert reasons(result) == [
        "no such file or folder",
        "there is no Python file in this folder",
        "not a Python file (its name does not end in .py)",
    ]


def test_links_in_a_loop(tmp_path: Path) -> None:
    tree(tmp_path, "ok.py")
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "a.py").symlink_to(tmp_path / "b.py")
    (tmp_path / "b.py").symlink_to(tmp_path / "a.py")
    result = discover([tmp_path], Settings(root=tmp_path))
    assert found(result, tmp_path) == ["ok.py"]
    assert result.problems == []
    assert sum("a link to nowhere" in note for note in result.notes) == 2
    assert any("not followed" in note for note in result.notes)


def test_a_linked_file_is_one_file_with_two_names(tmp_path: Path) -> None:
    tree(tmp_path, "elsewhere/a.py", "tree/real/a.py")
    (tmp_path / "tree/b.py").symlink_to(tmp_path / "tree/real/a.py")
    (tmp_path / "tree/c.py").symlink_to(tmp_path / "elsewhere/a.py")
    result = discover([tmp_path / "tree"], Settings(root=tmp_path))
    assert found(result, tmp_path) == ["tree/c.py", "tree/real/a.py"]
    assert [Path(file.path).name for file in result.known] == ["b.py"]


def test_escaped_names_lead_back() -> None:
    names = ["a\x1b.py", "a\n", "\udcff\x85\u202e", "a\\x41", "\\\\u", "é模 \U000e0001", "C:\\a"]
    for name in names:
        assert escaped(name).isprintable()
        assert path_of(escaped(name)) == name
    assert len({escaped(name) for name in names}) == len(names)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "locked/b.py")
    (tmp_path / "locked").chmod(0)
    try:
        result = discover([tmp_path], Settings(root=tmp_path))
    finally:
        (tmp_path / "locked").chmod(0o700)
    assert found(result, tmp_path) == ["a.py"]
    assert reasons(result) == ["cannot be read: permission denied"]


def test_scripts_without_suffix(tmp_path: Path) -> None:
    script = tmp_path / "train"
    script.write_text("#!/usr/bin/env python3\nx = 1\n")
    assert len(discover([script], Settings()).files) == 1
    script.write_text("#!/bin/sh\n")
    assert discover([script], Settings()).files == []
