"""Index options of a write, from its settings and the table."""

from __future__ import annotations

from dataclasses import dataclass

from hudi_hive.table import TableConfig
from hudi_hive.table.keys import BucketRules
from hudi_hive.write.options import IndexSettings, IndexType


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """The index options of a write.

    Attributes:
        kind: the index.
        is_global: a key stands for one record in the whole table, not in each partition.
        updates_partition: a record that is given with another partition than it has moves there; otherwise it is
            updated where it is. Of global indexes alone.
        prune_by_ranges: base files whose range of keys does not hold a key are not looked into (bloom indexes).
        use_metadata: ranges and bloom filters come from the metadata table where it has them (bloom indexes).
        buckets: buckets of a partition (bucket index); at first, under consistent hashing.
        hash_fields: key fields whose values tell the bucket.
        consistent: buckets are those of consistent hashing.
        rules: buckets by partition (bucket index); None if all have as many.
    """

    kind: IndexType
    is_global: bool
    updates_partition: bool
    prune_by_ranges: bool
    use_metadata: bool
    buckets: int
    hash_fields: tuple[str, ...]
    consistent: bool = False
    rules: BucketRules | None = None

    @classmethod
    def of(cls, settings: IndexSettings, table: TableConfig) -> IndexOptions:
        """Derive the index options from settings.

        Args:
            settings: index settings of a write.
            table: the table's properties.
        """
        fields = settings.bucket_fields or table.record_keys
        return cls(
            kind=settings.kind,
            is_global=settings.kind.is_global,
            updates_partition=settings.updates_partition,
            prune_by_ranges=settings.bloom_prune_by_ranges,
            use_metadata=settings.bloom_use_metadata,
            buckets=settings.bucket_count,
            hash_fields=fields,
            consistent=settings.hashes_consistently,
            rules=settings.rules,
        )
