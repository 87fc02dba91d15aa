"""BLAS works in one thread in every block, whichever Python threads these run in, and as before after the last one."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from quadric import blas


def numbers():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture
def two():
    """BLAS with two threads: the blocks that other tests run in do not count here."""
    np.ones((2, 2)) @ np.ones((2, 2))
    with pytest.MonkeyPatch.context() as patch:
        before = [library.num_threads for library in blas._libraries()]
        patch.setattr(blas, "_users", 0)
        patch.setattr(blas, "_before", [])
        blas._limit([2] * len(before))
        if numbers() != {2}:
            pytest.skip("BLAS has one thread on this machine")
        yield
        blas._limit(before)


def within():
    with blas.one_blas_thread():
        return numbers()


def test_every_python_thread_limits_blas_whichever_did_so_before(two):
    assert within() == {1}
    for _ in range(2):
        with ThreadPoolExecutor(1) as other:
            assert other.submit(within).result() == {1}
        assert numbers() == {2}
    assert within() == {1}


def test_the_last_block_to_end_restores_what_was_there(two):
    first, second = blas.one_blas_thread(), blas.one_blas_thread()
    with ThreadPoolExecutor(1) as other:
        first.__enter__()
        other.submit(second.__enter__).result()
        first.__exit__(None, None, None)
        assert numbers() == {1}
        other.submit(second.__exit__, None, None, None).result()
    assert numbers() == {2}
    with threadpool_limits(1, user_api="blas"):  # limits of others work again
        assert numbers() == {1}
    assert numbers() == {2}
