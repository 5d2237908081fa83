"""What a table in AWS Glue has otherwise than in a Hive metastore.

Source: Hudi's ``AWSGlueCatalogSyncClient``; Glue's limits of texts are those of its API reference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from hudi_hive.errors import InvalidOptionError
from hudi_hive.glue import GlueSettings
from hudi_hive.options import sync

METADATA_LISTING: Final = "hudi.metadata-listing-enabled"
"""Parameter by which Athena takes files from the metadata table."""

INDEX_FILTERING: Final = "partition_filtering.enabled"
"""Parameter by which Athena filters partitions by Glue's partition indexes."""

_LONGEST_COMMENT: Final = 255
_S3_OF_HADOOP: Final = re.compile(r"s3[an]://", re.IGNORECASE)


def glue_location(location: str) -> str:
    """A location as Glue's engines know it: Hadoop's schemes of S3 are its own."""
    return _S3_OF_HADOOP.sub("s3://", location, count=1)


def glue_comments(comments: Mapping[str, str]) -> dict[str, str]:
    """Comments of columns as Glue takes them: in one line, of 255 bytes at most."""
    return {
        name: " ".join(text.split()).encode()[:_LONGEST_COMMENT].decode(errors="ignore")
        for name, text in comments.items()
    }


def glue_parameters(settings: GlueSettings, partition_keys: Sequence[str]) -> dict[str, str]:
    """Parameters of a table that a sync to Glue sets besides the others.

    Raises:
        InvalidOptionError: an index of fields that are no partition fields.
    """
    parameters = {METADATA_LISTING: str(settings.metadata_file_listing).upper()}
    if partition_indexes(settings, partition_keys):
        parameters[INDEX_FILTERING] = "true"
    return parameters


def partition_indexes(settings: GlueSettings, partition_keys: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The partition indexes that a table is to have: the fields of each.

    Raises:
        InvalidOptionError: fields that are no partition fields.
    """
    if not settings.partition_index_enable or not partition_keys:
        return ()
    for index in settings.partition_index_fields:
        unknown = [field for field in index if field.lower() not in partition_keys]
        if unknown:
            raise InvalidOptionError(
                f"option {sync.GLUE_INDEX_FIELDS} names {', '.join(unknown)}, no partition field",
                remedy=f"the partition fields are {', '.join(partition_keys)}",
            )
    fields = tuple(tuple(field.lower() for field in index) for index in settings.partition_index_fields)
    return fields or (tuple(partition_keys),)
