"""Prints what the built site holds: ``python -m tools.site``."""

from __future__ import annotations

from tools.site.hooks import ROOT

if __name__ == "__main__":
    site = ROOT / "build" / "site"
    pages = [page for page in site.rglob("*.html") if page.name != "404.html"]
    print(f"{len(pages)} pages in {site.relative_to(ROOT)}: open index.html, or python -m http.server -d build/site")
