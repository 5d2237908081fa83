"""Skeletons and their source files: rows by place, row groups that are left out, and what is refused by name."""

from __future__ import annotations

import random
import shutil

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import CorruptFileError, PathNotFoundError, UnsafePathError, UnsupportedTableError
from hudi_hive.formats.avro import read_container, write_container
from hudi_hive.formats.base import open_base_file
from hudi_hive.formats.hfile import HFileReader, write_hfile
from hudi_hive.predicate import parse_filter
from hudi_hive.storage import Storage
from hudi_hive.table.bootstrap import BootstrapIndex, is_skeleton, source_file
from hudi_hive.table.bootstrap.index import BY_FILE_ID, BY_PARTITION
from hudi_hive.table.bootstrap.stitched import StitchedFile
from tests.support.bootstrapped import bootstrapped_names, set_property, unzip_bootstrapped

NAME = "bootstrapped/v8_mor_compacted"
ROWS = 30_000


@pytest.fixture
def table(tmp_path):
    return unzip_bootstrapped(NAME, tmp_path)


def skeletons(table):
    return sorted(path for path in table.rglob("*_00000000000001.parquet"))


# -- the index -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", bootstrapped_names())
def test_the_index_names_the_source_of_each_skeleton(name):
    table = unzip_bootstrapped(name)
    here = skeletons(table)
    if "full_record" in name:
        assert not here and not BootstrapIndex.is_present(Storage(table))
        return
    index = BootstrapIndex(Storage(table))
    listed = {(one.partition, one.file_id): one for one in index.sources()}
    assert set(index.partitions()) == {partition for partition, _ in listed}
    assert here
    for skeleton in here:
        partition = str(skeleton.parent.relative_to(table)) if skeleton.parent != table else ""
        one = index.source_of(partition, skeleton.name.partition("_")[0])
        assert one is not None and one == listed[partition, one.file_id]
        assert one.source_partition == partition and one.uri.endswith(one.path)
        source = table.with_name(table.name + "_source") / one.path
        assert source.stat().st_size == one.size
        assert source_file(Storage(table), str(skeleton.relative_to(table))) == f"file:{source}"
        assert pq.ParquetFile(source).metadata.num_rows == pq.ParquetFile(skeleton).metadata.num_rows
    assert index.source_of("nowhere", "x") is None


def test_names_of_skeletons():
    assert is_skeleton("p=1/9aafbeeb-522a-44d4-803e-65ffdf8e8fa5_1-17-22_00000000000001.parquet")
    assert is_skeleton("a-0_0-1-2_00000000000001.orc")
    for name in ("a-0_0-1-2_00000000000002.parquet", "a-0_0-1-2_000000000000012.parquet", "00000000000001.commit"):
        assert not is_skeleton(name)
    assert not is_skeleton(".hoodie/metadata/files/files-0000-0_0-1-2_00000000000001.hfile")


# -- what is refused -----------------------------------------------------------------------------------------------


def refused(table, kind, match):
    with pytest.raises(kind, match=match) as caught:
        HudiTable.open(table).scan().to_arrow()
    return caught.value


def one_source(table):
    """The source of a skeleton that is read."""
    newest = HudiTable.open(table).scan().plan().slices
    path = next(path for path in newest["path"].to_pylist() if path and is_skeleton(path))
    return path, source_file(Storage(table), path).removeprefix("file:")


def test_a_source_file_that_is_gone(table):
    skeleton, source = one_source(table)
    shutil.move(source, source + ".away")
    error = refused(table, PathNotFoundError, "the source file of the skeleton .* is not there")
    assert error.path == f"file:{source}" and skeleton in str(error)


def test_a_source_file_that_has_changed(table):
    _, source = one_source(table)
    rows = pq.read_table(source)
    pq.write_table(pa.concat_tables([rows, rows]), source, compression="gzip")
    assert refused(table, CorruptFileError, "bytes, and").path == f"file:{source}"


