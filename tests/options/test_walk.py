"""Every option at every face that accepts it: it changes a result, or is harmless for a written reason, or is refused.

The walk fails for an option without a case. ``pytest -s -k counts`` prints how many there are of each kind.
"""

from __future__ import annotations

import pytest

from hudi_hive.errors import InvalidOptionError
from hudi_hive.options import ALL_OPTIONS, Face, Outcome, metastore, outcomes, write
from tests.support.options.cases import Case, Failure, seen
from tests.support.options.glue_cases import GLUE_CASES
from tests.support.options.observed import listing
from tests.support.options.read_cases import (
    JOB_CASES,
    READ_CASES,
    STREAM_CASES,
    copy_on_write,
    of_any_job,
    of_any_scan,
    of_any_stream,
)
from tests.support.options.service_cases import FILE_LOCK, INDEX_BUILD_CASES, LOCK_CASES, SERVICE_CASES, waited
from tests.support.options.sink_cases import SINK_CASES
from tests.support.options.storage_cases import STORAGE_CASES, s3_client
from tests.support.options.sync_cases import METASTORE_CASES, ONCE, SYNC_CASES, TO_SYNC, of_client
from tests.support.options.validator_cases import VALIDATOR_CASES
from tests.support.options.write_cases import WRITE_CASES, one_batch, put, rows

_CASES = (
    *WRITE_CASES,
    *SERVICE_CASES,
    *INDEX_BUILD_CASES,
    *LOCK_CASES,
    *VALIDATOR_CASES,
    *READ_CASES,
    *STREAM_CASES,
    *SINK_CASES,
    *JOB_CASES,
    *SYNC_CASES,
    *GLUE_CASES,
    *METASTORE_CASES,
    *STORAGE_CASES,
)
CASES = {(case.option.name, case.face): case for case in _CASES}
_CLASSES = ("HiveSyncTool",)
SAMPLES = ("true", "7", "DEFAULT", "DIRECT", "NUM_COMMITS", "0.5", "regex", "x", *_CLASSES)

_HELD = {"hoodie.write.lock.provider": FILE_LOCK, "hoodie.write.lock.client.num_retries": "1"}
_TLS = {metastore.USE_TLS.name: "true", metastore.TRUST_STORE.name: "/ca.pem"}
ANY = {
    Face.WRITE: (one_batch, {write.METADATA_ENABLE.name: "false"}),
    Face.LOCK: (waited, _HELD),
    Face.READ: (of_any_scan, {}),
    Face.STREAM: (of_any_stream, {}),
    Face.INPUT_FORMAT: (of_any_job, {}),
    Face.SYNC: (ONCE, TO_SYNC),
    Face.METASTORE: (of_client, _TLS),
    Face.STORAGE: (s3_client, {}),
}
"""What is done at each face with options that are to change nothing, or are refused."""


def _of(outcome):
    """Parameters: each option and face of an outcome."""
    pairs = [(option, face) for option in ALL_OPTIONS for face in option.faces if option.outcome(face) is outcome]
    return pytest.mark.parametrize(
        ("option", "face"), [pytest.param(*pair, id=f"{pair[1]}-{pair[0]}") for pair in pairs]
    )


@pytest.fixture(scope="module")
def without(tmp_path_factory):
    """What is seen without the option, once for all cases that share it."""
    results = {}

    def get(case):
        key = (case.scenario, tuple(sorted(case.beside.items())))
        if key not in results:
            results[key] = case.without(tmp_path_factory.mktemp("without") / "t")
        return results[key]

    return get


def _harmless(option, face):
    """An option that changes nothing: its own case, or what is done at the face with the first value that it takes."""
    value = next(sample for sample in SAMPLES if _parses(option, sample))
    scenario, beside = ANY[face]
    return CASES.get((option.name, face), Case(option, face, scenario, value, beside))


@pytest.fixture(scope="module")
def with_all_harmless(tmp_path_factory):
    """What is seen with all options at once that are to change nothing of a scenario."""
    results = {}

    def get(case):
        key = (case.face, case.scenario, tuple(sorted(case.beside.items())))
        if key not in results:
            alike = [_harmless(option, case.face) for option in outcomes(case.face)[Outcome.HARMLESS]]
            alike = [one for one in alike if (one.scenario, one.beside) == (case.scenario, case.beside)]
            options = {**case.beside, **{one.name: one.value for one in alike}}
            results[key] = seen(case.scenario, tmp_path_factory.mktemp("harmless") / "t", options)
        return results[key]

    return get


@_of(Outcome.HONOURED)
def test_an_option_that_is_honoured_changes_a_result(option, face, tmp_path, without):
    assert (option.name, face) in CASES, f"{option} has no case"
    case = CASES[option.name, face]
    before, after = without(case), case.with_option(tmp_path / "t")
    assert after != before, f"{case.name}={case.value} changes nothing"
    assert not (isinstance(before, Failure) and isinstance(after, Failure)), (before, after)


@_of(Outcome.HARMLESS)
def test_an_option_that_is_harmless_has_a_reason_and_changes_nothing(
    option, face, tmp_path, without, with_all_harmless, thorough
):
    assert len(option.harmless[face].split()) > 5, "the reason must say why nothing follows the option"
    case = _harmless(option, face)
    before = without(case)
    assert not isinstance(before, Failure), before
    if thorough or with_all_harmless(case) != before:  # alone, it says which of them it is
        assert case.with_option(tmp_path / "t") == before


@pytest.mark.parametrize("face", list(Face), ids=str)
def test_options_that_are_harmless_change_nothing_together(face, without, with_all_harmless):
    for option in outcomes(face)[Outcome.HARMLESS]:
        case = _harmless(option, face)
        assert with_all_harmless(case) == without(case)


def _parses(option, text):
    try:
        option.parse(text)
    except InvalidOptionError:
        return False
    return True


def to_made_table(folder, options):
    """A write to a table that is there."""
    put(copy_on_write(), options, rows())


@_of(Outcome.REFUSED)
def test_an_option_that_is_not_supported_is_refused_by_name_before_anything_is_written(option, face, tmp_path):
    scenario, beside = (to_made_table, {}) if face is Face.WRITE else ANY[face]
    refused, name = option.refused[face], option.name.replace("<name>", "any")
    assert refused.remedy
    folder = tmp_path / "t"
    answer = seen(scenario, folder, {**beside, name: "something"})
    assert isinstance(answer, Failure) and name in answer and refused.remedy in answer
    assert answer.startswith("InvalidOptionError")
    for value in refused.but_for:
        option.check(face, name, value)


def test_refused_writes_leave_the_table_as_it_is_byte_for_byte(tmp_path):
    assert not isinstance(seen(one_batch, tmp_path / "t", {}), Failure)
    before = listing(tmp_path / "t")
    for option in outcomes(Face.WRITE)[Outcome.REFUSED]:
        with pytest.raises(InvalidOptionError, match=option.name):
            put(tmp_path / "t", {option.name: "something"}, rows())
    assert listing(tmp_path / "t") == before


def test_each_option_has_one_outcome_at_each_face():
    total = dict.fromkeys(Outcome, 0)
    for face in Face:
        for outcome, options in outcomes(face).items():
            total[outcome] += len(options)
            print(f"{face}: {len(options)} {outcome}")
    print(", ".join(f"{number} {outcome}" for outcome, number in total.items()))
    names = [name for option in ALL_OPTIONS for name in option.names]
    assert len(names) == len(set(names)), "two options have one name"
    assert sum(total.values()) == sum(len(option.faces) for option in ALL_OPTIONS)
