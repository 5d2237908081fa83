"""HDFS by ``hdfs-native``, which needs neither Java nor libhdfs: files are created by a rename in the name node.

Where blocks are it does not tell; the name node's web address does.

Source of that: WebHDFS REST API, ``GETFILEBLOCKLOCATIONS``; hdfs-default.xml, ``dfs.namenode.http-address``.
"""

from __future__ import annotations

import getpass
import json
import logging
import os
import posixpath
import re
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import ProxyHandler, build_opener

import pyarrow as pa

from hudi_hive.errors import (
    MissingDependencyError,
    StorageError,
    StoreAccessDeniedError,
    StoreCredentialsError,
    StoreUnreachableError,
)
from hudi_hive.storage.stores.base import (
    LISTING_SCHEMA,
    MISSING,
    BlockLocation,
    FileRanges,
    PathKind,
    PathStatus,
    forked,
)
from hudi_hive.storage.stores.remote_streams import RangeFile, RangeStream

if TYPE_CHECKING:
    from hdfs_native import Client

_ATTEMPTS: Final = "dfs.client.failover.max.attempts"
_FIRST_WAIT_S: Final = 0.5
_LONGEST_WAIT_S: Final = 15.0
_NO_SERVICE: Final = "No NameNode hosts found"
_HOST_ALONE: Final = re.compile(r"hdfs://[^/:]+")
_LOGIN: Final = "hadoop.security.authentication"
_HUNG_UP: Final = "RPC listener disconnected"
_NO_LOGIN: Final = "GSSAPIError"
_PORT: Final = 8020
"""Hadoop's port of a name node that is named without one."""

_LOG: Final = logging.getLogger("hudi_hive.storage")
_SITE_FILES: Final = ("core-site.xml", "hdfs-site.xml")
_POLICY: Final = "dfs.http.policy"
_NAME_NODES: Final = "dfs.ha.namenodes."
_ADDRESS: Final = {"http": "dfs.namenode.http-address", "https": "dfs.namenode.https-address"}
_PAUSE_S: Final = 60.0
"""How long no name node is asked again when none answered: hosts are a hint, and planning must not wait for them."""


