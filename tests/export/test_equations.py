"""Equations, read back and evaluated."""

import json
import re

import numpy as np
import pytest
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from helpers.random_models import HOSTILE_NAMES, allowed_error, fitted_classifier, pipeline_of, random_model, rows_of, scores_of
from quadric.export import equation, expanded, scoring_model, to_latex
from quadric.export.equations import shown
from quadric.fitted import fitted_model
from quadric.geometry.surface import QuadraticSurface

LEVEL = re.compile(r"\[(\w+) = (\w+)\]")
GROUP = re.compile(r"\[(\w+) (one|none) of \(([^)]*)\)\]")
MISSING = re.compile(r"\[(\w+) is missing\]")
RANK = re.compile(r"rank\((\w+)\)")


def filled(model, row):
    """The row with what the encoder puts in place of missing values."""
    return {c.name: row[c.name] if row[c.name] is not None else c.fill for c in pipeline_of(model)[0].inputs_}


def caps_in(text):
    """What the legend of an equation says: the limits by the text of the feature."""
    caps = [
        cap for line in text.split("\n") if line.startswith("Capped: ") for cap in line.removeprefix("Capped: ").split("; ")
    ]
    parts = [re.fullmatch(r"(.+) at (\S+) and (\S+?)\.?", cap) for cap in caps]
    return {part[1]: (float(part[2]), float(part[3])) for part in parts}


def evaluated(text, model, row, caps):
    """The value of an equation in plain text: brackets and names replaced by numbers, the rest by Python."""

    def capped(name, value):
        low, high = caps.get(name, (-np.inf, np.inf))
        return f"({float(min(max(value, low), high))!r})"

    ranks = {c.name: c.categories for c in pipeline_of(model)[0].inputs_}
    values = filled(model, row)
    text = LEVEL.sub(lambda m: str(int(values[m[1]] == m[2])), text)
    text = GROUP.sub(lambda m: str(int((values[m[1]] in m[3].split(", ")) == (m[2] == "one"))), text)
    text = MISSING.sub(lambda m: str(int(row[m[1]] is None)), text)
    text = RANK.sub(lambda m: capped(m[0], ranks[m[1]].index(values[m[1]])), text)
    text = re.sub(r"(?<![\w.])[a-z_]{2,}", lambda m: capped(m[0], values[m[0]]), text)
    return eval(text.replace("^", "**"), {"__builtins__": {}})


