"""Loopback servers that stand before a metastore and want TLS or a SASL login, and certificates for them."""

from __future__ import annotations

import shutil
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

Relay = Callable[[socket.socket, socket.socket], None]


class Front:
    """Accepts connections on a free loopback port and has ``serve(client, backend)`` deal with each in a thread."""

    def __init__(self, backend_port: int, serve: Relay) -> None:
        self._backend_port = backend_port
        self._serve = serve
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.accepted = 0

    def __enter__(self) -> Front:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.accepted += 1
                threading.Thread(target=self._one, args=(client,), daemon=True).start()

    def _one(self, client: socket.socket) -> None:
        with client, suppress(OSError), socket.create_connection(("127.0.0.1", self._backend_port)) as backend:
            self._serve(client, backend)


def copy(source: socket.socket, target: socket.socket) -> None:
    """Bytes from one to the other until the first ends, then an end for both."""
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    for end in (source, target):
        with suppress(OSError):
            socket.socket.shutdown(end, socket.SHUT_RDWR)


# -- TLS -----------------------------------------------------------------------------------------------------------


def tls_relay(certificates: Certificates, *, name: str = "server", ask_client: bool = False) -> Relay:
    """A relay whose client side is TLS with the certificate ``name``; ``ask_client`` wants one of the client too."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.folder / f"{name}.pem", certificates.folder / f"{name}.key")
    if ask_client:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(certificates.ca)

    def serve(client: socket.socket, backend: socket.socket) -> None:
        with context.wrap_socket(client, server_side=True) as secure:
            back = threading.Thread(target=copy, args=(backend, secure), daemon=True)
            back.start()
            copy(secure, backend)
            back.join()

    return serve


class Certificates:
    """An authority and certificates of it, made with the openssl command.

    ``server`` names 127.0.0.1 and localhost, ``elsewhere`` another host, ``client`` is for clients; ``stranger`` is an
    authority that signed none of them.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if shutil.which("openssl") is None:
            pytest.skip("the openssl command is not installed")
        for authority in ("ca", "stranger"):
            self._run("req", "-x509", *self._new(authority, authority), "-out", f"{authority}.pem", "-days", "2")
        for name, host in (("server", "IP:127.0.0.1,DNS:localhost"), ("elsewhere", "DNS:elsewhere"), ("client", "")):
            self._run("req", *self._new(name, name), "-out", f"{name}.csr")
            (folder / f"{name}.ext").write_text(f"subjectAltName={host}\n" if host else "")
            signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", f"{name}.ext")
            self._run("x509", "-req", "-in", f"{name}.csr", *signed, "-days", "2", "-out", f"{name}.pem")
        self._run("ec", "-in", "client.key", "-aes128", "-passout", "pass:secret", "-out", "locked.key")

    @property
    def ca(self) -> str:
        return str(self.folder / "ca.pem")

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def _new(self, name: str, subject: str) -> tuple[str, ...]:
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
        return (*curve, "-noenc", "-keyout", f"{name}.key", "-subj", f"/CN={subject}")

    def _run(self, *arguments: str) -> None:
        subprocess.run(("openssl", *arguments), cwd=self.folder, check=True, capture_output=True, timeout=300)


# -- SASL ----------------------------------------------------------------------------------------------------------

START, OK, BAD, ERROR, COMPLETE = 1, 2, 3, 4, 5


def read_exactly(source: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = source.recv(size - len(data))
        if not part:
            raise OSError("ended")
        data += part
    return data


def read_header(source: socket.socket) -> tuple[int, int]:
    status, length = struct.unpack(">BI", read_exactly(source, 5))
    return status, length


def send_message(target: socket.socket, status: int, body: bytes = b"") -> None:
    target.sendall(struct.pack(">BI", status, len(body)) + body)


def sasl_relay(users: dict[str, str], *, frame: int = 1 << 20) -> Relay:
    """A relay that wants a PLAIN login of one of ``users`` and then frames; its own hold at most ``frame`` bytes."""

    def serve(client: socket.socket, backend: socket.socket) -> None:
        status, length = read_header(client)
        if status != START:
            send_message(client, BAD, b"Expecting START status")
            return
        mechanism = read_exactly(client, length)
        if mechanism != b"PLAIN":
            send_message(client, BAD, f"Unsupported mechanism type {mechanism.decode()}".encode())
            return
        _, length = read_header(client)
        login = read_exactly(client, length)
        identity, user, password = login.decode().split("\0")
        if identity or users.get(user) != password:
            send_message(client, ERROR, f"Error validating the login of {user}".encode())
            return
        send_message(client, COMPLETE)
        back = threading.Thread(target=framed, args=(backend, client), daemon=True)
        back.start()
        with suppress(OSError):
            while True:
                (length,) = struct.unpack(">i", read_exactly(client, 4))
                backend.sendall(read_exactly(client, length))
        with suppress(OSError):
            backend.shutdown(socket.SHUT_RDWR)
        back.join()

    def framed(backend: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := backend.recv(frame):
                client.sendall(struct.pack(">i", len(data)) + data)
            client.shutdown(socket.SHUT_RDWR)

    return serve
