"""What the texts of an object store's client mean."""

from __future__ import annotations

import pytest
from obstore.exceptions import GenericError, InvalidPathError

from hudi_hive.errors import StorageError, StoreCredentialsError, StoreUnreachableError
from hudi_hive.storage.stores import TransientFault
from hudi_hive.storage.stores.object_faults import store_error

TOKEN = "Error performing PUT http://169.254.169.254/latest/api/token in 4ms - Server returned non-2xx status code: 403"
GET = "Error performing GET https://h/b/x in 1ms - HTTP error: error sending request"


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        # A refusal of the machine's service of keys is none of the store's.
        (TOKEN, StoreCredentialsError, "no credentials for the store"),
        ("External AWS credential provider: BotoError: gone", StoreCredentialsError, "BotoError: gone"),
        (f"{GET}\n\nerror: InvalidCertificate(\n UnknownIssuer)", StoreUnreachableError, "no TLS"),
        ("Received redirect without LOCATION, this indicates an incorrectly configured region", StorageError, "region"),
        ("x - Server returned non-2xx status code: 505 X", StorageError, "505"),
    ],
)
def test_faults_that_do_not_pass(text: str, kind: type[StorageError], said: str) -> None:
    error = store_error(GenericError(text), "s3://b/x")
    assert type(error) is kind and said in str(error)


def test_a_name_that_is_none_is_no_fault_of_the_store() -> None:
    assert isinstance(store_error(InvalidPathError("Encountered object with invalid path"), "s3://b"), StorageError)


@pytest.mark.parametrize("cause", ['message: "Connection refused"', 'error: "failed to lookup address information"'])
def test_faults_that_may_pass_say_why(cause: str) -> None:
    fault = store_error(GenericError(f"{GET}\n\nOs {{ {cause} }}"), "s3://b/x")
    assert isinstance(fault, TransientFault) and cause.split('"')[1] in str(fault.error)
