"""Mutations of a folder of CSV files: an implementation of the extension points outside of the package.

A table is a folder of versions, ``v<number>/<partition>.csv``; the file ``CURRENT`` names the one that readers take. A
coordinator stages its records below ``_staging``, and the commit writes a new version and replaces ``CURRENT``.
"""

from __future__ import annotations

import csv
import fcntl
import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudi_hive.errors import (
    DuplicateRecordError,
    GroupRevisitedError,
    MutationError,
    MutationStateError,
    SchemaError,
    TransactionLockError,
    UnknownColumnError,
    UnknownRecordError,
)
from hudi_hive.mutation import ClientBase, Coordinator, MutationSink, Mutator, TransactionBase, TransactionState

COLUMNS = pa.schema([("id", pa.int64()), ("msg", pa.string())])
KEY = "country"
Rows = dict[tuple[str, int], str | None]
"""Message by partition and id."""


@dataclass(frozen=True)
class CsvManifest:
    """The staged files of an attempt, by partition."""

    table: str
    transaction: int
    attempt: str
    files: Mapping[str, str]
    rows: int

    def encode(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def decode(cls, text: str) -> Self:
        return cls(**json.loads(text))


class CsvMutator(Mutator[str]):
    """Writes the changes of one partition to a file; its path is what the manifest says of it."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._file: IO[str] = open(path, "x", newline="")  # noqa: SIM115 - open until closed or discarded
        self._csv = csv.writer(self._file)

    def write(
        self,
        operations: npt.NDArray[np.int8],
        rows: pa.Table | None,
        row_ids: Sequence[npt.NDArray[np.int64]] | None = None,
    ) -> None:
        assert rows is not None
        columns = (rows[name].to_pylist() for name in COLUMNS.names)
        for operation, number, message in zip(operations, *columns, strict=True):
            self._csv.writerow([operation, number, json.dumps(message)])

    def close(self) -> str:
        self._file.close()
        return str(self._path)

    def discard(self) -> None:
        self._file.close()


class CsvSink(MutationSink[CsvManifest]):
    """Writes each partition's records to a file of its own."""

    def __init__(self, folder: Path, transaction: int, attempt: str | None = None) -> None:
        if transaction < 1:
            raise MutationStateError(f"{folder.name} is not open for writing")
        super().__init__(attempt)
        self._table, self._transaction = folder, transaction
        self._staging = folder / "_staging" / str(transaction) / self.attempt
        self._mutators: dict[str, CsvMutator] = {}
        self._rows = 0

    @property
    def table_name(self) -> str:
        return self._table.name

    def check_values(self, values: Sequence[str | None]) -> None:
        if len(values) != 1 or not values[0] or "/" in values[0]:
            raise MutationError(f"partition values {values} are not the one text that {self.table_name} has")

    def to_table(self, records: Sequence[tuple[int, Mapping[str, Any]]], values: Sequence[str | None]) -> pa.Table:
        unknown = {name for _, record in records for name in record} - set(COLUMNS.names)
        if unknown or any("id" not in record for _, record in records):
            raise SchemaError(f"a record for {self.table_name} lacks its id or has unknown {sorted(unknown)}")
        if any("msg" not in record for operation, record in records if operation != 2):
            raise SchemaError(f"a record for {self.table_name} lacks msg")
        return pa.table([[record.get(name) for _, record in records] for name in COLUMNS.names], schema=COLUMNS)

    def write(
        self, data: pa.RecordBatch | pa.Table, operations: npt.NDArray[np.int8], values: Sequence[str | None] | None
    ) -> None:
        unknown = set(data.schema.names) - {*COLUMNS.names, *([] if values is not None else [KEY])}
        if unknown:
            raise UnknownColumnError(f"table {self.table_name} has no column {sorted(unknown)}")
        partitions = [values[0]] * data.num_rows if values is not None else data.column(KEY).to_pylist()
        columns = [
            data.column(name).cast(kind) if name in data.schema.names else pa.nulls(data.num_rows, kind)
            for name, kind in zip(COLUMNS.names, COLUMNS.types, strict=True)
        ]
        rows = pa.table(columns, schema=COLUMNS)
        for partition in dict.fromkeys(partitions):
            self.check_values([partition])
            chosen = np.array([other == partition for other in partitions], np.bool_)
            mutator = self._mutators.setdefault(partition, None) or CsvMutator(self._staging / f"{partition}.csv")
            self._mutators[partition] = mutator
            mutator.write(operations[chosen], rows.filter(pa.array(chosen)))
        self._rows += data.num_rows

    def close(self) -> CsvManifest:
        files = {partition: mutator.close() for partition, mutator in self._mutators.items()}
        return CsvManifest(str(self._table), self._transaction, self.attempt, files, self._rows)

    def discard(self) -> None:
        for mutator in self._mutators.values():
            mutator.discard()

    def remove(self) -> None:
        shutil.rmtree(self._staging, ignore_errors=True)


class CsvTransaction(TransactionBase):
    """Holds the table's lock from begin to commit or abort."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder, self.id = folder, 0
        self._lock = -1
        self._manifests: list[CsvManifest] = []

    def begin(self) -> Self:
        self.check_new()
        self._lock = os.open(self.folder / "_lock", os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            raise TransactionLockError(f"{self.folder.name} is locked") from error
        shutil.rmtree(self.folder / "_staging", ignore_errors=True)  # of the dead
        self.id = current_version(self.folder) + 1
        self._state = TransactionState.OPEN
        return self

    def accept(self, *manifests: CsvManifest) -> None:
        self.check_open()
        for manifest in manifests:
            if (manifest.table, manifest.transaction) != (str(self.folder), self.id):
                raise MutationError(f"a manifest of transaction {manifest.transaction} is none of {self.id}")
            if manifest.attempt in {one.attempt for one in self._manifests}:
                raise GroupRevisitedError(f"attempt {manifest.attempt} is counted already")
            self._manifests.append(manifest)

    def commit(self, manifests: Iterable[CsvManifest] = ()) -> None:
        self.check_open()
        try:
            self.accept(*manifests)
            rows = read(self.folder)
            for manifest in self._manifests:
                for partition, file in manifest.files.items():
                    apply(rows, partition, Path(file))
            write_version(self.folder, self.id, rows)
        except BaseException:
            self._give_up()
            raise
        self._end(TransactionState.COMMITTED)

    def abort(self) -> None:
        self.check_open()
        self._end(TransactionState.ABORTED)

    def _give_up(self) -> None:
        self._end(TransactionState.ABORTED)

    def _end(self, state: TransactionState) -> None:
        self._state = state
        shutil.rmtree(self.folder / "_staging", ignore_errors=True)
        os.close(self._lock)


class CsvClient(ClientBase[CsvTransaction]):
    """Mutates one folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder, self._connected = folder, False

    @property
    def connected(self) -> bool:
        return self._connected

    def connect(self) -> Self:
        if self._connected:
            raise MutationStateError("the client is connected already")
        self._folder.mkdir(exist_ok=True)
        self._connected = True
        return self

    def _make_transaction(self) -> CsvTransaction:
        if not self._connected:
            raise MutationStateError("the client is not connected")
        return CsvTransaction(self._folder)

    def _disconnect(self) -> None:
        self._connected = False


CsvCoordinator = Coordinator[CsvManifest]


def current_version(folder: Path) -> int:
    try:
        return int((folder / "CURRENT").read_text())
    except FileNotFoundError:
        return 0


def read(folder: Path) -> Rows:
    """The committed rows."""
    rows: Rows = {}
    for file in (folder / f"v{current_version(folder)}").glob("*.csv"):
        with open(file, newline="") as lines:
            rows |= {(file.stem, int(number)): json.loads(message) for number, message in csv.reader(lines)}
    return rows


def apply(rows: Rows, partition: str, file: Path) -> None:
    with open(file, newline="") as lines:
        for operation, number, message in csv.reader(lines):
            key = (partition, int(number))
            if (operation == "0") == (key in rows):
                kind = DuplicateRecordError if operation == "0" else UnknownRecordError
                raise kind(f"record {key} is {'there' if key in rows else 'not there'}")
            rows[key] = json.loads(message)
            if operation == "2":
                del rows[key]


def write_version(folder: Path, number: int, rows: Rows) -> None:
    target = folder / f"v{number}"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for partition in {partition for partition, _ in rows}:
        with open(target / f"{partition}.csv", "w", newline="") as file:
            lines = csv.writer(file)
            lines.writerows([key[1], json.dumps(msg)] for key, msg in rows.items() if key[0] == partition)
    (folder / "_next").write_text(str(number))
    os.replace(folder / "_next", folder / "CURRENT")
