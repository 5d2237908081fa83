"""Storage options of several origins: who goes before whom, and what Hadoop's properties mean for a bucket."""

from __future__ import annotations

import pytest

from hudi_hive.errors import InvalidOptionError
from hudi_hive.storage import Credentials, Storage, hadoop_properties, layered, split_credential_providers
from hudi_hive.storage.stores.settings import options_of_store

KEYS = {"access_key": "mine", "secret_key": "my-secret"}
S3A = {"fs.s3a.access.key": "hadoop", "fs.s3a.secret.key": "hadoop-secret", "fs.s3a.session.token": "hadoop-token"}
PROVIDER = "fs.s3a.aws.credentials.provider"
AUTH = "org.apache.hadoop.fs.s3a"


@pytest.mark.parametrize(
    ("layers", "merged"),
    [
        # Credentials go together, under whatever names; an earlier layer's go before.
        ([KEYS, S3A], KEYS),
        ([{"key": "k", "secret": "s"}, {**KEYS, "session_token": "t"}], {"key": "k", "secret": "s"}),
        ([{"anonymous": True}, KEYS, S3A], {"anonymous": True}),
        ([{"profile": "p"}, {**KEYS, "region": "eu-west-1"}], {"profile": "p", "region": "eu-west-1"}),
        ([{"hoodie.aws.access.key": "h", "hoodie.aws.secret.key": "s"}, KEYS], "first"),
        ([S3A, KEYS], S3A),
        # Of one bucket: those of all buckets go before where the earlier layer has them, and only for it otherwise.
        ([S3A, {"fs.s3a.bucket.a.access.key": "x"}], S3A),
        ([{"fs.s3a.bucket.a.access.key": "x"}, {"fs.s3a.bucket.a.secret.key": "y"}], "first"),
        ([{"fs.s3a.bucket.a.access.key": "x"}, {"fs.s3a.bucket.b.access.key": "y"}], "both"),
        # An endpoint and its scheme are one; the rest is not touched by credentials.
        ([{"endpoint": "http://a"}, {"scheme": "https", "region": "r"}], {"endpoint": "http://a", "region": "r"}),
        ([{"region": "r"}, {"fs.s3a.endpoint": "b", "region_name": "q"}], {"region": "r", "fs.s3a.endpoint": "b"}),
        # Stores of different kinds do not meet.
        ([KEYS, {"account_key": "a", "service_account": "f"}], "both"),
        ([{"access_key": None}, KEYS, None], KEYS),
    ],
)  # fmt: skip
def test_layers_of_settings_are_merged(layers, merged):
    result = layered(*layers)
    if merged == "first":
        merged = layers[0]
    elif merged == "both":
        merged = layers[0] | layers[1]
    assert dict(result) == merged
    assert isinstance(result, Credentials)


@pytest.mark.parametrize(
    ("properties", "options"),
    [
        (S3A, {"access_key": "hadoop", "secret_key": "hadoop-secret", "session_token": "hadoop-token"}),
        (
            {**S3A, "fs.s3a.bucket.lake.access.key": "own", "fs.s3a.bucket.other.secret.key": "no"},
            {"access_key": "own", "secret_key": "hadoop-secret", "session_token": "hadoop-token"},
        ),
        (
            {"fs.s3a.endpoint": "h:9", "fs.s3a.connection.ssl.enabled": "false", "fs.s3a.path.style.access": "true"},
            {"endpoint": "h:9", "scheme": "http", "virtual_hosted_style": "false"},
        ),
        ({"fs.s3a.endpoint.region": "eu-west-1", "fs.s3a.endpoint": ""}, {"region": "eu-west-1"}),
        ({"fs.s3a.proxy.host": "p", "fs.s3a.proxy.port": "81"}, {"proxy_url": "http://p:81"}),
        ({**S3A, PROVIDER: f"{AUTH}.AnonymousAWSCredentialsProvider"}, {"anonymous": "true"}),
        (
            {PROVIDER: f"{AUTH}.auth.AssumedRoleCredentialProvider", "fs.s3a.assumed.role.arn": "arn:r"},
            {"role_arn": "arn:r"},
        ),
        ({"fs.s3a.assumed.role.arn": "arn:r"}, {}),  # another provider is in force
        ({**KEYS, **S3A, "fs.s3a.endpoint": "e"}, {**KEYS, "endpoint": "e"}),
        ({PROVIDER: "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider"}, {}),
        ({PROVIDER: "com.example.Vault", **KEYS}, KEYS),
        ({"fs.s3a.block.size": "1m", "dfs.replication": "1", "hoodie.table.name": "t"}, {}),
    ],
)  # fmt: skip
def test_properties_of_s3a(properties, options):
    assert options_of_store("s3", "lake", "", properties) == options


