"""Cases of the options of syncs to AWS Glue, and of who asks AWS."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest import mock

from hudi_hive.glue import aws_session
from hudi_hive.options import Face, Option, storage, sync
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from tests.support.glue.glue_server import GlueServer
from tests.support.options.cases import Case, Scenario
from tests.support.options.made_tables import made_once
from tests.support.options.write_cases import LEAN, make, put, rows


def _in_glue(server: GlueServer, folder: Path) -> Any:
    """Everything that Glue has, but for times and the names of folders, and what was asked of it."""
    shown = re.sub(
        rf"{re.escape(str(folder))}|\d{{17}}|'CreateTime': [\d.]+|'CreationTime': [\d.]+", "_", repr(server.catalogs)
    )
    return shown, dict(server.counts), dict(server.archived)


@made_once
def _make_table(path: Path) -> None:
    make(path, database="default")
    put(path, LEAN, rows(0, 4))


def synced(folder: Path, options: Mapping[str, str]) -> Any:
    """A table is made and synced; written to and synced again."""
    path = folder / "t"
    _make_table(path)
    with GlueServer() as server:
        made = {name: text.format(table=path, glue=server.url) for name, text in options.items()}
        HiveSyncTool(HiveSyncConfig.from_options(made)).sync()
        put(path, LEAN, rows(20, 4))
        HiveSyncTool(HiveSyncConfig.from_options(made)).sync()
        return _in_glue(server, folder)


def with_other_keys(folder: Path, options: Mapping[str, str]) -> Any:
    """A table is synced without partitions, then with them."""
    path = folder / "t"
    _make_table(path)
    with GlueServer() as server:
        made = {name: text.format(table=path, glue=server.url) for name, text in options.items()}
        HiveSyncTool(HiveSyncConfig.from_options({**made, sync.PARTITION_FIELDS.name: ""})).sync()
        HiveSyncTool(HiveSyncConfig.from_options(made)).sync()
        return _in_glue(server, folder)


def of_settings(folder: Path, options: Mapping[str, str]) -> Any:
    """The settings of the client."""
    return asdict(HiveSyncConfig.from_options({**options, sync.BASE_PATH.name: "/t"}).glue)


def signed(folder: Path, options: Mapping[str, str]) -> Any:
    """The credentials that requests are signed with, and how those of a role were asked for."""
    settings = HiveSyncConfig.from_options({**options, sync.BASE_PATH.name: "/t"}).glue
    profiles = folder / "credentials"
    profiles.write_text("[me]\naws_access_key_id = mine\naws_secret_access_key = s\n")
    with GlueServer() as server:
        environment = {
            "AWS_SHARED_CREDENTIALS_FILE": str(profiles),
            "AWS_ENDPOINT_URL_STS": server.url,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        with mock.patch.dict(os.environ, environment):
            session = aws_session(settings)
            credentials = session.get_credentials()
            keys = credentials and credentials.get_frozen_credentials()
        return keys, session.region_name, [fields for _, fields, _ in server.requests]


_GLUE = {
    sync.BASE_PATH.name: "{table}",
    sync.MODE.name: "glue",
    sync.GLUE_ENDPOINT.name: "{glue}",
    storage.REGION.name: "eu-west-1",
    storage.ACCESS_KEY.name: "a",
    storage.SECRET_KEY.name: "b",
}
_MODE = {sync.MODE.name: "glue"}
_KEYS = {**_MODE, storage.REGION.name: "eu-west-1", storage.ACCESS_KEY.name: "a", storage.SECRET_KEY.name: "b"}
_ROLE = {**_KEYS, storage.ROLE_ARN.name: "arn:aws:iam::1:role/r"}


def _case(
    option: Option[Any], value: str, scenario: Scenario = synced, base: Mapping[str, str] = _GLUE, **more: str
) -> Case:
    beside = {**base, **{vars(sync)[name].name: text for name, text in more.items()}}
    return Case(option, Face.SYNC, scenario, value, {k: v for k, v in beside.items() if k not in option.names})


GLUE_CASES = (
    _case(sync.TOOL_CLASS, "AwsGlueCatalogSyncTool", base={k: v for k, v in _GLUE.items() if k != sync.MODE.name}),
    _case(sync.GLUE_DATABASE, "other"),
    _case(sync.GLUE_TABLE, "other"),
    _case(sync.GLUE_CATALOG_ID, "1"),
    _case(sync.GLUE_SKIP_TABLE_ARCHIVE, "false"),
    _case(sync.GLUE_ALL_READ_PARALLELISM, "2", INCREMENTAL="false"),
    _case(sync.GLUE_CHANGED_READ_PARALLELISM, "2", of_settings, _MODE),
    _case(sync.GLUE_CHANGE_PARALLELISM, "2", of_settings, _MODE),
    _case(sync.GLUE_METADATA_LISTING, "true"),
    _case(sync.GLUE_INDEX_ENABLE, "true"),
    _case(sync.GLUE_INDEX_FIELDS, "q", GLUE_INDEX_ENABLE="true"),
    _case(sync.GLUE_RECREATE_ON_ERROR, "true", with_other_keys),
    _case(sync.GLUE_RESOURCE_TAGS, "a:b"),
    _case(sync.GLUE_ENDPOINT, "http://127.0.0.1:1", of_settings, _MODE),
    _case(sync.GLUE_REGION, "eu-north-1", of_settings, _MODE),
    _case(storage.REGION, "eu-north-1", signed, _KEYS),
    _case(storage.ACCESS_KEY, "c", signed, _KEYS),
    _case(storage.SECRET_KEY, "c", signed, _KEYS),
    _case(storage.SESSION_TOKEN, "c", signed, _KEYS),
    _case(storage.PROFILE, "me", signed, _MODE),
    _case(storage.ROLE_ARN, "arn:aws:iam::1:role/r", signed, _KEYS),
    _case(storage.ROLE_SESSION, "mine", signed, _ROLE),
    _case(storage.EXTERNAL_ID, "mine", signed, _ROLE),
)
