"""Who may talk to the server: everything but the page that came by the printed address is refused, told in a line, and does nothing."""

import json
import random
import socket
from dataclasses import replace

import numpy as np
import pytest

from helpers.studios import LOANS, Visitor, bench_of, session_of
from quadric import SparseQuadraticSVC, TableClassifier, load_model
from quadric.studio import open_studio
from quadric.studio.app import Audience
from quadric.studio.serving import Serving
from quadric.workflow import TrainingOptions

OPTIONS = TrainingOptions(k=3, C=16.0, loss="least_squares", terms="quadratic")


@pytest.fixture(scope="module")
def bench():
    return bench_of(OPTIONS)


@pytest.fixture
def served(bench, tmp_path):
    lines = []
    session = session_of(bench, tmp_path)
    with Serving(session, log=lines.append) as serving:
        serving.lines, serving.session, serving.folder = lines, session, tmp_path
        yield serving


def test_the_printed_address_is_good_for_one_browser(served):
    first, second = Visitor(served), Visitor(served)
    assert first.ask("GET", "/start")[0] == 401
    first.enter()
    set_cookie = first.headers["Set-Cookie"]
    assert "HttpOnly" in set_cookie
    assert "SameSite=strict" in set_cookie
    assert first.ask("GET", "/start")[0] == 200
    status, answer = second.ask("POST", "/enter", {"token": second.token})
    assert (status, json.loads(answer)["error"]) == (401, "this address was used already: start quadric studio again")
    assert first.ask("POST", "/enter", {"token": first.token})[0] == 200  # the same browser, loading the page again
    for wrong in (None, 7, "", "x" * 43, "\ud800", ["a"]):
        assert second.ask("POST", "/enter", {"token": wrong})[0] == 401
    assert second.ask("GET", "/start")[0] == 401
    assert not served.folder.joinpath("x").exists()


def test_cookies_of_other_programs_on_this_machine_lock_nobody_out(served):
    visitor = Visitor(served).enter()
    own = visitor.cookie
    for other in ('prefs={"a": 1}', "x y=1", "empty", "tab(1)=2"):
        visitor.cookie = f"{other}; {own}"
        assert visitor.ask("GET", "/start")[0] == 200
    visitor.cookie = own[:-1]
    assert visitor.ask("GET", "/start")[0] == 401


def test_every_answer_has_the_policy(served):
    visitor = Visitor(served).enter()
    for path in ("/", "/static/studio.js", "/start", "/nowhere"):
        visitor.ask("GET", path)
        assert visitor.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'")
        assert "unsafe" not in visitor.headers["Content-Security-Policy"]
        assert visitor.headers["X-Content-Type-Options"] == "nosniff"
        assert visitor.headers["Access-Control-Allow-Origin"] is None


def test_requests_of_others_are_refused_and_do_nothing(served):
    visitor = Visitor(served).enter()
    port, choice = visitor.host.partition(":")[2], {"do": "k", "k": 5}
    steps = len(served.session.state()["steps"])
    refused = [
        visitor.ask("GET", "/start", Host="evil.example"),
        visitor.ask("GET", "/", Host=f"evil.example:{port}"),
        visitor.ask("GET", "/start", Host=f"127.0.0.1:{int(port) + 1}"),
        visitor.ask("GET", "/start", Host=""),
        visitor.ask("POST", "/do", choice, Origin="http://evil.example"),
        visitor.ask("POST", "/do", choice, Origin=None),
        visitor.ask("POST", "/do", choice, Origin="null"),
        visitor.ask("POST", "/do", choice, Origin=f"http://localhost:{port}"),  # not the host that was asked
        visitor.ask("POST", "/do", choice, Origin=f"https://{visitor.host}"),
        visitor.ask("POST", "/do", choice, Content_Type="text/plain"),
        visitor.ask("POST", "/do", choice, Cookie=None),
        visitor.ask("POST", "/do", choice, Cookie="quadric_studio=1"),
        visitor.ask("POST", "/save", {"name": "x"}, Sec_Fetch_Site="cross-site"),
        visitor.ask("GET", "/start", Sec_Fetch_Site="same-site"),
        visitor.ask("PUT", "/do"),
        visitor.ask("OPTIONS", "/do"),
    ]
    assert all(status in (401, 403, 405, 415, 421) for status, _ in refused)
    assert len(served.lines) == len(refused)
    assert all(line.startswith("refused ") and "\n" not in line for line in served.lines)
    assert len(served.session.state()["steps"]) == steps
    assert list(served.folder.iterdir()) == []
    assert visitor.ask("GET", "/start", Host=f"localhost:{port}")[0] == 200


