"""Hudi tables in DataFusion: a dataset whose fragments are scans of ours, with the engine's columns and filters.

DataFusion pushes the predicates that Arrow's expressions can hold into a dataset, which evaluates them, and evaluates
the others itself. It reads the fragments of a dataset: ours has one, which is planned with the filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.connector.dataset import ScanDataset, ScanScanner, ScanSource
from hudi_hive.errors import MissingDependencyError
from hudi_hive.formats.base import BATCH_ROWS

if TYPE_CHECKING:
    from datafusion import SessionContext


def register_datafusion(
    name: str,
    source: ScanSource,
    context: SessionContext | None = None,
    *,
    on_error: Callable[[Exception], None] | None = None,
) -> SessionContext:
    """Let DataFusion query a table under a name; each statement reads only the columns and files that it needs.

    Args:
        name: the name in DataFusion's SQL.
        source: what is read: a ``ConnectorSource`` or a ``TableSource``, of any kind of query.
        context: where the name is to be known; a new session without it.
        on_error: called with each error of planning or reading before it is raised, as DataFusion keeps only its text.

    Raises:
        MissingDependencyError: DataFusion is not installed.
    """
    try:
        from datafusion import SessionContext
    except ImportError as error:
        raise MissingDependencyError(
            "DataFusion is not installed", remedy="pip install 'hudi_hive[datafusion]'"
        ) from error
    context = SessionContext() if context is None else context
    context.register_dataset(name, FragmentDataset(source, sql_filters=True, on_error=on_error))
    return context


class FragmentDataset(ScanDataset):
    """A :class:`~hudi_hive.connector.dataset.ScanDataset` for engines that read datasets by their fragments."""

    def get_fragments(self, filter: pc.Expression | None = None) -> Iterator[ScanFragment]:  # type: ignore[override]
        """One fragment: all rows that pass the filter of its scanner."""
        return iter([ScanFragment(self)])


class ScanFragment:
    """The fragment of a :class:`FragmentDataset`."""

    def __init__(self, dataset: FragmentDataset) -> None:
        self._dataset = dataset

    def scanner(
        self,
        schema: pa.Schema | None = None,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | None = None,
        batch_size: int = BATCH_ROWS,
        **options: object,
    ) -> ScanScanner:
        """As :meth:`ScanDataset.scanner`; ``schema`` is that of the dataset."""
        return self._dataset.scanner(columns, filter, batch_size, **options)
