"""Passes errors of Python callbacks through the JVM and raises them again unchanged.

Spark plans a query by calling our file index from Java. What goes wrong there must reach the user as the error of
this package with path, instant and remedy. It travels as a plain Java exception with the same text, which is also what
a JDBC client sees; on the way back to Python the text finds the original error again. Spark's own errors about files
of a table that this package planned (a file that the cleaner took, a column whose type cannot be read) become ours too.
"""

from __future__ import annotations

import copy
import functools
import logging
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from queue import SimpleQueue
from typing import ParamSpec, TypeVar

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors.exceptions import captured

from hudi_hive.errors import CorruptFileError, FileVanishedError, HudiHiveError, SchemaError, SparkError
from hudi_hive.read.remote import deserialize_error
from hudi_hive.spark.versions import JavaValue

P = ParamSpec("P")
R = TypeVar("R")

_LOG = logging.getLogger("hudi_hive.spark")
_PENDING_SECONDS = 3.0

_MAX_PENDING_ERRORS = 256
_MAX_CAUSES = 16

_hints = False
_make_exception: Callable[[str], JavaValue] | None = None
"""Makes the Java exception of a text."""

_lock = threading.Lock()
_pending_errors: OrderedDict[str, HudiHiveError] = OrderedDict()
_base_paths: set[str] = set()

_NO_SOURCE = re.compile(r"\[DATA_SOURCE_NOT_FOUND\][^:]*: (org\.apache\.)?hudi\b", re.IGNORECASE)
_FILE_ERROR = re.compile(r"\[FAILED_READ_FILE\.(\w+)\].*?while reading file (\S+?)\.\s", re.DOTALL)
_COLUMN_ERROR = re.compile(r"Parquet column cannot be converted in file (\S+)\. (Column: .+)")
"""Of Spark 3.5."""
_FILE_NOT_FOUND = re.compile(r"File (file:\S+|\S+://\S+) does not exist")


class _CallbackError(Py4JJavaError):  # type: ignore[misc]
    """A Java exception that a callback throws on purpose; py4j need not log it."""


class _CallbackErrorFilter(logging.Filter):
    """Keeps py4j from logging a traceback for errors that reach the user anyway."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], _CallbackError))


class _Returned:
    """Holds what callbacks return until Java has surely looked it up.

    py4j tells Java to forget an object when Python lets go of it, from a thread of its own: that may be faster than the
    answer that names the object, which is null for Java then.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = False
        self._held: SimpleQueue[tuple[float, JavaObject]] = SimpleQueue()

    def hold(self, value: object) -> None:
        """Keep an object of Java for a moment; anything else needs no keeping."""
        if not isinstance(value, JavaObject):
            return
        self._held.put((time.monotonic() + _PENDING_SECONDS, value))
        with self._lock:
            if not self._running:
                self._running = True
                threading.Thread(target=self._let_go, name="hudi_hive.returned", daemon=True).start()

    def _let_go(self) -> None:
        while True:
            until, value = self._held.get()
            time.sleep(max(0.0, until - time.monotonic()))
            del value


_returned = _Returned()


def to_java(method: Callable[P, R]) -> Callable[P, R]:
    """Decorator of methods that Java calls: converts their exceptions for the way through the JVM.

    Errors of this package and Spark's own keep what they are; anything else is a fault of ours and says so.
    """

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            result = method(*args, **kwargs)
            _returned.hold(result)
            return result
        except _CallbackError:
            raise
        except Py4JJavaError as error:
            raise _CallbackError("", java_exception=error.java_exception) from None
        except HudiHiveError as error:
            raise _carry(error) from None
        except Exception as error:
            origin = getattr(error, "_origin", None)
            if origin is not None:
                raise _CallbackError("", java_exception=origin) from None
            _LOG.exception("a callback from Spark failed")
            fault = SparkError(f"planning failed with {type(error).__name__}: {error}", remedy="please report this")
            raise _carry(fault) from None

    return call


def watch(base_path: str) -> None:
    """Register a table's base path (``file:/…``), below which Spark's file errors become errors of this package."""
    with _lock:
        _base_paths.add(_plain(base_path))