@pytest.mark.parametrize(
    ("properties", "options"),
    [
        ({"fs.azure.account.key.lake.dfs.core.windows.net": "YWJj"}, {"account_key": "YWJj"}),
        ({"fs.azure.account.key.lake.blob.core.windows.net": "YWJj"}, {"account_key": "YWJj"}),
        ({"fs.azure.account.key.other.dfs.core.windows.net": "YWJj"}, {}),
        ({"fs.azure.sas.fixed.token.lake.dfs.core.windows.net": "?sv=1&sig=x"}, {"sas_token": "sv=1&sig=x"}),
        ({"fs.azure.sas.files.lake.blob.core.windows.net": "sv=1&sig=x"}, {"sas_token": "sv=1&sig=x"}),
        (
            {
                "fs.azure.account.key": "YWJj",
                "fs.azure.account.auth.type.lake.dfs.core.windows.net": "OAuth",
                "fs.azure.account.oauth2.client.id": "i",
                "fs.azure.account.oauth2.client.secret": "s",
                "fs.azure.account.oauth2.client.endpoint": "https://login.microsoftonline.com/tenant/oauth2/token",
            },
            {"client_id": "i", "client_secret": "s", "tenant_id": "tenant"},
        ),
    ],
)
def test_properties_of_azure(properties, options):
    assert options_of_store("abfs", "files", "lake.dfs.core.windows.net", properties) == options


def test_properties_of_gcs():
    file = {"fs.gs.auth.service.account.json.keyfile": "/key.json", "fs.gs.storage.root.url": "http://e"}
    assert options_of_store("gs", "lake", "", file) == {"service_account": "/key.json", "endpoint": "http://e"}
    assert options_of_store("gs", "lake", "", {"fs.gs.auth.type": "UNAUTHENTICATED"}) == {"anonymous": "true"}


@pytest.mark.parametrize(
    ("kind", "properties", "named"),
    [
        ("s3", {PROVIDER: "com.example.Vault"}, "Vault"),
        ("gs", {"fs.gs.auth.type": "ACCESS_TOKEN_PROVIDER"}, "ACCESS_TOKEN_PROVIDER"),
        ("abfs", {"fs.azure.account.auth.type": "Custom"}, "Custom"),
    ],
)
def test_credentials_that_only_hadoop_can_find_are_refused_by_name(kind, properties, named):
    with pytest.raises(InvalidOptionError, match=named):
        options_of_store(kind, "lake", "lake.dfs.core.windows.net", properties)


def test_a_storage_takes_the_keys_of_its_own_bucket():
    options = {**S3A, "fs.s3a.bucket.lake.access.key": "of-lake", "fs.s3a.endpoint": "http://127.0.0.1:1"}
    configs = [Storage(f"s3a://{bucket}/t", options)._store._client.config for bucket in ("lake", "sea")]
    assert [config["access_key_id"] for config in configs] == ["of-lake", "hadoop"]
    given = Storage("s3a://sea/t", {**options, **KEYS})._store._client.config
    assert given["access_key_id"] == "mine" and "session_token" not in given


OF_LAKE = {"fs.s3a.bucket.lake.access.key": "of-lake", "fs.s3a.bucket.lake.secret.key": "lake-secret"}


@pytest.mark.parametrize(
    "session", [KEYS, {**KEYS, "session_token": "t"}, S3A, {"profile": "p"}, {"anonymous": "true"}]
)
def test_what_a_call_says_of_a_bucket_goes_before_what_its_session_says_of_all(session):
    merged = layered(OF_LAKE, session, {"fs.s3a.bucket.lake.session.token": "no", "fs.s3a.endpoint": "e"})
    expected = {"access_key": "of-lake", "secret_key": "lake-secret", "endpoint": "e"}
    assert options_of_store("s3", "lake", "", merged) == expected
    properties = hadoop_properties(merged, "s3a://lake/t")
    beginning = "fs.s3a.bucket.lake."
    assert properties[f"{beginning}access.key"] == "of-lake" and not properties.get(f"{beginning}session.token")
    assert properties[f"{beginning}aws.credentials.provider"] == f"{AUTH}.SimpleAWSCredentialsProvider"
    other = options_of_store("s3", "sea", "", merged)
    assert other == options_of_store("s3", "sea", "", {**session, "fs.s3a.endpoint": "e"})


