"""Model files of which something was changed: refused in one line that names a field, or the same answers as before.

Every field of four files is replaced by some 45 other values, removed, repeated and moved. Each file is read twice: as an
accident would leave it, with the old digests, when it must be refused; and with digests written anew, when it may only be accepted
if the scores, labels and probabilities of rows with missing values, unknown levels and extreme numbers are the same.
"""

from __future__ import annotations

import copy
import json
import re
import zlib

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers.model_files import with_digest
from helpers.pipelines import labels, loans
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV
from quadric.credit import CalibratedModel
from quadric.export import ModelFileError, load_model, save_model
from quadric.fitted import fitted_model
from quadric.tables import TableEncoder, as_table

# The models are fitted to frames and score arrays
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")

FAST = SparseQuadraticSVC(k=6, loss="least_squares", method="pd", standardize=True)
MODELS = {
    "two classes, numbers": (FAST, (), ("age", "income", "debt", "region"), 2),
    "three classes": (
        make_pipeline(
            TableEncoder(missing="impute"),
            SparseQuadraticSVCCV([5], Cs=[1.0], loss="least_squares", method="pd", standardize=True),
        ),
        ("age", "home"),
        ("age", "home", "income"),
        3,
    ),
    "texts, sigmoid": (
        CalibratedModel(
            make_pipeline(
                TableEncoder(missing="indicator", unseen="other"),
                StandardScaler(),
                SparseQuadraticSVC(k=6, loss="least_squares", method="pd"),
            ),
            cv=2,
            cutoff="cost:3:1",
        ),
        ("home", "income"),
        ("age", "home", "job", "income"),
        2,
    ),
    "isotonic": (
        make_pipeline(StandardScaler(), CalibratedModel(FAST, method="isotonic", cv=2)),
        (),
        ("age", "income", "debt"),
        2,
    ),
}
LOOK_ALIKES = str.maketrans("aeopcxAEOC", "аеорсхАЕОС")
POISON = [
    *(None, True, False, 0, 1, -1, 2, 7, 0.5, -0.0, 1e-300, 1e308, -1e308, 2**53 + 1, 2**70, -(2**70), 10**400),
    *(float("nan"), float("inf"), "", "x", "NaN", "Infinity", "0", "-1.5", "\x00", "\ud800", "x" * 20_000, "<script>"),
    *("__import__('os')", [], {}, [[]], [None], {"tuple": 3}, {"nan": None}, {"": 1}),
    json.loads("[" * 60 + "]" * 60),
]
SAME = object()
"""What a mutator returns where it has nothing to do."""


def numbers(change):
    return lambda value: change(value) if isinstance(value, int | float) and not isinstance(value, bool) else SAME


def texts(change):
    return lambda value: change(value) if isinstance(value, str) else SAME


def lists(change):
    return lambda value: change(list(value)) if isinstance(value, list) and value else SAME


def objects(change):
    return lambda value: change(list(value.items())) if isinstance(value, dict) and value else SAME


CHANGES = [
    *(
        numbers(change)
        for change in (lambda v: v + 1, lambda v: v - 1, lambda v: -v, lambda v: v * (1 + 1e-6), lambda v: v * 2)
    ),
    *(
        numbers(change)
        for change in (lambda v: float(np.nextafter(v, np.inf)), float, int, lambda v: round(v, 3), str, lambda v: [v])
    ),
    *(texts(change) for change in (lambda v: v + " ", str.swapcase, lambda v: v.translate(LOOK_ALIKES), lambda v: v[::-1])),
    *(texts(change) for change in (lambda v: v[:-1], lambda v: [v], lambda v: "\u202e" + v, lambda v: v + v)),
    *(lists(change) for change in (lambda v: v[::-1], lambda v: v[1:] + v[:1], lambda v: v[:-1], lambda v: v + v[-1:])),
    *(lists(change) for change in (lambda v: v[:1], lambda v: [v], lambda v: dict(enumerate(v)), lambda v: [*v, v[0]])),
    *(objects(change) for change in (lambda v: dict(v[1:]), lambda v: dict([*v, ("extra", 0)]), lambda v: [dict(v)])),
    *(objects(change) for change in (lambda v: {k.upper(): x for k, x in v}, lambda v: list(dict(v).values()))),
    *(
        objects(change)
        for change in (lambda v: dict(zip(dict(v), [*dict(v).values()][::-1], strict=True)), lambda v: dict(v[:-1]))
    ),
    lambda value: not value if isinstance(value, bool) else SAME,
    *((lambda value, poison=poison: poison) for poison in POISON),
]


