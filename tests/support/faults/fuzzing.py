"""Damage files of real tables and ask for their rows: an error of ours or a sound answer, in bounded time and memory.

``TARGETS`` maps a name to a target; ``target.run(seed)`` damages one file as the seed says, asks, restores the file and
gives ``"error"``, ``"same"`` or ``"changed"``, and raises :class:`FuzzError` for anything that must not happen.
What an answer may be depends on the file. Bytes that hold values and have no checksum (Parquet pages, Avro records)
may read as other values, so only form is checked there; a torn log file must read as its whole blocks do; a damaged
metadata table must give an error or exactly the right rows.
"""

from __future__ import annotations

import random
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError
from hudi_hive.formats import parse_properties
from hudi_hive.formats.avro import decode_records, read_container
from hudi_hive.formats.hfile import HFileReader
from hudi_hive.formats.log import BlockType, HeaderKey, avro_spans, block_schema, iter_blocks
from hudi_hive.metadata import MetadataTable
from hudi_hive.table import MetaClient
from tests.support.fixture_tables import encode_rows, fixture_names, rows_sha256, unzip_fixture

SECONDS = 10.0
"""Longest time that one case may take."""

MEGABYTES = 250
"""How much more memory than before it one case may take at its peak."""


class FuzzError(AssertionError):
    """A case that ended as none may: which file, which damage, what came of it."""


# -- damage ----------------------------------------------------------------------------------------------------------

_EXTREMES = [
    b"\xff" * 4,
    b"\x7f\xff\xff\xff",
    b"\x80\0\0\0",
    b"\0" * 4,
    b"\x7f" + b"\xff" * 7,
    b"\xff" * 8,
    b"\xff" * 10,
]


def truncate(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data))]


def flip(rng: random.Random, data: bytes) -> bytes:
    damaged = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def overwrite(rng: random.Random, data: bytes) -> bytes:
    value = rng.choice([*_EXTREMES, rng.randbytes(rng.randint(1, 16))])
    at = rng.randrange(len(data))
    return (data[:at] + value + data[at + len(value) :])[: max(len(data), at + len(value))]


