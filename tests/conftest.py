"""One BLAS thread in tests: kernels called directly, outside the library's own limits, repeat and do not fight for cores."""

import pytest

from quadric.blas import one_blas_thread


@pytest.fixture(autouse=True)
def _one_blas_thread():
    with one_blas_thread():
        yield


EXTERNAL = {"browser", "in_postgres", "recalculated", "spark", "spark_session"}
"""Fixtures and helpers of tests that start a browser, a database, LibreOffice or Java."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if EXTERNAL & {*item.fixturenames, *vars(item.module)}:
            item.add_marker("external")
    items.sort(key=lambda item: "spark" not in item.fixturenames)  # one process runs them all: Java starts and warms up once


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="Run tests/robustness at full size.")
