"""docs/writing-rules.md: each rule in it finds what is marked in the code below it, and fixes it so."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from distlint import edits
from distlint.analysis.interpreter.ir import CallSite
from distlint.analysis.interpreter.values import Value
from distlint.analysis.live.summaries import CallGroup
from distlint.analysis.model import Model
from distlint.analysis.traces.divergence import Divergence
from distlint.authoring.cases import run_cases
from distlint.authoring.folders import loaded, registered, rule_folders
from distlint.authoring.scaffold import third_party_rule, write_rule

PAGE = Path(__file__).parents[2] / "docs/writing-rules.md"
BLOCK = re.compile(r"<!-- sample: (\w+) -->\n```python\n(.*?)```\n", re.DOTALL)


def _samples() -> list[dict[str, str]]:
    samples: list[dict[str, str]] = []
    for kind, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if kind == "rule":
            samples.append({})
        samples[-1][kind] = text
    return samples


SAMPLES = _samples()


def test_the_page_has_samples() -> None:
    assert len(SAMPLES) >= 6
    assert all("code" in sample for sample in SAMPLES)


@pytest.mark.parametrize("number", range(len(SAMPLES)))
def test_a_sample_does_what_the_page_says(number: int, tmp_path: Path) -> None:
    sample = SAMPLES[number]
    new = third_party_rule("HOUSE001", "sample-rule", tmp_path / f"sample_{number}", ())
    write_rule(new)
    head = (new.folder / "__init__.py").read_text().partition("def check(")[0]
    (new.folder / "__init__.py").write_text(head + sample["rule"])
    (new.folder / "cases.py").write_text(sample["code"])
    (new.folder / "cases.fixed.py").unlink()
    if "fixed" in sample:
        (new.folder / "cases.fixed.py").write_text(sample["fixed"])
    (folder,) = rule_folders([new.folder])
    with registered([folder]) as known:
        result = run_cases(folder, loaded(folder), known, rewrite=False)
    assert not result.failures, result.failures
    assert result.fixes == ("fixed" in sample)


@pytest.mark.parametrize("kind", [CallGroup, CallSite, Value, Divergence], ids=lambda k: k.__name__)
def test_what_the_tables_name_is_there(kind: type) -> None:
    text = PAGE.read_text(encoding="utf-8")
    table = text.partition(f"| of a `{kind.__name__}` | |\n|---|---|\n")[2].partition("\n\n")[0]
    cells = [row.split("|")[1] for row in table.splitlines()]
    names = {name for cell in cells for name in re.findall(r"`(\w+)", cell)}
    assert names
    fields = getattr(kind, "__dataclass_fields__", {})
    assert [name for name in sorted(names - set(fields)) if not hasattr(kind, name)] == []


def test_what_the_page_asks_of_a_model_is_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    analysed = [block for kind, block in BLOCK.findall(text) if kind != "rule"]
    for block in analysed:
        text = text.replace(block, "")
    names = set(re.findall(r"\bmodel\.(\w+)", text))
    assert [name for name in sorted(names) if not hasattr(Model, name)] == []


def test_every_edit_is_in_the_table_with_its_fields() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("| edit | |")[2].partition("\n\n")[0]
    shown = dict(re.findall(r"^\| `(\w+)\((.*?)\)`", text, re.M))
    kinds = edits.Edit.__args__
    assert sorted(shown) == sorted(kind.__name__ for kind in kinds)
    for kind in kinds:
        known = {field.name for field in dataclasses.fields(kind)}
        assert (
            set(re.findall(r"(\w+)(?:=\w+)?", shown[kind.__name__].replace("=False", ""))) <= known
        )
