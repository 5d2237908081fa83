"""What tests of file system view share with others."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pyarrow as pa

from hudi_hive.table.view.file_system_view import SLICE_SCHEMA

Group = tuple[str, str]


@dataclass
class Instants:
    """A timeline of a few instants: requested time -> completion time, None while pending."""

    times: dict[str, str | None]
    layout: int = 2
    replaced: list[tuple[str, str, str]] = field(default_factory=list)
    compactions: list[tuple[str, str, str]] = field(default_factory=list)
    written: list[tuple[str, str]] = field(default_factory=list)
    archived: dict[str, str] = field(default_factory=dict)
    """Completed instants older than the active timeline, with their completion times as far as they are known."""

    def committed(self, instant: str) -> bool:
        return self.times.get(instant) is not None or (bool(self.times) and instant < min(self.times))

    def completion(self, instant: str) -> str | None:
        return self.times.get(instant) or self.archived.get(instant)

    def committed_mask(self, instants):
        return pa.array([self.committed(instant) for instant in instants.to_pylist()], pa.bool_())

    def completion_times(self, instants):
        return pa.array([self.completion(instant) for instant in instants.to_pylist()], pa.string())

    def replaced_file_groups(self):
        return _table(self.replaced, "partition", "file_id", "instant")

    def written_names(self, times):
        return [name for time, name in self.written if time in times]

    def pending_compactions(self):
        return _table(self.compactions, "partition", "file_id", "compaction_instant")


def _table(rows, *names):
    return pa.table({name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(names)})


def names(table, column="name"):
    return table[column].to_pylist()


def slices(table):
    assert table.schema == SLICE_SCHEMA
    table.validate(full=True)
    return [
        (f"{r['partition']}/{r['file_id']}", r["base_instant"], r["base_file"], r["log_files"])
        for r in table.to_pylist()
    ]


_BASE = re.compile(r"^([^_.]+)_([\d-]+)_(\d+)\.(?:parquet|hfile)$")


_LOG = re.compile(r"^\.([^_.]+)_(\d+)\.log\.(\d+)(?:_([\d-]+))?$")


class NaiveView:
    """The rules of docs/format.md#file-groups-and-file-slices one by one, with dicts and loops."""

    def __init__(self, files: pa.Table, timeline: Instants) -> None:
        self.timeline = timeline
        self.groups: dict[Group, dict[str, tuple[str | None, list[str]]]] = {}
        bases: dict[Group, dict[str, str]] = {}
        logs: dict[Group, list[str]] = {}
        for row in files.to_pylist():
            if match := _BASE.match(row["name"]):
                if timeline.committed(match[3]):
                    instants = bases.setdefault((row["partition"], match[1]), {})
                    instants[match[3]] = max(instants.get(match[3], ""), row["name"])
                else:
                    bases.setdefault((row["partition"], match[1]), {})
            elif match := _LOG.match(row["name"]):
                logs.setdefault((row["partition"], match[1]), []).append(row["name"])
        for group in sorted(bases.keys() | logs.keys()):
            self.groups[group] = self._slices(group, bases.get(group, {}), logs.get(group, []))

    @staticmethod
    def log_order(name):
        match = _LOG.match(name)
        return match[2], int(match[3]), match[4] or ""

    def _slices(self, group, bases, logs):
        slices: dict[str, tuple[str | None, list[str]]] = {i: (name, []) for i, name in bases.items()}
        planned = {instant for *named, instant in self.timeline.compactions if tuple(named) == group}
        for instant in planned:
            slices.setdefault(instant, (None, []))
        for log in sorted(logs, key=self.log_order):
            instant = _LOG.match(log)[2]
            if self.timeline.layout == 1:
                slices.setdefault(instant, (None, []))[1].append(log)
            elif self.timeline.committed(instant):
                completed = self.timeline.completion(instant) or instant
                for key in sorted(slices, reverse=True):
                    if key <= (completed if len(completed) == len(key) else instant):
                        slices[key][1].append(log)
                        break
                else:
                    slices[instant] = (None, [log])
        pending = {instant for *_, instant in self.timeline.compactions}
        return {i: s for i, s in sorted(slices.items()) if self.timeline.committed(i) or i in pending}

    def _alive(self, group, as_of):
        return not any((p, f) == group and (as_of is None or i <= as_of) for p, f, i in self.timeline.replaced)

    def _cut(self, logs, as_of):
        if as_of is None or self.timeline.layout == 1:
            return logs
        return [log for log in logs if _LOG.match(log)[2] <= as_of]

    def latest(self, as_of, merged):
        result = []
        for group, slices in self.groups.items():
            keys = [key for key in slices if as_of is None or key <= as_of]
            if not keys or not self._alive(group, as_of):
                continue
            key = keys[-1]
            base, logs = slices[key]
            if merged and (*group, key) in self.timeline.compactions and len(keys) > 1:
                key = keys[-2]
                base, logs = slices[key][0], sorted(slices[key][1] + logs, key=self.log_order)
            logs = self._cut(logs, as_of)
            if not merged or base or logs:
                result.append(("/".join(group), key, base, logs))
        return result

    def all(self, include_replaced):
        return [
            ("/".join(group), key, base, logs)
            for group, slices in self.groups.items()
            if include_replaced or self._alive(group, None)
            for key, (base, logs) in slices.items()
        ]

    def bases(self, as_of, accepted=None):
        result = []
        for group, slices in self.groups.items():
            found = [
                (key, base)
                for key, (base, _) in slices.items()
                if base and (as_of is None or key <= as_of) and (accepted is None or key in accepted)
            ]
            if found and self._alive(group, as_of):
                result.append(("/".join(group), *found[-1]))
        return result
