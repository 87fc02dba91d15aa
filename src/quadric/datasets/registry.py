"""The paper's twelve data sets: their source, their positive class, and their coding."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Literal

Layout = Literal["commas", "spaces", "xlsx", "xls"]
Header = Literal["absent", "first row", "matched by name"]
Obtained = Literal["scikit-learn", "fetched", "by hand", "private"]


@dataclass(frozen=True)
class Recipe:
    """How the original file of a public site becomes the CSV with the expected checksum.

    Attributes
    ----------
    original : str
        Name of the file on the public site, or in its archive.
    archive : str or None
        Path of the zip archive below the address of the site; None if there is no public address.
    layout : {"commas", "spaces", "xlsx", "xls"}
    sheet : str or None
        Sheet of a workbook; None: the first one.
    header : {"absent", "first row", "matched by name"}
        "first row": the names in it are replaced by those of the CSV. "matched by name": the last column with each name of the
        CSV, in any case, and the rows below that have a number in all of these columns.
    leading : int
        Number of columns to drop on the left.
    missing : str or None
        Rows with this text in a cell are dropped.
    replaced : tuple of (column, old, new)
        Cell texts that are different in the CSV.
    last_rows : tuple of int
        Rows of the original, counted from 0, that come last in the CSV.
    """

    original: str
    archive: str | None
    layout: Layout
    sheet: str | None = None
    header: Header = "absent"
    leading: int = 0
    missing: str | None = None
    replaced: tuple[tuple[str, str, str], ...] = ()
    last_rows: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DatasetInfo:
    """One of the paper's data sets.

    Attributes
    ----------
    name : str
        Canonical name, the stem of its file.
    paper_name : str
        Name in the paper's tables.
    table : int
        Table of the paper with its results: 2 or 4.
    shape : tuple (m, n)
        Rows after the label rule, and features.
    source : str
    homepage : str
        Where to get it by hand.
    obtained : {"scikit-learn", "fetched", "by hand", "private"}
    licence : str
    kind : str
        Type in the paper's Table 3; "benchmark" for the data of Table 2.
    columns : tuple of str
        Header of the CSV, with the label last; empty if the file decides.
    features : tuple of str
        Readable names; ``columns`` has the names in the file.
    coding : str
        How categories become numbers, in words.
    label_rule : str
        Which rows count and which class is positive, in words.
    n_classes : int
    class_names : tuple of str
        In the order of the codes in y; empty if the file decides.
    positive : tuple of str
        Labels of the positive class; empty with three classes, or if the file decides.
    left_out : tuple of str
        Labels whose rows are dropped.
    category_orders : tuple of (column, tuple of str)
        Categories whose codes are not their alphabetical ranks.
    sha256 : str or None
        Checksum of the CSV; None if there is no CSV, or no known checksum.
    recipe : Recipe or None
        How to convert the original to the CSV.
    """

    name: str
    paper_name: str
    table: int
    shape: tuple[int, int]
    source: str
    homepage: str
    obtained: Obtained
    licence: str
    kind: str = "benchmark"
    columns: tuple[str, ...]
    features: tuple[str, ...]
    coding: str = "numeric as they are"
    label_rule: str
    n_classes: int = 2
    class_names: tuple[str, ...]
    positive: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    category_orders: tuple[tuple[str, tuple[str, ...]], ...] = ()
    sha256: str | None = None
    recipe: Recipe | None = None

    @property
    def file_name(self) -> str:
        """Name of the CSV file."""
        return f"{self.name}.csv"


CC_BY = "CC BY 4.0"
BY_RANK = "categories by their alphabetical rank, from 0"

# fmt: off
# Rows of UCI's file, a tenth of each class, that come last in the CSV of the manifest.
GERMAN_LAST_ROWS = (
    7, 10, 11, 13, 19, 33, 62, 66, 83, 85, 89, 105, 111, 137, 157, 160, 165, 168, 177, 180, 187, 188, 189, 196, 200,
    203, 209, 224, 228, 231, 240, 243, 254, 264, 272, 277, 279, 299, 308, 311, 324, 346, 353, 362, 370, 373, 374, 383, 388, 389,
    422, 433, 444, 453, 464, 469, 471, 480, 486, 489, 501, 515, 519, 524, 530, 545, 555, 575, 579, 584, 597, 599, 604, 605, 629,
    630, 638, 654, 664, 668, 699, 701, 714, 717, 719, 726, 729, 735, 742, 767, 768, 774, 775, 786, 915, 919, 935, 938, 949, 980,
)
# fmt: on


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_MANIFEST = json.loads(files(__package__).joinpath("manifest.json").read_text(encoding="utf-8"))
SHA256 = {name: entry["sha256"] for name, entry in _MANIFEST.items()}

ABALONE = _names("sex length diameter height whole_weight shucked_weight viscera_weight shell_weight rings")
CTG = _names("LB AC FM UC DL DS DP ASTV MSTV ALTV MLTV Width Min Max Nmax Nzeros Mode Mean Median Variance Tendency CLASS NSP")
ECOLI = _names("mcg gvh lip chg aac alm1 alm2 site")
GLASS = _names("RI Na Mg Al Si K Ca Ba Fe type")
HABERMAN = _names("age year nodes survival")
IMMUNOTHERAPY = _names("sex age time number_of_warts type area induration_diameter result")
AUSTRALIAN = _names("A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14 class")
JAPANESE = _names("A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14 A15 A16")
GERMAN = _names(
    "checking_status duration credit_history purpose credit_amount savings employment installment_rate personal_status "
    "other_debtors residence_since property age other_installment_plans housing existing_credits job dependents telephone "
    "foreign_worker risk"
)
CREDIT_SMALL = _names("Age Gender Income Education Marital_Status Number_of_Children Home_Ownership Credit_Score")

_BENCHMARKS = (
    DatasetInfo(
        name="abalone",
        paper_name="abalone",
        table=2,
        shape=(2854, 8),
        source="UCI 1, Abalone",
        homepage="https://archive.ics.uci.edu/dataset/1/abalone",
        obtained="fetched",
        licence=CC_BY,
        columns=ABALONE,
        features=ABALONE[:-1],
        coding="sex: M is 0, F is 1, I is 2",
        category_orders=(("sex", ("M", "F", "I")),),
        label_rule="rows of 9 and 10 rings are left out; positive: 11 rings or more",
        class_names=("8 rings or fewer", "11 rings or more"),
        positive=tuple(str(rings) for rings in range(11, 30)),
        left_out=("9", "10"),
        sha256=SHA256["abalone"],
        recipe=Recipe("abalone.data", "1/abalone.zip", "commas"),
    ),
    DatasetInfo(
        name="ctg",
        paper_name="CTG",
        table=2,
        shape=(2126, 22),
        source="UCI 193, Cardiotocography",
        homepage="https://archive.ics.uci.edu/dataset/193/cardiotocography",
        obtained="fetched",
        licence=CC_BY,
        columns=CTG,
        features=CTG[:-1],
        coding="numeric as they are; CLASS, the code of the morphology from 1 to 10, counts as a number",
        label_rule="positive: NSP 1 (normal)",
        class_names=("suspect or pathologic", "normal"),
        positive=("1",),
        sha256=SHA256["ctg"],
        recipe=Recipe("CTG.xls", "193/cardiotocography.zip", "xls", sheet="Data", header="matched by name"),
    ),
    DatasetInfo(
        name="ecoli",
        paper_name="Ecoli",
        table=2,
        shape=(336, 7),
        source="UCI 39, Ecoli",
        homepage="https://archive.ics.uci.edu/dataset/39/ecoli",
        obtained="fetched",
        licence=CC_BY,
        columns=ECOLI,
        features=ECOLI[:-1],
        label_rule="positive: site cp (cytoplasm)",
        class_names=("other site", "cp"),
        positive=("cp",),
        sha256=SHA256["ecoli"],
        recipe=Recipe("ecoli.data", "39/ecoli.zip", "spaces", leading=1),
    ),
    DatasetInfo(
        name="glass",
        paper_name="glass",
        table=2,
        shape=(214, 9),
        source="UCI 42, Glass Identification",
        homepage="https://archive.ics.uci.edu/dataset/42/glass+identification",
        obtained="fetched",
        licence=CC_BY,
        columns=GLASS,
        features=GLASS[:-1],
        label_rule="positive: type 5, 6 or 7 (not window glass)",
        class_names=("window glass", "not window glass"),
        positive=("5", "6", "7"),
        sha256=SHA256["glass"],
        recipe=Recipe("glass.data", "42/glass+identification.zip", "commas", leading=1),
    ),
    DatasetInfo(
        name="haberman",
        paper_name="haberman",
        table=2,
        shape=(306, 3),
        source="UCI 43, Haberman's Survival",
        homepage="https://archive.ics.uci.edu/dataset/43/haberman+s+survival",
        obtained="fetched",
        licence=CC_BY,
        columns=HABERMAN,
        features=HABERMAN[:-1],
        coding="numeric as they are, except that 1 and 2 nodes of UCI's file stand as 3 and 4, as in the CSV of the manifest",
        label_rule="positive: survival 2 (died within 5 years)",
        class_names=("survived 5 years or longer", "died within 5 years"),
        positive=("2",),
        sha256=SHA256["haberman"],
        recipe=Recipe(
            "haberman.data", "43/haberman+s+survival.zip", "commas", replaced=(("nodes", "1", "3"), ("nodes", "2", "4"))
        ),
    ),
    DatasetInfo(
        name="immunotherapy",
        paper_name="Immunotherapy",
        table=2,
        shape=(90, 7),
        source="UCI 428, Immunotherapy",
        homepage="https://archive.ics.uci.edu/dataset/428/immunotherapy+dataset",
        obtained="fetched",
        licence=CC_BY,
        columns=IMMUNOTHERAPY,
        features=IMMUNOTHERAPY[:-1],
        label_rule="positive: result 1 (the treatment worked)",
        class_names=("treatment failed", "treatment worked"),
        positive=("1",),
        sha256=SHA256["immunotherapy"],
        recipe=Recipe("Immunotherapy.xlsx", "428/immunotherapy+dataset.zip", "xlsx", header="first row"),
    ),
    DatasetInfo(
        name="iris",
        paper_name="iris",
        table=2,
        shape=(150, 4),
        source="UCI 53, Iris, the copy in scikit-learn",
        homepage="https://archive.ics.uci.edu/dataset/53/iris",
        obtained="scikit-learn",
        licence=CC_BY,
        columns=("sepal length (cm)", "sepal width (cm)", "petal length (cm)", "petal width (cm)", "species"),
        features=("sepal length (cm)", "sepal width (cm)", "petal length (cm)", "petal width (cm)"),
        label_rule="three classes, one against the rest; codes in alphabetical order",
        n_classes=3,
        class_names=("setosa", "versicolor", "virginica"),
    ),
)

_CREDIT = (
    DatasetInfo(
        name="australian",
        paper_name="AUS",
        table=4,
        shape=(690, 14),
        source="UCI 143, Statlog (Australian Credit Approval)",
        homepage="https://archive.ics.uci.edu/dataset/143/statlog+australian+credit+approval",
        obtained="fetched",
        licence=CC_BY,
        kind="personal credit",
        columns=AUSTRALIAN,
        features=AUSTRALIAN[:-1],
        coding="numeric as they are: the original has codes for its categories",
        label_rule="positive: class 0",
        class_names=("class 1", "class 0"),
        positive=("0",),
        sha256=SHA256["australian"],
        recipe=Recipe("australian.dat", "143/statlog+australian+credit+approval.zip", "spaces"),
    ),
    DatasetInfo(
        name="japanese",
        paper_name="JAP",
        table=4,
        shape=(653, 15),
        source="UCI 27, Credit Approval",
        homepage="https://archive.ics.uci.edu/dataset/27/credit+approval",
        obtained="fetched",
        licence=CC_BY,
        kind="personal credit",
        columns=JAPANESE,
        features=JAPANESE[:-1],
        coding=BY_RANK,
        label_rule="rows with a ? are left out; positive: A16 +",
        class_names=("-", "+"),
        positive=("+",),
        sha256=SHA256["japanese"],
        recipe=Recipe("crx.data", "27/credit+approval.zip", "commas", missing="?"),
    ),
    DatasetInfo(
        name="german",
        paper_name="GCD",
        table=4,
        shape=(1000, 20),
        source="UCI 144, Statlog (German Credit Data)",
        homepage="https://archive.ics.uci.edu/dataset/144/statlog+german+credit+data",
        obtained="fetched",
        licence=CC_BY,
        kind="personal credit",
        columns=GERMAN,
        features=(
            "Status of existing checking account",
            "Duration in months",
            "Credit history",
            "Loan purpose",
            "Credit amount",
            "Status of savings account/bonds",
            "Years of current employment",
            "Installment rate in percentage of disposable income",
            "Gender and marriage status",
            "Other debtors / guarantors",
            "Length of present residence",
            "Property status",
            "Age",
            "Other installment plans",
            "Housing",
            "Number of existing credits at this bank",
            "Job status",
            "Number of people being liable to provide maintenance for",
            "Phone indicator",
            "Foreign worker indicator",
        ),
        coding=BY_RANK,
        label_rule="positive: risk 2 (bad)",
        class_names=("good", "bad"),
        positive=("2",),
        sha256=SHA256["german"],
        recipe=Recipe("german.data", "144/statlog+german+credit+data.zip", "spaces", last_rows=GERMAN_LAST_ROWS),
    ),
    DatasetInfo(
        name="ccc",
        paper_name="CCC",
        table=4,
        shape=(106, 6),
        source="private credit union",
        homepage="none: it was never published",
        obtained="private",
        licence="private",
        kind="corporation loan",
        columns=(),
        features=(
            "Number of collaborations or total deliveries within the past three years",
            "Number of integrity violations",
            "Number of delivery-related violations",
            "Number of quality-related violations",
            "Credit China - number of positive records",
            "Credit China - number of blacklist penalties",
        ),
        label_rule="the last column has two values; positive: the last in sorted order (unknown to the paper's readers)",
        class_names=(),
    ),
    DatasetInfo(
        name="credit_small",
        paper_name="credit small",
        table=4,
        shape=(164, 7),
        source="Kaggle, Credit Score Classification Dataset",
        homepage="https://www.kaggle.com/datasets/sujithmandala/credit-score-classification-dataset",
        obtained="by hand",
        licence="CC0",
        kind="personal credit",
        columns=CREDIT_SMALL,
        features=CREDIT_SMALL[:-1],
        coding=BY_RANK,
        label_rule="three classes, one against the rest; codes in alphabetical order (the paper calls it binary)",
        n_classes=3,
        class_names=("Average", "High", "Low"),
        sha256=SHA256["credit_small"],
        recipe=Recipe("Credit Score Classification Dataset.csv", None, "commas", header="first row"),
    ),
)

# Data sets by canonical name, in the order of the paper's tables.
REGISTRY: Mapping[str, DatasetInfo] = MappingProxyType({info.name: info for info in (*_BENCHMARKS, *_CREDIT)})


def resolve(name: str) -> DatasetInfo:
    """Find a data set by its name.

    Parameters
    ----------
    name : str
        The canonical name ("german") or the paper's ("GCD"). Case is ignored; spaces, hyphens and underscores are the same.

    Returns
    -------
    DatasetInfo
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a data set is text, not {type(name).__name__}")
    for info in REGISTRY.values():
        if _plain(name) in {_plain(info.name), _plain(info.paper_name)}:
            return info
    both = [i.name if _plain(i.paper_name) == i.name else f"{i.name} ({i.paper_name})" for i in REGISTRY.values()]
    raise ValueError(f"unknown data set {name!r}: use one of {', '.join(both)}")


def _plain(name: str) -> str:
    return name.strip().lower().replace(" ", "_").replace("-", "_")
