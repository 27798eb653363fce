"""After any edit, a check that reads the cache says byte for byte what one without says.

So does a check of one file: what a check of everything says of it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.incremental.edits import PACKAGES, copied, differences, generated, said


@pytest.mark.parametrize("seed", range(4))
def test_edits_of_small_projects(seed: int, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    generated(folder, seed)
    assert said(folder, ["."], None)  # there is something to lose
    assert not list(differences(folder, tmp_path / "cache", seed, 12))


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_edits_of_installed_packages(package: str, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    copied(package, PACKAGES[package], folder)
    assert not list(differences(folder, tmp_path / "cache", 1, 10))