def fields(value, path=()):
    """Paths to everything in a document."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield (*path, key)
        yield from fields(member, (*path, key))


def grouped(document):
    """Paths by field: the items of a list are one field."""
    groups = {}
    for path in fields(document):
        groups.setdefault(tuple("*" if isinstance(key, int) else key for key in path), []).append(path)
    return groups


def parent(document, path):
    for key in path[:-1]:
        document = document[key]
    return document


def removed(document, path, rng):
    del parent(document, path)[path[-1]]


def repeated(document, path, rng):
    """The same key twice in an object, or the same item twice in a list."""
    inner, key = parent(document, path), path[-1]
    if isinstance(inner, dict):
        inner[f"twice {key}"] = inner[key]
    else:
        inner.insert(key, inner[key])


def exchanged(document, path, rng):
    """With the same field of another class, column, level or row."""
    same = [p for p in grouped(document)[tuple("*" if isinstance(key, int) else key for key in path)] if p != path]
    if same:
        other = same[rng.integers(len(same))]
        a, b = parent(document, path), parent(document, other)
        a[path[-1]], b[other[-1]] = copy.deepcopy(b[other[-1]]), copy.deepcopy(a[path[-1]])


def replacing(change):
    def mutate(document, path, rng):
        inner = parent(document, path)
        value = change(inner[path[-1]])
        if value is not SAME:
            inner[path[-1]] = value

    return mutate


MUTATIONS = [removed, repeated, exchanged, exchanged, *map(replacing, CHANGES)]


class Case:
    """A model, its file, and rows with what the model says of them."""

    def __init__(self, name, folder):
        estimator, missing, columns, n_classes = MODELS[name]
        frame = loans(3, 120, missing)
        y = labels(frame, n_classes)
        self.path = folder / "model.json"
        self.model = estimator.fit(as_table(frame[list(columns)]) if missing else frame[list(columns)], y)
        save_model(self.model, self.path, target="risk", metadata={"by": "me", "training": {"rows": 120}})
        self.document = json.loads(self.path.read_text(encoding="utf-8"))
        self.groups = grouped(self.document)
        view = fitted_model(self.model)
        rows = as_table(loans(4, 60, ("age", "income", "home", "job"), ("home", "job"))[list(columns)])
        rows = type(rows)(rows.names, tuple(_with_extremes(column) for column in rows.columns))
        kept = [i for i in range(len(rows)) if answer(self.model, view, rows[np.array([i])]) is not None]
        self.rows = rows[np.array(kept)]
        self.refused = [rows[np.array([i])] for i in range(len(rows)) if i not in kept][:6]
        self.answer = answer(self.model, view, self.rows)
        assert len(kept) >= 3 + bool(missing)

    def says_the_same(self, model):
        view = fitted_model(model)
        found = answer(model, view, self.rows)
        if found is None or any(answer(model, view, row) is not None for row in self.refused):
            return False
        scores, names, chances = self.answer
        return (
            found[1] == names
            and found[0].shape == scores.shape
            and np.allclose(found[0], scores, rtol=1e-9, atol=1e-9)
            and np.allclose(found[2], chances, rtol=0, atol=1e-9)
        )


def _with_extremes(column):
    if column.dtype == float:
        column = column.copy()
        column[:3] = 1e5, -1e5, 0.0
    return column


def answer(model, view, rows):
    """Scores, labels and probabilities; None where the model refuses a row."""
    try:
        X = view.native(rows)
        chances = model.predict_proba(X) if hasattr(model, "predict_proba") else np.zeros(0)
        return np.asarray(model.decision_function(X)), np.asarray(model.predict(X)).tolist(), np.asarray(chances)
    except ValueError:
        return None


@pytest.fixture(scope="module", params=MODELS)
def case(request, tmp_path_factory):
    return Case(request.param, tmp_path_factory.mktemp("files"))


ONE_LINE = re.compile(
    r"damaged model file: ((schema|quadric_version|task|inputs|steps|features|surfaces|estimator|params|calibration|certificates"
    r"|data|metadata|samples|probes|digest)[\w.\[\]]* .+|it (lacks the|has an unknown) key '.*')"
    r"|model\.json is damaged or not a model file: .+"
    r"|made by (a newer quadric|an early version of quadric) \(schema .+"
    r"|not a quadric model file: it has no schema"
)


def read(path, content):
    """The model; or None, where it is refused as it should be."""
    path.write_bytes(content)
    try:
        return load_model(path)
    except ModelFileError as error:
        message = str(error)
    assert ONE_LINE.fullmatch(message), message
    assert len(message) < 300
    assert message.isprintable()
    return None


def written(document):
    return re.sub(r'"twice (.*?)"', r'"\1"', json.dumps(document)).encode("ascii")


def test_changed_fields_are_refused_or_change_nothing(case, size, tally, tmp_path):
    rng = np.random.default_rng(zlib.crc32(repr(sorted(case.groups)).encode()))
    pairs = [(field, mutation) for field in case.groups for mutation in MUTATIONS]
    original = written(case.document)
    n_files, failures = 0, []
    for number in rng.permutation(len(pairs)):
        if n_files == size(120, 5_000):
            break
        field, mutate = pairs[number]
        path = case.groups[field][rng.integers(len(case.groups[field]))]
        document = copy.deepcopy(case.document)
        mutate(document, path, rng)
        if written(document) == original:
            continue
        n_files += 1
        wrong = [] if read(tmp_path / "model.json", written(document)) is None else ["accepted with old digests"]
        tally("model files: refused, old digests", 1 - len(wrong))
        model = read(tmp_path / "model.json", written(with_digest(document)))
        tally(f"model files: {'refused' if model is None else 'same answers'}, new digests")
        if model is not None and not case.says_the_same(model):
            wrong.append("other answers")
        if wrong:
            tally("model files: WRONG")
            failures.append(f"{path}, {getattr(mutate, '__name__', '')} {number}: {wrong}")
    assert not failures, failures[:20]


def test_the_file_itself_is_read(case, tmp_path):
    model = read(tmp_path / "model.json", written(with_digest(case.document)))
    view = fitted_model(model)
    for found, expected in zip(answer(model, view, case.rows), case.answer, strict=True):
        assert np.array_equal(found, expected)  # the same bits


def test_damaged_bytes_are_refused(case, size, tally, tmp_path):
    content = case.path.read_bytes()
    rng = np.random.default_rng(5)
    path = tmp_path / "model.json"
    for number in range(size(40, 1_000)):
        damaged = bytearray(content)
        where = rng.integers(len(content))
        if number % 4 == 0:
            damaged = damaged[:where]
        elif number % 4 == 1:
            damaged[where] ^= 1 << int(rng.integers(8))
        elif number % 4 == 2:
            damaged[where : where + 64] = rng.bytes(64)
        else:
            damaged[where:where] = damaged[rng.integers(len(content)) :][: rng.integers(1, 200)]
        try:
            same = json.loads(damaged) == case.document
        except ValueError:
            same = False
        model = read(path, bytes(damaged))
        assert model is None or same
        tally(f"model files: {'damaged bytes refused' if model is None else 'other bytes of the same content'}")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig", "cp037"])
def test_other_encodings_are_refused(case, tmp_path, encoding):
    (tmp_path / "model.json").write_bytes(case.path.read_text(encoding="utf-8").encode(encoding))
    with pytest.raises(ModelFileError, match="is damaged or not a model file"):
        load_model(tmp_path / "model.json")


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 20_000_000,
        b'{"schema":4,"a":[' + b"[]," * 5_000_000 + b"1]}",
        b" " * (33 << 20),
        b'{"schema":' + b"9" * 1_000_000 + b"}",
    ],
    ids=["nested", "many lists", "too large", "many digits"],
)
def test_gigantic_files_are_refused(tmp_path, content):
    (tmp_path / "model.json").write_bytes(content)
    with pytest.raises(ModelFileError, match=r"larger than|damaged or not a model file"):
        load_model(tmp_path / "model.json")
