"""Tables of Lance files that a sync leaves in a metastore: Hudi's classes, and rows as HudiTable gives them."""

from __future__ import annotations

import pytest

from tests.connector.shared.connector_helpers import check_synced, client, connector, server
from tests.support.fixture_tables import lance_names

__all__ = ["client", "connector", "server"]

CLASSES = {
    "t": "org.apache.hudi.hadoop.HoodieLanceInputFormat",
    "t_ro": "org.apache.hudi.hadoop.HoodieLanceInputFormat",
    "t_rt": "org.apache.hudi.hadoop.realtime.HoodieLanceRealtimeInputFormat",
}


@pytest.mark.parametrize("name", lance_names())
def test_rows_of_every_name_that_a_sync_leaves(client, connector, name):
    check_synced(client, connector, name)
    for one in client.tables("default"):
        both = name.startswith("v9_mor")
        assert client.table("default", one).sd.inputFormat == CLASSES["t_rt" if both and one == "t" else one]
