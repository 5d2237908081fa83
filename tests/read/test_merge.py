"""The columnar merge gives what the rules give record by record, for any history of a file slice."""

from __future__ import annotations

import functools

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.read.columns import Reconciler
from hudi_hive.read.merge.merge import merge_slice
from hudi_hive.read.merge.parts import MergeParts, merge_in_parts
from hudi_hive.read.scan.ordered import in_order
from hudi_hive.storage import spill_folder
from hudi_hive.table.logs import LogData, LogDeletes, LogRecords
from hudi_hive.table.merge import UNAVAILABLE_VALUE, MergeSpec, Order, Partial
from tests.support.running.long import long_case
from tests.support.tables.merge_model import Event, merge

EXAMPLES = [20, long_case(3000)]
"""Histories of each kind."""
"""Histories of each kind; some hundreds for a longer search."""

E, C = Order.EVENT_TIME, Order.COMMIT_TIME
SPECS = {
    "v6 overwrite": MergeSpec(6, E, C, deletes_yield=True, ordering_fields=("ts",)),
    "v6 default": MergeSpec(6, E, E, deletes_yield=True, ordering_fields=("ts",)),
    "v6 no ordering field": MergeSpec(6, E, E, deletes_yield=True),
    "v6 marker": MergeSpec(6, E, C, True, ("ts",), delete_field="v", delete_marker="D"),
    "v8 event": MergeSpec(8, E, E, ordering_fields=("ts",)),
    "v8 commit": MergeSpec(8, C, C, ordering_fields=("ts",)),
    "v8 event, no ordering field": MergeSpec(8, E, E),
    "v9 two fields": MergeSpec(9, E, E, ordering_fields=("ts", "lsn")),
    "v9 ignore defaults, event": MergeSpec(9, E, E, ordering_fields=("ts",), partial=Partial.IGNORE_DEFAULTS),
    "v9 ignore defaults, commit": MergeSpec(9, C, C, partial=Partial.IGNORE_DEFAULTS),
    "v9 fill unavailable": MergeSpec(9, E, E, ordering_fields=("ts",), partial=Partial.FILL_UNAVAILABLE),
    "v9 marker": MergeSpec(9, E, E, ordering_fields=("ts",), delete_field="v", delete_marker="D"),
    "v6 partial": MergeSpec(6, E, E, True, ("ts",), Partial.IGNORE_DEFAULTS, newest_meta=True),
    "v6 nondefaults": MergeSpec(6, E, C, True, ("ts",), Partial.IGNORE_DEFAULTS, partial_in_log=False),
    "v6 unavailable": MergeSpec(
        6, E, E, True, ("ts",), Partial.FILL_UNAVAILABLE, partial_in_log=False, loser_fills=False
    ),
    "v8 nondefaults": MergeSpec(8, C, C, False, ("ts",), Partial.IGNORE_DEFAULTS, deletes_in_order=True),
    "v8 deletes in order": MergeSpec(8, C, C, False, ("ts",), deletes_in_order=True),
    "v8 partial": MergeSpec(8, E, E, False, ("ts",), Partial.IGNORE_DEFAULTS, newest_meta=True),
    "v8 unavailable": MergeSpec(8, E, E, False, ("ts",), Partial.FILL_UNAVAILABLE, loser_fills=False),
    "v8 virtual key": MergeSpec(8, E, E, ordering_fields=("ts",), key_fields=("id", "part"), named_key=True),
}
TYPES = {
    "int": (pa.int32(), st.integers(-3, 3)),
    "long": (pa.int64(), st.integers(-3, 3)),
    "double": (pa.float64(), st.sampled_from([-1.5, 0.25, 0.5, 2.0, 1e300])),
    "string": (pa.string(), st.sampled_from(["", "a", "b", "é", "zz"])),
}
NESTED = pa.list_(pa.struct([("x", pa.int64())]))


def schema_of(kind: pa.DataType) -> pa.Schema:
    return pa.schema(
        [
            ("_hoodie_record_key", pa.string()),
            ("id", pa.int64()),
            ("part", pa.string()),
            ("v", pa.string()),
            ("n", NESTED),
            ("ts", kind),
            ("lsn", pa.int64()),
            ("_hoodie_is_deleted", pa.bool_()),
            ("_hoodie_operation", pa.string()),
        ]
    )


@st.composite
def rows_of(draw, ordering, keys=8, unique=False):
    count = draw(st.integers(0, 10))
    ids = draw(st.lists(st.integers(0, keys), min_size=0, max_size=count, unique=unique))
    value = st.none() | st.sampled_from(["a", "", "D", UNAVAILABLE_VALUE])
    return [
        {
            "_hoodie_record_key": f"id:{number},part:p",
            "id": number,
            "part": "p",
            "v": draw(value),
            "n": draw(st.sampled_from([None, [], [{"x": 1}], [{"x": None}, None]])),
            "ts": draw(ordering),
            "lsn": draw(st.none() | st.integers(-1, 1)),
            "_hoodie_is_deleted": draw(st.sampled_from([None, False, False, False, True])),
            "_hoodie_operation": draw(st.sampled_from([None, "I", "U", "U", "-U", "D"])),
        }
        for number in ids
    ]


