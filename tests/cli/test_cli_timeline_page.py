"""``hudi-hive inspect --html``: the timeline of a table as a page."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser

import pytest

from hudi_hive import HudiTable
from hudi_hive.table.properties import table_checksum
from hudi_hive.timeline import Instant, State
from hudi_hive.ui.timeline import InstantMark, TimelinePicture, render
from tests.cli.shared.cli_helpers import TABLE, WIDE, run
from tests.support.fixture_tables import expected, unzip_fixture

__all__ = ["run"]


class _Page(HTMLParser):
    """Tags and attributes of a page, and whether every tag was closed where it should be."""

    def __init__(self) -> None:
        super().__init__()
        self.seen, self.open, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.parametrize(
    "name", [TABLE, WIDE, "v9_mor_event_time", "v6_mor_rollback", "v9_cow_archived", "v8_mor_empty"]
)
def test_the_timeline_s_page_is_well_formed_and_complete(run, tmp_path, name):
    page, path = tmp_path / "out.html", unzip_fixture(name)
    code, _, err = run("timeline", path, "--html", page)
    assert code == 0, err
    parser = _Page()
    parser.feed(page.read_text("utf-8"))
    assert parser.open == []
    tags = [tag for tag, _ in parser.seen]
    assert "script" not in tags and "link" not in tags and "img" not in tags
    assert not any({"href", "src"} & attributes.keys() for _, attributes in parser.seen)
    assert "url(" not in "".join(parser.text) and "@import" not in "".join(parser.text)
    timeline = HudiTable.open(path).timeline
    bars = [a for tag, a in parser.seen if tag == "rect" and (a.get("class") or "").startswith("bar ") and "rx" in a]
    pending = bool(timeline.pending())  # the legend then has a bar too
    assert len(bars) == len(timeline.instants) + pending


def test_timeline_page_draws_what_was_cleaned_and_replaced(run, tmp_path):
    page = tmp_path / "out.html"
    assert run("timeline", unzip_fixture(TABLE), "--html", page)[0] == 0
    parser = _Page()
    parser.feed(page.read_text("utf-8"))
    kinds = Counter(a.get("class") for tag, a in parser.seen if tag in ("circle", "path") and a.get("width") != "14")
    assert kinds["replaced"] == 3  # two groups and the legend
    assert kinds["base gone"] == 7 and kinds["base"] == 5  # one of each in the legend


def test_timeline_page_escapes_what_the_table_says(run, tmp_path):
    table = unzip_fixture("v8_cow_nonpart", tmp_path)
    properties = table / ".hoodie" / "hoodie.properties"
    lines = [line for line in properties.read_text().splitlines() if "checksum" not in line]
    bad = "<script>alert(1)</script>&\"'"
    lines = [f"hoodie.table.name={bad}" if line.startswith("hoodie.table.name=") else line for line in lines]
    checksum = table_checksum({"hoodie.table.name": bad})
    properties.write_text("\n".join([*lines, f"hoodie.table.checksum={checksum}", ""]))
    page = tmp_path / "out.html"
    code, _, err = run("timeline", table, "--html", page)
    assert code == 0, err
    text = page.read_text("utf-8")
    assert "<script" not in text and "&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#x27;" in text


def test_timeline_page_leaves_groups_out_and_says_so(run, tmp_path):
    page = tmp_path / "out.html"
    assert run("timeline", unzip_fixture(WIDE), "--html", page, "--max-groups", "3")[0] == 0
    groups = len({(row["partition"], row["file_id"]) for row in expected(WIDE)["file_slices"]})
    assert f"{groups - 3:,} file groups that were not written as recently are left out" in page.read_text("utf-8")
    assert run("timeline", unzip_fixture(WIDE), "--html", tmp_path / "no" / "x.html")[0] == 1


def test_timeline_page_draws_no_records_of_services(run, tmp_path):
    page = tmp_path / "out.html"
    assert run("timeline", unzip_fixture("v8_mor_event_time"), "--html", page)[0] == 0
    text = page.read_text("utf-8")
    assert "20261121035505718" in text and "20261121035505718: 7 inserts" not in text  # a compaction
    assert "20261121035431354: 10 inserts" in text


def _write(minute: int, records: tuple[int, int, int]) -> InstantMark:
    moment = f"2026010112{minute:02d}00000"
    instant = Instant(moment, "commit", State.COMPLETED, moment, "", "")
    return InstantMark(instant, partitions=1, files=1, bytes_written=1, records=records)


def test_timeline_page_of_many_instants_and_one_great_write():
    marks = tuple(_write(minute, (10_000_000 if minute == 0 else 0, 9_000, 1_000)) for minute in range(60))
    page = _Page()
    page.feed(render(TimelinePicture("t", (), marks, (), 0)))
    heights = [float(a["height"]) for tag, a in page.seen if tag == "rect" and a.get("class") == "updates"]
    assert len(heights) == 61 and min(heights[2:]) > 10  # small writes beside a great one are seen
    most = [float(a["height"]) for tag, a in page.seen if tag == "rect" and a.get("class") == "inserts"]
    assert len(most) == 2 and max(most) < 64  # the great one stays in its lane
    days = [float(a["x"]) for tag, a in page.seen if tag == "text" and a.get("class") == "day"]
    width = next(float(a["width"]) for tag, a in page.seen if tag == "svg" and "role" in a)
    assert max(days) <= width - 70
    last = TimelinePicture("t", (), (_write(0, (1, 0, 0)), _write(1, (1, 0, 0))), (), 0)
    short = _Page()
    short.feed(render(last))
    days = [float(a["x"]) for tag, a in short.seen if tag == "text" and a.get("class") == "day"]
    assert max(days) == 860 - 70  # told anew at the right end, and inside of the picture
    assert sum(text == "2026-01-01" for text in page.text) >= 2  # whoever scrolls sees the date
