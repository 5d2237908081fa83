"""A stand-in for AWS Glue on loopback: its protocol over dictionaries, with Glue's limits, pages, segments and faults.

There is no Glue to run; moto has one that knows neither the limits of a request nor pages, segments, versions or
indexes. This one does, as Glue's API reference has them, and throttles or breaks requests on demand.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
import socket
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]

PAGE = 1000
_LIMITS = {
    "BatchCreatePartition": ("PartitionInputList", 100),
    "BatchUpdatePartition": ("Entries", 100),
    "BatchDeletePartition": ("PartitionsToDelete", 25),
    "BatchGetPartition": ("PartitionsToGet", 1000),
}
_TAGGED_KEYS = 50


class GlueFault(Exception):  # noqa: N818 - an answer
    """An error answer: Glue's name of it, a text, the HTTP status."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code, self.message, self.status = code, message, status


class GlueServer:
    """Glue's catalogs in memory.

    Attributes:
        counts: answered and refused requests by operation.
        requests: (operation, arguments, headers) of each.
        most_at_once: the most requests under way at once, by operation.
        page: partitions of a page at most.
        catalogs: catalog -> database -> its tables, tags and more.
    """

    def __init__(self, *, page: int = PAGE) -> None:
        self.page = page
        self.catalogs: dict[str, dict[str, Json]] = {}
        self.counts: Counter[str] = Counter()
        self.requests: list[tuple[str, Json, dict[str, str]]] = []
        self.most_at_once: Counter[str] = Counter()
        self.archived: Counter[str] = Counter()
        self._under_way: Counter[str] = Counter()
        self._faults: dict[str, list[Any]] = {}
        self._gate: dict[str, threading.Barrier] = {}
        self._fail_at: tuple[int, GlueFault | str] | None = None
        self._lock = threading.RLock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                outer._serve(self)

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> GlueServer:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._server.server_port}"

    # -- what tests do -----------------------------------------------------------------------------------------------

    def fail(self, operation: str, *faults: GlueFault | str) -> None:
        """Answer the next requests of an operation with faults, or after doing it with a broken connection (``lost``).

        A text ``item:CODE`` refuses the first object of a batch with that code and does the others.
        """
        self._faults.setdefault(operation, []).extend(faults)

    def wait_for(self, operation: str, number: int) -> None:
        """Hold requests of an operation until so many are under way at once."""
        self._gate[operation] = threading.Barrier(number, timeout=300)

    def stop_waiting(self) -> None:
        """Hold no requests any more."""
        self._gate.clear()

    def fail_at(self, number: int, fault: GlueFault | str) -> None:
        """Answer the request of this number, from now and from 0 on, with a fault, whatever it is."""
        self._fail_at = (number + self.counts.total(), fault)

    def stop_failing(self) -> bool:
        """Forget the faults that were not met; whether the one of ``fail_at`` was among them."""
        self._faults.clear()
        unmet, self._fail_at = self._fail_at is not None, None
        return unmet

    def reset(self) -> None:
        """Forget the requests so far."""
        with self._lock:
            self.counts.clear()
            self.requests.clear()
            self.most_at_once.clear()

    def database(self, name: str, catalog: str = "") -> Json:
        """A database as it is held."""
        return self.catalogs[catalog][name]

    def table(self, database: str, name: str, catalog: str = "") -> Json:
        """A table as Glue would give it."""
        return self.catalogs[catalog][database]["tables"][name]["table"]

    def partitions(self, database: str, name: str) -> dict[tuple[str, ...], Json]:
        """Partitions of a table by their values."""
        return self.catalogs[""][database]["tables"][name]["partitions"]

    def indexes(self, database: str, name: str) -> dict[str, Json]:
        """Partition indexes of a table by name."""
        return self.catalogs[""][database]["tables"][name]["indexes"]

    # -- HTTP --------------------------------------------------------------------------------------------------------

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        target = handler.headers.get("X-Amz-Target", "")
        if not target:
            self._answer_sts(handler, body.decode())
            return
        operation = target.rpartition(".")[2]
        arguments = json.loads(body or b"{}")
        with self._lock:
            number = self.counts.total()
            self.counts[operation] += 1
            self.requests.append((operation, arguments, dict(handler.headers)))
            self._under_way[operation] += 1
            self.most_at_once[operation] = max(self.most_at_once[operation], self._under_way[operation])
            faults = self._faults.get(operation) or []
            fault = faults.pop(0) if faults else None
            if self._fail_at is not None and self._fail_at[0] == number:
                fault, self._fail_at = self._fail_at[1], None
        try:
            gate = self._gate.get(operation)
            if gate is not None:
                gate.wait()
            if isinstance(fault, GlueFault):
                raise fault
            with self._lock:
                answer = self._do(operation, arguments, fault or "")
            if fault == "lost":
                handler.close_connection = True
                handler.connection.shutdown(socket.SHUT_RDWR)
                return
            _send(handler, 200, answer)
        except GlueFault as error:
            _send(handler, error.status, {"__type": error.code, "Message": error.message})
        finally:
            with self._lock:
                self._under_way[operation] -= 1

    def _answer_sts(self, handler: BaseHTTPRequestHandler, body: str) -> None:
        """AssumeRole: credentials whose names say the role and by what it was asked for."""
        fields = dict(re.findall(r"(\w+)=([^&]*)", body))
        self.requests.append(("AssumeRole", fields, dict(handler.headers)))
        role = fields.get("RoleArn", "").rpartition("%2F")[2]
        text = (
            '<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>'
            f"<AccessKeyId>{role}-key</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>"
            "<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"
        )
        _send(handler, 200, text)

    # -- operations --------------------------------------------------------------------------------------------------

    def _do(self, operation: str, arguments: Json, fault: str) -> Json:
        if operation in _LIMITS:
            name, most = _LIMITS[operation]
            if len(arguments[name]) > most:
                raise GlueFault("InvalidInputException", f"{name}: at most {most}, not {len(arguments[name])}")
        method = getattr(self, "_" + re.sub("(?<!^)(?=[A-Z])", "_", operation).lower())
        databases = self.catalogs.setdefault(arguments.get("CatalogId", ""), {})
        if fault.startswith("item:"):
            return method(databases, arguments, refused=fault.removeprefix("item:"))
        return method(databases, arguments)

    def _database_of(self, databases: dict[str, Json], name: str) -> Json:
        if name not in databases:
            raise GlueFault("EntityNotFoundException", f"Database {name} not found.")
        return databases[name]

    def _entry(self, databases: dict[str, Json], arguments: Json, key: str = "TableName") -> Json:
        tables = self._database_of(databases, arguments["DatabaseName"])["tables"]
        if arguments[key] not in tables:
            raise GlueFault("EntityNotFoundException", f"Entity Not Found: Table {arguments[key]}")
        entry: Json = tables[arguments[key]]
        return entry

    def _get_database(self, databases: dict[str, Json], arguments: Json) -> Json:
        return {"Database": self._database_of(databases, arguments["Name"])["database"]}

    def _create_database(self, databases: dict[str, Json], arguments: Json) -> Json:
        made, tags = arguments["DatabaseInput"], arguments.get("Tags", {})
        if made["Name"] in databases:
            raise GlueFault("AlreadyExistsException", "Database already exists.")
        if len(tags) > _TAGGED_KEYS:
            raise GlueFault("InvalidInputException", "Too many tags.")
        databases[made["Name"]] = {"database": made, "tables": {}, "tags": tags}
        return {}

    def _get_table(self, databases: dict[str, Json], arguments: Json) -> Json:
        return {"Table": self._entry(databases, arguments, "Name")["table"]}

    def _create_table(self, databases: dict[str, Json], arguments: Json) -> Json:
        tables, made = self._database_of(databases, arguments["DatabaseName"])["tables"], arguments["TableInput"]
        _check_table(made)
        if made["Name"] in tables:
            raise GlueFault("AlreadyExistsException", "Table already exists.")
        table = {**made, "DatabaseName": arguments["DatabaseName"], "CreateTime": time.time(), "VersionId": "0"}
        tables[made["Name"]] = {"table": table, "partitions": {}, "indexes": {}}
        return {}

    def _update_table(self, databases: dict[str, Json], arguments: Json) -> Json:
        made = arguments["TableInput"]
        _check_table(made)
        entry = self._entry(databases, {**arguments, "Name": made["Name"]}, "Name")
        old = entry["table"]
        if arguments.get("VersionId", old["VersionId"]) != old["VersionId"]:
            raise GlueFault("ConcurrentModificationException", "Update table failed due to concurrent modifications.")
        if [one["Name"] for one in made["PartitionKeys"]] != [one["Name"] for one in old["PartitionKeys"]]:
            raise GlueFault("InvalidInputException", "The partition keys cannot be changed")
        if not arguments.get("SkipArchive"):
            self.archived[made["Name"]] += 1
        carried = {name: old[name] for name in ("DatabaseName", "CreateTime")}
        entry["table"] = {**made, **carried, "VersionId": str(int(old["VersionId"]) + 1)}
        return {}

    def _delete_table(self, databases: dict[str, Json], arguments: Json) -> Json:
        self._entry(databases, arguments, "Name")
        del databases[arguments["DatabaseName"]]["tables"][arguments["Name"]]
        return {}

    def _get_partitions(self, databases: dict[str, Json], arguments: Json) -> Json:
        entry = self._entry(databases, arguments)
        segment = arguments.get("Segment") or {"SegmentNumber": 0, "TotalSegments": 1}
        if not 1 <= segment["TotalSegments"] <= 10:
            raise GlueFault("InvalidInputException", "TotalSegments must be 1 to 10")
        rows = [
            found
            for values, found in sorted(entry["partitions"].items())
            if _hash(values) % segment["TotalSegments"] == segment["SegmentNumber"]
        ]
        most = min(self.page, arguments.get("MaxResults", self.page))
        start = int(arguments.get("NextToken") or 0)
        page = copy.deepcopy(rows[start : start + most])
        if arguments.get("ExcludeColumnSchema"):
            for found in page:
                found["StorageDescriptor"].pop("Columns", None)
        more = {"NextToken": str(start + most)} if start + most < len(rows) else {}
        return {"Partitions": page, **more}

    def _batch_get_partition(self, databases: dict[str, Json], arguments: Json) -> Json:
        entry, wanted = self._entry(databases, arguments), arguments["PartitionsToGet"]
        now, later = wanted[: self.page], wanted[self.page :]
        values = [tuple(one["Values"]) for one in now]
        found = [entry["partitions"][one] for one in values if one in entry["partitions"]]
        return {"Partitions": found, "UnprocessedKeys": later}

    def _batch_create_partition(self, databases: dict[str, Json], arguments: Json, refused: str = "") -> Json:
        entry, errors = self._entry(databases, arguments), []
        keys = len(entry["table"]["PartitionKeys"])
        for made in arguments["PartitionInputList"]:
            values, code = tuple(made["Values"]), refused
            refused = ""
            if len(values) != keys:
                raise GlueFault("InvalidInputException", "The number of partition keys do not match")
            if values in entry["partitions"]:
                code = code or "AlreadyExistsException"
            if code:
                errors.append({"PartitionValues": list(values), "ErrorDetail": _detail(code)})
            else:
                entry["partitions"][values] = {**made, "CreationTime": time.time()}
        return {"Errors": errors}

    def _batch_update_partition(self, databases: dict[str, Json], arguments: Json, refused: str = "") -> Json:
        entry, errors = self._entry(databases, arguments), []
        for item in arguments["Entries"]:
            values, code = tuple(item["PartitionValueList"]), refused
            refused = ""
            if values not in entry["partitions"]:
                code = code or "EntityNotFoundException"
            if code:
                errors.append({"PartitionValueList": list(values), "ErrorDetail": _detail(code)})
            else:
                entry["partitions"][values] = {**entry["partitions"][values], **item["PartitionInput"]}
        return {"Errors": errors}

    def _batch_delete_partition(self, databases: dict[str, Json], arguments: Json, refused: str = "") -> Json:
        entry, errors = self._entry(databases, arguments), []
        for item in arguments["PartitionsToDelete"]:
            values, code = tuple(item["Values"]), refused
            refused = ""
            if values not in entry["partitions"]:
                code = code or "EntityNotFoundException"
            if code:
                errors.append({"PartitionValues": list(values), "ErrorDetail": _detail(code)})
            else:
                del entry["partitions"][values]
        return {"Errors": errors}

    def _get_partition_indexes(self, databases: dict[str, Json], arguments: Json) -> Json:
        return {"PartitionIndexDescriptorList": list(self._entry(databases, arguments)["indexes"].values())}

    def _create_partition_index(self, databases: dict[str, Json], arguments: Json) -> Json:
        entry, made = self._entry(databases, arguments), arguments["PartitionIndex"]
        types = {one["Name"]: one["Type"] for one in entry["table"]["PartitionKeys"]}
        if made["IndexName"] in entry["indexes"]:
            raise GlueFault("AlreadyExistsException", "Index already exists")
        if len(entry["indexes"]) >= 3:
            raise GlueFault("ResourceNumberLimitExceededException", "At most 3 indexes")
        if not set(made["Keys"]) <= set(types):
            raise GlueFault("InvalidInputException", "Index keys are not partition keys")
        keys = [{"Name": key, "Type": types[key]} for key in made["Keys"]]
        entry["indexes"][made["IndexName"]] = {"IndexName": made["IndexName"], "Keys": keys, "IndexStatus": "ACTIVE"}
        return {}

    def _delete_partition_index(self, databases: dict[str, Json], arguments: Json) -> Json:
        indexes = self._entry(databases, arguments)["indexes"]
        if arguments["IndexName"] not in indexes:
            raise GlueFault("EntityNotFoundException", "Index not found")
        del indexes[arguments["IndexName"]]
        return {}


def _check_table(made: Json) -> None:
    names = [one["Name"] for one in (*made["StorageDescriptor"]["Columns"], *made["PartitionKeys"])]
    if len(names) != len(set(names)):
        raise GlueFault("InvalidInputException", "Duplicate column names")
    for one in made["StorageDescriptor"]["Columns"]:
        if len(one.get("Comment", "").encode()) > 255 or "\n" in one.get("Comment", ""):
            raise GlueFault("InvalidInputException", f"Value at comment of {one['Name']} failed to satisfy constraint")


def _detail(code: str) -> Json:
    return {"ErrorCode": code, "ErrorMessage": f"{code} of one partition"}


def _hash(values: tuple[str, ...]) -> int:
    return hashlib.md5("/".join(values).encode()).digest()[0]


def _send(handler: BaseHTTPRequestHandler, status: int, answer: Json | str) -> None:
    is_text = isinstance(answer, str)
    data = answer.encode() if is_text else json.dumps(answer).encode()
    handler.send_response(status)
    handler.send_header("Content-Type", "text/xml" if is_text else "application/x-amz-json-1.1")
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)
