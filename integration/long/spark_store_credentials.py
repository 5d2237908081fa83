"""Who asks S3 for Spark, what is encrypted, and where secrets show: each origin of options, each server, each log.

    python -m integration.long.spark_store_credentials [--only origins] [--master 'local-cluster[1,1,768]']

A proxy in front of the S3 server sees which key signs each request. Checks: origins of credentials (Hadoop's
configuration, ``enable``, a call, a call against its session, Hadoop's credential providers), encryption with a key of
the user, mutations of Hive's ACID tables, a Thrift server; then secrets in the event log, on the pages and in the REST
interface of Spark, on command lines, in logs and errors, in the pickled steps that Spark sends to executors, and in the
files of broadcast variables.
"""

from __future__ import annotations

import argparse
import base64
import io
import logging
import re
import sys
import tempfile
import traceback
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pyhive import hive
from pyspark.sql import DataFrame, SparkSession

import hudi_hive.spark as hudi_spark
from hudi_hive.errors import HudiHiveError
from hudi_hive.metastore import HiveMetastore, TransactionClient
from hudi_hive.spark import ThriftServer
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from integration.support.metastores import HIVE_EXEC, TRANSACTIONS, ReleasedMetastore
from integration.support.spark_options import SERVER_SETTINGS, START_SECONDS
from integration.support.stores.hadoop_aws import s3a_jars
from integration.support.stores.proxy import Recording, StoreProxy
from integration.support.stores.s3 import REGION, S3Server
from integration.support.stores.secret_search import places_of, recorded_steps
from integration.support.stores.spark_s3 import S3aMetastore, s3a_session
from tests.support.mutation.acid_definitions import acid_table

TYPES: Final = ("COPY_ON_WRITE", "MERGE_ON_READ")
KIND: Final = "id int, ts int, v string"
SSE_C: Final = base64.b64encode(b"0123456789" * 3 + b"ab").decode()
HEADER: Final = "x-amz-server-side-encryption-customer-key"
_CREDENTIAL: Final = re.compile(r"Credential=([^/]+)/")


def secret_of(name: str) -> str:
    """A secret key that stands nowhere else."""
    return f"s3cr3t-key-of/{name}+0123456789"


@dataclass
class World:
    """What the checks run in.

    Attributes:
        spark: an enabled session.
        s3: the server.
        proxy: in front of it.
        metastore: the session's metastore.
        folder: for local files.
        texts: what was shown somewhere, by where.
    """

    spark: SparkSession
    s3: S3Server
    proxy: StoreProxy
    metastore: S3aMetastore
    folder: Path
    texts: dict[str, str] = field(default_factory=dict)

    def options(self, name: str) -> dict[str, str]:
        """Storage options with keys of this name."""
        return {**self.s3.options(self.proxy.port), "access_key": f"AKIA{name}", "secret_key": secret_of(name)}

    def hadoop(self, name: str, bucket: str = "") -> dict[str, str]:
        """Properties of S3A with keys of this name."""
        keys = {"fs.s3a.access.key": f"AKIA{name}", "fs.s3a.secret.key": secret_of(name)}
        properties = {**self.s3.hadoop(self.proxy.port), **keys}
        beginning = f"fs.s3a.bucket.{bucket}." if bucket else "fs.s3a."
        return {property_.replace("fs.s3a.", beginning): text for property_, text in properties.items()}


@contextmanager
def signed_by(world: World, name: str, bucket: str) -> Iterator[Recording]:
    """Check that all requests about a bucket are signed by the keys of a name."""
    with world.proxy.recording() as requests:
        yield requests
    seen = [request for request in requests.requests if request.path.strip("/").partition("/")[0] == bucket]
    assert len(seen) > 50, len(seen)
    for request in seen:
        match = _CREDENTIAL.search(request.headers.get("authorization", ""))
        assert match is not None and match[1] == f"AKIA{name}", (str(request), match and match[1])
    agents = {"Hadoop" if "Hadoop" in request.headers.get("user-agent", "") else "ours" for request in seen}
    assert agents == {"Hadoop", "ours"}, agents


@contextmanager
def py4j_without_calls() -> Iterator[None]:
    """Leave calls of PySpark out of the log, whose arguments are the test's own: ``option("fs.s3a.secret.key", …)``."""
    logger = logging.getLogger("py4j")
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(logging.DEBUG)


