"""Which class each kind of index is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hudi_hive.write.index.base import Index
from hudi_hive.write.index.bucket import BucketIndex
from hudi_hive.write.index.simple import SimpleIndex
from hudi_hive.write.settings import IndexType

KINDS: Final[Mapping[IndexType, type[Index]]] = {
    IndexType.SIMPLE: SimpleIndex,
    IndexType.GLOBAL_SIMPLE: SimpleIndex,
    IndexType.BUCKET: BucketIndex,
}
