"""Docstrings are written for Python's help; this makes Markdown of them while the site is built."""

from __future__ import annotations

import re
from typing import Any, Final

import griffe

from tools.checks.anchors import github_slug

_ROLE: Final = re.compile(r":(?:class|func|meth|mod|data|attr|obj|exc):`~?([^`]+)`")
_LITERAL: Final = re.compile(r"(?<=\S)::(?=\n\n +\S)|^::(?=\n\n +\S)", re.MULTILINE)
_PAGE: Final = re.compile(r"``?(docs/[\w/-]+\.md)(#[\w-]+)?``?")


def as_markdown(docstring: str) -> str:
    """Turn roles and literal blocks of reStructuredText into Markdown.

    Example:
        >>> as_markdown("See :class:`~hudi_hive.plan.ScanPlan`.")
        'See `ScanPlan`.'
    """
    text = _ROLE.sub(lambda found: f"`{found[1].split('.')[-1]}`", docstring)
    return _LITERAL.sub(lambda found: ":" if found.start() and text[found.start() - 1] != "\n" else "", text)


def slug(heading: str, separator: str) -> str:
    """The anchor of a heading: GitHub's, so that links hold there and on the site."""
    return github_slug(heading)


class MarkdownDocstrings(griffe.Extension):
    """Rewrites each docstring when griffe has read it."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:  # noqa: ANN401 - griffe's own signature
        """Rewrite the docstring of a module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