def test_large_requests_are_refused_before_they_are_read(served):
    visitor = Visitor(served).enter()
    assert visitor.ask("POST", "/do", body="{}", Content_Length=str(10_000_000))[0] == 413
    host, port = visitor.host.split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:  # in pieces, without saying how many
        head = f"POST /do HTTP/1.1\r\nHost: {visitor.host}\r\nOrigin: http://{visitor.host}\r\nCookie: {visitor.cookie}\r\n"
        connection.sendall(f"{head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
        connection.sendall(piece * 2)
        assert b" 413 " in connection.recv(100)
    assert visitor.ask("GET", "/start")[0] == 200


DEEP = "[" * 10_000 + "]" * 10_000


@pytest.mark.parametrize("value", ["9" * 400, "-" + "9" * 5000, "1e999", "NaN", "-Infinity", DEEP, "[" * 700 + "]" * 700])
def test_values_that_no_page_sends_are_refused_in_one_line(served, value):
    bodies = {
        "/do": ('"do": "C", "C": VALUE', '"do": "cutoff", "cutoff": VALUE', '"do": "k", "k": VALUE', '"do": "go", "by": VALUE'),
        "/row": ('"row": VALUE',),
        "/drop": ('"number": VALUE',),
        "/save": ('"name": "x", "notes": VALUE',),
    }
    visitor = Visitor(served).enter()
    for path, own in bodies.items():
        for body in own:
            status, answer = visitor.ask("POST", path, body=f"{{{body}}}".replace("VALUE", value))
            words = json.loads(answer)["error"]
            assert status == 400
            assert "\n" not in words
            assert "recursion" not in words
            assert len(words) < 200
    assert list(served.folder.iterdir()) == []


@pytest.mark.parametrize(("path", "name"), [("/save", "x.model.json"), ("/report", "x.report.html")])
def test_no_link_leads_out_of_the_folder(served, tmp_path_factory, path, name):
    outside = tmp_path_factory.mktemp("outside")
    visitor = Visitor(served).enter()
    served.folder.joinpath(name).symlink_to(outside / "x")  # which is not there: nothing seems to be in the way
    status, answer = visitor.ask("POST", path, {"name": "x"})
    assert (status, json.loads(answer)["error"]) == (400, f"{name} exists in {served.folder}: take another name")
    served.folder.joinpath(name).unlink()
    served.folder.rename(served.folder.with_name("moved"))
    served.folder.symlink_to(outside)
    status, answer = visitor.ask("POST", path, {"name": "x"})
    assert (status, json.loads(answer)["error"]) == (400, f"{served.folder} leads elsewhere now; nothing is written")
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    "path", ["/static/../session.py", "/static/%2e%2e%2fsession.py", "/static/studio.html", "/static//etc/passwd"]
)
def test_files_outside_the_page_are_not_there(served, path):
    assert Visitor(served).enter().ask("GET", path)[0] == 404


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "..", "a/b.json", "", ".x"])
def test_nothing_is_written_outside_the_folder(served, name):
    status, answer = Visitor(served).enter().ask("POST", "/save", {"name": name})
    assert (status, json.loads(answer)["error"]) == (400, "give the name of a file, without a folder")
    assert list(served.folder.iterdir()) == []


