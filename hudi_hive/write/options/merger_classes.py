"""The merger classes that options name: each must be registered, and one of them merges the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hudi_hive.errors import InvalidOptionError
from hudi_hive.options import table as declared
from hudi_hive.table.merge import registered_merger, registered_strategy, registration_remedy

_OF_HUDI: Final = frozenset(
    {
        "HoodieAvroRecordMerger",
        "HoodiePreCombineAvroRecordMerger",
        "HoodieSparkRecordMerger",
        "DefaultSparkRecordMerger",
        "DefaultRecordMerger",
        "EventTimeAvroRecordMerger",
        "OverwriteWithLatestMerger",
        "OverwriteWithLatestSparkRecordMerger",
        "CommitTimeAvroRecordMerger",
        "CommitTimeSparkRecordMerger",
        "EventTimeSparkRecordMerger",
    }
)
"""Mergers of Hudi's built-in modes, which are here without being named."""


def strategies_of(classes: Sequence[str]) -> tuple[str, ...]:
    """The strategy ids of merger classes, Hudi's own left out.

    Args:
        classes: full names.

    Raises:
        InvalidOptionError: a class that is not registered, or without strategy id.
    """
    strategies = []
    for name in classes:
        if name.startswith("org.apache.hudi.") and name.rpartition(".")[2] in _OF_HUDI:
            continue
        strategy = registered_strategy(name)
        if strategy is None:
            registered = registered_merger("", class_name=name) is not None
            raise InvalidOptionError(
                f"option {declared.MERGER_CLASSES}={name} is not supported: "
                + ("it is registered without strategy_id" if registered else "no Python merger is registered for it"),
                remedy=f"register it by {registration_remedy(name, '<strategy-id>')}",
            )
        strategies.append(strategy)
    return tuple(strategies)


def strategy_of_table(strategies: Sequence[str], mode: str | None, strategy: str | None, *, exists: bool) -> str | None:
    """The strategy id of a table whose writer names merger classes.

    Args:
        strategies: those of the classes, by preference.
        mode: the table's merge mode, or None.
        strategy: the table's strategy id, or the one that options give to a new table; None for none.
        exists: the table is there.

    Raises:
        InvalidOptionError: none of the classes merges the table.
    """
    if not strategies:
        return strategy
    if strategy is None and not exists and mode in (None, "CUSTOM"):
        return strategies[0]
    if (mode in (None, "CUSTOM")) and strategy is not None and strategy.lower() in strategies:
        return strategy
    there = (strategy if mode in (None, "CUSTOM") else mode) or "its fields"
    raise InvalidOptionError(
        f"option {declared.MERGER_CLASSES} contradicts the table, which merges by {there}",
        remedy="leave the option out, or write another table",
    )
