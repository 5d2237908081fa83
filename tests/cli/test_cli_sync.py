"""``hudi-hive sync``: one table or many, watched until a signal, as a dry run, over TLS."""

from __future__ import annotations

import csv
import io
import json
import os
import signal

import pytest

from hudi_hive.cli.main import main
from hudi_hive.metastore import HiveMetastore
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.sync.run import SyncWatcher
from tests.metastore.shared.security_helpers import certificates, fake, front
from tests.support.fixture_tables import unzip_fixture
from tests.support.metastore import secure_metastore as secure
from tests.support.metastore.sync_behaviour import story_table
from tests.sync.shared.lake_helpers import NAMES, lake, server

__all__ = ["certificates", "fake", "lake", "server"]


def test_watch_on_the_command_line_ends_with_a_signal(server, tmp_path, capsys, monkeypatch):
    path = story_table(tmp_path, "t", "01")
    shown = SyncWatcher._look

    def look(self, table):
        shown(self, table)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(SyncWatcher, "_look", look)
    before = signal.getsignal(signal.SIGINT)
    words = ["sync", "--base-path", str(path), "--metastore-uris", server.uri, "--watch"]
    for kind in ("table", "json", "csv"):
        with pytest.raises(SystemExit) as caught:
            main([*words, "--format", kind])
        assert not caught.value.code
        assert signal.getsignal(signal.SIGINT) == before
        out, err = capsys.readouterr()
        assert "stopped" in err
        if kind == "table":
            assert "3 added" in out
        else:
            row = json.loads(out) if kind == "json" else next(csv.DictReader(io.StringIO(out)))
            assert (row["event"], row["base_path"], int(row["added"])) == ("synced", str(path), 0)


def test_many_on_the_command_line(server, lake, tmp_path, capsys):
    listed = tmp_path / "tables.txt"
    listed.write_text(f"{lake}/a/{NAMES[0]} table=other\n{tmp_path}/nowhere\n")

    def run(*words):
        with pytest.raises(SystemExit) as caught:
            main(["sync", "--metastore-uris", server.uri, "--format", "json", *words])
        return caught.value.code or 0, *capsys.readouterr()

    code, out, _ = run("--discover", str(lake), "--dry-run")
    assert code == 0
    found = json.loads(out)
    assert {row["result"] for row in found["sync of many tables"]} == {"planned"}
    assert {row["table"] for row in found["dry run: what a sync would do"]} >= {f"default.{NAMES[0]}"}
    assert server.counts["create_table"] == 0
    code, out, _ = run("--base-path", f"{lake}/a/*", "--tables", str(listed))
    assert code == 1
    found = json.loads(out)
    assert found["results"]["failed"] == 1
    assert found["results"]["synced"] == 2
    with HiveMetastore(server.uri) as client:
        assert set(client.tables("default")) == {"other", NAMES[1]}
    for words, text in (
        (("--discover", str(lake), "--table", "t"), "one table name"),
        (("--tables", str(tmp_path / "nothing.txt")), "cannot be read"),
        (("--base-path", "x", "--watch", "--dry-run"), "do not go together"),
    ):
        code, _, err = run(*words)
        assert code in (1, 2) and text in err


def test_a_dry_run_is_a_diff(server, tmp_path, capsys):
    path = story_table(tmp_path, "t", "01")
    with HiveMetastore(server.uri) as client:
        config = HiveSyncConfig(base_path=str(path), table="t")
        HiveSyncTool(config, metastore=client).sync()
        story_table(tmp_path, "t", "05")
        words = ["sync", "--base-path", str(path), "--table", "t", "--metastore-uris", server.uri, "--dry-run"]
        with pytest.raises(SystemExit):
            main(words)
        lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
        assert lines[0].startswith("default.t: alter, partitions compared: incremental")
        assert any(line.startswith("+ add column") for line in lines)
        assert "+ add partition country=IT" in lines
        assert any(line.startswith("- drop partition country=FR") for line in lines)
        assert any(line.startswith("~ stamp last_commit_time_sync") for line in lines)


def test_a_long_diff_is_cut(server, capsys):
    path = unzip_fixture("v8_cow_wide_250")
    words = ["sync", "--base-path", str(path), "--metastore-uris", server.uri, "--dry-run"]
    for extra, most in (([], 20), (["--all-steps"], 300)):
        with pytest.raises(SystemExit):
            main([*words, *extra])
        out = capsys.readouterr().out
        added = [line for line in out.splitlines() if line.strip().startswith("+ add partition")]
        assert len(added) == (10 if not extra else 250)
        assert ("241 more" in out) == (not extra)
        assert len(added) < most


@pytest.mark.parametrize("how", ["uri", "properties", "hive-site"])
def test_sync_over_tls_on_the_command_line(fake, certificates, tmp_path, capsys, how):
    path = unzip_fixture("v8_cow_nonpart")
    with front(fake, secure.tls_relay(certificates)) as server:
        plain, encrypted = (f"thrift{more}://localhost:{server.port}" for more in ("", "+tls"))
        properties = {"hive.metastore.use.SSL": "true", "hive.metastore.truststore.path": certificates.ca}
        if how == "uri":
            words = ["--metastore-uris", f"{encrypted}?ca={certificates.ca}"]
        elif how == "properties":
            words = ["--metastore-uris", plain, *(f"--conf={key}={value}" for key, value in properties.items())]
        else:
            entries = ({"hive.metastore.uris": plain} | properties).items()
            lines = (f"<property><name>{key}</name><value>{value}</value></property>" for key, value in entries)
            (tmp_path / "hive-site.xml").write_text(f"<configuration>{''.join(lines)}</configuration>")
            words = ["--hive-site", str(tmp_path / "hive-site.xml")]
        with pytest.raises(SystemExit) as ended:
            main(["sync", "--base-path", str(path), "--table", "t", "--database", "default", *words])
        assert not ended.value.code, capsys.readouterr()
        assert server.accepted
    assert fake.counts["create_table"] == 1
