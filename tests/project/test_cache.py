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
from distlint.project.cache import (
    FOLDER,
    RUNS_KEPT,
    Cache,
    FileFacts,
    decode_finding,
    encode_finding,
    run_key,
)

OLD = time.time_ns() - 60_000_000_000
FACTS = {"/p/a.py": ((OLD, OLD, 10, 3), FileFacts("d1", True, False, True))}


def test_facts_come_back_for_the_same_engine(tmp_path: Path) -> None:
    cache = Cache(tmp_path, enabled=True)
    cache.save_facts("engine", FACTS)
    assert Cache(tmp_path, enabled=True).load_facts("engine") == FACTS
    assert cache.load_facts("another") == {}
    assert "*" in (tmp_path / FOLDER / ".gitignore").read_text()


def test_files_changed_just_now_are_not_trusted(tmp_path: Path) -> None:
    cache = Cache(tmp_path, enabled=True)
    now = time.time_ns()
    cache.save_facts("engine", {"/p/a.py": ((now, now, 10, 3), FACTS["/p/a.py"][1])})
    assert cache.load_facts("engine") == {}


@pytest.mark.parametrize("damage", [b"", b"{", b"[1]", b"\xff\xfe", b'{"engine":"engine"}'])
def test_damage_is_as_if_there_were_nothing(tmp_path: Path, damage: bytes) -> None:
    cache = Cache(tmp_path, enabled=True)
    cache.save_facts("engine", FACTS)
    cache.save_run("key", {"findings": [], "notes": []})
    for path in (tmp_path / FOLDER).rglob("*.json"):
        path.write_bytes(damage)
    assert cache.load_facts("engine") == {}
    assert cache.load_run("key") is None
    cache.save_facts("engine", FACTS)
    assert cache.load_facts("engine") == FACTS


@pytest.mark.parametrize("files", ['{"a": 1}', '{"a": [1]}', "[]", '"x"'])
def test_damaged_rows_are_forgotten(tmp_path: Path, files: str) -> None:
    cache = Cache(tmp_path, enabled=True)
    cache.save_facts("engine", FACTS)
    (tmp_path / FOLDER / "files.json").write_text(f'{{"engine":"engine","files":{files}}}')
    assert cache.load_facts("engine") == {}


def test_disabled_leaves_no_trace(tmp_path: Path) -> None:
    cache = Cache(tmp_path, enabled=False)
    cache.save_facts("engine", FACTS)
    cache.save_run("key", {"findings": []})
    assert list(tmp_path.iterdir()) == []


def test_old_runs_go(tmp_path: Path) -> None:
    cache = Cache(tmp_path, enabled=True)
    keys = [run_key("engine", [str(number)], []) for number in range(RUNS_KEPT + 9)]
    for number, key in enumerate(keys):
        cache.save_run(key, {"findings": [], "notes": []})
        stamp = OLD + number * 1_000_000_000
        os.utime(tmp_path / FOLDER / f"runs/{key}.json", ns=(stamp, stamp))
    last = run_key("engine", ["last"], [])
    cache.save_run(last, {"findings": [], "notes": []})
    assert len(list((tmp_path / FOLDER / "runs").iterdir())) == RUNS_KEPT
    assert cache.load_run(keys[0]) is None
    assert cache.load_run(last) is not None


def test_many_at_once(tmp_path: Path) -> None:
    def work(number: int) -> bool:
        cache = Cache(tmp_path, enabled=True)
        cache.save_run("key", {"findings": [number] * 1000, "notes": []})
        document = cache.load_run("key")
        return document is not None and len(set(document["findings"])) == 1

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(100)))
    assert not list((tmp_path / FOLDER).rglob(".new-*"))


def test_a_place_that_cannot_be_written_to_has_no_cache(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("in the way")
    cache = Cache(tmp_path, enabled=True)
    cache.save_facts("engine", FACTS)
    assert cache.load_facts("engine") == {}


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
