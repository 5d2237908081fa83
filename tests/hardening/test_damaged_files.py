"""Data files that were damaged after they were committed: the right rows or an error that names the file."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import CorruptFileError
from hudi_hive.formats.log import MAGIC
from hudi_hive.table import MetaClient
from hudi_hive.table.logs import BlockRange, scan_logs
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services import cluster, compact
from tests.support.faults.damage_sweep import FIXTURES, SCANS, Sweep, sweep_table
from tests.support.faults.write_acts import prepare
from tests.support.fixture_tables import unzip_fixture
from tests.support.running.long import VERSION_CASES, with_long_cases


def assert_none_wrong(sweep: Sweep) -> None:
    assert not sweep.wrong, (dict(sweep.counts), sweep.wrong[:10])
    assert any(name.endswith("refused") for name in sweep.counts)


SAMPLED = ("v6_cow_part_mdt", "v8_cow_orc", "v9_mor_log_compaction")


@pytest.mark.parametrize("name", with_long_cases(SAMPLED, FIXTURES))
def test_damage_never_gives_other_rows(name, thorough, tmp_path):
    most = 50 if thorough else 2
    path = unzip_fixture(name, tmp_path)
    for logs in (False, True) if "_mor_" in name else (False,):
        rng = random.Random(f"{name} {logs}")
        assert_none_wrong(sweep_table(path, rng, logs=logs, most=most, scans=SCANS, checksummed=False))


@pytest.mark.parametrize("options", [{}, {"hoodie.metadata.enable": "false"}], ids=["metadata", "listing"])
@pytest.mark.parametrize("version", VERSION_CASES)
def test_committed_logs_are_whole_or_refused(version, options, tmp_path):
    path = unzip_fixture(f"v{version}_mor_event_time", tmp_path)
    sweep = Sweep(path, logs=True, scans=({"options": options},))
    for file in sweep.files():
        data = file.read_bytes()
        size = data[:6] + (len(data) * 2).to_bytes(8, "big") + data[14:]
        states = {"short": data[:-1], "half": data[: len(data) // 2], "empty": b"", "size": size}
        sweep.run(file, iter(states.items()))
    assert sweep.counts["short refused"] == sweep.counts["short tried"] > 0
    assert not sweep.wrong, sweep.wrong


@pytest.mark.parametrize("options", [{}, {"hoodie.metadata.enable": "false"}], ids=["metadata", "listing"])
def test_a_second_block_cut_off_whole_is_missed(options, tmp_path):
    """The rest of the file ends at a block's end, so that only its recorded size tells."""
    path = unzip_fixture("v8_mor_event_time", tmp_path)
    sweep = Sweep(path, logs=True, scans=({"options": options},))
    cut = 0
    for file in sweep.files():
        data = file.read_bytes()
        second = data.find(MAGIC, 1)
        if second > 0:
            cut += 1
            sweep.run(file, iter([("second cut", data[:second])]))
    assert cut and sweep.counts == {"second tried": cut, "second refused": cut}


@pytest.mark.parametrize("version", VERSION_CASES)
def test_what_a_dead_writer_left_is_passed_over(version, tmp_path):
    """No completed instant recorded these bytes."""
    path = unzip_fixture(f"v{version}_mor_event_time", tmp_path)
    right = HudiTable.open(path).scan().to_arrow()
    sweep = Sweep(path, logs=True)
    for file in sweep.files():
        data = file.read_bytes()
        file.write_bytes(data + data[: len(data) // 2])
    for scan in SCANS:
        assert HudiTable.open(path).scan(**scan).to_arrow().equals(right)


def test_what_a_writer_appends_between_plan_and_read_is_passed_over(tmp_path):
    """The plan met the file of a pending commit in the midst of a block; only a commit's sizes are proof."""
    path = unzip_fixture("v6_mor_event_time", tmp_path)
    client = MetaClient.load(path)
    for file in Sweep(path, logs=True).files():
        data = file.read_bytes()
        pending = file.with_name(file.name.replace(".log.", ".log.9"))
        pending.write_bytes(data[: len(data) // 2])
        partition = "" if file.parent == path else str(file.parent.relative_to(path))
        names, sizes = [file.name, pending.name], [len(data), len(data) // 3]
        found = scan_logs(client.storage, partition, names, blocks=BlockRange(client.timeline), sizes=sizes)
        assert found.corrupt == 1 and found.blocks
        with pytest.raises(CorruptFileError, match="no log block ends at byte"):
            scan_logs(client.storage, partition, names[1:], blocks=BlockRange(), sizes=sizes[1:])


@pytest.mark.parametrize("version", VERSION_CASES)
@pytest.mark.parametrize("service", [compact, cluster])
def test_services_do_not_make_damage_permanent(service, version, tmp_path):
    path = unzip_fixture(f"v{version}_mor_event_time", tmp_path)
    files = Sweep(path, logs=True).files()
    before = sorted(path.rglob("*.parquet"))
    for file in files:
        file.write_bytes(file.read_bytes()[:-1])
    options = {"hoodie.compact.inline.max.delta.commits": "1"}
    with pytest.raises(CorruptFileError, match=r"\.log\."):
        service(ServiceContext(MetaClient.load(path), options))
    assert _outside(before, path) == []


@pytest.mark.parametrize("version", with_long_cases((9,), (6, 8, 9)))
def test_our_own_logs_show_any_changed_byte(version, thorough, tmp_path):
    """Our blocks have checksums, contents included."""
    prepare(tmp_path / "t", kind="MERGE_ON_READ", version=version, options={}, upserts=2)
    rng = random.Random(version)
    most = None if thorough else 2
    sweep = sweep_table(tmp_path / "t", rng, logs=True, most=most, scans=SCANS, checksummed=True)
    assert_none_wrong(sweep)
    assert sweep.counts["bit refused"] == sweep.counts["bit tried"] > 0


def test_pages_that_the_decoder_passes_over_are_missed(tmp_path):
    """A page of a type that it does not know is left out without a word."""
    prepare(tmp_path / "t", kind="COPY_ON_WRITE", version=6, options={}, upserts=0)
    sweep = Sweep(tmp_path / "t", logs=False)
    for file in sweep.files():
        data = file.read_bytes()
        metadata = pq.read_metadata(file)
        pages = [metadata.row_group(0).column(i).data_page_offset + 1 for i in range(metadata.num_columns)]
        sweep.run(file, (("type of a page", data[:at] + b"\x0a" + data[at + 1 :]) for at in pages))
    assert not sweep.wrong, sweep.wrong
    assert sweep.counts["type refused"] > 0


def test_a_renamed_column_in_a_footer_is_refused(tmp_path):
    prepare(tmp_path / "t", kind="COPY_ON_WRITE", version=9, options={}, upserts=0)
    sweep = Sweep(tmp_path / "t", logs=False)
    for file in sweep.files():
        data = file.read_bytes()
        at = data.index(b"value", len(data) - pq.read_metadata(file).serialized_size - 8)
        sweep.run(file, iter([("name", data[:at] + b"vblue" + data[at + 5 :])]))
    assert not sweep.wrong, sweep.wrong
    assert sweep.counts["name refused"] == sweep.counts["name tried"] > 0


def _outside(before: list[Path], path: Path) -> list[str]:
    """Base files that a completed instant shows and that were not there before."""
    client = MetaClient.load(path)
    shown = client.file_system_view(client.partition_paths()).latest_base_files()
    names = {file.name for file in before}
    return [name for name in shown.column("name").to_pylist() if name not in names]
