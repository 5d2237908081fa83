"""Plans, markers and records that name what is no data file of the table: nothing outside, and no metadata, changes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive.errors import CorruptInstantError, HudiHiveError, UnsafePathError
from hudi_hive.table import MetaClient
from hudi_hive.table_api import HudiTable
from hudi_hive.timeline import Instant, State
from hudi_hive.timeline.core import TimelineWriter
from hudi_hive.timeline.instants import CLEAN, COMPACTION, LOG_COMPACTION, RESTORE, ROLLBACK
from hudi_hive.timeline.payloads import (
    CLEAN_FILES_SCHEMA,
    CLUSTERING_SCHEMA,
    OPERATIONS_SCHEMA,
    CleanerPlan,
    ClusteringPlan,
    CompactionPlan,
    RestorePlan,
    RollbackPlan,
    RollbackRequest,
    encode_cleaner_plan,
    encode_compaction_plan,
    encode_requested_replace,
    encode_restore_plan,
    encode_rollback_plan,
)
from hudi_hive.write.files.markers import marker_folder
from hudi_hive.write.rollback.restore_action import restore
from hudi_hive.write.rollback.rollback_action import rollback, rollback_failed_writes
from hudi_hive.write.rollback.savepoint_action import create_savepoint
from hudi_hive.write.service_base.context import ServiceContext
from hudi_hive.write.services.archival import archive_instants
from hudi_hive.write.services.cleaning import clean
from hudi_hive.write.services.clustering import cluster
from hudi_hive.write.services.compaction import compact
from tests.support.running.long import long_case, with_long_cases

BASE = "f1_0-0-0_20200101000000000.parquet"
"""A name that a base file can have; the folder outside has one."""
LOG = ".f1_20200101000000000.log.1_0-0-0"
TIME = "20990101000000000"
QUIET = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}

PLACES = {
    "link": ("link", "precious.txt"),
    "data file behind a link": ("link", BASE),
    "link in a partition": ("a/link", BASE),
    "parent": ("..", BASE),
    "sibling": ("../outside", BASE),
    "up from a partition": ("a/../../outside", BASE),
    "absolute": ("{outside}", BASE),
    "double slash": ("/{outside}", BASE),
    "uri": ("file://{outside}", BASE),
    "properties": (".hoodie", "hoodie.properties"),
    "metadata folder": (".hoodie/metadata/files", BASE),
    "log in the metadata folder": (".hoodie/metadata/files", LOG),
    "metadata by dots": ("./.hoodie", "hoodie.properties"),
    "metadata through a partition": ("a/../.hoodie", "hoodie.properties"),
    "NUL": ("a\0", BASE),
    "NUL in a name": ("a", f"{BASE}\0"),
    "percent": ("%2e%2e/outside", BASE),
    "backslash": ("..\\outside", BASE),
    "metafile": ("a", ".hoodie_partition_metadata"),
    "nested table": ("a/.hoodie", "hoodie.properties"),
    "no data file": ("a", "notes.txt"),
}
HARMLESS = {"percent", "backslash"}
SOME = (
    "link",
    "parent",
    "up from a partition",
    "absolute",
    "properties",
    "metadata by dots",
    "NUL in a name",
    "percent",
)
"""Of those that clean plans and markers try all: the same rule looks at the names of other plans."""
SOME_PLACES = with_long_cases(SOME, PLACES)


@pytest.fixture(params=[None, long_case(6), long_case(9)])
def version(request: pytest.FixtureRequest) -> int | None:
    """The version of tables; None takes one or the other by turns, because each place with both takes twice as long."""
    found: int | None = request.param
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    return {version: make(tmp_path_factory.mktemp("made"), version) for version in (6, 9)}


def make(folder: Path, version: int) -> Path:
    table = HudiTable.create(
        folder / "table",
        name="t",
        table_type="MERGE_ON_READ",
        version=version,
        record_keys=["id"],
        partition_fields=["city"],
        ordering_fields=["ts"],
    )
    for number in range(3):  # what changes is in log files
        cities = ["a", "b", "c"]
        rows = pa.table({"id": ["1", "2", "3"], "ts": [number] * 3, "city": cities, "v": [number] * 3})
        table = table.upsert(rows, QUIET) or table
        table = HudiTable.open(folder / "table")
    (folder / "outside" / "files").mkdir(parents=True)
    for name in ("precious.txt", BASE, LOG, "hoodie.properties", f"files/{BASE}"):
        (folder / "outside" / name).write_bytes(b"precious " + name.encode())
    return folder


@pytest.fixture
def place(made: dict[int, Path], version: int | None, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A table with links out of it, hard links among its files, and its neighbour; checked when the test is over."""
    what = str(request.node.callspec.params.get("what", "link"))
    shutil.copytree(made[version or (6, 9)[list(PLACES).index(what) % 2]], tmp_path / "place")
    place = tmp_path / "place"
    table = place / "table"
    (table / "link").symlink_to(place / "outside")
    (table / "a" / "link").symlink_to("../../outside")
    (table / "a" / "notes.txt").write_bytes(b"notes")
    os.link(place / "outside" / "precious.txt", table / "a" / "hard_0-0-0_20200101000000001.parquet.bak")
    before = (
        outside(place),
        metadata(place),
        [{"id": str(number), "ts": 2, "city": city, "v": 2} for number, city in enumerate("abc", 1)],
    )
    yield place
    assert outside(place) == before[0]
    after = metadata(place)
    assert {name: after.get(name) for name in before[1]} == before[1]
    assert rows(table) == before[2]


