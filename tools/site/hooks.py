"""Hooks of mkdocs: pages of the API, pages of files at the root, and a check that nothing comes from the network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tools import errors_page
from tools.site.api import FACES, page, page_name

ROOT: Final = Path(__file__).resolve().parents[2]
ROOT_PAGES: Final = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security.md",
}
"""Files at the root that are pages of the site, too."""

_EXTERNAL: Final = re.compile(
    r"<(?:script|img|iframe|source|video|audio|link(?![^>]*rel=\"?canonical))\b[^>]*?(?:src|href)=\"?(?:https?:)?//[^\">\s]+"
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made at each build."""
    for face in FACES:
        files.append(File.generated(config, page_name(face), content=page(face)))
    for source, target in ROOT_PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, target, content=text.replace("](docs/", "](../")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links to files at the root lead to their pages, and add to the page of errors what places that raise say."""
    if page.file.src_uri == "errors.md":
        return errors_page.page(with_places=True)
    for source, target in ROOT_PAGES.items():
        up = "../" * page.file.src_uri.count("/")
        markdown = markdown.replace(f"](../{up}{source}", f"]({up}{target}")
    return markdown


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Refuse a page that would load something from elsewhere.

    Raises:
        PluginError: it names a script, a style, a picture or the like with an address of its own.
    """
    found = _EXTERNAL.search(output)
    if found is not None:
        raise PluginError(f"{page.file.src_uri} loads from the network: {found[0]}")
    return output
