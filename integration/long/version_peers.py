"""Versions of tables changed by us and by real Hudi: the release of the later version reads and writes, and so do we.

    python -m integration.long.version_peers [--change 6-9] [--kind cow_cdc] [--by ours]

Each kind of table is changed twice, by us and by Hudi itself (procedures ``upgrade_table`` and ``downgrade_table``).
Behind each change both read the rows of before, with and without the metadata table; then Hudi updates, inserts and
deletes rows, we do, log files are compacted, and both read what a model has. A table that we refuse to change counts as
refused. Where Hudi fails on a table that we changed, what it does with the one that it changed itself shows
whether that is ours: such a table counts as Hudi's own failure if that fails at the same action.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive import HudiTable
from hudi_hive.errors import UnsupportedTableError
from hudi_hive.metadata import validate
from hudi_hive.schema import META_FIELDS
from hudi_hive.table import MetaClient
from integration.support.action_runs import chosen_tables, print_at_once, run_actions, same
from integration.support.hudi_peer import HudiPeer
from tests.support.fixture_tables import DATA, unzip_fixture

BY: Final = ("ours", "hudi")
CHANGES: Final = ("5-6", "5-8", "5-9", "6-5", "6-8", "6-9", "8-6", "8-9", "9-6", "9-8")
"""Versions of before and after."""
FIXTURES: Final = (
    *("cow_nonpart", "cow_part_mdt", "cow_archived", "cow_cdc", "cow_custom_keygen", "cow_schema_evo"),
    *("cow_virtual_keys", "cow_crash_leftover", "mor_event_time", "mor_commit_time", "mor_part_rli", "mor_rollback"),
    *("mor_log_compaction", "mor_crash_mdt", "mor_types", "mor_parquet_log_rollback"),
)
MADE: Final = ("savepoint", "pending_compaction", "indexes", "ours_cow", "ours_mor")
OLD: Final = ("hudi_0.13.1_cow", "hudi_0.13.1_mor")
"""Tables of version 5."""
KINDS: Final = (*FIXTURES, *MADE, *OLD)
_NAMES: Final = {5: "FIVE", 6: "SIX", 8: "EIGHT", 9: "NINE"}
_QUIET: Final = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
_COMPACTED: Final = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
_META: Final = frozenset(META_FIELDS)
_FIELDS: Final = "hoodie.datasource.write.partitionpath.field"
_KINDS_OF_FIELDS: Final = "region:simple,at:timestamp"
"""What a writer is told of the table with a custom key generator: version 6 keeps no kinds of partition fields."""
_COMPARED: Final = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer, pa.types.is_boolean)
_READERS: Final = tuple({"hoodie.metadata.enable": on} for on in ("false", "true"))

Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One table and one change of its version.

    Attributes:
        kind: the table, of :data:`KINDS`.
        before, after: versions.
        by: who changes it.
    """

    kind: str
    before: int
    after: int
    by: str

    @property
    def name(self) -> str:
        """Of the table's folder, and in Hudi's catalog."""
        return f"{self.kind}_{self.before}_{self.after}_{self.by}".replace(".", "_")

    @property
    def changer(self) -> int:
        """The version whose release of Hudi changes the table: the newer one, which knows both."""
        return max(self.before, self.after, 6)

    @property
    def reader(self) -> int:
        """The version whose release reads the table behind the change."""
        return max(self.after, 6)


def cases(changes: Sequence[str] = CHANGES, kinds: Sequence[str] = KINDS, by: Sequence[str] = BY) -> list[Case]:
    """Tables and changes, without those that there are none of."""
    made = []
    for change in changes:
        before, after = map(int, change.split("-"))
        for kind in kinds:
            if (before == 5) != (kind in OLD) or (kind == "indexes" and before == 6):
                continue
            made += [Case(kind, before, after, who) for who in by]
    return made


def make(case: Case, folder: Path) -> Path:
    """Put a case's table into a folder; gives its path."""
    path = folder / case.name
    if case.kind in OLD:
        with zipfile.ZipFile(DATA / "old_versions" / f"{case.kind}.zip") as file:
            file.extractall(path)
        (inside,) = path.iterdir()
        return inside
    if case.kind.startswith("ours_"):
        _make_ours(case, path)
        return path
    fixture = {"savepoint": "cow_nonpart", "pending_compaction": "mor_event_time", "indexes": "cow_part_mdt"}
    path = unzip_fixture(f"v{case.before}_{fixture.get(case.kind, case.kind)}", path)
    if case.kind == "savepoint":
        HudiTable.open(path).savepoint()
    if case.kind == "pending_compaction":
        HudiTable.open(path).compact({"hoodie.compact.inline.max.delta.commits": "1"}, schedule=True)
    if case.kind == "indexes":
        columns = _plain(HudiTable.open(path).schema())
        HudiTable.open(path).metadata.create_index("of_values", next(name for name in columns if name[0] != "_"))
    return path


