"""The proxy in front of an object store sees each request, and breaks those that it is told to."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from hudi_hive.errors import PathExistsError, StoreAccessDeniedError, StoreCredentialsError
from hudi_hive.storage import Storage
from integration.support.stores.proxy import Fault, StoreProxy, nth_fault, random_faults
from integration.support.stores.s3 import S3Server


@pytest.fixture
def storage(s3: S3Server, s3_proxy: StoreProxy) -> Storage:
    return Storage(s3.folder(), s3.options(s3_proxy.port))


def test_requests_are_counted_by_kind(storage: Storage, s3_proxy: StoreProxy) -> None:
    storage.create_if_absent("a/z", b"2")  # the first file shows whether the server minds conditions
    with s3_proxy.recording() as recording:
        storage.write_bytes("a/x", b"1")
        storage.create_if_absent("a/y", b"2")
        storage.read_bytes("a/x")
        storage.read_bytes("a/x", 0, 1)
        storage.list("a")
        storage.delete("a/x")
    assert recording.kinds == {"PUT": 1, "CREATE": 1, "GET": 1, "RANGE": 1, "LIST": 1, "DELETE MANY": 1}
    assert (recording.alone, recording.in_flight) == (6, 1)


def test_requests_side_by_side_are_one_round(storage: Storage, s3_proxy: StoreProxy) -> None:
    for delay_s in (0.5, 5.0, 50.0):  # on a slow machine they begin apart
        with s3_proxy.recording(delay_s) as recording, ThreadPoolExecutor(6) as pool:
            list(pool.map(lambda name: storage.write_bytes(name, b"1"), "abcdef"))
        if recording.rounds == 1:
            break
    assert (len(recording), recording.in_flight, recording.rounds, recording.alone) == (6, 6, 1, 0)


@pytest.mark.parametrize("fault", [Fault.THROTTLED, Fault.SERVER_ERROR, Fault.RESET, Fault.CUT, Fault.ANSWER_LOST])
def test_what_passes_is_tried_again(storage: Storage, s3_proxy: StoreProxy, fault: Fault) -> None:
    storage.write_bytes("x", b"some bytes")
    with s3_proxy.breaking(nth_fault(1, fault)) as recording:
        assert storage.read_bytes("x") == b"some bytes"
    assert [request.fault for request in recording.requests] == [fault, None]


@pytest.mark.parametrize("fault", [Fault.ANSWER_LOST, Fault.THROTTLED, Fault.RESET])
def test_a_creation_whose_answer_was_lost_is_known_as_ones_own(
    storage: Storage, s3_proxy: StoreProxy, fault: Fault
) -> None:
    with s3_proxy.breaking(nth_fault(1, fault)):
        storage.create_if_absent("x", b"mine")
    with pytest.raises(PathExistsError), s3_proxy.breaking(nth_fault(1, fault)):
        storage.create_if_absent("x", b"another's")
    assert storage.read_bytes("x") == b"mine"


@pytest.mark.parametrize(
    ("fault", "error"), [(Fault.EXPIRED, StoreCredentialsError), (Fault.FORBIDDEN, StoreAccessDeniedError)]
)
def test_a_refusal_is_not_tried_again(
    storage: Storage, s3_proxy: StoreProxy, fault: Fault, error: type[Exception]
) -> None:
    with s3_proxy.breaking(lambda _: fault) as recording, pytest.raises(error):
        storage.write_bytes("x", b"1")
    assert len(recording) == 1


def test_random_faults_are_the_same_for_the_same_seed(storage: Storage, s3_proxy: StoreProxy) -> None:
    broken = []
    for _ in range(2):
        with s3_proxy.breaking(random_faults(0.3, list(Fault)[:2], 5, kinds=["PUT"], most=4)) as recording:
            for number in range(10):
                storage.write_bytes(f"x{number}", b"1")
        broken.append([request.fault for request in recording.requests])
    assert broken[0] == broken[1]
    assert 1 <= sum(fault is not None for fault in broken[0]) <= 4
