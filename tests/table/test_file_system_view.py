"""The file-system view: each rule on files made up for it, and everything at once against a naive model."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.errors import UnsupportedTableError
from hudi_hive.table.view.file_system_view import BASE_FILE_SCHEMA, FILES_SCHEMA, SLICE_SCHEMA, FileSystemView
from tests.support.running.long import examples
from tests.table.shared.file_system_view_helpers import Instants, NaiveView, names, slices


def listing(*paths):
    """A listing of ``partition/name`` paths; sizes tell the files apart."""
    rows = [path.rpartition("/") for path in paths]
    return pa.table(
        [
            pa.array([row[0] for row in rows], pa.string()),
            pa.array([row[2] for row in rows], pa.string()),
            pa.array(range(100, 100 + len(rows)), pa.int64()),
        ],
        schema=FILES_SCHEMA,
    )


# -- base files ------------------------------------------------------------------------------------------------------


def test_a_view_of_no_files_gives_empty_tables():
    view = FileSystemView(listing(), Instants({}))
    assert view.latest_base_files().schema == BASE_FILE_SCHEMA
    for table in (view.latest_file_slices(), view.latest_merged_file_slices(), view.file_slices()):
        assert table.schema == SLICE_SCHEMA
        assert table.num_rows == 0
    assert view.latest_base_files("10").num_rows == 0


def test_newest_committed_base_file_of_each_group():
    view = FileSystemView(
        listing("p/f_0-0-1_10.parquet", "p/f_0-0-1_20.parquet", "p/f_0-0-1_30.parquet", "p/g_0-0-1_10.parquet"),
        Instants({"10": "11", "20": "21", "30": None}),
    )
    assert view.latest_base_files().to_pylist() == [
        {"partition": "p", "file_id": "f", "instant": "20", "name": "f_0-0-1_20.parquet", "size": 101},
        {"partition": "p", "file_id": "g", "instant": "10", "name": "g_0-0-1_10.parquet", "size": 103},
    ]
    assert names(view.latest_base_files("10")) == ["f_0-0-1_10.parquet", "g_0-0-1_10.parquet"]
    assert names(view.latest_base_files("19")) == ["f_0-0-1_10.parquet", "g_0-0-1_10.parquet"]
    assert names(view.latest_base_files("09")) == []
    assert names(view.latest_base_files("99")) == ["f_0-0-1_20.parquet", "g_0-0-1_10.parquet"]


def test_files_older_than_the_timeline_count():
    view = FileSystemView(listing("f_0-0-1_05.parquet", "g_0-0-1_15.parquet"), Instants({"10": "11", "20": "21"}))
    assert names(view.latest_base_files()) == ["f_0-0-1_05.parquet"]


def test_same_file_id_in_two_partitions_is_two_groups():
    view = FileSystemView(listing("b/f_0-0-1_10.parquet", "a/f_0-0-1_20.parquet"), Instants({"10": "11", "20": "21"}))
    assert names(view.latest_base_files(), "partition") == ["a", "b"]


def test_two_attempts_of_a_task_are_one_file_whatever_the_order_of_the_listing():
    first, second = "f_0-0-1_10.parquet", "f_0-0-2_10.parquet"
    for paths in ((first, second), (second, first)):
        view = FileSystemView(listing(*paths), Instants({"10": "11"}))
        assert names(view.latest_base_files()) == [second]
        assert names(view.file_slices(), "base_file") == [second]


def test_of_several_attempts_that_counts_which_the_commit_names():
    attempts = [f"f_0-0-{number}_10.parquet" for number in (5, 12, 7)]
    others = ["f_0-0-9_20.parquet", "g_0-0-1_10.parquet"]
    for named in attempts:
        instants = Instants({"10": "11", "20": "21"}, written=[("10", named), ("10", "g_0-0-1_10.parquet")])
        view = FileSystemView(listing(*attempts, *others), instants)
        assert names(view.latest_base_files()) == others
        assert names(view.latest_base_files("19")) == [named, others[1]]


def test_replaced_groups_are_dead_from_then_on():
    view = FileSystemView(
        listing("p/f_0-0-1_10.parquet", "p/g_0-0-1_20.parquet", "q/f_0-0-1_10.parquet"),
        Instants({"10": "11", "20": "21", "30": "31"}, replaced=[("p", "f", "20"), ("gone", "x", "20")]),
    )
    assert names(view.latest_base_files()) == ["g_0-0-1_20.parquet", "f_0-0-1_10.parquet"]
    assert names(view.latest_base_files("19")) == ["f_0-0-1_10.parquet"] * 2
    assert len(view.latest_merged_file_slices("19")) == 2
    assert len(view.file_slices()) == 3
    assert len(view.file_slices(include_replaced=False)) == 2


def test_names_that_are_no_data_files_are_ignored():
    view = FileSystemView(
        listing(".hoodie_partition_metadata", ".hoodie_partition_metadata.parquet", "_SUCCESS", "readme.txt", ".x.crc"),
        Instants({"10": "11"}),
    )
    assert view.file_slices().num_rows == 0


def test_a_foreign_base_file_is_refused_by_name():
    with pytest.raises(UnsupportedTableError, match="naming") as caught:
        FileSystemView(listing("p/part-00000-c000.snappy.parquet"), Instants({"10": "11"}))
    assert caught.value.path == "p/part-00000-c000.snappy.parquet"


def test_more_columns_and_dictionaries_in_the_listing():
    files = listing("p/f_0-0-1_10.parquet").append_column("mtime_ms", pa.array([1]))
    files = files.set_column(0, "partition", files["partition"].dictionary_encode())
    files = pa.concat_tables([files, files.slice(0, 0)])
    assert names(FileSystemView(files, Instants({"10": "11"})).latest_base_files(), "partition") == ["p"]


# -- slices ----------------------------------------------------------------------------------------------------------


def test_layout_1_puts_logs_on_the_base_instant_of_their_name():
    view = FileSystemView(
        listing("f_0-0-1_10.parquet", ".f_10.log.2_0-0-1", ".f_10.log.1_0-0-1", "f_0-0-1_20.parquet", ".g_10.log.1"),
        Instants({"10": "x", "20": "x"}, layout=1),
    )
    assert slices(view.file_slices()) == [
        ("/f", "10", "f_0-0-1_10.parquet", [".f_10.log.1_0-0-1", ".f_10.log.2_0-0-1"]),
        ("/f", "20", "f_0-0-1_20.parquet", []),
        ("/g", "10", None, [".g_10.log.1"]),
    ]
    assert view.file_slices()["log_sizes"].to_pylist() == [[102, 101], [], [104]]
    assert [row[1] for row in slices(view.latest_file_slices())] == ["20", "10"]


def test_layout_2_puts_logs_on_the_newest_slice_that_they_completed_after():
    # The delta commit 15 was asked for before the compaction at 20, but completed after it.
    view = FileSystemView(
        listing("f_0-0-1_10.parquet", "f_0-0-1_20.parquet", ".f_12.log.1_0-0-1", ".f_15.log.1_0-0-1"),
        Instants({"10": "11", "12": "13", "15": "22", "20": "21"}),
    )
    assert slices(view.file_slices()) == [
        ("/f", "10", "f_0-0-1_10.parquet", [".f_12.log.1_0-0-1"]),
        ("/f", "20", "f_0-0-1_20.parquet", [".f_15.log.1_0-0-1"]),
    ]


def test_layout_2_drops_logs_and_bases_of_pending_commits_and_keeps_what_lies_on_them():
    # 20 crashed; what 30 appended to the same new group must not hide in a slice named after 20.
    view = FileSystemView(
        listing(".f_20.log.1_0-0-1", ".f_30.log.1_0-0-2", "g_0-0-1_10.parquet", "g_0-0-1_20.parquet", ".g_30.log.1"),
        Instants({"10": "11", "20": None, "30": "31"}),
    )
    assert slices(view.latest_merged_file_slices()) == [
        ("/f", "30", None, [".f_30.log.1_0-0-2"]),
        ("/g", "10", "g_0-0-1_10.parquet", [".g_30.log.1"]),
    ]


def test_layout_1_keeps_logs_of_unfinished_commits_for_the_reader_to_filter():
    view = FileSystemView(
        listing("f_0-0-1_10.parquet", ".f_10.log.1_0-0-1"), Instants({"10": "11", "20": None}, layout=1)
    )
    assert slices(view.latest_merged_file_slices()) == [("/f", "10", "f_0-0-1_10.parquet", [".f_10.log.1_0-0-1"])]


def test_archived_completion_times_decide_too():
    paths = ("f_0-0-1_03.parquet", ".f_02.log.1_0-0-1")
    known = Instants({"10": "11"}, archived={"02": "05"})
    assert len(slices(FileSystemView(listing(*paths), known).file_slices())) == 1
    unknown = Instants({"10": "11"})
    assert [row[1] for row in slices(FileSystemView(listing(*paths), unknown).file_slices())] == ["02", "03"]


def test_times_of_different_length_are_not_compared():
    # As text the completion time 2099 lies after 205, as a time it may not: the requested time 204 stands in.
    view = FileSystemView(
        listing("f_0-0-1_100.parquet", "f_0-0-1_205.parquet", ".f_204.log.1_0-0-1"),
        Instants({"100": "101", "204": "2099", "205": "206"}),
    )
    assert [row[3] for row in slices(view.file_slices())] == [[".f_204.log.1_0-0-1"], []]


def test_time_travel_in_layout_2_leaves_out_later_logs():
    view = FileSystemView(
        listing("f_0-0-1_10.parquet", ".f_20.log.1_0-0-1", ".f_30.log.1_0-0-1"),
        Instants({"10": "11", "20": "21", "30": "31"}),
    )
    assert slices(view.latest_merged_file_slices("20")) == [("/f", "10", "f_0-0-1_10.parquet", [".f_20.log.1_0-0-1"])]


def test_order_of_logs():
    logs = [".f_10.log.2", ".f_10.log.2_0-0-1", ".f_10.log.2_0-0-2", ".f_10.log.10_0-0-1", ".f_20.log.1_0-0-1"]
    view = FileSystemView(listing(*reversed(logs)), Instants({"10": "11", "20": "21"}))
    assert slices(view.latest_file_slices()) == [("/f", "10", None, logs)]


def test_change_data_files_belong_to_no_slice():
    view = FileSystemView(
        listing("f_0-0-1_10.parquet", ".f_10.log.1_0-0-1.cdc", ".g_10.log.1_0-0-1.cdc"), Instants({"10": "11"})
    )
    assert slices(view.file_slices()) == [("/f", "10", "f_0-0-1_10.parquet", [])]


@pytest.mark.parametrize("layout", [1, 2])
def test_a_pending_compaction_is_merged_with_the_slice_before(layout):
    later = ".f_20.log.1_0-0-1" if layout == 1 else ".f_25.log.1_0-0-1"
    early = ".f_10.log.1_0-0-1" if layout == 1 else ".f_12.log.1_0-0-1"
    view = FileSystemView(
        # The compaction is writing its base file already; it does not count before it completes.
        listing("p/f_0-0-1_10.parquet", f"p/{early}", f"p/{later}", "p/f_0-0-1_20.parquet", "p/g_0-0-1_10.parquet"),
        Instants(
            {"10": "11", "12": "13", "20": None, "25": "26"},
            layout=layout,
            compactions=[("p", "f", "20"), ("p", "g", "20"), ("elsewhere", "h", "20")],
        ),
    )
    assert slices(view.latest_file_slices()) == [("p/f", "20", None, [later]), ("p/g", "20", None, [])]
    merged = [("p/f", "10", "f_0-0-1_10.parquet", [early, later]), ("p/g", "10", "g_0-0-1_10.parquet", [])]
    assert slices(view.latest_merged_file_slices()) == merged
    assert slices(view.latest_merged_file_slices("15")) == [("p/f", "10", "f_0-0-1_10.parquet", [early]), merged[1]]
    assert names(view.latest_base_files()) == ["f_0-0-1_10.parquet", "g_0-0-1_10.parquet"]


def test_an_explicit_layout_overrides_that_of_the_timeline():
    files = listing("f_0-0-1_10.parquet", "f_0-0-1_20.parquet", ".f_10.log.1_0-0-1")
    timeline = Instants({"10": "21", "20": "20"}, layout=2)
    assert [row[3] for row in slices(FileSystemView(files, timeline).file_slices())][1]
    assert next(row[3] for row in slices(FileSystemView(files, timeline, layout=1).file_slices()))


# -- against a naive model -------------------------------------------------------------------------------------------


_TIMES = [str(t) for t in range(10, 40, 3)] + ["145", "2205"]
_GROUPS = st.tuples(st.sampled_from(["p", "q/r"]), st.sampled_from(["f", "g", "h"]))


@st.composite
def _worlds(draw):
    requested = sorted(draw(st.lists(st.sampled_from(_TIMES), min_size=1, max_size=8, unique=True)))
    times = {}
    for instant in requested:
        state = draw(st.sampled_from(["pending", "soon", "late", "uneven"]))
        # A completion time lies after its requested time; "late" is after instants that were asked for afterwards.
        late = str(min(int(instant[:2]) + 15, 99))
        times[instant] = {"soon": str(int(instant) + 1), "late": late, "uneven": late + "5"}.get(state)
    cut = draw(st.integers(0, len(requested) - 1))
    old = {instant: times.pop(instant) or instant for instant in requested[:cut]}
    known = {instant: time for instant, time in old.items() if draw(st.booleans())}
    waiting = [instant for instant, completed in times.items() if completed is None]
    done = [instant for instant, completed in times.items() if completed is not None]
    compactions = {}
    if waiting:
        for group in draw(st.lists(_GROUPS, max_size=3)):
            compactions[group] = (*group, draw(st.sampled_from(waiting)))
    replaced = []
    if done:
        replaced = [(*group, draw(st.sampled_from(done))) for group in draw(st.lists(_GROUPS, max_size=2))]
    timeline = Instants(
        times,
        layout=draw(st.sampled_from([1, 2])),
        replaced=replaced,
        compactions=list(compactions.values()),
        archived=known,
    )
    files = set()
    instants = st.sampled_from([*requested, "01", "99"])
    tokens = st.sampled_from(["0-0-1", "0-0-2", "1-0-1"])
    for (partition, file_id), kind in draw(st.lists(st.tuples(_GROUPS, st.integers(0, 2)), max_size=24)):
        instant = draw(instants)
        if kind == 0:
            files.add(f"{partition}/{file_id}_{draw(tokens)}_{instant}.parquet")
        else:
            token = draw(st.sampled_from(["", "_0-0-1", "_0-0-2"]))
            files.add(f"{partition}/.{file_id}_{instant}.log.{draw(st.sampled_from([1, 2, 10]))}{token}")
    return listing(*draw(st.permutations(sorted(files)))), timeline, draw(st.sampled_from([None, *_TIMES, "01", "99"]))


@settings(max_examples=examples(500), deadline=None)
@given(_worlds())
def test_agrees_with_the_naive_model(world):
    files, timeline, as_of = world
    view, naive = FileSystemView(files, timeline), NaiveView(files, timeline)
    assert slices(view.latest_file_slices(as_of)) == naive.latest(as_of, merged=False)
    assert slices(view.latest_merged_file_slices(as_of)) == naive.latest(as_of, merged=True)
    assert slices(view.file_slices()) == naive.all(include_replaced=True)
    assert slices(view.file_slices(include_replaced=False)) == naive.all(include_replaced=False)

    def rows(table):
        table.validate(full=True)
        assert table.schema == BASE_FILE_SCHEMA
        return [(f"{r['partition']}/{r['file_id']}", r["instant"], r["name"]) for r in table.to_pylist()]

    assert rows(view.latest_base_files(as_of)) == naive.bases(as_of)

    sizes = dict(zip(files["name"].to_pylist(), files["size"].to_pylist(), strict=True))
    if len(sizes) == len(files):
        table = view.latest_merged_file_slices(as_of)
        logs = zip(pc.list_flatten(table["log_files"]), pc.list_flatten(table["log_sizes"]), strict=True)
        assert all(sizes[name.as_py()] == size.as_py() for name, size in logs)
        for row in table.to_pylist():
            assert row["base_size"] == (sizes[row["base_file"]] if row["base_file"] else None)
