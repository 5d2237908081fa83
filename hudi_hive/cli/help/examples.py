"""Examples that ``--help`` of each command shows; ``docs/commands.md`` has them too, and tests run them."""

from __future__ import annotations

from typing import Final

import click

EXAMPLES: Final[dict[str, tuple[str, ...]]] = {
    "": ("hudi-hive show /lake/trips",),
    "demo": ("hudi-hive demo", "hudi-hive demo --directory /tmp/demo"),
    "completion": ("hudi-hive completion bash > ~/.hudi-hive-complete.bash", "hudi-hive completion zsh"),
    "show": ("hudi-hive show /lake/trips",),
    "timeline": ("hudi-hive timeline /lake/trips --archived", "hudi-hive timeline /lake/trips --html trips.html"),
    "schema": ("hudi-hive schema /lake/trips", "hudi-hive schema --history /lake/trips"),
    "schema show": ("hudi-hive schema show /lake/trips --as-of 2100-01-01",),
    "schema alter": ("hudi-hive schema alter /lake/trips add tip double --dry-run",),
    "schema alter add": ("hudi-hive schema alter /lake/trips add tip 'decimal(8,2)' --after fare",),
    "schema alter comment": ("hudi-hive schema alter /lake/trips comment seats 'seats taken'",),
    "schema alter drop": ("hudi-hive schema alter /lake/trips drop legacy",),
    "schema alter move": ("hudi-hive schema alter /lake/trips move rider --after fare",),
    "schema alter nullable": ("hudi-hive schema alter /lake/visits nullable pages",),
    "schema alter rename": ("hudi-hive schema alter /lake/trips rename rider passenger",),
    "schema alter replace": (
        "hudi-hive schema alter /lake/visits replace 'id string, pages bigint, ts bigint, referrer string' --dry-run",
    ),
    "schema alter type": ("hudi-hive schema alter /lake/trips type seats bigint --check-data",),
    "ui": ("hudi-hive ui /lake", "hudi-hive ui --metastore-uris thrift://localhost:9083"),
    "files": ("hudi-hive files /lake/trips --partition sf",),
    "stats": ("hudi-hive stats /lake/trips", "hudi-hive stats /lake/trips --commits 5"),
    "metadata": ("hudi-hive metadata stats /lake/drivers",),
    "metadata create": ("hudi-hive metadata create /lake/trips",),
    "metadata delete": ("hudi-hive metadata delete /lake/drivers --partition column_stats",),
    "metadata init": ("hudi-hive metadata init /lake/drivers --partition record_index",),
    "metadata list-files": ("hudi-hive metadata list-files /lake/trips --partition sf",),
    "metadata list-partitions": ("hudi-hive metadata list-partitions /lake/trips",),
    "metadata set": ("hudi-hive metadata set /lake/drivers --off",),
    "metadata stats": ("hudi-hive metadata stats /lake/drivers",),
    "metadata validate": ("hudi-hive metadata validate /lake/drivers",),
    "table": ("hudi-hive table create /lake/rides --name rides --record-key id",),
    "table archive": ("hudi-hive table archive /lake/drivers --conf hoodie.keep.min.commits=20",),
    "table clean": ("hudi-hive table clean /lake/drivers --conf hoodie.clean.commits.retained=3",),
    "table cluster": (
        "hudi-hive table cluster /lake/drivers --sort-columns city",
        "hudi-hive table cluster /lake/drivers --sort-columns city,id --layout z-order",
        "hudi-hive table cluster /lake/drivers --conf hoodie.clustering.plan.partition.filter.mode=RECENT_DAYS",
    ),
    "table compact": ("hudi-hive table compact /lake/events --schedule",),
    "table log-compact": ("hudi-hive table log-compact /lake/events --conf hoodie.log.compaction.blocks.threshold=3",),
    "table create": (
        "hudi-hive table create /lake/rides --name rides --record-key id --partition city --ordering ts",
        "hudi-hive table create /lake/clicks --name clicks --record-key id --type mor",
    ),
    "table rescale": (
        "hudi-hive table rescale /lake/buckets --overwrite '2024-11,64;2024,16' --buckets 8 --dry-run",
        "hudi-hive table rescale /lake/buckets --add 2025-11,64",
    ),
    "table restore": ("hudi-hive table restore /lake/drivers --savepoint 20260101000000000 --yes",),
    "table rollback": ("hudi-hive table rollback /lake/drivers --failed",),
    "table upgrade": ("hudi-hive table upgrade /lake/drivers --to 9",),
    "table downgrade": ("hudi-hive table downgrade /lake/drivers --to 6",),
    "table service": (
        "hudi-hive table service /lake/events --compact --clean --archive",
        "hudi-hive table service /lake/events --compact --conf hoodie.compact.inline.max.delta.commits=3 --watch",
    ),
    "table savepoint": ("hudi-hive table savepoint /lake/drivers --comments 'before the backfill'",),
    "read": (
        "hudi-hive read /lake/trips --where \"city = 'sf' AND fare > 10\" --columns id,fare",
        "hudi-hive read /lake/trips --begin 20260101000000000 --format json",
    ),
    "pull": ("hudi-hive pull /lake/trips --checkpoint trips.checkpoint -o pulled --all",),
    "plan": ("hudi-hive plan /lake/trips --where \"city = 'sf'\"",),
    "sql": (
        'hudi-hive sql "SELECT city, sum(fare) FROM trips GROUP BY city" --table trips=/lake/trips',
        'hudi-hive sql "SELECT count(*) FROM lake.trips" --metastore-uris thrift://localhost:9083',
    ),
    "input-format": ("hudi-hive input-format /lake/trips /lake/raw --conf hoodie.trips.consume.mode=SNAPSHOT",),
    "sync": (
        "hudi-hive sync --base-path /lake/trips --database lake --metastore-uris thrift://localhost:9083 --dry-run",
        "hudi-hive sync --base-path /lake/trips --database lake --metastore-uris thrift://localhost:9083",
    ),
    "metastore": ("hudi-hive metastore status",),
    "metastore start": ("hudi-hive metastore start --port 9083",),
    "metastore status": ("hudi-hive metastore status",),
    "metastore stop": ("hudi-hive metastore stop",),
    "thriftserver": ("hudi-hive thriftserver start --metastore-uris thrift://localhost:9083 --port 10000",),
    "thriftserver start": ("hudi-hive thriftserver start --metastore-uris thrift://localhost:9083 --port 10000",),
    "spark": ("hudi-hive spark connect-server --port 15002",),
    "spark connect-server": ("hudi-hive spark connect-server --metastore-uris thrift://localhost:9083 --port 15002",),
    "spark jar": ("hudi-hive spark jar -o hudi-hive.jar",),
    "spark package": ("hudi-hive spark package -o hudi-hive.zip",),
}
"""By the words of a command behind ``hudi-hive``: lines to type, the most common use first."""


def add_examples(command: click.Command, words: str) -> None:
    """Show its examples at the end of the help of a command, and of those below it. Idempotent.

    Args:
        command: the command or group.
        words: what stands behind ``hudi-hive`` to call it; empty for ``hudi-hive`` itself.
    """
    if isinstance(command, click.Group):
        for name, one in getattr(command, "commands", {}).items():
            add_examples(one, f"{words} {name}".strip())
    if words in EXAMPLES:
        lines = "\n".join(f"  {line}" for line in EXAMPLES[words])
        command.epilog = f"\b\nExample{'s' * (len(EXAMPLES[words]) > 1)}:\n{lines}"
