"""Chooses the lister of a plan, the metadata table or folders by the options of a query, and asks it for partitions."""

from __future__ import annotations

from hudi_hive.metadata import MetadataListing
from hudi_hive.plan.model import ReadOptions, folder_filter
from hudi_hive.predicate import RowFilter
from hudi_hive.table import MetaClient
from hudi_hive.table.view import FilteredPartitions


def with_configured_listing(client: MetaClient, options: ReadOptions) -> MetaClient:
    """A client of the same moment with the lister that the options configure.

    ``hoodie.metadata.enable`` and ``hoodie.metadata.validate`` decide; without them the client's own way stays, which
    is the metadata table, where there is one, for a client that was not given another.

    Args:
        client: the table.
        options: the query's options.
    """
    if options.metadata_enable is None and options.metadata_validate is None:
        return client if client.listing is not None else client.with_listing(MetadataListing())
    enable = options.metadata_enable is not False
    return client.with_listing(MetadataListing(enable, enable and options.metadata_validate is True))


def partitions_matching(client: MetaClient, row_filter: RowFilter | None) -> FilteredPartitions:
    """The partitions that may hold rows passing a filter, and perhaps others.

    Where folders are listed, those that the filter rules out by the partition columns in their paths are not.

    Args:
        client: the table.
        row_filter: bound to the table's schema.

    Raises:
        InvalidPropertiesError: see :meth:`~hudi_hive.table.MetaClient.partition_paths`.
    """
    may_match = folder_filter(client, row_filter)
    if may_match is None:
        return FilteredPartitions(client.partition_paths(), 0)
    return client.lister.partitions_matching(may_match)
