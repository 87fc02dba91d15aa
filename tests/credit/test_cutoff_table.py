"""What follows from a cut-off, by counting."""

import numpy as np
import pytest

from quadric.credit import cutoff_table


@pytest.mark.parametrize("seed", range(6))
def test_every_row_is_what_counting_says(seed):
    rng = np.random.default_rng(seed)
    y, points = rng.integers(0, 2, 400), rng.normal(500, 40 + 60 * seed, 400)
    table = cutoff_table(y, points, 20.0, (5.0, 1.0))
    assert 2 <= len(table.lowest) <= 24
    assert table.lowest[-1] == -np.inf
    assert table.count.sum() == 400
    for row in table.rows():
        approved = points >= row["lowest"]
        assert row["approved"] == pytest.approx(approved.mean(), abs=1e-12)
        assert row["approved_event_rate"] == pytest.approx(y[approved].mean(), abs=1e-12)
        assert row["missed"] == pytest.approx(y[approved].sum() / y.sum(), abs=1e-12)
        cost = 5.0 * np.sum(approved & (y == 1)) + np.sum(~approved & (y == 0))
        assert row["cost"] == pytest.approx(cost / 400, abs=1e-12)
    widths = np.diff(table.lowest[:-1])
    assert np.allclose(widths, widths[0])
    assert (table.lowest[0] / 20.0) % 1.0 == 0.0


def test_weights_are_repetitions_and_other_labels_have_an_event():
    rng = np.random.default_rng(1)
    y, points, weight = rng.choice(["bad", "good"], 60), rng.normal(0, 30, 60), np.full(60, 2.0)
    plain = cutoff_table(np.repeat(y, 2), np.repeat(points, 2), 10.0, event="bad")
    weighted = cutoff_table(y, points, 10.0, sample_weight=weight, event="bad")
    for name, values in vars(plain).items():
        np.testing.assert_allclose(vars(weighted)[name], values, rtol=1e-12)
    assert np.isnan(plain.cost).all()


def test_a_width_of_zero_is_refused():
    with pytest.raises(ValueError, match="width"):
        cutoff_table([0, 1], [1.0, 2.0], 0.0)
