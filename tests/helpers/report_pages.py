"""A summary with its model, and hostile names."""

from functools import cache

from helpers.small_models import KS, calibrated_pipeline, loans, scored_pipeline
from quadric.report import summarise

ATTACK = "</script><script>alert(1)</script>"
HOSTILE = (ATTACK, "\"quotes' & <b>tags</b> <!--", "Größe \u202e日本語 " + "W" * 60, "{{ 7*7 }} {% raw %}")
HOSTILE_LEVELS = ("' onload=alert(2) x='", "]]></style><img src=x onerror=alert(3)>", "-->")


@cache
def ordinary():
    """Model, table, labels and summary of a calibrated model of two classes."""
    table, y = loans()
    model = calibrated_pipeline(table, y, method="pd")
    summary = summarise(
        model, table, y, name="Loans", target="outcome", class_names=("paid", "lost"), ks=KS, cv=3, n_boot=4,
        origin=("loans.csv", "ab" * 32),
    )  # fmt: skip
    return model, table, y, summary


@cache
def hostile():
    """The summary of a model in whose names everything is an attack."""
    table, y = loans(columns=HOSTILE, levels=HOSTILE_LEVELS)
    model = scored_pipeline(table, y, method="pd", k=6)
    return summarise(
        model, table, y, name=ATTACK, target=ATTACK, class_names=(ATTACK + "0", '<img src=x onerror="alert(4)">'), ks=(3, 6), cv=2,
        n_boot=2, origin=(ATTACK, None),
    )  # fmt: skip
