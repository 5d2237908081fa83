"""An S3 server on loopback for tests: moto in a process of its own, with atomic conditional puts."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from integration.support.stores.module_server import ModuleServer

if TYPE_CHECKING:
    from collections.abc import Mapping

ACCESS_KEY: Final = "AKIAHUDIHIVETESTS001"
SECRET_KEY: Final = "secret-of-the-tests/0123456789+abcdefghij"
REGION: Final = "us-east-1"
BUCKET: Final = "lake"


class S3Server:
    """A running server; a context manager that stops it. moto serves DynamoDB, Glue and STS at the same address.

    Attributes:
        port: its port on 127.0.0.1.
    """

    def __init__(self) -> None:
        self._server = ModuleServer("integration.support.stores.s3_main", "S3")
        self._numbers = itertools.count(1)
        self.port = 0

    def start(self) -> Self:
        """Start the server and make its first bucket, ``lake``."""
        self.port = self._server.start()
        self.make_bucket(BUCKET)
        return self

    def stop(self) -> None:
        """Stop the server; what it held is gone."""
        self._server.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def endpoint(self) -> str:
        """URL of the server."""
        return f"http://127.0.0.1:{self.port}"

    def options(self, port: int | None = None) -> dict[str, str]:
        """Storage options of the server.

        Args:
            port: of a proxy in front of it; the server's own if not given.
        """
        return {
            "endpoint": f"http://127.0.0.1:{port or self.port}",
            "access_key": ACCESS_KEY,
            "secret_key": SECRET_KEY,
            "region": REGION,
        }

    def environment(self, port: int | None = None) -> dict[str, str]:
        """Variables by which AWS's clients find the server, and its keys."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port or self.port}",
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def hadoop(self, port: int | None = None) -> dict[str, str]:
        """Properties of Hadoop's S3A connector for the server."""
        return {
            "fs.s3a.endpoint": f"http://127.0.0.1:{port or self.port}",
            "fs.s3a.access.key": ACCESS_KEY,
            "fs.s3a.secret.key": SECRET_KEY,
            "fs.s3a.endpoint.region": REGION,
            "fs.s3a.path.style.access": "true",
            "fs.s3a.connection.ssl.enabled": "false",
        }

    def client(self, service: str = "s3") -> Any:
        """A boto3 client of the server's services: S3, DynamoDB, Glue and others."""
        import boto3
        from botocore.config import Config

        return boto3.client(
            service,
            endpoint_url=self.endpoint,
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
            region_name=REGION,
            config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}),
        )

    def make_bucket(self, name: str) -> str:
        """Make a bucket and give its name."""
        self.client().create_bucket(Bucket=name)
        return name

    def folder(self, scheme: str = "s3") -> str:
        """URI of a folder that nobody has used."""
        return f"{scheme}://{BUCKET}/f{next(self._numbers)}"

    def upload(self, source: Path, uri: str) -> None:
        """Copy a local folder with all its files to a URI; empty folders stay behind, as object stores have none."""
        bucket, _, prefix = uri.partition("://")[2].partition("/")
        client = self.client()
        for path in sorted(source.rglob("*")):
            if path.is_file() and not (path.name.startswith(".") and path.name.endswith(".crc")):
                client.put_object(
                    Bucket=bucket, Key=f"{prefix}/{path.relative_to(source).as_posix()}", Body=path.read_bytes()
                )

    def files(self, uri: str) -> Mapping[str, int]:
        """Sizes of all objects below a URI, by their paths relative to it."""
        bucket, _, prefix = uri.partition("://")[2].partition("/")
        pages = self.client().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{prefix}/")
        return {item["Key"][len(prefix) + 1 :]: item["Size"] for page in pages for item in page.get("Contents", [])}
