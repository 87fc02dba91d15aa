"""No test sees the user's own data or the network: a cache of its own, and a public home where nobody answers."""

import hashlib
from dataclasses import replace

import pytest

from helpers.original_files import CONVERTED, ORIGINAL, loopback_home, zip_of
from quadric.datasets import fetching, registry


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.delenv("QUADRIC_DATA", raising=False)
    monkeypatch.setenv("QUADRIC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(fetching, "PUBLIC_HOME", "http://127.0.0.1:9/nobody")
    monkeypatch.setattr(fetching, "PAUSE", 0.0)
    return tmp_path / "cache"


@pytest.fixture
def home():
    with loopback_home() as running:
        yield running


@pytest.fixture
def small(home, monkeypatch):
    """haberman with four rows, and a home that has it."""
    info = replace(registry.REGISTRY["haberman"], shape=(4, 3), sha256=hashlib.sha256(CONVERTED).hexdigest())
    monkeypatch.setattr(registry, "REGISTRY", {**registry.REGISTRY, "haberman": info})
    home.files = {"/public/43/haberman+s+survival.zip": zip_of({"haberman.names": b"about", "haberman.data": ORIGINAL})}
    return info
