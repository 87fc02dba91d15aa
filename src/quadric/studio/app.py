"""The page's requests, answered by a session."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Callable
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from quadric.studio.guard import ENTRANCE, Guard
from quadric.studio.session import Session
from quadric.studio.unfitted import Unfitted

# The page's own files, by name: in this package, and the style of the report, whose charts these are
STATIC = {
    "studio.css": ("quadric.studio", "static/studio.css", "text/css"),
    "report.css": ("quadric.report", "page/report.css", "text/css"),
    "studio.js": ("quadric.studio", "static/studio.js", "text/javascript"),
    "charts.js": ("quadric.studio", "static/charts.js", "text/javascript"),
    "talking.js": ("quadric.studio", "static/talking.js", "text/javascript"),
    "asking.js": ("quadric.studio", "static/asking.js", "text/javascript"),
    "elements.js": ("quadric.studio", "static/elements.js", "text/javascript"),
}
# Seconds after which a stream says again that it is alive, and whether the file is as it was
HEARTBEAT = 5.0
# Characters of an integer in a request: of those that floats tell apart
LONGEST_INTEGER = 16


class Audience:
    """The pages that listen, and since when there is none.

    Parameters
    ----------
    clock : function
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._count = clock, 0
        self._since = clock()

    def __enter__(self) -> None:
        self._count += 1

    def __exit__(self, *_: object) -> None:
        self._count -= 1
        self._since = self._clock()

    @property
    def away(self) -> float:
        """Seconds for which nobody has listened."""
        return 0.0 if self._count else self._clock() - self._since


def application(session: Session | Unfitted, audience: Audience, hosts: tuple[str, ...], log: Callable[[str], None]) -> Guard:
    """The application behind its guard.

    Parameters
    ----------
    session : Session or Unfitted
    audience : Audience
    hosts : tuple of str
        Names of the server, with its port.
    log : function
        Told one line for each refusal.

    Returns
    -------
    Guard
    """

    async def page(request: Request) -> Response:
        return _file("quadric.studio", "static/studio.html", "text/html")

    async def static(request: Request) -> Response:
        found = STATIC.get(request.path_params["name"])
        return Response(status_code=404) if found is None else _file(*found)

    async def enter(request: Request) -> Response:
        value = await _json(request)
        return guard.admitted(value.get("token") if isinstance(value, dict) else None, request.headers)

    async def start(request: Request) -> Response:
        constant = await run_in_threadpool(session.start)
        own = {"state": await run_in_threadpool(session.state)} if isinstance(session, Session) else {}
        return _answer(constant | own)

    async def events(request: Request) -> Response:
        return StreamingResponse(_events(session, audience), media_type="text/event-stream")

    answers = _answers(session) if isinstance(session, Session) else {}

    def posted(path: str) -> Route:
        async def told(request: Request) -> Response:
            return await _told(request, answers[path])

        return Route(path, told, methods=["POST"])

    routes = [
        Route("/", page),
        Route("/static/{name}", static),
        Route(ENTRANCE, enter, methods=["POST"]),
        Route("/start", start),
        Route("/events", events),
        *map(posted, answers),
    ]
    guard = Guard(Starlette(routes=routes), hosts, log)
    return guard


def _answers(session: Session) -> dict[str, Callable[[dict[str, Any]], dict[str, Any]]]:
    """What a page asks for, and what of the request that takes."""
    return {
        "/do": session.do,
        "/row": lambda wanted: session.explain(wanted.get("row")),
        "/keep": lambda wanted: session.keep(wanted.get("name"), wanted.get("notes", "")),
        "/drop": lambda wanted: session.drop(wanted.get("number")),
        "/compare": lambda wanted: session.compare(wanted.get("first"), wanted.get("second")),
        "/choose": lambda _: session.choose(),
        "/prove": lambda _: session.prove(),
        "/report": lambda wanted: session.report(wanted.get("name")),
        "/save": lambda wanted: session.save(wanted.get("name"), wanted.get("notes", "")),
    }


def _file(package: str, path: str, kind: str) -> Response:
    return Response((files(package) / path).read_bytes(), media_type=f"{kind}; charset=utf-8")


async def _json(request: Request) -> Any:
    """What a request says, with numbers that any computation takes; None where it is not JSON."""
    try:
        return json.loads(await request.body(), parse_int=_whole, parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError):
        return None


def _whole(text: str) -> int:
    if len(text) > LONGEST_INTEGER:
        raise ValueError("too many digits")
    return int(text)


def _finite(text: str) -> float:
    if not math.isfinite(float(text)):
        raise ValueError("no finite number")
    return float(text)


async def _told(request: Request, answer: Callable[[dict[str, Any]], dict[str, Any]]) -> Response:
    """The answer of a session to what a page wants, or in one sentence why there is none."""
    wanted = await _json(request)
    if not isinstance(wanted, dict):
        return JSONResponse({"error": "the request is not a JSON object with finite numbers"}, 400)
    try:
        return _answer(await run_in_threadpool(answer, wanted))
    except (ValueError, OSError, RuntimeError) as error:
        return JSONResponse({"error": " ".join(str(error).split()) or type(error).__name__}, 400)


def _answer(value: Any) -> Response:
    return Response(_text(value), media_type="application/json")


def _text(value: Any) -> bytes:
    """JSON without NaN, which it does not know."""
    return json.dumps(_plain(value), ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _event(message: dict[str, Any]) -> bytes:
    return b"data: " + _text(message) + b"\n\n"


async def _events(session: Session | Unfitted, audience: Audience) -> AsyncIterator[bytes]:
    """What a session tells by itself; progress that a page is too slow for is left out."""
    loop, news = asyncio.get_running_loop(), asyncio.Event()
    waiting: dict[str, dict[str, Any]] = {}

    def listener(message: dict[str, Any]) -> None:
        def noted() -> None:
            waiting[next(iter(message))] = message
            news.set()

        loop.call_soon_threadsafe(noted)

    stop = session.listen(listener)
    try:
        with audience:
            yield b": here\n\n"
            due = loop.time() + HEARTBEAT
            while True:
                if loop.time() >= due:  # also while progress is told
                    yield _event(await run_in_threadpool(session.source))
                    due = loop.time() + HEARTBEAT
                try:
                    await asyncio.wait_for(news.wait(), due - loop.time())
                except TimeoutError:
                    continue
                news.clear()
                messages = list(waiting.values())
                waiting.clear()
                for message in messages:
                    yield _event(message)
                    if "end" in message:
                        return
    finally:
        stop()
