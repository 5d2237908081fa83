"""The process of an S3 server of tests: moto, whose conditional puts are made atomic.

Prints its port, and ends when its standard input does, as it does with the process that started it.
"""

from __future__ import annotations

import io
import logging
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.server import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

_READING = ("GET", "HEAD")


class AtomicPuts:
    """A WSGI application whose changes go through one by one: moto looks whether an object is there, then puts it."""

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self._application = application
        self._one_by_one = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request."""
        if environ["REQUEST_METHOD"] in _READING:
            return self._application(environ, start_response)
        if "CONTENT_LENGTH" in environ:  # its body first: a slow sender holds up nobody
            length = int(environ["CONTENT_LENGTH"] or 0)
            environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read(length))
        with self._one_by_one:
            return self._application(environ, start_response)


class QuickDispatcher(DomainDispatcherApplication):
    """moto's choice of the service that is asked: moto lists the folders of its package anew for each request."""

    def __init__(self) -> None:
        super().__init__(create_backend_app)
        self._backends: dict[str | None, Any] = {}

    def get_backend_for_host(self, host: str | None) -> Any:
        """The service of a host's name."""
        if host not in self._backends:
            self._backends[host] = super().get_backend_for_host(host)
        return self._backends[host]


class QuietHandler(MotoRequestHandler):
    """Handles requests without a log."""

    def log(self, type: str, message: str, *args: object) -> None:
        """Requests are not logged."""


def serve(application: Callable[..., Iterable[bytes]]) -> None:
    """Print the port of a server of an application, and serve until the standard input ends."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, AtomicPuts(application), threaded=True, request_handler=QuietHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve(QuickDispatcher())
