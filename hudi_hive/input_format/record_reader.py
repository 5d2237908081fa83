"""Rows of one split, with the columns that Hive projects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from hudi_hive.errors import InvalidOptionError, UnsupportedFormatError
from hudi_hive.formats.base import BaseFile, open_base_file
from hudi_hive.input_format.job import JobConf
from hudi_hive.input_format.plan import InputPlan
from hudi_hive.input_format.splits import FileSplit
from hudi_hive.options import jobs
from hudi_hive.plan import ScanPlan
from hudi_hive.read.scan import read_plan
from hudi_hive.storage import HadoopPath, Stores


def projection(conf: JobConf) -> list[str] | None:
    """The columns that a job reads, in its order, then its partition columns; None for all.

    ``hive.io.file.readcolumn.names`` counts; without it ``.ids``, which are positions in ``columns``. A projection that
    is there but empty (``count(*)``) leaves the partition columns alone. Of these only such count that ``columns`` has,
    if that is set. ``hive.io.file.read.all.columns=true`` goes before all of it.

    Raises:
        InvalidOptionError: ids that are no positions in ``columns``.
    """
    if conf.value(jobs.READ_ALL_COLUMNS):
        return None
    if jobs.READ_COLUMN_NAMES.name in conf:
        names = [*conf.value(jobs.READ_COLUMN_NAMES)]
    elif jobs.READ_COLUMN_IDS.name in conf:
        names = _named(conf)
    else:
        return None
    column_names = {name.lower() for name in conf.value(jobs.COLUMNS)}
    # Hive joins them with "/"; one of Hudi's own classes takes "," instead.
    for name in conf.value(jobs.PARTITION_COLUMNS).replace(",", "/").split("/"):
        if name.strip() and (not column_names or name.strip().lower() in column_names):
            names.append(name.strip())
    unique = {name.lower(): name for name in reversed(names)}
    return [name for name in dict.fromkeys(names) if unique[name.lower()] == name]


def _named(conf: JobConf) -> list[str]:
    columns = conf.value(jobs.COLUMNS)
    ids = conf.value(jobs.READ_COLUMN_IDS)
    try:
        positions = [int(text) for text in ids]
    except ValueError as error:
        raise InvalidOptionError(
            f"{jobs.READ_COLUMN_IDS} must be numbers, not {conf[jobs.READ_COLUMN_IDS.name]!r}"
        ) from error
    if any(not 0 <= position < len(columns) for position in positions):
        raise InvalidOptionError(
            f"{jobs.READ_COLUMN_IDS}={conf[jobs.READ_COLUMN_IDS.name]} goes beyond the {len(columns)} columns",
            remedy=f"set {jobs.COLUMNS}, or {jobs.READ_COLUMN_NAMES}",
        )
    return [columns[position] for position in positions]


def read_split(plan: InputPlan, conf: JobConf, stores: Stores, split: FileSplit) -> Iterator[pa.RecordBatch]:
    """Rows of one split: those of the row groups whose middle lies in its byte range, so that splits share no row.

    Raises:
        InvalidOptionError: the split is of a table that the job does not have.
        FileVanishedError: the file was cleaned since.
        CorruptFileError, SchemaError, UnknownColumnError: see :meth:`HoodieParquetInputFormat.get_record_reader`.
    """
    columns = projection(conf)
    if split.base_path is None:
        return _plain_rows(HadoopPath.parse(split.path), stores, split, columns)
    table = plan.tables.get(split.base_path)
    if table is None:
        raise InvalidOptionError("the split is of a table that is not in this job", path=split.path)
    scan = table.scan_of(split.instant)
    columns = own_columns(conf, scan, columns)
    if not split.file_length:
        return iter(())
    name = split.path.rpartition("/")[2]
    partition = split.partition or ""
    file = {
        "partition": [partition],
        "name": [name],
        "path": [f"{partition}/{name}" if partition else name],
        "instant": [split.instant],
        "start": [split.start],
        "length": [split.length],
    }
    return read_plan(table.inputs.client.storage, scan, columns, files=pa.table(file), threads=1)


def own_columns(conf: JobConf, scan: ScanPlan, columns: list[str] | None) -> list[str] | None:
    """A projection without the partition columns that the table does not have.

    Those are Hive's own, which fills them from the path.
    """
    if columns is None:
        return None
    own = {name.lower() for name in scan.schema.names}
    partition_keys = {name.strip().lower() for name in conf.value(jobs.PARTITION_COLUMNS).replace(",", "/").split("/")}
    return [name for name in columns if name.lower() in own or name.lower() not in partition_keys]


def _plain_rows(
    path: HadoopPath, stores: Stores, split: FileSplit, columns: Sequence[str] | None
) -> Iterator[pa.RecordBatch]:
    """Rows of a file that belongs to no table: its own columns; a column that it does not have is null."""
    if not split.file_length:
        return
    with _open_plain(path, stores) as file:
        names = file.schema.names
        by_lower = {name.lower(): name for name in names}
        selected = names if columns is None else [by_lower.get(name.lower(), name) for name in columns]
        there = [name for name in selected if name in names]
        for batch in file.batches(there, byte_range=(split.start, split.length)):
            if len(there) < len(selected):
                arrays = [batch.column(n) if n in there else pa.nulls(batch.num_rows) for n in selected]
                batch = pa.RecordBatch.from_arrays(arrays, names=selected)
            yield batch


def _open_plain(path: HadoopPath, stores: Stores) -> BaseFile:
    """Open a plain file; Hive gives its files no extension, and what is not ORC must be Parquet."""
    storage = stores.of(path)
    name = path.key.rpartition("/")[2]
    if name.rpartition(".")[2].lower() in ("gz", "csv", "json", "txt", "avro", "hfile", "lance", "log"):
        raise UnsupportedFormatError("plain files must be Parquet or ORC", path=str(path))
    return open_base_file(storage, path.key, extension="orc" if name.endswith(".orc") else "parquet")
