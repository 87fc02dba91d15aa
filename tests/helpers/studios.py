"""Sessions of the studio on the loans table."""

import http.client
import json
from pathlib import Path

from quadric.studio.session import Session, Work
from quadric.tables import as_table, read_table
from quadric.workflow.bench import Bench

LOANS = Path(__file__).parents[2] / "data" / "loans.csv"


def loans():
    return read_table(LOANS, text=["risk"])


def bench_of(options, table=None, target="risk"):
    return Bench(loans() if table is None else as_table(table), target, options)


def session_of(bench, folder, name="loans.csv"):
    session = Session(bench, Work(name, Path(folder), lambda options, path: f"quadric fit {path.name}"))
    session.table = loans()
    return session


class Visitor:
    """A client that says exactly what it is told to."""

    def __init__(self, serving):
        self.host, _, self.token = serving.address.removeprefix("http://").partition("/#")
        self.cookie = None

    def ask(self, method, path, value=None, body=None, **headers):
        own = {"Host": self.host} | ({"Cookie": self.cookie} if self.cookie else {})
        if method == "POST":
            body = json.dumps(value) if body is None else body
            own |= {"Origin": f"http://{self.host}", "Content-Type": "application/json"}
        own |= {name.replace("_", "-"): text for name, text in headers.items()}
        connection = http.client.HTTPConnection(self.host, timeout=20)
        try:
            connection.putrequest(method, path, skip_host=True)
            for name, text in own.items():
                if text is not None:
                    connection.putheader(name, text)
            if body is not None and "Content-Length" not in own:
                connection.putheader("Content-Length", str(len(body.encode())))
            connection.endheaders(None if body is None else body.encode())
            answer = connection.getresponse()
            self.headers = answer.headers
            return answer.status, answer.read()
        finally:
            connection.close()

    def enter(self):
        status, _ = self.ask("POST", "/enter", {"token": self.token})
        assert status == 200
        self.cookie = self.headers["Set-Cookie"].partition(";")[0]
        return self
