"""Tables on an HDFS that wants logins by Kerberos: ticket caches, keytabs, no login at all."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.support.metastores import write_properties
from integration.support.stores import kerberos
from integration.support.stores.hdfs import HdfsServer
from integration.support.stores.kerberos import REALM, KerberosRealm

pytestmark = [pytest.mark.jvm, pytest.mark.long]

_ROOT = Path(__file__).parents[2]
_LIFE = """
import sys
import pyarrow as pa
from hudi_hive import HudiTable

path = sys.argv[1]
names = dict(name="t", record_keys=["id"], ordering_fields=["ts"], table_type="MERGE_ON_READ")
table = HudiTable.create(path, **names)
for ts in (1, 2):
    table.refresh().upsert(pa.table({"id": [f"k{n}" for n in range(500)], "ts": [ts] * 500, "v": [ts] * 500}))
rows = HudiTable.open(path).scan().to_arrow()
print("rows", rows.num_rows, set(rows["v"].to_pylist()))
"""


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KerberosRealm]:
    reason = kerberos.why_not()
    if reason is not None:
        pytest.skip(reason)
    with KerberosRealm(tmp_path_factory.mktemp("realm")) as running:
        running.add("alice")
        yield running


@pytest.fixture(scope="module", params=["privacy", "integrity", "authentication"])
def secured(request: pytest.FixtureRequest, realm: KerberosRealm) -> Iterator[tuple[HdfsServer, str]]:
    with HdfsServer(realm=realm, protection=request.param) as started:
        yield started, request.param


def client_configuration(folder: Path, protection: str) -> dict[str, str]:
    """Hadoop's files of a client, and the variable that says where they are."""
    folder.mkdir(exist_ok=True)
    for name, properties in (
        ("core-site", {"hadoop.security.authentication": "kerberos"}),
        ("hdfs-site", {"dfs.data.transfer.protection": protection}),
    ):
        write_properties(folder / f"{name}.xml", properties)
    return {"HADOOP_CONF_DIR": str(folder)}


def life(server: HdfsServer, realm: KerberosRealm, **environment: str) -> subprocess.CompletedProcess[str]:
    """A process that makes a table, writes it twice, and reads it."""
    others = {name: text for name, text in os.environ.items() if not name.startswith("KRB5")}
    return subprocess.run(
        [sys.executable, "-c", _LIFE, server.folder()],
        env={**others, **realm.environment, "PYTHONPATH": str(_ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_a_ticket_and_a_keytab_log_in_and_nobody_else(
    secured: tuple[HdfsServer, str], realm: KerberosRealm, tmp_path: Path
) -> None:
    server, protection = secured
    hadoop = client_configuration(tmp_path / "conf", protection)
    keytab = realm.keytab("alice")
    realm.log_in(f"alice@{REALM}", keytab, tmp_path / "cache")
    for login in (
        {"KRB5CCNAME": f"FILE:{tmp_path / 'cache'}"},
        {"KRB5CCNAME": f"FILE:{tmp_path / 'other'}", "KRB5_CLIENT_KTNAME": str(keytab)},
    ):
        run = life(server, realm, **hadoop, **login)
        assert run.stdout == "rows 500 {2}\n", run.stderr[-3000:]
    assert "alice@TEST.LOCAL for hdfs/localhost@TEST.LOCAL" in realm.log
    nobody = {"KRB5CCNAME": f"FILE:{tmp_path / 'none'}"}
    for environment, error, remedy in (
        ({**hadoop, **nobody}, "StoreCredentialsError", "kinit"),
        (nobody, "StoreUnreachableError", "hadoop.security.authentication"),
    ):
        run = life(server, realm, **environment)
        assert run.returncode and not run.stdout
        last = run.stderr.strip().splitlines()[-1]
        assert error in last and remedy in last, run.stderr[-3000:]
