"""Who may talk to the page's server: one browser, which came with the token of the address that was printed.

Every request names this server as its Host, which stops names that other pages rebind to this machine. Every POST comes from
the page itself (Origin, to the letter), is JSON and is small. All but the page's own files asks for a cookie, which the token
in the fragment of the address is exchanged for, once.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
# Bytes of a request
LARGEST_BODY = 100_000
ENTRANCE = "/enter"


class RefusedError(Exception):
    """A request that is not answered.

    Parameters
    ----------
    status : int
    words : str
        Why.
    """

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class Guard:
    """Stands before the application.

    Parameters
    ----------
    app : ASGI application
    hosts : sequence of str
        Names of this server, with its port.
    log : function
        Told one line for each refusal.
    """

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...], log: Callable[[str], None]) -> None:
        self._app, self._hosts, self._log = app, hosts, log
        self.token = secrets.token_urlsafe(32)
        self._used = False
        self._session = secrets.token_urlsafe(32)
        self._cookie = f"quadric_studio_{hosts[0].rpartition(':')[2]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        try:
            headers = Headers(scope=scope)
            self._check(scope, headers)
            body = await self._body(receive, headers) if scope["method"] == "POST" else b""
        except RefusedError as refusal:
            path = scope["path"][:80].encode("unicode_escape", "surrogatepass").decode()
            self._log(f"refused {scope['method'][:10]} {path}: {refusal}")
            await JSONResponse({"error": str(refusal)}, refusal.status)(scope, receive, dressed)
            return
        rest = [{"type": "http.request", "body": body, "more_body": False}] if scope["method"] == "POST" else []

        async def replayed() -> Message:
            return rest.pop() if rest else await receive()

        await self._app(scope, replayed, dressed)

    def _check(self, scope: Scope, headers: Headers) -> None:
        host, method, path = headers.get("host", ""), scope["method"], scope["path"]
        if host not in self._hosts or len(headers.getlist("host")) != 1:
            raise RefusedError(421, "this server has another name")
        if method not in ("GET", "POST"):
            raise RefusedError(405, "only GET and POST are answered")
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise RefusedError(403, "another page asks")
        if method == "POST":
            if headers.getlist("origin") != [f"http://{host}"]:
                raise RefusedError(403, "another page asks")
            if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
                raise RefusedError(415, "the request is no JSON")
        is_open = path == ENTRANCE if method == "POST" else path == "/" or path.startswith("/static/")
        if not is_open and not self._is_known(headers):
            raise RefusedError(401, "the browser has not come by the address that was printed: use that one")

    def _is_known(self, headers: Headers) -> bool:
        # other programs on this machine share its cookies, and write what no parser of whole headers takes
        pairs = (piece.strip().partition("=") for line in headers.getlist("cookie") for piece in line.split(";"))
        own = [value for name, _, value in pairs if name == self._cookie]
        return any(secrets.compare_digest(value.encode(), self._session.encode()) for value in own)

    async def _body(self, receive: Receive, headers: Headers) -> bytes:
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()) or len(length) > 12 or int(length) > LARGEST_BODY:
            raise RefusedError(413, "the request is too large")
        body = b""
        while True:
            message = await receive()
            if message["type"] != "http.request":
                raise RefusedError(400, "the request has no end")
            body += message.get("body", b"")
            if len(body) > LARGEST_BODY:
                raise RefusedError(413, "the request is too large")
            if not message.get("more_body", False):
                return body

    def admitted(self, token: Any, headers: Headers) -> Response:
        """The answer to a token: the cookie, the first time; then nothing but to the browser that has it.

        Parameters
        ----------
        token : Any
            What the page sent.
        headers : Headers
            Of its request.

        Returns
        -------
        Response
        """
        is_ours = isinstance(token, str) and secrets.compare_digest(token.encode("utf-8", "surrogatepass"), self.token.encode())
        if is_ours and not self._used:
            self._used = True
            answer = JSONResponse({})
            answer.set_cookie(self._cookie, self._session, httponly=True, samesite="strict", path="/")
            return answer
        if self._is_known(headers):
            return JSONResponse({})
        words = "this address was used already: start quadric studio again" if is_ours else "the address is not whole"
        self._log(f"refused POST {ENTRANCE}: {words}")
        return JSONResponse({"error": words}, 401)
