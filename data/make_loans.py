"""Makes loans.csv, invented loans whose risk depends on a few features and products of features: python data/make_loans.py"""

import csv
from pathlib import Path

import numpy as np

ROWS = 800


def loans(seed: int = 7) -> list[dict[str, object]]:
    """Rows of the table."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.gamma(9.0, 4.4, ROWS), 19, 75).round().astype(int)
    income = np.clip(rng.lognormal(7.9, 0.45, ROWS), 800, 20_000).round(-1).astype(int)
    amount = np.clip(rng.lognormal(8.6, 0.7, ROWS), 500, 60_000).round(-2).astype(int)
    months = rng.choice([6, 12, 18, 24, 36, 48, 60], ROWS, p=[0.08, 0.2, 0.17, 0.22, 0.18, 0.1, 0.05])
    housing = rng.choice(["own", "rent", "free"], ROWS, p=[0.62, 0.28, 0.1])
    phone = rng.choice(["yes", "no"], ROWS, p=[0.4, 0.6])
    burden = (np.log(amount) - 8.6) / 0.7
    wealth = (np.log(income) - 7.9) / 0.45
    youth = (38.0 - age) / 12.0
    logit = 0.9 * burden - 0.9 * wealth - 0.7 * burden * wealth + 0.5 * youth**2 - 1.8
    logit += 0.5 * (months - 26) / 15 + 0.8 * (housing == "rent")
    bad = rng.random(ROWS) < 1.0 / (1.0 + np.exp(-1.3 * logit))
    names = ["age", "income", "amount", "months", "housing", "phone", "risk"]
    columns = [age, income, amount, months, housing, phone, np.where(bad, "bad", "good")]
    return [dict(zip(names, row, strict=True)) for row in zip(*(column.tolist() for column in columns), strict=True)]


if __name__ == "__main__":
    table = loans()
    with Path(__file__).with_name("loans.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, table[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