def write_options(kind: str) -> dict[str, str]:
    """Options of writes to a table of a type."""
    return {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.table.type": kind,
    }


def use(world: World, bucket: str, call: Mapping[str, str] | None = None, checkpoint: str = "") -> None:
    """Write, read, stream and maintain tables in a bucket.

    Args:
        world: what it runs in.
        bucket: the bucket.
        call: options of each call; none if the session's are to count.
        checkpoint: of streams; in the bucket if not given.
    """
    spark, call = world.spark, dict(call or {})
    stored = call or None
    for kind in TYPES:
        path = f"s3a://{bucket}/{kind}"
        options = {**write_options(kind), **call}
        for rows in ([(0, 0, "a"), (1, 0, "a"), (2, 0, "a")], [(1, 1, "b")]):
            frame = spark.createDataFrame(rows, KIND).coalesce(1)
            frame.write.format("hudi").options(**options).mode("append").save(path)
        changes = spark.createDataFrame([(2, 2, "c", "update")], f"{KIND}, op string").coalesce(1)
        hudi_spark.mutate(changes, path, operation="op", storage_options=stored)
        expected = [(0, "a"), (1, "b"), (2, "c")]

        def read(path: str = path) -> list[tuple[int, str]]:
            frame = spark.read.format("hudi").options(**call).load(path).select("id", "v")
            world.texts[f"plan of {path}"] = str(frame._jdf.queryExecution())
            return sorted(map(tuple, frame.collect()))

        assert read() == expected
        seen: list[int] = []
        stream = spark.readStream.format("hudi").options(**call).load(path).writeStream
        stream = stream.option("checkpointLocation", f"{checkpoint or path}-{kind}-checkpoint").trigger(
            availableNow=True
        )

        def take(batch: DataFrame, _number: int, seen: list[int] = seen) -> None:
            seen.append(batch.select("id").distinct().count())

        stream.foreachBatch(take).start().awaitTermination()
        assert seen == [3], seen
        if kind == "MERGE_ON_READ":
            assert hudi_spark.compact(spark, path, storage_options=stored)
        hudi_spark.clean(spark, path, storage_options=stored)
        assert read() == expected


# -- checks ------------------------------------------------------------------------------------------------------------


def origin_hadoop(world: World) -> None:
    """Keys of one bucket in ``spark.hadoop.fs.s3a.…``, as the session was started with them."""
    with signed_by(world, "hadoop", "hadoop"):
        use(world, "hadoop")


def origin_enable(world: World) -> None:
    """Keys of ``enable``, for checkpoints, too."""
    hudi_spark.enable(world.spark, storage_options=world.options("enable"))
    with signed_by(world, "enable", "enable"):
        use(world, "enable")
    hudi_spark.enable(world.spark, storage_options={})


def origin_call(world: World) -> None:
    """Keys of each call alone."""
    with py4j_without_calls(), signed_by(world, "call", "call"):
        use(world, "call", world.hadoop("call"), str(world.folder / "call"))


def origin_call_against_session(world: World) -> None:
    """Keys of a bucket in each call, where the session has others for all."""
    hudi_spark.enable(world.spark, storage_options=world.options("session"))
    with py4j_without_calls(), signed_by(world, "bucket", "bucket"):
        use(world, "bucket", world.hadoop("bucket", "bucket"), str(world.folder / "bucket"))
    hudi_spark.enable(world.spark, storage_options={})


def _credential_file(world: World, name: str) -> str:
    """A file of Hadoop's credential providers with keys of a name."""
    path = f"localjceks://file{world.folder}/{name}.jceks"
    jvm: Any = world.spark.sparkContext._jvm
    settings = jvm.org.apache.hadoop.conf.Configuration(False)
    settings.set("hadoop.security.credential.provider.path", path)
    provider = jvm.org.apache.hadoop.security.alias.CredentialProviderFactory.getProviders(settings).get(0)
    gateway: Any = world.spark.sparkContext._gateway
    with py4j_without_calls():
        for key, text in (("access.key", f"AKIA{name}"), ("secret.key", secret_of(name))):
            characters = gateway.new_array(jvm.char, len(text))  # py4j makes each of Java's texts one of Python's
            jvm.java.lang.StringBuilder(text).getChars(0, len(text), characters, 0)
            provider.createCredentialEntry(f"fs.s3a.{key}", characters)
        provider.flush()
    return path


