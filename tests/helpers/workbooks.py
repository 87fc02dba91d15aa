"""Workbooks as LibreOffice computes them."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
import zipfile

import pytest

CSV = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false,{}"
"""Numbers with all digits, of one sheet."""
SHEETS = ("Score", "Calculator")


def without_results(path):
    """Take the stored results out of a workbook: whatever a reader shows afterwards, it has computed."""
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in parts.items():
            is_sheet = name.startswith("xl/worksheets/")
            book.writestr(name, re.sub(rb"(</f>)<v>[^<]*</v>", rb"\1", text) if is_sheet else text)


def recalculated(folder, sheet="Score"):
    """A sheet of every workbook in a folder, as rows, by the name of the file."""
    office = shutil.which("soffice") or shutil.which("libreoffice")
    if office is None:
        pytest.skip("LibreOffice is not installed (Debian: apt-get install libreoffice-calc-nogui)")
    books = sorted(folder.glob("*.xlsx"))
    for path in books:
        without_results(path)
    profile = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
    command = [office, profile, "--headless", "--convert-to", CSV.format(SHEETS.index(sheet) + 1), "--outdir", folder, *books]
    subprocess.run(command, check=True, capture_output=True)
    sheets = {}
    for path in books:
        made = folder / f"{path.stem}-{sheet}.csv"
        with made.open(encoding="utf-8", newline="") as file:
            sheets[path.stem] = list(csv.reader(file))
    return sheets
