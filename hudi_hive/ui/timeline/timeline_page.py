"""Renders the timeline as one HTML page with inline SVG and CSS, without scripts, every text escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources

from hudi_hive.timeline import Instant, instant_to_millis
from hudi_hive.ui.timeline.timeline_data import BASE, FileMark, GroupRow, InstantMark, TimelinePicture

_LANES = (
    "commit",
    "deltacommit",
    "replacecommit",
    "compaction",
    "logcompaction",
    "clustering",
    "clean",
    "rollback",
    "restore",
    "savepoint",
    "indexing",
    "schemacommit",
)
_COLUMNS = (
    *("action", "operation", "state", "requested", "completed"),
    *("took", "inserts", "updates", "deletes", "files", "partitions", "written"),
)
_SERVICES = ("compact", "log compact", "cluster")
_LABELS = 232  # width in px of the column of labels
_LEFT, _RIGHT = 18, 30
_LANE, _BAR, _RECORDS, _GROUP, _HEADER, _AXIS = 24, 12, 64, 20, 26, 44
_LEAST_WIDTH = 860
_TICK = 92  # least distance in px of two labels of the time axis
_DATE = 70  # room in px for a date
_DAY = 700  # the date is told anew after so many px: whoever scrolls sees one


def render(picture: TimelinePicture) -> str:
    """The timeline as the text of one HTML page that needs no other file."""
    facts = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in picture.facts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        f"<title>{escape(picture.title)} – timeline</title><style>{style_sheet()}</style></head><body>"
        f"<header><h1>{escape(picture.title)}</h1><dl>{facts}</dl></header>"
        f"<main>{render_body(picture)}</main></body></html>\n"
    )


def render_body(picture: TimelinePicture) -> str:
    """The picture and the list of instants as two ``section`` elements of HTML, for a page that has the style sheet."""
    figure = _Figure(_Axis.of(picture))
    _draw_lanes(figure, picture.instants)
    _draw_records(figure, picture.instants)
    _draw_groups(figure, picture)
    return (
        f"<section>{_legend(picture)}{figure.html()}{_caption(picture)}</section>"
        f"<section><h2>Instants</h2>{_table(picture.instants)}</section>"
    )


def style_sheet() -> str:
    """The CSS of the picture, with colours for light and dark screens."""
    return (resources.files("hudi_hive.ui.timeline") / "timeline_page.css").read_text(encoding="utf-8")


# -- the axis --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Axis:
    """The x coordinates of times, with gaps on a logarithmic scale so that bursts stay legible."""

    at: dict[str, float]  # moment -> px
    done: dict[str, str]  # requested time -> the moment at which a write became visible
    width: float
    earlier: bool  # whether there is a place in front for what was written before the first instant

    @classmethod
    def of(cls, picture: TimelinePicture) -> _Axis:
        instants = [mark.instant for mark in picture.instants]
        moments = sorted({text for item in instants for text in (item.requested, item.completed) if text})
        done = {item.requested: item.completed or item.requested for item in instants if item.is_completed}
        written = [mark.instant for row in picture.groups for mark in row.files]
        earlier = any(instant not in done for instant in written)
        position, at = (36.0 if earlier else 0.0), {}
        before: int | None = None
        for moment in moments:
            millis = instant_to_millis(moment, "UTC")
            if before is not None:
                position += 9 + 13 * math.log10(1 + max(0, millis - before) / 1000)
            at[moment] = position
            before = millis
        stretch = max(1.0, (_LEAST_WIDTH - _LEFT - _RIGHT) / position) if position else 1.0
        at = {moment: _LEFT + place * stretch for moment, place in at.items()}
        return cls(at, done, max(_LEAST_WIDTH, _LEFT + position * stretch + _RIGHT), earlier)

    def visible(self, requested: str) -> float:
        """The coordinate of an instant's completion; the left edge for instants before the axis."""
        return self.at.get(self.done.get(requested, requested), float(_LEFT))

    def ticks(self) -> list[tuple[float, str]]:
        ticks: list[tuple[float, str]] = []
        for moment, place in self.at.items():
            if not ticks or place - ticks[-1][0] >= _TICK:
                ticks.append((place, moment))
        return ticks


