"""Copy-on-write tables in Spark SQL: against Spark's own Parquet reader on the same files, and against real Hudi.

``python benchmarks/spark_scan.py [--rows 4000000] [--groups 16] [--cores 2] [--rounds 7] [--hudi 1.0.2,1.1.1]``: real
Hudi is fetched on first use (``tools/real_hudi.py``); ``--hudi ''`` leaves it out. Times: ``spark_contest.py``.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
from hudi_tables import data_files, write_table
from spark_contest import Contender, Sessions, contest

STATEMENTS = {
    "all columns": "SELECT sum(hash(*)) FROM {t}",
    "one column": "SELECT sum(fare) FROM {t}",
    "three columns": "SELECT city, sum(fare), max(stops) FROM {t} GROUP BY city",
    "count": "SELECT count(*) FROM {t}",
    "one partition": "SELECT city, sum(fare) FROM {t} WHERE city_group = 'g01' GROUP BY city",
    "filter on data": "SELECT sum(fare) FROM {t} WHERE stops = 3 AND day < DATE '2024-12-01'",
    "one key": "SELECT note FROM {t} WHERE id = 'k000123456'",
}
_DDL = {"int64": "bigint", "int32": "int", "date32[day]": "date", "bool": "boolean"}


def schema_of(path: Path) -> str:
    return ", ".join(f"{field.name} {_DDL.get(str(field.type), field.type)}" for field in pq.read_schema(path))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--groups", type=int, default=16)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--hudi", default="1.0.2,1.1.1")
    parser.add_argument("--only", default="", help="statements whose name holds this")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Sessions(options.cores) as sessions:
        base = Path(folder) / "bench"
        print(write_table(base, rows=options.rows, groups=options.groups), flush=True)
        files = list(data_files(base))
        paths = tuple(str(path) for path in files)
        contenders = [
            Contender("hudi_hive", "ours", "hudi_hive", (str(base),)),
            Contender("spark.read.parquet", "ours", "parquet", paths, schema=schema_of(files[0])),
        ]
        releases = [release for release in options.hudi.split(",") if release]
        contenders += [Contender(f"Hudi {release}", release, "hudi", (str(base),)) for release in releases]
        for name, statement in STATEMENTS.items():
            if options.only not in name:
                continue
            print(f"{name}: {contest(sessions, contenders, statement, options.rounds)}", flush=True)


if __name__ == "__main__":
    main()