def bridge_errors(make_exception: Callable[[str], JavaValue]) -> None:
    """Raise errors of :func:`to_java` in PySpark unchanged. Idempotent.

    Args:
        make_exception: makes the exception of a text, as that of which an error travels; unchecked, or the Java proxy
            would wrap it.
    """
    global _make_exception
    with _lock:
        _make_exception = make_exception
        if getattr(captured.convert_exception, "_hudi_hive", False):
            return
        original = captured.convert_exception

        @functools.wraps(original)
        def convert(java_exception: JavaValue) -> BaseException:
            ours = _find(java_exception)
            return ours if ours is not None else original(_unwrapped(java_exception))

        convert._hudi_hive = True  # type: ignore[attr-defined]
        captured.convert_exception = convert  # type: ignore[assignment]
        for name in ("py4j.clientserver", "py4j.java_gateway"):
            logging.getLogger(name).addFilter(_CallbackErrorFilter())


def hint_at_enable() -> None:
    """Have what Spark says of a data source ``hudi`` that is not there tell how to get it. Idempotent."""
    global _hints
    if _hints:
        return
    _hints, original = True, captured.convert_exception

    @functools.wraps(original)
    def convert(java_exception: JavaValue) -> BaseException:
        if _NO_SOURCE.search(java_exception.getMessage() or ""):
            return SparkError("Spark has no data source hudi", remedy="call hudi_hive.spark.enable(spark) first")
        return original(java_exception)

    captured.convert_exception = convert  # type: ignore[assignment]


def _unwrapped(java_exception: JavaValue) -> JavaValue:
    """A checked exception of Spark that passed a proxy of Java, which wraps those that its interface does not name."""
    wraps = str(java_exception.getClass().getName()) == "java.lang.reflect.UndeclaredThrowableException"
    return java_exception.getUndeclaredThrowable() if wraps else java_exception


def _carry(error: HudiHiveError) -> _CallbackError:
    text = f"{type(error).__name__}: {error}"
    with _lock:
        _pending_errors[text] = error
        _pending_errors.move_to_end(text)
        while len(_pending_errors) > _MAX_PENDING_ERRORS:
            _pending_errors.popitem(last=False)
    jvm, gateway = SparkContext._jvm, SparkContext._gateway
    assert jvm is not None and gateway is not None
    assert _make_exception is not None
    exception = _make_exception(text)
    # Where a callback was made says nothing, and JDBC clients print it below the text.
    exception.setStackTrace(gateway.new_array(jvm.java.lang.StackTraceElement, 0))
    return _CallbackError("", java_exception=exception)


def _find(java_exception: JavaValue) -> HudiHiveError | None:
    """The error of this package that a Java exception or one of its causes stands for."""
    if not _pending_errors and not _base_paths:
        return None
    current = java_exception
    for _ in range(_MAX_CAUSES):
        if current is None:
            return None
        text = current.getMessage() or ""
        with _lock:
            error = _pending_errors.get(text)
        if error is not None:
            return copy.copy(error)
        carried = deserialize_error(text)
        if carried is not None:
            return carried
        translated = _translate(text)
        if translated is not None:
            return translated
        current = current.getCause()
    return None


def _translate(text: str) -> HudiHiveError | None:
    """Spark's error about a file of a watched table as ours, or None."""
    column = _COLUMN_ERROR.search(text)
    if column is not None:
        return _unreadable_column(column.group(1), column.group(2)) if _is_watched(column.group(1)) else None
    match = _FILE_ERROR.search(text)
    missing = _FILE_NOT_FOUND.search(text)
    path = match.group(2) if match else missing.group(1) if missing else None
    if path is None or not _is_watched(path):
        return None
    kind = match.group(1) if match else "FILE_NOT_EXIST"
    if kind == "FILE_NOT_EXIST" or missing:
        return FileVanishedError(
            "a planned file was removed before it was read", path=path, remedy="run the statement again to plan anew"
        )
    if kind == "PARQUET_COLUMN_DATA_TYPE_MISMATCH":
        return _unreadable_column(path, text[match.end() :] if match else "")
    if "is not a Parquet file" in text or "CANNOT_READ_FOOTER" in kind:
        return CorruptFileError("not a readable data file", path=path, remedy="restore the file")
    return None


def _unreadable_column(path: str, details: str) -> SchemaError:
    reason = " ".join(details.split()).split(" SQLSTATE")[0]
    return SchemaError(
        f"Spark cannot read a column of the file as the table's type: {reason}",
        path=path,
        remedy="read the table with HudiTable.scan, which converts it, or rewrite the file",
    )


def _plain(path: str) -> str:
    """A URI without the empty authority that Hadoop and Java write differently (``file:///a`` and ``file:/a``)."""
    return re.sub(r"^file:/+", "file:/", path.rstrip("/"))


def _is_watched(path: str) -> bool:
    plain = _plain(path)
    with _lock:
        return any(plain.startswith(base + "/") for base in _base_paths)
