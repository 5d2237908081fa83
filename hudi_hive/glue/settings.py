"""``GlueSettings``: where Glue's catalog is, who asks it, and how it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from hudi_hive.options import as_texts, storage, sync
from hudi_hive.secret_references import SecretFields

READ_AT_ONCE: Final = 1000
"""Partitions that a request may read by name."""

_CREDENTIALS = ("access_key", "secret_key", "session_token", "profile", "role_arn", "role_session", "external_id")
_LIMITS = ("connect_timeout_s", "request_timeout_s", "retry_timeout_s")


@dataclass(frozen=True, kw_only=True)
class GlueSettings(SecretFields):
    """Settings of a client of Glue; credentials that are not here come from the environment, as boto3 finds them.

    Args:
        catalog_id: Glue's catalog; the caller's account if None.
        skip_table_archive: keep no old version of a changed table.
        all_partitions_read_parallelism: segments in which all partitions are read side by side, 1 to 10.
        changed_partitions_read_parallelism: requests under way that read partitions by name.
        partition_change_parallelism: requests under way that add, alter or drop partitions.
        metadata_file_listing: let Athena take partitions and files from the metadata table.
        partition_index_enable: keep partition indexes; without it, those that were kept are dropped.
        partition_index_fields: fields of up to three indexes; none for one of all partition fields.
        resource_tags: (key, value) pairs, of databases that are made.
        endpoint: URL of Glue, where it is not the region's own.
        region: its region; that of the environment or profile if None.
        access_key, secret_key, session_token: credentials of AWS.
        profile: a profile of AWS's files of credentials.
        role_arn, role_session, external_id: a role to assume with these credentials.
        connect_timeout_s, request_timeout_s: seconds to connect, and to wait for an answer.
        retry_timeout_s: seconds after the first try of a request in which another one may begin.
    """

    catalog_id: str | None = sync.GLUE_CATALOG_ID.field()
    skip_table_archive: bool = sync.GLUE_SKIP_TABLE_ARCHIVE.field()
    all_partitions_read_parallelism: int = sync.GLUE_ALL_READ_PARALLELISM.field()
    changed_partitions_read_parallelism: int = sync.GLUE_CHANGED_READ_PARALLELISM.field()
    partition_change_parallelism: int = sync.GLUE_CHANGE_PARALLELISM.field()
    metadata_file_listing: bool = sync.GLUE_METADATA_LISTING.field()
    partition_index_enable: bool = sync.GLUE_INDEX_ENABLE.field()
    partition_index_fields: tuple[tuple[str, ...], ...] = sync.GLUE_INDEX_FIELDS.field()
    resource_tags: tuple[tuple[str, str], ...] = sync.GLUE_RESOURCE_TAGS.field()
    endpoint: str | None = sync.GLUE_ENDPOINT.field(repr=False)
    region: str | None = sync.GLUE_REGION.field(stand_ins=storage.REGION.names)
    access_key: str | None = storage.ACCESS_KEY.field(repr=False)
    secret_key: str | None = storage.SECRET_KEY.field(repr=False)
    session_token: str | None = storage.SESSION_TOKEN.field(repr=False)
    profile: str | None = storage.PROFILE.field()
    role_arn: str | None = storage.ROLE_ARN.field()
    role_session: str = storage.ROLE_SESSION.field()
    external_id: str | None = storage.EXTERNAL_ID.field(repr=False)
    connect_timeout_s: float = storage.CONNECT_TIMEOUT.default
    request_timeout_s: float = storage.REQUEST_TIMEOUT.default
    retry_timeout_s: float = storage.RETRY_TIMEOUT.default
    _secret_fields = ("access_key", "secret_key", "session_token", "endpoint")

    def completed_by(self, storage_options: Mapping[str, Any] | None) -> Self:
        """The settings with credentials, region and time-outs of a table's store where there are none of its own.

        Args:
            storage_options: arguments of the table's store; its endpoint is not Glue's and does not count.
        """
        if not storage_options:
            return self
        texts = as_texts({name: value for name, value in storage_options.items() if value is not None})
        values: dict[str, Any] = dict(
            zip(
                _LIMITS,
                (item.of(texts) for item in (storage.CONNECT_TIMEOUT, storage.REQUEST_TIMEOUT, storage.RETRY_TIMEOUT)),
                strict=True,
            )
        )
        values["region"] = self.region or storage.REGION.of(texts)
        if not (self.access_key or self.profile or self.role_arn):
            options = (storage.ACCESS_KEY, storage.SECRET_KEY, storage.SESSION_TOKEN, storage.PROFILE)
            roles = (storage.ROLE_ARN, storage.ROLE_SESSION, storage.EXTERNAL_ID)
            values |= {name: item.of(texts) for name, item in zip(_CREDENTIALS, (*options, *roles), strict=True)}
        return replace(self, **values)
