"""Credentials of AWS profiles and roles for ``obstore``, by boto3, which gets new ones before they expire."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import Any, Final

from hudi_hive.errors import MissingDependencyError, StoreCredentialsError
from hudi_hive.options import storage
from hudi_hive.redaction import redact

PROVIDER_FAILED: Final = "credential provider"
"""What errors of ``obstore`` say when a provider of credentials raised."""

_LIFE: Final = timedelta(minutes=10)
"""How long keys are used at most before boto3 is asked again: it has new ones that long before the old ones expire."""


class AwsCredentials:
    """Credentials of a profile or role, as ``obstore`` asks for them: when the last ones have five minutes left.

    Args:
        credentials: botocore's.
        region: that of the profile, if it names one.
    """

    def __init__(self, credentials: Any, region: str | None) -> None:  # noqa: ANN401 - botocore has no types
        self._credentials = credentials
        self.region = region

    def __call__(self) -> dict[str, Any]:
        """Keys and the time until which they may be used."""
        keys = self._credentials.get_frozen_credentials()
        until = datetime.now(UTC) + _LIFE
        expiry = getattr(self._credentials, "_expiry_time", None)  # botocore has no public name for it
        return {
            "access_key_id": keys.access_key,
            "secret_access_key": keys.secret_key,
            "token": keys.token,
            "expires_at": until if expiry is None else min(until, expiry.astimezone(UTC)),
        }


def aws_credentials(options: Mapping[str, str], region: str | None) -> AwsCredentials | None:
    """The credentials that options name by a profile or role, or that boto3 finds; None if it finds none.

    Args:
        options: storage options.
        region: of the store, if it is known.

    Raises:
        MissingDependencyError: boto3 is not installed.
        StoreCredentialsError: the profile or role that the options name has no credentials.
    """
    try:
        import botocore.exceptions
        import botocore.session
    except ImportError as error:
        raise MissingDependencyError(
            "AWS profiles and roles need boto3", remedy="pip install 'hudi_hive[aws]'"
        ) from error
    profile, role = storage.PROFILE.of(options), storage.ROLE_ARN.of(options)
    try:
        session = botocore.session.Session(profile=profile)
        region = region or session.get_config_variable("region")
        key, secret = storage.ACCESS_KEY.of(options), storage.SECRET_KEY.of(options)
        if key is not None:
            session.set_credentials(key, secret, storage.SESSION_TOKEN.of(options))
        credentials = session.get_credentials()
    except botocore.exceptions.BotoCoreError as error:
        raise StoreCredentialsError(
            f"AWS credentials cannot be had: {redact(str(error))}",
            remedy="mend the profile, or give access_key and secret_key",
        ) from None
    if credentials is None:
        if role is None and profile is None:
            return None
        raise StoreCredentialsError(
            f"there are no AWS credentials for the {'profile' if role is None else 'role'}",
            remedy="give access_key and secret_key, or a profile that has them",
        )
    if role is not None:
        credentials = _of_role(role, session, credentials, region, options)
    return AwsCredentials(credentials, region)


def has_profile() -> bool:
    """Whether boto3 is to be asked: no keys in the environment, and a profile, a file of profiles or a web identity."""
    if os.environ.get("AWS_ACCESS_KEY_ID"):
        return False
    if os.environ.get("AWS_PROFILE"):
        return True
    if os.environ.get("AWS_WEB_IDENTITY_TOKEN_FILE"):
        return find_spec("botocore") is not None  # without it obstore asks by itself
    names = (("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"), ("AWS_CONFIG_FILE", "~/.aws/config"))
    return any(os.path.isfile(os.path.expanduser(os.environ.get(variable, path))) for variable, path in names)


def _of_role(role: str, session: Any, source: Any, region: str | None, options: Mapping[str, str]) -> Any:  # noqa: ANN401
    """Credentials of a role that are fetched when they are needed, and anew before they expire."""
    from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials

    session.set_config_variable("region", region or "us-east-1")
    arguments = {"RoleSessionName": storage.ROLE_SESSION.of(options)}
    if external := storage.EXTERNAL_ID.of(options):
        arguments["ExternalId"] = external
    fetcher = AssumeRoleCredentialFetcher(session.create_client, source, role, extra_args=arguments)
    return DeferredRefreshableCredentials(method="assume-role", refresh_using=fetcher.fetch_credentials)
