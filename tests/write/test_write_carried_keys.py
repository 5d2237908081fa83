"""Tables without record key fields: rows that carry the meta columns of their records are updates and deletes of these.

What is expected is what Hudi 0.15.0, 1.0.2 and 1.1.1 do with such rows; where they fail or lose rows, we refuse.
"""

from __future__ import annotations

import itertools

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError, KeyGenerationError, UnknownColumnError, WriteError
from hudi_hive.schema import META_FIELDS
from hudi_hive.table import MetaClient
from hudi_hive.write.writers.local import LocalWriter
from tests.support.running.long import VERSION_CASES, with_long_cases

KEY, PATH, FILE = "_hoodie_record_key", "_hoodie_partition_path", "_hoodie_file_name"
QUIET = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
CELLS = list(itertools.product((6, 8, 9), ("COPY_ON_WRITE", "MERGE_ON_READ"), (["city"], []), ("true", "false")))
SOME = [
    (6, "COPY_ON_WRITE", ["city"], "true"),
    (8, "MERGE_ON_READ", ["city"], "true"),
    (9, "MERGE_ON_READ", [], "false"),
]
KINDS = with_long_cases(SOME, CELLS)
everywhere = pytest.mark.parametrize(("version", "kind", "partitions", "metadata"), KINDS)
FEW = [(6, "COPY_ON_WRITE", ["city"], "true"), (9, "MERGE_ON_READ", [], "false")]
somewhere = pytest.mark.parametrize(("version", "kind", "partitions", "metadata"), FEW)
RIDES = pa.table(
    {
        "ts": [1, 2, 3, 4],
        "rider": ["A", "B", "C", "D"],
        "fare": [1.0, 2.0, 3.0, 4.0],
        "city": ["sf", "sf", "sp", "sp"],
    }
)


class Rides:
    """A table of four rides without record key fields."""

    def __init__(self, path, version, kind, partitions, metadata):
        self.options = {**QUIET, "hoodie.metadata.enable": metadata}
        self.table = HudiTable.create(
            path / "rides", name="rides", version=version, table_type=kind, partition_fields=partitions
        )
        self.table.bulk_insert(RIDES, self.options)

    def read(self, *riders):
        rows = HudiTable.open(self.table.path).scan().to_arrow()
        return rows.filter(pc.is_in(rows.column("rider"), value_set=pa.array(riders))) if riders else rows

    def upsert(self, rows, **options):
        return self.table.upsert(rows, {**self.options, **options})

    def fares(self):
        rows = self.read()
        listed = HudiTable(MetaClient.load(self.table.path)).scan().to_arrow()
        assert listed.num_rows == rows.num_rows
        return sorted(zip(rows["rider"].to_pylist(), rows["fare"].to_pylist(), strict=True))

    def keys(self):
        rows = self.read()
        return dict(zip(rows["rider"].to_pylist(), rows[KEY].to_pylist(), strict=True))


def with_values(rows, **columns):
    for name, values in columns.items():
        at = rows.schema.get_field_index(name)
        rows = rows.set_column(at, rows.schema.field(at), pa.array(values, rows.schema.field(at).type))
    return rows


def plain(rows):
    return rows.drop_columns([name for name in META_FIELDS if name in rows.column_names])


ALL = [("A", 1.0), ("B", 2.0), ("C", 3.0), ("D", 4.0)]


@everywhere
def test_rows_go_to_their_records(tmp_path, version, kind, partitions, metadata):
    rides = Rides(tmp_path, version, kind, partitions, metadata)
    keys = rides.keys()
    first = rides.read("D")
    report = rides.upsert(with_values(first, fare=[40.0]))
    assert (report.inserted, report.updated) == (0, 1)
    assert rides.fares() == [*ALL[:3], ("D", 40.0)]
    # Rows of before that change name the same file group.
    rides.upsert(with_values(first, fare=[41.0]))
    assert (rides.fares(), rides.keys()) == ([*ALL[:3], ("D", 41.0)], keys)
    both = pa.concat_tables([with_values(rides.read("B", "C"), fare=[20.0, 30.0]), _new_row(first, "E", 5.0)])
    report = rides.upsert(both)
    assert (report.inserted, report.updated) == (1, 2)
    assert rides.fares() == [("A", 1.0), ("B", 20.0), ("C", 30.0), ("D", 41.0), ("E", 5.0)]
    assert rides.keys() | keys == rides.keys() and len(set(rides.keys().values())) == 5
    report = rides.table.delete(rides.read("A", "E"), rides.options)
    assert (report.deleted, rides.fares()) == (2, [("B", 20.0), ("C", 30.0), ("D", 41.0)])


def _new_row(like, rider, fare):
    row = with_values(like, rider=[rider], fare=[fare])
    return with_values(row, **{name: [None] for name in META_FIELDS})


@everywhere
def test_the_operation_that_columns_decide(tmp_path, version, kind, partitions, metadata):
    """Without an operation rows with keys are upserted, others appended; an upsert without keys inserts."""
    rides = Rides(tmp_path, version, kind, partitions, metadata)

    def write(rows):
        report = LocalWriter(rides.table.client.reload(), rides.options).write(rows)
        rides.table = HudiTable.open(rides.table.path)
        return str(report.operation), report.inserted, report.updated

    assert write(with_values(rides.read("D"), fare=[40.0])) == ("upsert", 0, 1)
    assert write(plain(rides.read("D"))) == ("bulk_insert", 1, 0)
    report = rides.upsert(plain(rides.read("A")))
    assert (report.inserted, report.updated) == (1, 0)
    report = rides.table.insert(rides.read("B"), rides.options)
    assert (report.inserted, report.updated) == (1, 0)
    assert rides.fares() == [("A", 1.0), ("A", 1.0), ("B", 2.0), ("B", 2.0), ("C", 3.0), ("D", 40.0), ("D", 40.0)]


