"""Archived instants of layout 2, the LSM timeline: its manifests, its files, and their damage."""

from __future__ import annotations

import json
import os
import shutil

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
from hudi_hive.storage import Storage
from hudi_hive.timeline import ArchivedTimeline
from hudi_hive.timeline.archival import archive
from tests.support.fixture_tables import unzip_fixture
from tests.support.tables.metadata_writing import HandMade
from tests.timeline.shared.archive_helpers import HISTORY, LOGS, archive_of, load, readable


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


def test_archive_files_whose_content_is_not_that_of_their_name_are_refused(tmp_path):
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
def test_a_damaged_manifest_is_an_error(tmp_path, manifest, what):
    base = unzip_fixture("v8_cow_archived", tmp_path)
    (base / HISTORY / "manifest_6").write_text(manifest)
    with pytest.raises(CorruptFileError, match=what) as raised:
        archive_of(base).instants  # noqa: B018
    assert raised.value.path.endswith("manifest_6")


@pytest.mark.parametrize("text", ["six", "-1", "6 6", "²"])
def test_a_damaged_version_file_is_an_error(tmp_path, text):
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
def test_an_archive_file_without_a_column_is_corrupt(tmp_path, column):
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


def test_instants_that_were_archived_since_load_the_archive_once(tmp_path):
    table = HandMade(tmp_path / "t", 8, {"hoodie.metadata.enable": "false"})
    for number in range(8):
        table.commit({"a": [(f"k{number}", number)]})
    timeline, storage = table.fresh().timeline, table.client.storage
    moved = archive(table.client, min_commits=2, max_commits=3).archived
    assert len(moved) == 6
    counts = []
    for instant in timeline.write_instants():
        with storage.counters.measure() as measured:
            assert timeline.commit_metadata(instant).write_stats.num_rows == 1
        counts.append((measured.get("lists", 0), measured.get("opens", 0)))
    assert counts[0] > counts[1] == (0, 1)  # the active file that is gone
    assert len(set(counts[1:])) == 1
