"""The moment of a table that ``HudiTable`` stands for, and how its own writes move it."""

from __future__ import annotations

from hudi_hive.table import MetaClient


def at_once(client: MetaClient) -> MetaClient:
    """The same client with its timeline read: what is committed from now on is not of its moment.

    Raises:
        HudiHiveError: the timeline cannot be read.
    """
    _ = client.timeline
    return client


class TableMoment:
    """A table as of one moment; the base of ``HudiTable``, whose parts share this client.

    Args:
        client: the table as of the moment.
    """

    def __init__(self, client: MetaClient) -> None:
        self._client = client

    @property
    def client(self) -> MetaClient:
        """Properties, timeline and files of this moment, for planners, writers and services."""
        return self._client

    @property
    def path(self) -> str:
        """The base path, a URI."""
        return self._client.base_path

    def move_to_now(self, behind: MetaClient | None = None) -> None:
        """Move this object to the moment of now, as every method that changes the table does behind its change.

        Args:
            behind: the table behind the change, if that is known; it is read otherwise.

        Raises:
            HudiHiveError: the table's properties or timeline cannot be read; this object stays at its moment.
        """
        if behind is not None:
            self._client = behind.with_listing(self._client.listing)
        else:
            self._client = at_once(self._client.reload())