def origin_providers_of_session(world: World) -> None:
    """Hadoop's credential provider of one bucket, which ``enable`` names."""
    provider = {"fs.s3a.bucket.jceks.security.credential.provider.path": _credential_file(world, "jceks")}
    others = {name: text for name, text in world.s3.options(world.proxy.port).items() if "key" not in name}
    hudi_spark.enable(world.spark, storage_options={**others, **provider})
    with signed_by(world, "jceks", "jceks"):
        use(world, "jceks", checkpoint=str(world.folder / "jceks"))
    hudi_spark.enable(world.spark, storage_options={})


def origin_providers_of_hadoop(world: World) -> None:
    """Hadoop's credential provider in Hadoop's own configuration."""
    settings: Any = world.spark.sparkContext._jsc.hadoopConfiguration()
    properties = {name: text for name, text in world.hadoop("stored", "stored").items() if not name.endswith(".key")}
    properties["hadoop.security.credential.provider.path"] = _credential_file(world, "stored")
    for name, text in properties.items():
        settings.set(name, text)
    with signed_by(world, "stored", "stored"):
        use(world, "stored")
    for name in properties:
        settings.unset(name)


def encryption(world: World) -> None:
    """Each request of Spark's reader and of ours has the user's key."""
    options = {**world.options("locked"), "encryption": "SSE-C", "encryption_key": SSE_C}
    hudi_spark.enable(world.spark, storage_options=options)
    with signed_by(world, "locked", "locked") as requests:
        use(world, "locked")
    hudi_spark.enable(world.spark, storage_options={})
    about = {"GET", "RANGE", "PUT", "CREATE", "PART", "BEGIN UPLOAD", "COPY"}
    objects = [request for request in requests.requests if request.kind in about]
    bare = [str(request) for request in objects if request.headers.get(HEADER) != SSE_C]
    assert len(objects) > 50 and not bare, bare[:5]


def acid(world: World) -> None:
    """Mutations of a Hive ACID table on S3 by Spark; a metastore has its folder elsewhere, and never reads files."""
    mapped = world.folder / "acid_metastore_s3a"
    mapped.mkdir()
    properties = {
        **TRANSACTIONS,
        "fs.s3a.impl": "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme",
        "fs.viewfs.overload.scheme.target.s3a.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
        "fs.viewfs.mounttable.acid.linkFallback": mapped.as_uri(),
        "metastore.warehouse.dir": "s3a://acid/warehouse",
    }
    hudi_spark.enable(world.spark, storage_options=world.options("acid"))
    frame_kind = "id int, msg string, country string, op string"
    with (
        ReleasedMetastore(
            "4.0.1", world.folder / "acid_metastore", properties=properties, jars=[HIVE_EXEC["4.0.1"]]
        ) as server,
        HiveMetastore(server.uri) as metastore,
    ):
        location = "s3a://acid/warehouse/t"
        TransactionClient(metastore).create_table(acid_table(location, keys=[("country", "string")], name="t"))
        rows = [(number, f"m{number}", f"c {number % 2}", "insert") for number in range(6)]
        frame = world.spark.createDataFrame(rows, frame_kind).coalesce(1)
        report = hudi_spark.mutate(frame, "default.t", operation="op", metastore=server.uri, create_partitions=True)
        assert report.inserted == 6
        merged = [(number, f"n{number}", f"c {number % 2}", number == 3) for number in range(3, 8)]
        frame = world.spark.createDataFrame(merged, "id int, msg string, country string, gone boolean").coalesce(1)
        hudi_spark.mutate(frame, "default.t", on=["id", "country"], delete_where="gone", metastore=server.uri)
        seen = hudi_spark.read_acid(world.spark, "default.t", metastore=server.uri, with_row_id=False).collect()
        expected = {0: "m0", 1: "m1", 2: "m2", 4: "n4", 5: "n5", 6: "n6", 7: "n7"}
        assert {row["id"]: row["msg"] for row in seen} == expected, seen
    hudi_spark.enable(world.spark, storage_options={})
    assert any("delta" in name for name in world.s3.files("s3a://acid/warehouse"))


