"""Reads the two result tables out of the paper's LaTeX source; run it to write src/quadric/paper/published.json anew.

python tests/paper/read_tex.py ../shared/paper/l0-qsvm.tex
"""

import json
import re
import sys
from pathlib import Path

MODELS = {
    "LSVM": "lsvm",
    "LS-SVM": "ls-svm",
    "SVM-rbf": "svm-rbf",
    "SVM-Q2": "svm-q2",
    r"$\ell_1$-SVM": "l1-svm",
    r"LS-$\ell_0$-SVM": "ls-l0-svm",
    r"\ref{QSVM}": "qsvm",
    r"\ref{L1-QSVM}": "l1-qsvm",
    r"\ref{L0-QSVM}": "l0-qsvm",
    r"\ref{LS-L0-QSVM}": "ls-l0-qsvm",
}
DATASETS = {
    2: ["abalone", "ctg", "ecoli", "glass", "haberman", "immunotherapy", "iris"],
    4: ["australian", "japanese", "german", "ccc", "credit_small"],
}
LABELS = {2: "tab:results benchmark", 4: "tab: results on credit data"}


def read_table(text, number):
    start = text.index(rf"\label{{{LABELS[number]}}}")
    body = text[start : text.index(r"\end{tabular}", start)]
    rows, model = {}, None
    for line in body.splitlines():
        if match := re.search(r"\\multirow\{2\}\{\*\}\{\s*(.*?)\s*\}\s*&\s*mean", line):
            model = MODELS[match[1]]
        kind = "mean" if re.search(r"&\s*mean\s*&", line) else "std" if re.search(r"&\s*std\s*&", line) else None
        if kind:
            values = [
                float(value) for value in re.findall(r"(?<![\w.{])\d+\.\d+", line.split(kind, 1)[1].replace(r"\textbf{", " "))
            ]
            for dataset, accuracy, f1 in zip(DATASETS[number], values[::2], values[1::2], strict=True):
                cell = rows.setdefault(model, {}).setdefault(dataset, {})
                cell[f"accuracy_{kind}"], cell[f"f1_{kind}"] = accuracy, f1
    return rows


def read_tables(path):
    text = Path(path).read_text()
    return {f"table{number}": read_table(text, number) for number in (2, 4)}


if __name__ == "__main__":
    target = Path(__file__).parents[2] / "src" / "quadric" / "paper" / "published.json"
    target.write_text(json.dumps(read_tables(sys.argv[1]), indent=1) + "\n")
