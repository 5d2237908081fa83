"""Reading and merging over whole transactions, against real metastores: 3.1.3 and 4.0.1."""

from __future__ import annotations

import pytest

from integration.support.released import OnNewestRelease
from tests.support.tables.merge_behaviour import MergeBehaviour

pytestmark = pytest.mark.jvm


class TestReleasedMetastore(OnNewestRelease, MergeBehaviour):
    """On each release."""
