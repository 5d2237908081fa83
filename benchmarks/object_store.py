"""Planning and reading a table of many small files on S3: ours beside the Rust package, requests and seconds.

    python benchmarks/object_store.py [--partitions 200] [--files 5] [--delays 0 30] [--repeat 3] [--check]

The server is moto on loopback behind a proxy that counts requests and delays each by some milliseconds. Every run is a
process of its own that opens the table, plans it by the metadata table and reads all rows; of several the fastest
counts. The Rust package lists folders, whatever it is told of the metadata table. The server answers a request in some
milliseconds of processor time, one after the other: without a delay both wait for it. With ``--check`` the process
fails when, at the longest delay, we are not 3 times as fast at planning or not 5 times as fast at reading.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.stores import ROWS, Recording, S3Server, StoreProxy, write_wide_table

_STEPS = ("open", "plan", "read")
_GOALS = {"plan": 3.0, "read": 5.0}


def run_client(client: str, uri: str, options: dict[str, str]) -> None:
    """In a child process: a step for each line of the standard input, and a line of its seconds and result for each."""
    if client == "ours":
        from hudi_hive import HudiTable

        def steps() -> Any:
            table = HudiTable.open(uri, storage_options=options)
            yield 0
            scan = table.scan()
            yield scan.plan().slices.num_rows
            yield sum(batch.num_rows for batch in scan.to_batches())
    else:
        import hudi

        names = {"endpoint": "endpoint", "access_key": "access_key_id", "secret_key": "secret_access_key"}
        aws = {f"aws_{names.get(name, name)}": value for name, value in options.items()}
        aws |= {"aws_allow_http": "true", "aws_virtual_hosted_style_request": "false"}

        def steps() -> Any:
            table = hudi.HudiTable(uri, {**aws, "hoodie.metadata.enable": "true"})
            yield 0
            yield len(table.get_file_slices())
            yield sum(batch.num_rows for batch in table.read())

    running = steps()
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        result = next(running)
        print(json.dumps([time.perf_counter() - start, result]), flush=True)


def measure(
    client: str, uri: str, options: dict[str, str], proxy: StoreProxy
) -> dict[str, tuple[float, Recording, int]]:
    """Seconds, requests and result of each step of one run."""
    command = [sys.executable, __file__, "--client", client, "--uri", uri, "--options", json.dumps(options)]
    steps = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        for step in _STEPS:
            with proxy.recording() as recording:
                process.stdin.write("go\n")
                process.stdin.flush()
                seconds, result = json.loads(process.stdout.readline())
            steps[step] = seconds, recording, result
        process.stdin.close()
    return steps


def main() -> None:
    """Make the table, run both, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=200)
    parser.add_argument("--files", type=int, default=5, help="files of each partition")
    parser.add_argument("--delays", type=int, nargs="*", default=[0, 30], help="milliseconds a request")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--check", action="store_true")
    for hidden in ("--client", "--uri", "--options"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.client:
        run_client(arguments.client, arguments.uri, json.loads(arguments.options))
        return
    with tempfile.TemporaryDirectory() as folder, S3Server() as s3, StoreProxy(s3.port) as proxy:
        print(f"{arguments.partitions} partitions of {arguments.files} files of {ROWS} rows")
        write_wide_table(Path(folder) / "t", arguments.partitions, arguments.files)
        uri = s3.folder()
        s3.upload(Path(folder) / "t", uri)
        ratios: dict[str, float] = {}
        for delay in arguments.delays:
            proxy.delay_s = delay / 1000
            best: dict[str, dict[str, tuple[float, Recording, int]]] = {}
            for client in ("ours", "rust"):
                runs = [measure(client, uri, s3.options(proxy.port), proxy) for _ in range(arguments.repeat)]
                best[client] = {step: min((run[step] for run in runs), key=lambda item: item[0]) for step in _STEPS}
            ratios = {step: best["rust"][step][0] / best["ours"][step][0] for step in _STEPS}
            print(f"\n{delay} ms a request{'requests':>16}{'in flight':>11}{'seconds':>9}{'ratio':>7}")
            for step in _STEPS:
                for client in ("ours", "rust"):
                    seconds, recording, result = best[client][step]
                    ratio = f"{ratios[step]:7.1f}" if client == "rust" else " " * 7
                    counts = f"{len(recording):16}{recording.in_flight:11}{seconds:9.2f}"
                    print(f"{step:6}{client:8}{counts}{ratio}   {result or ''} {dict(recording.kinds)}")
        if arguments.check and any(ratios[step] < goal for step, goal in _GOALS.items()):
            sys.exit(f"below the goals: {ratios}")


if __name__ == "__main__":
    main()
