"""A cache of parts of remote files on the local disk, off unless storage options name its folder.

In come a store, a path and the size of the file; out come the bytes that the store would give. Only data files are
cached, whose names stand for the same bytes for ever; what is cached is bounded, checked and shared by processes.
"""

from hudi_hive.storage.cache.cached_files import CachedFiles, cached_files

__all__ = ["CachedFiles", "cached_files"]
