"""The file-system view on all tables made by real Hudi: its own view's slices and the files of its queries."""

from __future__ import annotations

from urllib.parse import unquote

import pyarrow as pa
import pytest

from hudi_hive.storage import Storage
from hudi_hive.table import FileSystemView, MetaClient
from hudi_hive.timeline import Timeline
from tests.support import fixture_tables as support
from tests.table.shared.file_system_view_helpers import NaiveView, slices

MERGE_ON_READ = set(support.fixture_names("mor"))


def _path(partition, name):
    # Spark gives its input files as URIs, which the expectations hold decoded.
    return unquote(f"{partition}/{name}" if partition else name)


def _base_files(table, column="name"):
    names = zip(table["partition"].to_pylist(), table[column].to_pylist(), strict=True)
    return sorted(_path(partition, name) for partition, name in names if name is not None)


def _is_base(path):
    return not path.rpartition("/")[2].startswith(".")


@pytest.mark.parametrize("name", support.fixture_names())
def test_latest_files_are_real_hudis(name):
    expected = support.expected(name)
    view = MetaClient.load(support.unzip_fixture(name)).file_system_view()
    # Hudi's view counts change-data files as log files of their slice and leaves it to readers to skip them.
    wanted = [
        {**row, "log_files": [log for log in row["log_files"] if not log.endswith(".cdc")]}
        for row in sorted(expected["file_slices"], key=lambda row: (row["partition"], row["file_id"]))
    ]
    dropped = sum(len(row["log_files"]) for row in expected["file_slices"]) - sum(len(r["log_files"]) for r in wanted)
    assert (dropped > 0) == ("_cdc" in name)
    assert view.latest_merged_file_slices().drop(["log_sizes"]).to_pylist() == wanted

    assert _base_files(view.latest_base_files()) == sorted(unquote(path) for path in expected["latest_base_files"])
    table = view.latest_merged_file_slices()
    for row in table.to_pylist():
        folder = support.unzip_fixture(name) / row["partition"]
        sizes = [(folder / log).stat().st_size for log in row["log_files"]]
        assert row["log_sizes"] == sizes


def _time_travels():
    return [
        pytest.param(name, query, id=f"{name}-{query['as_of']}")
        for name in support.fixture_names()
        for query in support.expected(name)["queries"]
        if query["kind"] == "time_travel" and "input_files" in query and not query.get("historical")
    ]


@pytest.mark.parametrize(("name", "query"), _time_travels())
def test_time_travel_takes_real_hudis_files(name, query):
    view = MetaClient.load(support.unzip_fixture(name)).file_system_view()
    table = view.latest_merged_file_slices(query["as_of"])
    wanted = {unquote(path) for path in query["input_files"]}
    assert set(_base_files(table, "base_file")) == {path for path in wanted if _is_base(path)}
    if name not in MERGE_ON_READ:
        assert _base_files(view.latest_base_files(query["as_of"])) == sorted(wanted)
        return
    logs = {_path(row["partition"], log) for row in table.to_pylist() for log in row["log_files"]}
    listed = {path for path in wanted if not _is_base(path)}
    if listed:  # 0.15.0 lists base files only
        assert logs <= listed
        # Spark's list holds later logs too, whose blocks the reader then skips; we do not even open them.
        assert all(path.rpartition("_")[0].rpartition("_")[2].split(".")[0] > query["as_of"] for path in listed - logs)


class _Adapter:
    """A real timeline for the naive model, which asks about one instant at a time."""

    def __init__(self, timeline):
        self.layout = timeline.layout
        self._timeline = timeline
        self.compactions = _rows(timeline.pending_compactions(), "compaction_instant")
        self.replaced = _rows(timeline.replaced_file_groups(), "instant")

    def committed(self, instant):
        return self._timeline.committed_mask(pa.array([instant]))[0].as_py()

    def completion(self, instant):
        return self._timeline.completion_times(pa.array([instant]))[0].as_py()


def _rows(table, instant):
    return [(row["partition"], row["file_id"], row[instant]) for row in table.to_pylist()]


def _with_metadata_table():
    return [name for name in support.fixture_names() if support.expected(name).get("mdt_files_partition")]


@pytest.mark.parametrize("name", _with_metadata_table())
def test_slices_of_metadata_tables_agree_with_the_naive_model(name):
    storage = Storage(support.unzip_fixture(name) / ".hoodie" / "metadata")
    timeline = Timeline.load(storage, layout=1 if name.startswith("v6") else 2)
    files = storage.list(recursive=True)
    rows = [
        (path.rpartition("/")[0], path.rpartition("/")[2], size)
        for path, size, is_dir in zip(*(files[c].to_pylist() for c in ("path", "size", "is_dir")), strict=True)
        if not is_dir and not path.startswith(".hoodie/")
    ]
    listing = pa.table({"partition": [r[0] for r in rows], "name": [r[1] for r in rows], "size": [r[2] for r in rows]})
    view, naive = FileSystemView(listing, timeline), NaiveView(listing, _Adapter(timeline))
    assert slices(view.file_slices()) == naive.all(include_replaced=True)
    merged = slices(view.latest_merged_file_slices())
    assert merged == naive.latest(None, merged=True)
    assert any(base for _, _, base, _ in merged)
    assert any(logs for *_, logs in merged)
