"""Pickles have no secrets: references stand for them, and what takes their place is found where a pickle is loaded."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hudi_hive import use_storage_options
from hudi_hive.errors import MissingSecretError, StoreCredentialsError
from hudi_hive.glue import GlueSettings
from hudi_hive.input_format import HoodieParquetInputFormat, JobConf
from hudi_hive.metastore import DelegationToken, Sasl, Tls
from hudi_hive.metrics import Totals
from hudi_hive.options import storage as names
from hudi_hive.read.remote import ShippedStep, mask_secrets
from hudi_hive.secret_references import add_secrets, collected_secrets, is_reference, reference_to, secret_behind
from hudi_hive.storage import Credentials, Storage, add_options_origin, layered
from hudi_hive.sync import HiveSyncConfig
from hudi_hive.sync.apply.sql import parse_jdbc_url
from hudi_hive.write.options import WriteConfig

SECRET = "T0pSecretValue+of/the=tests"
KEYS = {"access_key": f"AKIA{SECRET}", "secret_key": SECRET, "session_token": f"token {SECRET}"}
SSE_C = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No options of the process, no credentials in its environment and in its home."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    use_storage_options(None)
    yield
    use_storage_options(None)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Forget the secrets of this process: from now on pickles are loaded as in another one."""

    def forget() -> None:
        import hudi_hive.secret_references as module

        monkeypatch.setattr(module, "_secrets", type(module._secrets)())
        monkeypatch.setattr(module, "_references", {})

    return forget


OPTIONS: list[Mapping[str, Any]] = [
    KEYS,
    {"aws_access_key_id": SECRET, "aws_secret_access_key": SECRET, "region": "eu"},
    {"fs.s3a.access.key": SECRET, "fs.s3a.bucket.lake.secret.key": SECRET, "hoodie.aws.session.token": SECRET},
    {"account_key": SECRET, "sas_token": f"sv=1&sig={SECRET}", "client_secret": SECRET},
    {"fs.azure.account.key.acc.dfs.core.windows.net": SECRET, "fs.azure.sas.box.acc": SECRET},
    {"access_token": SECRET, "token": SECRET},
    {"encryption": "SSE-C", "encryption_key": SECRET},
    {"proxy_url": f"http://user:{SECRET}@proxy:3128"},
    {"use_fsspec": True, "client_kwargs": {"endpoint_url": "http://h", "aws_secret_access_key": SECRET}},
    {"use_fsspec": True, "auth": ("user", SECRET), "passcode": SECRET, "pin": SECRET, "headers": [f"Bearer {SECRET}"]},
    {"use_fsspec": True, "password": SECRET.encode(), "kwargs": [{"jwt_secret": SECRET}]},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: next(iter(options)))
def test_options_are_pickled_without_secrets_and_are_the_same_again(options: Mapping[str, Any]) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        data = pickle.dumps(Credentials(options), protocol)
        assert SECRET.encode() not in data
        again = pickle.loads(data)
        assert type(again) is Credentials and again == options
    assert copy.deepcopy(Credentials(options)) == copy.copy(Credentials(options)) == options


def test_what_is_no_secret_stands_in_the_pickle(elsewhere: Callable[[], None]) -> None:
    plain = {
        "endpoint": "http://127.0.0.1:9000",
        "region": "eu",
        "profile": "lake",
        "role_arn": "arn:aws:iam::1:role/r",
        "service_account": "/etc/key.json",
        "anonymous": True,
        "retry_timeout": 3,
        "encryption": "SSE-KMS",
        "encryption_key": "arn:aws:kms:eu:1:key/k",
        "fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider",
        "fs.s3a.bucket.b.security.credential.provider.path": "jceks://hdfs@nn/keys.jceks",
        "hadoop.security.credential.provider.path": "localjceks://file/keys.jceks",
        "hadoop.security.authentication": "kerberos",
        "dfs.nameservices": "lake",
        "fs.s3a.secret.key": "",
    }
    data = pickle.dumps(Credentials(plain))
    elsewhere()
    assert pickle.loads(data) == plain


def test_ids_of_keys_stand_in_the_pickle_of_a_job(elsewhere: Callable[[], None]) -> None:
    of_kms = JobConf({"fs.s3a.encryption.algorithm": "SSE-KMS", "fs.s3a.encryption.key": "key-id"})
    of_user = JobConf({"fs.s3a.server-side-encryption-algorithm": "SSE-C", "fs.s3a.encryption.key": SECRET})
    texts = pickle.dumps(of_kms), pickle.dumps(of_user)
    elsewhere()
    assert pickle.loads(texts[0]) == of_kms and SECRET.encode() not in texts[1]
    assert is_reference(pickle.loads(texts[1])["fs.s3a.encryption.key"])


