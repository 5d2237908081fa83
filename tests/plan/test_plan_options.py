"""Queries and Hudi's read options: what is taken, what is refused by name."""

from __future__ import annotations

import datetime as dt

import pytest

from hudi_hive.errors import InvalidOptionError
from hudi_hive.plan import EARLIEST, HollowCommitPolicy, Query, QueryType, ReadOptions
from tests.support.fixture_tables import fixture_names, queries

TYPE = "hoodie.datasource.query.type"
BEGIN = "hoodie.datasource.read.begin.instanttime"
END = "hoodie.datasource.read.end.instanttime"


def test_every_option_of_the_fixtures_is_declared():
    for name in fixture_names():
        for query in queries(name):
            if query["kind"] != "cdc":
                ReadOptions.parse(query["options"])


def test_options_and_arguments_say_the_same():
    by_option = Query.of(options={TYPE: "incremental", BEGIN: "20240101000000000", END: "20240102000000000"})
    by_argument = Query.of("incremental", begin="20240101000000000", end="20240102000000000")
    assert by_option == by_argument == Query.of(begin="20240101000000000", end="20240102000000000")
    assert by_option.query_type is QueryType.INCREMENTAL
    assert Query.of() == Query.of("SNAPSHOT") == Query.of(options={TYPE: "Snapshot"}) == Query()
    assert Query.of(as_of="2024-01-01") == Query.of(options={"as.of.instant": "2024-01-01"})


def test_options_are_typed():
    options = ReadOptions.parse(
        {
            TYPE: "incremental",
            BEGIN: "000",
            "hoodie.read.timeline.holes.resolution.policy": "block",
            "hoodie.datasource.read.incr.fallback.fulltablescan.enable": "TRUE",
            "hoodie.datasource.read.incr.path.glob": "/p=1/*",
            "hoodie.schema.on.read.enable": False,
        }
    )
    assert options.hollow_policy is HollowCommitPolicy.BLOCK
    assert options.full_scan_fallback and options.schema_evolution is False


@pytest.mark.parametrize(
    ("begin", "instant"),
    [
        ("earliest", EARLIEST),
        ("EARLIEST", EARLIEST),
        ("000", "000"),
        ("20240101", "20240101"),  # digits stay: they sort before every instant that they begin
        ("20240101000000", "20240101000000"),
        ("20240101000000123", "20240101000000123"),
        ("2024-01-01", "20240101000000000"),
        ("2024-01-01 10:00:00.5", "20240101100000500"),
        (dt.date(2024, 1, 1), "20240101000000000"),
        (dt.datetime(2024, 1, 1, 10), "20240101100000000"),
    ],
)
def test_the_begin_of_a_range_is_parsed(begin, instant):
    assert Query.of(begin=begin).begin == instant


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"hoodie.datasource.query.typ": "snapshot"}, r"hoodie\.datasource\.query\.typ'.*did you mean hoodie"),
        ({"hoodie.write.lock.provider": "x"}, r"hoodie\.write\.lock\.provider"),
        ({TYPE: "changes"}, "is not one of snapshot, read_optimized, incremental, cdc"),
        ({TYPE: "cdc"}, "needs a begin"),
        ({"hoodie.metadata.enable": "maybe"}, r"hoodie\.metadata\.enable"),
        ({"hoodie.read.timeline.holes.resolution.policy": "IGNORE"}, "IGNORE"),
        ({"hoodie.datasource.query.incremental.format": "cdc"}, "does not go with a snapshot query"),
        ({"hoodie.datasource.query.incremental.format": "avro"}, "is not one of latest_state, cdc"),
        ({"hoodie.datasource.merge.type": "none"}, r"hoodie\.datasource\.merge\.type"),
        ({BEGIN: ""}, BEGIN),
        ({TYPE: "incremental", BEGIN: "yesterday"}, "yesterday"),
        ({"as.of.instant": "20241301000000000"}, "20241301000000000"),
        ({TYPE: "incremental"}, "needs a begin"),
        ({TYPE: "snapshot", BEGIN: "000"}, "begin and end"),
        ({END: "20240101000000000"}, "begin and end"),
        ({TYPE: "incremental", BEGIN: "2024", "as.of.instant": "2024-01-01"}, "as_of"),
        ({TYPE: "incremental", BEGIN: "2024", END: "2023"}, "before begin"),
        (
            {
                "hoodie.read.timeline.holes.resolution.policy": "FAIL",
                "hoodie.datasource.read.handle.hollow.commit": "BLOCK",
            },
            "mean the same",
        ),
    ],
)
def test_what_is_wrong_is_named(options, words):
    with pytest.raises(InvalidOptionError, match=words):
        try:
            Query.of(options=options)
        except InvalidOptionError as error:
            raise InvalidOptionError(str(error)) from error


def test_read_options_of_hudi_that_change_no_rows_are_accepted():
    Query.of(
        options={
            "hoodie.datasource.query.incremental.format": "latest_state",
            "hoodie.datasource.merge.type": "payload_combine",
            "hoodie.enable.data.skipping": "true",
            "hoodie.file.group.reader.enabled": "false",
        }
    )


def test_arguments_that_contradict_options():
    with pytest.raises(InvalidOptionError, match="query_type"):
        Query.of("snapshot", options={TYPE: "read_optimized"})
    with pytest.raises(InvalidOptionError, match="begin"):
        Query.of(begin="2024", options={BEGIN: "2023"})
    assert Query.of(begin="2024", options={BEGIN: "2024"}).begin == "2024"
    with pytest.raises(InvalidOptionError, match="limit"):
        Query.of(limit=-1)
