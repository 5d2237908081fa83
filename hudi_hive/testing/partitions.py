"""The partitions of a fake metastore, and Hive 2.3's rules for them."""

from __future__ import annotations

from pathlib import Path

from hudi_hive.metastore._thrift import ttypes as t
from hudi_hive.metastore.client import Partition, Table, format_partition_name
from hudi_hive.options import parse_java_boolean
from hudi_hive.testing import locations
from hudi_hive.testing.catalog import DDL_TIME, STATS, FakeTables, now, shallow, stored_descriptor
from hudi_hive.testing.filters import FilterError, Test, parse_filter
from hudi_hive.testing.transactions import FakeTransactions


class FakeCatalog(FakeTables, FakeTransactions):
    """Databases, tables, partitions, locks and transactions."""

    def __init__(self, warehouse: Path) -> None:
        FakeTables.__init__(self, warehouse)
        FakeTransactions.__init__(self)
        self._partitions: dict[tuple[str, str], dict[str, Partition]] = {}

    def _of(self, table: Table) -> dict[str, Partition]:
        """The partitions of a table by name."""
        return self._partitions.setdefault((table.dbName, table.tableName), {})

    # -- as metastore 4 is asked ------------------------------------------------------------------------------------

    def create_table_req(self, request: t.CreateTableRequest) -> None:
        transactional = (request.table.parameters or {}).get("transactional", "")
        if parse_java_boolean(transactional) and not request.processorCapabilities:
            raise t.MetaException(message="Processor has no capabilities, cannot create an ACID table.")
        self.create_table(request.table)

    def alter_table_req(self, req: t.AlterTableRequest) -> t.AlterTableResponse:
        context = t.EnvironmentContext(properties={})
        self.alter_table_with_environment_context(req.dbName, req.tableName, req.table, context)
        return t.AlterTableResponse()

    def alter_partitions_req(self, req: t.AlterPartitionsRequest) -> t.AlterPartitionsResponse:
        self.alter_partitions_with_environment_context(req.dbName, req.tableName, req.partitions, None)
        return t.AlterPartitionsResponse()

    # -- reading ----------------------------------------------------------------------------------------------------

    def get_partition_names(self, db_name: str, tbl_name: str, max_parts: int) -> list[str]:
        try:
            names = sorted(self._of(self.find_table(db_name, tbl_name)))
        except t.NoSuchObjectException as error:
            # Hive 2.3 does not declare this exception for the call, so Thrift makes an internal error of it.
            raise RuntimeError("Internal error processing get_partition_names") from error
        return names[:max_parts] if max_parts > 0 else names

    def get_partition_names_ps(self, db_name: str, tbl_name: str, part_vals: list[str], max_parts: int) -> list[str]:
        numbered_values = list(enumerate(part_vals))
        names = [
            name
            for name, partition in self._of(self.find_table(db_name, tbl_name)).items()
            if all(value in ("", partition.values[index]) for index, value in numbered_values)
        ]
        return names[:max_parts] if max_parts > 0 else names

    def get_partition(self, db_name: str, tbl_name: str, part_vals: list[str]) -> Partition:
        table = self.find_table(db_name, tbl_name)
        partition = self._of(table).get(self._name(table, part_vals))
        if partition is None:
            raise t.NoSuchObjectException(message=f"partition values=[{', '.join(part_vals)}]")
        return partition

    def get_partition_by_name(self, db_name: str, tbl_name: str, part_name: str) -> Partition:
        partition = self._of(self.find_table(db_name, tbl_name)).get(part_name)
        if partition is None:
            raise t.NoSuchObjectException(message=f"partition name={part_name}")
        return partition

    def get_partitions(self, db_name: str, tbl_name: str, max_parts: int) -> list[Partition]:
        found = list(self._of(self.find_table(db_name, tbl_name)).values())
        return found[:max_parts] if max_parts > 0 else found

    def get_partitions_by_names(self, db_name: str, tbl_name: str, names: list[str]) -> list[Partition]:
        held = self._of(self.find_table(db_name, tbl_name))
        # Backwards on purpose: the real one promises no order either.
        return [held[name] for name in sorted(set(names), reverse=True) if name in held]

    def get_partitions_by_filter(self, db_name: str, tbl_name: str, filter: str, max_parts: int) -> list[Partition]:
        table = self.find_table(db_name, tbl_name)
        test = self._test(table, filter)
        found = [partition for partition in self._of(table).values() if test(partition.values)]
        return found[:max_parts] if max_parts > 0 else found

    def get_num_partitions_by_filter(self, db_name: str, tbl_name: str, filter: str) -> int:
        return len(self.get_partitions_by_filter(db_name, tbl_name, filter, -1))

    def _test(self, table: Table, text: str) -> Test:
        try:
            return parse_filter(text, [(key.name, key.type) for key in table.partitionKeys])
        except FilterError as error:
            raise t.MetaException(message=str(error)) from error

    def _name(self, table: Table, values: list[str]) -> str:
        keys = [key.name for key in table.partitionKeys]
        if len(keys) != len(values):
            shown = ["".join(f"{item}, " for item in items) for items in (keys, values)]
            raise t.MetaException(message=f"Invalid partition key & values; keys [{shown[0]}], values [{shown[1]}]")
        return format_partition_name(keys, values)

    # -- writing ----------------------------------------------------------------------------------------------------

    def add_partitions_req(self, request: t.AddPartitionsRequest) -> t.AddPartitionsResult:
        whole = f"{request.dbName}.{request.tblName}"
        try:
            table = self.find_table(request.dbName, request.tblName)
        except t.NoSuchObjectException as error:
            text = f"Unable to add partitions because database or table {whole} does not exist"
            raise t.InvalidObjectException(message=text) from error
        held = self._of(table)
        added: dict[str, Partition] = {}
        for partition in request.parts:
            if (partition.dbName.lower(), partition.tableName.lower()) != (table.dbName, table.tableName):
                raise t.MetaException(message=f"Partition does not belong to target table {whole}: {partition}")
            name = self._name(table, partition.values)
            if name in held or name in added:
                if request.ifNotExists:
                    continue
                raise t.AlreadyExistsException(message=f"Partition already exists: {partition}")
            added[name] = self._added(table, name, partition)
        held.update(added)
        return t.AddPartitionsResult(partitions=list(added.values()) if request.needResult else None)

    def _added(self, table: Table, name: str, partition: Partition) -> Partition:
        location = locations.qualify(partition.sd.location or f"{table.sd.location}/{name}")
        try:
            made = locations.make_folder(location)
        except NotADirectoryError as error:
            raise t.MetaException(message=f"java.io.IOException: {error}") from error
        created = now()
        parameters = dict(partition.parameters or {})
        parameters.setdefault(DDL_TIME, str(created))
        if not made and not all(key in parameters for key in STATS):
            parameters |= locations.quick_stats(location)
        return self._stored(table, partition, location, parameters, created)

    def _stored(
        self, table: Table, partition: Partition, location: str, parameters: dict[str, str], created: int
    ) -> Partition:
        return shallow(
            partition,
            dbName=table.dbName,
            tableName=table.tableName,
            createTime=created,
            lastAccessTime=partition.lastAccessTime or 0,
            sd=stored_descriptor(partition.sd, location),
            parameters=parameters,
            privileges=None,
        )

    def alter_partitions_with_environment_context(
        self,
        db_name: str,
        tbl_name: str,
        new_parts: list[Partition],
        environment_context: t.EnvironmentContext | None,
    ) -> None:
        try:
            table = self.find_table(db_name, tbl_name)
        except t.NoSuchObjectException as error:
            text = "Unable to alter partitions because table or database does not exist."
            raise t.InvalidOperationException(message=text) from error
        held = self._of(table)
        changed: dict[str, Partition] = {}
        for partition in new_parts:
            name = self._name(table, partition.values)
            if name not in held:
                shown = ", ".join(partition.values)
                text = f"Alter partition operation failed: NoSuchObjectException(message:partition values=[{shown}])"
                raise t.InvalidOperationException(message=text)
            changed[name] = self._altered(table, held[name], partition)
        held.update(changed)

    def _altered(self, table: Table, old: Partition, new: Partition) -> Partition:
        # The location stays as given here: an alter does not qualify it.
        location = new.sd.location or str(old.sd.location)
        parameters = dict(new.parameters or {})
        if int(parameters.get(DDL_TIME, "0")) == 0:
            parameters[DDL_TIME] = str(now())
        if any(parameters.get(key) is None or parameters[key] != old.parameters.get(key) for key in STATS):
            parameters |= locations.quick_stats(location)
        return self._stored(table, new, location, parameters, new.createTime or 0)

    def drop_partitions_req(self, req: t.DropPartitionsRequest) -> t.DropPartitionsResult:
        assert not req.deleteData, "no client of ours may ask for data to be deleted"
        held = self._of(self.find_table(req.dbName, req.tblName))
        names = req.parts.names or []
        if not req.ifExists and any(name not in held for name in names):
            raise t.NoSuchObjectException(message="Some partitions to drop are missing")
        dropped = [held.pop(name) for name in names if name in held]
        return t.DropPartitionsResult(partitions=dropped if req.needResult else None)

    def _table_changed(self, old: Table, new: Table, *, cascade: bool) -> None:
        held = self._partitions.pop((old.dbName, old.tableName), {})
        same_name = (old.dbName, old.tableName) == (new.dbName, new.tableName)
        if cascade or not same_name:
            held = {
                name: shallow(
                    partition,
                    dbName=new.dbName,
                    tableName=new.tableName,
                    sd=shallow(partition.sd, cols=new.sd.cols) if cascade else partition.sd,
                )
                for name, partition in held.items()
            }
        self._partitions[new.dbName, new.tableName] = held

    def _table_dropped(self, table: Table) -> None:
        self._partitions.pop((table.dbName, table.tableName), None)
