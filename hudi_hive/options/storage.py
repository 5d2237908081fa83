"""Storage options: where an object store is, who asks it, and how long requests are tried again.

Each has the names of the libraries that users know: ``pyarrow.fs``, s3fs, gcsfs, adlfs, AWS's own; those of Hadoop's
S3A connector (``fs.s3a.*``) and Hudi's (``hoodie.aws.*``).
"""

from __future__ import annotations

from typing import Any, Final

from hudi_hive.options.declaration import Face, Option
from hudi_hive.options.parsers import (
    Parser,
    boolean,
    choice,
    decimal_from_zero,
    mapped,
    optional_text,
    positive_decimal,
    positive_size,
)


def _aws(name: str, default: Any, summary: str, *aliases: str) -> Option[Any]:  # noqa: ANN401
    """Who asks AWS: a table's store, or a sync to Glue."""
    faces = (Face.STORAGE, Face.SYNC)
    return Option(name, optional_text, default, summary, honoured_by=faces, aliases=aliases)


def _storage(name: str, parser: Parser[Any], default: Any, summary: str, *aliases: str) -> Option[Any]:  # noqa: ANN401
    return Option(name, parser, default, summary, honoured_by=(Face.STORAGE,), aliases=aliases)


FOLLOW_LINKS: Final = _storage(
    "follow_links", boolean, False, "Read through symbolic links that lead out of a local table's folder."
)
USE_FSSPEC: Final = _storage(
    "use_fsspec", boolean, False, "Use the scheme's fsspec class, which takes all other options as they are."
)
CACHE_FOLDER: Final = _storage(
    "cache_folder",
    optional_text,
    None,
    "Folder of this machine that caches data files of remote stores; none: no cache.",
)
CACHE_BYTES: Final = _storage(
    "cache_bytes", positive_size, 10 << 30, "Bytes that the cache of data files has at most; with cache_folder."
)
ANONYMOUS: Final = _storage(
    "anonymous", boolean, False, "Send requests without credentials.", "anon", "skip_signature", "aws_skip_signature"
)
ENDPOINT: Final = _storage(
    "endpoint",
    optional_text,
    None,
    "URL of the store, or its host and port, where it is not the cloud's own.",
    *("endpoint_override", "endpoint_url", "aws_endpoint", "aws_endpoint_url", "fs.s3a.endpoint"),
)
SCHEME: Final = _storage(
    "scheme", choice("http", "https"), None, "How an endpoint is spoken to that is only a host and port."
)
CONNECT_TIMEOUT: Final = _storage(
    "connect_timeout", positive_decimal, 10.0, "Seconds in which a connection is to be made.", "connect_timeout_s"
)
REQUEST_TIMEOUT: Final = _storage(
    "request_timeout", positive_decimal, 30.0, "Seconds in which one request is to be answered.", "request_timeout_s"
)
RETRY_TIMEOUT: Final = _storage(
    "retry_timeout", decimal_from_zero, 60.0, "Seconds in which a request that fails is tried again.", "retry_timeout_s"
)
PROXY: Final = _storage("proxy_url", optional_text, None, "URL of an HTTP proxy.", "proxy_options", "proxy")

