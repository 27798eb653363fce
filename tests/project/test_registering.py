"""Whether only the bundled rules are registered is answered as `importlib.metadata` would, or with no."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest

from distlint.registering import only_bundled

GROUP = "distlint.rules"
OWN = "[console_scripts]\nx = distlint.y\n\n[distlint.rules]\n# ours\ndistlint = distlint.rules\n\n[other]\na = b\n"


def install(place: Path, name: str, points: str, metadata: str = "Name: any\n") -> None:
    (place / name).mkdir(parents=True)
    (place / name / "entry_points.txt").write_text(points)
    (place / name / "METADATA").write_text(metadata)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [str(tmp_path / "gone"), str(tmp_path)])
    install(tmp_path, "other-1.0.dist-info", "[console_scripts]\nx = y\n")
    (tmp_path / "file.egg-info").write_text("Name: file\n")
    return tmp_path


def test_the_bundled_rules_and_a_checkout_are_alone(place: Path) -> None:
    assert only_bundled(GROUP, GROUP)  # a checkout, which was not installed
    install(place, "distlint-0.1.0.dist-info", OWN)
    assert only_bundled(GROUP, GROUP)


@pytest.mark.parametrize(
    "name", ["house-1.0.dist-info", "House-1.0.DIST-INFO", "house.egg-info", "EGG-INFO"]
)
def test_another_package_is_seen(place: Path, name: str) -> None:
    install(place, name, "[distlint.rules]\nhouse = house_rules\n")
    assert not only_bundled(GROUP, GROUP)


def test_in_doubt_the_answer_is_no(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(place, "distlint-0.1.0.dist-info", OWN, "Project-URL: Documentation, https://a.example")
    assert not only_bundled(GROUP, GROUP)
    (place / "distlint-0.1.0.dist-info" / "METADATA").write_text("Name: distlint\n")
    assert only_bundled(GROUP, GROUP)
    with zipfile.ZipFile(place / "some.zip", "w") as archive:
        archive.writestr("house.dist-info/entry_points.txt", "[distlint.rules]\na = b\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(place / "some.zip")])
    assert not only_bundled(GROUP, GROUP)


def test_a_finder_of_somebody_is_asked(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Finder:
        @staticmethod
        def find_distributions() -> None: ...

    assert place.is_dir()
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    assert not only_bundled(GROUP, GROUP)