def test_a_secret_has_one_reference_and_a_reference_tells_nothing(elsewhere: Callable[[], None]) -> None:
    first, second = reference_to(SECRET), reference_to(f"{SECRET}2")
    assert first == reference_to(SECRET) == reference_to(first) != second
    assert (secret_behind(first), secret_behind("text"), secret_behind(5)) == (SECRET, "text", 5)
    elsewhere()
    assert secret_behind(first) == first and is_reference(secret_behind(first))
    assert reference_to(SECRET) != first, "it is made by chance, not of the secret"
    assert secret_behind(f"{first}0") == f"{first}0"


def test_only_the_last_secrets_have_references(monkeypatch: pytest.MonkeyPatch, elsewhere: Callable[[], None]) -> None:
    elsewhere()
    monkeypatch.setattr("hudi_hive.secret_references._MOST", 10)
    references = [reference_to(f"{SECRET}{number}") for number in range(15)]
    assert [is_reference(secret_behind(one)) for one in references] == [True] * 5 + [False] * 10
    assert reference_to(f"{SECRET}0") != references[0]
    reference_to(f"{SECRET}6")
    reference_to("another")
    assert secret_behind(references[6]) == f"{SECRET}6", "the one that was pickled longest ago goes first"


def test_a_storage_has_its_secrets_from_what_this_process_was_given(elsewhere: Callable[[], None]) -> None:
    data = pickle.dumps(Storage("s3a://lake/t", {**KEYS, "region": "eu-west-3", "retry_timeout": "1"}))
    assert SECRET.encode() not in data and b"eu-west-3" in data
    assert pickle.loads(data).storage_options["secret_key"] == SECRET
    elsewhere()
    storage = pickle.loads(data)
    assert repr(storage) == "Storage('s3a://lake/t')"
    for use in (storage.list, storage.uri, lambda: storage.child("x"), lambda: storage.read_bytes("x")):
        with pytest.raises(MissingSecretError, match="access_key, secret_key, session_token") as caught:
            use()
        assert "use_storage_options" in str(caught.value) and "s3a://lake/t" in str(caught.value)
    assert pickle.loads(pickle.dumps(storage)).__getstate__() == storage.__getstate__()
    use_storage_options({"secret": "other secret", "key": "other key", "region": "us-east-9", "endpoint": "http://h"})
    assert storage.uri("x") == "s3a://lake/t/x" and storage.child("x").root == "lake/t/x"
    expected = {"secret": "other secret", "key": "other key", "region": "eu-west-3", "retry_timeout": "1"}
    assert dict(storage.storage_options) == expected, "what is no secret is the pickle's"


