"""The classes that configurations name, with the keys of their sections."""

from __future__ import annotations

import pytest

from distlint.launch.kinds import Kind
from distlint.launch.sections import classes_in_sections, values_of

NESTED = """\
_target_: train.Agent
# target: old.Agent
model:
  target: models.Net   # the network
  params:
    depth: 4
    first:
        target: "models.First"
    pairs: {_target_: models.Pair, size: 2}
  after: 1
stages:
- class_path: models.One
  init_args: {}
- name: two
  class: Two
last: ${model}
"""

SECTIONS = {
    "nested": (
        NESTED,
        [
            ("", "train.Agent"),
            ("model", "models.Net"),
            ("model.params.first", "models.First"),
            ("model.params.pairs", "models.Pair"),
            ("stages", "Two"),
            ("stages", "models.One"),
        ],
    ),
    "a list to the left of what follows": (
        "a:\n  b:\n  - type: One\n    c:\n      type: Two\nd:\n  type: Three\n",
        [("a.b", "One"), ("a.b.c", "Two"), ("d", "Three")],
    ),
    "what is filled in": (
        "model:\n  class: {{ name }}\n  net:\n    class: Net\n",
        [("model.net", "Net")],
    ),
    "words and numbers": ("a:\n  type: adamw\n  target: 0.5\n  class: 3\n  target: cat\n", []),
    "no mapping": ("- a\n- b: \n", []),
}


@pytest.mark.parametrize("parts", SECTIONS.values(), ids=SECTIONS)
def test_sections_of_yaml(parts: tuple[str, list[tuple[str, str]]]) -> None:
    text, sections = parts
    assert classes_in_sections(Kind.YAML, text) == sections


def test_sections_of_json() -> None:
    text = '{"model": {"target": "a.B", "parts": [{"type": "Part"}]}, "n": 1}'
    assert classes_in_sections(Kind.JSON, text) == [("model", "a.B"), ("model.parts", "Part")]
    assert classes_in_sections(Kind.JSON, "{" * 3) == []
    assert classes_in_sections(Kind.SHELL, NESTED) == []


def test_values_under_a_key() -> None:
    text = "a:\n  monitor: val/loss\n  b:\n    monitor: 'epoch'\nmonitor: ${a.monitor}\n"
    assert values_of(Kind.YAML, text, "monitor") == [("a", "val/loss"), ("a.b", "epoch")]
