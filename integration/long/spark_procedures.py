"""Procedures that show, over tables that real Hudi wrote: real Hudi's answers, and ours.

    python -m integration.long.spark_procedures [--release 1.1.1] [--table v9_mor_rollback]

Each table of ``tests/data/fixtures`` is registered in real Hudi and in our session, and each call is made in both; rows
are compared with the names of their columns, in any order. Releases show what they show: of another release than 1.0.2
only what this one shows as well is compared (``ELSEWHERE`` has the reasons).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from integration.long.spark_writes import our_session
from integration.support.hudi_peer import RELEASES, HudiPeer, HudiPeerError
from tests.support.fixture_tables import fixture_names, unzip_fixture

Answer = list[str] | str
"""Rows as texts, or ``fails``."""

LAST = "99999999999999999"

ELSEWHERE: dict[str, str] = {}
"""Procedures whose answers differ from a release's for a reason."""


def calls(path: Path, commits: list[str], rollbacks: list[str]) -> Iterator[str]:
    """Calls for a table, with ``{t}`` for its name and ``{path}`` for its base path.

    Args:
        path: its base path.
        commits: requested times of its writes, newest first.
        rollbacks: those of its rollbacks.
    """
    files = sorted(str(file.relative_to(path)) for file in path.rglob("*.parquet") if ".hoodie" not in file.parts)
    logs = [file for file in path.rglob(".*.log.*") if ".hoodie" not in file.parts and file.suffix != ".crc"]
    part = str(Path(files[0]).parent) if files and "/" in files[0] else ""
    for time_ in dict.fromkeys([*commits[:1], *commits[-1:], "20200101000000000"]):
        for what in ("files", "partitions", "write_stats", "extra_metadata"):
            yield f"show_commit_{what}(table => '{{t}}', instant_time => '{time_}')"
    span = f"start_ts => '0', end_ts => '{LAST}', limit => 100"
    for name, arguments in (
        ("show_commits", "limit => 100"),
        ("show_commits", "limit => 2"),
        ("show_commits_metadata", "limit => 50"),
        ("show_archived_commits", span),
        ("show_archived_commits_metadata", span),
        ("show_savepoints", ""),
        ("show_rollbacks", ""),
        ("show_compaction", ""),
        ("show_clustering", "show_involved_partition => true"),
        ("show_fsview_all", "limit => 100"),
        ("show_fsview_latest", "limit => 100"),
        ("show_fsview_latest", "limit => 100, merge => false"),
        ("show_fsview_all", "include_in_flight => true, limit => 100"),
        ("show_file_status", f"partition => '{part}', file => 'none.parquet'" if part else "file => 'none.parquet'"),
        ("stats_file_sizes", f"partition_path => '{'*' if part.count('/') == 0 and part else ''}', limit => 100"),
        ("stats_wa", "limit => 100"),
        ("show_table_properties", "limit => 100"),
        ("show_metadata_table_partitions", ""),
        ("show_metadata_table_files", f"partition => '{part}'"),
        ("show_metadata_table_column_stats", "targetColumns => 'id'"),
        ("validate_metadata_table_files", "verbose => true"),
        ("show_metadata_table_stats", ""),
        ("commits_compare", "path => '{path}'"),
    ):
        yield f"{name}(table => '{{t}}'{', ' if arguments else ''}{arguments})"
    for moment in commits[1:2]:
        yield f"show_fsview_all(table => '{{t}}', max_instant => '{moment}', limit => 100)"
        yield f"show_fsview_latest(table => '{{t}}', max_instant => '{moment}', include_max => true, limit => 100)"
    for moment in rollbacks[:1]:
        yield f"show_rollback_detail(table => '{{t}}', instant_time => '{moment}')"
    if files:
        name = Path(files[0]).name
        yield f"show_file_status(table => '{{t}}'{f', partition => {part!r}' if part else ''}, file => '{name}')"
    if logs:
        place = f"log_file_path_pattern => '{{path}}/{logs[0].relative_to(path)}'"
        yield f"show_logfile_metadata(table => '{{t}}', {place})"
        yield f"show_logfile_records(table => '{{t}}', {place})"
    yield "show_invalid_parquet(path => '{path}')"


def texts(rows: list[dict[str, Any]]) -> list[str]:
    """Rows in an order of their own."""
    return sorted(json.dumps(row, default=str, sort_keys=True) for row in rows)


def theirs(peer: HudiPeer, call: str) -> Answer:
    try:
        return texts(peer.sql(f"call {call}"))
    except HudiPeerError as error:
        return f"fails: {error}"


def ours(spark: Any, call: str) -> Answer:
    try:
        return texts([row.asDict(recursive=True) for row in spark.sql(f"CALL {call}").collect()])
    except Exception as error:
        return f"fails: {error}"


def same(one: Answer, other: Answer) -> bool:
    """Whether two answers are the same; two failures are."""
    return isinstance(one, str) and isinstance(other, str) if str in (type(one), type(other)) else one == other


def shown(one: Answer, other: Answer) -> str:
    """What only the first of two answers has."""
    if isinstance(one, str):
        return one[:500]
    return " | ".join(row for row in one if isinstance(other, str) or row not in other)[:900] or f"{len(one)} rows"


def compare(peer: HudiPeer, spark: Any, name: str, path: Path) -> tuple[int, int]:
    """Make all calls for one table in both.

    Returns:
        How many there were, and how many gave the same.
    """
    peer.sql(f"create table {name} using hudi location '{path}'")
    spark.sql(f"CREATE TABLE {name} USING hudi LOCATION '{path}'")
    commits = [row["commit_time"] for row in peer.sql(f"call show_commits(table => '{name}', limit => 100)")]
    rollbacks = [row["instant"] for row in peer.sql(f"call show_rollbacks(table => '{name}')")]
    total = equal = 0
    for text in calls(path, commits, rollbacks):
        call = text.replace("{t}", name).replace("{path}", str(path))
        other, own = theirs(peer, call), ours(spark, call)
        if peer.release != RELEASES[8] and call.split("(")[0] in ELSEWHERE:
            continue
        total, equal = total + 1, equal + same(own, other)
        if not same(own, other):
            print(f"{name}: {text}\n  ours   {shown(own, other)}\n  theirs {shown(other, own)}", flush=True)
    spark.sql(f"DROP TABLE {name}")
    return total, equal


def main() -> int:
    """Compare the chosen tables; print what differs, and the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", choices=tuple(RELEASES.values())[1:], default="1.1.1")
    parser.add_argument("--table", action="append", help="fixtures; all that the release reads without it")
    chosen = parser.parse_args()
    os.environ["TZ"] = "UTC"
    time.tzset()
    version = {release: number for number, release in RELEASES.items()}[chosen.release]
    names = chosen.table or [name for name in fixture_names() if int(name[1]) <= version]
    total = equal = 0
    with tempfile.TemporaryDirectory(prefix="procedures_") as place, HudiPeer(version) as peer:
        spark = our_session(Path(place) / "session")
        for name in names:
            path = unzip_fixture(name, Path(place))
            try:
                counted = compare(peer, spark, name, path)
            except HudiPeerError as error:
                print(f"{name}: {error}", flush=True)
                continue
            print(f"{name}: {counted[1]} of {counted[0]} calls gave the same", flush=True)
            total, equal = total + counted[0], equal + counted[1]
        spark.stop()
    print(f"{equal} of {total} calls gave the same")
    return 0 if equal == total else 1


if __name__ == "__main__":
    sys.exit(main())