class HdfsStore:
    """One HDFS cluster.

    Args:
        url: ``hdfs://host:port`` of the name node, or ``hdfs://name`` of a service that the configuration names.
        configuration: Hadoop's properties, added to those of ``HADOOP_CONF_DIR``.
        retry_timeout_s: seconds in which a name node that does not answer is tried again.
        request_timeout_s: seconds until its web address is given up, which tells where blocks are.

    Raises:
        MissingDependencyError: ``hdfs-native`` is not installed.
        StorageError: the configuration does not know the service.
    """

    creates_atomically = True
    has_folders = True

    def __init__(
        self, url: str, configuration: Mapping[str, str], retry_timeout_s: float, request_timeout_s: float
    ) -> None:
        try:
            from hdfs_native import Client
        except ImportError as error:
            raise MissingDependencyError(
                "HDFS needs hdfs-native", path=url, remedy="pip install 'hudi_hive[hdfs]'"
            ) from error
        self._url = url
        self._web = WebHdfs(url, configuration, request_timeout_s)
        self._process = os.getpid()
        merged = {_ATTEMPTS: _attempts(retry_timeout_s), **configuration}
        with self._mapped(""):
            try:
                self._client: Client = Client(url, config=merged)
            except (RuntimeError, ValueError) as error:
                if _NO_SERVICE not in str(error) or not _HOST_ALONE.fullmatch(url):
                    raise
                self._client = Client(f"{url}:{_PORT}", config=merged)  # it is no service: a host, as for Hadoop

    @contextmanager
    def _mapped(self, path: str) -> Iterator[None]:
        """Turn the client's errors, which have traces of Java in them, into ours."""
        if self._process != os.getpid():
            raise forked(f"{self._url}{path}")
        try:
            yield
        except (FileNotFoundError, FileExistsError, NotADirectoryError):
            raise
        except PermissionError as error:
            raise StoreAccessDeniedError(
                f"access denied: {_first_line(error)}", path=f"{self._url}{path}", remedy="give this user the right"
            ) from None
        except OSError as error:
            remedy = "check the name node"
            if _HUNG_UP in str(error):
                remedy += f"; one that wants a login hangs up without it: {_LOGIN}=kerberos, in core-site.xml or here"
            raise StoreUnreachableError(
                f"no answer from HDFS: {_first_line(error)}", path=f"{self._url}{path}", remedy=remedy
            ) from None
        except (RuntimeError, ValueError) as error:
            if _NO_LOGIN in str(error):
                raise StoreCredentialsError(
                    f"no login at HDFS: {_first_line(error)}",
                    path=f"{self._url}{path}",
                    remedy="get a ticket with kinit, or name a keytab in KRB5_CLIENT_KTNAME",
                ) from None
            raise StorageError(f"HDFS refused: {_first_line(error)}", path=f"{self._url}{path}") from None

    def list_folder(self, path: str, *, recursive: bool, without: str = "") -> pa.Table:
        """List a folder."""
        cut = len(path.rstrip("/")) + 1
        with self._mapped(path):
            entries = list(self._client.list_status(path or "/", recursive=recursive))
        if len(entries) == 1 and entries[0].path == path:
            raise NotADirectoryError(path)
        return pa.table(
            [
                pa.array([entry.path[cut:] for entry in entries], pa.string()),
                pa.array([0 if entry.isdir else entry.length for entry in entries], pa.int64()),
                pa.array([entry.modification_time for entry in entries], pa.int64()),
                pa.array([entry.isdir for entry in entries], pa.bool_()),
            ],
            schema=LISTING_SCHEMA,
        )

    def status(self, path: str) -> PathStatus:
        """What a path names."""
        try:
            with self._mapped(path):
                info = self._client.get_file_info(path or "/")
        except FileNotFoundError:
            return MISSING
        if info.isdir:
            return PathStatus(PathKind.FOLDER, 0, info.modification_time)
        return PathStatus(PathKind.FILE, info.length, info.modification_time)

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        """Read a file or a part of it."""
        with self._mapped(path), self._client.read(path) as reader:
            size = len(reader)
            end = size if length is None else min(offset + length, size)
            return bytes(reader.read_range(offset, end - offset)) if end > offset else b""

    @property
    def identity(self) -> str:
        """Its URL."""
        return self._url

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]], e_tag: str | None = None) -> FileRanges:
        """Read ranges of a file, which HDFS has no names of contents for: it can only be appended to."""
        with self._mapped(path), self._client.read(path) as reader:
            size = len(reader)
            parts = [bytes(reader.read_range(start, min(end, size) - start)) for start, end in ranges if start < size]
        return FileRanges([*parts, *[b""] * (len(ranges) - len(parts))], size, None)

    def open_input(self, path: str, size: int | None = None) -> pa.NativeFile:
        """Open a file as a random-access stream."""
        with self._mapped(path):
            reader: Any = self._client.read(path)
            length = len(reader)

        def fetch(ranges: Sequence[tuple[int, int]]) -> list[bytes]:
            with self._mapped(path):
                return [bytes(reader.read_range(start, end - start)) for start, end in ranges]

        return RangeStream(RangeFile(length, fetch), "r")

    @property
    def has_locations(self) -> bool:
        """Whether the configuration names the name node's web address."""
        return self._web.has_addresses

    def block_locations(self, path: str) -> Sequence[BlockLocation]:
        """The blocks of a file and their data nodes; ``hdfs-native`` gives none, so WebHDFS is asked."""
        return self._web.block_locations(path)

    def write(self, path: str, data: bytes) -> None:
        """Write a whole file, which appears complete."""
        self._publish(path, data, overwrite=True)

    def create(self, path: str, data: bytes) -> None:
        """Create a file: the name node gives its name to one of several that are complete."""
        if self.status(path).kind is not PathKind.MISSING:
            raise FileExistsError(path)
        self._publish(path, data, overwrite=False)

    def _publish(self, path: str, data: bytes, *, overwrite: bool) -> None:
        temporary = f"{posixpath.dirname(path)}/.tmp-{uuid.uuid4().hex}"
        try:
            with self._mapped(path):
                with self._client.create(temporary) as writer:
                    writer.write(data)
                self._client.rename(temporary, path, overwrite=overwrite)
        except BaseException:
            with suppress(Exception):
                self._client.delete(temporary)
            raise

    def open_output(self, path: str) -> pa.NativeFile:
        """Open a stream that writes a file, replacing one."""
        from hdfs_native import WriteOptions

        with self._mapped(path):
            return pa.PythonFile(self._client.create(path, WriteOptions(overwrite=True)), mode="w")

    def create_folder(self, path: str) -> None:
        """Create a folder and its parents."""
        with self._mapped(path):
            self._client.mkdirs(path, create_parent=True)

    def delete_file(self, path: str) -> None:
        """Delete a file."""
        with self._mapped(path):
            if not self._client.delete(path):
                raise FileNotFoundError(path)

    def delete_files(self, paths: Sequence[str]) -> None:
        """Delete files, one after the other."""
        for path in paths:
            with suppress(FileNotFoundError):
                self.delete_file(path)

    def delete_tree(self, path: str) -> None:
        """Delete a folder and all below it."""
        with self._mapped(path):
            if not self._client.delete(path, recursive=True):
                raise FileNotFoundError(path)

    def move(self, source: str, target: str) -> None:
        """Rename a file; the folder of the target is made."""
        with self._mapped(source):
            self._client.mkdirs(posixpath.dirname(target), create_parent=True)
            self._client.rename(source, target, overwrite=False)


