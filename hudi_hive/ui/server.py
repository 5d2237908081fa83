"""The server of the pages: a thread with its own event loop, on a socket that is open before the address is told."""

from __future__ import annotations

import secrets
import socket
import threading
from types import TracebackType
from typing import Final, Self

from hudi_hive.errors import InvalidOptionError, MissingDependencyError
from hudi_hive.ui.settings import UiSettings

_TOKEN_BYTES: Final = 24


class UiServer:
    """Serves the pages until it is closed.

    Args:
        settings: which tables, and where to listen.
        token: what the address must say; a random one without it.

    Raises:
        MissingDependencyError: the packages of the extra ``ui`` are not installed.
        InvalidOptionError: the address or port cannot be listened on.

    Example:
        >>> with UiServer(UiSettings(paths=("/lake",))) as server:
        ...     print(server.url)
    """

    def __init__(self, settings: UiSettings, token: str | None = None) -> None:
        try:
            import uvicorn

            from hudi_hive.ui.application import Pages
            from hudi_hive.ui.security import TokenGate
        except ImportError as error:
            raise MissingDependencyError(
                f"the pages need {error.name}, which is not installed", remedy="pip install 'hudi_hive[ui]'"
            ) from error
        self._token = token or secrets.token_urlsafe(_TOKEN_BYTES)
        self._socket = _listen(settings)
        self.port: int = self._socket.getsockname()[1]
        self._host = f"[{settings.host}]" if ":" in settings.host else settings.host
        names = frozenset(f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]"))
        gate = TokenGate(Pages(settings).application(), self._token, names if settings.is_local else None)
        self._server = uvicorn.Server(
            uvicorn.Config(gate, log_level="error", access_log=False, lifespan="off", server_header=False)
        )
        self._thread = threading.Thread(target=self._run, name="hudi-hive-ui", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of the list of tables, with the token."""
        return f"http://{self._host}:{self.port}/?token={self._token}"

    def wait(self) -> None:
        """Return when the server has ended."""
        self._thread.join()

    def close(self) -> None:
        """Stop the server; requests that are being answered are given up."""
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join()
        self._socket.close()

    def _run(self) -> None:
        # Signals are the main thread's: it closes the server.
        self._server.run(sockets=[self._socket])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _listen(settings: UiSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((settings.host, settings.port))
        listening.listen(128)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InvalidOptionError(
            f"cannot listen on {settings.host}:{settings.port}: {reason}",
            remedy="give another --port, or leave it out to take a free one",
        ) from error
    return listening
