"""Made-up originals: what the public homes would send, built from the CSV files; and the server that sends it on loopback."""

from __future__ import annotations

import csv
import io
import os
import struct
import threading
import zipfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ORIGINAL = b"30,64,1,1\n41,60,23,2\n34,66,09,2\n\n83,58,2,2\n"
CONVERTED = b"age,year,nodes,survival\n30,64,3,1\n41,60,23,2\n34,66,9,2\n83,58,4,2\n"


def data_folder():
    """The folder with the real CSV files, or None."""
    named = os.environ.get("QUADRIC_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[3] / "shared" / "data"
    return folder if folder.is_dir() else None


def rows_of(content):
    return list(csv.reader(io.StringIO(content.decode())))[1:]


def zip_of(files):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in files.items():
            file.writestr(name, content)
    return archive.getvalue()


def lines(rows, separator=","):
    return "".join(separator.join(row) + "\n" for row in rows).encode()


def as_typed(cell):
    """7.0 as people write it: 7."""
    return cell.removesuffix(".0")


def padded(cell, width=5):
    return cell.zfill(width) if cell.isdigit() else cell


def abalone(rows):
    return lines([[as_typed(cell) for cell in row] for row in rows])


def ecoli(rows):
    return lines(
        [[f"P{i}_ECOLI ", *(f"{float(cell):.2f}" for cell in row[:-1]), "", row[-1]] for i, row in enumerate(rows)], "  "
    )


def glass(rows):
    return lines([[str(i + 1), row[0], *(f"{float(cell):.2f}" for cell in row[1:-1]), row[-1]] for i, row in enumerate(rows)])


def haberman(rows):
    """Every second count of 3 or 4 was 1 or 2 in the original, as far as its conversion can tell."""
    lower = {"3": "1", "4": "2"}
    return lines([[*row[:2], lower.get(row[2], row[2]) if i % 2 else row[2], row[3]] for i, row in enumerate(rows)])


def australian(rows):
    return lines([[as_typed(cell) for cell in row] for row in rows], " ")


def japanese(rows):
    """Padded codes as in crx.data, and rows with missing values in between."""
    original = [[*map(as_typed, row[:10]), padded(row[10], 2), *row[11:13], padded(row[13]), *row[14:]] for row in rows]
    for i, column in enumerate((0, 1, 3, 4, 5, 6, 13)):
        incomplete = list(original[40 * i])
        incomplete[column] = "?"
        original.insert(90 * i, incomplete)
    return lines(original)


def german(rows, last_rows):
    """The rows at the end of the CSV back to their places in the original."""
    front = iter(rows[: len(rows) - len(last_rows)])
    moved = dict(zip(last_rows, rows[len(rows) - len(last_rows) :], strict=True))
    return lines([moved[i] if i in moved else next(front) for i in range(len(rows))], " ")


def credit_small(rows):
    header = ["Age", "Gender", "Income", "Education", "Marital Status", "Number of Children", "Home Ownership", "Credit Score"]
    return b"\xef\xbb\xbf" + lines([header, *rows]).replace(b"\n", b"\r\n")


def xlsx(rows, sheet="Sheet1"):
    """A workbook with numbers as numbers and other texts shared; "" is no cell, None a formatted cell without content."""
    texts = sorted({cell for row in rows for cell in row if cell and not is_number(cell)})
    body = "".join(
        f"<row r='{i + 1}'>{''.join(_xlsx_cell(cell, i, j, texts) for j, cell in enumerate(row))}</row>"
        for i, row in enumerate(rows)
    )
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    links = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
    return zip_of(
        {
            "_rels/.rels": f'<Relationships {links}><Relationship Id="rId1" Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
            "xl/workbook.xml": f'<workbook {main} xmlns:r="{office}"><sheets><sheet name="{sheet}" sheetId="1" r:id="rId7"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships {links}><Relationship Id="rId7" Type="{office}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId8" Type="{office}/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
            "xl/sharedStrings.xml": f"<sst {main}>{''.join(f'<si><t>{text}</t></si>' for text in texts)}</sst>",
            "xl/worksheets/sheet1.xml": f"<worksheet {main}><sheetData>{body}</sheetData></worksheet>",
        }
    )


def _xlsx_cell(cell, i, j, texts):
    if cell == "":
        return ""
    if cell is None:
        return f'<c r="{_letters(j)}{i + 1}" s="1"/>'
    kind, value = ("n", cell) if is_number(cell) else ("s", texts.index(cell))
    return f'<c r="{_letters(j)}{i + 1}" t="{kind}"><v>{value}</v></c>'


def _letters(j):
    return chr(ord("A") + j) if j < 26 else _letters(j // 26 - 1) + _letters(j % 26)


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def xls(sheets):
    """A workbook in the stream format of Excel 97 (BIFF8), which xlrd reads without the usual container around it."""
    streams = [_sheet_stream(rows) for rows in sheets.values()]
    bounds = [_bound_sheet(name, 0) for name in sheets]
    globals_size = len(_begin(0x0005)) + sum(map(len, bounds)) + len(_record(0x000A))
    out, offset = [_begin(0x0005)], globals_size
    for name, stream in zip(sheets, streams, strict=True):
        out.append(_bound_sheet(name, offset))
        offset += len(stream)
    return b"".join([*out, _record(0x000A), *streams])


def _record(code, content=b""):
    return struct.pack("<HH", code, len(content)) + content


def _begin(kind):
    return _record(0x0809, struct.pack("<HHHHII", 0x0600, kind, 0x0DBB, 0x07CC, 0, 6))


def _bound_sheet(name, offset):
    return _record(0x0085, struct.pack("<IHBB", offset, 0, len(name), 0) + name.encode("latin-1"))


def _sheet_stream(rows):
    cells = [_xls_cell(cell, i, j) for i, row in enumerate(rows) for j, cell in enumerate(row) if cell != ""]
    return b"".join([_begin(0x0010), *cells, _record(0x000A)])


def _xls_cell(cell, i, j):
    place = struct.pack("<HHH", i, j, 0)
    if is_number(cell):
        return _record(0x0203, place + struct.pack("<d", float(cell)))
    return _record(0x0204, place + struct.pack("<HB", len(cell), 0) + cell.encode("latin-1"))


class LoopbackHome:
    """A public home on 127.0.0.1: what it answers is set by the test, what it was asked is kept."""

    def __init__(self):
        self.files = {}
        self.status = 200
        self.failures = 0
        self.cut_at = None
        self.silent = False
        self.asked = []
        self.address = ""
        self.finished = threading.Event()

    def answer(self, request):
        self.asked.append(request.path)
        content = self.files.get(request.path)
        if self.silent:
            self.finished.wait(10)
            return
        if self.failures:
            self.failures -= 1
            request.send_error(503)
        elif content is None or self.status != 200:
            request.send_error(404 if content is None else self.status)
        else:
            request.send_response(200)
            request.send_header("Content-Length", str(len(content)))
            request.end_headers()
            request.wfile.write(content[: self.cut_at])


@contextmanager
def loopback_home():
    home = LoopbackHome()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            home.answer(self)

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    home.address = f"http://127.0.0.1:{server.server_address[1]}/public"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield home
    finally:
        home.finished.set()
        server.shutdown()
        thread.join()
        server.server_close()
