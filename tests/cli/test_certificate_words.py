"""What ``fit`` and ``certify`` say of a certificate is what the certificate says, no more."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from quadric import Certificate, QuadraticSurface
from quadric.fitted import fitted_model
from quadric.report.story import proved
from quadric.workflow.fit_summary import _proofs, certificate_words

SETTLED = Certificate(10.0, 5, 5, 1e-12, 1e-9, True, True, 0.0)


def words(certificate, is_constant=False):
    return certificate_words(certificate, is_constant, "no bound")


def test_a_local_minimum():
    assert words(SETTLED) == "objective 10; no better surface nearby; no bound"


def test_coefficients_that_are_rounding_are_called_that():
    text = words(SETTLED, is_constant=True)
    assert "nearby" not in text
    assert "f is the same for all rows" in text


@pytest.mark.parametrize(
    ("decrease", "expected"),
    [
        (0.23, "the fit could be improved by up to 23 %"),
        (2e-6, "the fit could be improved by up to 0.1 %"),
        (1.0, "not proved: how far the fit could be improved is not known"),
        (np.inf, "not proved: how far the fit could be improved is not known"),
    ],
)
def test_a_fit_that_can_be_improved(decrease, expected):
    text = words(replace(SETTLED, decrease=decrease, local_minimum=False))
    assert expected in text
    assert "nearby" not in text


def test_bounds():
    assert "proved best with at most 5 terms" in words(SETTLED.bounded(10.0))
    assert "the best is at most 50.0 % lower (bound 5)" in words(SETTLED.bounded(5.0))
    assert words(SETTLED.bounded(None)).endswith("; no bound")
    assert "at most 0.1 % lower" in words(SETTLED.bounded(9.9999))  # what a bound leaves open is rounded up
    assert "at most 20.1 % lower" in words(SETTLED.bounded(7.9999))
    assert "at most 20.0 % lower" in words(SETTLED.bounded(8.0))
    assert "by more than 0.1" in proved(SETTLED.bounded(9.9999))


def test_sentences_of_the_report():
    assert proved(SETTLED).startswith("Not proved: there is no safe bound on these data")
    assert "standardise them" in proved(SETTLED)
    assert proved(SETTLED.bounded(10.0)).startswith("Proved: no equation with at most 5 terms has")
    assert proved(SETTLED.bounded(10.0), is_ruled=True).startswith(
        "Proved: no equation with at most 5 terms that keeps the rules has"
    )
    loose = replace(SETTLED, decrease=0.23, local_minimum=False)
    assert "could lower the objective by up to 23.0" in proved(loose.bounded(5.0))
    assert "is not known" in proved(replace(loose, decrease=1.0))


def test_surfaces_that_are_constant():
    X = np.random.default_rng(0).normal(size=(50, 2))
    for c in (0.0, 1.0, -1e3):
        assert fitted_model(QuadraticSurface(np.full((2, 2), 1e-14), [1e-14, 0.0], c)).is_constant(X) == [True]
    assert fitted_model(QuadraticSurface(np.zeros((2, 2)), [1e-3, 0.0], 1.0)).is_constant(X) == [False]
    assert fitted_model(QuadraticSurface(np.zeros((2, 2)), [1e-10, 0.0], 0.0)).is_constant(1e10 * X) == [False]


def test_a_model_without_any_slope_is_not_called_fine(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 4))
    lines = [f"{','.join(f'{x:.3f}' for x in row)},{'bad' if i < 8 else 'good'}" for i, row in enumerate(X)]
    (tmp_path / "data.csv").write_text("\n".join(["a,b,c,d,risk", *lines]))
    fit = ["fit", tmp_path / "data.csv", "--target", "risk", "--k", 5, "--C", 0.01, "--loss", "hinge", "--no-calibrate"]
    refused = run(*fit, "--output", tmp_path / "m.json")
    assert refused.code == 2
    assert "the coefficients are only rounding" in refused.errors[-1]
    assert refused.errors[-1].endswith("(--class-weight balanced, --allow-degenerate)")
    result = run(*fit, "--allow-degenerate", "--output", tmp_path / "m.json")
    again = run("certify", tmp_path / "m.json", tmp_path / "data.csv", "--time-limit", 0)
    for text in (" ".join(result.out.split()), " ".join(again.out.split())):
        assert "no term moves any score: f is the same for all rows" in text
        assert "nearby" not in text


def proofs_of(certificates, stopped=False):
    classifier = SimpleNamespace(certificates_=certificates)
    names = ["a", "b", "c"][: max(len(certificates), 2)]
    return _proofs(
        SimpleNamespace(classifier=classifier, view=SimpleNamespace(is_ruled=False), data=SimpleNamespace(class_names=names)),
        stopped,
    )


def test_a_proof_is_told_in_one_line_where_all_classes_have_the_same():
    best, open_ = SETTLED.bounded(10.0), SETTLED.bounded(5.0)
    assert proofs_of([best]) == {"proof": "proved best with at most 5 terms"}
    assert proofs_of([best] * 3) == {"proof": "proved best with at most 5 terms"}
    assert proofs_of([best, open_, best]) == {
        "proof, a": "proved best with at most 5 terms",
        "proof, b": "the best is at most 50.0 % lower (bound 5)",
        "proof, c": "proved best with at most 5 terms",
    }


def test_a_proof_that_was_stopped_says_what_is_left():
    assert proofs_of([SETTLED.bounded(5.0)], True) == {"proof": "stopped by Ctrl-C; the best is at most 50.0 % lower (bound 5)"}
    assert proofs_of([SETTLED.bounded(10.0)], True) == {"proof": "proved best with at most 5 terms"}
