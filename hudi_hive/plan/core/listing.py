"""Chooses the lister of a plan: the metadata table, or folders by the options of a query."""

from __future__ import annotations

from hudi_hive.metadata import MetadataListing
from hudi_hive.plan.model import ReadOptions
from hudi_hive.table import MetaClient


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
