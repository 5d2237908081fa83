"""Options and small conversions that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from hudi_hive.cli.output import FORMATS, Output
from hudi_hive.errors import InvalidOptionError, PathNotFoundError, UnsafePathError

if TYPE_CHECKING:
    import pyarrow as pa

    from hudi_hive.table import MetaClient

F = TypeVar("F", bound=Callable[..., Any])


def with_output(function: F) -> F:
    """Add ``--format`` to a command, which gets an :class:`Output` as ``output`` that is closed when it returns."""
    from functools import wraps

    @click.option(
        "--format",
        "output_format",
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="How to print.",
    )
    @wraps(function)
    def wrapper(*args: Any, output_format: str, **kwargs: Any) -> Any:  # noqa: ANN401
        output = Output(output_format)
        result = function(*args, output=output, **kwargs)
        output.close()
        return result

    return wrapper  # type: ignore[return-value]


STORAGE_VARIABLE: Final = "HUDI_HIVE_STORAGE_OPTIONS"
"""Variable of the environment with storage options, a ``name=value`` on each line."""

_FILE: Final = "storage_options_file"
_OF_FILE, _OF_VARIABLE = "@file", "@env"
"""How values begin that stand in a file, or in a variable of the environment."""


def storage_options(function: F) -> F:
    """Add ``--storage-option k=v`` (repeatable) and ``--storage-options-file``, which come as one tuple of pairs.

    What others may not see in the list of processes stands in the file or in :data:`STORAGE_VARIABLE`.
    """
    one = click.option(
        "--storage-option",
        "storage_option",
        multiple=True,
        metavar="K=V",
        callback=_all_storage_options,
        help="Key, region, endpoint … of the storage; what others may see in the list of processes is no secret.",
    )
    file = click.option(
        "--storage-options-file",
        _FILE,
        type=click.Path(exists=True, dir_okay=False, allow_dash=True),
        is_eager=True,
        expose_value=False,
        callback=_remember_file,
        help=f"Properties file with storage options, - for standard input; {STORAGE_VARIABLE} may hold some too.",
    )
    return one(file(function))


def _remember_file(context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    context.meta[_FILE] = value


def _all_storage_options(
    context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...]:
    """The pairs of the command line, of the file and of the environment, the first of them first."""
    import os

    path, text = context.meta.get(_FILE), os.environ.get(STORAGE_VARIABLE)
    if not path and not text:
        return value
    from hudi_hive.formats import parse_properties
    from hudi_hive.storage import layered

    of_file: dict[str, str] = {}
    if path:
        with click.open_file(path, "rb") as stream:
            of_file = parse_properties(stream.read(), path=path)
    of_variable = parse_properties((text or "").encode(), path=STORAGE_VARIABLE)
    merged = layered(pairs(value, "--storage-option"), of_file, of_variable)
    return tuple(f"{name}={text}" for name, text in merged.items())


def open_client(path: str, storage_option: tuple[str, ...]) -> MetaClient:
    """Open a table; its partitions and files come from the metadata table where that is usable.

    Raises:
        HudiHiveError: there is no table, or it cannot be read.
    """
    from hudi_hive.metadata import MetadataListing
    from hudi_hive.table import MetaClient

    return MetaClient.load(path, pairs(storage_option, "--storage-option"), listing=MetadataListing())


def existing_partitions(client: MetaClient, arguments: tuple[str, ...]) -> list[str] | None:
    """The distinct partition paths of a command's arguments; None when all partitions are meant.

    Raises:
        PathNotFoundError: one is no partition of the table, but another folder or nothing at all.
    """
    from hudi_hive.table.keys import PARTITION_METAFILES

    partitions = list(dict.fromkeys(path.strip("/") for path in arguments))
    for path in partitions:
        try:
            paths = client.storage.list(path, missing_ok=True)["path"].to_pylist()
        except UnsafePathError:
            paths = []
        if path == "" and not client.config.partition_fields:
            continue
        if not {entry.rpartition("/")[2] for entry in paths} & set(PARTITION_METAFILES):
            raise unknown_partition(client, path)
    return partitions or None


def unknown_partition(client: MetaClient, path: str) -> PathNotFoundError:
    """The error for a partition that a table does not have."""
    return PathNotFoundError(
        f"no such partition: {path!r}",
        path=client.base_path,
        remedy="`hudi-hive stats` lists the partitions; give the path below the base path",
    )


def pairs(values: tuple[str, ...], option: str) -> dict[str, str]:
    """Parse ``k=v`` arguments to a dict; a value ``@file:PATH`` is a file's text, ``@env:NAME`` that of a variable.

    Raises:
        InvalidOptionError: a word without ``=``, or a value that names a file or variable that is not there.
    """
    result: dict[str, str] = {}
    for value in values:
        key, separator, text = value.partition("=")
        if not separator or not key:
            raise InvalidOptionError(f"{option} takes key=value, not {value!r}")
        result[key.strip()] = _text_of(text, f"{option} {key.strip()}")
    return result


def _text_of(value: str, option: str) -> str:
    """A value that may say where it is: what stands on a command line is seen by all users of the machine."""
    import os

    kind, _, place = value.partition(":")
    if kind == _OF_VARIABLE:
        if place not in os.environ:
            raise InvalidOptionError(f"{option}: there is no variable {place!r}", remedy="set it in the environment")
        return os.environ[place]
    if kind != _OF_FILE:
        return value
    try:
        with open(place, encoding="utf-8") as stream:
            return stream.read().removesuffix("\n").removesuffix("\r")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InvalidOptionError(f"{option}: the file cannot be read: {reason}", path=place) from None


def write_parquet(open_reader: Callable[[], pa.RecordBatchReader], path: str) -> int:
    """Write batches to a Parquet file beside the target and rename it, so that a failed read leaves no half file.

    Returns:
        Number of rows written.

    Raises:
        StorageError: it cannot be written.
        SchemaError: Parquet has no type for a column.
        HudiHiveError: whatever opening or reading the reader raises.
    """
    import os

    import pyarrow as pa
    import pyarrow.parquet as pq

    from hudi_hive.errors import SchemaError, StorageError

    temporary = f"{path}.{os.getpid()}.tmp"
    rows = 0
    try:
        with open_reader() as reader, pq.ParquetWriter(temporary, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
                rows += batch.num_rows
        os.replace(temporary, path)
    except OSError as error:
        raise StorageError(f"cannot write: {error}", path=path) from error
    except pa.ArrowNotImplementedError as error:
        raise SchemaError(f"cannot write: {error}", path=path, remedy="leave the column out, or cast it") from error
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
    return rows
