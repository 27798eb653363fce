"""The interpreter that ranks are forked off: one for all proofs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from distlint.proving import warm


@pytest.fixture(scope="session")
def interpreter() -> Iterator[warm.WarmInterpreter]:
    pytest.importorskip("torch")
    with warm.interpreter() as started:
        yield started
