"""Run the programs that try for long what the tests only sample, one after the other: a part of ``make test-long``.

Each is a module with a main function of its own, and has its own options for a part of what it does.
"""

from __future__ import annotations

import subprocess
import sys
import time

RUNS = (
    "tests.support.faults.write_sweep",
    "tests.support.faults.write_sweep --failures",
    "tests.support.faults.table_concurrency --runs 200",
    "tests.support.faults.write_soak",
    "tests.support.faults.damage_sweep",
    "tests.support.faults.table_damage --cases 60",
    "tests.support.faults.hostile_inputs",
    "tests.support.faults.fuzz_long --seconds 600",
    "tests.support.mutation.hudi_bank",
    "integration.long.write_matrix",
    "integration.long.write_matrix --store s3 --operation upsert",
    "integration.long.write_matrix --store s3 --faults 0.05 --operation upsert --operation delete --version 9",
    "integration.long.store_faults table",
    "integration.long.store_fault_matrix",
    "integration.long.write_kills",
    "integration.long.write_matrix --store hdfs --version 9 --operation upsert",
    "integration.long.store_concurrency",
    "integration.long.hive_filters",
    "integration.long.hudi_input_formats",
    "integration.long.store_fixtures",
    "integration.long.store_fixtures --store hdfs",
    "integration.long.store_matrix",
    "integration.long.store_matrix --store hdfs",
    "integration.long.spark_hdfs",
    "integration.long.spark_store_matrix",
    "integration.long.spark_store_credentials",
    "integration.long.metadata_actions",
    "integration.long.metadata_validation",
    "integration.long.partitioned_index",
    "integration.long.consistent_buckets",
    "integration.long.log_compaction",
    "integration.long.base_file_formats",
    "integration.long.version_peers",
    "integration.long.lock_writers",
    "integration.long.lock_writers --store s3",
    "integration.long.schema_histories",
    "integration.long.schema_faces",
    "integration.long.hive_reads",
    "integration.long.mutation_oracle",
    "integration.long.mutation_hudi",
    "integration.long.bank_runs",
    "integration.long.databases --suites",
    "integration.long.session_cycles",
    "integration.long.spark_releases",
    "integration.long.spark_suites",
    "integration.long.spark_statements",
    "integration.long.spark_writes",
    "integration.long.stream_kills",
    "integration.long.statement_kills",
    "integration.long.spark_continued",
    "integration.long.spark_procedures",
    "integration.long.spark_procedures --release 1.0.2",
    "integration.long.spark_entries",
    "integration.long.spark_mutations",
    "integration.long.thrift_load --minutes 15",
)
"""Modules and their arguments."""


def main() -> int:
    """Run all and print how each ended; the number of those that failed."""
    failed = 0
    for run in RUNS:
        print(f"== python -m {run}", flush=True)
        begin = time.monotonic()
        code = subprocess.run([sys.executable, "-m", *run.split()], check=False).returncode
        failed += code != 0
        minutes = (time.monotonic() - begin) / 60
        print(f"== {'ended well' if code == 0 else f'failed ({code})'} after {minutes:.0f} min", flush=True)
    print(f"{len(RUNS) - failed} of {len(RUNS)} ended well")
    return failed


if __name__ == "__main__":
    sys.exit(main())
