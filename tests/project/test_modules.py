"""Module names and project roots."""

from __future__ import annotations

from pathlib import Path

from distlint.project.modules import module_name, project_root


def tree(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def test_names_start_at_the_top_package(tmp_path: Path) -> None:
    tree(tmp_path, "src/pkg/__init__.py", "src/pkg/sub/__init__.py", "src/pkg/sub/a.py", "run.py")
    base = str(tmp_path)
    assert module_name(f"{base}/src/pkg/sub/a.py") == ("pkg.sub.a", False)
    assert module_name(f"{base}/src/pkg/sub/__init__.py") == ("pkg.sub", True)
    assert module_name(f"{base}/run.py") == ("run", False)


def test_the_root_is_the_nearest_project(tmp_path: Path) -> None:
    tree(tmp_path, "pyproject.toml", "src/pkg/__init__.py", "src/pkg/a.py")
    assert project_root(tmp_path / "src/pkg/a.py") == tmp_path


def test_without_a_project_it_is_where_imports_start(tmp_path: Path) -> None:
    tree(tmp_path, "lib/pkg/__init__.py", "lib/pkg/sub/__init__.py")
    assert project_root(tmp_path / "lib/pkg/sub") == tmp_path / "lib"
