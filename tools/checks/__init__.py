"""The repository's own rules: each check is ``python -m tools.checks.NAME``, all of them ``python -m tools.checks``.

In comes the tree of sources, out come lines ``path:line: message``; the exit code is 1 where there are any.
"""
