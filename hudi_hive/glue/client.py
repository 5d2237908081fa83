"""``GlueClient``: sends requests to Glue, counts them, and tries them again under one deadline."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, Final, TypeVar

from hudi_hive.errors import InvalidOptionError, MissingDependencyError
from hudi_hive.glue.faults import answer_error, client_error
from hudi_hive.glue.settings import GlueSettings
from hudi_hive.metastore.connection import CallCounter
from hudi_hive.redaction import redact
from hudi_hive.storage.stores import RetryPolicy, TransientFault

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_DEFAULT_URI: Final = "glue"


class GlueClient:
    """A client of Glue for several threads; nothing is connected before the first request.

    Args:
        settings: where Glue is, and who asks.
    """

    def __init__(self, settings: GlueSettings) -> None:
        if (settings.access_key is None) != (settings.secret_key is None):
            raise InvalidOptionError(
                "only one of hoodie.aws.access.key and hoodie.aws.secret.key is given",
                remedy="give both, or none and a profile or role",
            )
        self.settings = settings
        self.calls = CallCounter()
        self._retries = RetryPolicy(settings.retry_timeout_s)
        self._guard = threading.Lock()
        self._boto: Any = None

    @property
    def uri(self) -> str:
        """Glue's address, as far as it is known."""
        if self._boto is not None:
            return redact(str(self._boto.meta.endpoint_url))
        return redact(self.settings.endpoint or f"{_DEFAULT_URI}:{self.settings.region or ''}".rstrip(":"))

    def close(self) -> None:
        """Close the connections."""
        with self._guard:
            client, self._boto = self._boto, None
        if client is not None:
            client.close()

    def call(self, operation: str, *, about: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401
        """Send a request until it is answered, or the deadline has passed.

        Args:
            operation: name of the method of boto3's client: ``get_table``.
            about: the object that it is about, for messages.
            arguments: its arguments; the catalog is added.

        Raises:
            TableChangedError: another version of the table is there than ``VersionId`` names.
            MetastoreError: Glue refuses, or cannot be reached.
            InvalidOptionError: region, profile or endpoint make no sense.
        """
        if self.settings.catalog_id is not None:
            arguments["CatalogId"] = self.settings.catalog_id

        def send(_try: int) -> dict[str, Any]:
            try:
                method = getattr(self._connected(), operation)
                self.calls.add(operation)
                answer: dict[str, Any] = method(**arguments)
            except (InvalidOptionError, MissingDependencyError):
                raise
            except Exception as error:
                raise client_error(error, about=about, uri=self.uri, versioned="VersionId" in arguments) from error
            return answer

        return self._retries.run(send)

    def all_done(
        self,
        operation: str,
        items: Sequence[_Item],
        failed: Callable[[Sequence[_Item], dict[str, Any]], Sequence[tuple[_Item, Mapping[str, Any]]]],
        *,
        about: str,
        argument: str,
        **arguments: Any,  # noqa: ANN401
    ) -> list[dict[str, Any]]:
        """Send a request about several objects; those of them that failed for a fault that may pass are sent again.

        Args:
            operation: name of the method of boto3's client.
            items: the objects, as many as Glue takes in one request.
            failed: from the objects and the answer to those that failed, with Glue's detail of each error.
            about: what it is about, for messages.
            argument: name of the argument that the objects are.
            arguments: all other arguments.

        Returns:
            the answers.

        Raises:
            MetastoreError: Glue refuses the request or one of the objects, or cannot be reached.
        """
        left, answers = list(items), list[dict[str, Any]]()

        def send(_try: int) -> None:
            nonlocal left
            answer = self.call(operation, about=about, **{argument: left}, **arguments)
            answers.append(answer)
            faults = failed(left, answer)
            left = [item for item, _ in faults]
            errors = [
                answer_error(
                    str(one.get("ErrorCode", "")), str(one.get("ErrorMessage", "")), 0, about=about, uri=self.uri
                )
                for _, one in faults
            ]
            for error in sorted(errors, key=lambda one: isinstance(one, TransientFault)):
                raise error

        self._retries.run(send)
        return answers

    def side_by_side(self, work: Callable[[_Item], _Result], items: Sequence[_Item], parallelism: int) -> list[_Result]:
        """Do work for each item, several at once; the results in the order of the items.

        Args:
            work: what is done.
            items: for what.
            parallelism: how many are under way at once.
        """
        if parallelism == 1 or len(items) < 2:
            return [work(item) for item in items]
        with ThreadPoolExecutor(min(parallelism, len(items)), thread_name_prefix="glue") as threads:
            futures = [threads.submit(work, item) for item in items]
            try:
                return [future.result() for future in futures]
            except BaseException:
                threads.shutdown(wait=False, cancel_futures=True)
                raise

    def _connected(self) -> Any:  # noqa: ANN401 - a client of boto3 has no type
        with self._guard:
            if self._boto is None:
                self._boto = _connect(self.settings)
            return self._boto


def aws_session(settings: GlueSettings) -> Any:  # noqa: ANN401
    """A session of boto3 with the settings' region and credentials; the environment fills what is not there.

    Raises:
        MissingDependencyError: boto3 is not installed.
    """
    try:
        import boto3
        from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials
        from botocore.exceptions import NoCredentialsError
    except ImportError as error:
        raise MissingDependencyError("syncs to AWS Glue need boto3", remedy="pip install 'hudi_hive[aws]'") from error
    source = _new_session()
    session = boto3.Session(
        aws_access_key_id=settings.access_key,
        aws_secret_access_key=settings.secret_key,
        aws_session_token=settings.session_token,
        profile_name=settings.profile,
        region_name=settings.region,
        botocore_session=source,
    )
    if settings.role_arn is None:
        return session
    source_credentials = session.get_credentials()
    if source_credentials is None:
        raise NoCredentialsError
    fetcher = AssumeRoleCredentialFetcher(
        client_creator=source.create_client,
        source_credentials=source_credentials,
        role_arn=settings.role_arn,
        extra_args={"RoleSessionName": settings.role_session}
        | ({"ExternalId": settings.external_id} if settings.external_id else {}),
    )
    of_role = _new_session()
    credentials = DeferredRefreshableCredentials(refresh_using=fetcher.fetch_credentials, method="assume-role")
    of_role.register_component("credential_provider", _Role(credentials))
    return boto3.Session(botocore_session=of_role, region_name=session.region_name)


def _new_session() -> Any:  # noqa: ANN401
    import botocore.session

    session = botocore.session.get_session()
    session.register_component("data_loader", _loader())
    return session


@cache
def _loader() -> Any:  # noqa: ANN401
    """What reads botocore's descriptions of services, which is half the cost of a client, once for all of them."""
    from botocore.loaders import create_loader

    return create_loader()


class _Role:
    """Gives botocore the credentials of a role, which it gets anew before they expire.

    Args:
        credentials: botocore's credentials.
    """

    def __init__(self, credentials: object) -> None:
        self._credentials = credentials

    def load_credentials(self) -> object:
        """The credentials."""
        return self._credentials


def _connect(settings: GlueSettings) -> Any:  # noqa: ANN401
    session = aws_session(settings)
    from botocore.config import Config

    most = max(
        settings.all_partitions_read_parallelism,
        settings.changed_partitions_read_parallelism,
        settings.partition_change_parallelism,
        3,
    )
    # Requests are tried again here, where throttling is told from what a second try does not mend.
    config = Config(
        retries={"total_max_attempts": 1},
        connect_timeout=settings.connect_timeout_s,
        read_timeout=settings.request_timeout_s,
        max_pool_connections=most,
    )
    return session.client("glue", endpoint_url=settings.endpoint, config=config)