def test_a_source_of_other_rows(table):
    """The same number of bytes, but another number of rows."""
    path, source = one_source(table)
    skeleton = table / path
    keys = pq.read_table(skeleton)
    with open_base_file(Storage(table), path) as own, open_base_file(Storage("/"), source.lstrip("/")) as other:
        assert StitchedFile(own, other).num_rows == own.num_rows
    pq.write_table(pa.concat_tables([keys, keys]), table / "two.parquet")
    own, other = open_base_file(Storage(table), "two.parquet"), open_base_file(Storage("/"), source.lstrip("/"))
    with pytest.raises(
        CorruptFileError, match=f"has {keys.num_rows} rows, and the skeleton .* has {2 * keys.num_rows}"
    ):
        StitchedFile(own, other)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hoodie.bootstrap.index.enable", "false"),
        ("hoodie.bootstrap.index.type", "NO_OP"),
        ("hoodie.bootstrap.index.class", "org.apache.hudi.common.bootstrap.index.NoOpBootstrapIndex"),
    ],
)
def test_an_index_that_is_off(table, key, value):
    set_property(table, "hoodie.bootstrap.index.type", "HFILE")
    if key.endswith("class"):
        properties = table / ".hoodie" / "hoodie.properties"
        lines = [line for line in properties.read_text().splitlines() if "bootstrap.index.type" not in line]
        properties.write_text("\n".join(lines) + "\n")
    HudiTable.open(table).scan().to_arrow()
    set_property(table, key, value)
    assert "bootstrap.index.enable" in str(refused(table, UnsupportedTableError, "bootstrap index is off"))


def test_an_index_class_that_is_not_hudis(table):
    set_property(table, "hoodie.bootstrap.index.class", "my.Index")
    set_property(table, "hoodie.bootstrap.index.type", "CUSTOM")
    refused(table, UnsupportedTableError, "bootstrap index my.Index is not supported")


@pytest.mark.parametrize("name", [BY_FILE_ID, BY_PARTITION], ids=["files", "partitions"])
def test_an_index_that_is_gone(table, name):
    (table / name).unlink()
    assert refused(table, PathNotFoundError, "the bootstrap index is not there").path == f"file:{table / BY_FILE_ID}"


def rewrite(table, change, without=""):
    """Write the index by file group again, with other records; ``without`` is a file group to leave out."""
    reader = HFileReader((table / BY_FILE_ID).read_bytes(), "index")
    entries = reader.scan()
    if without:
        entries = entries.filter(pc.invert(pc.ends_with(entries["key"], without)))
    keys, values = entries["key"].to_pylist(), []
    schema = None
    for value in entries["value"].to_pylist():
        (record,) = read_container(value, "value")
        change(record)
        schema = _schema_of(value)
        values.append(write_container(schema, [record]))
    content = write_hfile(
        pa.array(keys),
        pa.array(values, pa.binary()),
        schema="{}",
        codec="none",
        extra={"INDEX_INFO": reader.info["INDEX_INFO"]},
    )
    (table / BY_FILE_ID).write_bytes(content)


def _schema_of(container):
    import io

    import fastavro

    return fastavro.reader(io.BytesIO(container)).writer_schema


def test_an_index_that_leads_elsewhere(table):
    """A path of the index counts only below the source's base path."""
    rewrite(table, lambda record: None)
    before = HudiTable.open(table).scan().to_arrow()
    assert before.num_rows
    for uri in ("file:/etc/passwd", "s3://elsewhere/x.parquet", "hdfs://nn/lake/x.parquet"):
        rewrite(table, lambda record, uri=uri: record["bootstrapFileStatus"]["path"].update(uri=uri))
        assert refused(table, UnsafePathError, "leads out of the source's base path").path == uri
    rewrite(table, lambda record: record["bootstrapFileStatus"]["path"].update(uri="file:/lake/../etc/passwd"))
    refused(table, CorruptFileError, "is no path of a source")


def test_a_skeleton_that_the_index_lacks(table):
    rewrite(table, lambda record: None, without=one_source(table)[0].rpartition("/")[2].partition("_")[0])
    refused(table, UnsupportedTableError, "no entry of its file group")


