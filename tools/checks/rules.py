"""What ``rules.toml`` says, as one value."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("rules.toml")


@dataclass(frozen=True)
class Rules:
    """The lists that the checks go by; see the comments of ``rules.toml``."""

    words: dict[str, str]
    names: dict[str, str]
    phrases: frozenset[str]
    exempt_identifiers: frozenset[str]
    shared_class_names: frozenset[str]
    thrift_users: tuple[str, ...]
    literal_modules: frozenset[str]
    literal_values: frozenset[str]
    private_names: frozenset[str]
    foreign_signatures: frozenset[str]
    unused_names: frozenset[str]


def read_rules(path: Path = FILE) -> Rules:
    """The rules of a TOML file."""
    content: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    words = content["words"]
    return Rules(
        words=words["banned"],
        names=words["banned_names"],
        phrases=frozenset(words["phrases"]),
        exempt_identifiers=frozenset(words["exempt"]),
        shared_class_names=frozenset(content["names"]["shared"]),
        thrift_users=tuple(content["imports"]["thrift_users"]),
        literal_modules=frozenset(content["literals"]["declared_in"]),
        literal_values=frozenset(content["literals"]["values"]),
        foreign_signatures=frozenset(content["signatures"]["foreign"]),
        private_names=frozenset(content["signatures"]["private"]),
        unused_names=frozenset(content["dead"]["used_elsewhere"]),
    )


RULES = read_rules()
