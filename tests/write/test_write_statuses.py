"""Statuses travel as Arrow and become Hudi's write stats."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudi_hive.errors import CorruptFileError
from hudi_hive.write.files.statuses import from_ipc, index_changes, joined, status, to_ipc, write_stats


def test_tables_survive_the_way_to_another_process():
    table = pa.table({"key": ["a", None], "n": [1, 2]})
    assert from_ipc(to_ipc(table)).equals(table)
    with pytest.raises(CorruptFileError):
        from_ipc(b"no arrow")


def test_base_and_log_files_become_write_stats():
    base = status("p", "f-0", "f-0_0-0-0_7.parquet", num_writes=3, size=10, cdc={"p/.f.cdc": 4})
    log = status("", "g-0", ".g-0_7.log.1_0-0-0", log_version=1, log_files=[".g-0_7.log.1_0-0-0"], base_file="b")
    first, second = write_stats(joined([base, log]), layout=2)
    assert first["path"] == "p/f-0_0-0-0_7.parquet"
    assert (first["prevCommit"], first["cdcStats"], first["fileSizeInBytes"]) == ("null", {"p/.f.cdc": 4}, 10)
    assert "logVersion" not in first and "prevBaseFile" in first
    assert (second["path"], second["logVersion"], second["baseFile"]) == (".g-0_7.log.1_0-0-0", 1, "b")
    assert "prevBaseFile" not in write_stats(log, layout=1)[0]


def test_a_record_that_moves_leaves_one_group_and_comes_to_another():
    left = status("p", "f-0", "x", keys_removed=pa.array(["a", "b"]))
    came = status("q", "g-0", "y", keys_added=pa.array(["a", "c"]))
    added, removed = index_changes(joined([left, came]))
    assert added.to_pylist() == [
        {"key": "a", "partition": "q", "file_id": "g-0"},
        {"key": "c", "partition": "q", "file_id": "g-0"},
    ]
    assert removed.to_pylist() == [{"key": "a", "partition": "p"}, {"key": "b", "partition": "p"}]


def test_no_files_make_an_empty_commit():
    added, removed = index_changes(joined([]))
    assert (added.num_rows, len(removed), write_stats(joined([]), layout=2)) == (0, 0, [])
