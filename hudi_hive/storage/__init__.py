"""Storage: in come paths below one root, out come bytes, streams and listings as Arrow tables, every call counted.

One small class over ``pyarrow.fs`` (local, s3, gs, abfs, hdfs) and fsspec; it knows nothing of Hudi.
"""

from hudi_hive.storage.storage import LISTING_SCHEMA, Storage

__all__ = ["LISTING_SCHEMA", "Storage"]