def _make_ours(case: Case, path: Path) -> None:
    kind = "MERGE_ON_READ" if case.kind == "ours_mor" else "COPY_ON_WRITE"
    names = {"record_keys": ["id"], "partition_fields": ["part"], "ordering_fields": ["ts"]}
    table = HudiTable.create(path, name=case.name, version=case.before, table_type=kind, **names)
    for ts in range(1, 5):
        rows = [{"id": f"k{n}", "part": "ab"[n % 2], "ts": ts, "name": f"{n} of {ts}"} for n in range(ts, 12)]
        table.upsert(pa.Table.from_pylist(rows), {"hoodie.metadata.index.column.stats.enable": "true"})
    table.delete(pa.table({"id": ["k11"], "part": ["b"]}))
    table.clean({"hoodie.clean.commits.retained": "2"})


def _plain(schema: pa.Schema) -> list[str]:
    """Columns whose values JSON has as Arrow has them."""
    return [item.name for item in schema if any(fits(item.type) for fits in _COMPARED)]


@dataclass
class Life:
    """One table behind the change of its version.

    Attributes:
        case: the table.
        path: its base path.
        before: its rows of before, by us; their commit times among them where it has them.
        columns: those that are compared.
        rows: the model, without commit times.
        updates: how many there were.
    """

    case: Case
    path: Path
    before: list[Row]
    columns: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)
    updates: int = 0

    @classmethod
    def of(cls, case: Case, path: Path) -> Life:
        """A table ahead of the change."""
        table = HudiTable.open(path)
        skipped = {"_hoodie_commit_seqno", "_hoodie_file_name", *table.config.partition_fields}
        columns = tuple(name for name in _plain(table.scan().to_arrow().schema) if name not in skipped)
        life = cls(case, path, [], columns)
        life.before = life.of_ours()
        life.rows = life.without_times(life.before)
        return life

    @cached_property
    def key(self) -> str:
        """The first column of the record key."""
        return HudiTable.open(self.path).config.record_keys[0]

    @cached_property
    def changed(self) -> str:
        """The column that updates change."""
        config = HudiTable.open(self.path).config
        fixed = {*config.record_keys, *config.ordering_fields}
        free = [name for name in self.columns if name not in fixed and not name.startswith("_hoodie_")]
        schema = HudiTable.open(self.path).schema()
        texts = [name for name in free if pa.types.is_string(schema.field(name).type)]
        return (texts or free or list(config.ordering_fields))[0]

    def changed_value(self, who: str) -> Any:
        """The value that an update puts there: the same type, and no smaller ordering value."""
        item = HudiTable.open(self.path).schema().field(self.changed)
        self.updates += 1
        return f"by {who}" if pa.types.is_string(item.type) else 1_000_000 + self.updates

    @property
    def key_options(self) -> dict[str, str]:
        """Options of all who write the table."""
        return {_FIELDS: _KINDS_OF_FIELDS} if self.case.kind == "cow_custom_keygen" else {}

    def keys(self) -> list[Any]:
        """All keys there are, in order."""
        return sorted({row[self.key] for row in self.rows})

    # -- what is done ------------------------------------------------------------------------------------------------

    def change(self, peer: HudiPeer | None) -> None:
        """Change the version.

        Args:
            peer: who does it; None for us.
        """
        table = HudiTable.open(self.path)
        upward = self.case.after > self.case.before
        if peer is None:
            (table.upgrade if upward else table.downgrade)(self.case.after, self.key_options)
            return
        call = "upgrade_table" if upward else "downgrade_table"
        self._in_catalog(peer, f"call {call}(table => '{self.case.name}', to_version => '{_NAMES[self.case.after]}')")
        same("version", HudiTable.open(self.path).version, self.case.after)

    def actions(self, peer: HudiPeer) -> Iterator[tuple[str, Callable[[], object]]]:
        """Names of the actions behind the change and what does them, in their order."""
        yield "ours read", lambda: same("our rows", self.of_ours(), self.before)
        yield "hudi read", lambda: self.check_hudi(peer, self.before, self.columns, _READERS)
        yield "hudi update", lambda: self.put_hudi(peer, self.keys()[0])
        yield "ours update", lambda: self.put_ours(self.keys()[0])
        yield "hudi insert", lambda: self.add_hudi(peer, self.keys()[0])
        yield "ours update and compact", lambda: self.put_ours(self.keys()[-1], **_COMPACTED)
        yield "hudi delete", lambda: self.remove(peer, self.keys()[0])
        yield "ours delete", lambda: self.remove(None, self.keys()[-1])
        yield "hudi update again", lambda: self.put_hudi(peer, self.keys()[1])

    def check(self, peer: HudiPeer, name: str) -> str:
        """Both read what the model has, and our metadata table is that of the files."""
        if name.endswith(" read"):
            return ""
        same("our rows", self.without_times(self.of_ours()), self.rows)
        columns = tuple(name for name in self.columns if name != "_hoodie_commit_time")
        self.check_hudi(peer, self.rows, columns, _READERS if name.endswith(" again") else _READERS[1:])
        report = validate(MetaClient.load(self.path))
        same("our validation", str(report) if report.errors else "", "")
        return ""

    def put_hudi(self, peer: HudiPeer, key: Any) -> None:
        value = self.changed_value("hudi")
        self._in_catalog(peer, f"update {self.case.name} set {self.changed} = {value!r} where {self.key} = {key!r}")
        self._note(key, value)

    def put_ours(self, key: Any, **options: str) -> None:
        table, value = HudiTable.open(self.path), self.changed_value("ours")
        rows = self._ours_of(key)
        at = rows.schema.get_field_index(self.changed)
        values = pa.array([value] * len(rows), rows.schema.field(at).type)
        more = {**self.key_options, **(options if table.config.is_merge_on_read else {})}
        table.upsert(rows.set_column(at, rows.schema.field(at), values), {**_QUIET, **more})
        self._note(key, value)

    def add_hudi(self, peer: HudiPeer, like: Any) -> None:
        """Insert a row that is another one but for its key."""
        name, key = self.case.name, self._new_key(like)
        (shown, *_) = self._in_catalog(peer, f"select * from {name} where {self.key} = {like!r}")
        columns = [column for column in shown if column not in _META]
        chosen = ", ".join(f"{key!r} as {column}" if column == self.key else column for column in columns)
        several = len([row for row in self.rows if row[self.key] == like])
        self._in_catalog(peer, f"insert into {name} select {chosen} from {name} where {self.key} = {like!r}")
        more = [{**row, self.key: key} for row in self.rows if row[self.key] == like]
        for row in more:
            if "_hoodie_record_key" in row:
                row["_hoodie_record_key"] = row["_hoodie_record_key"].replace(str(like), str(key))
        self.rows = _sorted([*self.rows, *more])
        same("inserted rows", len(more), several)

    def remove(self, peer: HudiPeer | None, key: Any) -> None:
        if peer is None:
            HudiTable.open(self.path).delete(self._ours_of(key), {**_QUIET, **self.key_options})
        else:
            self._in_catalog(peer, f"delete from {self.case.name} where {self.key} = {key!r}")
        self.rows = [row for row in self.rows if row[self.key] != key]

    # -- what is seen ------------------------------------------------------------------------------------------------

    def of_ours(self) -> list[Row]:
        """Our rows, without nulls, as JSON leaves them out."""
        table = HudiTable.open(self.path).scan().to_arrow().select(self.columns)
        return _sorted({name: value for name, value in row.items() if value is not None} for row in table.to_pylist())

    def check_hudi(
        self, peer: HudiPeer, expected: Sequence[Row], columns: Sequence[str], readers: Sequence[Mapping[str, str]]
    ) -> None:
        """Hudi reads the rows, by some options.

        Raises:
            DifferenceError: it reads others.
        """
        for options in readers:
            same(f"rows of Hudi, {options}", _sorted(peer.read(self.path, columns, options)), list(expected))

    def without_times(self, rows: Sequence[Row]) -> list[Row]:
        """Rows without their commit times."""
        return _sorted({name: value for name, value in row.items() if name != "_hoodie_commit_time"} for row in rows)

    def _in_catalog(self, peer: HudiPeer, text: str) -> list[Row]:
        peer.sql(f"create table if not exists {self.case.name} using hudi location '{self.path}'")
        options = self.key_options if peer.version == 6 else {}
        for name, value in options.items():
            peer.sql(f"set {name}={value}")
        try:
            return peer.sql(text)
        finally:
            peer.sql(f"drop table {self.case.name}")
            for name in options:
                peer.sql(f"reset {name}")

    def _ours_of(self, key: Any) -> pa.Table:
        rows = HudiTable.open(self.path).scan().to_arrow()
        rows = rows.filter(pc.equal(rows[self.key], key))
        return rows.select([name for name in rows.column_names if name not in _META])

    def _note(self, key: Any, value: Any) -> None:
        self.rows = _sorted({**row, self.changed: value} if row[self.key] == key else row for row in self.rows)

    def _new_key(self, like: Any) -> Any:
        return f"{like}new" if isinstance(like, str) else 7_000_001