def errors(world: World) -> None:
    """What cannot be done says so without secrets; names of Hadoop's files are not secret."""
    options = world.options("errors")
    refused = {
        "no bucket": lambda: hudi_spark.load(world.spark, "s3a://nowhere/t", storage_options=options).collect(),
        "no table": lambda: hudi_spark.load(world.spark, "s3a://lake/nothing", storage_options=options).collect(),
        "no provider": lambda: hudi_spark.load(
            world.spark,
            "s3a://lake/t",
            storage_options={"fs.s3a.security.credential.provider.path": "jceks://file/no/such/folder.jceks"},
        ),
        "half": lambda: hudi_spark.load(world.spark, "s3a://lake/t", storage_options={"secret_key": secret_of("half")}),
        "wrong": lambda: hudi_spark.load(
            world.spark, "s3a://lake/t", storage_options={**options, "secret": "other-s3cr3t"}
        ),
    }
    for name, do in refused.items():
        try:
            do()
        except HudiHiveError as error:
            world.texts[f"error {name}"] = "".join(traceback.format_exception(error)) + repr(error)
        else:
            raise AssertionError(f"{name} is not refused")


def pages(world: World) -> None:
    """What Spark's pages and REST interface show is there for the search."""
    context = world.spark.sparkContext
    root = context.uiWebUrl
    assert root is not None
    base = f"{root}/api/v1/applications/{context.applicationId}"
    addresses = [
        *(f"{base}/{name}" for name in ("environment", "sql?details=true&planDescription=true&length=500", "jobs")),
        *(f"{base}/{name}" for name in ("stages?details=true", "allexecutors")),
        *(f"{root}/{name}/" for name in ("environment", "SQL", "jobs", "stages", "StreamingQuery", "storage")),
    ]
    for address in addresses:
        with urllib.request.urlopen(address, timeout=300) as answer:
            world.texts[address] = answer.read().decode(errors="replace")
    environment = world.texts[f"{base}/environment"]
    assert "fs.s3a.bucket.hadoop.secret.key" in environment and "*********(redacted)" in environment


def processes(world: World) -> None:
    """Command lines of all processes are there for the search."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            world.texts[str(path)] = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue


def thrift(world: World) -> None:
    """A Thrift server whose tables are on S3; nobody else has its keys."""
    spark = world.spark
    hudi_spark.enable(spark, storage_options=world.options("thrift"))
    names = {}
    for kind in TYPES:
        path, options = f"s3a://thrift/{kind}", write_options(kind)
        for rows in ([(0, 0, "a"), (1, 0, "a")], [(1, 1, "b")]):
            spark.createDataFrame(rows, KIND).coalesce(1).write.format("hudi").options(**options).mode("append").save(
                path
            )
        with HiveMetastore(world.metastore.uri) as client:
            table = f"thrift_{kind[:4].lower()}"
            config = HiveSyncConfig(
                base_path=path, database="default", table=table, storage_options=world.options("thrift")
            )
            HiveSyncTool(config, metastore=client).sync()
        names[kind] = f"{table}_rt" if kind == "MERGE_ON_READ" else table
    hudi_spark.enable(spark, storage_options={})
    server = ThriftServer(
        world.metastore.uri,
        settings={**SERVER_SETTINGS, "spark.hadoop.fs.s3a.attempts.maximum": "1"},
        storage_options=world.options("thrift"),
        jars=s3a_jars(),
        timeout=START_SECONDS,
    )
    with server as running:
        assert running.port is not None
        processes(world)
        cursor = hive.connect("127.0.0.1", running.port).cursor()
        with signed_by(world, "thrift", "thrift"):
            for _ in range(3):
                for name in names.values():
                    cursor.execute(f"SELECT id, v FROM {name}")
                    assert sorted(cursor.fetchall()) == [(0, "a"), (1, "b")]
                    cursor.execute(f"SELECT id, v FROM hudi_table_changes('default.{name}', 'earliest')")
                    assert sorted(cursor.fetchall()) == [(0, "a"), (1, "b")]
        cursor.execute("SET -v")
        world.texts["thrift settings"] = str(cursor.fetchall())
        assert running.log_path is not None
        world.texts["thrift log"] = running.log_path.read_text(errors="replace")


CHECKS: Final[Mapping[str, Callable[[World], None]]] = {
    "origins: hadoop": origin_hadoop,
    "origins: enable": origin_enable,
    "origins: call": origin_call,
    "origins: call against session": origin_call_against_session,
    "origins: providers of the session": origin_providers_of_session,
    "origins: providers of Hadoop": origin_providers_of_hadoop,
    "encryption": encryption,
    "acid": acid,
    "errors": errors,
    "pages": pages,
    "processes": processes,
    "thrift": thrift,
}
BUCKETS: Final = ("hadoop", "enable", "call", "bucket", "jceks", "stored", "locked", "acid", "thrift")
SECRETS: Final = (*map(secret_of, (*BUCKETS, "session", "errors", "half")), "other-s3cr3t", SSE_C)


_LOG: Final = "logs at DEBUG"


def local_files(world: World) -> None:
    """Files of Spark's on local disk are there for the search: broadcast variables, what executors wrote."""
    for path in (path for name in ("local", "work") for path in (world.folder / name).rglob("*")):
        if path.is_file():
            world.texts[f"file {path.relative_to(world.folder)}"] = path.read_bytes().decode("latin-1")


