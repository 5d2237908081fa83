"""What Hudi's own path filter and combined splits answered, and what ours answer to the same questions."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from hudi_hive.errors import HudiHiveError, InvalidOptionError
from hudi_hive.input_format import BlockLocation, HoodieROTablePathFilter
from hudi_hive.input_format.combine import groups_of
from hudi_hive.input_format.combining import CombineSizes, blocks_of_file, combine_blocks
from tests.support.fixture_tables import unzip_fixture

DATA: Final = Path(__file__).parents[2] / "data/input_formats/answers.json.gz"


@cache
def answers() -> dict[str, Any]:
    """Recorded answers by kind of question."""
    return json.loads(gzip.decompress(DATA.read_bytes()))


def accepted_by_ours(name: str, instant: str, files: Sequence[str]) -> list[str] | None:
    """The files of a fixture that our path filter accepts; None if it refuses the time."""
    base = f"file:{unzip_fixture(name)}"
    try:
        left = HoodieROTablePathFilter(instant or None).accepted(f"{base}/{file}" for file in files)
    except HudiHiveError:
        return None
    return [path.removeprefix(f"{base}/") for path in left]


def files_of(name: str) -> list[str]:
    """All files of a fixture below its base path, those of the metadata folder's top too."""
    base = unzip_fixture(name)
    files = [str(path.relative_to(base)) for path in base.rglob("*") if path.is_file()]
    return sorted(file for file in files if not file.startswith(".hoodie/") or file.count("/") == 1)


def differs_for_a_reason(name: str, instant: str, ours: list[str] | None, theirs: list[str] | None) -> bool:
    """Whether an answer of Hudi's is one that ours is not to give."""
    return False


def _size(text: str) -> int:
    return 0 if text == "-" else int(text)


def combined_by_ours(case: Sequence[str]) -> list[str] | None:
    """Our combined splits as ``HudiInputFormats.java`` writes them; None if the sizes are refused."""
    most, node, rack = map(_size, case[:3])
    try:
        sizes = CombineSizes(most, node, rack)
    except InvalidOptionError:
        return None
    files = [one.split(" ") for one in case[3:]]
    blocks = []
    for number, (_, length, *parts) in enumerate(files):
        blocks += blocks_of_file(number, [_location(part) for part in parts], int(length), True, most)
    return [
        " ".join(f"{files[block.file][0]}:{block.offset}:{block.length}" for block in group.blocks)
        + "|"
        + ",".join(group.hosts)
        for group in combine_blocks(blocks, sizes)
    ]


def _location(text: str) -> BlockLocation:
    offset, length, hosts, racks = text.split(":")
    names = tuple(tuple(part.split(",")) if part else () for part in (hosts, racks))
    return BlockLocation(int(offset), int(length), *names)


def grouping_limit(case: Sequence[str]) -> int:
    """How many realtime splits go together; 0 where nothing says it, and Hudi's class loses all but the last."""
    text = case[0] if case[0] != "-" else case[1]
    return 0 if text == "-" else int(text)


def grouped_by_ours(case: Sequence[str]) -> list[str] | None:
    """Our groups of realtime splits, as numbers of splits."""
    return [" ".join(map(str, group)) for group in groups_of(range(len(case) - 2), grouping_limit(case))]
