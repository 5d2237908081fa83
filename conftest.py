"""How tests run: property tests try the same examples every time, workers finish together, nothing loses power.

``HUDI_HIVE_TEST_RANDOM=1`` tries new examples, to look for what nobody thought of.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

# Workers and the processes that tests start import the same modules hundreds of times: they are compiled once.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# What the collection makes stays to the end: looking through it for garbage while it is made is in vain.
gc.disable()

# A run in the background of a script ignores Ctrl-C, and what its tests start would, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Before anything of these is imported, so that what their assertions compared is shown.
pytest.register_assert_rewrite("tests", "integration.support")

from integration.support.spark_options import JAVA_OPTIONS  # noqa: E402
from tests.support.running.long import long_case  # noqa: E402
from tests.support.running.repeats import repeats  # noqa: E402
from tests.support.running.schedule import UnitScheduling, longest_first, unit_of  # noqa: E402

settings.register_profile("same", derandomize=True, deadline=None, database=None, max_examples=25)
settings.register_profile("long", derandomize=True, deadline=None, database=None, max_examples=100)
settings.register_profile("random", deadline=None, print_blob=True)
settings.load_profile("random" if os.environ.get("HUDI_HIVE_TEST_RANDOM") == "1" else "same")

# No Java process of a test runs long enough to earn back what its second compiler and parallel collector cost; and
# sessions of commands and of code in the docs start from the archive of classes, too.
os.environ.setdefault("SPARK_SUBMIT_OPTS", JAVA_OPTIONS)


def pytest_configure(config: pytest.Config) -> None:
    """Try more examples where long cases are tried."""
    if not config.getoption("markexpr") and settings.get_current_profile_name() == "same":
        settings.load_profile("long")


@pytest.fixture(scope="session", autouse=True)
def no_flushes() -> Iterator[None]:
    """Leave out flushes of the disk: only a loss of power needs them, and tests of that have a disk of their own."""

    def check_descriptor(descriptor: int) -> None:
        os.fstat(descriptor)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", check_descriptor)
        yield


@pytest.fixture(scope="session", params=[pytest.param(False, id="sample"), long_case(True, name="thorough")])
def thorough(request: pytest.FixtureRequest) -> bool:
    """Whether a test tries all that it can, as in ``make test-long``, or a sample of it."""
    return bool(request.param)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> UnitScheduling | None:
    """Hand out whole files, or several that share a costly process."""
    return UnitScheduling(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave tests that only repeat what others reach to long runs."""
    if item.nodeid in repeats():
        item.add_marker("long")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let workers begin with what takes longest."""
    if hasattr(config, "workerinput"):
        places = longest_first(item.nodeid for item in items)
        items.sort(key=lambda item: places[unit_of(item.nodeid)])


def pytest_collection_finish() -> None:
    """Keep what the collection made out of every later garbage collection, of which few suffice."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    gc.enable()
