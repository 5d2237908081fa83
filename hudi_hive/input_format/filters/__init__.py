"""The filter of a Hive job: the expression, text or search argument in its keys, for pruning.

:class:`JobFilter` says which partitions, files and row groups can hold rows that Hive wants.
"""

from __future__ import annotations

from hudi_hive.input_format.filters.job_filter import FILTER_EXPRESSION, FILTER_TEXT, SARG, JobFilter

__all__ = ["FILTER_EXPRESSION", "FILTER_TEXT", "SARG", "JobFilter"]
