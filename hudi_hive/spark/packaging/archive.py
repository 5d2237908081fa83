"""Makes the archive: the files of this package and of what it needs, as they are installed here."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
import sys
import sysconfig
import zipfile
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError
from importlib.resources import files as resources
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

from hudi_hive._version import __version__
from hudi_hive.errors import InvalidOptionError, SparkError
from hudi_hive.read.remote import PACKAGE_MARK
from hudi_hive.spark.packaging import unpacking

_NAME: Final = "hudi_hive"
_ON_EXECUTORS: Final = frozenset({"pyspark", "py4j", "pyarrow"})
_LAST: Final = frozenset({"numpy"})
_LEFT_OUT: Final = ("__pycache__", "..")


def write_package(path: str | os.PathLike[str], extras: Sequence[str] = ()) -> list[str]:
    """Write an archive of this package for Spark's executors, which need no more than PySpark and PyArrow beside it.

    It goes to executors by ``--py-files`` (``spark.submit.pyFiles``), or unpacked by ``--archives``; both are found by
    steps of this package. It is for the Python and the kind of machine that it was made on.

    Args:
        path: of the file, which ends in ``.zip``, by which Spark knows what it is.
        extras: groups of optional packages to add, as of ``pip install hudi_hive[…]``: ``hdfs``, ``aws`` …

    Returns:
        The packages in it, as ``name==version``.

    Raises:
        InvalidOptionError: the file's name, or an extra that there is not.
        SparkError: a package that is needed is not installed here.
    """
    target = Path(path)
    if target.suffix != ".zip":
        raise InvalidOptionError(f"{target} does not end in .zip", remedy="name the file so: Spark goes by the name")
    parts = _needed(extras)
    files = dict(_files(parts))
    mark = {
        "id": _identity(files),
        "python": "{}.{}".format(*sys.version_info[:2]),
        "platform": sysconfig.get_platform(),
        "version": __version__,
    }
    written = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(PACKAGE_MARK, json.dumps(mark))
            loading = f"{inspect.getsource(unpacking)}\n\n{unpacking.load_packaged.__name__}(__file__)\n"
            archive.writestr(f"{_NAME}/__init__.py", loading)
            for name, source in sorted(files.items()):
                archive.write(source, name)
        os.replace(written, target)
    finally:
        written.unlink(missing_ok=True)
    return [f"{_NAME}=={__version__}", *sorted(f"{part.name}=={part.version}" for part in parts)]


def _needed(extras: Sequence[str]) -> list[Distribution]:
    """Packages that this one needs, and those that these need."""
    own = _distribution(_NAME)
    known = set(own.metadata.get_all("Provides-Extra") or ())
    for extra in extras:
        if extra not in known:
            raise InvalidOptionError(f"there is no extra {extra!r}", remedy=f"one of {', '.join(sorted(known))}")
    needed: dict[str, Distribution] = {}
    open_requirements = [(text, frozenset(extras)) for text in own.requires or ()]
    while open_requirements:
        text, asked = open_requirements.pop()
        requirement = Requirement(text)
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        wanted = requirement.marker is None or any(
            requirement.marker.evaluate({"extra": extra}) for extra in (asked or {""})
        )
        if not wanted or name in needed or name in _ON_EXECUTORS | {"hudi-hive"}:
            continue
        needed[name] = _distribution(requirement.name)
        open_requirements += [(inner, frozenset(requirement.extras)) for inner in needed[name].requires or ()]
    return list(needed.values())


def _distribution(name: str) -> Distribution:
    try:
        return Distribution.from_name(name)
    except PackageNotFoundError as error:
        raise SparkError(f"{name} is not installed here", remedy=f"pip install {name}") from error


def _files(parts: Sequence[Distribution]) -> Iterator[tuple[str, Path]]:
    """Names in the archive and files of what goes there."""
    root = Path(str(resources(_NAME)))
    for file in root.rglob("*"):
        if file.is_file() and "__pycache__" not in file.parts:
            yield f"packages/{_NAME}/{file.relative_to(root).as_posix()}", file
    for part in parts:
        if part.files is None:
            raise SparkError(f"the files of {part.name} are not known", remedy=f"install {part.name} by pip")
        folder = "last" if part.name.lower() in _LAST else "packages"
        for entry in part.files:
            if not any(left in entry.parts for left in _LEFT_OUT):
                yield f"{folder}/{entry.as_posix()}", Path(str(entry.locate()))


def _identity(files: dict[str, Path]) -> str:
    """Tells archives of other contents apart."""
    digest = hashlib.sha256()
    for name, source in sorted(files.items()):
        digest.update(f"{name} {source.stat().st_size} {source.stat().st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
