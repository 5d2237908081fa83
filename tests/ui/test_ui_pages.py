"""The pages of ``hudi-hive ui`` over HTTP: who is let in, what each shows, and what it costs."""

from __future__ import annotations

import http.client
import re
import socket
import subprocess
import sys
from html import unescape
from urllib.parse import parse_qsl, urlencode, urlsplit

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import InvalidOptionError
from hudi_hive.metastore import HiveMetastore
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.testing import FakeMetastore
from hudi_hive.ui import UiServer, UiSettings
from hudi_hive.ui.pages import files_page, partitions_page
from hudi_hive.ui.paging import PAGE_ROWS
from tests.support.fixture_tables import unzip_fixture

TABS = ("", "/timeline", "/partitions", "/schema", "/query", "/plan", "/sync", "/services", "/metadata")
COMMAND = [sys.executable, "-c", "from hudi_hive.cli.main import main; main()", "ui"]
HOSTILE = "<script>alert('x')</script>\u202e&"


class Browser:
    """Asks one server, with the cookie that its token gives."""

    def __init__(self, server: UiServer) -> None:
        self.server = server
        self.token = dict(parse_qsl(urlsplit(server.url).query))["token"]
        self.cookie = ""

    def ask(self, path, form=None, **headers):
        """Status, headers and text of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port)
        all_headers = {"Host": f"127.0.0.1:{self.server.port}", "Cookie": self.cookie, **headers}
        body = None if form is None else urlencode(form)
        connection.request("GET" if form is None else "POST", path, body, all_headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, dict(answer.getheaders()), text

    def log_in(self):
        status, headers, _ = self.ask(f"/?token={self.token}")
        assert status == 303 and headers["location"] == "/"
        self.cookie = headers["set-cookie"].partition(";")[0]

    def page(self, path, form=None):
        status, _, text = self.ask(path, form)
        assert status == 200, text
        return text

    def keys(self):
        return re.findall(r'<a href="(/tables/[0-9a-f]+)">', self.page("/"))


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake")
    for name in ("v8_cow_part_mdt", "v9_mor_event_time", "v8_cow_schema_evo", "v8_mor_empty", "v6_mor_rollback"):
        unzip_fixture(name, folder / name)
    rows = pa.table({"id": ["a"], "p": [HOSTILE], "v": [HOSTILE]})
    options = {"hoodie.datasource.write.partitionpath.urlencode": "true"}
    HudiTable.create(
        folder / "hostile", name="h<b>x", record_keys=["id"], partition_fields=["p"], options=options
    ).upsert(rows)
    return folder


@pytest.fixture(scope="module")
def server(lake):
    with UiServer(UiSettings(paths=(str(lake),))) as started:
        yield started


@pytest.fixture
def browser(server):
    made = Browser(server)
    made.log_in()
    return made


# -- who is let in ---------------------------------------------------------------------------------------------------


def test_only_who_knows_the_token_is_let_in(server):
    stranger = Browser(server)
    for path in ("/", "/?token=", "/?token=wrong", "/static/ui.css", "/tables/x", "/nowhere"):
        status, headers, text = stranger.ask(path)
        assert status == 403 and "set-cookie" not in headers and stranger.token not in text
    status, _, _ = stranger.ask("/", Cookie="hudi_hive_ui=wrong; x=y")
    assert status == 403


def test_the_token_leaves_the_address_and_other_parameters_stay(server):
    status, headers, _ = Browser(server).ask(f"/?find=a%26b&token={Browser(server).token}")
    assert (status, headers["location"]) == (303, "/?find=a%26b")
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie
    status, headers, _ = Browser(server).ask(f"//evil.example/?token={Browser(server).token}")
    assert (status, headers["location"]) == (303, "/evil.example/")


def test_requests_of_other_sites_are_not_answered(browser):
    assert browser.ask("/", Host="evil.example")[0] == 421
    key = browser.keys()[0]
    status, _, text = browser.ask(f"{key}/query", {"sql": "SELECT 1"}, Origin="http://evil.example")
    assert (status, "another site" in text) == (403, True)
    own = f"http://127.0.0.1:{browser.server.port}"
    assert browser.ask(f"{key}/query", {"sql": "SELECT 1"}, Origin=own)[0] == 200


def test_all_answers_forbid_scripts_and_frames(browser):
    for path in ("/", "/static/ui.css", "/nowhere", browser.keys()[0]):
        policy = browser.ask(path)[1]["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src" not in policy and "frame-ancestors 'none'" in policy


# -- what the pages show ---------------------------------------------------------------------------------------------


def test_every_page_of_every_table_is_shown_without_scripts(browser):
    keys = browser.keys()
    assert len(keys) == 6
    for key in keys:
        for tab in TABS:
            text = browser.page(key + tab)
            assert "<script" not in text and "<b>x" not in text and "\u202e" not in text, (key, tab)
            for address in re.findall(r'(?:href|src|action)="([^"]*)"', text):
                assert address.startswith(("/", "?", "#")) and not address.startswith("//")


def test_partition_and_file_names_of_any_text_lead_on(browser):
    key = table_key(browser, "hostile")
    listed = browser.page(f"{key}/partitions")
    files = unescape(re.search(r'href="(/tables/[^"]+/files\?[^"]*)"', listed)[1])
    assert ".parquet" in browser.page(files)


def test_a_missing_table_page_or_partition_is_said(browser):
    key = table_key(browser, "v8_cow_part_mdt")
    for path in ("/tables/nothing", "/nowhere", f"{key}/files?partition=none"):
        status, _, text = browser.ask(path)
        assert status == 404 and 'role="alert"' in text


def test_rows_of_a_statement_and_its_errors(browser):
    key = table_key(browser, "v9_mor_event_time")
    asked = {"sql": "SELECT count(*) AS rows_of_it FROM v9_mor_event_time", "how": "run"}
    text = browser.page(f"{key}/query", asked)
    assert "rows_of_it" in text and "<td>10</td>" in text
    assert "SCAN" in browser.page(f"{key}/query", {**asked, "how": "explain"}).upper()
    many = browser.page(f"{key}/query", {"sql": "SELECT range FROM range(1000000)"})
    assert "500 rows, there are more" in many and many.count("<tr>") == 501
    for wrong in ("SELEC", "SELECT * FROM nothing", "DROP TABLE v9_mor_event_time", "COPY (SELECT 1) TO '/tmp/x.csv'"):
        assert 'role="alert"' in browser.page(f"{key}/query", {"sql": wrong})


def test_a_plan_of_a_statement_says_what_its_filter_left_out_of_each_table(browser):
    asked = {
        "sql": "SELECT count(*) FROM v8_cow_part_mdt a JOIN v9_mor_event_time b ON a.page = b.note "
        "WHERE a.city = 'oslo'",
        "how": "explain",
    }
    text = unescape(browser.page(f"{table_key(browser, 'v8_cow_part_mdt')}/query", asked))
    pruned, whole = re.findall(r"What was left out of (.*?)</section>", text, re.DOTALL)
    assert pruned.startswith("default.v8_cow_part_mdt") and "by the statement's filter of city" in pruned
    left, total = map(int, re.search(r"(\d+) of (\d+) partitions", pruned).groups())
    assert 0 < left < total
    assert whole.startswith("default.v9_mor_event_time") and "no filter that files could be left out by" in whole
    assert "Plan of DuckDB" in text and 'role="alert"' not in text


def test_a_statement_that_takes_too_long_is_stopped(lake):
    with UiServer(UiSettings(paths=(str(lake),), query_seconds=0.2)) as server:
        browser = Browser(server)
        browser.log_in()
        endless = "SELECT count(*) FROM range(100000000) a, range(100000) b WHERE hash(a.range, b.range) % 3 < 2"
        assert "stopped after 0.2 s" in browser.page(f"{browser.keys()[0]}/query", {"sql": endless})


def test_a_plan_says_what_was_left_out(browser):
    key = table_key(browser, "v8_cow_part_mdt")
    text = browser.page(f"{key}/plan?" + urlencode({"where": "_hoodie_partition_path = 'nothing'"}))
    assert "0 of" in unescape(text) and "File slices" in text
    assert 'role="alert"' in browser.page(f"{key}/plan?" + urlencode({"where": "no_such_column = 1"}))


def test_versions_of_a_schema_stand_side_by_side(browser):
    text = browser.page(f"{table_key(browser, 'v8_cow_schema_evo')}/schema")
    assert text.count('scope="col"') == 6 and "full_name: string" in text and "(now)" in text
    assert {change: text.count(f'class="badge">{change}') for change in ("added", "changed", "dropped")} == {
        "added": 0,
        "changed": 4,
        "dropped": 1,
    }


def test_what_is_pending_and_what_holds_a_lock_is_shown(tmp_path):
    path = tmp_path / "busy"
    columns = {"id": ["a", "b"], "p": ["x", HOSTILE]}
    options = {"hoodie.datasource.write.partitionpath.urlencode": "true"}
    table = HudiTable.create(
        path, name="busy", record_keys=["id"], partition_fields=["p"], table_type="MERGE_ON_READ", options=options
    )
    first = table.upsert(pa.table(columns)).instant.requested
    table.savepoint(first, user="ana", comments=HOSTILE)
    table.upsert(pa.table({"id": ["a"], "p": ["x"]}))
    table.compact({"hoodie.compact.inline.max.delta.commits": "1"}, schedule=True)
    table.cluster({"hoodie.clustering.plan.strategy.sort.columns": "id"}, schedule=True)
    (path / ".hoodie" / "lock").write_text(f"held by {HOSTILE}")
    with UiServer(UiSettings(paths=(str(path),))) as server:
        browser = Browser(server)
        browser.log_in()
        (key,) = browser.keys()
        text = unescape(browser.page(f"{key}/services"))
        assert "Pending instants: 2" in text and "File slices to compact: 1" in text and "Savepoints: 1" in text
        assert "File groups to cluster: 1" in text and "Lock files: 1" in text and "held by" in text
        timeline = HudiTable.open(path).timeline
        for waiting in (timeline.pending_compactions(), timeline.pending_clustering()):
            assert waiting["file_id"][0].as_py() in text
        assert f"<td>{timeline.pending_compactions()['compaction_instant'][0]}</td>" in text
        for tab in TABS:
            assert "<script" not in browser.page(key + tab), tab


def test_a_metadata_table_is_compared_when_asked(browser):
    key = table_key(browser, "v8_cow_part_mdt")
    assert 'role="status"' not in browser.page(f"{key}/metadata")
    assert "agree" in browser.page(f"{key}/metadata", {"validate": "yes"})


def test_a_sync_is_planned_and_changes_nothing(browser):
    with FakeMetastore() as metastore:
        asked = {"metastore_uris": metastore.uri, "database": "lake", "table": "t", "compare": "yes"}
        text = browser.page(f"{table_key(browser, 'v8_cow_part_mdt')}/sync", asked)
        with HiveMetastore(metastore.uri) as client:
            assert "create table" in text and client.databases() == ["default"]
    assert 'role="alert"' in browser.page(f"{table_key(browser, 'v8_cow_part_mdt')}/sync", asked)


def test_tables_of_a_metastore_are_shown_once_under_their_names(lake):
    with FakeMetastore() as metastore:
        for name in ("v8_cow_part_mdt", "v9_mor_event_time"):
            path = next(lake.rglob(f"{name}*/.hoodie")).parent
            config = HiveSyncConfig(base_path=str(path), database="d", table=name, metastore_uris=metastore.uri)
            HiveSyncTool(config).sync()
            # Of a merge-on-read table there are entries d.t, d.t_ro and d.t_rt.
        with UiServer(UiSettings(metastore_uris=metastore.uri)) as server:
            browser = Browser(server)
            browser.log_in()
            shown = re.findall(r'<a href="/tables/[0-9a-f]+">([^<]*)</a>', browser.page("/"))
            assert shown == ["d.v8_cow_part_mdt", "d.v9_mor_event_time"]
            key = table_key(browser, "d.v9_mor_event_time")
            asked = {"sql": "SELECT count(*) AS n FROM d.v9_mor_event_time", "how": "run"}
            assert "<td>10</td>" in browser.page(f"{key}/query", asked)
            steps = browser.page(f"{key}/sync", {"metastore_uris": metastore.uri, "database": "d", "compare": "yes"})
            assert "The entry is up to date" in steps, unescape(steps.split("<tbody>")[1])


def test_a_table_that_is_broken_hides_no_other(lake, tmp_path):
    broken = tmp_path / "broken"
    unzip_fixture("v8_cow_nonpart", broken)
    next(broken.rglob("hoodie.properties")).write_text("hoodie.table.version=99\n")
    with UiServer(UiSettings(paths=(str(broken), str(lake / "hostile"), str(tmp_path / "nothing")))) as server:
        browser = Browser(server)
        browser.log_in()
        text = browser.page("/")
        assert text.count("<tr>") == 3 and 'class="bad"' in text and "nothing" in text
        assert browser.ask(browser.keys()[0])[0] == 422


# -- cost ------------------------------------------------------------------------------------------------------------


def test_a_page_of_partitions_lists_those_alone(tmp_path):
    count = 2 * PAGE_ROWS + 7
    ids = [f"{number:04}" for number in range(count)]
    table = HudiTable.create(
        tmp_path / "t",
        name="t",
        record_keys=["id"],
        partition_fields=["p"],
        options={"hoodie.metadata.enable": "false"},
    )
    table.bulk_insert(pa.table({"id": ids, "p": ids}), {"hoodie.metadata.enable": "false"})
    table = HudiTable.open(tmp_path / "t")
    table.partitions()
    before = table.client.counters["lists"]
    page = partitions_page(table, {"page": "2"})
    assert [row["partition"] for row in page["rows"]] == ids[PAGE_ROWS : 2 * PAGE_ROWS]
    assert table.client.counters["lists"] - before <= PAGE_ROWS
    last = partitions_page(table, {"page": "99"})
    assert (last["page"].number, len(last["rows"])) == (3, 7)
    assert files_page(table, {"partition": ids[0]})["rows"][0]["notes"] == ["small"]


# -- the server and its command --------------------------------------------------------------------------------------


def test_a_port_that_is_taken_is_an_error(lake):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InvalidOptionError, match="cannot listen on"):
            UiServer(UiSettings(paths=(str(lake),), port=taken.getsockname()[1]))


def test_the_command_serves_until_it_is_interrupted(lake):
    command = [*COMMAND, str(lake)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        url = urlsplit(process.stdout.readline())
        connection = http.client.HTTPConnection(url.hostname, url.port)
        connection.request("GET", f"/?{url.query.strip()}")
        assert connection.getresponse().status == 303
        connection.close()
        process.terminate()
        _, errors = process.communicate(timeout=300)
    assert (process.returncode, errors) == (130, "\ninterrupted\n")


def test_the_command_needs_tables():
    done = subprocess.run(COMMAND, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and "no tables to show" in done.stderr


def table_key(browser: Browser, name: str) -> str:
    """The address of the table whose name in statements is this one."""
    return re.search(rf'<a href="(/tables/[0-9a-f]+)">{name}</a>', browser.page("/"))[1]
