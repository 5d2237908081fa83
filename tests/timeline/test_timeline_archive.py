"""The archived timeline: real archives of both layouts, all kinds of entries, rewriting under the reader, damage."""

from __future__ import annotations

import io
import json
import os
import pickle
import shutil

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hudi_hive.errors import (
    CorruptFileError,
    CorruptInstantError,
    FileVanishedError,
    HudiHiveError,
    InstantNotFoundError,
)
from hudi_hive.formats.log import BlockType, HeaderKey, encode_block, iter_blocks
from hudi_hive.storage import Storage
from hudi_hive.timeline import ArchivedTimeline, Instant, State, Timeline
from hudi_hive.timeline.payloads.payload import decode_payload
from tests.support.fixture_tables import expected, fixture_names, unzip_fixture

HISTORY = ".hoodie/timeline/history"
LOGS = ".hoodie/archived"


def archive_of(base):
    layout = 2 if (base / ".hoodie/timeline").exists() else 1
    return ArchivedTimeline(Storage(base), HISTORY if layout == 2 else LOGS, layout)


def load(base):
    return Timeline.load(Storage(base), layout=2 if (base / ".hoodie/timeline").exists() else 1, timezone="UTC")


def times(archive):
    return [instant.requested for instant in archive.instants]


# -- real archives ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", fixture_names("cow_archived"))
def test_metadata_of_archived_commits(name):
    base = unzip_fixture(name)
    archive = archive_of(base)
    wanted = sorted({row["requested"] for row in expected(name)["archived_commits"]})
    assert times(archive) == wanted
    partitions = []
    for instant in archive.instants:
        assert (instant.action, instant.state) == ("commit", State.COMPLETED)
        metadata = archive.commit_metadata(instant)
        assert metadata.operation == ("UPSERT" if partitions else "INSERT")
        assert metadata.schema["type"] == "record"
        partitions += metadata.partitions_written()
        for path, size in zip(*metadata.write_stats.select(["path", "file_size"]).to_pydict().values(), strict=True):
            assert not (base / path).exists() or (base / path).stat().st_size == size
        assert archive.plan(instant) is None
    assert partitions == [f"p{number}" for number in range(10)]
    assert archive.range(wanted[2], wanted[4]) == archive.instants[2:5]
    known = archive.completion_times().to_pydict()
    assert known["requested"] == wanted
    assert all(known["completed"]) == (not name.startswith("v6"))
    copy = pickle.loads(pickle.dumps(archive))
    assert copy.instants == archive.instants
    assert copy.payload(copy.instants[0]) == archive.payload(archive.instants[0])


@pytest.mark.parametrize("name", ["v6_cow_nonpart", "v8_cow_nonpart"])
def test_no_archive_yet(name):
    archive = archive_of(unzip_fixture(name))
    assert archive.instants == archive.entries == ()
    assert archive.completion_times().num_rows == 0
    with pytest.raises(InstantNotFoundError):
        archive.payload(Instant("20200101000000000", "commit", State.COMPLETED, None, "", ""))


@pytest.mark.parametrize("name", fixture_names("cow_archived"))
def test_an_archived_instant_is_found_by_its_time(name):
    timeline = load(unzip_fixture(name))
    first = timeline.archived().instants[0]
    assert timeline.get(first.requested) == first
    stats = timeline.commit_metadata(first).write_stats
    assert stats.equals(timeline.archived().commit_metadata(first).write_stats)


def test_loading_reads_each_file_once_and_payloads_one_by_one():
    storage = Storage(unzip_fixture("v6_cow_archived"))
    archive = ArchivedTimeline(storage, LOGS, 1)
    files = len(list((unzip_fixture("v6_cow_archived") / LOGS).iterdir()))
    with storage.counters.measure() as cost:
        assert len(archive.instants) == 10
    assert (cost["lists"], cost["opens"]) == (1, files)
    with storage.counters.measure() as cost:
        archive.payload(archive.instants[3])
    assert cost["opens"] == 1
    assert cost["bytes_read"] < 3000


# -- layout 1: every kind of entry -----------------------------------------------------------------------------------


def archive_schema():
    path = next((unzip_fixture("v6_cow_archived") / LOGS).iterdir())
    return json.loads(next(iter_blocks(path.read_bytes(), str(path))).headers[HeaderKey.SCHEMA])


