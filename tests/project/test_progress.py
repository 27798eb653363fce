"""Progress: one count over all the projects of a run, that never goes back."""

from __future__ import annotations

from pathlib import Path

from distlint.checking import Request, check
from distlint.project.files import discover
from distlint.project.selection import select_rules
from distlint.project.settings import Settings, SettingsTree
from distlint.rule import load_rules

LARGE = f"import torch.distributed as dist\ndist.barrier()\nx = '{'x' * 6_500_000}'\n"
"""Two of these are more than what is analysed together."""


def test_files_of_all_projects_are_counted_together(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "large.py").write_text(LARGE)
        (tmp_path / name / "small.py").write_text("x = 1\n")
    told: list[tuple[str, int, int]] = []
    known = tuple(load_rules().values())
    tree = SettingsTree(Settings(root=tmp_path))
    request = Request(
        [tmp_path],
        discover([tmp_path], tree),
        tree.default,
        tree,
        known,
        select_rules(known, select=["DL101", "DL102"]),
        progress=lambda stage, done, total: told.append((stage, done, total)),
    )
    assert check([request]).problems == []
    work = [row for row in told if row[0] != "reading"]
    assert {stage.partition(":")[0] for stage, _, _ in work} == {"project 1/2", "project 2/2"}
    assert {total for _, _, total in work} == {4}
    counts = [done for _, done, _ in work]
    assert counts == sorted(counts)
    assert counts[-1] == 4
