"""``BucketRules``: how many buckets each partition of a table with a bucket index has, by rules for partition paths.

Writers give the rules as an option. A table whose partitions were given other numbers of buckets has them in a file
for each such change, ``.hoodie/.bucket_index/partition_bucket_index_meta/configs/INSTANT.hashing_config``.

Source: RFC-89, ``PartitionBucketIndexHashingConfig``, ``RegexRuleEngine``, docs/format.md#bucket-index.
"""

from __future__ import annotations

import json
import posixpath
import re
from dataclasses import dataclass
from typing import Final

from hudi_hive.errors import CorruptFileError
from hudi_hive.storage import Storage

RULE_TYPE: Final = "regex"
"""The type of rules that there is."""

_FOLDER: Final = ".hoodie/.bucket_index/partition_bucket_index_meta/configs"
_SUFFIX: Final = ".hashing_config"
_MOST_BUCKETS: Final = 99_999_999
"""File ids hold the number of the bucket in eight digits."""


@dataclass(frozen=True, slots=True)
class BucketRules:
    """Numbers of buckets by partition.

    Attributes:
        rules: regular expressions with numbers of buckets; the first one that is found anywhere in a partition's path
            counts.
        default: buckets of partitions that no rule is about.
    """

    rules: tuple[tuple[re.Pattern[str], int], ...]
    default: int

    @classmethod
    def parse(cls, expressions: str, default: int) -> BucketRules:
        """Parse rules.

        Args:
            expressions: ``EXPRESSION,BUCKETS`` several times, with semicolons between; expressions have no comma.
            default: buckets of other partitions.

        Raises:
            ValueError: they are not of that form, an expression is not regular, or a number is not in 1 to 99999999.
        """
        return cls(tuple(_rule(text.strip()) for text in expressions.rstrip(";").split(";")), default)

    def buckets(self, partition: str) -> int:
        """How many buckets the partition of a path has."""
        return next((count for pattern, count in self.rules if pattern.search(partition)), self.default)


def _rule(text: str) -> tuple[re.Pattern[str], int]:
    pattern, comma, count = text.rpartition(",")
    if not comma or "," in pattern:
        raise ValueError(f"{text!r} is not an expression and a number with a comma between")
    digits = count.strip()
    if not (digits.isascii() and digits.isdecimal() and 1 <= int(digits[:9]) <= _MOST_BUCKETS):
        raise ValueError(f"{digits!r} is no number of buckets")
    try:
        return re.compile(pattern.strip()), int(digits)
    except re.error as error:
        raise ValueError(f"{pattern.strip()!r} is no regular expression: {error}") from error


def stored_bucket_rules(storage: Storage, pending: frozenset[str]) -> BucketRules | None:
    """Load the rules that a table has been given last.

    Args:
        storage: rooted at the table's base path.
        pending: requested times of replacements that are not complete, whose rules do not count yet.

    Returns:
        None for a table that has none.

    Raises:
        CorruptFileError: the file cannot be decoded.
    """
    names = [posixpath.basename(path) for path in storage.list(_FOLDER, missing_ok=True)["path"].to_pylist()]
    instants = {name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)} - pending
    if not instants:
        return None
    path = f"{_FOLDER}/{max(instants)}{_SUFFIX}"
    try:
        told = json.loads(storage.read_bytes(path))
        if told["rule"].lower() != RULE_TYPE:
            raise ValueError(f"rules of type {told['rule']}")
        return BucketRules.parse(told["expressions"], int(told["defaultBucketNumber"]))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise CorruptFileError(
            f"rules of buckets cannot be decoded: {error}",
            path=storage.uri(path),
            instant=max(instants),
            remedy="bring the file back from a copy",
        ) from error


def remove_bucket_rules(storage: Storage, instant: str) -> None:
    """Delete the rules that an instant which is rolled back has given the table, if any."""
    storage.delete(f"{_FOLDER}/{instant}{_SUFFIX}")
