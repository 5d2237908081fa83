"""Hudi's own path filter and combined splits beside ours: the path filter on fixtures, the grouping on made-up files.

``--record`` writes what the releases answer, for the tests that run without Java.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from hudi_hive.metastore import find_java
from tests.input_format.shared.input_format_answers import (
    DATA,
    accepted_by_ours,
    combined_by_ours,
    differs_for_a_reason,
    files_of,
    grouped_by_ours,
    grouping_limit,
)
from tests.support.fixture_tables import expected, fixture_names, unzip_fixture
from tools.real_hudi import class_path

RELEASES: Final = ("0.15.0", "1.0.2", "1.1.1")
_MAIN: Final = Path(__file__).parents[1] / "support/HudiInputFormats.java"


class HudiInputFormats:
    """A Java process with a release of Hudi; a context manager. It needs a JDK."""

    def __init__(self, release: str) -> None:
        self._release = release

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="hudi_input_formats_")
        path = f"{self._folder.name}:{class_path(release=self._release)}"
        java = find_java().executable
        compiler = [str(java.with_name("javac")), "-nowarn", "-cp", path, "-d", self._folder.name, str(_MAIN)]
        subprocess.run(compiler, check=True, stderr=subprocess.DEVNULL)
        opens = [
            part
            for name in ("lang", "util", "net", "nio")
            for part in ("--add-opens", f"java.base/java.{name}=ALL-UNNAMED")
        ]
        self._errors = (Path(self._folder.name) / "errors.log").open("w")
        self._process = subprocess.Popen(
            [
                str(java),
                "-Xmx512m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                *opens,
                "-cp",
                path,
                "HudiInputFormats",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()
        self._errors.close()
        self._folder.cleanup()

    def ask(self, *request: object) -> list[str] | None:
        """The lines of an answer; None if Hudi refuses."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write("\t".join(map(str, request)) + "\n")
        self._process.stdin.flush()
        kind, _, rest = self._process.stdout.readline().rstrip("\n").partition(" ")
        if kind == "rows":
            return [self._process.stdout.readline().rstrip("\n") for _ in range(int(rest))]
        if kind == "error":
            if "IOException" not in rest and "Exception" in rest:
                print(f"{request[0]}: {rest}"[:300])
            return None
        raise RuntimeError(Path(self._errors.name).read_text()[-3000:])


def path_cases() -> Iterator[tuple[str, str]]:
    """Fixtures and times of them: now, each commit, and a moment before the first one."""
    for name in fixture_names():
        times = [commit["requested"] for commit in expected(name)["commits"] if commit["state"] == "COMPLETED"]
        yield name, ""
        for time in times[:: max(1, len(times) // 3)]:
            yield name, time


def combine_case(source: random.Random) -> list[Any]:
    """Sizes and files with their blocks."""
    nodes = [f"node{number}.example" for number in range(source.choice((1, 2, 3, 5, 20)))]
    racks = {node: f"/rack{source.randrange(1 + len(nodes) // 2)}" for node in nodes}
    with_racks = source.random() < 0.6
    most = source.choice((0, 64, 100, 256, 1000))
    node = source.choice((0, 10, 50, most // 2))
    sizes = ["-" if size == 0 else str(size) for size in (most, node, source.choice((0, node, most)))]
    files = []
    for number in range(source.randint(1, 12)):
        length = source.choice((0, 1, 40, 64, 100, 130, 250, 999, 2000))
        blocks, offset = [], 0
        while offset < length:
            size = min(source.choice((64, 128, 500)), length - offset)
            hosts = source.sample(nodes, min(len(nodes), source.choice((0, 1, 1, 2, 3))))
            rack = [racks[host] for host in hosts] if with_racks else []
            blocks.append(f"{offset}:{size}:{','.join(hosts)}:{','.join(rack)}")
            offset += size
        files.append(" ".join([f"f{number}", str(length), *blocks]))
    return [*sizes, *files]


def realtime_case(source: random.Random) -> list[str]:
    """Greatest and least size, and the lengths of splits."""
    sizes = [source.choice(("-", "0", "1", "3", "100")) for _ in range(2)]
    return [*sizes, *(str(source.choice((0, 10, 99, 100, 101, 400))) for _ in range(source.randint(1, 15)))]


def main(arguments: Sequence[str] | None = None) -> int:
    """The number of answers that differ without a reason."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the data of the tests")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=120, help="groupings that are tried")
    parser.add_argument("--release", action="append", choices=RELEASES)
    parser.add_argument(
        "--groups", action="store_true", help="combined splits alone, recorded beside the paths' answers"
    )
    chosen = parser.parse_args(arguments)
    answers: dict[str, Any] = {"accept": [], "combine": [], "realtime": []}
    for release in chosen.release or RELEASES:
        source = random.Random(chosen.seed)
        with HudiInputFormats(release) as hudi:
            for name, instant in () if chosen.groups else path_cases():
                if int(name[1]) > {"0": 6, "1": 9}[release[0]] or (release == "1.0.2" and name.startswith("v9")):
                    continue
                base = f"file:{unzip_fixture(name)}"
                answer = hudi.ask("accept", instant, *(f"{base}/{file}" for file in files_of(name)))
                left = None if answer is None else [path.removeprefix(f"{base}/") for path in answer]
                answers["accept"].append([release, name, instant, left])
            if release == RELEASES[0] or chosen.release:
                for _ in range(chosen.cases):
                    case = combine_case(source)
                    answers["combine"].append([case, hudi.ask("combine", *case)])
                    lengths = realtime_case(source)
                    answers["realtime"].append([lengths, hudi.ask("realtime", *lengths)])
    if chosen.record and chosen.groups:
        answers["accept"] = json.loads(gzip.decompress(DATA.read_bytes()))["accept"]
    if chosen.record:
        DATA.parent.mkdir(parents=True, exist_ok=True)
        DATA.write_bytes(gzip.compress(json.dumps(answers).encode(), mtime=0))
    return _compared(answers)


def _compared(answers: dict[str, Any]) -> int:
    wrong = 0
    for release, name, instant, theirs in answers["accept"]:
        ours = accepted_by_ours(name, instant, files_of(name))
        if ours != theirs and not differs_for_a_reason(name, instant, ours, theirs):
            wrong += 1
            print(f"{release} {name} {instant}: ours {ours}, theirs {theirs}"[:600])
    for case, theirs in answers["combine"]:
        wrong += _differs(case, combined_by_ours(case), theirs)
    for case, theirs in answers["realtime"]:
        if grouping_limit(case) > 0:  # else Hudi's class loses all splits but the last
            wrong += _differs(case, grouped_by_ours(case), theirs)
    print({kind: len(cases) for kind, cases in answers.items()}, f"{wrong} differ")
    return wrong


def _differs(case: list[str], ours: list[str] | None, theirs: list[str] | None) -> bool:
    if ours != theirs:
        print(f"{case}: ours {ours}, theirs {theirs}"[:900])
    return ours != theirs


if __name__ == "__main__":
    sys.exit(main())
