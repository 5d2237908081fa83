"""Made statistics of files for tests of pruning."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import strategies as st

SCHEMA = pa.schema(
    [
        ("_hoodie_record_key", pa.string()),
        ("i", pa.int64()),
        ("f", pa.float64()),
        ("s", pa.string()),
        ("d", pa.decimal128(6, 2)),
        ("b", pa.bool_()),
        ("t", pa.date32()),
    ]
)
COLUMNS = ("i", "f", "s", "d", "b", "t")

# -- made tables: any rows in any files, statistics as the writers make them ------------------------------------------

TEXTS = ["", "a", "b", "ab", "Z", "é", "\ue000x", "\uffff", "😀", "a😀"]
LONG = "l" * 2_100  # a row group with it for both bounds has no statistics
LITERALS = {
    "i": ["-2", "0", "1", "2.5"],
    "f": ["-1.5", "0", "1", "2"],
    "s": [f"'{text}'" for text in (*TEXTS, LONG)],
    "d": ["-1.00", "0.5", "2"],
    "b": ["TRUE", "FALSE"],
    "t": ["DATE '2024-01-02'", "DATE '2024-01-03'"],
}


@st.composite
def column_tests(draw):
    name = draw(st.sampled_from(COLUMNS))
    literals = st.sampled_from(LITERALS[name])
    kind = draw(st.integers(0, 4))
    if kind == 0:
        return f"{name} IS {draw(st.sampled_from(['', 'NOT ']))}NULL"
    if kind == 1:
        return f"{name} IN ({', '.join(draw(st.lists(literals, min_size=1, max_size=3)))})"
    if kind == 2 and name == "s":
        return f"s LIKE {draw(literals)[:-1]}%'"
    return f"{name} {draw(st.sampled_from(['=', '<>', '<', '<=', '>', '>=']))} {draw(literals)}"


filters = st.recursive(
    column_tests(),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda text: f"NOT ({text})"),
    ),
    max_leaves=4,
)


def passing(row_filter, files, owner_column, owners):
    """For each owner whether one of its rows passes; a file may well hold a column of which it has no statistics."""
    found = []
    for owner in owners:
        rows = [row for file in files if owner_column(file) == owner for row in file["rows"]]
        table = pa.Table.from_pylist(rows, SCHEMA)
        found.append(bool(pc.any(row_filter.evaluate(table)).as_py()) if rows else False)
    return np.array(found, np.bool_)
