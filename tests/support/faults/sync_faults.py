"""Syncs that die or meet another sync at each of their calls. Used with the fake and with a real metastore.

A ``Story`` is a table, what was synced of it before, and what it is now. All its syncs use one folder and one database
that is forgotten between two tries, so that end states can be compared as they are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hudi_hive.errors import MetastoreTransportError
from hudi_hive.metastore import HiveMetastore, Retries
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool, SyncReport
from hudi_hive.sync.table import LAST_COMMIT
from hudi_hive.table.core import MetaClient
from tests.support.metastore import sync_behaviour as behaviour
from tests.support.metastore import sync_golden as golden
from tests.support.metastore.flaky_proxy import FlakyProxy

DATABASE = behaviour.DATABASE


@dataclass(frozen=True)
class Story:
    """A golden table at two stages.

    Attributes:
        table: its name in the golden archive and in the metastore.
        before: the stage that was synced before, None when none was.
        now: the stage that is synced now.
        settings: of the sync under test.
        keeps: partitions that were registered stay so throughout (not so when the table is made anew).
        spoil: changes the metastore after the sync of ``before``.
        moved: the table lay in another folder then.
    """

    table: str
    before: str | None
    now: str
    settings: dict[str, Any] = field(default_factory=dict)
    before_settings: dict[str, Any] = field(default_factory=dict)
    keeps: bool = True
    spoil: Callable[[HiveMetastore, Path], None] | None = None
    moved: bool = False


def spoil_partitions(client: HiveMetastore, path: Path) -> None:
    """One partition at a wrong place, one that is missing, in every table."""
    for name in client.tables(DATABASE):
        (found,) = client.partitions(DATABASE, name, ["country=DE"])
        found.values, found.sd.location = ["IT"], f"{path.parent}/elsewhere"
        client.add_partitions(DATABASE, name, [found])
        client.drop_partitions(DATABASE, name, ["country=US"])


def stories(kind: str) -> dict[str, Story]:
    """What is tried with tables of a kind, ``cow`` or ``mor``."""
    part, flat = f"{kind}_part", f"{kind}_nonpart"
    flat_now = "04" if kind == "cow" else "03"
    return {
        "first": Story(part, None, "03"),
        "first, no partitions": Story(flat, None, "01"),
        "commits": Story(flat, "01", flat_now),
        "new columns": Story(part, "03", "04"),
        "everything": Story(part, "01", "05", spoil=spoil_partitions),
        "everything, in full": Story(part, "01", "05", {"incremental": False}, spoil=spoil_partitions),
        "moved": Story(part, "05", "05", moved=True),
        "touched": Story(part, "01", "03", {"touch_partitions": True}),
        "made anew": Story(
            part, "01", "05", {"recreate_on_error": True}, {"partition_fields": ()}, keeps=False
        ),
    }  # fmt: skip


class Stage:
    """Puts stories on: one folder, one database.

    Args:
        client: reaches the metastore without faults.
        folder: where the tables lie.
    """

    def __init__(self, client: HiveMetastore, folder: Path, story: Story) -> None:
        self.client = client
        self.folder = folder
        self.story = story
        self.path = folder / "lake" / story.table

    def put(self, stage: str, path: Path | None = None) -> Path:
        """The table's files as of a stage."""
        target = path or self.path
        target.parent.mkdir(parents=True, exist_ok=True)
        link = target.with_name(f".{target.name}.new")
        link.symlink_to(golden.inputs("stages") / stage / self.story.table, target_is_directory=True)
        link.replace(target)  # whoever looks meanwhile sees the one or the other
        return target

    def config(self, **settings: Any) -> HiveSyncConfig:
        """The configuration of a sync of the story."""
        settings = settings or self.story.settings
        return HiveSyncConfig(base_path=str(self.path), database=DATABASE, table=self.story.table, **settings)

    def sync(self, client: HiveMetastore | None = None, meta: MetaClient | None = None) -> SyncReport:
        """One sync of the table as it is now."""
        return HiveSyncTool(self.config(), metastore=client or self.client, client=meta).sync()

    def prepare(self) -> None:
        """Forget everything, and bring metastore and folder to where the story begins."""
        story = self.story
        if DATABASE in self.client.databases():
            self.client.drop_database(DATABASE, cascade=True)
        if story.before is not None:
            path = self.put(story.before, self.folder / "old" / story.table if story.moved else None)
            config = HiveSyncConfig(base_path=str(path), database=DATABASE, table=story.table, **story.before_settings)
            HiveSyncTool(config, metastore=self.client).sync()
            if story.spoil is not None:
                story.spoil(self.client, self.path)
        self.put(story.now)

    def state(self) -> dict[str, Any]:
        """Everything that syncs decide about all tables of the database."""
        if DATABASE not in self.client.databases():
            return {}
        return {name: behaviour.state(self.client, name) for name in self.client.tables(DATABASE)}

    def assert_nothing_lost(self, before: dict[str, Any], expected: dict[str, Any]) -> None:
        """After a sync that broke off: no partition is gone that is to be there, no stamp says more than is true."""
        found = self.state()
        for name, whole in expected.items():
            table = found.get(name)
            if table is None:
                assert name not in before or not self.story.keeps, f"{name} is gone"
                continue
            if self.story.keeps and name in before:
                kept = set(before[name]["partitions"]) & set(whole["partitions"])
                assert kept <= set(table["partitions"])
            changed = before.get(name, {}).get("parameters", {}).get(LAST_COMMIT) != whole["parameters"][LAST_COMMIT]
            if changed and table["parameters"].get(LAST_COMMIT) == whole["parameters"][LAST_COMMIT]:
                assert table == whole, f"{name} is stamped, but not done"


