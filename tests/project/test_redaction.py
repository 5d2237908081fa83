"""Secrets stay out of errors, reprs and printed options; those who work with them have them."""

from __future__ import annotations

import pickle
import traceback
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError, InvalidOptionError, StorageError
from hudi_hive.input_format import HoodieParquetInputFormat, JobConf
from hudi_hive.redaction import is_secret, printable, redact, redact_options
from hudi_hive.storage import HadoopPath, Storage
from hudi_hive.sync import HiveSyncConfig
from hudi_hive.sync.run import ListedTable, TableResult, WatchEvent
from hudi_hive.sync.table import absolute

SECRET = "T0pSecretValue"

HIDE = [
    f"s3://AKIA:{SECRET}@bucket/table",
    f"s3a://AKIA:a/b+{SECRET}@bucket/table",
    f"s3://AKIA:{SECRET}/x@bucket/table",
    f"https://user:{SECRET}@host:8080/path",
    f"https://{SECRET}@host/path",
    f"hdfs://user:{SECRET}@nn:8020/path",
    f"sftp://user:p@{SECRET}@host/path",
    f"thrift://user:{SECRET}@a:9083,thrift://user:{SECRET}@b:9083",
    f"https://acc.blob.core.windows.net/c/t?sv=2022&sig={SECRET}&se=1",
    f"abfss://c@acc.dfs.core.windows.net/t?sig={SECRET}",
    f"https://b.s3.amazonaws.com/t?X-Amz-Signature={SECRET}&X-Amz-Credential={SECRET}",
    f"https://b/t?X-Amz-Security-Token={SECRET}",
    f"jdbc:hive2://h:10000/db;user=u;password={SECRET};ssl=true",
    f"jdbc:mysql://h/db?user=u&password={SECRET}",
    f"jdbc:mysql://u:{SECRET}@h/db",
    f"{{'secret_key': '{SECRET}', 'region': 'eu'}}",
    f'{{"password": "{SECRET} with blanks"}}',
    f"hoodie.datasource.hive_sync.password={SECRET}",
    f"javax.jdo.option.ConnectionPassword = {SECRET}",
    f"fs.s3a.secret.key={SECRET}",
    f"fs.azure.account.key.acc.dfs.core.windows.net={SECRET}",
    f"sas_token={SECRET}",
    f"SasToken='{SECRET}'",
    f"Authorization: Bearer {SECRET}",
    f"('secret_key', '{SECRET}')",
    f"secret=>{SECRET}",
]
LEAVE = [
    "abfss://box@lake.dfs.core.windows.net/a/b",
    "hdfs://user@nn:8020/a",
    "s3://bucket/a@b/c:d@e",
    "file:/a/user:name@x",
    "http://host:8080/path@x",
    "thrift://host:9083",
    "record key user_id is missing",
    "hoodie.table.recordkey.fields=id",
    "the write token 1-0-1; partition city=a",
    "no such column: password",
    "memory://x/y?z",
]


@pytest.mark.parametrize("text", HIDE)
def test_secrets_are_hidden_wherever_they_stand(text: str) -> None:
    for shown in (redact(text), redact(f"cannot read {text!r}: gone"), str(HudiHiveError("x", path=text))):
        assert SECRET not in shown and "***" in shown
    error = HudiHiveError(f"cannot read {text}", path=text, remedy=f"look at {text}")
    copy = pickle.loads(pickle.dumps(error))
    for one in (error, copy):
        assert SECRET not in f"{one} {one!r} {one.args} {vars(one)} {''.join(traceback.format_exception(one))}"
    assert redact(redact(text)) == redact(text)


@pytest.mark.parametrize("text", LEAVE)
def test_what_is_no_secret_is_left(text: str) -> None:
    assert redact(text) == text


def test_options_are_hidden_by_their_names() -> None:
    secrets = ["secret_key", "access_key", "password", "sas_token", "account_key", "session_token", "client.secret"]
    secrets += ["hoodie.datasource.hive_sync.password", "fs.s3a.access.key", "token", "AWS_SECRET_ACCESS_KEY"]
    plain = ["region", "endpoint_override", "hoodie.datasource.write.recordkey.field", "key_password_file", "anonymous"]
    plain += ["hoodie.write.lock.zookeeper.lock_key"]
    secrets += ["unlock.key"]
    assert [name for name in secrets + plain if is_secret(name)] == secrets
    shown = redact_options({**dict.fromkeys(secrets, SECRET), "region": "eu", "url": f"https://u:{SECRET}@h/", "n": 1})
    assert SECRET not in str(shown) and shown["region"] == "eu" and shown["n"] == 1


