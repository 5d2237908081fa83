"""The lock of Hudi's ``DynamoDBBasedLockProvider``: an item of a DynamoDB table, as AWS's lock client keeps it.

The item has ``key``, ``ownerName``, ``leaseDuration`` (milliseconds as text) and ``recordVersionNumber``, which its
holder changes at each heartbeat. Who has seen one version for the whole lease may replace the item.

Source: docs/format.md#heartbeats-and-locks.
"""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from hudi_hive.errors import LockError, LockLostError
from hudi_hive.options import locks as lock_options
from hudi_hive.write.coordination.locks.lease import Lease, seconds_since_boot

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEY: Final = "key"
_OWNER: Final = "ownerName"
_LEASE: Final = "leaseDuration"
_VERSION: Final = "recordVersionNumber"
_RELEASED: Final = "isReleased"
_THROTTLED: Final = frozenset({"ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"})
_POLL_S: Final = 1.0


@dataclass(frozen=True)
class DynamoDbSettings:
    """Where a lock is kept in DynamoDB.

    Attributes:
        table: the table of locks; it is made if it does not exist.
        partition_key: the lock's key in it.
        lease_ms: milliseconds without a heartbeat after which the lock is void.
        billing_mode: of a new table: PAY_PER_REQUEST or PROVISIONED.
        read_capacity: units of a new table with PROVISIONED.
        write_capacity: units of a new table with PROVISIONED.
        creation_ms: milliseconds in which a new table is to be ready.
    """

    table: str
    partition_key: str
    lease_ms: int = 60_000
    billing_mode: str = "PAY_PER_REQUEST"
    read_capacity: int = 20
    write_capacity: int = 10
    creation_ms: int = 120_000