def test_the_environment_takes_the_place_of_secrets(
    elsewhere: Callable[[], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data = pickle.dumps(Storage("s3://lake/t", {**KEYS, "region": "eu"}))
    locked = pickle.dumps(Storage("s3://lake/t", {"encryption": "SSE-C", "encryption_key": SSE_C, **KEYS}))
    elsewhere()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    assert dict(pickle.loads(data).storage_options) == {"region": "eu"}
    with pytest.raises(MissingSecretError, match="none for encryption_key \\[path"):
        pickle.loads(locked).uri()
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(MissingSecretError):
        pickle.loads(data).uri()
    use_storage_options({})
    assert dict(pickle.loads(data).storage_options) == {"region": "eu"}, "it is left to the machine"
    use_storage_options(None)
    (tmp_path / "credentials").write_text("[default]\naws_access_key_id=k\naws_secret_access_key=s\n")
    assert dict(pickle.loads(data).storage_options) == {"region": "eu"}


@pytest.mark.parametrize(
    ("location", "pickled", "options", "expected"),
    [
        ("s3a://lake/t", {"fs.s3a.secret.key": SECRET, "fs.s3a.access.key": SECRET}, KEYS, KEYS),
        ("s3a://lake/t", KEYS, {"fs.s3a.bucket.lake.access.key": "a", "fs.s3a.bucket.lake.secret.key": "b"}, None),
        ("s3a://lake/t", KEYS, {"fs.s3a.bucket.other.access.key": "a", "fs.s3a.bucket.other.secret.key": "b"}, False),
        ("s3a://lake/t", KEYS, {"account_key": "b"}, False),
        ("s3a://lake/t", KEYS, {"profile": "p", "endpoint": "http://h"}, {"profile": "p"}),
        ("abfs://box@acc.dfs.core.windows.net/t", {"account_key": "c2VjcmV0"}, {"sas_token": "a=b"}, None),
        ("abfs://box@acc.dfs.core.windows.net/t", {"account_key": "c2VjcmV0"}, KEYS, False),
        ("gs://box/t", {"access_token": SECRET}, {"token": "b"}, None),
        ("gs://box/t", {"access_token": SECRET, **KEYS}, {"account_key": "b"}, False),
    ],
)
def test_what_was_given_counts_for_its_store(
    elsewhere: Callable[[], None],
    location: str,
    pickled: dict[str, str],
    options: dict[str, str],
    expected: dict[str, str] | bool | None,
) -> None:
    data = pickle.dumps(Credentials(pickled))
    elsewhere()
    loaded = pickle.loads(data)
    use_storage_options(options)
    if expected is False:
        with pytest.raises(MissingSecretError):
            Storage(location, loaded)
        return
    try:
        storage = Storage(location, loaded)
    except StoreCredentialsError as error:
        assert not isinstance(error, MissingSecretError) and "profile" in options
        return
    own = {name: value for name, value in storage.storage_options.items() if not is_reference(value)}
    assert own == (options if expected is None else expected)


def test_secrets_of_other_stores_are_not_asked_for_and_not_lost(elsewhere: Callable[[], None], tmp_path: Path) -> None:
    data = pickle.dumps(Credentials({**KEYS, "account_key": "k", "fs.gs.auth.service.account.private.key": SECRET}))
    elsewhere()
    loaded = pickle.loads(data)
    (tmp_path / "x").write_bytes(b"data")
    local = Storage(str(tmp_path), loaded)
    assert local.read_bytes("x") == b"data"
    with pytest.raises(MissingSecretError):
        Storage("s3://lake/t", local.storage_options)
    with pytest.raises(MissingSecretError):
        names.SECRET_KEY.of(local.storage_options)
    with pytest.raises(MissingSecretError):
        Storage("s3://lake/t", layered({"region": "eu"}, loaded))
    use_storage_options({"access_key": "a", "secret_key": "b"})
    assert Storage("s3://lake/t", local.storage_options).storage_options["secret_key"] == "b"


def test_an_engine_says_what_takes_the_place_of_secrets(elsewhere: Callable[[], None]) -> None:
    data = pickle.dumps(Storage("s3://lake/t", KEYS))
    elsewhere()
    add_options_origin("a test", lambda: {"access_key": "a", "secret_key": "b"})
    assert pickle.loads(data).storage_options == {"access_key": "a", "secret_key": "b"}
    use_storage_options({"access_key": "c", "secret_key": "d"})
    assert pickle.loads(data).storage_options == {"access_key": "c", "secret_key": "d"}
    add_options_origin("a test", dict)


def test_passwords_in_uris_are_in_no_pickle(elsewhere: Callable[[], None]) -> None:
    for text in (f"s3a://AKIA:{SECRET}@lake/t", "s3a://AKIA:T0pSecretValue@lake/t"):
        storage = Storage(text)
        data = pickle.dumps(storage)
        assert b"T0pSecretValue" not in data
        assert pickle.loads(data).storage_options == storage.storage_options
    by_fsspec = Storage(f"memory://user:{SECRET}@host/pickled")
    by_fsspec.write_bytes("x", b"data")
    data = pickle.dumps(by_fsspec)
    assert SECRET.encode() not in data and pickle.loads(data).read_bytes("x") == b"data"
    elsewhere()
    with pytest.raises(MissingSecretError, match="password stood in this storage's URI"):
        pickle.loads(data).read_bytes("x")


def test_jobs_configurations_and_logins_have_none() -> None:
    job = {
        "mapreduce.input.fileinputformat.inputdir": "s3a://lake/t",
        "fs.s3a.secret.key": SECRET,
        "fs.s3a.access.key": SECRET,
        "javax.jdo.option.ConnectionPassword": SECRET,
    }
    options = {"hoodie.datasource.hive_sync.password": SECRET, "hoodie.aws.secret.key": SECRET}
    config = HiveSyncConfig(
        base_path=f"s3a://AKIA:{SECRET}@lake/t",
        metastore_uris=f"thrift://user:{SECRET}@host:9083",
        jdbc_url=f"jdbc:hive2://h:1/;password={SECRET}",
        password=SECRET,
        storage_options=KEYS,
        glue=GlueSettings(access_key=SECRET, secret_key=SECRET),
    )
    sealed = [
        JobConf(job),
        WriteConfig.of(options),
        config,
        config.glue,
        Sasl("PLAIN", user="u", password=SECRET),
        Tls(certificate="c", key="k", key_password=SECRET),
        DelegationToken(b"identifier", SECRET.encode()),
        parse_jdbc_url(f"jdbc:hive2://h:1/db;user=u;password={SECRET}?hive.x.password={SECRET}"),
    ]
    for one in sealed:
        data = pickle.dumps(one)
        assert SECRET.encode() not in data, type(one)
        assert pickle.loads(data) == one, type(one)


def test_configurations_whose_secrets_are_missing_say_so(elsewhere: Callable[[], None]) -> None:
    job = pickle.dumps(JobConf({"fs.s3a.secret.key": SECRET, "mapreduce.input.fileinputformat.inputdir": "s3a://b/t"}))
    config = pickle.dumps(HiveSyncConfig(base_path="/t", password=SECRET))
    login = pickle.dumps(Sasl("PLAIN", user="u", password=SECRET))
    plain = pickle.dumps(HiveSyncConfig(base_path="/t", storage_options=KEYS))
    elsewhere()
    for data in (config, login):
        with pytest.raises(MissingSecretError, match="none for password"):
            pickle.loads(data)
    assert pickle.loads(plain).base_path == "/t"
    format_ = HoodieParquetInputFormat(pickle.loads(job))
    with pytest.raises(MissingSecretError, match=r"none for fs\.s3a\.secret\.key"):
        format_.list_status()


class _Uses:
    """A step that tells what its options are."""

    def __init__(self, options: Credentials) -> None:
        self.options = options

    def __call__(self, name: str) -> Any:
        return self.options[name]


class _Variable:
    def __init__(self, value: bytes) -> None:
        self.value = value


class _Tally:
    """Takes no counts: the step makes none."""

    def add(self, term: Totals, /) -> None:
        raise AssertionError(term)


def test_steps_bring_their_secrets_beside_them(elsewhere: Callable[[], None]) -> None:
    with collected_secrets() as secrets:
        pickled = pickle.dumps(_Uses(Credentials(KEYS)))
    assert set(secrets.values()) == set(KEYS.values())
    masked = mask_secrets(secrets, _Variable)
    step = ShippedStep(pickled, masked, "_Uses", _Tally())
    variable = masked.variable.value
    assert SECRET.encode() not in variable + masked.mask and mask_secrets(secrets, _Variable).mask != masked.mask
    data = pickle.dumps(step)
    assert SECRET.encode() not in data
    elsewhere()
    assert pickle.loads(data)("secret_key") == SECRET
    with collected_secrets() as again:
        pickle.dumps(Credentials(KEYS))
    assert again == secrets, "what an executor pickles refers to the same secrets"
    add_secrets({"no reference": "x"})
    assert secret_behind("no reference") == "no reference"


def test_steps_for_spark_are_sent_by_the_one_way_that_takes_secrets_out() -> None:
    source = Path(use_storage_options.__code__.co_filename).parents[2] / "spark"
    calls = re.compile(r"\.(mapInArrow|mapInPandas|mapPartitions\w*|foreachPartition|applyInArrow|parallelize)\(")
    users = {path.name for path in source.rglob("*.py") if calls.search(path.read_text())}
    assert users == {"shipping.py", "executor.py", "merging.py"}, "the last one sends rows, from the JVM"


def test_secrets_of_secrets_are_taken_over() -> None:
    nested = {"password": Credentials(KEYS)}
    with collected_secrets() as secrets:
        data = pickle.dumps(Credentials({"use_fsspec": True, **nested}))
    assert SECRET.encode() not in data and len(secrets) == 4
    reference = next(name for name, secret in secrets.items() if secret == nested["password"])
    add_secrets({f"{reference}0": nested["password"]})
    assert secret_behind(f"{reference}0") == KEYS


def test_another_process_has_no_secrets_and_pools_go_on(tmp_path: Path) -> None:
    """A real process, which lists a table's folder and raises the error where it is used, not where it is loaded."""
    path = tmp_path / "pickle"
    path.write_bytes(pickle.dumps([Storage("s3://lake/t", {**KEYS, "endpoint": "http://127.0.0.1:1"})]))
    script = textwrap.dedent(
        """
        import pickle, sys
        from hudi_hive import HudiHiveError
        [storage] = pickle.loads(open(sys.argv[1], "rb").read())
        try:
            storage.list()
        except HudiHiveError as error:
            print(type(error).__name__, error)
        """
    )
    run = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False)
    assert run.stdout.startswith("MissingSecretError pickles have no secrets") and SECRET not in run.stdout + run.stderr