def _attempts(timeout_s: float) -> str:
    """How often the client tries in some seconds: its waits double, from half a second to fifteen."""
    attempts, wait, total = 1, _FIRST_WAIT_S, 0.0
    while total + wait <= timeout_s:
        attempts, total, wait = attempts + 1, total + wait, min(2 * wait, _LONGEST_WAIT_S)
    return str(attempts)


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0][:300]


# -- where blocks are --------------------------------------------------------------------------------------------------


class WebHdfs:
    """The web addresses of one cluster's name nodes.

    Args:
        url: ``hdfs://host:port`` or ``hdfs://service``.
        configuration: Hadoop's properties, which go before those of ``HADOOP_CONF_DIR``.
        timeout_s: seconds until a name node that does not answer is given up.
    """

    def __init__(self, url: str, configuration: Mapping[str, str], timeout_s: float) -> None:
        self._url = url
        self._timeout_s = timeout_s
        self._addresses = _addresses(url, {**_site_properties(), **configuration})
        self._lock = threading.Lock()
        self._silent_until = 0.0
        # A proxy is for what is outside.
        self._opener = build_opener(ProxyHandler({}))

    @property
    def has_addresses(self) -> bool:
        """Whether the configuration names an address."""
        return bool(self._addresses)

    def block_locations(self, path: str) -> tuple[BlockLocation, ...]:
        """The blocks of a file and their nodes; none where nobody answers, which is logged."""
        if not self._addresses or time.monotonic() < self._silent_until:
            return ()
        user = os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
        question = f"/webhdfs/v1{quote(path)}?op=GETFILEBLOCKLOCATIONS&user.name={quote(user)}"
        problems = []
        for address in self._addresses:
            try:
                with self._opener.open(f"{address}{question}", timeout=self._timeout_s) as answer:
                    return _decoded(json.load(answer))
            except HTTPError as error:
                error.close()
                if error.code == 404:
                    return ()  # the file was deleted meanwhile, which its reader will say
                problems.append(f"{address}: {error.code} {error.reason}")
            except (OSError, HTTPException, ValueError, KeyError, TypeError) as error:
                problems.append(f"{address}: {type(error).__name__}: {error}")
        self._be_silent(problems)
        return ()

    def _be_silent(self, problems: Sequence[str]) -> None:
        with self._lock:
            if time.monotonic() < self._silent_until:
                return
            self._silent_until = time.monotonic() + _PAUSE_S
        _LOG.warning("%s: splits have no hosts, since no name node tells them: %s", self._url, "; ".join(problems))


def _decoded(answer: Any) -> tuple[BlockLocation, ...]:  # noqa: ANN401 - JSON
    """The blocks of an answer.

    Raises:
        KeyError, TypeError, ValueError: it is no such answer.
    """
    blocks = []
    for block in answer["BlockLocations"]["BlockLocation"]:
        hosts = tuple(str(host) for host in block["hosts"])
        racks = tuple(str(path).rpartition("/")[0] for path in block.get("topologyPaths", ()))
        if racks and len(racks) != len(hosts):
            raise ValueError("a block has not as many racks as hosts")
        blocks.append(BlockLocation(int(block["offset"]), int(block["length"]), hosts, racks))
    return tuple(blocks)


def _addresses(url: str, properties: Mapping[str, str]) -> tuple[str, ...]:
    """The name nodes' web addresses, ``http://host:port``; those of a service in the order of its name nodes."""
    parts = urlsplit(url)
    service = parts.netloc
    scheme = "https" if properties.get(_POLICY, "").strip().upper() == "HTTPS_ONLY" else "http"
    name = _ADDRESS[scheme]
    nodes = [node.strip() for node in properties.get(f"{_NAME_NODES}{service}", "").split(",") if node.strip()]
    names = [f"{name}.{service}.{node}" for node in nodes] or [f"{name}.{service}", name]
    texts = [text.strip() for text in (properties.get(one, "") for one in names) if text.strip()]
    addresses = []
    for text in texts if nodes else texts[:1]:
        host, _, port = text.rpartition(":")
        host = (parts.hostname or "") if host in ("", "0.0.0.0") else host
        if host and port.isdigit():
            addresses.append(f"{scheme}://{host}:{port}")
    return tuple(addresses)


def _site_properties() -> dict[str, str]:
    """What the files of ``HADOOP_CONF_DIR`` say of web addresses."""
    folder = os.environ.get("HADOOP_CONF_DIR")
    if not folder:
        return {}
    from xml.etree import ElementTree  # few tables are on HDFS

    properties: dict[str, str] = {}
    for name in _SITE_FILES:
        try:
            root = ElementTree.parse(Path(folder) / name).getroot()
        except (OSError, ElementTree.ParseError, ValueError):
            continue  # hdfs-native has said what is wrong with it, if anything is
        for entry in root.iter("property"):
            key, value = ((entry.findtext(tag) or "").strip() for tag in ("name", "value"))
            if key.startswith((*_ADDRESS.values(), _NAME_NODES, _POLICY)):
                properties[key] = value
    return properties
