"""Hudi's own AwsGlueCatalogSyncTool and ours leave the same in Glue: moto's, and a stand-in that has indexes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from hudi_hive.sync import HiveSyncConfig, HiveSyncTool, SyncReport
from integration.support.hudi_peer import NOT_THERE, may_start
from integration.support.stores.glue_tool import glue_options, glue_tool
from integration.support.stores.s3 import S3Server
from tests.support.fixture_tables import unzip_fixture
from tests.support.glue.glue_server import GlueServer
from tools.real_hudi import RealSync

pytestmark = [pytest.mark.jvm, pytest.mark.long]

K = "hoodie.datasource.hive_sync."
G = "hoodie.datasource.meta.sync.glue."
KEYS = {"access_key": "AKIA1", "secret_key": "secret", "region": "eu-west-1"}
MULTI = "org.apache.hudi.hive.MultiPartKeysValueExtractor"
OF_GLUE = {"CatalogId", "CreateTime", "UpdateTime", "CreationTime", "VersionId", "DatabaseName"}
"""What Glue gives by itself, and the database's name."""

OF_TOOLS = {".table.Owner", ".table.LastAccessTime", ".table.LastAnalyzedTime"}
"""An owner from ours, times from Hudi's, which both leave out what the other one writes."""

FIXTURES = (
    "v6_cow_part_mdt",
    "v6_mor_part_rli",
    "v6_cow_types",
    "v6_cow_ymd_hive",
    "v6_cow_nonpart",
    "v6_cow_schema_evo",
)

_numbers = itertools.count()


@pytest.fixture(scope="module")
def real() -> Iterator[RealSync]:
    if not may_start(6):
        pytest.skip(NOT_THERE)
    with pytest.MonkeyPatch.context() as environment:
        # Where it looks for keys: it passes over those of its options.
        environment.setenv("AWS_ACCESS_KEY_ID", KEYS["access_key"])
        environment.setenv("AWS_SECRET_ACCESS_KEY", KEYS["secret_key"])
        with glue_tool() as running:
            yield running


@pytest.fixture(scope="module")
def stand_in() -> Iterator[GlueServer]:
    with GlueServer() as running:
        yield running


@pytest.fixture(params=["moto", "stand-in"])
def glue_server(request: pytest.FixtureRequest) -> S3Server | GlueServer:
    """Both; moto makes no partition indexes."""
    running: S3Server | GlueServer = request.getfixturevalue("s3" if request.param == "moto" else "stand_in")
    return running


def flat(item: Any, at: str = "") -> dict[str, Any]:
    """Texts and numbers of an object of Glue by their places in it, without those that are empty or Glue's own."""
    if isinstance(item, dict):
        parts = {f"{at}.{name}": value for name, value in item.items() if name not in OF_GLUE}
    elif isinstance(item, list):
        parts = {f"{at}[{number}]": value for number, value in enumerate(item)}
    else:
        return {at: item} if item else {}  # Glue's defaults are empty, 0 and false
    return {place: value for name, part in parts.items() for place, value in flat(part, name).items()}


def differences(left: dict[str, Any], right: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Places where two entries differ, and what both have there."""
    names = sorted({*left, *right})
    return {name: (left.get(name), right.get(name)) for name in names if left.get(name) != right.get(name)}


def entry(endpoint: str, database: str, table: str) -> dict[str, Any]:
    """All that Glue has of a table."""
    glue = boto3.client(
        "glue",
        endpoint_url=endpoint,
        region_name=KEYS["region"],
        aws_access_key_id=KEYS["access_key"],
        aws_secret_access_key=KEYS["secret_key"],
    )
    names = {"DatabaseName": database, "TableName": table}
    indexes = glue.get_partition_indexes(**names)["PartitionIndexDescriptorList"]
    partitions = glue.get_partitions(**names)["Partitions"]
    return flat(
        {
            "database": {**glue.get_database(Name=database)["Database"], "Name": ""},
            "table": glue.get_table(DatabaseName=database, Name=table)["Table"],
            "partitions": {"/".join(one["Values"]): one for one in partitions},
            "indexes": {"/".join(key["Name"] for key in one["Keys"]): one["IndexName"][:13] for one in indexes},
        }
    )


def options_of(endpoint: str, path: Path, database: str, fields: str, **more: str) -> dict[str, str]:
    own = {f"{K}mode": "glue", f"{K}database": database, f"{K}table": "trips"}
    if fields:
        own |= {f"{K}partition_fields": fields, f"{K}partition_extractor_class": MULTI}
    else:
        own |= {f"{K}partition_extractor_class": MULTI.replace("MultiPartKeys", "NonPartitioned").replace("Value", "")}
    return {"hoodie.datasource.meta.sync.base.path": str(path), **own, **glue_options(endpoint, KEYS), **more}


def sync(options: dict[str, str]) -> SyncReport:
    return HiveSyncTool(HiveSyncConfig.from_options(options)).sync()


def fields_of(path: Path) -> str:
    lines = (path / ".hoodie" / "hoodie.properties").read_text().splitlines()
    return next((line.partition("=")[2] for line in lines if line.startswith("hoodie.table.partition.fields=")), "")


def without_releases(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry without what Hudi 1 does otherwise than 0.15: the stamp's second half, arrays for Spark."""
    kept = {place: value for place, value in entry.items() if not place.endswith(".last_commit_completion_time_sync")}
    schema = ".table.Parameters.spark.sql.sources.schema.part.0"
    return kept | {schema: kept[schema].replace('"containsNull":false', '"containsNull":true')}


@pytest.mark.parametrize("fixture", FIXTURES)
def test_both_tools_leave_the_same_and_nothing_to_do_for_each_other(real, glue_server, fixture):
    is_moto = isinstance(glue_server, S3Server)
    endpoint = glue_server.endpoint if is_moto else glue_server.url
    path, number = unzip_fixture(fixture), next(_numbers)
    fields = fields_of(path)
    indexed = {f"{G}partition_index_fields.enable": "true", f"{G}partition_index_fields": fields.replace(",", ";")}
    more = indexed if fields and not is_moto else {}
    ours, theirs = (options_of(endpoint, path, f"{who}{number}", fields, **more) for who in ("ours", "theirs"))
    sync(ours)
    real.warm(theirs)
    real.warm(theirs)  # the first time it makes no index
    for table in ("trips", "trips_ro", "trips_rt") if "_mor_" in fixture else ("trips",):
        left, right = (without_releases(entry(endpoint, f"{who}{number}", table)) for who in ("ours", "theirs"))
        found = set(differences(left, right))
        if fixture == "v6_cow_types":  # values with escapes, which ours decodes
            found = {place for place in found if not place.startswith(".partitions.")}
        assert found == OF_TOOLS
        assert any(place.startswith(".partitions") for place in left) is bool(fields)
        assert any(place.startswith(".indexes") for place in left) is bool(more)
    # By turns, each on what the other one left.
    before = entry(endpoint, f"ours{number}", "trips")
    real.warm(ours)
    after = entry(endpoint, f"ours{number}", "trips")
    assert set(differences(without_releases(before), without_releases(after))) <= OF_TOOLS
    steps = {step["step"] for step in sync(theirs).plan.rows()}
    assert steps <= {"stamp", "set parameter"}  # what only Hudi 1 has
    assert sync(theirs).plan.is_noop
