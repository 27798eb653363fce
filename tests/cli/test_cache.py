"""The cache seen from outside: never another answer, and a project without one is left alone."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path

import pytest

from distlint.project.cache import VARIABLE
from tests.cli.conftest import Program


@pytest.fixture
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder of this test."""
    folder = tmp_path_factory.mktemp("home") / "cache"
    monkeypatch.setenv(VARIABLE, str(folder))
    return folder


def settle(root: Path) -> None:
    """Make all files old enough for their stamps to be trusted. ctime cannot be set: wait."""
    old = time.time() - 60
    for path in root.rglob("*.py"):
        os.utime(path, (old, old))
    time.sleep(2.1)


def test_warm_runs_give_the_same_answer_and_see_every_change(
    distlint: Program, tmp_path: Path, cache: Path
) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = 1\ny = wrong\n")
    settle(tmp_path)
    cold = distlint("check")
    assert len(list(cache.glob("*/run-*.json"))) == 1
    assert distlint("check") == cold
    assert distlint("check", "--no-cache") == cold
    assert "HOUSE002" not in distlint("check", "--select", "HOUSE001").out
    stamp = path.stat().st_mtime_ns
    path.write_text("x = 1\ny = right\n")
    os.utime(path, ns=(stamp, stamp))  # same size, same mtime: only ctime tells
    assert distlint("check").code == 0


def test_context_is_part_of_the_answer(distlint: Program, tmp_path: Path) -> None:
    (tmp_path / "distlint.toml").write_text("")
    (tmp_path / "a.py").write_text("wrong\n")
    assert distlint("check", "a.py").code == 1
    (tmp_path / "distlint.toml").write_text("ignore = ['HOUSE001']\n")
    assert distlint("check", "a.py").code == 0


def test_a_damaged_cache_is_written_anew(distlint: Program, tmp_path: Path, cache: Path) -> None:
    (tmp_path / "a.py").write_text("wrong\n")
    first = distlint("check")
    files = list(cache.rglob("*.json"))
    assert len(files) == 5
    for path in files:
        path.write_bytes(b'{"engine": \xff')
    assert distlint("check") == first
    assert distlint("check") == first


def test_no_cache_leaves_nothing_behind(distlint: Program, tmp_path: Path, cache: Path) -> None:
    (tmp_path / "a.py").write_text("wrong\n")
    distlint("check", "--no-cache")
    assert not cache.exists()


def test_a_check_writes_nothing_into_the_checkout(
    distlint: Program, tmp_path: Path, cache: Path
) -> None:
    (tmp_path / "a.py").write_text("wrong\n")
    for _ in range(2):
        assert distlint("check").code == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.py"]
    assert cache.is_dir()


@pytest.mark.parametrize("linked", [".distlint_cache", ".distlint_cache/runs"])
def test_a_checkout_cannot_aim_the_cache_at_another_folder(
    distlint: Program, tmp_path: Path, linked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    for number in range(40):
        (victim / f"{number}.json").write_text("precious")
    checkout = tmp_path / "checkout"
    (checkout / linked).parent.mkdir(parents=True, exist_ok=True)
    (checkout / linked).symlink_to(victim, target_is_directory=True)
    (checkout / "a.py").write_text("wrong\n")
    monkeypatch.setenv(VARIABLE, linked)  # as a project that wants its cache in the checkout has it
    for _ in range(2):
        assert distlint("check", cwd=checkout).code == 1
    assert "is a link" in distlint("check", "-v", cwd=checkout).err
    assert distlint("clean", cwd=checkout).code == 2
    assert len(list(victim.iterdir())) == 40
    assert {path.read_text() for path in victim.iterdir()} == {"precious"}


def test_no_module_is_imported_because_a_cache_names_it(
    distlint: Program,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "a.py").write_text("wrong\n")
    site = tmp_path_factory.mktemp("site")
    (site / "evil.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(site)
    first = distlint("check")
    for path in cache.glob("*/rules-*.json"):
        _, _, payload = path.read_bytes().partition(b"\n")
        document = json.loads(payload)
        for row in document["rules"]:
            row[-1] = "evil"
        payload = json.dumps(document).encode()
        digest = hashlib.blake2b(path.name.encode() + payload, digest_size=16).hexdigest()
        path.write_bytes(digest.encode() + b"\n" + payload)
    for path in cache.glob("*/run-*.json"):
        path.unlink()
    assert "evil" in next(cache.glob("*/rules-*.json")).read_text()
    again = distlint("check")
    assert (again.code, again.out) == (1, first.out)


def test_where_the_cache_is(distlint: Program, tmp_path: Path, cache: Path) -> None:
    (tmp_path / "a.py").write_text("wrong\n")
    named = tmp_path / "named"
    assert distlint("check", "--cache-dir", "named").code == 1
    assert list(named.glob("*/run-*.json"))
    assert not cache.exists()
    done = distlint("clean", "--cache-dir", "named")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{named}: 5 files deleted (")
    assert not named.exists()
    assert distlint("clean", "--cache-dir", "named").out == f"{named}: 0 files deleted (0.0 MiB).\n"


def test_without_a_place_for_it_there_is_no_cache_and_no_error(
    distlint: Program, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("wrong\n")
    (tmp_path / "file").write_text("")
    for folder in ("file", "file/below", "/proc/distlint"):
        result = distlint("check", "--cache-dir", folder)
        assert (result.code, result.err) == (1, "")
        assert "without a cache: " in distlint("check", "-v", "--cache-dir", folder).err
