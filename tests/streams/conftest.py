"""Passes over small tables."""

import pytest


@pytest.fixture(autouse=True)
def by_passes(monkeypatch):
    """Small tables are not gathered here: these tests are about passes."""
    monkeypatch.setattr("quadric.samples.extent.PASSES_FROM", 0)
