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
_ARCHIVE: Final = ".hoodie/.bucket_index/partition_bucket_index_meta/archive"
_VERSION: Final = 1
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

    @property
    def expressions(self) -> str:
        """The rules in the form that :meth:`parse` takes."""
        return ";".join(f"{pattern.pattern},{count}" for pattern, count in self.rules)

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


def stored_bucket_rules(storage: Storage, pending: frozenset[str], until: str | None = None) -> BucketRules | None:
    """Load the rules that a table has been given last.

    Args:
        storage: rooted at the table's base path.
        pending: requested times of replacements that are not complete, whose rules do not count yet.
        until: the newest instant of the timeline that tells of these: later ones have begun since it was read.

    Returns:
        None for a table that has none.

    Raises:
        CorruptFileError: the file cannot be decoded.
    """
    instants = _until(rescaling_instants(storage) - pending, until)
    return _load(storage, f"{_FOLDER}/{max(instants)}{_SUFFIX}") if instants else None


def rescaling_instants(storage: Storage) -> set[str]:
    """Requested times of the instants, pending ones among them, that have given a table rules."""
    return _instants(storage, _FOLDER)


def _until(instants: set[str], newest: str | None) -> set[str]:
    return {one for one in instants if newest is None or one <= newest}


def every_bucket_rules(
    storage: Storage, pending: frozenset[str], until: str | None = None
) -> list[tuple[str, BucketRules]]:
    """Load all rules that a table was given, with the instants that gave them, the oldest first.

    Args:
        storage: rooted at the table's base path.
        pending, until: as of :func:`stored_bucket_rules`.

    Raises:
        CorruptFileError: a file cannot be decoded.
    """
    folders = dict.fromkeys(_until(_instants(storage, _ARCHIVE), until), _ARCHIVE)
    folders |= dict.fromkeys(_until(_instants(storage, _FOLDER) - pending, until), _FOLDER)
    return [(one, _load(storage, f"{folder}/{one}{_SUFFIX}")) for one, folder in sorted(folders.items())]


def _instants(storage: Storage, folder: str) -> set[str]:
    names = [posixpath.basename(path) for path in storage.list(folder, missing_ok=True)["path"].to_pylist()]
    return {name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)}


def _load(storage: Storage, path: str) -> BucketRules:
    try:
        told = json.loads(storage.read_bytes(path))
        if told["rule"].lower() != RULE_TYPE:
            raise ValueError(f"rules of type {told['rule']}")
        return BucketRules.parse(told["expressions"], int(told["defaultBucketNumber"]))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise CorruptFileError(
            f"rules of buckets cannot be decoded: {error}",
            path=storage.uri(path),
            instant=posixpath.basename(path).removesuffix(_SUFFIX),
            remedy="bring the file back from a copy",
        ) from error


def save_bucket_rules(storage: Storage, instant: str, rules: BucketRules) -> None:
    """Write the rules that an instant gives a table; they count when it is complete.

    Args:
        storage: rooted at the table's base path.
        instant: its requested time.
        rules: the rules.

    Raises:
        PathExistsError: there are rules of this instant.
    """
    entries = {
        "expressions": rules.expressions,
        "defaultBucketNumber": rules.default,
        "rule": RULE_TYPE,
        "version": _VERSION,
        "instant": instant,
    }
    text = json.dumps(entries, indent=2, separators=(",", " : "), ensure_ascii=False)
    storage.create_if_absent(f"{_FOLDER}/{instant}{_SUFFIX}", text.encode())


def remove_bucket_rules(storage: Storage, instant: str) -> None:
    """Delete the rules that an instant which is rolled back has given the table, if any."""
    storage.delete(f"{_FOLDER}/{instant}{_SUFFIX}")