def test_what_a_call_says_of_all_buckets_goes_before_what_its_session_says_of_one():
    for call in (KEYS, {"fs.s3a.access.key": "mine", "fs.s3a.secret.key": "my-secret"}):
        merged = layered(call, OF_LAKE)
        assert options_of_store("s3", "lake", "", merged) == KEYS
        assert hadoop_properties(merged, "s3a://lake/t")["fs.s3a.bucket.lake.access.key"] == "mine"


SSE_C = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
ENDPOINT = {**KEYS, "endpoint": "http://127.0.0.1:1"}


@pytest.mark.parametrize(
    ("options", "config"),
    [
        ({"encryption": "SSE-S3"}, {"server_side_encryption": "AES256"}),
        ({"fs.s3a.encryption.algorithm": "AES256"}, {"server_side_encryption": "AES256"}),
        (
            {"fs.s3a.server-side-encryption-algorithm": "SSE-KMS", "fs.s3a.server-side-encryption.key": "arn:k"},
            {"server_side_encryption": "aws:kms", "sse_kms_key_id": "arn:k"},
        ),
        (
            {"fs.s3a.bucket.lake.encryption.algorithm": "DSSE-KMS", "fs.s3a.encryption.key": "arn:k"},
            {"server_side_encryption": "aws:kms:dsse", "sse_kms_key_id": "arn:k"},
        ),
        (
            {"server_side_encryption": "sse-c", "sse_customer_key_base64": SSE_C},
            {"server_side_encryption": "sse-c", "sse_customer_key_base64": SSE_C},
        ),
    ],
)
def test_encryption_of_the_store(options, config):
    made = Storage("s3a://lake/t", {**ENDPOINT, **options})._store._client.config
    assert {name: text for name, text in made.items() if "sse" in name or "encrypt" in name} == config
    properties = hadoop_properties({**ENDPOINT, **options}, "s3a://lake/t")
    assert Storage("s3a://lake/t", properties)._store._client.config == made


@pytest.mark.parametrize(
    ("kind", "options", "named"),
    [
        ("s3", {"encryption": "SSE-C", "encryption_key": "dG9vIHNob3J0"}, "encryption_key is not a key of SSE-C"),
        ("s3", {"encryption": "SSE-C"}, "encryption_key is not a key of SSE-C"),
        ("s3", {"encryption_key": SSE_C}, "without an encryption"),
        ("s3", {"encryption": "AES256", "encryption_key": SSE_C}, "without an encryption"),
        ("s3", {"fs.s3a.encryption.algorithm": "CSE-KMS"}, "CSE-KMS"),
        ("s3", {"fs.s3a.bucket.lake.encryption.algorithm": "ROT13"}, "ROT13"),
        ("s3", {"fs.s3a.encryption.algorithm": "SSE-KMS", "fs.s3a.encryption.context": "a=b"}, "encryption.context"),
        ("gs", {"fs.gs.encryption.key": SSE_C}, "fs.gs.encryption.key"),
        ("abfs", {"fs.azure.encryption.encoded.client-provided-key": SSE_C}, "client-provided-key"),
        ("abfs", {"fs.azure.client-provided-encryption-key.a": SSE_C}, "client-provided-encryption-key"),
    ],
)
def test_encryption_that_cannot_be_had_is_refused_by_name(kind, options, named):
    address = {"s3": "s3a://lake/t", "gs": "gs://lake/t", "abfs": "abfss://lake@a.dfs.core.windows.net/t"}[kind]
    with pytest.raises(InvalidOptionError, match=named) as failure:
        Storage(address, {**(ENDPOINT if kind == "s3" else {}), **options})
    assert SSE_C not in str(failure.value)


PROVIDERS = "security.credential.provider.path"