def log_block(entries, schema):
    parsed = fastavro.parse_schema(dict(schema))
    parts = [(3).to_bytes(4, "big"), len(entries).to_bytes(4, "big")]
    for entry in entries:
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, parsed, entry)
        parts += [len(stream.getvalue()).to_bytes(4, "big"), stream.getvalue()]
    return encode_block(BlockType.AVRO_DATA, {HeaderKey.SCHEMA: json.dumps(schema)}, b"".join(parts))


def entry(time, action, state, **payload):
    return {"commitTime": time, "actionType": action, "actionState": state, "version": 1, **payload}


def payload_of(base, name):
    return decode_payload((base / ".hoodie" / name).read_bytes(), name, "")


FIELDS = {
    "deltacommit": ("hoodieCommitMetadata", None),
    "commit": ("hoodieCommitMetadata", "hoodieCompactionPlan"),
    "replacecommit": ("hoodieReplaceCommitMetadata", "hoodieRequestedReplaceMetadata"),
    "clean": ("hoodieCleanMetadata", "hoodieCleanerPlan"),
    "rollback": ("hoodieRollbackMetadata", None),
    "savepoint": ("hoodieSavePointMetadata", None),
}
ASKS = {
    "clean": ("clean_metadata", "cleaner_plan"),
    "rollback": ("rollback_metadata", None),
    "savepoint": ("savepoint_metadata", None),
    "replacecommit": ("commit_metadata", "requested_replace_metadata"),
    "commit": ("commit_metadata", "compaction_plan"),
    "deltacommit": ("commit_metadata", None),
}


def readable(value):
    """A metadata object without the instant, for comparing an archived one with the active one."""
    if isinstance(value, pa.Table):
        return value.to_pylist()
    if hasattr(value, "__dataclass_fields__"):
        return {key: readable(getattr(value, key)) for key in value.__dataclass_fields__ if key != "instant"}
    if isinstance(value, dict):
        return {key: readable(item) for key, item in value.items()}
    return value


@pytest.mark.parametrize(
    "name", ["v6_cow_part_mdt", "v6_mor_rollback", "v6_mor_parquet_log_rollback", "v6_mor_event_time"]
)
def test_archived_entries_read_like_the_active_files(name, tmp_path):
    """Archives all instants of a real timeline, as records of the archive's schema, and reads them back."""
    active = load(unzip_fixture(name))
    base = unzip_fixture(name, tmp_path)
    entries = []
    kept = [instant for instant in active.instants if instant.action in FIELDS]
    for instant in kept:
        outcome, plan = FIELDS[instant.action]
        pending = "compaction" if instant.action == "commit" else instant.action
        requested = f"{instant.requested}.{pending}.requested"
        record = payload_of(base, requested) if plan and (base / ".hoodie" / requested).exists() else None
        entries.append(entry(instant.requested, pending, "REQUESTED", **({plan: record} if record else {})))
        entries.append(entry(instant.requested, pending, "INFLIGHT"))
        done = payload_of(base, instant.file_name)
        entries.append(entry(instant.requested, instant.action, "COMPLETED", **{outcome: done}))
    for instant in kept:
        for path in (base / ".hoodie").glob(f"{instant.requested}.*"):
            os.remove(path)
    schema = archive_schema()
    (base / LOGS / ".commits_.archive.1_1-0-1").write_bytes(
        log_block(entries[:4], schema) + log_block(entries[4:], schema)
    )

    timeline = load(base)
    assert {(i.requested, i.action) for i in timeline.archived().instants} == {(i.requested, i.action) for i in kept}
    for instant in kept:
        moved = next(
            i for i in timeline.archived().instants if (i.requested, i.action) == (instant.requested, instant.action)
        )
        outcome_ask, plan_ask = ASKS[instant.action]
        want = readable(getattr(active, outcome_ask)(instant))
        got = readable(getattr(timeline, outcome_ask)(moved))
        if outcome_ask == "commit_metadata":
            # Hudi's Avro schema of 0.15 has no place for these; the JSON of the active file has.
            for row in (*want["write_stats"], *got["write_stats"]):
                for lost in ("log_files_compacted", "log_bytes_compacted", "log_version", "log_offset"):
                    row.pop(lost)
                for lost in ("base_file", "log_files"):
                    row.pop(lost)
            want.pop("compacted")
            got.pop("compacted")
        assert got == want
        if plan_ask is not None:
            try:
                plan = readable(getattr(active, plan_ask)(instant))
            except InstantNotFoundError:
                with pytest.raises(InstantNotFoundError):
                    getattr(timeline, plan_ask)(moved)
                continue
            assert readable(getattr(timeline, plan_ask)(moved)) == plan


