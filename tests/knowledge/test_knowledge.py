"""What is known in one project: the tables with the rows of its settings, and of no other project's."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from distlint.cli import main
from distlint.knowledge import facts
from distlint.knowledge.facts import Knowledge
from distlint.knowledge.schema import Effect

SCRIPT = """\
import torch.distributed as dist
from mylib.comm import is_chief, sync_all


def main(obj):
    if is_chief():
        sync_all()
        obj.sync_everyone()
    if dist.get_rank() == 0:
        dist.barrier()
"""

ITS_OWN = """\
collectives = ["mylib.comm.sync_all", ".sync_everyone", "torch.distributed.barrier"]
[rank-predicates]
"mylib.comm.is_chief" = "is_main"
"""

ANOTHER = """\
collectives = ["elsewhere.meet"]
[rank-predicates]
"torch.distributed.get_rank" = "world_size"
"""


def _lines(
    folder: Path, settings: str, monkeypatch: pytest.MonkeyPatch, script: str = SCRIPT
) -> list[int]:
    folder.mkdir(exist_ok=True)
    (folder / "train.py").write_text(script)
    (folder / "distlint.toml").write_text(settings)
    monkeypatch.chdir(folder)
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with redirect_stdout(out), pytest.raises(SystemExit) as end:
        main(["check", "--no-cache", "--output-format", "json", "."])
    assert end.value.code in (0, 1)
    return [finding["line"] for finding in json.loads(out.detach().getvalue())["findings"]]


@pytest.mark.parametrize("order", [("own", "other", "none"), ("none", "other", "own")])
def test_projects_in_one_process_do_not_see_each_other(
    order: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"own": ITS_OWN, "other": ANOTHER, "none": ""}
    found = {name: _lines(tmp_path / name, settings[name], monkeypatch) for name in order}
    assert found == {"own": [7, 8, 10], "other": [], "none": [10]}


def test_rows_of_settings_leave_the_tables_alone() -> None:
    tables = Knowledge.default()
    name = "torch.distributed.barrier"
    before = tables.calls[name]
    known = Knowledge.with_rows([name, "torch.save", ".full_tensor", ".meet"], {"a.b": "is_main"})
    assert Knowledge.default() is tables
    assert tables.calls[name] == before
    assert {"meet"}.isdisjoint(tables.methods)
    assert "a.b" not in tables.functions
    assert Knowledge.with_rows([], {}) is tables
    assert known.calls[name] == before


def test_a_row_of_the_settings_adds_to_what_the_tables_say() -> None:
    known = Knowledge.with_rows(["torch.save", "accelerate.Accelerator.save_model"], {})
    saves = known.calls["torch.save"]
    assert [row.effect for row in saves] == [Effect.WRITE, Effect.COLLECTIVE]
    (model,) = known.calls["accelerate.Accelerator.save_model"]
    assert model.effect is Effect.COLLECTIVE
    assert model.also == (Effect.GUARDED_WRITE,)


def test_words_of_the_settings_are_followed() -> None:
    known = Knowledge.with_rows(["mylib.meet"], {".chief": "is_main"})
    assert {"meet", "chief"} <= known.strong_words
    assert "meet" in known.row_names
    assert {"meet", "chief"}.isdisjoint(Knowledge.default().strong_words)


@pytest.mark.parametrize(
    ("layers", "attribute", "left"),
    [
        (("dp", "ddp"), "module", 1),
        (("ddp", "compile"), "_orig_mod", 1),
        (("ddp", "compile"), "module", 0),
        (("compile", "ddp"), "module", 1),
        (("compile", "ddp"), "_orig_mod", None),
        (("ddp",), "config", None),
    ],
)
def test_an_attribute_takes_off_the_layer_that_it_reads(
    layers: tuple[str, ...], attribute: str, left: int | None
) -> None:
    """`layers` from the inside out. torch.compile passes on what it lacks, DDP does not."""
    assert facts.peel(layers, attribute) == left


@pytest.mark.parametrize(("compared", "asks"), [(0, True), (-1, True), (False, False), (8, False)])
def test_a_rank_among_arguments_is_one_where_it_is_compared_with_one(
    compared: object, asks: bool
) -> None:
    """`args.rank` may be that of a matrix."""
    assert (facts.argument_attribute("args", "rank", compared) is not None) is asks


def test_an_attribute_of_the_settings_is_a_test_of_the_rank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = '[rank-predicates]\n".is_boss" = "is_main"\n'
    script = "import torch.distributed as dist\n\n\ndef main(run):\n    if run.is_boss:\n        dist.barrier()\n"
    assert _lines(tmp_path, settings, monkeypatch, script) == [6]
    assert _lines(tmp_path, "", monkeypatch, script) == []