@pytest.mark.parametrize("name", [f"hadoop.{PROVIDERS}", f"fs.s3a.{PROVIDERS}", f"fs.s3a.bucket.lake.{PROVIDERS}"])
def test_hadoop_s_credential_providers_are_refused_by_name_where_nothing_else_says_who_asks(name):
    path = {name: "jceks://file/keys.jceks"}
    with pytest.raises(InvalidOptionError, match=PROVIDERS):
        options_of_store("s3", "lake", "", path)
    assert options_of_store("s3", "lake", "", layered(KEYS, path)) == KEYS
    machine = "org.apache.hadoop.fs.s3a.auth.IAMInstanceCredentialsProvider"
    assert options_of_store("s3", "lake", "", {**path, PROVIDER: machine}) == {}
    others, paths = split_credential_providers({**path, **KEYS})
    assert others == KEYS and paths == {"lake" if "lake" in name else "": "jceks://file/keys.jceks"}
    if name.startswith("hadoop"):
        with pytest.raises(InvalidOptionError, match=PROVIDERS):
            options_of_store("abfs", "c", "a.dfs.core.windows.net", path)


def test_keys_in_the_address_come_after_options():
    of_address = Storage("s3a://k:s@lake/t", {"endpoint": "http://127.0.0.1:1"})
    assert of_address.storage_options["access_key"] == "k"
    other = Storage("s3a://k:s@lake/t", {"key": "mine", "secret": "s2", "use_fsspec": "false"})
    assert other.storage_options["key"] == "mine" and "access_key" not in other.storage_options


def test_options_as_properties_of_hadoop():
    options = {**KEYS, "endpoint": "http://h:1", "region": "r"}
    properties = hadoop_properties(options)
    assert properties == {
        "fs.s3a.access.key": "mine",
        "fs.s3a.secret.key": "my-secret",
        "fs.s3a.endpoint": "http://h:1",
        "fs.s3a.endpoint.region": "r",
        "fs.s3a.connection.ssl.enabled": "false",
        "fs.s3a.path.style.access": "true",
        PROVIDER: f"{AUTH}.SimpleAWSCredentialsProvider",
    }
    back = options_of_store("s3", "lake", "", properties)
    assert back == {**options, "scheme": "http", "virtual_hosted_style": "false"}
    of_bucket = hadoop_properties({**options, "fs.s3a.proxy.host": "p"}, "s3a://lake/t")
    assert of_bucket["fs.s3a.bucket.lake.access.key"] == "mine" and of_bucket["fs.s3a.bucket.lake.proxy.host"] == "p"
    assert hadoop_properties({"session_token": "t", **KEYS})[PROVIDER].endswith("TemporaryAWSCredentialsProvider")
    assert hadoop_properties({"anonymous": "true"}) == {PROVIDER: f"{AUTH}.AnonymousAWSCredentialsProvider"}


def test_nothing_shows_secrets():
    secret = "very-secret-value"
    names = (
        "secret_key",
        "fs.s3a.bucket.b.secret.key",
        "fs.azure.sas.c.a.blob.core.windows.net",
        "fs.azure.account.key.a",
    )
    merged = layered({"access_key": "a"}, {}, dict.fromkeys(names, secret))
    assert secret not in repr(layered(dict.fromkeys(names, secret))) and secret not in f"{merged}"
    with pytest.raises(InvalidOptionError) as failure:
        options_of_store("s3", "b", "", {"secret_key": secret, "secret": "another-secret", "access_key": "k"})
    assert secret not in str(failure.value) and "another-secret" not in str(failure.value)


@pytest.mark.parametrize(
    ("uri", "endpoint"),
    [
        ("abfs://files@lake.dfs.core.windows.net/t", None),
        ("wasbs://files@lake.blob.core.windows.net/t", None),
        ("az://files/t", None),
        ("abfss://files@lake.dfs.core.chinacloudapi.cn/t", "https://lake.blob.core.chinacloudapi.cn"),
        ("abfss://files@lake.z10.dfs.storage.azure.net/t", "https://lake.z10.blob.storage.azure.net"),
    ],
)
def test_accounts_of_azure_are_where_their_hosts_say(uri, endpoint):
    storage = Storage(uri, {"account_name": "lake", "account_key": "YWJj"})
    config = storage._store._client.config
    assert config.get("endpoint") == endpoint and config["account_name"] == "lake"
    assert storage.uri() == uri
