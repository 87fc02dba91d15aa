"""Memory: what there is, what a fit needs, and the refusal of what does not fit."""

from __future__ import annotations

import sys
import tracemalloc
import warnings
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV, alternatives, certify, resources, sparse_quadratic_path
from quadric.baselines import QuadraticSVC
from quadric.errors import MemoryLimitError
from quadric.losses import LOSS_NAMES
from quadric.losses.footprint import affordable_processes, bytes_needed, check_memory
from quadric.resources import Room, memory, processes_of
from quadric.samples import extent
from quadric.samples.extent import Extent

SMALL, HUGE = (200, 24), (4, 2_100)
"""Shapes of X: 324 terms; 2.2 million terms, whose vectors have 18 megabytes and whose matrices 36 terabytes each."""


def samples(shape=SMALL, n_classes=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape)
    return X, np.digitize(X[:, 0] * X[:, 1] + X[:, 2], np.linspace(-0.5, 0.5, n_classes - 1)) if shape[0] > 10 else X[:, 0] > 0


def peak_of(work):
    """Bytes that were allocated at the same time, as Python and numpy tell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        work()  # what is loaded and cached at first use is not what the work needs
        tracemalloc.start()
        try:
            work()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


def sparse(X, y, loss, method, **parameters):
    return SparseQuadraticSVC(k=3, loss=loss, method=method, time_limit=0.2, **parameters).fit(X, y)


WORK = {
    "pd": (lambda X, y, loss: sparse(X, y, loss, "pd"), {}),
    "best": (lambda X, y, loss: sparse(X, y, loss, "best"), {}),
    "exact": (lambda X, y, loss: sparse(X, y, loss, "exact"), {"proves": True}),
    "path": (lambda X, y, loss: sparse_quadratic_path(X, y, ks=[1, 2], Cs=[1.0, 4.0, 16.0], loss=loss), {"grid": (3, 2)}),
    "certified path": (
        lambda X, y, loss: sparse_quadratic_path(X, y, ks=[1, 2], Cs=[1.0, 4.0], loss=loss, certify=True),
        {"grid": (2, 2), "proves": True},
    ),
    "cross-validation": (
        lambda X, y, loss: SparseQuadraticSVCCV([1, 2], [1.0, 4.0], loss=loss, cv=3, time_limit=0.2).fit(X, y),
        {"grid": (2, 2), "n_scored": SMALL[0] // 3, "n_folds": 3},
    ),
}


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("work", WORK)
def test_no_fit_takes_more_than_was_estimated(work, loss, monkeypatch):
    monkeypatch.setattr("quadric.geometry.lifting.CHUNK_BYTES", 1 << 16)  # else blocks of rows outweigh the matrices
    monkeypatch.setattr(extent, "CHUNK_BYTES", 1 << 16)
    X, y = samples()
    run, details = WORK[work]
    peak, estimate = peak_of(lambda: run(X, y, loss)), bytes_needed(loss, Extent(X.shape, **details))
    assert peak <= estimate <= 4 * peak


@pytest.mark.slow
def test_searches_by_passes_need_no_block_of_lifted_rows():
    X, y = samples((100_000, 8))
    needed = partial(bytes_needed, "hinge")
    assert peak_of(lambda: SparseQuadraticSVC(k=10, C=0.1, loss="hinge").fit(X, y)) <= needed(Extent(X.shape, by_passes=True))
    assert needed(Extent((1_000_000, 20), by_passes=True)) < 0.5 * needed(Extent((1_000_000, 20)))


def test_searches_by_passes_are_allowed_where_lifted_rows_would_not_fit(monkeypatch):
    class Allowed(Exception):  # noqa: N818 - no fault
        pass

    def stop(*_):
        raise Allowed

    machine(monkeypatch, 2 << 30)
    monkeypatch.setattr(SparseQuadraticSVC, "_fit_surfaces", stop)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600_000, 20)), rng.random(600_000) < 0.5
    model = SparseQuadraticSVC(k=3, loss="hinge", clip=None, standardize=False)
    with pytest.raises(Allowed):
        model.fit(X, y)
    with pytest.raises(MemoryLimitError):
        model.set_params(method="pd").fit(X, y)


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("k", [3, 40])
def test_no_fit_with_many_terms_takes_more_than_was_estimated(k, loss, monkeypatch):
    """The vectors of all terms must count, not what every fit needs."""
    monkeypatch.setattr("quadric.geometry.lifting.CHUNK_BYTES", 1 << 16)
    monkeypatch.setattr(extent, "CHUNK_BYTES", 1 << 16)
    for module in ("base", "footprint"):
        monkeypatch.setattr(f"quadric.losses.{module}.WORKING_TERMS", 50)
    for module in ("footprint", "least_squares.curvature"):
        monkeypatch.setattr(f"quadric.losses.{module}.KEPT_BYTES", 0)
    monkeypatch.setattr("quadric.search.methods.MOST_PERTURBED", 50)
    X, y = samples((200, 150))
    fit = SparseQuadraticSVC(k=k, loss=loss, time_limit=0.5)
    peak, estimate = peak_of(lambda: fit.fit(X, y)), bytes_needed(loss, Extent(X.shape, k=k))
    assert peak <= estimate <= 6 * peak


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_classes_and_rows_count(loss):
    X, y = samples((3_000, 12), n_classes=4)
    estimate = bytes_needed(loss, Extent(X.shape, n_classes=4))
    assert peak_of(lambda: sparse(X, y, loss, "pd")) <= estimate
    bigger = [Extent((6_000, 12), 4), Extent((3_000, 24), 4)]
    assert all(bytes_needed(loss, extent) > estimate for extent in bigger)


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize(
    "work",
    [
        lambda X, y, loss: SparseQuadraticSVC(k=2, loss=loss).fit(X, y),
        lambda X, y, loss: SparseQuadraticSVC(k=2, loss=loss, exclude=["x0*"]).fit(X, y),
        lambda X, y, loss: SparseQuadraticSVCCV(loss=loss, cv=2).fit(X, y),
        lambda X, y, loss: sparse_quadratic_path(X, y, loss=loss),
        lambda X, y, loss: certify(surface_of(X.shape[1]), X, y, loss=loss, C=1.0, k=2),
    ],
    ids=["fit", "fit with exclusions", "cross-validation", "path", "certify"],
)
def test_what_no_machine_can_hold_is_refused_before_it_is_allocated(work, loss, monkeypatch):
    machine(monkeypatch, 2**30)
    X, y = np.random.default_rng(0).normal(size=HUGE), np.array([0, 1, 0, 1])
    tracemalloc.start()
    try:
        with pytest.raises(MemoryLimitError, match=r"^4 rows of 2,100 features \(2,208,150 terms\) need about .* GB of memory"):
            work(X, y, loss)
        assert tracemalloc.get_traced_memory()[1] < 200 << 20
    finally:
        tracemalloc.stop()


def test_proofs_that_do_not_fit_are_refused_where_there_is_no_point_without_them(monkeypatch):
    X, y = samples((40, 60))
    model = SparseQuadraticSVC(k=2, loss="least_squares").fit(X, y)
    machine(monkeypatch, 250 << 20)
    assert certify(model, X, y, time_limit=0)[0].lower_bound is None
    assert alternatives(model, X, y).surfaces[0].objective > 0.0
    with pytest.raises(MemoryLimitError, match="40 rows of 60 features"):
        alternatives(model, X, y, prove=True, time_limit=0)


def surface_of(n_features):
    from quadric import QuadraticSurface

    return QuadraticSurface(np.zeros((n_features, n_features)), np.eye(n_features)[0], 0.0)


def test_the_dense_machine_is_refused_too():
    with pytest.raises(MemoryError, match="need about"):
        QuadraticSVC().fit(np.random.default_rng(0).normal(size=HUGE), [0, 1, 0, 1])


def machine(monkeypatch, size, words="this machine has"):
    monkeypatch.setattr(resources, "_physical", lambda: iter([Room(size, words)]))


def test_the_refusal_names_the_way_out(monkeypatch):
    machine(monkeypatch, 2**30)
    check_memory("hinge", Extent((100_000, 12)))
    with pytest.raises(MemoryLimitError, match=r"has 1\.0 GB: .*, or the loss least_squares, which needs 0\.\d GB$") as refused:
        check_memory("hinge", Extent((1_000_000, 12)))
    assert refused.value.remedies == {"loss": "least_squares"}
    proof = r'take fewer columns, at most about 8\d features, or the method "best", which proves nothing and needs 0\.\d GB$'
    with pytest.raises(MemoryLimitError, match=proof) as refused:
        check_memory("least_squares", Extent((100, 200), proves=True))
    assert refused.value.remedies == {"method": "best"}
    check_memory("least_squares", Extent((100, 200)))
    with pytest.raises(MemoryLimitError, match=r"take fewer columns, at most about 1,?[3-6]\d\d features$"):
        check_memory("least_squares", Extent((100, 3_000)))
    with pytest.raises(MemoryLimitError, match=r"has 0\.2 GB for each of 4 processes: take fewer processes$") as refused:
        check_memory("least_squares", Extent((100, 40)), processes=4)
    assert refused.value.remedies == {"n_jobs": "1"}
    assert affordable_processes("least_squares", Extent((100, 40)), 4) == 3
    monkeypatch.setattr(resources, "_physical", lambda: iter(()))
    monkeypatch.setattr(resources, "_control_groups", lambda: iter(()))
    monkeypatch.setattr(resources, "_process_limits", lambda: iter(()))
    check_memory("hinge", Extent((10**9, 1_000)))  # a system that does not say how much it has


def test_the_smallest_limit_counts(monkeypatch, tmp_path):
    machine(monkeypatch, 8 << 30)
    monkeypatch.setattr(resources, "_process_limits", lambda: iter(()))
    monkeypatch.setattr(resources, "CGROUPS", tmp_path)
    monkeypatch.setattr(resources, "MEMBERSHIP", tmp_path / "membership")
    assert memory() == Room(8 << 30, "this machine has")
    (tmp_path / "membership").write_text("0::/user/job\n")
    (tmp_path / "user" / "job").mkdir(parents=True)
    (tmp_path / "user" / "job" / "memory.max").write_text("max\n")
    assert memory() == Room(8 << 30, "this machine has")
    (tmp_path / "user" / "memory.max").write_text(f"{2 << 30}\n")  # the limit of the group around it
    assert memory(2) == Room(1 << 30, "its control group allows")
    (tmp_path / "membership").write_text("5:cpu:/\n4:cpuset,memory:/job\n0::/\n")
    (tmp_path / "memory" / "job").mkdir(parents=True)
    (tmp_path / "memory" / "job" / "memory.limit_in_bytes").write_text(f"{3 << 30}\n")
    assert memory() == Room(3 << 30, "its control group allows")


def test_limits_of_the_process_count_what_it_has_already(monkeypatch, tmp_path):
    resource = pytest.importorskip("resource", reason="this system has no limits of processes")
    machine(monkeypatch, 2**60)
    monkeypatch.setattr(resources, "_control_groups", lambda: iter(()))
    monkeypatch.setattr(resources, "USED_PAGES", tmp_path / "statm")
    limits = {resource.RLIMIT_AS: 4 << 30, resource.RLIMIT_DATA: resource.RLIM_INFINITY}
    monkeypatch.setattr(resource, "getrlimit", lambda limit: (limits[limit], limits[limit]))
    (tmp_path / "statm").write_text(f"{(1 << 30) // resource.getpagesize()} 1 1 1 0 1 0\n")
    assert memory(8) == Room(3 << 30, "the limit of this process (ulimit -v) leaves")
    (tmp_path / "statm").unlink()  # macOS does not say what a process uses
    assert memory() == Room(4 << 30, "the limit of this process (ulimit -v) leaves")


def test_a_system_without_such_files_has_physical_memory_only(monkeypatch, tmp_path):
    monkeypatch.setattr(resources, "MEMBERSHIP", tmp_path / "none")
    monkeypatch.setitem(sys.modules, "resource", None)  # as on Windows
    monkeypatch.setattr("os.sysconf", {"SC_PHYS_PAGES": 1 << 20, "SC_PAGE_SIZE": 4096}.__getitem__, raising=False)
    assert memory() == Room(4 << 30, "this machine has")
    monkeypatch.setattr("os.sysconf", lambda name: -1)
    assert memory() is None
    monkeypatch.delattr("os.sysconf")
    assert memory() is None


def test_windows_is_asked_in_its_own_way(monkeypatch, tmp_path):
    def answer(reference):
        status = reference._obj
        assert status.length == 64  # of MEMORYSTATUSEX
        status.physical = 7 << 30
        return 1

    kernel = SimpleNamespace(GlobalMemoryStatusEx=answer)
    monkeypatch.setattr(resources.ctypes, "windll", SimpleNamespace(kernel32=kernel), raising=False)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(resources, "MEMBERSHIP", tmp_path / "none")
    monkeypatch.setitem(sys.modules, "resource", None)
    assert memory() == Room(7 << 30, "this machine has")
    kernel.GlobalMemoryStatusEx = lambda reference: 0
    assert memory() is None


def test_no_more_processes_than_tasks_and_memory(monkeypatch):
    assert processes_of(None, 5) == 1
    assert processes_of(2, 5) == 2
    assert processes_of(500, 3) == 3
    machine(monkeypatch, 4 << 30)
    with pytest.raises(
        MemoryLimitError, match=r"^500 processes need about 122\.1 GB of memory for themselves, and this machine"
    ):
        processes_of(500, 10_000)
