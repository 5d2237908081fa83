"""Tells the faults of object stores apart: throttling, rights, credentials, a missing bucket, no connection."""

from __future__ import annotations

import re
from typing import Final

from hudi_hive.errors import (
    BucketNotFoundError,
    StorageError,
    StoreAccessDeniedError,
    StoreCredentialsError,
    StoreThrottledError,
    StoreUnreachableError,
)
from hudi_hive.storage.stores.aws_credentials import PROVIDER_FAILED
from hudi_hive.storage.stores.retry import TransientFault

_STATUS: Final = re.compile(r"status code: (\d{3})")
_CODE: Final = re.compile(r"<Code>([A-Za-z0-9]+)</Code>|\"code\"\s*:\s*\"([A-Za-z]+)\"")

_THROTTLED: Final = frozenset(
    {"SlowDown", "Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequests", "ServerBusy"}
)
PASSING: Final = frozenset({"RequestTimeout", "OperationAborted", "ConditionalRequestConflict", "InternalError"})
"""Codes of faults that may pass."""

_CREDENTIALS: Final = {
    "ExpiredToken": "the session token has expired: get a new one",
    "ExpiredTokenException": "the session token has expired: get a new one",
    "TokenRefreshRequired": "the session token has expired: get a new one",
    "InvalidToken": "the session token is not valid: get a new one",
    "InvalidAccessKeyId": "the store does not know the access key: check it",
    "SignatureDoesNotMatch": "the secret key does not fit the access key: check it",
    "AuthenticationFailed": "the account key or SAS token is not valid, or has expired: get a new one",
    "RequestTimeTooSkewed": "this machine's clock differs from the store's: set it",
}
_NO_BUCKET: Final = frozenset({"NoSuchBucket", "ContainerNotFound", "FilesystemNotFound"})
_OTHER_REGION: Final = frozenset(
    {"PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"}
)
_REDIRECTED: Final = "incorrectly configured region"
_NO_FAULTS_OF_STORES: Final = ("InvalidPathError", "NotSupportedError", "UnknownConfigurationKeyError")
"""Names of classes of ``obstore`` for what was refused before it was sent."""

_LASTING: Final = frozenset({501, 505})
_NO_CREDENTIALS: Final = re.compile(
    r"missing access key|no credentials|instance credentials|169\.254\.|metadata\.google", re.I
)
_NO_MACHINE: Final = re.compile(r"169\.254\.|metadata\.google|/latest/api/token", re.I)
_NO_TLS: Final = re.compile(r"InvalidCertificate|InvalidContentType|invalid peer certificate|UnknownIssuer")
_CAUSES: Final = re.compile(r'(?:message|error): "([^"]{1,200})"')
_LONGEST_TEXT: Final = 300


def error_code(error: BaseException) -> str:
    """The store's own code of an error, such as ``NoSuchKey``; empty if it gave none."""
    match = _CODE.search(str(error))
    return "" if match is None else match[1] or match[2]


def http_status(error: BaseException) -> int:
    """The HTTP status of an answer; 0 if there was none."""
    match = _STATUS.search(str(error))
    return 0 if match is None else int(match[1])


def store_error(error: BaseException, uri: str) -> StorageError | TransientFault:
    """The error that says what an object store's answer means.

    Args:
        error: what ``obstore`` raised, other than for files that are there or are not.
        uri: the path of the request.

    Returns:
        an error for the caller, or a fault that may pass.
    """
    code, status, text = error_code(error), http_status(error), _first_line(error)
    if _NO_MACHINE.search(text):  # asked only where nothing else has keys; there is none, or it does not give any
        return _no_credentials(uri)
    if PROVIDER_FAILED in text:
        said = f"credentials cannot be had: {text.partition(PROVIDER_FAILED)[2].strip(' :')}"
        return StoreCredentialsError(said, path=uri, remedy="mend the profile, role or token that gives them")
    if status or code:
        return _of_answer(code, status, text, uri)
    if _REDIRECTED in text:
        return _elsewhere("redirected", uri)
    if type(error).__name__ in _NO_FAULTS_OF_STORES:
        return StorageError(f"the store has no such name or call: {text}", path=uri)
    return _of_silence(str(error), text, uri)


def _of_answer(code: str, status: int, text: str, uri: str) -> StorageError | TransientFault:
    """What an answer means that has a status or a code of the store's own."""
    if code in _NO_BUCKET:
        return BucketNotFoundError("there is no such bucket", path=uri, remedy="create it, or mend its name")
    if code in _CREDENTIALS or status == 401:
        remedy = _CREDENTIALS.get(code, "check them, or get new ones")
        return StoreCredentialsError(f"the store refused the credentials ({code or status})", path=uri, remedy=remedy)
    if code in _THROTTLED or status in (429, 503):
        said = f"the store answered too often that there are too many requests ({code or status})"
        return TransientFault(StoreThrottledError(said, path=uri, remedy="send fewer requests, or try again later"))
    if code in _OTHER_REGION:
        return _elsewhere(code, uri)
    if code == "InvalidObjectState":
        return StorageError("the object is archived", path=uri, remedy="restore it to a class that can be read at once")
    if status == 403:
        return StoreAccessDeniedError(
            f"access denied ({code or status})", path=uri, remedy="give these credentials the right to do this"
        )
    if code in PASSING or (status >= 500 and status not in _LASTING) or status == 408:
        failed = f"the store failed ({code or status}): {text}"
        return TransientFault(StoreUnreachableError(failed, path=uri, remedy="try again later"))
    return StorageError(f"the store refused the request ({code or status}): {text}", path=uri)


def _of_silence(whole: str, text: str, uri: str) -> StorageError | TransientFault:
    """What a request without an answer means."""
    if _NO_CREDENTIALS.search(whole):
        return _no_credentials(uri)
    if _NO_TLS.search(whole):
        return StoreUnreachableError(
            f"no TLS with the store: {text}", path=uri, remedy="check the endpoint, its scheme and its certificate"
        )
    causes = _CAUSES.findall(whole)
    said = f"no answer from the store: {text}{f' ({causes[-1]})' if causes else ''}"
    return TransientFault(StoreUnreachableError(said, path=uri, remedy="try again later"))


def _elsewhere(said: str, uri: str) -> StorageError:
    return StorageError(
        f"the bucket is in another region, or at another address ({said})",
        path=uri,
        remedy="give the bucket's region, and its endpoint if it has its own",
    )


def _no_credentials(uri: str) -> StoreCredentialsError:
    return StoreCredentialsError(
        "no credentials for the store",
        path=uri,
        remedy="give them as storage_options, in the environment or in a profile, or say anonymous=True",
    )


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0][:_LONGEST_TEXT]
