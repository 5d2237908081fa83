"""First, no-op and ten-partition syncs of a wide table: our HiveSyncTool against Hudi's own, on one real metastore.

    python benchmarks/sync.py [--partitions 10000] [--repeat 5] [--kinds cow,mor] [--without-real] [--no-process]
    python benchmarks/sync.py --database postgres [--connections 1,4]

Both tools sync the same table into databases of their own, in turns: in a warm process (the real tool's Java has done
dozens of syncs before) and as whole processes. All calls go through a loopback proxy that counts them on the wire,
``set_ugi`` too. Times are the least of the runs, so that what else the machine does counts as little as may be; nearly
all of a first sync is the metastore's own work. A commit of ten partitions, five of them new, comes before each
"10 changed". In the end what both tools left in the metastore is compared. Exit status 1: the end states differ, or a
no-op sync costs us more than 3 calls (copy-on-write) or 5 (merge-on-read, three names), or calls alter_table.

The metastore is the embedded one, or with ``--database`` Hive's release 3.1.3 on a database server of Debian's
packages, started here with its own settings (the real tool's client cannot read tables of metastore 4).
``--connections`` measures our tool once with each of these numbers of connections.

The real tool is Hudi 1.0.2 on PySpark 3.5's jars; see ``tools/real_hudi.py``.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from counting_proxy import CountingProxy
from wide_tables import WideTable

from hudi_hive.metastore import EmbeddedMetastore, HiveMetastore
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from tools.real_hudi import RealSync, class_path

OURS, REAL = "ours", "real"
WARM, PROCESS = "warm", "process"
FIRST, NO_OP = "first", "no-op"
KINDS = {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}
LIMITS = {"cow": 3, "mor": 5}
RELEASE = "3.1.3"
CONNECTIONS = "hudi_hive.sync.connections"
NEW, AGAIN = 5, 5
# Different with every run, or a note of the server's.
_CHANGING = {"transient_lastDdlTime", "numFiles", "totalSize", "createTime", "lastAccessTime", "owner"}

Run = Callable[[dict[str, str]], float]


def options(table: Path, database: str, uri: str) -> dict[str, str]:
    prefix = "hoodie.datasource.hive_sync."
    return {
        "hoodie.datasource.meta.sync.base.path": str(table),
        prefix + "mode": "hms",
        prefix + "metastore.uris": uri,
        prefix + "database": database,
        prefix + "table": "t",
        prefix + "partition_fields": "city_group",
        prefix + "partition_extractor_class": "org.apache.hudi.hive.SinglePartPartitionValueExtractor",
    }


def ours_warm(options: dict[str, str]) -> float:
    begin = time.perf_counter()
    HiveSyncTool(HiveSyncConfig.from_options(options)).sync()
    return time.perf_counter() - begin


def ours_process(options: dict[str, str]) -> float:
    prefix = "hoodie.datasource.hive_sync."
    named = {"--base-path": "hoodie.datasource.meta.sync.base.path", "--database": prefix + "database"}
    named |= {"--table": prefix + "table", "--metastore-uris": prefix + "metastore.uris"}
    command = [str(Path(sys.executable).parent / "hudi-hive"), "sync"]
    command += [text for name, key in named.items() for text in (name, options[key])]
    if CONNECTIONS in options:
        command += ["--conf", f"{CONNECTIONS}={options[CONNECTIONS]}"]
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


class Bench:
    """The runners, the proxy that counts, and what was measured."""

    def __init__(self, proxy: CountingProxy, runners: dict[tuple[str, str], Run], repeat: int) -> None:
        self.proxy, self.runners, self.repeat = proxy, runners, repeat
        self.failures: list[str] = []

    def sync(self, name: str, table: WideTable, tool: str, form: str) -> tuple[float, dict[str, int]]:
        self.proxy.take()
        seconds = self.runners[tool, form](options(table.path, name, self.proxy.uri))
        return seconds, self.proxy.take()

    def measure(self, what: str, table: WideTable, rounds: int, before: Callable[[], None] | None = None) -> None:
        """Runs of all tools and forms in turns, who was first being last the next time; prints a line for each."""
        found: dict[tuple[str, str], list[tuple[float, dict[str, int]]]] = {key: [] for key in self.runners}
        for number in range(rounds):
            if before is not None:
                before()
            for tool, form in list(self.runners)[:: -1 if number % 2 else 1]:
                name = database(table, tool, form) + (f"_{number}" if what == FIRST and number else "")
                found[tool, form].append(self.sync(name, table, tool, form))
        for (tool, form), runs in found.items():
            seconds = min(run[0] for run in runs)
            counts = runs[-1][1]
            ratio = ""
            if tool != REAL and (REAL, form) in found:
                other = min(run[0] for run in found[REAL, form])
                ratio = f"  real / ours {other / seconds:6.1f}"
                if other < seconds:
                    ratio += "  BEHIND"
            calls = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
            print(
                f"{table.path.name:4} {what:12} {form:8} {tool:6} {seconds:8.3f} s  {sum(counts.values()):4} calls"
                f"{ratio}\n{'':32} {calls}",
                flush=True,
            )
            if what == NO_OP and tool != REAL:
                self._check_no_op(table, runs)

    def _check_no_op(self, table: WideTable, runs: list[tuple[float, dict[str, int]]]) -> None:
        kind, most = table.path.name, max(sum(counts.values()) for _, counts in runs)
        if most > LIMITS[kind]:
            self.failures.append(f"{kind}: a no-op sync makes {most} calls, {LIMITS[kind]} are enough")
        if any(name.startswith("alter_table") for _, counts in runs for name in counts):
            self.failures.append(f"{kind}: a no-op sync alters the table")


def database(table: WideTable, tool: str, form: str) -> str:
    return f"{table.path.name}_{form}_{tool}"


def state(metastore: HiveMetastore, name: str) -> dict[str, Any]:
    """What a database holds, without what no two runs share."""
    found: dict[str, Any] = {}
    for table_name in sorted(metastore.tables(name)):
        table = metastore.table(name, table_name)
        found[table_name] = flat(table, f"{name}.")
        for partition in metastore.partitions(name, table_name):
            found[f"{table_name} {partition.values}"] = flat(partition, f"{name}.")
    return found


def flat(item: Any, prefix: str) -> dict[str, Any]:
    """A Thrift object as path -> value."""
    lines: dict[str, Any] = {}

    def walk(at: str, value: Any) -> None:
        if hasattr(value, "thrift_spec"):
            value = {name: getattr(value, name) for name in value.__slots__}
        if isinstance(value, dict):
            for key, inner in value.items():
                if key not in _CHANGING and key != "dbName":
                    walk(f"{at}.{key}" if at else str(key), inner)
        elif isinstance(value, list):
            for number, inner in enumerate(value):
                walk(f"{at}[{number}]", inner)
        elif value is not None:
            lines[at] = value

    walk("", item)
    return lines


def differences(metastore: HiveMetastore, left: str, right: str) -> dict[str, tuple[int, str]]:
    """Kinds of differences between two databases: how many objects, and an example."""
    one, other = state(metastore, left), state(metastore, right)
    found: dict[str, tuple[int, str]] = {}
    for name in sorted(one.keys() | other.keys()):
        mine, theirs = one.get(name, {"object": "missing"}), other.get(name, {"object": "missing"})
        for key in sorted(mine.keys() | theirs.keys()):
            if mine.get(key) != theirs.get(key):
                count, example = found.get(key, (0, f"{name}: {mine.get(key)!r}, the real tool {theirs.get(key)!r}"))
                found[key] = (count + 1, example)
    return found


@contextlib.contextmanager
def runners(arguments: argparse.Namespace) -> Iterator[dict[tuple[str, str], Run]]:
    found = our_runners(arguments)
    if arguments.without_real:
        yield found
        return
    try:
        classes = class_path(arguments.real_home)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"the real tool cannot be fetched ({error}): give --real-home with its jars, or --without-real")
    with RealSync(classes) as real:
        found[REAL, WARM] = real.warm
        if not arguments.no_process:
            found[REAL, PROCESS] = real.whole
        yield found


def our_runners(arguments: argparse.Namespace) -> dict[tuple[str, str], Run]:
    """Our tool in each form, once with each number of connections."""
    forms = {WARM: ours_warm} | ({} if arguments.no_process else {PROCESS: ours_process})
    found: dict[tuple[str, str], Run] = {}
    for form, run in forms.items():
        for number in arguments.connections.split(",") if arguments.connections else ():
            found[f"{OURS}{number}", form] = partial(with_option, run, CONNECTIONS, number)
        if not arguments.connections:
            found[OURS, form] = run
    return found


def with_option(run: Run, name: str, value: str, options: dict[str, str]) -> float:
    return run({**options, name: value})


@contextlib.contextmanager
def metastore(arguments: argparse.Namespace, folder: Path) -> Iterator[int]:
    """The port of a metastore."""
    if arguments.database == "derby":
        with EmbeddedMetastore(folder, heap="1g") as embedded:
            yield embedded.port or 0
        return
    # A process of its own: what runs it belongs to the integration tests.
    command = [sys.executable, "-m", "integration.support.metastore_process", arguments.database, RELEASE, str(folder)]
    root = Path(__file__).resolve().parents[1]
    with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            port = process.stdout.readline()
            if not port:
                sys.exit(f"no metastore on {arguments.database}")
            yield int(port)
        finally:
            process.stdin.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=5, help="runs of no-op and changed syncs")
    parser.add_argument("--first-repeat", type=int, default=2, help="runs of first syncs, each into a fresh database")
    parser.add_argument("--kinds", default="cow,mor")
    parser.add_argument("--database", choices=["derby", "postgres", "mariadb"], default="derby")
    parser.add_argument("--connections", help="numbers of connections of ours, each measured; else the default")
    parser.add_argument("--without-metadata-table", action="store_true")
    parser.add_argument("--without-real", action="store_true", help="only ours")
    parser.add_argument("--no-process", action="store_true", help="only warm processes")
    parser.add_argument("--real-home", type=Path, help="where the real tool's jars are, or are fetched to")
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench_sync_")))
        port = stack.enter_context(metastore(arguments, folder / "metastore"))
        proxy = stack.enter_context(CountingProxy(port))
        bench = Bench(proxy, stack.enter_context(runners(arguments)), arguments.repeat)
        metadata = not arguments.without_metadata_table
        for kind in arguments.kinds.split(","):
            warm_up(bench, WideTable(folder / "warm" / kind, 100, kind=KINDS[kind], metadata=metadata))
            table = WideTable(folder / kind, arguments.partitions, kind=KINDS[kind], metadata=metadata)
            print(f"{kind}: {arguments.partitions:,} partitions", flush=True)
            bench.measure(FIRST, table, arguments.first_repeat)
            if arguments.repeat:
                bench.measure(NO_OP, table, arguments.repeat)
                bench.measure("10 changed", table, arguments.repeat, lambda made=table: made.append(NEW, AGAIN))
            if not arguments.without_real:
                compare(bench, f"thrift://127.0.0.1:{port}", table)
    for line in bench.failures:
        print(line, file=sys.stderr)
    return int(bool(bench.failures))


def warm_up(bench: Bench, table: WideTable) -> None:
    """Many small syncs, so that no warm process compiles anything for the first time when it is measured."""
    for number in range(20):
        for tool, form in bench.runners:
            if form == WARM:
                name = f"warm{number % 4}_{table.path.name}_{tool}"
                bench.runners[tool, form](options(table.path, name, bench.proxy.uri))
        table.append(1, 1)


def compare(bench: Bench, uri: str, table: WideTable) -> None:
    for tool, form in bench.runners:
        if tool != REAL and form == WARM:
            compare_with_real(bench, uri, table, tool)


def compare_with_real(bench: Bench, uri: str, table: WideTable, tool: str) -> None:
    with HiveMetastore(uri) as client:
        ours, real = database(table, tool, WARM), database(table, REAL, WARM)
        found = differences(client, ours, real)
        count = sum(client.partition_names(ours, name) != [] for name in client.tables(ours))
    print(
        f"{table.path.name}: end states of {tool} and real compared, {count} tables with partitions; "
        f"kinds of differences: {len(found)}"
    )
    for key, (number, example) in found.items():
        line = f"{table.path.name}: {key} differs in {number:,} objects, in {example}"
        print(line)
        bench.failures.append(line)


if __name__ == "__main__":
    sys.exit(main())
