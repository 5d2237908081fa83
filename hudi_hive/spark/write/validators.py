"""Pre-commit validators: Hudi's SQL queries on the partitions of a write, before its commit and after it.

As in Hudi the queries see the partitions that the write wrote to, no others, and two results are the same where the
distinct rows that both have are as many as the rows of the first. Rows of log files are merged, which Hudi leaves out.

Source: Hudi's ``SparkValidatorUtils`` and its validators in ``org.apache.hudi.client.validator``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from hudi_hive.errors import CommitValidationError, HudiHiveError
from hudi_hive.options import write
from hudi_hive.plan import Query, ScanPlan, plan_scan
from hudi_hive.read.remote import PlanRows
from hudi_hive.spark.bridge import from_arrow_schema, in_microseconds, map_in_arrow, step_jobs
from hudi_hive.spark.write.executor import task_errors
from hudi_hive.table import MetaClient
from hudi_hive.write.commit import StagedCommit
from hudi_hive.write.options import Validator, ValidatorQuery, WriteConfig

_numbers: Final = itertools.count(1)
_TASKS_PER_CORE: Final = 4
_SHOWN: Final = 3
"""Rows of a result in a message."""
_BETWEEN: Final = "\x01"
"""Between the values of a row."""


@dataclass(frozen=True)
class SqlValidation:
    """Runs the validators of a write.

    Attributes:
        session: where the queries run; what they name beside the table is looked up in it.
        config: of the write.
    """

    session: SparkSession
    config: WriteConfig

    def __call__(self, staged: StagedCommit) -> None:
        """Refuse a commit whose rows do not satisfy the queries.

        Args:
            staged: the write.

        Raises:
            CommitValidationError: a validator refuses it, or its query cannot be run.
        """
        with step_jobs(self.session.sparkContext, "validate"), self._views(staged) as names:
            for query in self.config.validators.queries():
                try:
                    with task_errors():
                        why = self._refused(query, *names)
                except HudiHiveError:
                    raise
                except Exception as error:
                    raise _error(staged, query, f"cannot be run: {_first_line(error)}") from error
                if why is not None:
                    raise _error(staged, query, why)

    def _refused(self, query: ValidatorQuery, before: str, after: str) -> str | None:
        """Why a commit is refused; None if it is not."""
        new = self.session.sql(query.on(after))
        if query.validator is Validator.SINGLE_RESULT:
            return _value_refused(new, str(query.value))
        old = self.session.sql(query.on(before))
        same = old.intersect(new).count() == old.count()
        if same is (query.validator is Validator.EQUALITY):
            return None
        rule = "the same rows" if query.validator is Validator.EQUALITY else "other rows"
        return f"has to have {rule} after the commit; before it {_shown(old)}, after it {_shown(new)}"

    @contextmanager
    def _views(self, staged: StagedCommit) -> Iterator[tuple[str, str]]:
        """Context manager of temporary views: the partitions before the commit, and after it."""
        name = f"hudi_hive_staged_table_{next(_numbers)}"
        names = (f"{name}_before", f"{name}_after")
        after = self._rows(staged.after, staged.partitions)
        before = self.session.createDataFrame([], after.schema)
        if staged.before is not None:
            before = self._rows(staged.before, staged.partitions)
        try:
            for view, rows in zip(names, (before, after), strict=True):
                rows.createOrReplaceTempView(view)
            yield names
        finally:
            for view in names:
                self.session.catalog.dropTempView(view)

    def _rows(self, client: MetaClient, partitions: tuple[str, ...]) -> DataFrame:
        """The rows of partitions, read where they are needed."""
        query = Query.of(options={write.METADATA_ENABLE.name: "false"})
        plan = plan_scan(client, query, partitions=partitions)
        kind = from_arrow_schema(in_microseconds(plan.schema))
        if not plan.slices.num_rows:
            return self.session.createDataFrame([], kind)
        return self._planned(plan, client, kind)

    def _planned(self, plan: ScanPlan, client: MetaClient, kind: StructType) -> DataFrame:
        count = plan.slices.num_rows
        tasks = max(1, min(count, int(self.session.sparkContext.defaultParallelism) * _TASKS_PER_CORE))
        numbers = self.session.range(0, count, 1, tasks)
        rows = PlanRows(replace(plan, steps=(), counters={}), client.storage.storage_options)
        return map_in_arrow(numbers, rows, kind)


def _value_refused(rows: DataFrame, value: str) -> str | None:
    """Why the value of a query is refused; as Hudi, of several rows the first counts."""
    first = rows.toDF(*map(str, range(len(rows.columns))))._jdf.takeAsList(2)
    if not first.size() or (first.size() != 1 and len(rows.columns) != 1):
        return f"has to have one value, {value}; it has {_shown(rows)}"
    row = first.get(0)
    text = "null" if row.isNullAt(0) else row.mkString(_BETWEEN).split(_BETWEEN)[0]  # as Java writes it
    same = text == value and not row.isNullAt(0)
    return None if same else f"has to have the value {value}; it has {text}"


def _shown(rows: DataFrame) -> str:
    """Some rows of a result, for a message."""
    first = rows.take(_SHOWN + 1)
    texts = [", ".join(map(str, row)) for row in first[:_SHOWN]]
    return "[" + "; ".join(texts) + (" …" if len(first) > _SHOWN else "") + "]"


def _error(staged: StagedCommit, query: ValidatorQuery, why: str) -> CommitValidationError:
    return CommitValidationError(
        f"{query.validator} refuses the commit: the query {query.sql!r} {why}",
        path=staged.after.base_path,
        instant=staged.instant,
        remedy="correct the rows or the query; the table is as it was",
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