def _sorted(rows: Any) -> list[Row]:
    return sorted(rows, key=lambda row: sorted((name, str(value)) for name, value in row.items()))


@dataclass(frozen=True)
class Outcome:
    """What became of one case.

    Attributes:
        case: the table and its change.
        failed: the first action that failed; ``refused`` for a change that the changer says no to; empty for none.
        why: its error.
    """

    case: Case
    failed: str = ""
    why: str = ""


def change(case: Case, folder: Path, peer: HudiPeer | None) -> Life | Outcome:
    """Make a table and change its version."""
    life = Life.of(case, make(case, folder))
    try:
        life.change(peer)
    except UnsupportedTableError as error:
        return Outcome(case, "refused", str(error))
    except Exception as error:
        return Outcome(case, "change", f"{type(error).__name__}: {error}")
    return life


def go_on(life: Life, peer: HudiPeer, tell: Callable[[str], object] = print_at_once) -> Outcome:
    """What becomes of a table behind its change, which Hudi and we read and write by turns.

    Args:
        life: the table.
        peer: real Hudi of the version of after.
        tell: is told what became of each action.
    """
    for name, act in life.actions(peer):
        told: list[str] = []
        action = [(name, act)]
        _, passed = run_actions(life.case.name, action, lambda name: life.check(peer, name), told.append)
        if not passed:
            for line in told:
                tell(line)
            return Outcome(life.case, name, told[0])
    return Outcome(life.case)


