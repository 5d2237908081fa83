"""Lets in who has the token of the server's address, from this machine's own pages alone."""

from __future__ import annotations

import secrets
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN: Final = "token"
"""The parameter of the address that lets a browser in; it then gets a cookie."""

_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class TokenGate:
    """Wraps an application: a request needs the token once and the cookie from then on, and comes from no other site.

    Args:
        app: what answers those that are let in.
        token: the token.
        hosts: values of the header ``Host`` that are this server's; None takes any.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: frozenset[str] | None) -> None:
        self._app = app
        self._token = token
        self._hosts = hosts
        # Cookies know no ports: each server has a name of its own, or two of them would log each other out.
        self._cookie = f"hudi_hive_ui_{secrets.token_hex(4)}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        answer = self._refusal(scope) or self._admission(scope)
        await (answer or self._app)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to a request that another site sends; None if it is none."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self._hosts is not None and host.lower() not in self._hosts:
            return PlainTextResponse("this server does not answer to that host name\n", 421)
        origin = headers.get("origin")
        if scope["method"] not in ("GET", "HEAD") and origin is not None and urlsplit(origin).netloc != host:
            return PlainTextResponse("a form of another site is not answered\n", 403)
        return None

    def _admission(self, scope: Scope) -> Response | None:
        """The answer to a request without cookie; None for one that is let in."""
        parameters = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for name, value in parameters if name == TOKEN), None)
        if given is not None and secrets.compare_digest(given.encode(), self._token.encode()):
            rest = urlencode([(name, value) for name, value in parameters if name != TOKEN])
            path = scope.get("root_path", "") + scope["path"]
            # The address bar then shows no token. Two slashes would be the name of another server.
            answer = RedirectResponse("/" + path.lstrip("/") + (f"?{rest}" if rest else ""), 303)
            answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", path="/")
            return answer
        if secrets.compare_digest(self._cookie_of(scope).encode(), self._token.encode()):
            return None
        text = "open the address that `hudi-hive ui` printed: its token lets you in\n"
        return PlainTextResponse(text, 403)

    def _cookie_of(self, scope: Scope) -> str:
        cookie: SimpleCookie = SimpleCookie()
        try:
            cookie.load(Headers(scope=scope).get("cookie", ""))
        except CookieError:
            return ""
        morsel = cookie.get(self._cookie)
        return morsel.value if morsel is not None else ""