ACCESS_KEY: Final = _aws(
    "access_key",
    None,
    "AWS: access key.",
    *("key", "access_key_id", "aws_access_key_id", "fs.s3a.access.key", "hoodie.aws.access.key"),
)
SECRET_KEY: Final = _aws(
    "secret_key",
    None,
    "AWS: secret key.",
    *("secret", "secret_access_key", "aws_secret_access_key", "fs.s3a.secret.key", "hoodie.aws.secret.key"),
)
SESSION_TOKEN: Final = _aws(
    "session_token",
    None,
    "AWS: session token of temporary keys.",
    *("aws_session_token", "fs.s3a.session.token", "hoodie.aws.session.token"),
)
REGION: Final = _aws(
    "region",
    None,
    "AWS: region.",
    *("aws_region", "region_name", "fs.s3a.endpoint.region", "hoodie.aws.region"),
)
PROFILE: Final = _aws(
    "profile", None, "AWS: profile of AWS's files of credentials.", "aws_profile", "hoodie.aws.profile"
)
ROLE_ARN: Final = _aws(
    "role_arn",
    None,
    "AWS: role to assume.",
    *("aws_role_arn", "fs.s3a.assumed.role.arn", "hoodie.aws.role.arn"),
)
ROLE_SESSION: Final = _aws(
    "role_session_name",
    "hudi-hive",
    "AWS: name of an assumed role's session.",
    *("session_name", "fs.s3a.assumed.role.session.name", "hoodie.aws.role.session.name"),
)
EXTERNAL_ID: Final = _aws(
    "external_id",
    None,
    "AWS: what the owner of a role wants to hear.",
    *("fs.s3a.assumed.role.external.id", "hoodie.aws.role.external.id"),
)
VIRTUAL_HOSTS: Final = _storage(
    "virtual_hosted_style",
    boolean,
    False,
    "S3: the bucket stands in the host's name.",
    *("force_virtual_addressing", "virtual_hosted_style_request"),
)
ENCRYPTION: Final = _storage(
    "encryption",
    mapped(
        {
            **dict.fromkeys(("SSE-S3", "AES256"), "SSE-S3"),
            **dict.fromkeys(("SSE-KMS", "aws:kms"), "SSE-KMS"),
            **dict.fromkeys(("DSSE-KMS", "aws:kms:dsse"), "DSSE-KMS"),
            "SSE-C": "SSE-C",
        }
    ),
    None,
    "S3: how the store encrypts what is written; with SSE-C what is read, too.",
    *("server_side_encryption", "aws_server_side_encryption"),
    *("fs.s3a.encryption.algorithm", "fs.s3a.server-side-encryption-algorithm"),
)
ENCRYPTION_KEY: Final = _storage(
    "encryption_key",
    optional_text,
    None,
    "S3: id of the key of SSE-KMS and DSSE-KMS; for SSE-C the key itself, 32 bytes as base64.",
    *("sse_kms_key_id", "aws_sse_kms_key_id", "sse_customer_key_base64", "aws_sse_customer_key_base64"),
    *("fs.s3a.encryption.key", "fs.s3a.server-side-encryption.key"),
)

SERVICE_ACCOUNT: Final = _storage(
    "service_account",
    optional_text,
    None,
    "GCS: file of a service account's key.",
    *("google_service_account", "service_account_path", "application_credentials", "google_application_credentials"),
)
ACCESS_TOKEN: Final = _storage(
    "access_token", optional_text, None, "GCS, Azure: bearer token.", "bearer_token", "token"
)

ACCOUNT_NAME: Final = _storage(
    "account_name", optional_text, None, "Azure: storage account.", "azure_storage_account_name"
)
ACCOUNT_KEY: Final = _storage(
    "account_key", optional_text, None, "Azure: key of the account.", "azure_storage_account_key"
)
SAS_TOKEN: Final = _storage(
    "sas_token", optional_text, None, "Azure: shared access signature.", "sas_key", "azure_storage_sas_token"
)
TENANT_ID: Final = _storage("tenant_id", optional_text, None, "Azure: tenant of a client.", "azure_tenant_id")
CLIENT_ID: Final = _storage("client_id", optional_text, None, "Azure: client.", "azure_client_id")
CLIENT_SECRET: Final = _storage(
    "client_secret", optional_text, None, "Azure: secret of a client.", "azure_client_secret"
)

STORAGE_OPTIONS: Final = (
    FOLLOW_LINKS,
    USE_FSSPEC,
    CACHE_FOLDER,
    CACHE_BYTES,
    ANONYMOUS,
    ENDPOINT,
    SCHEME,
    CONNECT_TIMEOUT,
    REQUEST_TIMEOUT,
    RETRY_TIMEOUT,
    PROXY,
    ACCESS_KEY,
    SECRET_KEY,
    SESSION_TOKEN,
    REGION,
    PROFILE,
    ROLE_ARN,
    ROLE_SESSION,
    EXTERNAL_ID,
    VIRTUAL_HOSTS,
    ENCRYPTION,
    ENCRYPTION_KEY,
    SERVICE_ACCOUNT,
    ACCESS_TOKEN,
    ACCOUNT_NAME,
    ACCOUNT_KEY,
    SAS_TOKEN,
    TENANT_ID,
    CLIENT_ID,
    CLIENT_SECRET,
)
