"""One cluster of Dask for all tests of a process, with whole tables to compare with."""

import pytest

from helpers.clusters import dask_cluster


@pytest.fixture(scope="session")
def cluster():
    with dask_cluster() as client:
        yield client


@pytest.fixture(autouse=True)
def by_passes(monkeypatch):
    """Small tables are not gathered here: these tests are about passes."""
    monkeypatch.setattr("quadric.samples.extent.PASSES_FROM", 0)
