"""What tests of services random share with others."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive.errors import HudiHiveError
from hudi_hive.metadata import validate
from hudi_hive.table import MetaClient
from hudi_hive.table_api import HudiTable
from hudi_hive.timeline.core import TimelineWriter
from hudi_hive.timeline.instants import COMPACTION
from hudi_hive.write.coordination.executor import LocalExecutor
from hudi_hive.write.rollback import restore_action as restore
from hudi_hive.write.rollback import rollback_action as rollback
from hudi_hive.write.rollback import savepoint_action as savepoint
from hudi_hive.write.service_base.context import ServiceContext
from hudi_hive.write.services import archival, clustering, compaction
from hudi_hive.write.services import cleaning as clean

KEYS = 24


CITIES = 3


Model = dict[tuple[str, str | None], int]


class Killed(BaseException):
    """A writer that died right before its write would have been complete."""


class Life:
    """One table, its model, and what may happen to it."""

    def __init__(self, path: Path, seed: int, version: int, kind: str) -> None:
        self.path = path
        self.chance = random.Random(f"{seed} {version} {kind}")
        self.with_metadata = self.chance.random() < 0.6
        self.options = {
            "hoodie.clean.automatic": "false",
            "hoodie.archive.automatic": "false",
            "hoodie.metadata.enable": str(self.with_metadata).lower(),
            "hoodie.metadata.compact.max.delta.commits": self.chance.choice(["2", "4", "10"]),
            "hoodie.metadata.record.index.enable": str(self.chance.random() < 0.4).lower(),
            "hoodie.index.type": self.chance.choice(["SIMPLE", "BLOOM"]),
        }
        self.model: Model = {}
        self.past: list[tuple[str, Model]] = []
        self.saved: dict[str, Model] = {}
        self.done: list[str] = []
        self.keys = [f"k{number:02d}" for number in range(KEYS)]
        self.cities: list[str | None] = [f"c{number}" for number in range(CITIES)]
        self.make(path, version, kind)

    def make(self, path: Path, version: int, kind: str) -> None:
        HudiTable.create(
            path,
            name="t",
            version=version,
            table_type=kind,
            record_keys=["id"],
            partition_fields=["city"],
            merge_mode="COMMIT_TIME_ORDERING",
        )

    def batch(self, rows: Model) -> pa.Table:
        return batch(rows)

    def partition(self, city: str | None) -> str:
        return str(city)

    # -- what happens ------------------------------------------------------------------------------------------------

    def acts(self) -> dict[Callable[[int], object], int]:
        """What may happen, and how often."""
        return {
            self.upsert: 30,
            self.delete: 8,
            self.overwrite: 4,
            self.overwrite_all: 1,
            self.drop_partition: 3,
            self.plan_compaction: 8,
            self.compact: 9,
            self.plan_clustering: 5,
            self.cluster: 8,
            self.clean: 10,
            self.archive: 8,
            self.roll_back: 6,
            self.save: 4,
            self.forget_save: 2,
            self.restore: 2,
            self.die: 4,
        }

    def step(self, number: int) -> None:
        """Something happens, and the table is looked at."""
        acts = self.acts()
        act = self.upsert if number < 2 else self.chance.choices([*acts], [*acts.values()])[0]
        try:
            act(number)
        except HudiHiveError as error:
            self.done.append(f"{number} {act.__name__}: {type(error).__name__} {error.message}")
        else:
            self.done.append(f"{number} {act.__name__}")
        self.check(look_back=number % 4 == 0)

    def upsert(self, number: int) -> None:
        self.write("upsert", self.some(6, number))

    def delete(self, number: int) -> None:
        gone = self.some(4, number)
        report = HudiTable.open(self.path).delete(self.batch(gone), self.options)
        self.remember(report.instant, {place: n for place, n in self.model.items() if place not in gone})

    def overwrite(self, number: int) -> None:
        at = self.chance.randrange(len(self.cities))
        city = self.cities[at]
        rows = {place: n for place, n in self.some(KEYS, number).items() if place[1] == city}
        rows = rows or {(self.keys[at], city): number}
        self.write("insert_overwrite", rows, {p: n for p, n in self.model.items() if p[1] != city})

    def overwrite_all(self, number: int) -> None:
        self.write("insert_overwrite_table", self.some(8, number), {})

    def drop_partition(self, number: int) -> None:
        city = self.chance.choice(self.cities)
        report = HudiTable.open(self.path).delete_partitions([self.partition(city)], self.options)
        self.remember(report.instant, {place: n for place, n in self.model.items() if place[1] != city})

    def plan_compaction(self, number: int) -> None:
        compaction.schedule_compaction(self.context())

    def compact(self, number: int) -> None:
        for instant in MetaClient.load(self.path).timeline.pending({COMPACTION}):
            compaction.execute_compaction(self.context(), instant)

    def plan_clustering(self, number: int) -> None:
        sort = {"hoodie.clustering.plan.strategy.sort.columns": "id"} if self.chance.random() < 0.5 else {}
        clustering.schedule_clustering(self.context(sort))

    def cluster(self, number: int) -> None:
        for instant in clustering.pending_clusterings(MetaClient.load(self.path)):
            clustering.execute_clustering(self.context(), instant)

    def clean(self, number: int) -> None:
        policy = {"hoodie.clean.commits.retained": str(self.chance.choice([1, 2, 3]))}
        if self.chance.random() < 0.2:
            policy = {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": "1"}
        clean.clean(self.context(policy))

    def archive(self, number: int) -> None:
        numbers = {"hoodie.clean.commits.retained": "1", "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}
        beyond = {"hoodie.archive.beyond.savepoint": str(self.chance.random() < 0.4).lower()}
        archival.archive_instants(self.context(numbers | beyond))

    def roll_back(self, number: int) -> None:
        writes = sorted(i.requested for i in MetaClient.load(self.path).timeline.write_instants())
        if len(writes) < 2:
            return  # the table would have no schema left
        rollback.rollback(self.context(), writes[-1])
        if self.past[-1][0] == writes[-1]:  # else a table service
            self.past.pop()
            self.model = self.past[-1][1]

    def save(self, number: int) -> None:
        self.saved[savepoint.create_savepoint(self.context()).instant.requested] = self.model

    def forget_save(self, number: int) -> None:
        if self.saved:
            time = self.chance.choice(sorted(self.saved))
            savepoint.delete_savepoint(self.context(), time)
            del self.saved[time]

    def restore(self, number: int) -> None:
        if self.saved:
            time = max(self.saved)
            restore.restore(self.context(), time)
            self.model = self.saved[time]
            self.past = [(instant, model) for instant, model in self.past if instant <= time]

    def die(self, number: int) -> None:
        def killed(*_: object, **__: object) -> None:
            raise Killed

        with pytest.MonkeyPatch.context() as patch, pytest.raises((Killed, HudiHiveError)):
            patch.setattr(TimelineWriter, "complete", killed)
            HudiTable.open(self.path).upsert(self.batch(self.some(6, -number)), self.options)

    # -- how it is done ----------------------------------------------------------------------------------------------

    def some(self, most: int, number: int) -> Model:
        keys = {self.chance.randrange(len(self.keys)) for _ in range(most)}
        return {(self.keys[key], self.cities[key % len(self.cities)]): number for key in sorted(keys)}

    def write(self, operation: str, rows: Model, others: Model | None = None) -> None:
        report = getattr(HudiTable.open(self.path), operation)(self.batch(rows), self.options)
        self.remember(report.instant, {**(self.model if others is None else others), **rows})

    def remember(self, instant: object, model: Model) -> None:
        self.model = model
        if instant is not None:
            self.past.append((str(getattr(instant, "requested", instant)), model))

    def context(self, options: dict[str, str] | None = None) -> ServiceContext:
        return ServiceContext(MetaClient.load(self.path), {**self.options, **(options or {})}, LocalExecutor(1))

    # -- how it is looked at -----------------------------------------------------------------------------------------

    def check(self, *, look_back: bool) -> None:
        assert self.seen(HudiTable(MetaClient.load(self.path))) == self.model, self.done
        client = MetaClient.load(self.path)
        if "files" in client.config.metadata_partitions:
            assert self.seen(HudiTable.open(self.path)) == self.model, self.done
            assert validate(client).errors == 0, self.done
        for instant, model in self.past[-5:] if look_back else ():
            try:
                then = self.seen(HudiTable.open(self.path), instant)
            except HudiHiveError:
                continue  # cleaned, or behind a pending write
            assert then == model, (instant, self.done)

    def seen(self, table: HudiTable, as_of: str | None = None) -> Model:
        found = table.scan(selected_fields=["id", "city", "n"], as_of=as_of).to_arrow().to_pylist()
        rows = {(row["id"], row["city"]): row["n"] for row in found}
        assert len(rows) == len(found), self.done
        return rows


def batch(rows: Model) -> pa.Table:
    keys, cities = [key for key, _ in rows], [city for _, city in rows]
    columns = [pa.array(keys, pa.string()), pa.array(cities, pa.string()), pa.array([*rows.values()], pa.int64())]
    return pa.table(columns, names=["id", "city", "n"])