@st.composite
def histories(draw, name):
    spec = SPECS[name]
    kind = draw(st.sampled_from(sorted(TYPES)))
    arrow, ordering = TYPES[kind]
    if kind != "string":
        ordering = st.none() | ordering
    base = [draw(rows_of(ordering)) for _ in range(draw(st.integers(0, 3)))]
    blocks = []
    for _ in range(draw(st.integers(0, 5))):
        if draw(st.booleans()):
            partial = not spec.deletes_yield and draw(st.booleans())
            blocks.append((draw(rows_of(ordering)), partial))
        else:
            value = st.none() | (ordering if kind != "string" else TYPES[kind][1])
            one = st.tuples(st.integers(0, 8), value, st.integers(-1, 1))
            blocks.append((draw(st.lists(one, max_size=6)), None))
    return spec, arrow, base, blocks


def zero_if_null(values, arrow):
    zeros = ("" if pa.types.is_string(arrow) else 0, 0)
    return tuple(zero if value is None else value for value, zero in zip(values, zeros, strict=False))


def logs_and_events(spec, arrow, blocks):
    """The blocks as the log scanner gives them, and as single events for the model."""
    schema, events, found = schema_of(arrow), [], []
    fields = spec.ordering_fields if spec.needs_ordering else ()
    for number, (content, partial) in enumerate(blocks):
        instant = f"{number:017d}"
        if partial is None:
            several = len(fields) > 1
            kind = pa.struct([("f0", arrow), ("f1", pa.int64())]) if several else arrow
            values = [None if v is None else {"f0": v, "f1": w} if several else v for _, v, w in content]
            keys = [f"id:{key},part:p" for key, _, _ in content]
            has = [value is not None for value in values]
            table = pa.table(
                {
                    "record_key": pa.array(keys, pa.string()),
                    "partition_path": pa.array([""] * len(keys), pa.string()),
                    "ordering": pa.array(values, kind) if any(has) else pa.nulls(len(keys)),
                    "has_ordering": pa.array(has, pa.bool_()),
                }
            )
            found.append(LogDeletes(instant, table))
            # Version 6 compares no text of a delete with that of a record: the delete wins.
            unlike = spec.deletes_yield and bool(fields) and pa.types.is_string(arrow)
            for key, (_, v, w), has_value in zip(keys, content, has, strict=True):
                told = has_value and not unlike
                ordering = (v, w)[: len(fields)] if told else None
                events.append(Event(key, None, ordering, True, natural=not told))
            continue
        names = [n for n in schema.names if not (partial and n in ("v", "n"))]
        rows = [{name: row[name] for name in names} for row in content]
        own = pa.schema([schema.field(name) for name in names])
        avro = {"fields": [{"name": name, "default": None} for name in names]}
        found.append(LogData(instant, pa.RecordBatch.from_pylist(rows, schema=own), avro, bool(partial)))
        for row in rows:
            raw = [row[name] for name in fields]
            soft = row["_hoodie_is_deleted"] is True or row["_hoodie_operation"] in ("D", "-U")
            soft = soft or (spec.delete_field is not None and row.get(spec.delete_field) == spec.delete_marker)
            default = all(
                value is None or (value == 0 and schema.field(name).type == pa.int32())
                for name, value in zip(fields, raw, strict=True)
            )
            values = row if partial else {name: row.get(name) for name in schema.names}
            natural = soft and default and not spec.deletes_yield
            events.append(Event(row["_hoodie_record_key"], values, zero_if_null(raw, arrow), soft, natural))
    return LogRecords(tuple(found)), events


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("name", SPECS)
def test_any_history_merges_as_record_by_record(name, examples):
    @settings(max_examples=examples, deadline=None)
    @given(data=st.data())
    def check(data):
        check_history(name, data)

    check()


@pytest.mark.parametrize("examples", [4, long_case(1000)])
@pytest.mark.parametrize("name", SPECS)
def test_any_history_merges_in_parts_as_record_by_record(name, examples):
    @settings(max_examples=examples, deadline=None)
    @given(data=st.data())
    def check(data):
        check_history(name, data, parts=3)

    check()


def check_history(name, data, parts=1):
    spec, arrow, base, blocks = data.draw(histories(name))
    schema = schema_of(arrow)
    logs, events = logs_and_events(spec, arrow, blocks)
    fields = spec.ordering_fields if spec.needs_ordering else ()

    def ordering_of(row, raw=False):
        values = [row[name] for name in fields]
        return tuple(values) if raw else zero_if_null(values, arrow)

    rows = [row for batch in base for row in batch]
    want = merge(rows, events, spec, schema.names, lambda row: row["_hoodie_record_key"], ordering_of)
    batches = [pa.RecordBatch.from_pylist(batch, schema=schema) for batch in base]
    if parts == 1:
        got = list(merge_slice(iter(batches), logs, spec, schema))
    else:
        want.sort(key=repr)
        got = in_parts(batches, logs, spec, schema, parts)
    assert all(batch.schema.equals(schema) and batch.num_rows for batch in got)
    for batch in got:
        batch.validate(full=True)
    rows = [row for batch in got for row in batch.to_pylist()]
    assert (rows if parts == 1 else sorted(rows, key=repr)) == want


def in_parts(batches, logs, spec, schema, parts):
    spilled = []
    rule = MergeParts(parts, spill_folder(None), spilled.append, functools.partial(in_order, threads=2), beside=True)
    reconcile = functools.partial(_by_name, schema)
    got = list(merge_in_parts(iter(batches), iter(logs.blocks), spec, schema, rule, reconcile=reconcile))
    assert len(spilled) == 2 * parts
    return got


def _by_name(schema, block):
    return Reconciler(block.batch.schema, schema).apply(block.batch)
