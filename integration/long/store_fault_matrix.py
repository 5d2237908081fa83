"""Every write operation on tables on S3 behind a proxy that breaks requests, held to the write matrix's model.

    python -m integration.long.store_fault_matrix [--rate 0.05] [--version 9] [--operation upsert]

The cells are those of ``integration.long.write_matrix``, whose other side is ours too; ``write_matrix --store s3
--faults 0.05`` has real Hudi on that side. Rows are read with the metadata table on and off behind every step, and
nothing may be pending or left over at the end.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from hudi_hive.table import MetaClient
from integration.long.store_faults import IMPATIENT, breaking_store
from integration.long.write_matrix import OPERATIONS, VERSIONS, Cell, Model, Ours
from integration.long.write_matrix_kinds import TYPES
from tests.support.faults.write_faults import files_without_commit


def run(cell: Cell, path: str, options: dict[str, str]) -> str:
    """Write and read a cell; what is wrong, empty if nothing is."""
    model, ours = Model(cell.table), Ours(path, cell, options)
    ours.create()
    for operation in ("bulk_insert", cell.operation, "upsert", "upsert"):
        ours.write(operation, model.do(operation))
        for metadata in (False, True):
            if ours.read(metadata) != model.expected():
                return f"{operation}: other rows, metadata {'on' if metadata else 'off'}"
    client = MetaClient.load(path, options)
    left = [str(instant) for instant in client.timeline.pending()] + files_without_commit(client)
    for folder in (".hoodie/.heartbeat", ".hoodie/.temp", ".hoodie/.aux"):
        left += client.storage.list(folder, recursive=True, missing_ok=True)["path"].to_pylist()
    return f"left over: {left}" if left else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cells that the arguments choose; print a line each, and the faults."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=0.05, help="part of the requests that is broken")
    parser.add_argument("--version", type=int, action="append", choices=VERSIONS)
    parser.add_argument("--type", action="append", choices=TYPES)
    parser.add_argument("--operation", action="append", choices=OPERATIONS)
    chosen = parser.parse_args(arguments)
    cells = [
        Cell(operation, table_type, version, "ours")
        for version in chosen.version or VERSIONS
        for table_type in chosen.type or TYPES
        for operation in chosen.operation or OPERATIONS
    ]
    wrong: list[str] = []
    with breaking_store(chosen.rate, "matrix", lambda: len(wrong)) as (server, proxy):
        options = {**server.options(proxy.port), **IMPATIENT}
        for cell in cells:
            begin = time.perf_counter()
            try:
                outcome = run(cell, f"{server.folder()}/{cell}", options)
            except Exception as error:  # all cells are looked at
                outcome = f"{type(error).__name__}: {error}"
            wrong += [outcome] if outcome else []
            print(f"{cell} {time.perf_counter() - begin:.1f} s {outcome or 'ok'}", flush=True)
    print(f"{len(cells) - len(wrong)} of {len(cells)} cells passed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
