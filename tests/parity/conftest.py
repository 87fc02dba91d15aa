"""One cluster of Dask and one session of Spark for all doors."""

import pytest

from helpers.clusters import dask_cluster, spark_session


@pytest.fixture(scope="module")
def cluster():
    with dask_cluster() as client:
        yield client


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    with spark_session(tmp_path_factory.mktemp("spark")) as session:
        yield session
