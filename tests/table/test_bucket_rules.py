"""Numbers of buckets by partition: rules in options, and those that a table holds in files."""

from __future__ import annotations

import json

import pytest

from hudi_hive.errors import CorruptFileError
from hudi_hive.storage import Storage
from hudi_hive.table.keys import BucketRules, remove_bucket_rules, stored_bucket_rules

FOLDER = ".hoodie/.bucket_index/partition_bucket_index_meta/configs"


def store(storage: Storage, instant: str, expressions: str, default: int = 2, rule: str = "regex") -> None:
    told = {"expressions": expressions, "defaultBucketNumber": default, "rule": rule, "version": 1, "instant": instant}
    storage.write_bytes(f"{FOLDER}/{instant}.hashing_config", json.dumps(told, indent=2).encode())


def test_the_first_expression_that_matches_a_partition_path_gives_its_buckets() -> None:
    rules = BucketRules.parse(r" \d{4}-(06-(01|17)|11-11), 8 ;2024,4;^day=,3;", 2)
    paths = {"day=2024-06-01": 8, "2023-11-11/x": 8, "2024-06-02": 4, "day=2023": 3, "x/day=2023": 2, "": 2}
    assert {path: rules.buckets(path) for path in paths} == paths


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a", "comma between"),
        (r"\d{1,2},5", "comma between"),
        ("a,3;;b,4", "comma between"),
        ("", "comma between"),
        ("a,0", "no number of buckets"),
        ("a,-3", "no number of buckets"),
        ("a,x", "no number of buckets"),
        ("a,999999999", "no number of buckets"),
        ("a(,3", "no regular expression"),
    ],
)
def test_other_texts_are_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        BucketRules.parse(text, 2)


def test_the_newest_rules_whose_instant_is_complete_count(tmp_path) -> None:
    storage = Storage(tmp_path)
    assert stored_bucket_rules(storage, frozenset()) is None
    store(storage, "00000000000000", "a,3")
    store(storage, "20260101000000000", "a,5", 4)
    assert stored_bucket_rules(storage, frozenset()) == BucketRules.parse("a,5", 4)
    assert stored_bucket_rules(storage, frozenset(["20260101000000000"])) == BucketRules.parse("a,3", 2)
    remove_bucket_rules(storage, "20260101000000000")
    remove_bucket_rules(storage, "20260101000000001")
    assert stored_bucket_rules(storage, frozenset()) == BucketRules.parse("a,3", 2)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b"\xff",
        b'{"rule": 1}',
        b'{"rule": "glob", "expressions": "a,3", "defaultBucketNumber": 2}',
        b'{"rule": "regex", "expressions": "a", "defaultBucketNumber": 2}',
    ],
)
def test_damaged_rules_are_errors_that_name_the_file(tmp_path, data: bytes) -> None:
    storage = Storage(tmp_path)
    storage.write_bytes(f"{FOLDER}/20260101000000000.hashing_config", data)
    with pytest.raises(CorruptFileError, match=r"20260101000000000\.hashing_config"):
        stored_bucket_rules(storage, frozenset())
