"""The cache: what it keeps, what it forgets, and that damage and company do it no harm."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from distlint.findings import (
    Applicability,
    Finding,
    Fix,
    Place,
    Related,
    Severity,
    Witness,
    WitnessStep,
)
from distlint.project import cache as module
from distlint.project.cache import (
    ENTRIES_KEPT,
    VARIABLE,
    Cache,
    CacheRefused,
    FileFacts,
    cache_folder,
    decode_finding,
    encode_finding,
    remove_caches,
    run_key,
)

OLD = time.time_ns() - 60_000_000_000
FACTS = {"/p/a.py": ((OLD, OLD, 10, 3), FileFacts("d1", True, False, True))}
ENGINE = "0" * 24
KEY = "1" * 32


def key(number: int) -> str:
    return run_key("engine", [str(number)], [])


def made(folder: Path) -> list[Path]:
    """The entries in `folder`, of all projects."""
    return sorted(folder.glob("*/*.json"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def cache(folder: Path, tmp_path: Path) -> Cache:
    return Cache(folder, tmp_path)


def test_facts_come_back_for_the_same_engine(cache: Cache, folder: Path, tmp_path: Path) -> None:
    cache.save_facts(ENGINE, FACTS)
    assert Cache(folder, tmp_path).load_facts(ENGINE) == FACTS
    assert cache.load_facts("f" * 24) == {}
    assert "*" in (folder / ".gitignore").read_text()
    assert (
        (folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806")
    )


def test_each_project_has_its_own(cache: Cache, folder: Path, tmp_path: Path) -> None:
    cache.save_facts(ENGINE, FACTS)
    assert Cache(folder, tmp_path / "other").load_facts(ENGINE) == {}


def test_files_changed_just_now_are_not_trusted(cache: Cache) -> None:
    now = time.time_ns()
    cache.save_facts(ENGINE, {"/p/a.py": ((now, now, 10, 3), FACTS["/p/a.py"][1])})
    assert cache.load_facts(ENGINE) == {}


@pytest.mark.parametrize("damage", [b"", b"{", b"[1]", b"\xff\xfe", b'{"findings":[]}'])
def test_damage_is_as_if_there_were_nothing(cache: Cache, folder: Path, damage: bytes) -> None:
    cache.save_facts(ENGINE, FACTS)
    cache.save_run(KEY, {"findings": [], "notes": []})
    for path in made(folder):
        path.write_bytes(damage)
    assert cache.load_facts(ENGINE) == {}
    assert cache.load_run(KEY) is None
    cache.save_facts(ENGINE, FACTS)
    assert cache.load_facts(ENGINE) == FACTS


def test_one_altered_letter_is_damage(cache: Cache, folder: Path) -> None:
    cache.save_run(KEY, {"findings": ["wrong"], "notes": []})
    (path,) = made(folder)
    path.write_bytes(path.read_bytes().replace(b"wrong", b"wrung"))
    assert cache.load_run(KEY) is None


def test_an_entry_under_another_name_is_damage(cache: Cache, folder: Path) -> None:
    cache.save_run(KEY, {"findings": [], "notes": []})
    (path,) = made(folder)
    path.rename(path.with_name(f"run-{'2' * 32}.json"))
    assert cache.load_run("2" * 32) is None


@pytest.mark.parametrize("files", [{"a": 1}, {"a": [1]}, [], "x"])
def test_rows_of_another_shape_are_forgotten(cache: Cache, folder: Path, files: object) -> None:
    cache._write(f"files-{ENGINE}.json", {"files": files})
    assert len(made(folder)) == 1
    assert cache.load_facts(ENGINE) == {}


def test_without_a_folder_it_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cache = Cache(None, tmp_path)
    cache.save_facts(ENGINE, FACTS)
    cache.save_run(KEY, {"findings": []})
    assert cache.load_run(KEY) is None
    assert list(tmp_path.iterdir()) == []


def test_what_was_used_longest_ago_goes(cache: Cache, folder: Path) -> None:
    for number in range(ENTRIES_KEPT):
        cache.save_run(key(number), {"findings": [], "notes": []})
    for number, path in enumerate(made(folder)):
        os.utime(path, ns=(OLD, OLD - number))
    cache.save_run(key(0), {"findings": [], "notes": []})
    assert cache.load_run(key(1)) is not None  # used
    for number in range(100, 100 + ENTRIES_KEPT - 2):
        cache.save_run(key(number), {"findings": [], "notes": []})
    assert len(made(folder)) == ENTRIES_KEPT
    assert cache.load_run(key(0)) is not None
    assert cache.load_run(key(1)) is not None
    assert cache.load_run(key(2)) is None


def test_a_project_is_bounded_in_bytes(
    cache: Cache, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PROJECT_BYTES", 40_000)
    for number in range(20):
        cache.save_run(key(number), {"findings": ["x" * 9_000]})
    assert 0 < sum(path.stat().st_size for path in made(folder)) <= 40_000
    cache.save_run(key(99), {"findings": ["x" * 11_000]})  # one alone would be a quarter of it
    assert cache.load_run(key(99)) is None


def test_all_projects_are_bounded_once_a_day(
    cache: Cache, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(8):
        Cache(folder, tmp_path / str(number)).save_run(KEY, {"findings": ["x" * 1_000]})
    forgotten = Cache(folder, tmp_path / "7")
    for path in made(folder):
        if path.parent == forgotten._project:
            os.utime(path, (1, 1))
    monkeypatch.setattr(module, "TOTAL_BYTES", 5_000)
    cache.save_run(KEY, {"findings": []})
    assert len(made(folder)) == 9  # looked at today
    os.utime(folder / "swept", (1, 1))
    cache.save_run(KEY, {"findings": []})
    assert sum(path.stat().st_size for path in made(folder)) <= 5_000
    assert cache.load_run(KEY) is not None
    assert not forgotten._project.exists()


def test_many_at_once(folder: Path, tmp_path: Path) -> None:
    def work(number: int) -> bool:
        cache = Cache(folder, tmp_path)
        cache.save_run(KEY, {"findings": [number] * 1000, "notes": []})
        document = cache.load_run(KEY)
        return document is not None and len(set(document["findings"])) == 1

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(100)))
    assert not list(folder.rglob("*.tmp"))


def test_a_place_that_cannot_be_written_to_has_no_cache(cache: Cache, folder: Path) -> None:
    folder.write_text("in the way")
    cache.save_facts(ENGINE, FACTS)
    assert cache.load_facts(ENGINE) == {}
    assert cache.refused == f"{folder} is not a folder"
    assert folder.read_text() == "in the way"


def test_a_link_is_not_followed(cache: Cache, folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder.symlink_to(elsewhere)
    cache.save_facts(ENGINE, FACTS)
    assert list(elsewhere.iterdir()) == []
    assert cache.refused is not None
    with pytest.raises(CacheRefused, match="is a link"):
        remove_caches(folder)


def test_a_linked_project_is_not_followed(cache: Cache, folder: Path, tmp_path: Path) -> None:
    cache.save_run(KEY, {"findings": []})
    (path,) = made(folder)
    elsewhere = tmp_path / "elsewhere"
    path.parent.rename(elsewhere)
    path.parent.symlink_to(elsewhere)
    cache.save_run(key(2), {"findings": []})
    assert cache.load_run(KEY) is None
    assert remove_caches(folder) == (0, 0)
    assert len(list(elsewhere.iterdir())) == 1


def test_a_linked_entry_is_not_read(cache: Cache, folder: Path) -> None:
    cache.save_run(KEY, {"findings": []})
    (path,) = made(folder)
    path.rename(path.with_suffix(".kept"))
    path.symlink_to(path.with_suffix(".kept"))
    assert cache.load_run(KEY) is None
    path.unlink()
    os.mkfifo(path)  # would block
    assert cache.load_run(KEY) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_not_used(cache: Cache, folder: Path) -> None:
    cache.save_run(KEY, {"findings": []})
    os.chown(folder, 12345, 12345)
    assert cache.load_run(KEY) is None
    assert cache.refused == f"{folder} belongs to somebody else"


def test_a_folder_that_everybody_may_write_to_is_not_used(cache: Cache, folder: Path) -> None:
    cache.save_run(KEY, {"findings": []})
    folder.chmod(0o777)
    assert cache.load_run(KEY) is None
    folder.chmod(0o1777)  # as /tmp: nobody can take what is another's
    assert cache.load_run(KEY) is not None


def test_cleaning_takes_what_the_cache_made_and_nothing_else(
    cache: Cache, folder: Path, tmp_path: Path
) -> None:
    cache.save_run(KEY, {"findings": []})
    cache.save_facts(ENGINE, FACTS)
    (path,) = [path for path in made(folder) if path.name.startswith("run")]
    path.with_name("notes.txt").write_text("mine")
    (folder / "photos").mkdir()
    (folder / "photos" / path.name).write_text("mine")
    assert remove_caches(folder)[0] == 2
    left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert left == sorted(
        [
            ".gitignore",
            "CACHEDIR.TAG",
            f"{path.parent.name}/notes.txt",
            f"photos/{path.name}",
        ]
    )
    other = Cache(tmp_path / "second", tmp_path)
    other.save_run(KEY, {"findings": []})
    assert remove_caches(tmp_path / "second")[0] == 1
    assert not (tmp_path / "second").exists()


def test_the_folder_is_the_named_one_or_the_user_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "/from/variable")
    assert cache_folder("/named") == Path("/named")
    assert cache_folder(None) == Path("/from/variable")
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder(None) == tmp_path / "distlint"


def test_findings_come_back_whole_but_for_their_edits() -> None:
    place = Place("a.py", 1, 2, 3, 4)
    step = WitnessStep(place, "dist.barrier()")
    finding = Finding(
        "DL101",
        "collective-not-on-all-ranks",
        Severity.WARNING,
        "Rank 0 waits.",
        place,
        (Related(place, "here"),),
        Fix(Applicability.UNSAFE, "Move it"),
        Witness((("rank 0", (step,)), ("other ranks", ())), (step,)),
    )
    back = decode_finding(encode_finding(finding))
    assert back == finding
    assert back.witness == finding.witness


def test_the_key_of_a_run_depends_on_all_its_parts() -> None:
    files = [("a.py", "d1", True), ("b.py", "d2", False)]
    base = run_key("engine", ["x"], files)
    assert base == run_key("engine", ["x"], files)
    others = [
        run_key("engine2", ["x"], files),
        run_key("engine", ["y"], files),
        run_key("engine", ["x"], files[:1]),
        run_key("engine", ["x"], [("a.py", "d1", True), ("b.py", "d2", True)]),
        run_key("engine", ["x"], [("a.py", "d3", True), ("b.py", "d2", False)]),
    ]
    assert len({base, *others}) == 6
