"""Which index a write uses and how: Hudi's index options, typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from hudi_hive.errors import InvalidOptionError
from hudi_hive.table import TableConfig


class IndexType(StrEnum):
    """Ways to find the file group of a record."""

    SIMPLE = "SIMPLE"
    GLOBAL_SIMPLE = "GLOBAL_SIMPLE"
    BLOOM = "BLOOM"
    GLOBAL_BLOOM = "GLOBAL_BLOOM"
    RECORD_INDEX = "RECORD_INDEX"
    PARTITIONED_RECORD_INDEX = "RECORD_LEVEL_INDEX"
    BUCKET = "BUCKET"


INDEX_TYPE: Final = "hoodie.index.type"
_ALIASES: Final = {"GLOBAL_RECORD_LEVEL_INDEX": IndexType.RECORD_INDEX}
_REFUSED: Final = {
    "HBASE": "it needs an HBase cluster",
    "INMEMORY": "it forgets where records are when the process ends",
    "FLINK_STATE": "it lives in the state of a Flink job",
}
_GLOBAL: Final = frozenset({IndexType.GLOBAL_SIMPLE, IndexType.GLOBAL_BLOOM, IndexType.RECORD_INDEX})
_MOVES: Final = {
    IndexType.GLOBAL_SIMPLE: ("hoodie.simple.index.update.partition.path", True),
    IndexType.GLOBAL_BLOOM: ("hoodie.bloom.index.update.partition.path", True),
    IndexType.RECORD_INDEX: ("hoodie.record.index.update.partition.path", False),
}
"""Index -> option that lets a record move to another partition, and its default."""

_BUCKETS: Final = "hoodie.bucket.index.num.buckets"
_ENGINE: Final = "hoodie.index.bucket.engine"
_BY_PARTITION: Final = ("hoodie.bucket.index.partition.expressions", "hoodie.bucket.index.partition.rule.type")


class HasOptions(Protocol):
    """What is asked of a write's configuration."""

    @property
    def options(self) -> Mapping[str, str]:
        """The options of the write by Hudi's names."""


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """How a write finds the file groups of its records.

    Attributes:
        type: the index.
        updates_partition: a record that is given with another partition than it has moves there; otherwise it is
            updated where it is. Of global indexes alone.
        prune_by_ranges: base files whose range of keys does not hold a key are not looked into (bloom indexes).
        use_metadata: ranges and bloom filters come from the metadata table where it has them (bloom indexes).
        buckets: buckets of a partition (bucket index).
        hash_fields: key fields whose values tell the bucket.
    """

    type: IndexType
    updates_partition: bool
    prune_by_ranges: bool
    use_metadata: bool
    buckets: int
    hash_fields: tuple[str, ...]

    @property
    def is_global(self) -> bool:
        """Whether a key stands for one record in the whole table, not in each partition."""
        return self.type in _GLOBAL

    @classmethod
    def of(cls, options: Mapping[str, str], table: TableConfig) -> IndexOptions:
        """The index that options ask for.

        Args:
            options: options of a write.
            table: the table's properties, which tell what the options do not.

        Raises:
            InvalidOptionError: an index that is not supported, or a value that an option does not take.
        """
        kind = _type(_text(options, INDEX_TYPE) or _text(table.properties, INDEX_TYPE) or IndexType.SIMPLE)
        if name := _text(options, "hoodie.index.class"):
            raise InvalidOptionError(f"hoodie.index.class={name}: indexes of one's own are not supported")
        if kind is IndexType.BUCKET:
            _check_bucket_engine(options)
        moves, default = _MOVES.get(kind, ("", False))
        fields = _text(options, "hoodie.bucket.index.hash.field") or _text(
            table.properties, "hoodie.bucket.index.hash.field"
        )
        return cls(
            type=kind,
            updates_partition=_flag(options, moves, default) if moves else False,
            prune_by_ranges=_flag(options, "hoodie.bloom.index.prune.by.ranges", True),
            use_metadata=_flag(options, "hoodie.bloom.index.use.metadata", True),
            buckets=_buckets(options, table),
            hash_fields=_items(fields) if fields else table.record_keys,
        )


def _type(text: str) -> IndexType:
    name = text.upper()
    if name in _REFUSED:
        raise InvalidOptionError(f"{INDEX_TYPE}={text} is not supported: {_REFUSED[name]}", remedy=_remedy())
    try:
        return _ALIASES[name] if name in _ALIASES else IndexType(name)
    except ValueError:
        raise InvalidOptionError(f"{INDEX_TYPE}={text} is no index", remedy=_remedy()) from None


def _remedy() -> str:
    return f"use one of {', '.join(kind.value for kind in IndexType)}"


def _check_bucket_engine(options: Mapping[str, str]) -> None:
    engine = (_text(options, _ENGINE) or "SIMPLE").upper()
    if engine != "SIMPLE":
        raise InvalidOptionError(f"{_ENGINE}={engine} is not supported", remedy="use the SIMPLE engine")
    for name in _BY_PARTITION:
        if value := _text(options, name):
            raise InvalidOptionError(
                f"{name}={value}: numbers of buckets that differ by partition are not supported",
                remedy=f"give one number for all: {_BUCKETS}",
            )


def _buckets(options: Mapping[str, str], table: TableConfig) -> int:
    text = _text(options, _BUCKETS) or _text(table.properties, _BUCKETS) or "256"
    if not (text.isascii() and text.isdigit()) or not 0 < int(text) < 100_000_000:
        raise InvalidOptionError(f"{_BUCKETS}={text} is no number of buckets")
    return int(text)


def _text(options: Mapping[str, str], name: str) -> str | None:
    return (options.get(name) or "").strip() or None


def _flag(options: Mapping[str, str], name: str, default: bool) -> bool:
    text = (_text(options, name) or str(default)).lower()
    if text not in ("true", "false"):
        raise InvalidOptionError(f"{name}={text} is neither true nor false")
    return text == "true"


def _items(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(",") if item.strip())
