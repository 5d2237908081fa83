"""Makes the filter by which only the written partitions are read from the metastore.

Source: docs/format/hive.md#hive-sync-filters, Hudi's ``PartitionFilterGenerator``.

Comes in: the metastore's partition keys and the written partitions' values. Goes out: text for
``get_partitions_by_filter``; an empty text asks for everything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hudi_hive.errors import PartitionValueError

_NUMBERS = frozenset({"int", "bigint"})
_TEXTS = frozenset({"string", "date"})
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_DIGIT = re.compile(r"[0-9]", re.ASCII)
_ENDS_IN_ESCAPE = re.compile(r"(?<!\\)(\\\\)*\\\Z")

Key = tuple[str, str]
"""Name and type of a partition key, as the metastore has them."""


def partition_filter(keys: Sequence[Key], partitions: Sequence[Sequence[str]], *, max_size: int) -> str:
    """Make a filter that selects at least the given partitions.

    Args:
        keys: partition keys in the metastore's order.
        partitions: values of each partition, in that order.
        max_size: beyond this number of keys times partitions the filter holds ranges instead of each partition.

    Raises:
        PartitionValueError: a value that the metastore's filter language or the key's type cannot hold.
    """
    for values in partitions:
        if len(values) != len(keys):
            raise PartitionValueError(f"{len(values)} partition values for {len(keys)} partition keys")
    if not partitions:
        return ""
    if len(keys) * len(partitions) > max_size:
        return _ranges(keys, partitions)
    items = [_join("AND", _equalities(keys, values)) for values in partitions]
    # A key that cannot stand in a filter (boolean) leaves its whole item empty: then everything must be fetched.
    return "" if not all(items) else _join("OR", items)


def order_is_certain(keys: Sequence[Key], partitions: Sequence[Sequence[str]], *, max_size: int) -> bool:
    """Whether the filter of ``partition_filter`` selects all given partitions in whatever order a database has texts.

    Ranges of texts are cut by the order of code points, and compared by the database's: ``a`` is before ``B`` in most.
    Texts that differ in digits alone, as dates do, have one order everywhere.
    """
    if len(keys) * len(partitions) <= max_size:
        return True
    texts = [index for index, (_, kind) in enumerate(keys) if kind in _TEXTS]
    return all(len({_DIGIT.sub("0", values[index]) for values in partitions}) == 1 for index in texts)


def _equalities(keys: Sequence[Key], values: Sequence[str]) -> list[str]:
    texts = [f"{name} = {_literal(value, kind)}" for (name, kind), value in zip(keys, values, strict=True)
             if kind != "boolean"]  # fmt: skip
    return texts if len(texts) == len(keys) else []


def _ranges(keys: Sequence[Key], partitions: Sequence[Sequence[str]]) -> str:
    terms = []
    for index, (name, kind) in enumerate(keys):
        if kind not in _NUMBERS | _TEXTS:
            continue
        found = {values[index] for values in partitions}
        literals = [_literal(value, kind) for value in sorted(found, key=_number if kind in _NUMBERS else None)]
        if len(literals) == 1:
            terms.append(f"{name} = {literals[0]}")
        else:
            terms.append(f"({name} >= {literals[0]} AND {name} <= {literals[-1]})")
    return _join("AND", terms)


def _join(word: str, terms: Sequence[str]) -> str:
    text = ""
    for term in terms:
        text = f"({text} {word} {term})" if text else term
    return text


def _number(value: str) -> int:
    if not _INTEGER.fullmatch(value):
        raise PartitionValueError(f"partition value {value!r} is not a whole number, which its key asks for")
    return int(value)


def _literal(value: str, kind: str) -> str:
    if kind in _NUMBERS:
        return str(_number(value))
    if kind == "date":
        # A date stands in the filter without quotes.
        if not _DATE.fullmatch(value):
            raise PartitionValueError(f"partition value {value!r} is not a date, which its key asks for")
        return value
    if kind != "string":
        raise PartitionValueError(f"a partition key of type {kind} cannot stand in a filter")
    if _ENDS_IN_ESCAPE.search(value):
        raise PartitionValueError(f"partition value {value!r} ends in a backslash, which would hide the closing quote")
    if '"' not in value:
        return f'"{value}"'
    if "'" in value:
        raise PartitionValueError(f"partition value {value!r} holds both kinds of quotes, which no filter can hold")
    return f"'{value}'"