def test_entries_of_old_and_foreign_kinds(tmp_path):
    (tmp_path / LOGS).mkdir(parents=True)
    schema = archive_schema()
    old = {"commitTime": "20200101000000", "actionType": "commit", "actionState": None}
    foreign = entry("20200102000000", "frobnicate", "COMPLETED")
    newer = entry("20200103000000", "commit", "COMPLETED")
    (tmp_path / LOGS / ".commits_.archive.2_1-0-1").write_bytes(log_block([old, foreign], schema))
    (tmp_path / LOGS / "mergeArchivePlan").write_bytes(b"{}")
    (tmp_path / LOGS / ".commits_.archive.10").write_bytes(log_block([old], schema) + log_block([newer], schema))
    archive = archive_of(tmp_path)
    only, _ = archive.instants  # the first is twice in the files: an archival died and began anew
    assert (only.requested, only.state, only.file_name) == (
        "20200101000000",
        State.COMPLETED,
        ".commits_.archive.10",
    )
    with pytest.raises(CorruptInstantError, match="lacks partitionToWriteStats"):
        archive.commit_metadata(only)


@pytest.mark.parametrize("bad", [{"commitTime": None}, {"actionType": None}, {"actionState": "HALFWAY"}])
def test_entries_without_identity_are_corrupt(tmp_path, bad):
    (tmp_path / LOGS).mkdir(parents=True)
    data = log_block([{**entry("20200101000000", "commit", "COMPLETED"), **bad}], archive_schema())
    (tmp_path / LOGS / ".commits_.archive.1_1-0-1").write_bytes(data)
    with pytest.raises(CorruptFileError, match="without time, action or state"):
        archive_of(tmp_path).entries  # noqa: B018


def test_a_torn_end_is_skipped_and_a_torn_middle_is_refused(tmp_path):
    """An archival that died left active what it was about to archive."""
    base = unzip_fixture("v6_cow_archived", tmp_path)
    first = load(base).write_instants()[0]
    last = base / LOGS / ".commits_.archive.5_1-0-1"
    whole = last.read_bytes()
    blocks = list(iter_blocks(whole, "x"))
    states = [entry(first.requested, "commit", state) for state in ("REQUESTED", "INFLIGHT", "COMPLETED")]
    begun = log_block(states, archive_schema())
    last.write_bytes(whole + begun[:-30])
    assert len(load(base).archived().instants) == 10
    last.write_bytes(whole)
    (base / LOGS / ".commits_.archive.6_1-0-1").write_bytes(begun[:-30])
    assert len(load(base).archived().instants) == 10
    assert len(load(base).archived().completed_since("")) == 10
    last.write_bytes(whole[: blocks[0].size // 2] + whole)
    with pytest.raises(CorruptFileError, match="damaged at offset 0"):
        archive_of(base).instants  # noqa: B018


@pytest.mark.parametrize("number", [1, 3, 5])
@pytest.mark.parametrize("left", [0, 0.5, 0.999])
def test_what_a_cut_archive_of_layout_1_lost_is_nowhere(tmp_path, number, left):
    base = unzip_fixture("v6_cow_archived", tmp_path)
    path = base / LOGS / f".commits_.archive.{number}_1-0-1"
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * left)])
    for ask in (lambda a: a.instants, lambda a: a.completed_since("")):
        with pytest.raises(CorruptFileError, match=r"torn|empty") as raised:
            ask(load(base).archived())
        assert raised.value.path.endswith(path.name) and raised.value.remedy


@pytest.mark.parametrize(("number", "other"), [(1, 5), (3, 2), (2, 3), (5, 4)])
def test_a_file_of_layout_1_in_the_place_of_another(tmp_path, number, other):
    base = unzip_fixture("v6_cow_archived", tmp_path)
    shutil.copy(base / LOGS / f".commits_.archive.{other}_1-0-1", base / LOGS / f".commits_.archive.{number}_1-0-1")
    with pytest.raises(CorruptFileError, match="the same as"):
        load(base).archived().instants  # noqa: B018