def outside(place: Path) -> dict[str, str]:
    return hashes(place / "outside")


def metadata(place: Path) -> dict[str, str]:
    """What services must leave in ``.hoodie`` as it is: properties, completed instants, the metadata table's files."""
    found = hashes(place / "table" / ".hoodie")
    return {
        name: text
        for name, text in found.items()
        if not name.startswith((".temp", ".heartbeat")) and "inflight" not in name and "requested" not in name
    }


def hashes(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def rows(table: Path) -> list[dict[str, object]]:
    found = HudiTable.open(table).scan().to_arrow().select(["id", "ts", "city", "v"])
    return sorted(found.to_pylist(), key=repr)


def context(place: Path) -> ServiceContext:
    return ServiceContext(MetaClient.load(place / "table"), QUIET)


def named(place: Path, what: str) -> tuple[str, str]:
    partition, name = PLACES[what]
    return partition.format(outside=place / "outside"), name


def bare(action: str) -> Instant:
    return Instant(TIME, action, State.REQUESTED, None, "", "")


def request_plan(place: Path, action: str, payload: bytes) -> Instant:
    client = MetaClient.load(place / "table")
    return TimelineWriter(client.storage, client.config).create_requested(action, TIME, payload)


def tried(service: Callable[[], object], *, harmless: bool) -> None:
    """Run a service that is to refuse, or to find nothing to do."""
    try:
        service()
    except HudiHiveError as error:
        assert str(error)
    else:
        assert harmless


@pytest.mark.parametrize("what", PLACES)
def test_plans_of_cleans_delete_nothing_outside(place: Path, what: str) -> None:
    partition, name = named(place, what)
    files = pa.table([[partition, "a"], [name, BASE]], schema=CLEAN_FILES_SCHEMA)
    plan = CleanerPlan(bare(CLEAN), "KEEP_LATEST_COMMITS", None, None, files, (), {})
    request_plan(place, CLEAN, encode_cleaner_plan(plan, f"file:{place}/table"))
    tried(lambda: clean(context(place)), harmless=what in HARMLESS)


@pytest.mark.parametrize("what", SOME_PLACES)
def test_partitions_that_a_clean_is_to_drop(place: Path, what: str) -> None:
    partition = named(place, what)[0]
    if partition == "a":
        return
    files = CLEAN_FILES_SCHEMA.empty_table()
    (place / "outside" / "empty").mkdir()
    paths = (partition, f"{partition}/empty", ".hoodie/.schema", ".hoodie/.aux")
    plan = CleanerPlan(bare(CLEAN), "KEEP_LATEST_COMMITS", None, None, files, paths, {})
    request_plan(place, CLEAN, encode_cleaner_plan(plan, f"file:{place}/table"))
    tried(lambda: clean(context(place)), harmless=False)
    assert (place / "outside" / "empty").is_dir()


@pytest.mark.parametrize(
    ("what", "blocks"),
    with_long_cases(
        [*((what, False) for what in SOME), ("link", True), ("sibling", True)], [(what, False) for what in PLACES]
    ),
)
def test_plans_of_rollbacks_delete_nothing_outside(place: Path, what: str, blocks: bool) -> None:
    partition, name = named(place, what)
    requests = (
        RollbackRequest("a", None, None, (BASE,), {}),
        RollbackRequest(partition, "../f1", "20200101000000000", (), {name: 3})
        if blocks
        else RollbackRequest(partition, None, None, (name,), {}),
    )
    plan = RollbackPlan(bare(ROLLBACK), ("20200101000000000", "deltacommit"), requests)
    request_plan(place, ROLLBACK, encode_rollback_plan(plan, f"file:{place}/table"))
    tried(lambda: rollback_failed_writes(context(place)), harmless=what in HARMLESS)


@pytest.mark.parametrize("time", ["", ".", "..", "../../..", "/etc", "x", "1/../2", "\N{ARABIC-INDIC DIGIT ONE}"])
@pytest.mark.parametrize("action", [ROLLBACK, RESTORE])
def test_times_of_plans_are_digits(place: Path, time: str, action: str) -> None:
    target = (time, "deltacommit")
    payload = (
        encode_rollback_plan(RollbackPlan(bare(action), target, ()), "")
        if action == ROLLBACK
        else encode_restore_plan(RestorePlan(bare(action), (target,), None))
    )
    instant = request_plan(place, action, payload)
    timeline = MetaClient.load(place / "table").timeline
    with pytest.raises(CorruptInstantError, match="commitTime"):
        timeline.rollback_plan(instant) if action == ROLLBACK else timeline.restore_plan(instant)


@pytest.mark.parametrize(
    ("what", "file_id"),
    with_long_cases(
        [*((what, "f1") for what in SOME), ("link", "../../outside/f1")], [(what, "f1") for what in PLACES]
    ),
)
def test_plans_of_compactions_touch_nothing_outside(place: Path, what: str, file_id: str) -> None:
    partition, name = named(place, what)
    row = {
        "partition": partition,
        "file_id": file_id,
        "base_instant": "20200101000000000",
        "base_file": name,
        "log_files": [LOG],
    }
    plan = CompactionPlan(bare(COMPACTION), pa.Table.from_pylist([row], schema=OPERATIONS_SCHEMA), {}, 2)
    layout = MetaClient.load(place / "table").config.layout
    request_plan(place, COMPACTION, encode_compaction_plan(plan, layout))
    tried(lambda: compact(context(place)), harmless=False)
    rollback(context(place), TIME, drop_plan=True)


@pytest.mark.parametrize("what", SOME_PLACES)
def test_plans_of_clusterings_touch_nothing_outside(place: Path, what: str) -> None:
    partition, name = named(place, what)
    row = {"group": 0, "partition": partition, "file_id": "f1", "base_file": name, "log_files": []}
    plan = ClusteringPlan(
        bare("replacecommit"), "CLUSTER", pa.Table.from_pylist([row], schema=CLUSTERING_SCHEMA), {}, None
    )
    client = MetaClient.load(place / "table")
    action = "replacecommit" if client.config.layout == 1 else "clustering"
    request_plan(place, action, encode_requested_replace(plan, base_path=f"file:{place}/table"))
    tried(lambda: cluster(context(place)), harmless=False)
    rollback(context(place), TIME, drop_plan=True)


@pytest.mark.parametrize(
    ("what", "kind"), [*((what, "server") for what in PLACES), ("link", "direct"), ("properties", "direct")]
)
def test_markers_delete_nothing_outside(place: Path, what: str, kind: str) -> None:
    """Of a write that died, and of one that goes on: markers neither delete what is not theirs nor block a rollback."""
    partition, name = named(place, what)
    client = MetaClient.load(place / "table")
    writer = TimelineWriter(client.storage, client.config)
    writer.create_requested("deltacommit", TIME, b"")
    writer.transition_inflight("deltacommit", TIME)
    left = f"b/f1_0-0-0_{TIME}.parquet"
    client.storage.write_bytes(left, b"x")
    folder = place / "table" / marker_folder(TIME)
    if kind == "server":
        folder.mkdir(parents=True)
        (folder / "MARKERS.type").write_text("TIMELINE_SERVER_BASED")
        (folder / "MARKERS0").write_text(f"{partition}/{name}.marker.CREATE\n{left}.marker.CREATE\n")
    elif "\0" not in partition + name and ".." not in partition.split("/"):
        for path in (f"{partition}/{name}", left):
            target = folder / f"{path.strip('/')}.marker.CREATE"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(b"")
    rollback(context(place), TIME)
    assert not (place / "table" / left).exists()


def test_a_write_deletes_no_file_that_a_strange_marker_names(place: Path) -> None:
    """Also not one of another write: only names with its own time are of its failed attempts."""
    from hudi_hive.write.files.markers import remove_unclaimed

    table = place / "table"
    own = [path for path in table.rglob("*.parquet") if ".hoodie" not in path.parts]
    names = [".hoodie/hoodie.properties", "link/" + BASE, *(str(path.relative_to(table)) for path in own)]
    for name in names:
        marker = table / marker_folder(TIME) / f"{name}.marker.CREATE"
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.write_bytes(b"")
    try:
        removed = remove_unclaimed(MetaClient.load(table).storage, TIME, [])
    except UnsafePathError:
        removed = []
    assert removed == []


def test_a_marker_folder_that_is_a_link_goes_and_what_it_leads_to_stays(place: Path) -> None:
    client = MetaClient.load(place / "table")
    folder = place / "table" / marker_folder(TIME)
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.symlink_to(place / "outside")
    writer = TimelineWriter(client.storage, client.config)
    writer.create_requested("deltacommit", TIME, b"")
    writer.transition_inflight("deltacommit", TIME)
    tried(lambda: rollback(context(place), TIME), harmless=True)
    folder.unlink(missing_ok=True)
    rollback_failed_writes(context(place))
    assert not MetaClient.load(place / "table").timeline.pending()


@pytest.mark.parametrize("what", ["link", "sibling", "properties"])
def test_log_compaction_plans_are_left_alone(place: Path, what: str) -> None:
    partition, name = named(place, what)
    row = {"partition": partition, "file_id": "f1", "base_instant": None, "base_file": name, "log_files": [LOG]}
    plan = CompactionPlan(bare(LOG_COMPACTION), pa.Table.from_pylist([row], schema=OPERATIONS_SCHEMA), {}, 2)
    layout = MetaClient.load(place / "table").config.layout
    request_plan(place, LOG_COMPACTION, encode_compaction_plan(plan, layout))
    tried(lambda: compact(context(place)), harmless=True)
    rollback(context(place), TIME, drop_plan=True)


PROPERTIES = ["hoodie.timeline.path", "hoodie.timeline.history.path", "hoodie.archivelog.folder"]
ELSEWHERE = ["../outside", "../../outside", "../../../place/outside", "{outside}", "link", "../link", "a/link"]


@pytest.mark.parametrize("name", [*PROPERTIES, "hoodie.table.index.defs.path"])
@pytest.mark.parametrize("value", ELSEWHERE)
def test_properties_that_name_folders_elsewhere(made: dict[int, Path], tmp_path: Path, name: str, value: str) -> None:
    version = 6 if name == "hoodie.archivelog.folder" else 9
    place = Path(shutil.copytree(made[version], tmp_path / "place"))
    (place / "table" / "link").symlink_to(place / "outside")
    (place / "table" / ".hoodie" / "link").symlink_to(place / "outside")
    properties = place / "table" / ".hoodie" / "hoodie.properties"
    kept = [
        line for line in properties.read_text().splitlines() if not line.startswith((name, "hoodie.table.checksum"))
    ]
    properties.write_text("\n".join([*kept, f"{name}={value.format(outside=place / 'outside')}", ""]))
    before = outside(place)
    options = {
        "hoodie.clean.commits.retained": "1",
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
        "hoodie.metadata.index.column.stats.enable": "true",
    }
    for number in range(3):
        rows = pa.table({"id": ["1"], "ts": [number], "city": ["a"], "v": [number]})
        try:
            HudiTable.open(place / "table").upsert(rows, options)
        except HudiHiveError as error:
            assert str(error)
        assert outside(place) == before


SERVICES: dict[str, Callable[[ServiceContext], object]] = {
    "clean": clean,
    "compaction": compact,
    "clustering": cluster,
    "archival": archive_instants,
    "savepoint and restore": lambda now: (
        create_savepoint(now, now.client.timeline.write_instants()[0].requested),
        restore(now, now.client.timeline.write_instants()[0].requested),
    ),
    "rollback": lambda now: rollback(now, now.client.timeline.write_instants()[-1].requested),
    "overwrite": lambda now: HudiTable.open(now.client.base_path).insert_overwrite_table(ROWS, QUIET),
    "overwrite of partitions": lambda now: HudiTable.open(now.client.base_path).insert_overwrite(ROWS, QUIET),
    "upsert": lambda now: HudiTable.open(now.client.base_path).upsert(ROWS, QUIET),
    "delete": lambda now: HudiTable.open(now.client.base_path).delete(ROWS.select(["id", "city"]), QUIET),
}
ROWS = pa.table({"id": ["1", "2", "3"], "ts": [9, 9, 9], "city": ["a", "b", "c"], "v": [9, 9, 9]})
DUE = {
    "hoodie.clean.commits.retained": "1",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.clustering.plan.strategy.sort.columns": "id",
}


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("linked", ["partition", "files", long_case("hard")])
def test_services_on_tables_with_links_out(made: dict[int, Path], tmp_path: Path, service: str, linked: str) -> None:
    """A partition, or data files, elsewhere: symbolic links are not gone through, hard links not written to."""
    version = (6, 9)[len(service) % 2]
    place = Path(shutil.copytree(made[version], tmp_path / "place"))
    table = place / "table"
    if linked == "partition":
        shutil.move(table / "b", place / "outside" / "b")
        (table / "b").symlink_to(place / "outside" / "b")
    else:
        for file in [path for path in (table / "b").iterdir() if not path.name.startswith(".hoodie")]:
            if linked == "hard":
                os.link(file, place / "outside" / file.name)
            else:
                shutil.move(file, place / "outside" / file.name)
                file.symlink_to(place / "outside" / file.name)
    before, properties = outside(place), (table / ".hoodie" / "hoodie.properties").read_bytes()
    tried(lambda: SERVICES[service](ServiceContext(MetaClient.load(table), {**QUIET, **DUE})), harmless=True)
    assert outside(place) == before
    assert (table / ".hoodie" / "hoodie.properties").exists() and properties


@pytest.mark.parametrize("what", SOME_PLACES)
def test_completed_commits_that_name_files_elsewhere(made: dict[int, Path], tmp_path: Path, what: str) -> None:
    place = Path(shutil.copytree(made[6], tmp_path / "place"))
    table = place / "table"
    (table / "link").symlink_to(place / "outside")
    partition, name = named(place, what)
    client = MetaClient.load(table)
    last = client.timeline.write_instants()[-1]
    commit = json.loads((table / last.path).read_text())
    stats = commit["partitionToWriteStats"].pop("a")
    commit["partitionToWriteStats"][partition] = [{**one, "path": f"{partition}/{name}"} for one in stats]
    (table / last.path).write_text(json.dumps(commit))
    before, kept = outside(place), (table / ".hoodie" / "hoodie.properties").read_bytes()
    begin = {"hoodie.datasource.query.type": "incremental", "hoodie.datasource.read.begin.instanttime": "0"}
    for read in (
        lambda: rows(table),
        lambda: HudiTable.open(table).scan(options=begin).to_arrow().to_pylist(),
    ):
        try:
            found = read()
        except HudiHiveError as error:
            assert str(error)
        else:
            assert {row["city"] for row in found} <= {"a", "b", "c"}
    tried(lambda: rollback(context(place), last.requested), harmless=True)
    assert outside(place) == before and (table / ".hoodie" / "hoodie.properties").read_bytes() == kept


@pytest.mark.parametrize("what", ["link", "properties", "NUL in a name", "sibling"])
def test_writes_go_on_beside_a_plan_that_is_refused(place: Path, what: str) -> None:
    """Each says which service failed, and acknowledges its rows."""
    partition, name = named(place, what)
    files = pa.table([[partition], [name]], schema=CLEAN_FILES_SCHEMA)
    plan = CleanerPlan(bare(CLEAN), "KEEP_LATEST_COMMITS", None, None, files, (), {})
    client = MetaClient.load(place / "table")
    writer = TimelineWriter(client.storage, client.config)
    writer.create_requested(CLEAN, "20200101000000000", encode_cleaner_plan(plan, f"file:{place}/table"))
    for _ in range(2):
        same = ROWS.set_column(1, "ts", pa.array([2, 2, 2])).set_column(3, "v", pa.array([2, 2, 2]))
        report = HudiTable.open(place / "table").upsert(same, {"hoodie.clean.automatic": "true"})
        assert report.instant is not None