def states_around_sync(stage: Stage) -> tuple[dict[str, Any], dict[str, Any]]:
    """State before the story's sync, and after it."""
    stage.prepare()
    before = stage.state()
    stage.sync()
    expected = stage.state()
    assert stage.sync().plan.is_noop
    return before, expected


def die_everywhere(
    stage: Stage, *, answer_lost: bool, first: int = 1, step: int = 1, connections: int = 1
) -> list[int]:
    """Sync and die at the first call, then at the second … until a sync lives; run each again.

    Args:
        stage: the story.
        answer_lost: the call that broke was done; its answer got lost.
        first: the first call to die at.
        step: try each ``step``-th call only.
        connections: of the sync that dies, which all break at once.

    Returns:
        The calls at which a sync died. Every rerun ended in the state of a sync that was left in peace, and a third
        sync found nothing to do.
    """
    before, expected = states_around_sync(stage)
    port = urlsplit(stage.client.uri).port
    assert port is not None
    deaths: list[int] = []
    for number in range(first, 200, step):
        stage.prepare()
        with (
            FlakyProxy(port, number, answer_lost=answer_lost) as proxy,
            HiveMetastore(proxy.uri, retries=Retries(attempts=1), pool_size=connections) as fragile,
        ):
            try:
                stage.sync(fragile)
            except MetastoreTransportError:
                deaths.append(number)
            lived = not proxy.dead
        stage.assert_nothing_lost(before, expected)
        stage.sync()
        assert stage.state() == expected, f"died at call {number}"
        report = stage.sync()
        assert report.plan.is_noop
        assert not any(method.startswith(("alter", "add", "create", "drop")) for method in report.calls)
        if lived:
            return deaths
    raise AssertionError("no sync lived")


class InterruptedMetastore(HiveMetastore):
    """A client that does something else before one of its calls.

    Args:
        uri: the metastore.
        at: before which call, from 1.
        do: what.
    """

    def __init__(self, uri: str, at: int, do: Callable[[], object]) -> None:
        super().__init__(uri, pool_size=1)
        self._at = at
        self._do = do
        self.made = 0
        self.interrupted = False

    def call(self, method: str, *arguments: object, about: str, repeatable: bool = True) -> Any:
        self.made += 1
        if self.made == self._at and not self.interrupted:
            self.interrupted = True
            self._do()
        return super().call(method, *arguments, about=about, repeatable=repeatable)


def meet_everywhere(stage: Stage, *, first: str, second: str, step: int = 1) -> int:
    """At each call of a sync another one does its whole work; both must end, in the one right state.

    Args:
        stage: the story.
        first: whose calls are counted: ``old`` has read the timeline before the last commit, ``new`` after it.
        second: who comes in between, the same.
        step: try each ``step``-th call only.

    Returns:
        At how many calls that was tried.
    """
    story = stage.story
    _, expected = states_around_sync(stage)

    def client(age: str) -> MetaClient | None:
        return old_client(stage) if age == "old" else None

    for number in range(1, 200, step):
        stage.prepare()
        metas = [client(first), client(second)]
        stage.put(story.now)
        with HiveMetastore(stage.client.uri) as other:
            meta = metas[1]
            with InterruptedMetastore(stage.client.uri, number, lambda: stage.sync(other, meta)) as met:  # noqa: B023
                stage.sync(met, metas[0])
        if not met.interrupted:
            return number - 1
        found = stage.state()
        if "old" in (first, second) and found != expected:
            # Who has not seen the last commit may be the last one that writes; but nothing was lost by that.
            stage.sync()
            found = stage.state()
        assert found == expected, f"met at call {number}"
        assert stage.sync().plan.is_noop
    raise AssertionError("no sync lived")


def check_threads(stage: Stage, uri: str) -> None:
    """Four threads, each with a client of its own, that sync a table at once leave what one would."""
    _, expected = states_around_sync(stage)
    stage.prepare()
    begin = threading.Barrier(4)
    errors: list[Exception] = []

    def work() -> None:
        try:
            with HiveMetastore(uri) as own:
                begin.wait()
                stage.sync(own)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert stage.state() == expected
    assert stage.sync().plan.is_noop


def old_client(stage: Stage) -> MetaClient:
    """A client whose timeline lacks the commits of the story's last stage."""
    stage.put({"05": "03", "04": "03", "03": "01"}[stage.story.now])
    meta = MetaClient.load(stage.path)
    assert meta.timeline.instants
    return meta
