"""The process of a GCS server of tests: the XML API of Google's storage, on moto's S3, of which it is a dialect.

No registry has a server of this API with preconditions: fake-gcs-server takes objects by the JSON API alone, and
gcp-storage-emulator ignores preconditions. The names of headers, generations and their preconditions, bearer tokens and
404 for what is deleted twice are Google's; what is stored, listed and put together of parts is moto's.

Prints its port, and ends when its standard input does, as it does with the process that started it.
"""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final
from urllib.parse import parse_qs

BUCKET: Final = "lake"
TOKEN: Final = "ya29.token-of-the-tests"
EMAIL: Final = "tests@hudi-hive.iam.gserviceaccount.com"

_FROM_GOOGLE: Final = "HTTP_X_GOOG_"
_TO_AMAZON: Final = "HTTP_X_AMZ_"
_CONDITION: Final = "HTTP_X_GOOG_IF_GENERATION_MATCH"
_BEARER: Final = "Bearer "
_SIGNED: Final = "AWS4-HMAC-SHA256 Credential=tests/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
"""Moto looks only whether there is a signature."""

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class GoogleStorage:
    """A WSGI application that speaks Google's names in front of one that speaks Amazon's; changes come one by one."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._generations: dict[str, int] = {}
        self._numbers = itertools.count(1_700_000_000_000_000)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request."""
        if not _is_allowed(environ.pop("HTTP_AUTHORIZATION", "")):
            return _refusal(start_response, "401 Unauthorized", "AuthenticationRequired")
        environ["HTTP_AUTHORIZATION"] = _SIGNED
        path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
        query = parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)
        # Read before the object: one that is replaced meanwhile is of an older generation, which replaces nothing.
        generation = self._generations.get(path, 0)
        if int(environ.pop(_CONDITION, generation)) != generation:
            return _refusal(start_response, "412 Precondition Failed", "PreconditionFailed")
        is_object = "/" in path.strip("/")
        if method == "DELETE" and is_object and not query and not generation:
            return _refusal(start_response, "404 Not Found", "NoSuchKey")
        for name in [name for name in environ if name.startswith(_FROM_GOOGLE)]:
            environ[f"{_TO_AMAZON}{name.removeprefix(_FROM_GOOGLE)}"] = environ.pop(name)

        def answer(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            current = generation
            if is_object and status.startswith("2"):
                current = self._changed(path, method, query, generation)
            return start_response(status, [*_to_google(headers), *_version(current)], *more)

        return self._application(environ, answer)

    def _changed(self, path: str, method: str, query: dict[str, list[str]], generation: int) -> int:
        """The generation of an object after a request."""
        if method == "DELETE" and not query:
            self._generations.pop(path, None)
        elif (method == "PUT" and "partNumber" not in query) or (method == "POST" and "uploadId" in query):
            self._generations[path] = generation = next(self._numbers)
        return generation


def _is_allowed(authorization: str) -> bool:
    """Whether a request has the token, or one that a service account has signed for itself."""
    token = authorization.removeprefix(_BEARER)
    if token == TOKEN:
        return True
    with suppress(ValueError, IndexError, KeyError):
        claims = token.split(".")[1]
        padded = claims + "=" * (-len(claims) % 4)
        return bool(json.loads(base64.urlsafe_b64decode(padded))["iss"] == EMAIL)
    return False


def _to_google(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name.lower().replace("x-amz-", "x-goog-"), text) for name, text in headers]


def _version(generation: int) -> list[tuple[str, str]]:
    return [("x-goog-generation", str(generation))] if generation else []


def _refusal(start_response: Callable[..., Any], status: str, code: str) -> Iterable[bytes]:
    body = f"<?xml version='1.0' encoding='UTF-8'?><Error><Code>{code}</Code></Error>".encode()
    start_response(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
    return [body]


if __name__ == "__main__":
    # Not for those who take the names above: moto takes long to import.
    from integration.support.stores.s3_main import QuickDispatcher, serve

    serve(GoogleStorage(QuickDispatcher()))
