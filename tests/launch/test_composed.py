"""What hydra composes of a project's YAML, and where nothing is known of it."""

from __future__ import annotations

import pytest

from distlint.launch.composed import compose


def test_an_option_of_a_group_stands_below_its_name() -> None:
    texts = {
        "conf/run.yaml": "defaults:\n  - net: small\nsteps: 1\n",
        "conf/net/small.yaml": "d: 2\n",
    }
    found = compose(texts, "conf", "run")
    assert found is not None
    assert found.values == {"net": {"d": 2}, "steps": 1}
    assert found.groups == {"net"}


@pytest.mark.parametrize(
    "defaults",
    [
        "[run, run, run, run]",
        "5",
        "{net: small}",
        "[[1]]",
        "[3: 4]",
        "[net: small]",
        "[net@_here_: a]",
    ],
)
def test_of_what_names_itself_or_nothing_that_is_there_nothing_is_known(defaults: str) -> None:
    assert compose({"conf/run.yaml": f"defaults: {defaults}\nsteps: 1\n"}, "conf", "run") is None
