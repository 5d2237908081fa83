"""Tells the faults of Glue apart: throttling, conflicts, rights, credentials, objects that are or are not there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hudi_hive.errors import (
    AlreadyExistsError,
    InvalidOperationError,
    InvalidOptionError,
    MetastoreConnectError,
    MetastoreError,
    MetastoreLostError,
    MetastoreSecurityError,
    MetastoreServerError,
    MetastoreThrottledError,
    MetastoreTimeoutError,
    NoSuchObjectError,
    TableChangedError,
)
from hudi_hive.storage.stores import TransientFault

if TYPE_CHECKING:
    from collections.abc import Mapping

CONFLICT: Final = "ConcurrentModificationException"
_CONFLICTS: Final = frozenset({CONFLICT, "VersionMismatchException"})
NO_SUCH: Final = "EntityNotFoundException"
EXISTS: Final = "AlreadyExistsException"

_THROTTLED: Final = frozenset(
    {"ThrottlingException", "Throttling", "ThrottledException", "TooManyRequestsException", "RequestLimitExceeded"}
    | {"ConcurrentRunsExceededException"}
)
_PASSING: Final = frozenset(
    {"InternalServiceException", "InternalFailure", "OperationTimeoutException", "ServiceUnavailable", CONFLICT}
    | {"ServiceUnavailableException", "ResourceNotReadyException", "RequestTimeout", "RequestTimeoutException"}
)
_REFUSED: Final = frozenset(
    {"InvalidInputException", "ValidationException", "OperationNotSupportedException", "InvalidStateException"}
    | {"ResourceNumberLimitExceededException", "GlueEncryptionException", "ParamValidationError"}
)
_CREDENTIALS: Final = {
    "ExpiredTokenException": "the session token has expired: get a new one",
    "ExpiredToken": "the session token has expired: get a new one",
    "UnrecognizedClientException": "AWS does not know the access key, or the session token is not its: check them",
    "InvalidClientTokenId": "AWS does not know the access key: check it",
    "InvalidSignatureException": "check the secret key, and this machine's clock",
    "SignatureDoesNotMatch": "check the secret key",
    "IncompleteSignature": "check the credentials",
    "MissingAuthenticationToken": "give hoodie.aws.access.key and hoodie.aws.secret.key, or a profile or role",
}
_RIGHTS: Final = frozenset({"AccessDeniedException", "AccessDenied", "NotAuthorized", "OptInRequired"})


def answer_error(
    code: str, message: str, status: int, *, about: str, uri: str, versioned: bool = False
) -> MetastoreError | TransientFault:
    """The error that says what an error answer of Glue means.

    Args:
        code: Glue's name of the error.
        message: its text.
        status: status of the HTTP answer; 0 for the error of one partition among others.
        about: what the request was about.
        uri: Glue's address.
        versioned: the request named the version of the table that it changes: a conflict does not pass.

    Returns:
        an error for the caller, or a fault that may pass.
    """
    said = f"{about}: {message or code}"
    if versioned and code in _CONFLICTS:
        what = f"{about} has been modified"
        return TableChangedError(what, path=uri, remedy="look at it and run again")
    if code == NO_SUCH:
        return NoSuchObjectError(said, path=uri)
    if code == EXISTS:
        return AlreadyExistsError(said, path=uri)
    if code in _CREDENTIALS:
        what = f"{about}: AWS refused the credentials ({code})"
        return MetastoreSecurityError(what, path=uri, remedy=_CREDENTIALS[code])
    if code in _RIGHTS:
        remedy = "give these credentials the right to do this (glue:* on catalog, database and table)"
        return MetastoreSecurityError(f"{about}: access denied: {message or code}", path=uri, remedy=remedy)
    if code in _THROTTLED or status in (429, 503):
        what = f"{about}: Glue answered until the deadline that it gets too many requests ({code or status})"
        remedy = "lower the parallelism options of hoodie.datasource.meta.sync.glue, sync less often, or try later"
        return TransientFault(MetastoreThrottledError(what, path=uri, remedy=remedy))
    if code in _PASSING or status >= 500:
        return TransientFault(MetastoreServerError(f"{said} ({code or status})", path=uri, remedy="try again later"))
    if code in _REFUSED:
        return InvalidOperationError(said, path=uri)
    return MetastoreServerError(f"{said} ({code or status})", path=uri)


def client_error(
    error: Exception, *, about: str, uri: str, versioned: bool = False
) -> MetastoreError | InvalidOptionError | TransientFault:
    """The error that says what an exception of botocore means.

    Args:
        error: what a call raised.
        about: what it was about.
        uri: Glue's address.
        versioned: it named the version of the table that it changes.

    Returns:
        an error for the caller, or a fault that may pass.
    """
    from botocore import exceptions

    if isinstance(error, exceptions.ClientError):
        answer: Mapping[str, str] = error.response.get("Error", {})
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        return answer_error(
            answer.get("Code", ""), answer.get("Message", ""), status, about=about, uri=uri, versioned=versioned
        )
    no_credentials = (
        exceptions.NoCredentialsError,
        exceptions.PartialCredentialsError,
        exceptions.CredentialRetrievalError,
        exceptions.TokenRetrievalError,
        exceptions.SSOError,
    )
    if isinstance(error, no_credentials):
        remedy = "give hoodie.aws.access.key and hoodie.aws.secret.key, a profile or a role, or set the environment"
        return MetastoreSecurityError(f"{about}: no credentials for AWS: {error}", path=uri, remedy=remedy)
    if isinstance(error, exceptions.ParamValidationError):
        return InvalidOperationError(f"{about}: {error}", path=uri)
    if isinstance(error, exceptions.SSLError):
        return MetastoreSecurityError(f"{about}: {error}", path=uri, remedy="check the endpoint and its certificate")
    remedy = "check hoodie.aws.glue.endpoint and the region, or try again later"
    if isinstance(error, (exceptions.ConnectTimeoutError, exceptions.EndpointConnectionError)):
        return TransientFault(MetastoreConnectError(f"{about}: Glue cannot be reached", path=uri, remedy=remedy))
    if isinstance(error, exceptions.ReadTimeoutError):
        return TransientFault(MetastoreTimeoutError(f"{about}: no answer in time", path=uri, remedy=remedy))
    if isinstance(error, exceptions.HTTPClientError):
        return TransientFault(MetastoreLostError(f"{about}: the connection broke", path=uri, remedy=remedy))
    return InvalidOptionError(f"{about}: {error}", path=uri, remedy="check the options hoodie.aws.*")
