from collections.abc import Sequence

from pyarrow._compute import Expression
from pyarrow._tables import Table

class ExecNodeOptions: ...

class TableSourceNodeOptions(ExecNodeOptions):
    def __init__(self, table: Table) -> None: ...

class ProjectNodeOptions(ExecNodeOptions):
    def __init__(self, expressions: Sequence[Expression], names: Sequence[str] | None = None) -> None: ...

class Declaration:
    def __init__(
        self, factory_name: str, options: ExecNodeOptions, inputs: Sequence[Declaration] | None = None
    ) -> None: ...
    def to_table(self, use_threads: bool = True) -> Table: ...
