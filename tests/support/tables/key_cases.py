"""Rows and options for key generators, with what each release's own classes answer (``data/key_generators``).

``python -m tests.support.tables.key_cases CLASS_PATH RELEASE…`` asks the releases again;
``{release}`` in the path stands for each.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_hive.formats.avro import encode_binaries
from hudi_hive.schema import arrow_to_avro

ANSWERS = Path(__file__).parents[2] / "data" / "key_generators"
RELEASES = {6: "0.15.0", 8: "1.0.2", 9: "1.1.1"}
KEYS = "hoodie.datasource.write.recordkey.field"
PATHS = "hoodie.datasource.write.partitionpath.field"
HIVE = {"hoodie.datasource.write.hive_style_partitioning": "true"}
URL = {"hoodie.datasource.write.partitionpath.urlencode": "true"}
TIME = "hoodie.keygen.timebased."

TYPES = pa.table(
    {
        "id": pa.array(["k1", "k2", "k3", "", None, "k6"]),
        "num": pa.array([1, -2, 0, 2**31 - 1, None, 7], pa.int32()),
        "big": pa.array([1, -2, 2**62, 0, None, 7], pa.int64()),
        "flag": pa.array([True, False, True, None, False, True]),
        "f": pa.array([1.0, 0.1, 1e10, -0.0, None, 3.4e-5], pa.float32()),
        "d": pa.array([1.0, 0.1, 1e10, 5e-324, None, float("nan")], pa.float64()),
        "day": pa.array(
            [dt.date(2024, 1, 31), dt.date(1969, 12, 31), dt.date(1, 1, 1), None, None, dt.date(9999, 1, 1)]
        ),
        "ts": pa.array([1_704_067_200_123_456, -1, 0, 1_704_067_200_000_000, None, 86_399_999_999], pa.int64()).cast(
            pa.timestamp("us", "UTC")
        ),
        "dec": pa.array(
            [Decimal("1.50"), Decimal("-0.01"), Decimal("0.00"), Decimal("123456.78"), None, Decimal("9.99")],
            pa.decimal128(8, 2),
        ),
        "fine": pa.array(
            [Decimal("1E-9"), Decimal("0"), Decimal("1.5"), Decimal("-1E-7"), None, Decimal("0.000001")],
            pa.decimal128(20, 9),
        ),
        "text": pa.array(["a b", "x:y=z", "p/q", "100%", "ünï-名{}[]", "k=v#'\"*?\\^&,+"]),
        "st": pa.array(
            [
                {"x": 1, "y": "a"},
                {"x": None, "y": "b"},
                None,
                {"x": 4, "y": None},
                {"x": 5, "y": ""},
                {"x": 6, "y": "c"},
            ]
        ),
    },
    schema=None,
)
TIMES = pa.table(
    {
        "id": pa.array([f"k{i}" for i in range(8)]),
        "ms": pa.array(
            [0, 1_704_067_199_999, 1_704_067_200_000, -1, None, 1_711_846_800_000, 1_729_990_800_000, 951_782_400_000]
        ),
        "sec": pa.array([0, 1_704_067_199, 1_704_067_200, -1, None, 1_711_846_800, 1_729_990_800, 951_782_400]),
        "us": pa.array([0, 1_704_067_199_999_999, 1_704_067_200_000_000, -1, None, 1_711_846_800_000_000, 1, -1001]),
        "dbl": pa.array([0.0, 1.9, 1_704_067_200.7, -1.5, None, 1e9, 2e9, 5.0]),
        "days": pa.array([0, 1, 19_723, -1, None, 20_000, 11_016, 365], pa.int32()),
        "date": pa.array([dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(1969, 12, 31), None] * 2),
        "dec": pa.array([Decimal("1.99"), Decimal("-1.99"), None, Decimal("86400.00")] * 2, pa.decimal128(10, 2)),
        "text": pa.array(
            [
                "2024-01-05 10:11:12",
                "2024-1-5 1:2:3",
                "1999-12-31 23:59:59",
                "2024-03-31 01:30:00",
                None,
                "2024-10-27 00:30:00",
                "2000-02-29 12:00:00",
                "2024-07-01 00:00:00",
            ]
        ),
        "iso": pa.array(
            [
                "2024-01-05T10:11:12Z",
                "2024-01-05T10:11:12+0200",
                "2024-01-05T10:11:12.123Z",
                "2024-01-05T23:30:00-05:00",
                None,
                "1970-01-01T00:00:00.5+0000",
                "2024-01-05T10:11:12.9+01:00",
                "2024-12-31T23:59:59Z",
            ]
        ),
        "short": pa.array(["20240105", "19991231", "20000229", "19700101", None, "20241231", "20240301", "18991231"]),
        "words": pa.array(["5 Jan 24", "31 Dec 99", "29 Feb 00", "1 jan 70", None, "3 MAR 46", "4 Apr 45", "1 May 68"]),
    }
)
_MILLIS = {TIME + "timestamp.type": "EPOCHMILLISECONDS", TIME + "output.dateformat": "yyyy/MM/dd"}


def case(generator: str, keys: str, paths: str, table: pa.Table = TYPES, **more: dict[str, str]) -> dict[str, Any]:
    """One case: options are those of all keyword arguments."""
    options = {KEYS: keys, PATHS: paths}
    for part in more.values():
        options |= part
    return {"generator": generator, "options": options, "table": table}


def _timestamp(field: str, type_: str, output: str, **more: str) -> dict[str, Any]:
    options = {TIME + "timestamp.type": type_, TIME + "output.dateformat": output}
    return case(
        "TimestampBasedAvroKeyGenerator",
        "id",
        field,
        TIMES,
        o=options | {k.replace("__", "."): v for k, v in more.items()},
    )


def _cases() -> list[dict[str, Any]]:
    scalars = ("id", "num", "big", "flag", "f", "d", "day", "ts", "dec", "fine", "text", "st.x", "st.y")
    found = [case("SimpleAvroKeyGenerator", name, name, more=style) for name in scalars for style in ({}, HIVE | URL)]
    found += [case("NonpartitionedAvroKeyGenerator", keys, "") for keys in ("id", "num", "id,num", "st.y,text")]
    found += [case("GlobalAvroDeleteKeyGenerator", keys, "id") for keys in ("id", "id,num")]
    for keys in ("id", "id,num", "num,st.y,dec", "st.x,st.y"):
        found += [
            case("ComplexAvroKeyGenerator", keys, paths, more=s)
            for paths in ("num", "num,text,day")
            for s in ({}, HIVE, URL)
        ]
    found += _timestamp_cases()
    custom = {
        TIME + "timestamp.type": "EPOCHMILLISECONDS",
        TIME + "output.dateformat": "yyyy/MM",
        TIME + "timezone": "UTC",
    }
    for paths in ("ms:TIMESTAMP", "id:SIMPLE,ms:TIMESTAMP", "days:simple"):
        found += [case("CustomAvroKeyGenerator", "id", paths, TIMES, o=custom | s) for s in ({}, HIVE, URL)]
    return [*found, case("CustomAvroKeyGenerator", "id,ms", "id:SIMPLE", TIMES)]


def _timestamp_cases() -> list[dict[str, Any]]:
    consistent = {"hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled": "true"}
    found = [case("SimpleAvroKeyGenerator", "ts", "ts", more=consistent)]
    found += [case("ComplexAvroKeyGenerator", "id,ts", "day,ts", more=consistent | HIVE)]
    zone = {TIME + "timezone": "Europe/Berlin"}
    utc = {TIME + "timezone": "UTC"}
    for output in ("yyyy/MM/dd", "yyyy-MM-dd HH:mm:ss.SSS Z", "'h='HH", "EEE d MMM yy, h a", "D''w''", "xxxx-'W'ww-e"):
        found += [
            _timestamp("ms", "EPOCHMILLISECONDS", output, **(z | s)) for z in (utc, zone) for s in ({}, HIVE | URL)
        ]
    found += [
        _timestamp("sec", "UNIX_TIMESTAMP", "yyyyMMddHHmmss", **utc),
        _timestamp("us", "EPOCHMICROSECONDS", "yyyyMMddHHmmssSSS", **utc),
    ]
    found += [
        _timestamp("dbl", "UNIX_TIMESTAMP", "yyyyMMddHHmmss", **utc),
        _timestamp("dec", "UNIX_TIMESTAMP", "yyyyMMddHHmmss", **utc),
    ]
    days = {TIME + "timestamp.scalar.time.unit": "days"}
    found += [
        _timestamp("days", "SCALAR", "yyyy-MM-dd", **(utc | days)),
        _timestamp("date", "SCALAR", "yyyy-MM-dd", **(utc | days)),
    ]
    separate = {TIME + "input.timezone": "America/New_York", TIME + "output.timezone": "Asia/Kolkata"}
    for zones in (
        utc,
        zone,
        separate,
        {TIME + "output.timezone": "GMT+05:30"},
        {TIME + "input.timezone": "Asia/Tokyo"},
    ):
        texts = {TIME + "input.dateformat": "yyyy-MM-dd HH:mm:ss"}
        found.append(_timestamp("text", "DATE_STRING", "yyyyMMddHH Z", **(zones | texts)))
        iso = {TIME + "input.dateformat": "yyyy-MM-dd'T'HH:mm:ssZ,yyyy-MM-dd'T'HH:mm:ss.SSSZ"}
        found.append(_timestamp("iso", "DATE_STRING", "yyyyMMddHHmm ZZ", **(zones | iso)))
    short = {TIME + "input.dateformat": "yyyyMMdd"}
    return [*found, _timestamp("short", "MIXED", "yyyy/MM", **(utc | short))]


CASES = _cases()


def ask(class_path: str) -> list[list[dict[str, str]]]:
    """Answers of a release's own classes to all cases, a row each."""
    asked = []
    for item in CASES:
        schema = arrow_to_avro(item["table"].schema, "t_record", "hoodie.t")
        rows = [base64.b64encode(record).decode() for record in encode_binaries(item["table"], schema).to_pylist()]
        asked.append(
            {"generator": item["generator"], "options": item["options"], "schema": json.dumps(schema), "rows": rows}
        )
    command = ["java", "-Xmx512m", "-Duser.timezone=UTC", "-cp", class_path, str(ANSWERS / "KeyGenerators.java")]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    for release in sys.argv[2:]:
        answers = ask(sys.argv[1].format(release=release))
        text = "[\n" + ",\n".join(json.dumps(item, ensure_ascii=False) for item in answers) + "\n]\n"
        (ANSWERS / f"{release}.json").write_text(text, encoding="utf-8")
