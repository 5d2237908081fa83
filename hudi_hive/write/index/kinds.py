"""The index of a write by its kind (``hoodie.index.type``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from hudi_hive.table import MetaClient
from hudi_hive.write.index.base import Index
from hudi_hive.write.index.bloom import BloomIndex
from hudi_hive.write.index.bucket import BucketIndex, bucket_rules
from hudi_hive.write.index.consistent import ConsistentBucketIndex
from hudi_hive.write.index.options import IndexOptions
from hudi_hive.write.index.record_index import record_index
from hudi_hive.write.index.simple import SimpleIndex
from hudi_hive.write.options import IndexType, WriteConfig


def _bucket_index(client: MetaClient, options: IndexOptions) -> Index:
    return ConsistentBucketIndex(client, options) if options.consistent else BucketIndex(client, options)


KINDS: Final[Mapping[IndexType, Callable[[MetaClient, IndexOptions], Index]]] = {
    IndexType.SIMPLE: SimpleIndex,
    IndexType.GLOBAL_SIMPLE: SimpleIndex,
    IndexType.BLOOM: BloomIndex,
    IndexType.GLOBAL_BLOOM: BloomIndex,
    IndexType.BUCKET: _bucket_index,
    IndexType.RECORD_INDEX: record_index,
    IndexType.GLOBAL_RECORD_LEVEL_INDEX: record_index,
    IndexType.RECORD_LEVEL_INDEX: record_index,
    IndexType.INMEMORY: SimpleIndex,  # which no process has to remember
}


def check_index(config: WriteConfig, client: MetaClient) -> None:
    """Refuse index options that are not the table's, before anything is written.

    Args:
        config: the write's configuration.
        client: the table.

    Raises:
        InvalidOptionError: rules of buckets that are not those that the table has.
        CorruptFileError: the table's cannot be decoded.
    """
    if config.index.bucket_rules is not None:
        bucket_rules(client, IndexOptions.of(config.index, client.config))


def open_index(config: WriteConfig, client: MetaClient) -> Index:
    """Open the index that a write's options configure.

    Args:
        config: the write's configuration.
        client: the table; listings go through its lister.

    Raises:
        InvalidOptionError: an index that cannot be used with the table, or is not supported.
    """
    options = IndexOptions.of(config.index, client.config)
    return KINDS[options.kind](client, options)