def test_a_thousand_random_requests_leave_the_server_answering(served):
    visitor, draw = Visitor(served).enter(), random.Random(0)
    values = [
        None,
        0,
        -1,
        1e308,
        "",
        "age",
        "x" * 5000,
        "\ud800",
        "<script>",
        [],
        {},
        [[[]]],
        True,
        {"do": "k"},
        "age*",
        "__class__",
    ]
    names = [
        "do",
        "k",
        "term",
        "column",
        "out",
        "into",
        "rule",
        "loss",
        "C",
        "cutoff",
        "kind",
        "step",
        "name",
        "notes",
        "terms",
    ]
    acts = [
        "k",
        "forbid",
        "force",
        "release",
        "swap",
        "column",
        "hierarchy",
        "loss",
        "terms",
        "C",
        "cutoff",
        "go",
        "__init__",
        3,
    ]
    for number in range(1000):
        value = {draw.choice(names): draw.choice(values) for _ in range(draw.randrange(5))} | {"do": draw.choice(acts)}
        body = None if draw.random() < 0.9 else "".join(chr(draw.randrange(1, 0xD7FF)) for _ in range(draw.randrange(80)))
        path = draw.choice(["/do", "/save", "/enter", "/start", "/" + "a" * draw.randrange(3000), "/do?" + "%00" * 5])
        value = value if path != "/save" else value | {"name": draw.choice(values)}
        status, _ = visitor.ask(draw.choice(["POST", "POST", "POST", "GET"]), path, value, body=body)
        assert status < 500, (number, path, value)
    assert visitor.ask("GET", "/start")[0] == 200
    assert all(path.name.endswith(".json") for path in served.folder.iterdir())


def test_a_taken_port_gives_way_to_a_free_one(served):
    port = int(Visitor(served).host.partition(":")[2])
    with Serving(session_of(bench_of(replace(OPTIONS, k=2)), served.folder), port=port) as other:
        assert Visitor(other).host != Visitor(served).host
        assert Visitor(other).ask("GET", "/")[0] == 200


def test_the_server_ends_when_no_page_has_been_open_for_long(bench, tmp_path, monkeypatch):
    monkeypatch.setattr("quadric.studio.serving.AWAY", -1.0)
    monkeypatch.setattr("quadric.studio.serving.LOOK", 0.01)
    serving = Serving(session_of(bench, tmp_path))
    serving.wait()
    with pytest.raises(OSError):
        Visitor(serving).ask("GET", "/")


def test_an_interrupt_that_ends_a_proof_ends_the_server_too(bench, tmp_path, monkeypatch):
    monkeypatch.setattr("quadric.studio.serving.LOOK", 0.01)
    with Serving(session_of(bench, tmp_path)) as serving:
        monkeypatch.setattr("quadric.progress.STOP.is_wanted", True)
        with pytest.raises(KeyboardInterrupt):
            serving.wait()


def test_an_open_page_keeps_the_server_going():
    now = [0.0]
    audience = Audience(lambda: now[0])
    with audience:
        now[0] = 1000.0
        assert audience.away == 0.0
    assert audience.away == 0.0
    now[0] = 1900.5
    assert audience.away == 900.5


@pytest.mark.parametrize("model", [SparseQuadraticSVC(k=3, C=16.0), TableClassifier(k=3, C=16.0, loss="least_squares")])
def test_a_notebook_opens_it_on_a_model(model, tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0.2, "yes", "no")
    serving = open_studio(model, X, y, output_folder=tmp_path)
    try:
        assert serving.address in capsys.readouterr().out
        visitor = Visitor(serving).enter()
        state = json.loads(visitor.ask("GET", "/start")[1])["state"]
        assert state["k"] == 3
        assert json.loads(visitor.ask("POST", "/save", {"name": "mine"})[1])["command"].startswith("from quadric import")
        lines = {}
        exec(state["command"].replace(state["command"].splitlines()[-1], ""), {"X": X, "y": y}, lines)  # made by us
        again = lines["model"].trained_.classifier.surfaces_[0].coordinates()
        saved = load_model(tmp_path / "mine.model.json").estimator_[-1].surfaces_[0].coordinates()
        assert again.tolist() == saved.tolist()
    finally:
        serving.close()


def test_hostile_names_are_texts(tmp_path):
    names = ["<img src=x onerror=alert(1)>", "a\nb", "'; --", "=cmd|' /C'!A0"]
    rng = np.random.default_rng(1)
    table = {name: rng.normal(size=120) for name in names}
    table["risk"] = np.where(table[names[0]] + table[names[1]] > 0, "<b>bad</b>", "good")
    bench = bench_of(replace(OPTIONS, positive="<b>bad</b>"), table)
    session = session_of(bench, tmp_path, "<i>.csv")
    state = session.do({"do": "force", "term": names[0]})
    assert "\n" not in json.dumps(state["equation"]["lines"])
    assert session.save("hostile")["saved"].endswith("hostile.model.json")
    session.close()
    assert LOANS.exists()
