"""Syncs by SQL that log in with user and password, which HiveServer2 and Spark's server compare with an LDAP server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hudi_hive.errors import MetastoreSecurityError
from hudi_hive.metastore import HiveMetastore
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from integration.support.hive_server import HiveServer2, hudi_jars
from integration.support.spark_options import SERVER_SETTINGS, START_SECONDS
from integration.support.spark_server import PlainThriftServer
from integration.support.stores.ldap import LdapServer
from tests.support.fixture_tables import unzip_fixture

pytestmark = [pytest.mark.jvm, pytest.mark.long]

PASSWORD = "of Ann; 1=2"
K = "hoodie.datasource.hive_sync."


@pytest.fixture(scope="module", params=["hive", "spark"])
def url(request: pytest.FixtureRequest, metastore_uri: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("server")
    with LdapServer({"ann": PASSWORD}) as directory:
        if request.param == "hive":
            with HiveServer2(metastore_uri, folder, authentication="LDAP", properties=directory.properties) as hive:
                yield hive.jdbc_url
            return
        # Spark's server reads the directory's place with Hive's configuration, not with its own.
        java = [SERVER_SETTINGS["spark.driver.defaultJavaOptions"]]
        java += [f"-D{name}={text}" for name, text in directory.properties.items()]
        settings = {
            "spark.hadoop.hive.server2.authentication": "LDAP",
            "spark.driver.defaultJavaOptions": " ".join(java),
        }
        launch = {"jars": hudi_jars(), "timeout": START_SECONDS}
        with PlainThriftServer(metastore_uri, directory=folder, settings=settings, **launch) as spark:
            yield spark.jdbc_url


def test_user_and_password(url: str, metastore: HiveMetastore, metastore_uri: str) -> None:
    path = str(unzip_fixture("v8_cow_part_mdt"))

    def sync(**login: str) -> None:
        places = {
            "hoodie.datasource.meta.sync.base.path": path,
            f"{K}jdbcurl": url,
            "hive.metastore.uris": metastore_uri,
        }
        names = {f"{K}mode": "hiveql", f"{K}jdbcurl": url, f"{K}database": "by_ldap", f"{K}table": "t"}
        own = {f"{K}{name}": text for name, text in login.items()}
        HiveSyncTool(HiveSyncConfig.from_options({**places, **names, **own})).sync()

    for login in ({}, {"username": "ann", "password": "another"}, {"username": "ben", "password": PASSWORD}):
        with pytest.raises(MetastoreSecurityError, match="refused the login") as refused:
            sync(**login)
        assert "another" not in str(refused.value) and PASSWORD not in str(refused.value)
        assert "by_ldap" not in metastore.databases()
    sync(username="ann", password=PASSWORD)
    assert metastore.partition_names("by_ldap", "t")
    metastore.drop_database("by_ldap", cascade=True)
