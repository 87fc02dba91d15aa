"""Shares of work done reach whoever listens."""

import pytest

from quadric.progress import advance, counted, listening, part


def heard(work):
    told = []
    with listening(lambda share, what: told.append((share, what))):
        work()
    return told


def test_nobody_has_to_listen():
    advance(0.5, "reading")
    with part(0.0, 0.5):
        assert list(counted("abc", 3, "letters")) == list("abc")


def test_parts_within_parts():
    def work():
        with part(0.5, 1.0):
            advance(0.0, "half")
            with part(0.0, 0.5):
                advance(1.0, "inner")
        advance(1.0, "done")

    assert heard(work) == [(0.5, "half"), (0.75, "inner"), (1.0, "done")]


def test_counted_items():
    assert heard(lambda: list(counted(range(4), 4, "folds"))) == [(done / 4, "folds") for done in range(5)]


def test_a_share_is_told_before_the_first_item_comes_and_when_an_item_is_done():
    told = []

    def results():
        for number in range(2):
            told.append(f"at work on {number}")
            yield number

    with listening(lambda share, what: told.append(share)):
        list(counted(results(), 2, "folds"))
    assert told == [0.0, "at work on 0", 0.5, "at work on 1", 1.0]


def test_a_listener_goes_with_its_block():
    told = []
    with pytest.raises(ZeroDivisionError), listening(lambda *progress: told.append(progress)):
        raise ZeroDivisionError
    advance(0.5, "unheard")
    assert told == []
