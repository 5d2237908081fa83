"""Writers of a soak: commits of every operation, tried again after conflicts, with pre-commit validators."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping

import duckdb
import pyarrow as pa

from hudi_hive.errors import CommitOutcomeUnknownError, CommitValidationError, LockLostError, WriteConflictError
from hudi_hive.plan import Query, plan_scan
from hudi_hive.read.scan import read_plan
from hudi_hive.timeline import Instant
from hudi_hive.write.commit import StagedCommit
from hudi_hive.write.options import Validator, WriteConfig
from hudi_hive.write.writers import LocalWriter, WriteReport
from tests.support.faults.soak_model import Commit
from tests.support.faults.soak_setup import (
    DEFECT,
    FIRST_FRESH,
    KEYS,
    OPERATIONS,
    PARTITIONS,
    TRIES,
    UNANSWERED,
    VALIDATORS,
    Log,
    Soak,
    batch,
    moment,
)

_DEFECTS = 0.05
"""The part of the writes with a row that validators must refuse."""


class Writer:
    """Commits its share; the keys are its own, the partitions and file groups everybody's."""

    def __init__(self, soak: Soak, number: int, log: Log, phase: int = 0) -> None:
        self._soak = soak
        self._name = "ab"[number] if number < 2 else f"w{number}"
        self._chance = random.Random(soak.seed * 100 + number + phase * 10_000)
        place, places = phase * soak.writers + number, soak.phases * soak.writers
        self._share = soak.commits // places + (place < soak.commits % places)
        self._first_fresh = self._fresh = FIRST_FRESH * (phase + 1)
        self._log = log

    def run(self) -> None:
        for number in range(self._share):
            operation = self._chance.choices(list(OPERATIONS), list(OPERATIONS.values()))[0]
            self._commit(number, operation)

    def _commit(self, number: int, operation: str) -> None:
        if operation == "delete_partition":
            return self.write(operation, {}, (f"c{self._chance.randrange(PARTITIONS)}",))
        rows = self._rows(operation, number)
        if self._soak.apart and operation != "delete" and self._chance.random() < _DEFECTS:
            self._be_refused(operation, rows)
        return self.write(operation, rows)

    def write(self, operation: str, rows: Mapping[str, tuple[str, int]], partitions: tuple[str, ...] = ()) -> None:
        """Commit, again and again until it succeeds, and note it down."""
        begun = moment()
        for _ in range(TRIES):
            try:
                report = self._write(operation, rows, partitions)
                break
            except WriteConflictError:
                self._yield_to_another()
            except CommitOutcomeUnknownError as error:
                self._log.refused["outcome unknown"] += 1
                done = [i for i in self._soak.client().timeline.write_instants() if i.requested == error.instant]
                if done:
                    self._note(done[0], operation, rows, partitions, begun)
                    return
            except (*UNANSWERED, LockLostError) as error:
                self._log.refused[type(error).__name__] += 1
        else:
            raise RuntimeError(f"{operation} lost {TRIES} times")
        assert report.instant is not None
        self._note(report.instant, operation, rows, partitions, begun)
        assert report.services is not None
        for name, error in report.services.failed.items():
            self._log.refused[f"{name}: {type(error).__name__}"] += 1
            if not isinstance(error, WriteConflictError):
                self._log.errors.append(f"service {name}: {error}")

    def _write(
        self, operation: str, rows: Mapping[str, tuple[str, int]], partitions: tuple[str, ...] = ()
    ) -> WriteReport:
        if not self._soak.apart:
            table = self._soak.open()
            if operation == "delete_partition":
                return table.delete_partitions(partitions, self._soak.options)
            return table.write(operation, batch(rows), self._soak.options)
        writer = validating_writer(self._soak, operation, self._log)
        return writer.delete_partitions(partitions) if partitions else writer.write(batch(rows))

    def _be_refused(self, operation: str, rows: Mapping[str, tuple[str, int]]) -> None:
        """Write rows one of which the validators refuse; the table stays as it is."""
        key = self._chance.choice(sorted(rows))
        defective = {**rows, key: (rows[key][0], DEFECT)}
        for _ in range(TRIES):
            try:
                self._write(operation, defective)
            except CommitValidationError:
                self._log.refused["by a validator"] += 1
                return
            except WriteConflictError:
                self._yield_to_another()
            else:
                self._log.errors.append(f"the validators let {operation} of {defective} pass")
                return

    def _yield_to_another(self) -> None:
        """Note a conflict down, and let the writer that it was with go on."""
        self._log.refused["conflict"] += 1
        time.sleep(self._chance.random() * 0.1)

    def _note(
        self,
        instant: Instant,
        operation: str,
        rows: Mapping[str, tuple[str, int]],
        partitions: tuple[str, ...],
        begun: str,
    ) -> None:
        order = self._soak.order_of(instant)
        self._log.commits.append(Commit(instant.requested, order, operation, rows, partitions, begun))
        self._log.counts[operation] += 1

    def _rows(self, operation: str, number: int) -> dict[str, tuple[str, int]]:
        count = self._chance.randint(1, 8)
        first = self._first_fresh
        if operation in ("insert", "bulk_insert"):
            names = [f"{self._name}-{self._fresh + one}" for one in range(count)]
            self._fresh += count
        else:
            names = [f"{self._name}-{self._chance.randrange(KEYS)}" for _ in range(count)]
            if operation == "delete" and self._fresh > first:
                names += [f"{self._name}-{self._chance.randrange(first, self._fresh)}"]
            if operation == "insert_overwrite":
                names = [one for one in names if self._soak.city(one) == self._soak.city(names[0])]
        return {name: (self._soak.city(name), number) for name in names}


def validating_writer(
    soak: Soak, operation: str, log: Log | None = None, extra: Mapping[str, str] | None = None
) -> LocalWriter:
    """A writer whose commits are validated before they complete."""
    options = {**soak.options, **VALIDATORS, "hoodie.datasource.write.operation": operation}
    writer = LocalWriter(soak.client(), options, extra=extra)
    writer.validate = _Validation(writer.config, Log("") if log is None else log)
    return writer


class _Validation:
    """Runs the validators' queries, which Spark's SQL and DuckDB's read alike, on the rows of the staged partitions."""

    def __init__(self, config: WriteConfig, log: Log) -> None:
        self._config = config
        self._log = log

    def __call__(self, staged: StagedCommit) -> None:
        connection = duckdb.connect()
        query = Query.of(options={"hoodie.metadata.enable": "false"})
        for name, client in (("before", staged.before), ("after", staged.after)):
            plan = plan_scan(client or staged.after, query, partitions=staged.partitions)
            batches = [] if client is None else read_plan(client.storage, plan)
            connection.register(f"{name}_rows", pa.Table.from_batches(batches, plan.schema))
        self._log.counts["validated"] += 1
        for each in self._config.validators.queries():
            after = connection.sql(each.on("after_rows")).fetchall()
            if each.validator is Validator.SINGLE_RESULT:
                passed = [tuple(map(str, row)) for row in after] == [(each.value,)]
            else:
                passed = connection.sql(each.on("before_rows")).fetchall() == after
            if not passed:
                raise CommitValidationError(f"{each.validator} refuses {each.sql}: {after}", instant=staged.instant)