def cut(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + data[at + rng.randint(1, 64) :]


def insert(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + rng.randbytes(rng.randint(1, 64)) + data[at:]


def repeat(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    end = min(len(data), at + rng.randint(1, 256))
    return data[:end] + data[at:end] * rng.randint(1, 3) + data[end:]


DAMAGES: tuple[Callable[[random.Random, bytes], bytes], ...] = (truncate, flip, flip, overwrite, cut, insert, repeat)


def _resident(field: str) -> float:
    """``VmRSS`` or ``VmHWM`` (its peak) of this process in MB, 0 where the system does not tell."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{field}:")), 0)


def _forget_peak() -> None:
    """Let the peak count from now on."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


@contextmanager
def bounded(what: str) -> Iterator[None]:
    """Fail a case that takes longer than ``SECONDS`` or more than ``MEGABYTES``."""

    def late(signum: int, frame: object) -> None:
        raise FuzzError(f"{what}: still running after {SECONDS:g} s")

    before = signal.signal(signal.SIGALRM, late)
    _forget_peak()
    held = _resident("VmRSS")
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
        if (grown := _resident("VmHWM") - held) > MEGABYTES:
            raise FuzzError(f"{what}: {grown:.0f} MB more memory")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# -- whole tables ------------------------------------------------------------------------------------------------------


@dataclass
class TableTarget:
    """Files of one fixture table, and the questions that are asked of it.

    Args:
        name: fixture.
        patterns: which files may be damaged, globs below the base path.
        scans: keyword arguments of ``HudiTable.scan``, one of them asked in each case.
        exact: an answer must be the right one.
        torn: an answer to a truncated log file must be that of its whole blocks.
        quiet: damage may never show: the answer can be had without the damaged files.
    """

    name: str
    patterns: tuple[str, ...]
    scans: tuple[dict[str, Any], ...] = ({},)
    exact: bool = False
    torn: bool = False
    quiet: bool = False
    _answers: dict[Any, Any] = field(default_factory=dict)

    @cached_property
    def _folder(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(prefix="hudi_hive_fuzz_")

    @cached_property
    def path(self) -> Path:
        return unzip_fixture(self.name, self._folder.name)

    @cached_property
    def files(self) -> list[Path]:
        found = {file for pattern in self.patterns for file in self.path.glob(pattern)}
        files = sorted(file for file in found if file.is_file() and file.stat().st_size and file.suffix != ".crc")
        assert files, (self.name, self.patterns)
        return files

    def ask(self, number: int) -> Any:
        """Schema and rows of a question, or the error's class."""
        try:
            table = HudiTable.open(self.path).scan(**self.scans[number]).to_arrow()
        except HudiHiveError as error:
            assert str(error) and "\n" not in str(error)
            return type(error)
        table.validate(full=True)
        return table.schema, rows_sha256(encode_rows(table))

    def right(self, number: int) -> Any:
        if number not in self._answers:
            self._answers[number] = self.ask(number)
            assert isinstance(self._answers[number], tuple), (self.name, self._answers[number])
        return self._answers[number]

    def run(self, seed: int) -> str:
        rng = random.Random(f"{self.name} {self.patterns} {seed}")
        number = rng.randrange(len(self.scans))
        right = self.right(number)
        victim = rng.choice(self.files)
        damage = rng.choice(DAMAGES)
        whole = victim.read_bytes()
        damaged = damage(rng, whole)
        what = (
            f"{self.name}, seed {seed}: {damage.__name__} of {victim.relative_to(self.path)}, scan {self.scans[number]}"
        )
        try:
            victim.write_bytes(damaged)
            with bounded(what):
                answer = self._answer(number, what)
            if self.torn and damage is truncate and isinstance(answer, tuple):
                blocks = [block.offset for block in iter_blocks(damaged, "torn") if block.type is BlockType.CORRUPT]
                victim.write_bytes(damaged[: min(blocks, default=len(damaged))])
                if answer != self.ask(number):
                    raise FuzzError(f"{what}: the torn block changed the rows")
        finally:
            victim.write_bytes(whole)
        if not isinstance(answer, tuple):
            return "error"
        if answer == right:
            return "same"
        if self.exact:
            raise FuzzError(f"{what}: other rows and no error")
        return "changed"

    def _answer(self, number: int, what: str) -> Any:
        try:
            return self.ask(number)
        except FuzzError:
            raise
        except Exception as error:
            raise FuzzError(f"{what}: {type(error).__name__}: {error}") from error


@dataclass
class MetadataTarget(TableTarget):
    """As above, but the metadata table itself is asked: its partitions, files and column ranges."""

    def ask(self, number: int) -> Any:
        try:
            metadata = MetadataTable.open(MetaClient.load(self.path))
            if number == 0:
                return tuple(metadata.partitions()), metadata.files_table(["north", "lima", "oslo"]).to_pydict()
            if number == 1 or not metadata.has("column_stats"):
                return "files", metadata.files_table(None).sort_by("name").to_pydict()
            ranges = metadata.column_ranges(["_hoodie_record_key"])["_hoodie_record_key"]
            return "ranges", ranges.sort_by("file_name").to_pydict()
        except HudiHiveError as error:
            return type(error)


# -- single formats ------------------------------------------------------------------------------------------------


@dataclass
class BytesTarget:
    """Damaged bytes straight into one decoder; ``exact`` as above."""

    quiet: ClassVar[bool] = False

    name: str
    samples: Callable[[], list[bytes]]
    decode: Callable[[bytes], Any]
    exact: bool = False

    @cached_property
    def _samples(self) -> list[tuple[bytes, Any]]:
        found = [(data, self.decode(data)) for data in self.samples()]
        assert found, self.name
        return found

    def run(self, seed: int) -> str:
        rng = random.Random(f"{self.name} {seed}")
        number = rng.randrange(len(self._samples))
        data, right = self._samples[number]
        damage = rng.choice(DAMAGES)
        damaged = damage(rng, data)
        what = f"{self.name}, seed {seed}: {damage.__name__} of sample {number}"
        try:
            with bounded(what):
                answer = self.decode(damaged)
        except FuzzError:
            raise
        except HudiHiveError:
            return "error"
        except Exception as error:
            raise FuzzError(f"{what}: {type(error).__name__}: {error}") from error
        if answer == right:
            return "same"
        if self.exact:
            raise FuzzError(f"{what}: other content and no error")
        return "changed"


def _fixture_files(pattern: str, *names: str, at_most: int = 40) -> list[bytes]:
    files = [file for name in names for file in sorted(unzip_fixture(name).glob(pattern)) if file.is_file()]
    return [data for data in (file.read_bytes() for file in files[:at_most]) if data]


def _log_blocks(data: bytes) -> Any:
    found = []
    for block in iter_blocks(data, "fuzz.log"):
        content = None
        if block.type is BlockType.AVRO_DATA:
            spans = np.array(avro_spans(block), np.int64).reshape(-1, 2)
            schema = block_schema(block)
            assert isinstance(schema, dict)
            content = decode_records(block.content, spans[:, 0], spans[:, 1], schema)
            content.validate(full=True)
        found.append((block.type, block.headers.get(HeaderKey.INSTANT_TIME), content))
    return [item[:2] for item in found] + [0 if c is None else c.num_rows for _, _, c in found]


def _container(data: bytes) -> Any:
    return read_container(data, "fuzz.avro")


def _properties(data: bytes) -> Any:
    return parse_properties(data)


def _hfile(data: bytes) -> Any:
    reader = HFileReader(data, "fuzz.hfile")
    table = reader.scan()
    table.validate(full=True)
    found = reader.lookup(table["key"].cast("string").to_pylist()[::7])
    return table.num_rows, table.to_pydict(), found.to_pydict()


MOR = [name for name in fixture_names("mor") if "empty" not in name]


def _data_logs() -> list[bytes]:
    return _fixture_files("[!.]*/.*.log.*", *MOR) + _fixture_files(".*.log.*", *MOR)


TARGETS: dict[str, TableTarget | BytesTarget] = {
    "log blocks": BytesTarget("log blocks", _data_logs, _log_blocks),
    "hfile": BytesTarget(
        "hfile",
        lambda: _fixture_files(".hoodie/metadata/*/*.hfile", "v6_mor_part_rli", "v9_mor_part_rli"),
        _hfile,
        True,
    ),
    "avro container": BytesTarget(
        "avro container", lambda: _fixture_files(".hoodie/timeline/*_*.*commit", "v8_cow_part_mdt"), _container
    ),
    "properties": BytesTarget(
        "properties", lambda: _fixture_files(".hoodie/hoodie.properties", *fixture_names("cow")[::3]), _properties
    ),
}

_DATA_LOGS = ("*/.*.log.*", ".*.log.*")
_INCREMENTAL = {"query_type": "incremental", "begin": "earliest"}

for _name in ("v6_mor_event_time", "v8_mor_commit_time", "v9_mor_event_time", "v6_mor_rollback", "v8_mor_types"):
    TARGETS[f"log files of {_name}"] = TableTarget(_name, _DATA_LOGS, torn=True)
for _name in ("v6_cow_part_mdt", "v8_cow_part_mdt", "v9_cow_types", "v8_cow_orc"):
    TARGETS[f"base files of {_name}"] = TableTarget(_name, ("*/*.parquet", "*.parquet", "*/*.orc"))
for _name in ("v6_cow_part_mdt", "v8_cow_part_mdt", "v9_mor_part_rli"):
    TARGETS[f"instants of {_name}"] = TableTarget(
        _name, (".hoodie/*commit", ".hoodie/*clean", ".hoodie/timeline/*_*"), ({}, _INCREMENTAL)
    )
for _name in ("v6_cow_nonpart", "v9_mor_part_rli"):
    TARGETS[f"properties of {_name}"] = TableTarget(_name, (".hoodie/hoodie.properties",))
for _name in ("v6_cow_archived", "v9_cow_archived"):
    TARGETS[f"history of {_name}"] = TableTarget(
        _name, (".hoodie/archived/**/*", ".hoodie/timeline/history/**/*"), (_INCREMENTAL, {}), quiet=True
    )
_METADATA_FILES = (".hoodie/metadata/**/*.hfile", ".hoodie/metadata/**/.*.log.*")
for _name in ("v6_cow_part_mdt", "v9_mor_part_rli"):
    TARGETS[f"scans by the metadata table of {_name}"] = TableTarget(_name, _METADATA_FILES, exact=True, quiet=True)
for _name in ("v6_mor_part_rli", "v8_cow_part_mdt", "v9_mor_part_rli"):
    TARGETS[f"metadata table of {_name}"] = MetadataTarget(_name, _METADATA_FILES, ({}, {}, {}), exact=True)
