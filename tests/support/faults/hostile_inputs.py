"""Inputs of at most 64 kB that ask decoders for far more than their own size: memory, time, depth.

``CASES`` maps a name to a function that decodes one such input. ``python -m tests.support.faults.hostile_inputs``, with
words of the names or none, prints for each what came of it, its CPU seconds and how far the peak of resident memory
rose, each in a process of its own.
"""

from __future__ import annotations

import json
import os
import resource
import sys

from hudi_hive.errors import HudiHiveError
from tests.support.faults import hostile_avro, hostile_files, hostile_texts

MEGABYTES = 256
"""Most memory that decoding one may take beyond what the process had."""

CASES = {**hostile_avro.CASES, **hostile_texts.CASES, **hostile_files.CASES}


def run(name: str) -> tuple[str, float, float]:
    """What one case comes to: result or error, CPU seconds, megabytes more than before at the peak."""
    decode = CASES[name]
    usage = resource.getrusage(resource.RUSAGE_SELF)
    memory, cpu = usage.ru_maxrss, usage.ru_utime + usage.ru_stime
    try:
        outcome = f"gives {decode()!r}"[:60]
    except HudiHiveError as error:
        outcome = f"{type(error).__name__}: {error}"[:110]
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return outcome, usage.ru_utime + usage.ru_stime - cpu, (usage.ru_maxrss - memory) / 1024


def main() -> None:
    as_json = "--json" in sys.argv
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    for name in [name for name in CASES if not words or any(word in name for word in words)]:
        sys.stdout.flush()
        if os.fork() == 0:
            # Far more than any case needs: only there so that a broken bound ends the case and not the machine.
            resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
            resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
            try:
                outcome, seconds, megabytes = run(name)
            except BaseException as error:
                outcome, seconds, megabytes = f"!!! {type(error).__name__}: {error}"[:200], 0.0, 0.0
            line = f"{seconds:6.2f} s {megabytes:6.0f} MB  {name}: {outcome}"
            print(json.dumps([name, outcome, megabytes]) if as_json else line, flush=True)
            os._exit(0)
        if status := os.wait()[1]:
            outcome = f"!!! ended with {status}"
            print(json.dumps([name, outcome, 0.0]) if as_json else f"{name}: {outcome}", flush=True)


if __name__ == "__main__":
    main()
