"""Reports of the services of ``HudiTable``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from hudi_hive.errors import HudiHiveError
from hudi_hive.notebook_html import facts_html

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class ServiceReport(Generic[_Result]):
    """The result of a table service.

    Attributes:
        result: what the service did; the method says which type it is of.
        failed: steps behind the service's completed instants that failed, and why, by their names (``lock``,
            ``heartbeat``, ``refresh`` of the table …); what the service did stands.
    """

    result: _Result
    failed: Mapping[str, HudiHiveError] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        failed = {f"failed: {step}": error for step, error in self.failed.items()}
        return facts_html("ServiceReport", {"result": self.result or "nothing to do", **failed})
