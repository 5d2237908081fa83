"""Kinds of tables that the matrix of writers makes: the plain one, and those with an option that changes the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
LETTERS = ("x", "y", "z")
"""The places of rows; a kind says which partition each is."""

# Whose turn it is, and what it does. "second" goes on from what "first" made; "hudi" is real Hudi, whichever that is.
_TURNS = (
    ("first", "insert"),
    ("second", "upsert"),
    ("first", "delete"),
    ("second", "insert_overwrite"),
    ("first", "upsert"),
    ("second", "delete_partition"),
    ("first", "insert"),
    ("second", "delete"),
)


@dataclass(frozen=True)
class Kind:
    """One kind of table.

    Attributes:
        name: of the kind.
        partition_fields: partition columns.
        paths: folder of each letter.
        places: values of the partition columns for each letter; by default the letter is the column ``part``.
        columns: further columns: Arrow type and Spark's.
        created: further fields of :class:`~hudi_hive.table.TableDefinition`.
        options: write options of both sides.
        hudi: options that make the table when real Hudi does.
        hidden: columns that readers show differently from release to release; the folder is compared in their place.
        turns: see :data:`_TURNS`.
        changes: whether the change data of all commits is compared too.
        unreadable: versions and types that real Hudi cannot read itself when it alone has written.
    """

    name: str
    partition_fields: tuple[str, ...] = ("part",)
    paths: Mapping[str, str] = field(default_factory=lambda: {letter: letter for letter in LETTERS})
    places: Mapping[str, Mapping[str, Any]] = field(
        default_factory=lambda: {letter: {"part": letter} for letter in LETTERS}
    )
    columns: Mapping[str, tuple[pa.DataType, str]] = field(default_factory=dict)
    created: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    hudi: Mapping[str, str] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()
    turns: Sequence[tuple[str, str]] = _TURNS
    changes: bool = False
    unreadable: frozenset[tuple[int, str]] = frozenset()


_CLOCK = {
    "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
    "hoodie.keygen.timebased.output.dateformat": "yyyy/MM/dd",
    "hoodie.keygen.timebased.timezone": "UTC",
}
_DAY = 86_400_000
_NEW_YEAR = 1_767_225_600_000  # 2026-01-01 in milliseconds

KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("plain", turns=()),
        Kind(
            "buckets",
            options={"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "3"},
            turns=[turn for turn in _TURNS if turn[1] != "insert_overwrite"],
        ),
        Kind(
            "changes",
            created={"cdc": True},
            hudi={
                "hoodie.table.cdc.enabled": "true",
                "hoodie.table.cdc.supplemental.logging.mode": "DATA_BEFORE_AFTER",
            },
            # Real Hudi tells no changes of an insert into a file that is there, and then cannot read them itself.
            turns=[_TURNS[0], *((turn, "upsert" if what == "insert" else what) for turn, what in _TURNS[1:])],
            changes=True,
        ),
        Kind(
            "overwrites",
            turns=[
                ("first", "insert"),
                ("second", "insert_overwrite"),
                ("first", "insert_overwrite"),
                ("second", "insert_overwrite_table"),
                ("first", "upsert"),
                ("first", "insert_overwrite_table"),
                ("second", "insert"),
                ("second", "insert_overwrite"),
                ("first", "upsert"),
            ],
        ),
        Kind(
            "record_index",
            options={"hoodie.metadata.record.index.enable": "true", "hoodie.index.type": "RECORD_INDEX"},
        ),
        Kind(
            "virtual_keys",
            created={"populate_meta_fields": False},
            options={"hoodie.index.type": "SIMPLE"},
            hudi={"hoodie.populate.meta.fields": "false"},
            # 1.0.2 takes the key from a meta column when it merges log files, and fails with NullPointerException.
            unreadable=frozenset({(8, "MERGE_ON_READ")}),
        ),
        Kind(
            "whole",
            partition_fields=(),
            paths=dict.fromkeys(LETTERS, ""),
            hudi={"hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator"},
            turns=[turn for turn in _TURNS if turn[1] != "delete_partition"],
        ),
        Kind(
            "levels",
            partition_fields=("part", "sub"),
            paths={
                "x": "part=a%2Fb c/sub=1%3Dé",
                "y": "part=y%3A%25/sub=2026%2F01",
                "z": "part=z/sub=q%3F%23",
            },
            places={
                "x": {"part": "a/b c", "sub": "1=é"},
                "y": {"part": "y:%", "sub": "2026/01"},
                "z": {"part": "z", "sub": "q?#"},
            },
            columns={"sub": (pa.string(), "string")},
            created={"hive_style_partitioning": True, "url_encode_partitioning": True},
            hudi={
                "hoodie.datasource.write.hive_style_partitioning": "true",
                "hoodie.datasource.write.partitionpath.urlencode": "true",
            },
        ),
        Kind(
            "days",
            partition_fields=("event",),
            paths={letter: f"event=2026/01/0{number}" for number, letter in enumerate(LETTERS, 1)},
            places={
                letter: {"part": letter, "event": _NEW_YEAR + number * _DAY + 1234}
                for number, letter in enumerate(LETTERS)
            },
            columns={"event": (pa.int64(), "long")},
            options=_CLOCK,  # 0.15 does not keep them with the table
            created={"key_generator": "TIMESTAMP", "hive_style_partitioning": True, "properties": _CLOCK},
            hudi={
                "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.TimestampBasedKeyGenerator",
                "hoodie.datasource.write.hive_style_partitioning": "true",
            },
            hidden=frozenset({"event"}),
        ),
    )
}
"""By name; ``plain`` takes each operation in turn, the others take several by turns."""