def run_checks(world: World, beginnings: Sequence[str]) -> tuple[int, int]:
    """Run the checks whose names begin so, all of them without any; how many passed, and of how many."""
    passed, total = 0, 0
    for name, check in CHECKS.items():
        if beginnings and not name.startswith(tuple(beginnings)):
            continue
        total += 1
        try:
            check(world)
            passed += 1
            print(f"{name} ok", flush=True)
        except Exception as error:
            print(f"{name} FAILED {type(error).__name__}: {error}"[:3000], flush=True)
            traceback.print_exc(file=sys.stdout)
            hudi_spark.enable(world.spark, storage_options={})
    return passed, total


def main() -> int:
    """Run the checks, then search for secrets; print what failed, and the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="checks whose name begins so")
    parser.add_argument("--master", default="local[2,2]", help="local-cluster[1,1,768] has executors of their own")
    arguments = parser.parse_args()
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spark_store_credentials_")))
        s3 = stack.enter_context(S3Server())
        for bucket in BUCKETS:
            s3.make_bucket(bucket)
        proxy = stack.enter_context(StoreProxy(s3.port))
        metastore = stack.enter_context(S3aMetastore(folder / "metastore", properties=s3.hadoop()))
        world = World(None, s3, proxy, metastore, folder)  # type: ignore[arg-type]
        settings = {f"spark.hadoop.{name}": text for name, text in world.hadoop("hadoop", "hadoop").items()}
        settings |= {"spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net": secret_of("session")}
        world.spark = s3a_session(
            folder, metastore.uri, {**settings, "spark.hadoop.fs.s3a.endpoint.region": REGION}, master=arguments.master
        )
        # From here on: PySpark itself reads all settings by py4j when it makes a session.
        logging.getLogger().addHandler(handler)
        for name in ("hudi_hive", "py4j", "pyspark"):
            logging.getLogger(name).setLevel(logging.DEBUG)
        with recorded_steps() as steps:
            passed, total = run_checks(world, arguments.only or [])
            local_files(world)
            world.texts |= steps
        world.spark.stop()
        handler.flush()
        world.texts[_LOG] = log.getvalue()
        for path in (folder / "events").rglob("*"):
            if path.is_file():
                world.texts[f"event log {path.name}"] = path.read_text(errors="replace")
        total += 1
        places = places_of(SECRETS, world.texts)
        size = sum(map(len, world.texts.values()))
        kinds = ("event log", "pickle ", "broadcast ", "file ")
        if places or not all(any(place.startswith(kind) for place in world.texts) for kind in kinds):
            print(f"secrets FAILED in {len(places)} places of {len(world.texts)} texts", *places[:20], sep="\n")
        else:
            passed += 1
            print(f"secrets ok: in none of {len(world.texts)} texts of {size:,} characters")
    print(f"{passed} of {total} checks passed")
    return 0 if passed == total else 1


if __name__ == "__main__":
    sys.exit(main())
