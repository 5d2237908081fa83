"""Property tests try the same examples in every run, so that a change alone decides whether they pass.

``HUDI_HIVE_TEST_RANDOM=1`` tries new ones, to look for what nobody thought of.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None, database=None)
settings.register_profile("random", deadline=None, print_blob=True)
settings.load_profile("random" if os.environ.get("HUDI_HIVE_TEST_RANDOM") == "1" else "same")