def test_damaged_indexes_are_refused(table):
    content = (table / BY_FILE_ID).read_bytes()
    for at in range(33, len(content), len(content) // 40):
        damaged = bytearray(content)
        damaged[at] ^= 0x5A
        (table / BY_FILE_ID).write_bytes(damaged)
        storage = Storage(table)
        try:
            sources = BootstrapIndex(storage).sources()
        except (CorruptFileError, UnsafePathError, UnsupportedTableError):
            continue
        except Exception as error:
            from hudi_hive.errors import HudiHiveError

            assert isinstance(error, HudiHiveError), (at, error)
            continue
        assert all(".." not in one.path.split("/") and not one.path.startswith("/") for one in sources)
    (table / BY_PARTITION).write_bytes(content)
    with pytest.raises(CorruptFileError):
        (table / BY_FILE_ID).write_bytes(content[:-100])
        BootstrapIndex(Storage(table))


# -- rows ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A skeleton and its source, of many row groups of different sizes."""
    folder = tmp_path_factory.mktemp("large")
    numbers = pa.array(range(ROWS), pa.int64())
    keys = pa.array([f"k{i:06d}" for i in range(ROWS)])
    meta = pa.table({"_hoodie_commit_time": ["00000000000001"] * ROWS, "_hoodie_record_key": keys})
    data = pa.table(
        {"n": numbers, "text": pa.array([f"t{i % 7}" for i in range(ROWS)]), "_hoodie_record_key": ["no"] * ROWS}
    )
    pq.write_table(meta, folder / "skeleton.parquet", row_group_size=7_001)
    pq.write_table(data, folder / "source.parquet", row_group_size=4_999)
    return folder, pa.table(
        {**dict(zip(meta.column_names, meta.columns, strict=True)), "n": numbers, "text": data["text"]}
    )


def stitched(folder):
    storage = Storage(folder)
    return StitchedFile(open_base_file(storage, "skeleton.parquet"), open_base_file(storage, "source.parquet"))


def test_rows_are_put_together_by_their_place(large):
    folder, whole = large
    with stitched(folder) as file:
        assert file.schema.names == whole.column_names and file.num_rows == ROWS
        for columns in (whole.column_names, ["text", "_hoodie_record_key"], ["n"], ["_hoodie_commit_time"]):
            batches = list(file.batches(columns, batch_size=1_777))
            assert pa.Table.from_batches(batches).select(columns).equals(whole.select(columns))
        assert sum(batch.num_rows for batch in file.batches([])) == ROWS
        ((start, length),) = file.row_ranges()
        middle = start + length // 2
        assert not list(file.batches(["n"], byte_range=(0, middle)))
        assert sum(batch.num_rows for batch in file.batches(["n"], byte_range=(middle, 1))) == ROWS


def test_filters_leave_out_row_groups_of_both_files(large):
    folder, whole = large
    seeded = random.Random(5)
    with stitched(folder) as file:
        assert file.groups(None) == (7, 7)
        assert file.groups(parse_filter("n < 100", file.schema)) == (7, 1)
        assert file.groups(parse_filter("_hoodie_record_key = 'k029999'", file.schema)) == (7, 2)
        assert file.groups(parse_filter("n < 100 OR _hoodie_record_key = 'k029999'", file.schema)) == (7, 7)
        for _ in range(40):
            one, other = seeded.randrange(ROWS), seeded.randrange(ROWS)
            text = seeded.choice(
                [
                    f"n BETWEEN {min(one, other)} AND {max(one, other)}",
                    f"n = {one} AND _hoodie_record_key > 'k{other:06d}'",
                    f"_hoodie_record_key IN ('k{one:06d}', 'k{other:06d}') AND n < {other}",
                    f"n > {one} OR _hoodie_record_key = 'k{other:06d}'",
                    f"text = 't3' AND n >= {one}",
                ]
            )
            bound = parse_filter(text, file.schema)
            read = pa.Table.from_batches(list(file.batches(whole.column_names, skip=bound)), file.schema)
            want = whole.filter(bound.evaluate(whole))
            assert read.filter(bound.evaluate(read)).equals(want.cast(file.schema)), text
            assert all(row["_hoodie_record_key"] == f"k{row['n']:06d}" for row in read.slice(0, 50).to_pylist())
