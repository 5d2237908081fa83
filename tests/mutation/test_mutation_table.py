"""Tables of a mutation: what is refused, what travels as text, how folders and files are named."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hudi_hive.errors import GroupRevisitedError, MutationError, SchemaError, UnsupportedAcidTableError
from hudi_hive.metastore import Order, Table
from hudi_hive.mutation.acid_table.acid_names import bucket_file, delta_folder, partition_path
from hudi_hive.mutation.acid_table.table import AcidTable
from hudi_hive.mutation.acid_write.manifest import BucketFiles, MutationManifest, check_manifests
from tests.support.mutation.acid_definitions import acid_table


def _external(table: Table) -> None:
    table.tableType = "EXTERNAL_TABLE"


def _parquet(table: Table) -> None:
    table.sd.inputFormat = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat"


def _sorted(table: Table) -> None:
    table.sd.sortCols = [Order(col="id", order=1)]


def _many(table: Table) -> None:
    table.sd.numBuckets = 4097


def _parameter(key: str, value: str) -> Callable[[Table], None]:
    def change(table: Table) -> None:
        table.parameters[key] = value

    return change


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (_external, "EXTERNAL_TABLE"),
        (_parquet, "not stored as ORC"),
        (_sorted, "sorted"),
        (_many, "4097 buckets"),
        (_parameter("transactional", "false"), "not transactional"),
        (_parameter("EXTERNAL", "TRUE"), "no managed table"),
        (_parameter("transactional_properties", "insert_only"), "insert-only"),
        (_parameter("transactional_properties", ""), "legacy"),
        (_parameter("bucketing_version", "3"), "bucketing_version"),
    ],
)
def test_tables_that_cannot_be_mutated_are_refused_by_name(change: Callable[[Table], None], what: str) -> None:
    table = acid_table("file:/warehouse/t")
    AcidTable.of(table)
    change(table)
    with pytest.raises(UnsupportedAcidTableError, match=what):
        AcidTable.of(table)


def test_a_table_travels_as_text() -> None:
    table = AcidTable.of(
        acid_table("file:/w/t", [("Id", "int"), ("tags", "array<struct<a:int,b:decimal(10,2)>>")], [("Ds", "date")]),
        create_partitions=True,
    ).in_transaction(7, 3)
    again = AcidTable.decode(table.encode())
    assert again == table
    assert (again.transaction_id, again.write_id, again.create_partitions) == (7, 3, True)
    assert again.bucket_types == ("int",)
    assert again.key_names == ("ds",)


@pytest.mark.parametrize("text", ["AcidTableV1:AAdkZWZhdWx0", "", "HudiHiveAcidTableV1:{}", "HudiHiveAcidTableV1:x"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(MutationError):
        AcidTable.decode(text)


def test_the_bucketing_version_defaults_to_the_old_one() -> None:
    table = acid_table("file:/w/t")
    assert AcidTable.of(table).bucketing_version == 2
    del table.parameters["bucketing_version"]
    assert AcidTable.of(table).bucketing_version == 1


def test_types_that_are_not_supported_are_refused_with_the_table() -> None:
    with pytest.raises(SchemaError):
        AcidTable.of(acid_table("file:/w/t", [("id", "int"), ("u", "uniontype<int,string>")]))


def test_names_of_folders_and_files() -> None:
    assert delta_folder(5) == "delta_0000005_0000005_0000"
    assert delta_folder(12345678, statement=3, delete=True) == "delete_delta_12345678_12345678_0003"
    assert bucket_file(3) == "bucket_00003"
    assert partition_path(("a", "B"), ("x/y", None)) == "a=x%2Fy/b=__HIVE_DEFAULT_PARTITION__"
    assert partition_path((), ()) == ""
    with pytest.raises(MutationError, match="1 partition values for 2"):
        partition_path(("a", "b"), ("x",))


def test_one_attempt_a_group_counts() -> None:
    groups = (BucketFiles(("x", None), 1, 0, 2, 0, 0, "a"),)
    first = MutationManifest("d.t", 5, "a1", groups)
    assert MutationManifest.decode(first.encode()) == first
    assert first.rows == 2
    assert check_manifests([first], "d.t", 5) == (("a1", groups[0]),)
    with pytest.raises(GroupRevisitedError, match="a1 and a2"):
        check_manifests([first, MutationManifest("d.t", 5, "a2", groups)], "d.t", 5)
    with pytest.raises(MutationError, match="write id 5"):
        check_manifests([first], "d.t", 6)


@pytest.mark.parametrize(
    "text", ["{}", "[]", '"text"', "5", '{"attempt":"a","groups":[],"table":5,"write_id":1}', '{"groups":[5]}']
)
def test_other_text_is_no_manifest(text: str) -> None:
    with pytest.raises(MutationError, match="cannot be read"):
        MutationManifest.decode(f"HudiHiveMutationManifestV1:{text}")
