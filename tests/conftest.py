"""What all tests share: a cache of their own, so that none touches the user's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from distlint.project.cache import VARIABLE


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(tmp_path_factory.mktemp("cache")))
        yield
