"""The contents of the pages: each function gives the values that one template shows."""

from __future__ import annotations

from hudi_hive.ui.pages.files import files_page, partitions_page
from hudi_hive.ui.pages.overview import overview_page, tables_page, timeline_page
from hudi_hive.ui.pages.queries import plan_page, query_page
from hudi_hive.ui.pages.schemas import schema_page
from hudi_hive.ui.pages.services import metadata_page, services_page
from hudi_hive.ui.pages.syncs import sync_page

__all__ = [
    "files_page",
    "metadata_page",
    "overview_page",
    "partitions_page",
    "plan_page",
    "query_page",
    "schema_page",
    "services_page",
    "sync_page",
    "tables_page",
    "timeline_page",
]