def _clock(moment: str) -> tuple[str, str]:
    """Date and time of an instant, for people."""
    text = moment.ljust(14, "0")
    millis = f".{moment[14:17]}" if len(moment) >= 17 else ""
    return f"{text[:4]}-{text[4:6]}-{text[6:8]}", f"{text[8:10]}:{text[10:12]}:{text[12:14]}{millis}"


def moment_text(moment: str | None) -> str:
    """The time of an instant for people; empty for none."""
    return "" if moment is None else " ".join(_clock(moment))


# -- the drawing -----------------------------------------------------------------------------------------------------


class _Figure:
    """Labels that stay and a drawing that scrolls, side by side with the same rows."""

    def __init__(self, axis: _Axis) -> None:
        self.axis = axis
        self.y: float = _AXIS
        self.labels: list[str] = []
        self.shapes: list[str] = []

    def label(self, text: str, height: float, kind: str = "", title: str = "", room: int = 30) -> None:
        short = text if len(text) <= room else f"{text[: room - 1]}…"
        hint = f"<title>{escape(title or text)}</title>"
        place = f'x="{4 if kind else 16}" y="{self.y + height / 2:.1f}"'
        self.labels.append(f'<text class="{kind}" {place}>{hint}{escape(short)}</text>')

    def stripe(self, height: float, kind: str) -> None:
        for shapes, width in ((self.labels, float(_LABELS)), (self.shapes, self.axis.width)):
            shapes.append(f'<rect class="{kind}" x="0" y="{self.y:.1f}" width="{width:.0f}" height="{height:.1f}"/>')

    def draw(self, element: str, kind: str, title: str, **places: float) -> None:
        words = " ".join(f'{name}="{value:.1f}"' for name, value in places.items())
        self.shapes.append(f'<{element} class="{kind}" {words}><title>{escape(title)}</title></{element}>')

    def html(self) -> str:
        height = self.y + 8
        grid, ticks, day, labelled = [], [], "", 0.0
        for place, moment in self.axis.ticks():
            date, clock = _clock(moment)
            grid.append(f'<line class="grid" x1="{place:.1f}" x2="{place:.1f}" y1="{_AXIS - 6}" y2="{height:.0f}"/>')
            ticks.append(f'<text x="{place:.1f}" y="{_AXIS - 16}">{clock[:8]}</text>')
            if date != day or place - labelled >= _DAY:
                inside = min(place, self.axis.width - _DATE)
                ticks.append(f'<text class="day" x="{inside:.1f}" y="{_AXIS - 31}">{date}</text>')
                day, labelled = date, place
        if self.axis.earlier:
            ticks.insert(0, f'<text class="day" x="{_LEFT - 8}" y="{_AXIS - 16}">older</text>')
        left = f'<svg class="labels" width="{_LABELS}" height="{height:.0f}">{"".join(self.labels)}</svg>'
        size = f'width="{self.axis.width:.0f}" height="{height:.0f}"'
        right = f'<svg {size} role="img" aria-label="instants and file groups over time">'
        body = "".join([*grid, '<g class="ticks">', *ticks, "</g>", *self.shapes])
        return f'<div class="figure">{left}<div class="scroll" tabindex="0">{right}{body}</svg></div></div>'


def _draw_lanes(figure: _Figure, instants: Sequence[InstantMark]) -> None:
    axis = figure.axis
    for action in _LANES:
        marks = [mark for mark in instants if mark.instant.action == action]
        if not marks:
            continue
        rows: list[float] = []  # the right end of what each row of this lane holds: bars at the same time get two rows
        placed: list[tuple[int, InstantMark, float, float]] = []
        for mark in marks:
            start = axis.at[mark.instant.requested]
            end = axis.width - 6 if not mark.instant.is_completed else axis.visible(mark.instant.requested)
            if end < start + 8:  # a moment rather than a span
                start, end = start - 4, start + 4
            row = next((number for number, taken in enumerate(rows) if taken <= start), len(rows))
            rows[row : row + 1] = [end]
            placed.append((row, mark, start, end))
        height = _LANE + (len(rows) - 1) * (_BAR + 3)
        figure.label(action, height)
        for row, mark, start, end in placed:
            y = figure.y + (_LANE - _BAR) / 2 + row * (_BAR + 3)
            kind = f"bar {action}" + ("" if mark.instant.is_completed else " pending")
            figure.draw("rect", kind, _tell_instant(mark), x=start, y=y, width=end - start, height=_BAR, rx=3)
        figure.y += height