def test_an_archive_of_layout_1_that_ends_within_an_instant(tmp_path):
    (tmp_path / LOGS).mkdir(parents=True)
    states = [[entry("20200101000000", "commit", state)] for state in ("REQUESTED", "INFLIGHT", "COMPLETED")]
    path = tmp_path / LOGS / ".commits_.archive.1_1-0-1"
    path.write_bytes(b"".join(log_block(state, archive_schema()) for state in states))
    assert len(archive_of(tmp_path).instants) == 1
    path.write_bytes(b"".join(log_block(state, archive_schema()) for state in states[:2]))
    with pytest.raises(CorruptFileError, match="lacks the end") as raised:
        archive_of(tmp_path).instants  # noqa: B018
    assert raised.value.path.endswith(path.name)


def test_an_archive_file_removed_after_loading(tmp_path):
    base = unzip_fixture("v6_cow_archived", tmp_path)
    archive = archive_of(base)
    first = archive.instants[0]
    os.remove(base / first.path)
    with pytest.raises(FileVanishedError, match="load the table again"):
        archive.payload(first)


def test_a_damaged_payload_of_layout_1(tmp_path):
    base = unzip_fixture("v6_cow_archived", tmp_path)
    archive = archive_of(base)
    first = archive.instants[0]
    data = bytearray((base / first.path).read_bytes())
    marker = data.rindex(first.requested.encode())  # in the stats of the last entry
    (base / first.path).write_bytes(data[: marker - 40] + bytes(120) + data[marker + 80 :])
    entries = [i for i in archive.entries if i.path == first.path and i.state is State.COMPLETED]
    with pytest.raises((CorruptInstantError, CorruptFileError)):
        for instant in entries:
            archive.commit_metadata(instant)


def named(base, name):
    """A manifest's entry of a data file."""
    return {"fileName": name, "fileLen": (base / HISTORY / name).stat().st_size}


# -- layout 2 --------------------------------------------------------------------------------------------------------


def test_missing_or_empty_version_file_means_the_greatest_manifest(tmp_path):
    base = unzip_fixture("v8_cow_archived", tmp_path)
    assert (base / HISTORY / "_version_").read_text() == "6"
    (base / HISTORY / "manifest_10.tmp").write_text("")
    os.remove(base / HISTORY / "_version_")
    assert len(archive_of(base).instants) == 10
    (base / HISTORY / "_version_").write_text("")
    assert len(archive_of(base).instants) == 10


@pytest.mark.parametrize("name", ["v8_cow_archived", "v9_cow_archived"])
@pytest.mark.parametrize("older", [4, 5])
def test_an_older_manifest_is_refused_for_the_files_that_it_leaves_out(tmp_path, name, older):
    base = unzip_fixture(name, tmp_path)
    folder = base / HISTORY
    (folder / "_version_").write_text(f"{older}\n")
    with pytest.raises(CorruptFileError, match="_version_"):
        load(base).archived().instants  # noqa: B018
    (folder / "_version_").write_text("6")
    shutil.copy(folder / f"manifest_{older}", folder / "manifest_6")
    with pytest.raises(CorruptFileError, match="manifest"):
        load(base).archived().completed_since("")


def test_files_that_an_archival_left_without_naming_them(tmp_path):
    """Merged files, and those of an archival that died before its manifest: their instants are here all the same."""
    base = unzip_fixture("v8_cow_archived", tmp_path)
    folder = base / HISTORY
    active = load(base)
    want = active.archived().instants
    named = json.loads((folder / "manifest_6").read_text())["files"]
    first = pq.read_table(folder / min(entry["fileName"] for entry in named))
    pq.write_table(first.slice(0, 1), folder / f"{want[0].requested}_{want[0].requested}_0.parquet")
    times = [i.requested for i in active.write_instants()[:2]]
    rows = {**first.slice(0, 2).to_pydict(), "instantTime": times}
    pq.write_table(pa.table(rows, schema=first.schema), folder / f"{times[0]}_{times[1]}_0.parquet")
    assert load(base).archived().instants == want
    rows["instantTime"] = [times[0], times[0][:-1] + "9"]
    pq.write_table(pa.table(rows, schema=first.schema), folder / f"{times[0]}_{rows['instantTime'][1]}_0.parquet")
    with pytest.raises(CorruptFileError, match="not active"):
        load(base).archived().instants  # noqa: B018


