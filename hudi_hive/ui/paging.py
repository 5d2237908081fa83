"""Pages of long lists, and the parameters of an address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

PAGE_ROWS = 100
"""Rows of a list on one page."""

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Page(Generic[_Item]):
    """A part of a list.

    Attributes:
        items: what stands on this page.
        number: of this page, the first is 1.
        pages: how many pages there are, at least 1.
        total: items of the whole list.
    """

    items: Sequence[_Item]
    number: int
    pages: int
    total: int

    @classmethod
    def of(cls, items: Sequence[_Item], number: int, rows: int = PAGE_ROWS) -> Page[_Item]:
        """Page ``number`` of a list; the nearest one that there is."""
        pages = max(1, -(-len(items) // rows))
        number = min(max(1, number), pages)
        return cls(items[(number - 1) * rows : number * rows], number, pages, len(items))


def page_number(parameters: Mapping[str, str]) -> int:
    """The parameter ``page``; 1 where it is missing or no number."""
    text = parameters.get("page", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 1