@somewhere
def test_one_row_a_record(tmp_path, version, kind, partitions, metadata):
    rides = Rides(tmp_path, version, kind, partitions, metadata)
    row = rides.read("D")
    rides.upsert(pa.concat_tables([with_values(row, fare=[40.0]), with_values(row, fare=[41.0])]))
    assert rides.fares() == [*ALL[:3], ("D", 41.0)]
    rides.table.delete(row, rides.options)
    rides.upsert(row)  # as in Hudi, a record that was deleted comes back under its key
    assert rides.fares() == ALL


REFUSED = {
    "without path": ({PATH: [None]}, KeyGenerationError),
    "without file": ({FILE: [None]}, KeyGenerationError),
    "without key": ({KEY: [None]}, KeyGenerationError),
    "empty key": ({KEY: [""]}, KeyGenerationError),
    "no such file": ({FILE: ["00000000-0000-0000-0000-000000000000-0_0-1-1_20200101000000000.parquet"]}, WriteError),
    "no file name": ({FILE: ["xyz"]}, WriteError),
    "no such partition": ({PATH: ["elsewhere"]}, KeyGenerationError),
}


@pytest.fixture(scope="module", params=FEW, ids=["copy on write", "merge on read"])
def refusing(request, tmp_path_factory):
    """A table whose tests see writes refused, and so leave it as it is."""
    return Rides(tmp_path_factory.mktemp("refusing"), *request.param)


@pytest.mark.parametrize("case", REFUSED)
def test_rows_that_name_no_record_are_refused(refusing, case):
    rides = refusing
    values, error = REFUSED[case]
    with pytest.raises(error):
        rides.upsert(with_values(rides.read("D"), fare=[40.0], **values))
    assert rides.fares() == ALL
    if case not in ("without file", "empty key", "no such partition"):
        with pytest.raises(HudiHiveError):
            rides.table.delete(with_values(rides.read("D"), **values), rides.options)
        assert rides.fares() == ALL


@pytest.mark.parametrize("column", [PATH, FILE])
def test_missing_meta_columns_are_refused(refusing, column):
    rides = refusing
    with pytest.raises(UnknownColumnError, match=column):
        rides.upsert(rides.read("D").drop_columns([column]))
    with pytest.raises(UnknownColumnError, match=KEY):
        rides.table.delete(plain(rides.read("D")), rides.options)
    assert rides.fares() == ALL


def test_another_partition_is_refused(tmp_path):
    """Hudi leaves such a record where it is, with values of a partition that it is not in."""
    rides = Rides(tmp_path, 8, "COPY_ON_WRITE", ["city"], "true")
    row = with_values(rides.read("D"), city=["sf"])
    with pytest.raises(KeyGenerationError, match="partition values"):
        rides.upsert(row)
    assert rides.fares() == ALL
    rides.table.delete(row, rides.options)
    assert rides.fares() == ALL[:3]


@pytest.mark.parametrize(
    ("version", "kind"),
    with_long_cases(
        [(6, "COPY_ON_WRITE"), (9, "MERGE_ON_READ")],
        itertools.product((6, 8, 9), ("COPY_ON_WRITE", "MERGE_ON_READ")),
    ),
)
def test_file_groups_that_were_clustered_away(tmp_path, version, kind):
    """Rows of before are refused (Hudi fails, or loses them in log files of no group); rows read anew are not."""
    rides = Rides(tmp_path, version, kind, ["city"], "true")
    row = with_values(rides.read("D"), fare=[40.0])
    clustering = {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "1"}
    rides.table.bulk_insert(with_values(plain(row), rider=["E"]), {**rides.options, **clustering})
    assert rides.read("D")[FILE] != row[FILE]
    with pytest.raises(WriteError, match="read the rows again"):
        rides.upsert(row)
    with pytest.raises(WriteError, match="read the rows again"):
        rides.table.delete(row, rides.options)
    rides.upsert(with_values(rides.read("D"), fare=[40.0]))
    assert rides.fares() == [*ALL[:3], ("D", 40.0), ("E", 40.0)]


@pytest.mark.parametrize("version", VERSION_CASES)
def test_file_groups_that_were_compacted(tmp_path, version):
    rides = Rides(tmp_path, version, "MERGE_ON_READ", ["city"], "true")
    old = rides.read("D")
    rides.upsert(with_values(old, fare=[5.0]))
    of_log = rides.read("D")
    compaction = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
    rides.upsert(with_values(of_log, fare=[6.0]), **compaction)
    for fare, row in ((7.0, old), (8.0, of_log), (9.0, rides.read("D"))):
        rides.upsert(with_values(row, fare=[fare]))
        assert rides.fares() == [*ALL[:3], ("D", fare)]


def test_rows_of_another_table_are_refused(tmp_path):
    rides = Rides(tmp_path, 8, "COPY_ON_WRITE", ["city"], "true")
    other = HudiTable.create(tmp_path / "other", name="other", partition_fields=["city"])
    with pytest.raises(WriteError, match="another table"):
        other.upsert(rides.read(), QUIET)
    other.insert(rides.read(), QUIET)
    assert HudiTable.open(other.path).scan().to_arrow().num_rows == 4