def from_latex(text):
    """LaTeX as the plain text that it prints."""
    text = text.replace(r"\_", "_")
    text = re.sub(r"\\text\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"\\operatorname\{rank\}", "rank", text)
    text = re.sub(r" \\cdot 10\^\{(-?\d+)\}", r"e\1", text)
    text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", text)
    return text.replace(r"\left", "").replace(r"\right", "").replace(r"\,", "*").replace(r"\quad", "")


def right_hand_sides(latex):
    body = latex.split(r"\begin{align*}")[1].split(r"\end{align*}")[0]
    rows = [row.partition("&") for row in body.strip().split("\\\\\n")]
    sides = []
    for left, _, row in rows:
        if left.strip():
            sides.append("")
        sides[-1] += row.removeprefix("=")
    return [from_latex(side).strip() for side in sides]


@pytest.mark.parametrize("form", ["centred", "expanded"])
@pytest.mark.parametrize("seed", range(25))
def test_equations_in_text_and_latex_are_the_scores(seed, form):
    model, table = random_model(seed, hostile=False)
    scores, rows = scores_of(model, table), rows_of(table)
    allowed = allowed_error(model, table)
    text, printed = equation(model, form=form, precision=17), to_latex(model, form=form, precision=17)
    plain = [line.partition(" = ")[2] for line in text.split("\n")[: scores.shape[1]]]
    latex = right_hand_sides(printed)
    assert len(plain) == len(latex) == scores.shape[1]
    sizes = expanded_sizes(model, table) if form == "expanded" else 0.0
    for sides, caps in ((plain, caps_in(text)), (latex, caps_in(from_latex(printed).replace("$", "")))):
        found = np.array([[evaluated(side, model, row, caps) for side in sides] for row in rows])
        assert (np.abs(found - scores) <= allowed + 1e-9 * sizes).all()


def expanded_sizes(model, table):
    """Sums of the absolute terms in raw units, by the surface's own expansion."""
    pipeline = pipeline_of(model)
    parts, units = dict(pipeline.steps), pipeline[-1]._units
    units = fitted_model(pipeline).units
    X = np.clip(parts["coding"].transform(table), units.low, units.high)
    scaler = parts.get("scaler")
    center = np.zeros(X.shape[1]) if scaler is None or not scaler.with_mean else scaler.mean_
    scale = np.ones(X.shape[1]) if scaler is None or not scaler.with_std else scaler.scale_
    raw = [surface.unscale(units.center, units.scale).unscale(center, scale) for surface in parts["classifier"].surfaces_]
    return np.column_stack([QuadraticSurface(np.abs(s.W), np.abs(s.b), abs(s.c))(np.abs(X)) for s in raw])


def test_the_centred_form_has_k_terms_and_the_expanded_one_says_that_it_has_more():
    scaler = StandardScaler().fit(np.array([[24.1, 1000.0], [46.9, 3000.0]]))
    surface = QuadraticSurface([[0.0, 0.3], [0.3, 0.0]], [0.0, 0.0], -0.5)
    model = Pipeline([("scaler", scaler), ("classifier", fitted_classifier([surface], [0, 1]))])
    assert equation(model) == "f = 0.3*(x0 - 35.5)/11.4*(x1 - 2000)/1000 - 0.5"
    first, note = equation(model, form="expanded").split("\n")
    assert first == "f = -0.0526315789*x0 - 0.000934210526*x1 + 2.63157895e-05*x0*x1 + 1.36842105"
    assert note == "(expanded to raw units: 3 terms for the model's 1, which are counted in centred variables)"
    assert len(expanded(scoring_model(model)).surfaces[0].products) == 3


def test_squares_and_signs_are_written_as_people_do():
    scaler = StandardScaler().fit(np.array([[-3.0, 0.0], [-1.0, 0.0]]))
    surface = QuadraticSurface([[-4.0, 0.0], [0.0, 2.0]], [1.0, 0.0], 0.0)
    model = Pipeline([("scaler", scaler), ("classifier", fitted_classifier([surface], [0, 1]))])
    assert equation(model) == "f = -2*(x0 + 2)^2 + 1*x1^2 + 1*(x0 + 2) + 0"


def model_of_all_names():
    """A linear model whose features have all the hostile names at once."""
    n = len(HOSTILE_NAMES)
    model = fitted_classifier([QuadraticSurface(np.zeros((n, n)), np.ones(n), 0.0)], HOSTILE_NAMES[:2])
    model.feature_names_in_ = np.array(HOSTILE_NAMES, dtype=object)
    return model


@pytest.mark.parametrize("seed", [*range(20), None])
def test_names_cannot_break_out_of_the_text(seed):
    scoring = scoring_model(model_of_all_names() if seed is None else random_model(seed)[0])
    n_scores = len(scoring.surfaces)
    lines = equation(scoring).split("\n")
    assert len([line for line in lines if not line.startswith("Capped: ")]) == n_scores
    assert all(line.isprintable() for line in lines)
    body = "\n".join(line for line in to_latex(scoring).split("\n") if not line.startswith("%"))
    assert _is_balanced(body)
    body = re.sub(r"^Capped: .*\n", _without_formulas, body, flags=re.MULTILINE)
    assert body.splitlines() == body.removesuffix("\n").split("\n")
    # Without commands, escapes and the few signs that the equation itself needs, nothing special is left
    bare = re.sub(r"\\[a-zA-Z]+\*?|\\[\\{}$&#_%,]|^f_|10\^|\)\^2", "", body, flags=re.MULTILINE)
    assert not set(bare) & set('\\~#$%"<>|_^')
    marks = [row.count("&") for row in bare.split("\n")]
    n_columns = len(scoring.inputs) + n_scores + 1
    assert set(marks) <= {0, 1, n_columns - 1}
    assert marks.count(n_columns - 1) >= len(scoring.samples) + 1


@pytest.mark.parametrize("text", [*HOSTILE_NAMES, "line\nend", "line\\nend", "\x7f", "\u2028 and \U000e0001"])
def test_quoted_texts_can_be_read_back(text):
    written = shown(text)
    assert written.isprintable()
    assert text == (json.loads(written) if written.startswith('"') else written)


def _without_formulas(line):
    """A line of LaTeX text whose formulas are in dollars; those of texts are escaped."""
    return re.sub(r"(?<!\\)\$(.*?)(?<!\\)\$", r"\1", line[0])


def _is_balanced(latex):
    depth = 0
    for mark in re.findall(r"\\.|[{}]", latex):
        depth += {"{": 1, "}": -1}.get(mark, 0)
        if depth < 0:
            return False
    return depth == 0


def test_samples_travel_with_the_equation():
    model, _ = random_model(4, hostile=False)
    scoring = scoring_model(model)
    table = to_latex(model).split(r"\begin{tabular}")[1]
    for sample in scoring.samples:
        assert all(repr(score) in table for score in sample.scores)


@pytest.mark.parametrize("arguments", [{"form": "raw"}, {"precision": 0}, {"precision": 18}])
def test_unknown_forms_are_refused(arguments):
    with pytest.raises(ValueError, match=r"form must be|precision must be"):
        equation(random_model(0)[0], **arguments)