def verdict(outcome: Outcome, twin: Outcome | None) -> str:
    """In a word: passed, refused, failed, or Hudi's own where the table that Hudi changed fails there, too."""
    if not outcome.failed:
        return "passed"
    if outcome.case.by == "hudi" and not outcome.failed.startswith("ours "):
        return "Hudi's own"  # of a change by Hudi nothing is ours but what we do behind it
    if outcome.failed == "refused":
        return "refused"
    if twin is not None and twin.failed == outcome.failed:
        return "Hudi's own"
    return "failed"


def run(chosen: Sequence[Case], folder: Path, tell: Callable[[str], object] = print_at_once) -> list[Outcome]:
    """Change all tables, and live on with them; one process of Hudi at a time."""
    lives: list[Life] = []
    outcomes: list[Outcome] = []

    def note(changed: Life | Outcome) -> None:
        if isinstance(changed, Life):
            lives.append(changed)
        else:
            outcomes.append(changed)
            tell(f"{changed.case.name}: {changed.failed}: {changed.why[:300]}")

    for case in chosen:
        if case.by == "ours":
            note(change(case, folder, None))
    for version in (9, 8, 6):
        if due := [case for case in chosen if case.by == "hudi" and case.changer == version]:
            with HudiPeer(version) as peer:
                for case in due:
                    note(change(case, folder, peer))
    for version in (6, 8, 9):
        if there := [life for life in lives if life.case.reader == version]:
            with HudiPeer(version) as peer:
                for life in there:
                    outcomes.append(go_on(life, peer, tell))
                    tell(f"{life.case.name}: {outcomes[-1].failed or 'passed'}")
    return outcomes


def report(outcomes: Sequence[Outcome], tell: Callable[[str], object] = print_at_once) -> int:
    """Tell the figures; how many failed."""
    by_case = {outcome.case: outcome for outcome in outcomes}
    counts: dict[tuple[str, str], dict[str, int]] = {}
    failed = 0
    for case, outcome in by_case.items():
        twin = by_case.get(Case(case.kind, case.before, case.after, "hudi"))
        word = verdict(outcome, twin)
        if word == "failed" or (case.by == "hudi" and outcome.failed.startswith("ours")):
            word = "failed"
            failed += 1
        group = counts.setdefault((f"{case.before}-{case.after}", case.by), {})
        group[word] = group.get(word, 0) + 1
        if word != "passed":
            tell(f"{case.name}: {word}, {outcome.failed}: {outcome.why[:200]}")
    for (change_of, by), words in counts.items():
        shown = ", ".join(f"{number} {word}" for word, number in words.items() if word != "passed")
        tell(f"{change_of} by {by}: {words.get('passed', 0)} of {sum(words.values())} passed{shown and f', {shown}'}")
    return failed


def main() -> int:
    """Run the chosen tables; print what failed, and the numbers."""
    with chosen_tables(__doc__, change=CHANGES, kind=KINDS, by=BY) as (chosen, folder):
        return 1 if report(run(cases(chosen.change, chosen.kind, chosen.by), folder)) else 0


if __name__ == "__main__":
    sys.exit(main())
