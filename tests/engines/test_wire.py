"""States as bytes: what comes out is what went in, to the bit, and nothing but values of this package."""

import json
import struct
from collections import Counter
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

import quadric
from helpers.clusters import FEATURES, features, table
from quadric.distributed import wire
from quadric.distributed.tasks import Failure, PartTask, first_rows, merged, opened
from quadric.errors import ParameterError
from quadric.losses.hinge.split import SplitAt
from quadric.losses.logistic import Logistic
from quadric.losses.smooth.sums import FitAt
from quadric.losses.survey import SurveyPass
from quadric.samples.quantiles import CountedKeys
from quadric.samples.random_rows import RandomRows
from quadric.samples.source import SampleBatch, Together
from quadric.samples.sums import class_totals
from quadric.samples.target import Target
from quadric.tables.facts import MixedColumnError


def same(one, two):
    """Equal to the bit, also where a dataclass says nothing about equality."""
    assert type(one) is type(two)
    if is_dataclass(one):
        for each in fields(one):
            same(getattr(one, each.name), getattr(two, each.name))
    elif isinstance(one, tuple | list):
        assert len(one) == len(two)
        for mine, theirs in zip(one, two, strict=True):
            same(mine, theirs)
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (two.dtype, two.shape)
        np.testing.assert_array_equal(one, two)
    else:
        assert one == two or (one != one and two != two)


def batch():
    X = features(table(200))
    n, codes = X.shape[1], np.arange(200) % 2
    return (
        SampleBatch(X, Target(codes, np.ones(2)), np.ones(200), np.arange(200)),
        np.zeros(n),
        np.array([0, 3]),
        np.ones((2, 3)),
    )


def states():
    rows, middle, terms, surfaces = batch()
    yield Together((CountedKeys(), RandomRows(50)))(rows)
    yield class_totals(rows)
    yield SurveyPass(1, True, 40)(rows)
    yield SplitAt(1, middle, terms, surfaces, 0.5, 100)(rows)
    yield FitAt(Logistic(), 1, middle, terms, surfaces)(rows)
    yield quadric.moments(table(), target="y", columns=FEATURES, by_class=True)


@pytest.mark.parametrize("place", range(6))
def test_states_of_passes_come_out_as_they_went_in(place):
    state = list(states())[place]
    same(wire.from_bytes(wire.to_bytes(state)), state)


def test_values_of_all_kinds():
    values = (
        None,
        True,
        3,
        -0.5,
        float("inf"),
        "é\n",
        [1, (2,)],
        {"a": 1, 3: None},
        np.arange(3),
        np.array(["x", None], object),
    )
    same(wire.from_bytes(wire.to_bytes(values)), values)
    assert np.isnan(wire.from_bytes(wire.to_bytes(float("nan"))))
    same(wire.from_bytes(wire.to_bytes(Counter("aab"))), Counter("aab"))
    empty = (np.empty((0, 4)), np.zeros((2, 2), bool), np.array([[1.0]]), np.array(2.0))
    same(wire.from_bytes(wire.to_bytes(empty)), empty)


def test_symmetric_matrices_travel_as_triangles():
    matrix = np.random.default_rng(0).normal(size=(50, 50))
    symmetric = matrix + matrix.T
    assert len(wire.to_bytes(symmetric)) < 0.55 * len(wire.to_bytes(matrix))
    same(wire.from_bytes(wire.to_bytes(symmetric)), symmetric)


@pytest.mark.parametrize(("module", "name"), [("os", "system"), ("quadric.batches", "moments"), ("subprocess", "Popen")])
def test_nothing_else_is_made_of_bytes(module, name):
    header = json.dumps({"object": [module, name, {"command": "true"}]}).encode()
    with pytest.raises(ValueError, match="nothing that can be received"):
        wire.from_bytes(struct.pack("<Q", len(header)) + header)


def test_what_cannot_be_sent_is_refused():
    for value in (object(), np.array([1j]), 1j):
        with pytest.raises(TypeError, match="cannot be sent"):
            wire.to_bytes(value)


ERRORS = [ValueError("plain"), ParameterError("another one", missing="impute", groups=None), MixedColumnError("age")]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_of_data_travel(error):
    state = wire.to_bytes(Failure.of(error))
    with pytest.raises(type(error)) as raised:
        opened(merged([wire.to_bytes(None), state, wire.to_bytes(Failure("ValueError", "a later one", {}))]))
    assert type(raised.value) is type(error)
    assert str(raised.value) == str(error)
    assert getattr(raised.value, "remedies", None) == getattr(error, "remedies", None)


class Rows:
    """A pass that counts."""

    def __call__(self, piece):
        return piece.n_rows


def test_a_part_with_other_rows_than_counted_is_refused():
    task = PartTask(Rows(), ("a",))
    pieces = [{"a": np.zeros(3)}, {"a": np.zeros(0)}, {"a": np.zeros(2)}]
    assert opened(task(pieces, 1, 5)) == 5
    with pytest.raises(ValueError, match="other rows than before"):
        opened(task(pieces, 1, 6))


def test_first_rows():
    assert first_rows([3, 0, 2]) == (1, 4, 4)
    with pytest.raises(ValueError, match="no rows"):
        first_rows([0, 0])
