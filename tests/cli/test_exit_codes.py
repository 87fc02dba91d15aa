"""One rule at all commands: 2 for what was typed wrong, 1 for what the tables or the model cannot do, 3 for a limit passed."""

from pathlib import Path

import pytest

from helpers.small_tables import credit_columns, csv_text

USES = {
    "swap": ("swap", "calibrated.json", "calibrated.json"),
    "fairness": ("fairness", "calibrated.json"),
    "validate": ("validate", "calibrated.json"),
    "monitor": ("monitor", "calibrated.json"),
    "predict": ("predict", "calibrated.json"),
    "explain": ("explain", "calibrated.json"),
    "certify": ("certify", "calibrated.json"),
    "report": ("report", "calibrated.json"),
    "fit": ("fit",),
    "path": ("path",),
    "compare": ("compare",),
}
"""Commands that read a table, with what stands before it."""
ALSO = {
    "fairness": ("--group", "home"),
    "report": ("--output", "new.html", "--bootstrap", "0", "--folds", "2"),
    "fit": ("--target", "risk", "--k", "1", "--C", "1", "--no-cv", "--no-calibrate"),
    "path": ("--target", "risk", "--ks", "1", "--folds", "2"),
    "compare": ("--target", "risk", "--folds", "2"),
}
MIGRATIONS = "validate calibrated.json dated.csv --id customer --time-column day --dates"
TYPED_WRONG = [
    *(f"{' '.join(words)} absent.csv {' '.join(ALSO.get(name, ()))}" for name, words in USES.items()),
    *(f"{name} absent.json data.csv" for name in ("validate", "monitor", "predict", "explain", "certify", "report")),
    "swap calibrated.json absent.json data.csv",
    "swap calibrated.json calibrated.json data.csv --approval 2",
    "swap calibrated.json calibrated.json data.csv --approval half",
    "fairness calibrated.json data.csv",
    "fairness calibrated.json data.csv --group nobody",
    "fairness calibrated.json data.csv --group risk",
    "fairness calibrated.json dated.csv --group customer",
    "validate calibrated.json data.csv --grades a,b",
    "validate calibrated.json data.csv --grades 2,3",
    "validate calibrated.json data.csv --points 600:20:50",
    "validate calibrated.json data.csv --points 600:0:50 --grades 500,600",
    "validate calibrated.json dated.csv --id customer",
    f"{MIGRATIONS} 2025-12-31,soon",
    f"{MIGRATIONS} 2025-12-31,2030-12-31",
    f"{MIGRATIONS} 2025-12-31",
    "validate calibrated.json dated.csv --id nobody --time-column day --dates 2025-12-31,2026-12-31",
    "validate calibrated.json dated.csv --id customer --time-column never --dates 2025-12-31,2026-12-31",
    "validate calibrated.json dated.csv --id customer --time-column home --dates 2025-12-31,2026-12-31",
    "monitor calibrated.json data.csv --limits absent.toml",
    "monitor calibrated.json data.csv --limits broken.toml",
    "monitor calibrated.json data.csv --limits unknown.toml",
    "monitor calibrated.json data.csv --reference absent.csv",
    "monitor calibrated.json data.csv --output data.csv",
    "explain calibrated.json data.csv --rows 9999",
    "explain calibrated.json data.csv --favourable nobody",
    "explain calibrated.json data.csv --actionable nobody:up",
    "explain calibrated.json data.csv --frozen nobody",
    "predict calibrated.json data.csv --keep nobody",
    "report calibrated.json data.csv --output new.html --points 600:0:50",
    "export calibrated.json --points 600:0:50",
    *(f"{name} data.csv --target nobody" for name in ("check", "fit", "path", "compare")),
    *(
        f"overrides calibrated.json data.csv {options}"
        for options in (
            "--decision nobody",
            "--decision risk",
            "--decision income",
            "--decision home --approved nobody",
            "--decision home",
            "--decision home --approved own --declined own",
            "--decision home --approved own --cutoff 2",
            "--decision home --approved own --reason nobody",
        )
    ),
    *(
        f"rejects data.csv --target risk {options}"
        for options in (
            "--factor 0",
            "--factors 0",
            "--bands 1 --by bands",
            "--score nobody --by bands",
            "--score income",
            "--decision nobody",
            "--decision risk",
        )
    ),
    "fit data.csv --target risk --no-cv --k 2 --C 1 --terms linear --include age*income",
    "fit data.csv --target risk --actionable nobody:up",
    "fit data.csv --target risk --points 600:0:50",
    "fit data.csv --target risk --holdout 2",
    "fit data.csv --target risk --test absent.csv",
    "fit dated.csv --target risk --time-column day",
    "fit dated.csv --target risk --time-column home --after 2026-01-01",
    "fit dated.csv --target risk --time-column day --after soon",
    "fit dated.csv --target risk --time-column day --after 2030-01-01",
]
TABLES = ("no_rows.csv", "no_income.csv", "broken.csv")
"""Tables that no command can use."""
CANNOT = [
    *(
        f"{' '.join(words)} {table} {' '.join(ALSO.get(name, ()))}"
        for name, words in USES.items()
        for table in TABLES
        if len(words) > 1 or table == "no_rows.csv"
    ),
    *(f"{' '.join(USES[name])} other_classes.csv {' '.join(ALSO.get(name, ()))}" for name in ("swap", "fairness", "validate")),
    *(f"{' '.join(USES[name])} other_classes.csv {' '.join(ALSO.get(name, ()))}" for name in ("monitor", "certify", "report")),
    *(f"{' '.join(USES[name])} one_class.csv {' '.join(ALSO.get(name, ()))}" for name in ("fit", "path", "compare", "report")),
    *(f"{name} three.json three.csv" for name in ("validate", "swap calibrated.json")),
    "fairness three.json three.csv --group home",
    *(f"{name} no_model.json data.csv" for name in ("validate", "monitor", "predict", "explain", "certify")),
    "fairness no_model.json data.csv --group home",
    "swap no_model.json calibrated.json data.csv",
    "fit data.csv --target risk --k 1 --C 1 --no-cv --no-calibrate --test no_income.csv",
    "fit data.csv --target risk --k 1 --C 1 --no-cv --no-calibrate --test other_classes.csv",
    "fit data.csv --target risk --k 1 --C 1 --no-cv --no-calibrate --test no_rows.csv",
    "validate calibrated.json data.csv --development no_income.csv --grades 0.2,0.4",
    "monitor calibrated.json data.csv --reference no_income.csv",
]


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """The files that the commands name."""
    columns = credit_columns()
    n = len(columns["risk"])
    dated = {"customer": [f"c{i // 2}" for i in range(n)], "day": ["2025-12-31", "2026-12-31"] * (n // 2)}
    tables = {
        "data": columns,
        "three": credit_columns(classes=("a", "b", "c")),
        "dated": {**columns, **dated},
        "no_income": {name: values for name, values in columns.items() if name != "income"},
        "broken": {**columns, "income": ["much"] * n},
        "other_classes": {**columns, "risk": ["left", "right"] * (n // 2)},
        "one_class": {**columns, "risk": ["bad"] * n},
    }
    for name, content in tables.items():
        (tmp_path / f"{name}.csv").write_text(csv_text(content))
    (tmp_path / "no_rows.csv").write_text(csv_text(columns).splitlines()[0] + "\n")
    (tmp_path / "broken.toml").write_text("score_psi = high")
    (tmp_path / "unknown.toml").write_text("psi_of_score = 0.1")
    (tmp_path / "no_model.json").write_text("{}")
    for name in ("calibrated", "three"):
        (tmp_path / f"{name}.json").write_bytes(Path(getattr(made, name)).read_bytes())
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("code", "command"), [*((2, words) for words in TYPED_WRONG), *((1, words) for words in CANNOT)])
def test_exit_code(folder, run, code, command):
    result = run(*command.split())
    assert result.code == code, result.errors
    assert result.errors[0].startswith("quadric: ")


def test_a_limit_passed_is_three_and_tables_without_rows_pass_none(folder, run):
    assert run("monitor", "calibrated.json", "one_class.csv").code == 3
    assert run("monitor", "calibrated.json", "data.csv").code == 0