def test_files_of_layout_2_are_those_that_manifest_and_name_tell(tmp_path):
    base = unzip_fixture("v9_cow_archived", tmp_path)
    files = sorted((base / HISTORY).glob("*.parquet"))
    for file, other in zip(files, files[1:] + files[:1], strict=True):
        whole = file.read_bytes()
        file.write_bytes(other.read_bytes())
        with pytest.raises(CorruptFileError, match=r"bytes where the manifest|not those of its name"):
            load(base).archived().instants  # noqa: B018
        file.write_bytes(whole)
        table = pq.read_table(file)
        pq.write_table(table.slice(1) if table.num_rows > 1 else table.slice(0, 0), file)
        manifest = json.loads((base / HISTORY / "manifest_6").read_text())
        for entry in manifest["files"]:
            entry["fileLen"] = (base / HISTORY / entry["fileName"]).stat().st_size
        text = (base / HISTORY / "manifest_6").read_text()
        (base / HISTORY / "manifest_6").write_text(json.dumps(manifest))
        with pytest.raises(CorruptFileError, match="not those of its name"):
            load(base).archived().instants  # noqa: B018
        file.write_bytes(whole)
        (base / HISTORY / "manifest_6").write_text(text)
        assert len(load(base).archived().instants) == 10


@pytest.mark.parametrize(
    ("manifest", "what"),
    [
        ("", "manifest"),
        ("[]", "manifest"),
        ("{}", "manifest"),
        ('{"files": [{}]}', "manifest"),
        ('{"files": 1}', "manifest"),
        ('{"files": [7]}', "manifest"),
        ('{"files": [{"fileName": "1_2_0.parquet", "fileLen": "x"}]}', "bytes"),
        ('{"files": [{"fileName": "../../../evil.parquet"}]}', "evil"),
        ('{"files": [{"fileName": 7}]}', "7"),
        ('{"files": [{"fileName": "1_2_0.parquet/../x"}]}', "names"),
    ],
)
def test_damaged_manifests(tmp_path, manifest, what):
    base = unzip_fixture("v8_cow_archived", tmp_path)
    (base / HISTORY / "manifest_6").write_text(manifest)
    with pytest.raises(CorruptFileError, match=what) as raised:
        archive_of(base).instants  # noqa: B018
    assert raised.value.path.endswith("manifest_6")


@pytest.mark.parametrize("text", ["six", "-1", "6 6", "²"])
def test_damaged_version(tmp_path, text):
    base = unzip_fixture("v8_cow_archived", tmp_path)
    (base / HISTORY / "_version_").write_text(text)
    with pytest.raises(CorruptFileError, match="version"):
        archive_of(base).instants  # noqa: B018


def test_files_merged_while_reading_are_read_again(tmp_path):
    """The archive is compacted between reading the manifest and reading the files it names."""
    base = unzip_fixture("v8_cow_archived", tmp_path)
    before = archive_of(base)
    wanted, stats = before.instants, before.commit_metadata(before.instants[0]).write_stats
    names = sorted({instant.path for instant in wanted})

    class Compacting(Storage):
        done = False

        def open_input(self, path):
            if path in names and not Compacting.done:
                Compacting.done = True
                merged = pa.concat_tables([pq.read_table(base / name) for name in names])
                new = f"{wanted[0].requested}_{wanted[-1].requested}_1.parquet"
                pq.write_table(merged, base / HISTORY / new, row_group_size=3)
                (base / HISTORY / "manifest_7").write_text(json.dumps({"files": [named(base, new)]}))
                (base / HISTORY / "_version_").write_text("7")
                for name in names:
                    os.remove(base / name)
            return super().open_input(path)

    archive = ArchivedTimeline(Compacting(base), HISTORY, 2)
    assert [(i.requested, i.completed, i.action) for i in archive.instants] == [
        (i.requested, i.completed, i.action) for i in wanted
    ]
    assert archive.commit_metadata(archive.instants[0]).write_stats.equals(stats)
    for old, new in zip(wanted, archive.instants, strict=True):  # several row groups, any order
        assert archive.commit_metadata(new).instant == new
        assert old.completed == new.completed


