"""Converts a row filter to the metastore's filter text on partition keys.

The text lets at least those partitions through that may hold rows passing the filter: what Hive cannot compare as the
column's type is left out of it. Hive 2.3's language has comparisons of a key and a literal, AND, OR and parentheses;
text keys take text, integral keys whole numbers, date keys dates.
"""

from __future__ import annotations

import datetime as dt
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa

from hudi_hive.metastore.client import DEFAULT_PARTITION
from hudi_hive.predicate import And, ColumnRef, Comparison, In, IsTrue, Node, Opaque, Operator, Or, RowFilter

_MOST_VALUES: Final = 200
_PLAIN_TEXT = re.compile(r"[ !#$%&()*+,\-./0-9:;<=>?@A-Z\[\]^_`a-z{|}~]*")
"""Text that stands in quotes as it is: without quotes, backslashes, control characters and what collations order."""

_COMPARE: Final[dict[Operator, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


_ORDERED_TEXT = re.compile(r' [<>]=? "')


def compares_text_by_order(text: str) -> bool:
    """Whether a filter text of ``metastore_filter`` compares texts by their order, in which databases differ."""
    return _ORDERED_TEXT.search(text) is not None


def metastore_filter(row_filter: RowFilter, keys: Mapping[str, str], *, exact_text: bool) -> str | None:
    """The filter text, or None when Hive cannot leave any partition out.

    Args:
        row_filter: the filter.
        keys: columns whose values are those of the metastore's partition key of the same name: name → Hive type.
        exact_text: text values stand in the metastore as in the column. Else slashes may have become dashes, and
            only equality with texts without a slash is written.
    """
    return _Writer({name: kind.lower() for name, kind in keys.items()}, exact_text).text(row_filter.root)


class _Writer:
    def __init__(self, keys: Mapping[str, str], exact_text: bool) -> None:
        self._keys = keys
        self._exact_text = exact_text

    def text(self, node: Node) -> str | None:
        if isinstance(node, And):
            filters = [text for text in map(self.text, node.operands) if text is not None]
            return _joined(filters, "AND") if filters else None
        if isinstance(node, Or):
            texts = [self.text(operand) for operand in node.operands]
            filters = [text for text in texts if text is not None]
            return _joined(filters, "OR") if len(filters) == len(texts) else None
        if isinstance(node, Opaque):
            return None if node.outline is None else self.text(node.outline)
        if isinstance(node, IsTrue):
            return self.text(node.operand) if node.value else None
        if isinstance(node, Comparison):
            return self._comparison(node.column, node.operator, node.literal.as_py())
        if isinstance(node, In) and 0 < len(node.values) <= _MOST_VALUES and not node.has_nan:
            equal = [self._comparison(node.column, "=", value) for value in node.values.to_pylist()]
            filters = [text for text in equal if text is not None]
            return _joined(list(dict.fromkeys(filters)), "OR") if len(filters) == len(equal) else None
        return None

    def _comparison(self, column: ColumnRef, sign: Operator, value: object) -> str | None:
        if len(column.path) != 1 or column.cast is not None or sign not in _COMPARE:
            return None
        name = column.path[0]
        kind = self._keys.get(name)
        key = name.lower()
        if kind is None or not re.fullmatch(r"\w+", key, re.ASCII):
            return None
        if kind == "string" and pa.types.is_string(column.type) and isinstance(value, str):
            return self._text_comparison(key, sign, value)
        if kind in ("int", "bigint") and pa.types.is_integer(column.type) and isinstance(value, int):
            return f"{key} {sign} {value}" if 0 <= value < 2**63 else None
        if kind == "date" and pa.types.is_date32(column.type) and isinstance(value, dt.date):
            return f"{key} {sign} {value.isoformat()}" if value.year >= 1000 else None
        return None

    def _text_comparison(self, key: str, sign: Operator, value: str) -> str | None:
        if not _PLAIN_TEXT.fullmatch(value):
            return None
        if not self._exact_text and (sign != "=" or "/" in value):
            return None
        text = f'{key} {sign} "{value}"'
        if _COMPARE[sign]("", value):  # rows with an empty text are in the default partition, too
            text = f'({text} OR {key} = "{DEFAULT_PARTITION}")'
        return text


def _joined(texts: list[str], word: str) -> str:
    """Pairs in parentheses: Hive's parser takes no chain of unlike operators without them."""
    return texts[0] if len(texts) == 1 else f"({f' {word} '.join(texts)})"
