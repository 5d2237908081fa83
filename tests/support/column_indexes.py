"""What secondary and expression indexes must hold, worked out from the rows that a table shows."""

from __future__ import annotations

import pyarrow.compute as pc

from hudi_hive import HudiTable
from hudi_hive.formats.hash import BloomFilter, key_hashes
from hudi_hive.metadata.reader import column_key, indexed_function, merge_stats, partition_key


def refuse_differences(path):
    """Assert that the secondary and expression indexes of a table are in step with its rows; gives their names."""
    table = HudiTable.open(path)
    rows = table.scan(options={"hoodie.enable.data.skipping": "false"}).to_arrow()
    definitions = [one for one in table.metadata.reader.index_definitions if one.name.startswith(("secondary", "expr"))]
    for one in definitions:
        if one.kind == "secondary_index":
            _check_secondary(table, one, rows)
        elif one.kind == "column_stats":
            _check_statistics(table, one, rows)
        else:
            _check_filters(table, one, rows)
    return [one.name for one in definitions]


def _check_secondary(table, definition, rows):
    (column,) = definition.columns
    texts, keys = (
        _texts(rows.column(column), table.client.config.version),
        rows.column("_hoodie_record_key").to_pylist(),
    )
    pairs = zip(texts, keys, strict=True)
    keeps_nulls = table.client.config.version >= 9
    wanted = sorted(((value or "", value is None, key) for value, key in pairs if keeps_nulls or value is not None))
    found = table.metadata.reader.secondary_keys(definition.name).to_pylist()
    have = sorted((row["secondary_key"] or "", row["secondary_key"] is None, row["key"]) for row in found)
    assert have == wanted


def _texts(values, version):
    kind = str(values.type)
    if kind == "date32[day]" and version >= 9:
        return [None if day is None else str(day) for day in values.cast("int32").to_pylist()]
    assert kind in ("string", "int32", "int64", "date32[day]"), kind
    return values.cast("string").to_pylist()


def _results(definition, rows):
    (column,) = definition.columns
    values = rows.column(column).combine_chunks()
    return indexed_function(definition).of(values, values.type)


def _check_statistics(table, definition, rows):
    """Every base file of the newest slices has exact statistics, and no partition's bounds leave a row out."""
    results = _results(definition, rows)
    reader = table.metadata.reader
    partitions = table.partitions()
    stats = reader.expression_ranges(definition.name, definition.columns[0], results.type, partitions).to_pylist()
    by_file = {row["file_name"]: row for row in stats}
    slices = table.scan().plan().slices.to_pylist()
    for one in slices:
        for name in [one["base_file"]] if one["base_file"] else []:
            assert name in by_file, name
            if one["log_files"]:
                continue
            here = results.filter(pc.equal(rows.column("_hoodie_file_name"), name))
            bounds = pc.min_max(here).as_py()
            row = by_file[name]
            assert (row["min"], row["max"]) == (bounds["min"], bounds["max"]), name
            assert (row["value_count"], row["null_count"]) == (len(here) - here.null_count, here.null_count)
    _check_partitions(table, definition, rows, results)


def _check_partitions(table, definition, rows, results):
    raw = table.metadata.reader._scan(definition.name, "ColumnStatsMetadata")
    merged = merge_stats(raw)
    merged = merged.filter(pc.invert(merged.column("is_deleted")))
    keys = dict(zip(merged.column("key").to_pylist(), merged.to_pylist(), strict=True))
    for path in set(rows.column("_hoodie_partition_path").to_pylist()):
        key = column_key(definition.columns[0]) + column_key("__partition_stat__") + partition_key(path)
        if key not in keys:
            continue
        here = results.filter(pc.equal(rows.column("_hoodie_partition_path"), path)).drop_null()
        bounds = [next((v for v in (keys[key][side] or {}).values() if v is not None), None) for side in ("min", "max")]
        low, high = bounds
        widths = {"date32[day]": "int32", "timestamp[us, tz=UTC]": "int64", "timestamp[us]": "int64"}
        here = here.cast(widths.get(str(here.type), here.type))
        assert (low is None) == (not len(here)), path
        for value in here.to_pylist():
            assert low <= value <= high, (path, value, low, high)


def _check_filters(table, definition, rows):
    results = _results(definition, rows)
    for one in table.scan().plan().slices.to_pylist():
        if one["log_files"] or not one["base_file"]:
            continue
        here = results.filter(pc.equal(rows.column("_hoodie_file_name"), one["base_file"])).drop_null()
        found = table.metadata.reader.bloom_filters(one["partition"], [one["base_file"]], definition.name).to_pylist()
        assert len(found) == (1 if len(here) else 0) or not len(here), one["base_file"]
        for line in found:
            bloom = BloomFilter.parse(line["filter"], line["type"], line["file_name"])
            for text in here.to_pylist():
                assert bloom.may_contain(key_hashes([text], bloom.hashes)).all()
