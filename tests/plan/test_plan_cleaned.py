"""What the cleaner took from merge-on-read tables: past and ranges are refused or scanned in full, never in part."""

from __future__ import annotations

import json

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import IncrementalRangeError, InvalidOptionError, TimeTravelError
from hudi_hive.input_format import HoodieParquetRealtimeInputFormat
from hudi_hive.input_format.job import INPUT_DIR
from tests.support.fixture_tables import unzip_fixture
from tests.support.running.long import VERSION_CASES
from tests.support.tables.mor_table import MorTable

FULL_SCAN = {"hoodie.datasource.read.incr.fallback.fulltablescan.enable": "true"}


def compact(made: MorTable, number: int, rows: list[dict], written: list[int]) -> str:
    """A completed compaction: a base file whose rows keep the times of the commits that wrote them."""
    name = made.base(number, rows)
    rewrite_times(made, name, [made.t(n) for n in written])
    made.commit(number, [name])
    hoodie = made.path / ".hoodie"
    timeline = hoodie / "timeline" if made.version >= 8 else hoodie
    end = f"{made.t(number)}_{made.completed(number)}" if made.version >= 8 else made.t(number)
    metadata = json.loads((timeline / f"{end}.deltacommit").read_text())
    for file in timeline.glob(f"{made.t(number)}*.deltacommit*"):
        file.unlink()
    (timeline / f"{end}.commit").write_text(json.dumps({**metadata, "operationType": "COMPACT"}))
    return name


def rewrite_times(made: MorTable, name: str, times: list[str]) -> None:
    table = pq.read_table(made.path / name)
    at = table.schema.get_field_index("_hoodie_commit_time")
    pq.write_table(table.set_column(at, table.schema.field(at), pa.array(times, pa.string())), made.path / name)


def clean(made: MorTable, number: int, names: list[str], retained: str = "") -> None:
    """A completed clean that deleted these files; without ``retained`` one that keeps a number of file versions."""
    source = HudiTable.open(unzip_fixture(f"v{made.version}_cow_part_mdt"))
    instant = source.timeline.completed({"clean"})[0]
    with open(unzip_fixture(f"v{made.version}_cow_part_mdt") / instant.path, "rb") as stream:
        reader = fastavro.reader(stream)
        schema, record = reader.writer_schema, next(iter(reader))
    partition = next(iter(record["partitionMetadata"].values()))
    partition |= {
        "partitionPath": "",
        "deletePathPatterns": names,
        "successDeleteFiles": names,
        "failedDeleteFiles": [],
    }
    record |= {"startCleanTime": made.t(number)}
    record |= {"partitionMetadata": {"": partition}, "earliestCommitToRetain": retained}
    hoodie = made.path / ".hoodie"
    timeline = hoodie / "timeline" if made.version >= 8 else hoodie
    end = f"{made.t(number)}_{made.completed(number)}" if made.version >= 8 else made.t(number)
    with open(timeline / f"{end}.clean", "wb") as stream:
        fastavro.writer(stream, schema, [record])
    for name in names:
        (made.path / name).unlink()


def log_only_table(path, version: int) -> MorTable:
    """Two log files, a compaction of them, and one more log file; the first two log files are cleaned."""
    made = MorTable(path, version)
    first = made.log(1, [{"id": "k1", "ts": 1, "a": "a1"}, {"id": "k2", "ts": 1, "a": "a2"}])
    second = made.log(2, [{"id": "k2", "ts": 2, "a": "b2"}])
    compact(made, 3, [{"id": "k1", "ts": 1, "a": "a1"}, {"id": "k2", "ts": 2, "a": "b2"}], [1, 2])
    made.log(4, [{"id": "k3", "ts": 4, "a": "a3"}], base=3)
    clean(made, 5, [first, second])
    return made


def values(scan) -> list[tuple]:
    rows = scan.to_arrow().to_pylist()
    return sorted((row["id"], row["a"]) for row in rows)


@pytest.mark.parametrize("version", VERSION_CASES)
def test_log_files_of_the_past_that_were_cleaned(tmp_path, version):
    """A slice without base file whose log files are gone is not an empty one."""
    made = log_only_table(tmp_path, version)
    table = HudiTable.open(tmp_path)
    assert values(table.scan(as_of=made.t(4))) == values(table.scan()) == [("k1", "a1"), ("k2", "b2"), ("k3", "a3")]
    assert values(table.scan(as_of=made.t(3))) == [("k1", "a1"), ("k2", "b2")]
    for number in (1, 2):
        with pytest.raises(TimeTravelError, match="cleaned") as caught:
            table.scan(as_of=made.t(number)).to_arrow()
        assert caught.value.path and caught.value.remedy and caught.value.instant == made.t(number)
        conf = {INPUT_DIR: str(tmp_path), "hoodie.made.consume.commit": made.t(number)}
        with pytest.raises(TimeTravelError, match="cleaned"):
            HoodieParquetRealtimeInputFormat(conf).list_status()
    # base files alone: there were none
    assert values(table.scan(as_of=made.t(2), query_type="read_optimized")) == []