def test_a_storage_works_with_its_secrets_and_never_shows_them() -> None:
    for text, options in (
        (f"s3://AKIA:{SECRET}@bucket/table", {"region": "eu"}),
        ("s3://bucket/table", {"access_key": "AKIA", "secret_key": SECRET, "region": "eu"}),
        (f"s3://AKIA:{SECRET.replace('o', '%6F')}@bucket/table", {"region": "eu"}),
    ):
        storage = Storage(text, options)
        assert storage.root == "bucket/table" and storage.uri("x") == "s3://bucket/table/x"
        for copy in (storage, pickle.loads(pickle.dumps(storage)), storage.child("p")):
            assert SECRET not in f"{copy!r} {copy} {copy.storage_options} {copy.uri()} {copy.root}"
            assert copy.storage_options["secret_key"] == SECRET
            assert not copy.is_local


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (f"nosuch://user:{SECRET}@host/x", {}),
        (f"s3://AKIA:{SECRET}@bucket/x", {"no_such_option": 1}),
        ("s3://bucket/x", {"secret_key": SECRET, "no_such_option": 1}),
        (f"hdfs://user:{SECRET}@127.0.0.1:1/x", {"retry_timeout": 1}),
        ("s3://bucket/x", {"endpoint_override": f"http://u:{SECRET}@h", "scheme": f"secret={SECRET}"}),
    ],
)
def test_errors_of_file_systems_show_no_secret_in_their_causes(text: str, options: dict[str, object]) -> None:
    try:
        Storage(text, options).list()
    except (StorageError, InvalidOptionError) as error:
        shown = "".join(traceback.format_exception(error))
        assert SECRET not in shown.replace(f'"{text}"', "")
    else:
        pytest.fail("it is served")


def test_work_is_linear_in_the_text() -> None:
    """Texts that make a pattern begin anew at each character; a quadratic one would not end."""
    for unit in ("password", "a://b:", "://", "secret=", "'", "password'", "x@", "?sig=", "Bearer "):
        redact(unit * (200_000 // len(unit)))


@pytest.mark.parametrize("char", list("\x1b\x9b\x07\r\u202e\u2066\u200f\x00\ufeff\ud800"))
def test_what_steers_a_terminal_is_shown_by_its_number(char: str) -> None:
    error = HudiHiveError(f"no column a{char}[31mb", path=f"/x{char}y", remedy=f"r{char}")
    assert char not in printable(f"a{char}b") and char not in str(error)
    assert printable("tab\tnew\nline äöü 漢字 👍 ]8;;") == "tab\tnew\nline äöü 漢字 👍 ]8;;"


def test_what_a_sync_registers_and_prints_has_no_password() -> None:
    path = f"s3a://AKIA:{SECRET}@bucket/lake/t"
    config = HiveSyncConfig(
        base_path=path,
        metastore_uris=f"thrift://user:{SECRET}@host:9083",
        jdbc_url=f"jdbc:hive2://h:1/;password={SECRET}",
        password=SECRET,
        storage_options={"secret_key": SECRET},
    )
    error = HudiHiveError(f"cannot sync {path}", path=path)
    result, event = TableResult(path, error=error), WatchEvent(path, error=error)
    assert SECRET not in f"{config!r} {result!r} {result.row()} {event.row()} {event.line()} {error!r}"
    assert absolute(path) == "s3a://bucket/lake/t"
    assert absolute("abfss://c@acc.dfs.core.windows.net/t") == "abfss://c@acc.dfs.core.windows.net/t"
    assert absolute(f"hdfs://user:{SECRET}@nn:8020/t") == "hdfs://user@nn:8020/t"
    assert config.password == SECRET and config.base_path == path


def test_options_of_writes_and_jobs_are_printed_without_secrets() -> None:
    options = {"hoodie.datasource.hive_sync.password": SECRET, "fs.s3a.secret.key": SECRET}
    listed = ListedTable(f"s3://k:{SECRET}@b/t", options)
    path = HadoopPath.parse(listed.base_path)
    assert SECRET not in f"{listed!r} {path!r}" and str(path) == listed.base_path
    assert SECRET not in repr(JobConf(options)) and JobConf(options)["fs.s3a.secret.key"] == SECRET


def test_what_works_with_a_store_never_shows_its_secrets_and_what_is_handed_on_has_none(tmp_path: Path) -> None:
    secrets = {name: f"{SECRET}-{name}" for name in ("secret_key", "session_token", "encryption_key")}
    options = {"access_key": "k", "encryption": "SSE-C", **secrets}
    path = str(tmp_path / "t")
    table = HudiTable.create(path, storage_options=options, name="t", record_keys=["id"])
    report = table.upsert(pa.table({"id": ["a"], "v": ["x"]}))
    job = {"mapreduce.input.fileinputformat.inputdir": path, "fs.s3a.secret.key": SECRET}
    format_ = HoodieParquetInputFormat(job, storage_options=options)
    with table.mutator() as client:
        transaction = client.new_transaction().begin()
        works = [table, table.client, table.scan(), format_, format_.conf, format_.stores, client, transaction]
        works += [table.client.storage, table.client.storage.storage_options, table.client.timeline]
        handed_on = [report, format_.get_splits(2), format_.list_status(), format_.plan, transaction.table()]
        assert not [type(one) for one in (*works, *handed_on) if SECRET in f"{one!r} {one}"]
        assert not [type(one) for one in handed_on if SECRET.encode() in pickle.dumps(one)]
        transaction.abort()
