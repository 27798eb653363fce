"""Module names and project roots."""

from __future__ import annotations

from pathlib import Path

from distlint.project.modules import module_name, neighbourhood, project_root


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
    assert neighbourhood(tmp_path / "src/pkg/a.py") == [tmp_path]


def test_without_a_project_the_package_belongs_together(tmp_path: Path) -> None:
    tree(tmp_path, "lib/pkg/__init__.py", "lib/pkg/sub/__init__.py", "lib/pkg/sub/a.py", "lib/b.py")
    assert project_root(tmp_path / "lib/pkg/sub") is None
    assert neighbourhood(tmp_path / "lib/pkg/sub/a.py") == [tmp_path / "lib/pkg"]


def test_without_a_package_only_the_scripts_beside_it(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "b.py", "other/c.py")
    assert neighbourhood(tmp_path / "a.py") == [tmp_path / "a.py", tmp_path / "b.py"]


def test_what_lies_at_the_top_of_a_project_marks_it_too(tmp_path: Path) -> None:
    tree(tmp_path, "repo/README.md", "repo/train.py", "repo/lib/__init__.py", "repo/lib/a.py")
    assert project_root(tmp_path / "repo/train.py") is None
    assert neighbourhood(tmp_path / "repo/train.py") == [tmp_path / "repo"]
    assert neighbourhood(tmp_path / "repo/lib/a.py") == [tmp_path / "repo"]


def test_installed_packages_do_not_belong_together(tmp_path: Path) -> None:
    tree(
        tmp_path, "site-packages/README.md", "site-packages/pkg/__init__.py", "site-packages/b/c.py"
    )
    assert neighbourhood(tmp_path / "site-packages/pkg") == [tmp_path / "site-packages/pkg"]