def test_a_named_file_that_is_missing(tmp_path):
    base = unzip_fixture("v8_cow_archived", tmp_path)
    archive = archive_of(base)
    path = archive.instants[0].path
    os.remove(base / path)
    with pytest.raises(FileVanishedError):
        archive.payload(archive.instants[0])
    with pytest.raises(FileVanishedError):
        archive_of(base).instants  # noqa: B018


def test_plans_and_outcomes_of_layout_2(tmp_path):
    """A history file with the verbatim bytes of real plans and outcomes, as the format says."""
    active = load(unzip_fixture("v8_cow_part_mdt"))
    base = unzip_fixture("v8_cow_part_mdt", tmp_path)
    folder = base / ".hoodie/timeline"
    cleans = active.completed({"clean"})
    rows = []
    for instant in cleans:
        plan = (folder / f"{instant.requested}.clean.requested").read_bytes()
        data = (base / instant.path).read_bytes()
        rows.append((instant.requested, instant.completed, "clean", data, plan, 1))
        for path in folder.glob(f"{instant.requested}*"):
            os.remove(path)
    rows.append(("20200101000000000", None, "commit", b"", None, 1))
    rows.append(("20200102000000000", "20200102000000001", "frobnicate", b"?", None, 1))
    schema = pa.schema(
        [("instantTime", pa.string()), ("completionTime", pa.string()), ("action", pa.string()),
         ("metadata", pa.binary()), ("plan", pa.binary()), ("version", pa.int32())]
    )  # fmt: skip
    columns = [pa.array(column, field.type) for column, field in zip(zip(*sorted(rows)), schema, strict=True)]  # noqa: B905
    os.makedirs(base / HISTORY, exist_ok=True)
    name = f"20200101000000000_{cleans[-1].requested}_0.parquet"
    pq.write_table(pa.table(columns, schema=schema), base / HISTORY / name)
    (base / HISTORY / "manifest_1").write_text(json.dumps({"files": [named(base, name)]}))
    timeline = load(base)
    empty, *moved = timeline.archived().instants
    assert [i.requested for i in moved] == [i.requested for i in cleans]
    for old, new in zip(cleans, moved, strict=True):
        assert readable(timeline.clean_metadata(new)) == readable(active.clean_metadata(old))
        assert readable(timeline.cleaner_plan(new)) == readable(active.cleaner_plan(old))
        # asked with the instant as it was before it was archived
        assert readable(timeline.clean_metadata(old)) == readable(active.clean_metadata(old))
    with pytest.raises(CorruptInstantError, match="lacks partitionToWriteStats"):
        timeline.commit_metadata(empty)
    with pytest.raises(InstantNotFoundError):
        timeline.archived().commit_metadata(moved[0])


@pytest.mark.parametrize("column", ["completionTime", "metadata"])
def test_an_archive_file_without_a_column_is_told(tmp_path, column):
    base = unzip_fixture("v8_cow_archived", tmp_path)
    for path in (base / HISTORY).glob("*.parquet"):
        table = pq.read_table(path)
        pq.write_table(table.rename_columns([{column: "other"}.get(name, name) for name in table.column_names]), path)
    entries = json.loads((base / HISTORY / "manifest_6").read_text())["files"]
    (base / HISTORY / "manifest_6").write_text(json.dumps({"files": [named(base, e["fileName"]) for e in entries]}))
    with pytest.raises(CorruptFileError, match=f"lacks the columns {column}"):
        for instant in archive_of(base).instants:
            archive_of(base).commit_metadata(instant)


@pytest.mark.parametrize(("name", "folder"), [("v6_cow_archived", LOGS), ("v8_cow_archived", HISTORY)])
@given(st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_archives_give_instants_or_our_error(tmp_path_factory, name, folder, data):
    base = tmp_path_factory.getbasetemp() / f"damaged_{name}"
    if not base.exists():
        unzip_fixture(name, base)
    path = sorted((base / name / folder).iterdir())[data.draw(st.integers(0, 4))]
    whole = path.read_bytes()
    damaged = bytearray(whole)
    damaged[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    cut = len(whole) if data.draw(st.booleans()) else data.draw(st.integers(0, len(whole)))
    path.write_bytes(damaged[:cut])
    try:
        archive = archive_of(base / name)
        for instant in archive.instants:
            if instant.is_write and instant.is_completed:
                archive.commit_metadata(instant).schema  # noqa: B018
    except HudiHiveError as error:
        assert str(error).isprintable()
    finally:
        path.write_bytes(whole)