class DynamoDbLock:
    """A lock in DynamoDB, prolonged three times in each lease while it is held.

    Args:
        connect: makes a boto3 client of DynamoDB.
        settings: where the lock is kept.
        clock: seconds from any moment on.
        sleep: waits a number of seconds.
    """

    def __init__(
        self,
        connect: Callable[[], Any],
        settings: DynamoDbSettings,
        *,
        clock: Callable[[], float] = seconds_since_boot,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.settings = settings
        self._connect = connect
        self._clock = clock
        self._sleep = sleep
        self._client: Any = None
        self._process = 0
        self._owner = f"{socket.gethostname()}{uuid.uuid4()}"
        self._version = ""
        self._other: Mapping[str, str] = {}
        self._seen_since = 0.0
        lease_s = settings.lease_ms / 1000
        remedy = f"raise {lock_options.LOCK_WAIT}, which is the lease of locks in DynamoDB"
        self._lease = Lease(self._name, lease_s, lease_s / 3, self._renew, remedy=remedy, clock=clock)

    @property
    def _name(self) -> str:
        return f"dynamodb://{self.settings.table}/{self.settings.partition_key}"

    @property
    def _item_key(self) -> dict[str, Any]:
        return {_KEY: {"S": self.settings.partition_key}}

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Context manager that turns errors of boto3 into ours."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            yield
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "")
            raise LockError(
                f"DynamoDB refused the lock ({code})",
                path=self._name,
                remedy="look at the credentials, their rights on the table, and the table's key, which is 'key'",
            ) from None
        except BotoCoreError as error:
            raise LockError(
                f"DynamoDB cannot be asked: {type(error).__name__}",
                path=self._name,
                remedy=f"look at {lock_options.DYNAMODB_REGION}, {lock_options.DYNAMODB_ENDPOINT} and the credentials",
            ) from None

    def try_acquire(self) -> bool:
        """Take the lock if there is none, one that was let go of, or one whose holder was silent for its lease.

        Raises:
            LockError: it is held already by the one who asks, or DynamoDB refuses or cannot be asked.
        """
        if self._lease.is_held:
            raise LockError("the lock is held already by the one who asks", path=self._name)
        with self._errors():
            if self._client is None or self._process != os.getpid():
                self._client, self._process = self._connect(), os.getpid()
            return self._try()

    def _try(self) -> bool:
        from botocore.exceptions import ClientError

        try:
            item = self._read()
            if not self._is_void(item):
                return False
            started = self._clock()
            self._put(item)
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in (*_THROTTLED, "ConditionalCheckFailedException"):
                return False
            raise
        self._lease.begin(started)
        return True

    def _read(self) -> Mapping[str, str] | None:
        exceptions = self._client.exceptions
        try:
            answer = self._client.get_item(TableName=self.settings.table, Key=self._item_key, ConsistentRead=True)
        except exceptions.ResourceNotFoundException:
            self._make_table()
            return None
        item = answer.get("Item")
        return None if item is None else {name: str(value.get("S", "")) for name, value in item.items()}

    def _make_table(self) -> None:
        table = self.settings.table
        units = {
            "ReadCapacityUnits": self.settings.read_capacity,
            "WriteCapacityUnits": self.settings.write_capacity,
        }
        with suppress(self._client.exceptions.ResourceInUseException):  # another writer makes it
            self._client.create_table(
                TableName=table,
                KeySchema=[{"AttributeName": _KEY, "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": _KEY, "AttributeType": "S"}],
                BillingMode=self.settings.billing_mode,
                **({"ProvisionedThroughput": units} if self.settings.billing_mode == "PROVISIONED" else {}),
            )
        deadline = self._clock() + self.settings.creation_ms / 1000
        while self._client.describe_table(TableName=table)["Table"]["TableStatus"] != "ACTIVE":
            if self._clock() > deadline:
                raise LockError(
                    "DynamoDB's table of locks does not become active",
                    path=self._name,
                    remedy=f"look at the table, or raise {lock_options.DYNAMODB_CREATION_TIMEOUT}",
                )
            self._sleep(_POLL_S)

    def _is_void(self, item: Mapping[str, str] | None) -> bool:
        if item is None or item.get(_RELEASED) == "1":
            return True
        if item.get(_OWNER) == self._owner:  # its own: a put whose answer was lost
            return True
        if item.get(_VERSION) != self._other.get(_VERSION):
            self._other, self._seen_since = item, self._clock()
            return False
        lease = item.get(_LEASE, "")
        lease_ms = int(lease) if lease.isdigit() else self.settings.lease_ms
        return (self._clock() - self._seen_since) * 1000 > lease_ms

    def _put(self, item: Mapping[str, str] | None) -> None:
        version = str(uuid.uuid4())
        condition: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(#k)"}
        names = {"#k": _KEY}
        if item is not None:
            condition = {
                "ConditionExpression": "attribute_exists(#k) AND #v = :v",
                "ExpressionAttributeValues": {":v": {"S": item.get(_VERSION, "")}},
            }
            names["#v"] = _VERSION
        fields = {_OWNER: self._owner, _LEASE: str(self.settings.lease_ms), _VERSION: version}
        self._client.put_item(
            TableName=self.settings.table,
            Item={**self._item_key, **{name: {"S": value} for name, value in fields.items()}},
            ExpressionAttributeNames=names,
            **condition,
        )
        self._version = version

    def _of_mine(self) -> dict[str, Any]:
        """The condition that the item is as this holder wrote it last."""
        return {
            "ConditionExpression": "attribute_exists(#k) AND #v = :v AND #o = :o",
            "ExpressionAttributeNames": {"#k": _KEY, "#v": _VERSION, "#o": _OWNER},
            "ExpressionAttributeValues": {":v": {"S": self._version}, ":o": {"S": self._owner}},
        }

    def _renew(self) -> None:
        version = str(uuid.uuid4())
        request = self._of_mine()
        request["ExpressionAttributeNames"]["#l"] = _LEASE
        request["ExpressionAttributeValues"] |= {":n": {"S": version}, ":l": {"S": str(self.settings.lease_ms)}}
        with self._errors():
            try:
                self._client.update_item(
                    TableName=self.settings.table,
                    Key=self._item_key,
                    UpdateExpression="SET #l = :l, #v = :n",
                    **request,
                )
            except self._client.exceptions.ConditionalCheckFailedException:
                item = self._read()
                # The update may have been done before, and only its answer lost.
                if item is None or item.get(_OWNER) != self._owner or item.get(_VERSION) != version:
                    raise LockLostError(
                        "another writer has taken the table's lock", path=self._name, remedy="write again"
                    ) from None
        self._version = version

    def verify(self) -> None:
        """Prolong the lock, which shows that nobody has taken it since.

        Raises:
            LockLostError: its lease ran out, or another writer has it.
        """
        self._lease.verify()

    def release(self) -> None:
        """Delete the lock's item if it is that of this holder."""
        if not self._lease.end():
            return
        with self._errors(), suppress(self._client.exceptions.ConditionalCheckFailedException):
            self._client.delete_item(TableName=self.settings.table, Key=self._item_key, **self._of_mine())

    def holder(self) -> str:
        """The holder of the lock, for messages."""
        who = self._other.get(_OWNER) or "another writer"
        return f"{who} holds {self._name}; it is free when that one was silent for {self._other.get(_LEASE, '?')} ms"
