"""Write applications.csv: made-up loan applications, and which loans were not paid back. Nobody real is in it."""

import csv

import numpy as np

rng = np.random.default_rng(7)
m = 1000
age = np.clip(np.rint(rng.normal(43, 12, m)), 20, 75)
income = np.rint(np.exp(rng.normal(8.0, 0.35, m)) / 10) * 10
amount = np.rint(np.exp(rng.normal(8.6, 0.5, m)) / 50) * 50
years_employed = np.minimum(np.rint(rng.exponential(7.0, m)), age - 18)
late_payments = rng.poisson(0.8, m)
housing = rng.choice(["own", "rent", "free"], m, p=[0.6, 0.3, 0.1])


def scaled(values):
    """Mean 0 and standard deviation 1."""
    return (values - values.mean()) / values.std()


risk = (
    0.9 * scaled(late_payments)
    + 0.7 * scaled(amount)
    - 0.8 * scaled(income)
    - 0.7 * scaled(amount) * scaled(income)
    + 0.5 * scaled(age) ** 2
    - 0.5 * scaled(years_employed)
    + 0.6 * (housing == "rent")
    - 2.2
)
default = np.where(rng.random(m) < 1 / (1 + np.exp(-1.3 * risk)), "yes", "no")

with open("applications.csv", "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["age", "income", "amount", "years_employed", "late_payments", "housing", "default"])
    for row in zip(age, income, amount, years_employed, late_payments, housing, default, strict=True):
        writer.writerow([value if isinstance(value, str) else int(value) for value in row])
