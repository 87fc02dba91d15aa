"""``quadric check``: a look at a table before the fit."""

from __future__ import annotations

import quadric
from quadric.cli import options as shared
from quadric.cli.console import as_usage, say, say_json, with_flags, working
from quadric.cli.inputs import training_stream
from quadric.cli.layout import indented
from quadric.workflow.options import TrainingOptions

USED = ("groups", "ignore", "keep", "texts", "dates", "seed")
OPTIONS = shared.training(without=[name for name in shared.FLAGS if name not in USED])


@shared.expanded(options=OPTIONS, table_format=shared.TableFormat)
def check(
    data: shared.DataFile,
    target: shared.Target,
    options: TrainingOptions,
    table_format: shared.TableFormat,
    as_json: shared.AsJson = False,
) -> None:
    r"""Look at a table before fitting a model to it.

    Finds identifiers, columns that give the target away, empty and constant columns, rare levels, columns that say the same,
    dates, numbers that are written as texts, rare classes, and rows in the order of the target or of time. quadric fit does
    the same look, and leaves out what is listed under "left out by fit" unless --keep says otherwise.

    \b
    Examples:
      quadric check data.csv --target risk
      quadric check data.csv --target risk --ignore name --json
    """
    from quadric.workflow.preparation import check_roles

    with working("check"), as_usage():
        stream, options = training_stream(data, target, options, table_format.how())
        check_roles(stream.head(), target, options)
        found, _ = quadric.workflow.looked_at(stream, target, options)
    if as_json:
        say_json(found.recorded())
    else:
        _tell(found)


def _tell(found: quadric.workflow.TableCheck) -> None:
    from quadric.workflow.findings import LOOK, Finding

    groups: dict[str, list[Finding]] = {"left out by fit": [], "look at this": [], "good to know": []}
    for finding in found.findings:
        kind = "left out by fit" if finding.left_out else "look at this" if finding.severity == LOOK else "good to know"
        groups[kind].append(finding)
    for title, findings in groups.items():
        if findings:
            say(f"{title}:")
        for finding in findings:
            say(indented(" ".join(with_flags(finding).split()), "- "))
    seen = f"{found.n_seen:,} random rows of {found.n_rows:,}" if found.n_seen < found.n_rows else f"all {found.n_rows:,} rows"
    say(f"{'' if found.findings else 'nothing to remark: '}looked at {seen}")
