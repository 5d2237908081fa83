"""Helps who types ``hudi-hive``: examples of each command, remedies of errors, completion by the shell."""

from __future__ import annotations

from hudi_hive.cli.help.completion import completion
from hudi_hive.cli.help.examples import EXAMPLES, add_examples
from hudi_hive.cli.help.remedies import remedy_for, usage_line

__all__ = ["EXAMPLES", "add_examples", "completion", "remedy_for", "usage_line"]
