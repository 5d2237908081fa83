"""Jars for integration tests: only the pinned file is ever used, from wherever it comes."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from integration.support import metastores
from integration.support.metastores import Artifact, fetch

CONTENT = b"the pinned file" * 1000
JAR = Artifact("org.example", "made-up", "1", hashlib.sha256(CONTENT).hexdigest())


class Repository(ThreadingHTTPServer):
    """Answers each request with the next of ``answers``; the last one again and again."""

    answers: list[str]
    requests: list[str]


class Handler(BaseHTTPRequestHandler):
    server: Repository

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        answer = self.server.answers.pop(0) if len(self.server.answers) > 1 else self.server.answers[0]
        body = b"not it" if answer == "wrong" else CONTENT
        if answer.isdigit():
            self.send_error(int(answer))
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:100] if answer == "cut" else body)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def repository(tmp_path, monkeypatch) -> Iterator[Repository]:
    server = Repository(("127.0.0.1", 0), Handler)
    server.answers, server.requests = ["good"], []
    monkeypatch.setenv("HUDI_HIVE_MAVEN", f"http://127.0.0.1:{server.server_port}/maven2/")
    monkeypatch.setenv("HUDI_HIVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(metastores, "_PAUSES", (0.0, 0.0, 0.0))
    monkeypatch.setattr(metastores, "_failed", {})
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_cached_artifacts_are_not_downloaded(repository, tmp_path):
    path = fetch(JAR)
    assert (path.read_bytes(), path.name) == (CONTENT, "made-up-1.jar")
    assert repository.requests == ["/maven2/org/example/made-up/1/made-up-1.jar"]
    assert fetch(JAR) == path
    local = tmp_path / ".m2" / "repository" / JAR.path
    local.parent.mkdir(parents=True)
    path.rename(local)
    assert fetch(JAR) == local
    assert len(repository.requests) == 1


@pytest.mark.parametrize("first", ["cut", "wrong", "503"])
def test_a_download_that_went_wrong_is_tried_again(repository, first):
    repository.answers = [first, "good"]
    assert fetch(JAR).read_bytes() == CONTENT
    assert len(repository.requests) == 2


def test_a_broken_file_of_the_cache_is_replaced_and_pieces_go(repository, tmp_path):
    cached = tmp_path / "cache" / "maven" / JAR.path
    cached.parent.mkdir(parents=True)
    cached.write_bytes(CONTENT[:50])
    old, fresh = (cached.with_name(f".part-{name}") for name in ("old", "fresh"))
    for piece in (old, fresh):
        piece.write_bytes(b"")
    os.utime(old, (0, 0))
    assert fetch(JAR) == cached
    assert cached.read_bytes() == CONTENT
    assert (old.exists(), fresh.exists()) == (False, True)


@pytest.mark.parametrize(("answer", "times"), [("404", 1), ("wrong", 4)])
def test_a_failed_download_is_an_error_with_a_remedy(repository, answer, times, tmp_path):
    repository.answers = [answer]
    with pytest.raises(RuntimeError, match=r"cannot download org/example/.*HUDI_HIVE_MAVEN"):
        fetch(JAR)
    assert len(repository.requests) == times
    assert list((tmp_path / "cache" / "maven" / JAR.path).parent.iterdir()) == []


def test_an_unreachable_repository_is_tried_once_per_process(repository, monkeypatch):
    monkeypatch.setenv("HUDI_HIVE_MAVEN", "http://127.0.0.1:1")
    tries: list[str] = []
    monkeypatch.setattr(metastores, "_download", lambda url, *rest: tries.append(url) or _refuse())
    for _ in range(3):
        with pytest.raises(RuntimeError, match="refused"):
            fetch(JAR)
    assert len(tries) == 4


def _refuse() -> None:
    raise ConnectionRefusedError("refused")