def _draw_records(figure: _Figure, instants: Sequence[InstantMark]) -> None:
    # What a table service writes anew was written before: its counts stand in the list of instants only.
    written = [
        (mark, mark.records)
        for mark in instants
        if mark.records and sum(mark.records) and mark.operation not in _SERVICES
    ]
    if not written:
        return
    figure.y += 6
    most = max(sum(records) for _, records in written)
    figure.label("records", _RECORDS)
    figure.labels.append(f'<text class="most" x="16" y="{figure.y + _RECORDS / 2 + 15:.1f}">{most:,} at most</text>')
    floor = figure.y + _RECORDS - 4
    for mark, records in written:
        place, total = figure.axis.visible(mark.instant.requested), sum(records)
        top = floor
        for kind, count in zip(("inserts", "updates", "deletes"), records, strict=True):
            if not count:
                continue
            height = max(1.5, count / total * math.log1p(total) / math.log1p(most) * (_RECORDS - 16))
            top -= height
            title = f"{mark.instant.requested}: {count:,} {kind}"
            figure.draw("rect", kind, title, x=place - 4, y=top, width=8, height=height)
    figure.shapes.append(f'<line class="floor" x1="0" x2="{figure.axis.width:.0f}" y1="{floor:.1f}" y2="{floor:.1f}"/>')
    figure.y += _RECORDS


def _draw_groups(figure: _Figure, picture: TimelinePicture) -> None:
    partition: str | None = None
    figure.y += 10
    for row in picture.groups:
        if row.partition != partition:
            partition = row.partition
            figure.stripe(_HEADER, "partition")
            figure.label(partition or "not partitioned", _HEADER, "head", room=32)
            figure.y += _HEADER
        figure.label(_short(row.file_id), _GROUP, title=row.file_id)
        _draw_group(figure, row)
        figure.y += _GROUP


def _draw_group(figure: _Figure, row: GroupRow) -> None:
    axis, middle = figure.axis, figure.y + _GROUP / 2
    start = axis.visible(row.files[0].instant)
    end = axis.width - 6 if row.replaced is None else axis.visible(row.replaced)
    title = f"file group {row.file_id}"
    figure.draw("line", "life", title, x1=start, x2=max(start, end), y1=middle, y2=middle)
    logs_at: dict[float, float] = {}
    for mark in row.files:
        place = axis.visible(mark.instant)
        kind = f"{mark.kind}" + ("" if mark.present else " gone")
        if mark.kind == BASE:
            figure.draw("circle", kind, _tell_file(mark), cx=place, cy=middle, r=5)
            logs_at.setdefault(place, 10.0)
        else:  # files of one moment stand behind each other
            shift = logs_at.get(place, 0.0)
            logs_at[place] = shift + 9.0
            figure.draw("rect", kind, _tell_file(mark), x=place - 3.5 + shift, y=middle - 3.5, width=7, height=7)
    if row.replaced is not None:
        cross = f"M{end - 4:.1f},{middle - 4:.1f}l8,8m0,-8l-8,8"
        title = f"replaced by {row.replaced}"
        figure.shapes.append(f'<path class="replaced" d="{cross}"><title>{escape(title)}</title></path>')


def _short(file_id: str) -> str:
    """Shorten a file id to its first 13 and last 4 characters, enough to tell it from others."""
    return file_id if len(file_id) <= 20 else f"{file_id[:13]}…{file_id[-4:]}"


# -- words -----------------------------------------------------------------------------------------------------------


