"""Merge-on-read in Spark SQL: a snapshot, merged in Arrow tasks, against real Hudi and against the read-optimised scan.

``python benchmarks/spark_merge.py [--rows 1600000] [--groups 8] [--updates 0.1] [--cores 2] [--rounds 5]
[--hudi 1.0.2,1.1.1]``: every slice of the table has a log file. The read-optimised scan does not merge: what it takes
less is the price of merging. With ``--cores 1,2`` each number of cores has its own processes. Real Hudi is fetched on
first use (``tools/real_hudi.py``); ``--hudi ''`` leaves it out. How times are told: ``spark_contest.py``.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from hudi_tables import write_table
from spark_contest import Contender, Sessions, contest

STATEMENTS = {
    "sum of one column": "SELECT sum(fare) FROM {t}",
    "count": "SELECT count(*) FROM {t}",
    "two columns by a third": "SELECT city, sum(fare), max(stops) FROM {t} GROUP BY city",
    "one partition": "SELECT city, sum(fare) FROM {t} WHERE city_group = 'g01' GROUP BY city",
    "filter on data": "SELECT id, fare, note FROM {t} WHERE stops = 3 AND fare > 1099",
    "one key": "SELECT note FROM {t} WHERE id = 'k000123456'",
    "all columns": "SELECT sum(hash(id, ts, city, fare, stops, note, day, flag, city_group)) FROM {t}",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_600_000)
    parser.add_argument("--groups", type=int, default=8)
    parser.add_argument("--updates", type=float, default=0.1)
    parser.add_argument("--cores", default="2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--hudi", default="1.0.2,1.1.1")
    parser.add_argument("--only", default="", help="statements whose name holds this")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "bench"
        print(write_table(base, rows=options.rows, groups=options.groups, updates=options.updates), flush=True)
        kind = "hoodie.datasource.query.type"
        contenders = [Contender("hudi_hive", "ours", "hudi_hive", (str(base),))]
        releases = [release for release in options.hudi.split(",") if release]
        contenders += [Contender(f"Hudi {release}", release, "hudi", (str(base),)) for release in releases]
        plain = Contender(
            "read optimised", "ours", "hudi_hive", (str(base),), ((kind, "read_optimized"),), same_rows=False
        )
        for cores in options.cores.split(","):
            with Sessions(int(cores)) as sessions:
                for name, statement in STATEMENTS.items():
                    if options.only not in name:
                        continue
                    told = contest(sessions, [*contenders, plain], statement, options.rounds)
                    print(f"{cores} cores, {name}: {told}", flush=True)


if __name__ == "__main__":
    main()
