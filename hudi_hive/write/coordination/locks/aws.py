"""Clients of AWS's services for locks: credentials of options, of the environment, of a profile or of a role."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hudi_hive.errors import LockError, MissingDependencyError
from hudi_hive.options import storage

_TRIES: Final = 5


def aws_client(service: str, options: Mapping[str, str], *, region: str, endpoint: str | None) -> Any:  # noqa: ANN401
    """A boto3 client of a service.

    Args:
        service: its name in boto3: ``dynamodb``.
        options: options with credentials, by the names of storage options and Hudi's ``hoodie.aws.*``; what is missing
            comes from the environment, as boto3 finds it.
        region: the region.
        endpoint: URL of the service where it is not AWS's own.

    Raises:
        MissingDependencyError: boto3 is not installed.
        LockError: a profile does not exist.
    """
    try:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError
    except ImportError as error:
        raise MissingDependencyError("DynamoDB's locks need boto3", remedy="pip install 'hudi_hive[aws]'") from error
    try:
        role = storage.ROLE_ARN.of(options)
        if role is not None:
            session = _assuming(role, options, region)
        else:
            session = boto3.Session(
                aws_access_key_id=storage.ACCESS_KEY.of(options),
                aws_secret_access_key=storage.SECRET_KEY.of(options),
                aws_session_token=storage.SESSION_TOKEN.of(options),
                profile_name=storage.PROFILE.of(options),
                region_name=region,
            )
        config = Config(retries={"mode": "standard", "max_attempts": _TRIES})
        return session.client(service, endpoint_url=endpoint, config=config)
    except BotoCoreError as error:
        raise LockError(
            f"AWS cannot be asked for locks: {type(error).__name__}",
            remedy="look at the profile, the keys and the role",
        ) from None


def _assuming(role: str, options: Mapping[str, str], region: str) -> Any:  # noqa: ANN401 - a session of boto3
    """A session with a role's credentials, which get new ones before they expire."""
    import boto3
    import botocore.session
    from botocore.credentials import (
        AssumeRoleCredentialFetcher,
        CredentialProvider,
        CredentialResolver,
        DeferredRefreshableCredentials,
    )

    core = botocore.session.Session(profile=storage.PROFILE.of(options))
    core.set_config_variable("region", region)
    key, secret = storage.ACCESS_KEY.of(options), storage.SECRET_KEY.of(options)
    if key is not None:
        core.set_credentials(key, secret, storage.SESSION_TOKEN.of(options))
    arguments = {"RoleSessionName": storage.ROLE_SESSION.of(options)}
    if external := storage.EXTERNAL_ID.of(options):
        arguments["ExternalId"] = external
    fetcher = AssumeRoleCredentialFetcher(
        client_creator=core.create_client,
        source_credentials=core.get_credentials(),
        role_arn=role,
        extra_args=arguments,
    )

    class Role(CredentialProvider):  # type: ignore[misc]
        METHOD = CANONICAL_NAME = "assume-role"

        def load(self) -> Any:  # noqa: ANN401
            return DeferredRefreshableCredentials(method=self.METHOD, refresh_using=fetcher.fetch_credentials)

    assuming = botocore.session.Session()
    assuming.register_component("credential_provider", CredentialResolver([Role()]))
    return boto3.Session(botocore_session=assuming, region_name=region)