def _tell_instant(mark: InstantMark) -> str:
    instant = mark.instant
    lines = [f"{instant.action} {instant.requested}", instant.state.name.lower()]
    if mark.operation:
        lines[0] += f", {mark.operation}"
    if instant.completed:
        lines.append(f"completed {moment_text(instant.completed)}, took {_took(instant)}")
    if mark.records is not None:
        inserts, updates, deletes = mark.records
        lines.append(f"{inserts:,} inserts, {updates:,} updates, {deletes:,} deletes")
        lines.append(f"{mark.files:,} files in {mark.partitions:,} partitions, {size_text(mark.bytes_written)}")
    return "\n".join(lines)


def _tell_file(mark: FileMark) -> str:
    where = "" if mark.present else ", cleaned"
    return f"{mark.kind} file of {mark.instant}{where}\n{mark.name}\n{size_text(mark.size)}"


def _took(instant: Instant) -> str:
    if instant.completed is None:
        return ""
    seconds = (instant_to_millis(instant.completed, "UTC") - instant_to_millis(instant.requested, "UTC")) / 1000
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def size_text(size: int | None) -> str:
    """A number of bytes for people."""
    if size is None:
        return "size unknown"
    value = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:,.3g} TB"


def _legend(picture: TimelinePicture) -> str:
    base = '<circle class="{}" cx="7" cy="7" r="5"/>'
    box = '<rect class="{}" x="2" y="2" width="10" height="10" rx="2"/>'
    entries = [(box.format(kind), kind) for kind in ("inserts", "updates", "deletes")]
    entries += [(base.format("base"), "base file")]
    marks = [mark for row in picture.groups for mark in row.files]
    if any(mark.kind != BASE for mark in marks):
        entries.append(('<rect class="log" x="3.5" y="3.5" width="7" height="7"/>', "log file"))
    if any(not mark.present for mark in marks):
        entries.append((base.format("base gone"), "cleaned since"))
    if any(row.replaced for row in picture.groups):
        entries.append(('<path class="replaced" d="M3,3l8,8m0,-8l-8,8"/>', "replaced"))
    if any(not mark.instant.is_completed for mark in picture.instants):
        entries.append((box.format("bar pending"), "pending"))
    icon = '<svg width="14" height="14" aria-hidden="true">'
    items = [f"<li>{icon}{shape}</svg>{escape(text)}</li>" for shape, text in entries]
    return f'<ul class="legend">{"".join(items)}</ul>'


def _caption(picture: TimelinePicture) -> str:
    words = ["Time runs to the right; gaps and numbers of records are drawn by their logarithm."]
    if any(mark.instant.completed for mark in picture.instants):
        words.append("A bar runs from the requested to the completion time; files stand where they became visible.")
    else:
        words.append("This timeline layout does not record completion times: all stands at the requested time,")
        words.append("log files that no active commit names beside the base file that they belong to.")
    left_out = picture.groups_total - len(picture.groups)
    if left_out:
        words.append(f"{left_out:,} file groups that were not written as recently are left out.")
    return f'<p class="note">{" ".join(words)}</p>'


def _table(instants: Iterable[InstantMark]) -> str:
    numeric = _COLUMNS.index("took")
    rows = []
    for mark in reversed(tuple(instants)):
        instant = mark.instant
        records = [f"{count:,}" for count in mark.records] if mark.records is not None else ["", "", ""]
        counts = [f"{value:,}" if value is not None else "" for value in (mark.files, mark.partitions)]
        size = "" if mark.bytes_written is None else size_text(mark.bytes_written)
        state = instant.state.name.lower()
        shown = [instant.action, mark.operation or "", state, instant.requested, instant.completed or ""]
        shown += [_took(instant), *records, *counts, size]
        cells = [f'<td class="{"n" if i >= numeric else ""}">{escape(text)}</td>' for i, text in enumerate(shown)]
        cells[0] = f'<td><i class="dot {escape(instant.action)}"></i>{escape(instant.action)}</td>'
        rows.append(f'<tr class="{state}">{"".join(cells)}</tr>')
    head = "".join(f'<th class="{"n" if i >= numeric else ""}">{name}</th>' for i, name in enumerate(_COLUMNS))
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<div class="scroll" tabindex="0"><table>{body}</table></div>'
