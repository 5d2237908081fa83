"""Small merge-on-read tables made by hand: properties, commits, base files and log files of any version."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hudi_hive.formats.log import RecordPositions
from hudi_hive.schema import avro_to_arrow, with_meta_fields
from tests.support.tables.log_files import data_block, delete_block

META = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)


def nullable(name: str, kind: str) -> dict[str, Any]:
    return {"name": name, "type": ["null", kind], "default": None}


class MorTable:
    """A table of one file group a partition; instants are ``t(1)``, ``t(2)`` …, completed half a second later."""

    def __init__(
        self, path: Path, version: int = 6, columns: Mapping[str, str] | None = None, **properties: str
    ) -> None:
        self.path = path
        self.version = version
        self.columns = dict(columns or {"id": "string", "ts": "long", "a": "string", "b": "string"})
        self.schema = {
            "type": "record",
            "name": "row",
            "fields": [nullable(name, kind) for name, kind in self.columns.items()],
        }
        self._logs: dict[str, int] = {}
        self._bases: dict[str, str] = {}
        hoodie = path / ".hoodie"
        (hoodie / ("timeline/history" if version >= 8 else "archived")).mkdir(parents=True)
        values = {
            "hoodie.table.name": "made",
            "hoodie.table.type": "MERGE_ON_READ",
            "hoodie.table.version": str(version),
            "hoodie.timeline.layout.version": "2" if version >= 8 else "1",
            "hoodie.table.recordkey.fields": "id",
            "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
            "hoodie.populate.meta.fields": "true",
            **{key.replace("__", "."): value for key, value in properties.items()},
        }
        text = "".join(f"{key}={value}\n" for key, value in values.items())
        (hoodie / "hoodie.properties").write_text(text)

    @staticmethod
    def t(number: int) -> str:
        return f"202601010000{number:02d}000"

    @staticmethod
    def completed(number: int) -> str:
        return f"202601010000{number:02d}500"

    def _with_meta(self, number: int, rows: Sequence[Mapping[str, Any]], file: str) -> list[dict[str, Any]]:
        meta = {"_hoodie_commit_time": self.t(number), "_hoodie_partition_path": "", "_hoodie_file_name": file}
        return [
            {**meta, "_hoodie_commit_seqno": f"{self.t(number)}_0_{i}", "_hoodie_record_key": row["id"], **row}
            for i, row in enumerate(rows)
        ]

    def commit(
        self, number: int, names: Sequence[str], previous: int | None = None, group: str = "f-0", **stat: Any
    ) -> None:
        """A completed delta commit that wrote these files."""
        stats = [
            {
                "fileId": group,
                "path": name,
                "prevCommit": "null" if previous is None else self.t(previous),
                "numWrites": 1,
                "fileSizeInBytes": (self.path / name).stat().st_size,
                **stat,
            }
            for name in names
        ]
        metadata = {
            "partitionToWriteStats": {"": stats},
            "extraMetadata": {"schema": json.dumps(self.schema)},
            "operationType": "UPSERT",
        }
        hoodie = self.path / ".hoodie"
        name = f"{self.t(number)}.deltacommit"
        if self.version >= 8:
            hoodie = hoodie / "timeline"
            name = f"{self.t(number)}_{self.completed(number)}.deltacommit"
        (hoodie / f"{self.t(number)}.deltacommit.requested").write_bytes(b"")
        (hoodie / f"{self.t(number)}.deltacommit.inflight").write_bytes(b"")
        (hoodie / name).write_text(json.dumps(metadata))

    def positions(self, places: Sequence[int], base: int = 1) -> dict[str, str]:
        """Headers that say at which rows of a base file the records of a block are."""
        told = RecordPositions.encoded(self.t(base), np.array(places, np.int64))
        return {key.name: text for key, text in told.headers.items()}

    def base(self, number: int, rows: Sequence[Mapping[str, Any]], group: str = "f-0", **options: Any) -> str:
        """Write a base file and its commit."""
        name = f"{group}_0-1-0_{self.t(number)}.parquet"
        schema = with_meta_fields(avro_to_arrow(self.schema))
        table = pa.Table.from_pylist(self._with_meta(number, rows, name), schema)
        pq.write_table(table, self.path / name, **options)
        self.commit(number, [name], group=group)
        self._bases[group] = name
        return name

    def log(
        self,
        number: int,
        rows: Sequence[Mapping[str, Any]] = (),
        deletes: Sequence[tuple[str, Any]] = (),
        *,
        base: int = 1,
        group: str = "f-0",
        places: Mapping[str, int] | None = None,
        **headers: str,
    ) -> str:
        """Write a log file with the rows and deleted keys, and its commit.

        ``places`` are the rows of base file ``base`` that the keys are at; blocks then have record positions.
        """
        of_rows: dict[str, str] = {}
        of_deletes: dict[str, str] = {}
        if places is not None:
            rows = sorted(rows, key=lambda row: places[row["id"]])
            deletes = sorted(deletes, key=lambda entry: places[entry[0]])
            of_rows = self.positions([places[row["id"]] for row in rows], base)
            of_deletes = self.positions([places[key] for key, _ in deletes], base)
        names = [*META, *dict.fromkeys(name for row in rows for name in row)]
        kinds = dict.fromkeys(META, "string") | self.columns
        columns = names if headers else [*META, *self.columns]
        schema = {"type": "record", "name": "row", "fields": [nullable(name, kinds[name]) for name in columns]}
        blocks = []
        if rows:
            blank = dict.fromkeys(columns)
            full = [{**blank, **row} for row in self._with_meta(number, rows, group)]
            blocks.append(data_block(self.t(number), full, schema=schema, **headers, **of_rows))
        if deletes:
            entries = [(key, "", ordering) for key, ordering in deletes]
            blocks.append(delete_block(self.t(number), entries, **of_deletes))
        instant = self.t(base) if self.version == 6 else self.t(number)
        count = self._logs[instant] = self._logs.get(instant, 0) + 1
        name = f".{group}_{instant}.log.{count}_0-1-0"
        (self.path / name).write_bytes(b"".join(blocks))
        names_base = self.version == 6  # version 8 names the commit itself, and no base file
        stat = {"baseFile": self._bases.get(group, "") if names_base else ""}
        self.commit(number, [name], previous=base if names_base else number, group=group, **stat)
        return name
