"""What all tests share: a cache of their own, so that none touches the user's, and where ranks come from."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from distlint.project.cache import VARIABLE
from distlint.proving import warm

# Half a million objects of torch and of the tests live to the end: nobody looks for cycles among them.
gc.disable()

# How long an example takes says how busy the machine is: CI runs more than it has cores.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_project_around(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a test checks in a folder of its own belongs to no project: not to distlint's, whose pages say which Python it needs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("here"))
        yield


@pytest.fixture(scope="session")
def interpreter() -> Iterator[warm.WarmInterpreter]:
    """The interpreter that ranks are forked off: one for all tests of a worker."""
    pytest.importorskip("torch")
    with warm.interpreter() as started:
        yield started
