"""Partition names as the metastore writes them: ``k1=v1/k2=v2``, values escaped the way Hive escapes folder names.

Hive escapes control characters, DEL and the characters that mean something in a path or a shell as ``%XX`` and leaves
all others, non-ASCII included, as they are. An empty value is written as ``__HIVE_DEFAULT_PARTITION__``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""What Hive writes for a missing partition value."""

_ESCAPED = re.compile("[\x01-\x1f\x7f\"#%'*/:=?\\\\{\\[\\]^]")
_HEX = re.compile("%([0-9A-Fa-f]{2})")


def escape(text: str) -> str:
    """``text`` as Hive writes it into a partition name."""
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", text) if text else DEFAULT_PARTITION


def unescape(text: str) -> str:
    """The value that ``escape`` came from; ``%`` that starts no escape stays."""
    return _HEX.sub(lambda match: chr(int(match[1], 16)), text) if "%" in text else text


def format_partition_name(keys: Sequence[str], values: Sequence[str]) -> str:
    """``k1=v1/k2=v2`` with lower-cased keys.

    Raises:
        ValueError: as many values as keys are needed.
    """
    if len(keys) != len(values):
        raise ValueError(f"{len(values)} partition values for {len(keys)} partition keys")
    return "/".join(f"{escape(key.lower())}={escape(value)}" for key, value in zip(keys, values, strict=True))


def parse_partition_name(name: str) -> tuple[str, ...]:
    """The values, in order of the keys, of a partition name."""
    return tuple(unescape(part.partition("=")[2]) for part in name.split("/"))