@pytest.mark.parametrize("version", VERSION_CASES)
def test_a_range_whose_log_files_were_compacted_and_cleaned(tmp_path, version):
    """Only the compaction has written the group since: it tells that the log files may be gone."""
    made = MorTable(tmp_path, version)
    base = made.base(1, [{"id": "k1", "ts": 1, "a": "a1"}, {"id": "k2", "ts": 1, "a": "a2"}])
    log = made.log(2, [{"id": "k2", "ts": 2, "a": "b2"}])
    compact(made, 3, [{"id": "k1", "ts": 1, "a": "a1"}, {"id": "k2", "ts": 2, "a": "b2"}], [1, 2])
    clean(made, 4, [base, log])
    table = HudiTable.open(tmp_path)
    begin, end = (made.t(1), made.t(2)) if version == 6 else (made.completed(1), made.completed(2))
    with pytest.raises(IncrementalRangeError, match="cleaned") as caught:
        table.scan(begin=begin, end=end).plan()
    assert caught.value.remedy and caught.value.instant
    assert values(table.scan(begin=begin, end=end, options=FULL_SCAN)) == [("k2", "b2")]
    assert values(table.scan(begin="earliest")) == [("k1", "a1"), ("k2", "b2")]  # the compaction is in the range


@pytest.mark.parametrize("version", VERSION_CASES)
def test_a_path_glob_over_log_files_only(tmp_path, version):
    made = MorTable(tmp_path, version)
    made.base(1, [{"id": "k1", "ts": 1, "a": "base"}], group="f-1")
    made.log(2, [{"id": "k2", "ts": 1, "a": "log"}], base=2, group="f-2")
    table = HudiTable.open(tmp_path)

    def matching(glob):
        return values(table.scan(begin="earliest", options={"hoodie.datasource.read.incr.path.glob": glob}))

    assert matching("*") == [("k1", "base"), ("k2", "log")]
    assert matching("/f-1*") == [("k1", "base")]
    assert matching("/.f-2*") == matching("*.log.*") == [("k2", "log")]
    assert matching("*.orc") == []


@pytest.mark.parametrize("version", VERSION_CASES)
def test_changes_of_a_file_group_that_began_with_log_files(tmp_path, version):
    """The write stat of a log file names the slice it is in, if need be its own: that is no earlier state."""
    made = MorTable(tmp_path, version, hoodie__table__cdc__enabled="true", hoodie__table__precombine__field="ts")
    made.log(1, [{"id": "k1", "ts": 1, "a": "a1"}, {"id": "k2", "ts": 1, "a": "a2"}])
    made.log(2, [{"id": "k2", "ts": 2, "a": "b2"}], [("k1", None)])
    table = HudiTable.open(tmp_path)
    rows = table.scan(query_type="cdc", begin="earliest").to_arrow().to_pylist()
    assert sorted((row["ts_ms"], row["op"]) for row in rows) == [
        (made.t(1), "i"),
        (made.t(1), "i"),
        (made.t(2), "d"),
        (made.t(2), "u"),
    ]
    with pytest.raises(InvalidOptionError, match="skip_merge") as caught:
        table.scan(query_type="cdc", begin="earliest", options={"hoodie.datasource.merge.type": "skip_merge"})
    assert caught.value.remedy


@pytest.mark.parametrize("version", VERSION_CASES)
def test_changes_whose_state_before_was_cleaned(tmp_path, version):
    made = MorTable(tmp_path, version, hoodie__table__cdc__enabled="true", hoodie__table__precombine__field="ts")
    base = made.base(1, [{"id": "k1", "ts": 1, "a": "a1"}])
    made.log(2, [{"id": "k1", "ts": 2, "a": "b1"}])
    (tmp_path / base).unlink()  # a clean that has not come to the log file yet
    begin = made.t(1) if version == 6 else made.completed(1)
    with pytest.raises(IncrementalRangeError, match="cleaned"):
        HudiTable.open(tmp_path).scan(query_type="cdc", begin=begin).to_arrow()
