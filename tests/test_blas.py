"""BLAS works in one thread in every block, whichever Python threads these run in, and as before after the last one."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from quadric import blas


@pytest.fixture
def numbers():
    """How many threads BLAS has, which are two at first: the blocks that other tests run in do not count here."""
    np.ones((2, 2)) @ np.ones((2, 2))
    with pytest.MonkeyPatch.context() as patch:
        before = [library.num_threads for library in blas._libraries()]
        patch.setattr(blas, "_users", 0)
        patch.setattr(blas, "_before", [])
        blas._limit([2] * len(before))
        able = [library for library in blas._libraries() if library.num_threads == 2]  # scs brings one that never has two
        if not able:
            pytest.skip("BLAS has one thread on this machine")
        yield lambda: {library.num_threads for library in able}
        blas._limit(before)


def within(numbers):
    with blas.one_blas_thread():
        return numbers()


def test_every_python_thread_limits_blas_whichever_did_so_before(numbers):
    assert within(numbers) == {1}
    for _ in range(2):
        with ThreadPoolExecutor(1) as other:
            assert other.submit(within, numbers).result() == {1}
        assert numbers() == {2}
    assert within(numbers) == {1}


def test_the_last_block_to_end_restores_what_was_there(numbers):
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
