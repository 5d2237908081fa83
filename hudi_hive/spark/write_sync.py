"""The sync that follows a write, when the write's options ask for it (``hoodie.datasource.hive_sync.enable``)."""

from __future__ import annotations

from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.write.config import WriteConfig

_SWITCHES = (
    "hoodie.datasource.hive_sync.enable",
    "hoodie.datasource.meta.sync.enable",
    "hoodie.meta.sync.client.tool.class",
)


def sync_after(base_path: str, config: WriteConfig) -> None:
    """Sync a table to the metastore that the write's options name; nothing when they do not ask for it.

    Raises:
        SyncError: the metastore was not brought up to date; the write is complete all the same.
    """
    if not config.sync_enabled:
        return
    options = {name: value for name, value in config.sync_options.items() if name not in _SWITCHES}
    options.setdefault("hoodie.datasource.meta.sync.base.path", base_path)
    HiveSyncTool(HiveSyncConfig.from_options(options)).sync()
