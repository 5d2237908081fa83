"""Combined splits, compared with Hudi's own class, and their rows."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import InvalidOptionError
from hudi_hive.input_format import BlockLocation, HoodieCombineHiveInputFormat, JobConf
from hudi_hive.input_format.combining import hash_order
from tests.input_format.shared.input_format_answers import answers, combined_by_ours, grouped_by_ours, grouping_limit
from tests.support.fixture_tables import unzip_fixture

MAX = "mapreduce.input.fileinputformat.split.maxsize"


def test_groups_blocks_as_hudis_class():
    cases = answers()["combine"]
    assert len(cases) >= 100
    assert [combined_by_ours(case) for case, _ in cases] == [theirs for _, theirs in cases]
    assert sum(theirs is None for _, theirs in cases) < len(cases) / 3


def test_groups_realtime_splits_as_hudis_class():
    cases = [(case, theirs) for case, theirs in answers()["realtime"] if grouping_limit(case) > 0]
    assert len(cases) >= 40
    assert [grouped_by_ours(case) for case, _ in cases] == [theirs for _, theirs in cases]


@pytest.mark.parametrize(("name", "realtime"), [("v8_cow_archived", False), ("v9_mor_part_rli", True)])
@pytest.mark.parametrize("most", [None, "300k", "1g"])
def test_reads_each_row_once(name, realtime, most):
    path = str(unzip_fixture(name))
    conf = JobConf({"mapreduce.input.fileinputformat.inputdir": path, MAX: most})
    job = HoodieCombineHiveInputFormat(conf, realtime=realtime)
    rows = pa.Table.from_batches([b for split in job.get_splits() for b in job.get_record_reader(split)])
    expected = HudiTable.open(path).scan().to_arrow()
    keys = "_hoodie_record_key"
    assert sorted(rows.column(keys).to_pylist()) == sorted(expected.column(keys).to_pylist())
    if most != "300k":
        assert len(job.get_splits()) == 1


def test_tables_and_plain_files_are_apart(tmp_path):
    plain = tmp_path / "plain"
    plain.mkdir()
    pq.write_table(pa.table({"x": [1]}), plain / "a.parquet")
    paths = [str(plain), *(str(unzip_fixture(name)) for name in ("v8_cow_archived", "v9_cow_part_mdt"))]
    job = HoodieCombineHiveInputFormat(JobConf({MAX: "1g"}).with_input_paths(paths))
    splits = job.get_splits()
    assert [split.base_path for split in splits] == [*(paths[1:]), None]
    assert all({part.base_path for part in split.splits} == {split.base_path} for split in splits)
    assert splits[0].hosts == ()  # what is left of nodes and racks


def test_blocks_of_several_nodes():
    path = str(unzip_fixture("v8_cow_archived"))
    conf = {"mapred.input.dir": path, "mapred.min.split.size.per.node": "1"}
    nodes = {}

    def locations(status):
        node = nodes.setdefault(status.path, f"n{len(nodes) % 2}")
        return [BlockLocation(0, status.length, (node,), (f"/{node}",))]

    job = HoodieCombineHiveInputFormat(conf, locations=locations)
    splits = job.get_splits()
    assert sorted(split.hosts for split in splits) == [("n0",), ("n1",)]
    assert all({nodes[part.path] for part in split.splits} == set(split.hosts) for split in splits)


def test_sizes_that_contradict_one_another():
    path = str(unzip_fixture("v8_cow_archived"))
    conf = {"mapreduce.input.fileinputformat.inputdir": path, MAX: "10", "mapred.min.split.size.per.node": "20"}
    with pytest.raises(InvalidOptionError, match="node"):
        HoodieCombineHiveInputFormat(conf).get_splits()


def test_order_of_a_java_hash_map():
    assert hash_order(["b", "a", "b", "c"]) == ["a", "b", "c"]
