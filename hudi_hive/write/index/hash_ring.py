"""Consistent hashing: the ring of a partition's buckets, how it is split and merged, and the metadata that says so.

Each bucket is a node: it takes the hashes above those of the node before it, up to its own value, and its file group's
id is the node's prefix with the number 0. What is below the first node's value and above the last one's is the first's.

Source: docs/format.md#consistent-hashing.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

MASK: Final = 0x7FFFFFFF
"""The greatest hash."""
INITIAL: Final = "0" * 14
"""The instant of a partition's first metadata."""

NORMAL: Final = "NORMAL"
REPLACE: Final = "REPLACE"
DELETE: Final = "DELETE"

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class HashingNode:
    """A bucket on the ring.

    Attributes:
        value: the greatest hash that it takes.
        prefix: file id of its group without the number; None for one that is taken off the ring.
        tag: ``NORMAL``, or of the nodes that a resizing puts onto the ring ``REPLACE``, of those that it takes off
            ``DELETE``.
    """

    value: int
    prefix: str | None
    tag: str = NORMAL

    @property
    def file_id(self) -> str:
        """Id of its file group."""
        return f"{self.prefix}-0"

    @property
    def fields(self) -> dict[str, Any]:
        """As its JSON object has it."""
        return {"value": self.value, "fileIdPrefix": self.prefix, "tag": self.tag}


@dataclass(frozen=True)
class HashingMetadata:
    """The buckets of a partition from an instant on.

    Attributes:
        partition: its path.
        instant: of the resizing; :data:`INITIAL` at first.
        bucket_count: how many there were at first.
        sequence: how many resizings there were.
        nodes: by their values.
    """

    partition: str
    instant: str
    bucket_count: int
    sequence: int
    nodes: tuple[HashingNode, ...]

    @classmethod
    def initial(cls, partition: str, buckets: int) -> HashingMetadata:
        """The first metadata of a partition, which is the same whoever makes it."""
        step = (MASK + buckets - 1) // buckets
        ends = [min(step * number, MASK) for number in range(1, buckets + 1)]
        starts = [0, *ends[:-1]]
        nodes = [
            HashingNode(end, _first_prefix(partition, start, end)) for start, end in zip(starts, ends, strict=True)
        ]
        return cls(partition, INITIAL, buckets, 0, tuple(nodes))

    @cached_property
    def by_file_id(self) -> dict[str, HashingNode]:
        """Nodes by the ids of their file groups."""
        return {node.file_id: node for node in self.nodes}

    @cached_property
    def _values(self) -> IntArray:
        return np.array([node.value for node in self.nodes], np.int64)

    def places(self, hashes: npt.NDArray[np.integer]) -> IntArray:
        """For each hash the number of the node that takes it."""
        masked = hashes.astype(np.int64) & MASK
        return np.searchsorted(self._values, masked, "left") % len(self.nodes)

    def before(self, node: HashingNode) -> HashingNode:
        """The node before one, around the ring."""
        return self.nodes[self.nodes.index(node) - 1]

    def after(self, node: HashingNode) -> HashingNode:
        """The node behind one, around the ring."""
        return self.nodes[(self.nodes.index(node) + 1) % len(self.nodes)]

    def split(self, node: HashingNode) -> tuple[HashingNode, ...]:
        """The two nodes that share what one takes, each with a new file group; none if that is too little to share."""
        start = self.before(node).value
        middle = start + node.value + (0 if start < node.value else MASK + 1)
        middle = (middle >> 1) & MASK
        if middle in (start, node.value):
            return ()
        return (HashingNode(middle, new_prefix(), REPLACE), HashingNode(node.value, new_prefix(), REPLACE))

    @staticmethod
    def merged(nodes: Sequence[HashingNode]) -> tuple[HashingNode, ...]:
        """What becomes of nodes in a row: the last one takes all, with a new file group."""
        gone = [HashingNode(node.value, None, DELETE) for node in nodes[:-1]]
        return (*gone, HashingNode(nodes[-1].value, new_prefix(), REPLACE))

    def resized(self, children: Iterable[HashingNode], instant: str) -> HashingMetadata:
        """The next metadata.

        Args:
            children: nodes that replace those of their values, come onto the ring, or are taken off it.
            instant: of the resizing.
        """
        nodes = {node.value: node for node in self.nodes}
        for child in children:
            if child.tag == DELETE:
                nodes.pop(child.value, None)
            else:
                nodes[child.value] = replace(child, tag=NORMAL)
        ring = tuple(nodes[value] for value in sorted(nodes))
        return replace(self, instant=instant, sequence=self.sequence + 1, nodes=ring)

    def encode(self) -> bytes:
        """The contents of its file."""
        record = {
            "version": 0,
            "partitionPath": self.partition,
            "instant": self.instant,
            "numBuckets": self.bucket_count,
            "seqNo": self.sequence,
        }
        lines = [f"  {json.dumps(name)} : {json.dumps(value, ensure_ascii=False)}" for name, value in record.items()]
        nodes = encode_nodes(self.nodes).replace("\n", "\n  ")
        return '{{\n{},\n  "nodes" : {}\n}}'.format(",\n".join(lines), nodes).encode()

    @classmethod
    def decode(cls, data: bytes) -> HashingMetadata:
        """Of the contents of a file.

        Raises:
            ValueError: they are not those of such a file.
        """
        try:
            record = json.loads(data)
            nodes = sorted(_nodes(record["nodes"]), key=lambda node: node.value)
            metadata = cls(
                str(record["partitionPath"]),
                str(record["instant"]),
                int(record["numBuckets"]),
                int(record["seqNo"]),
                tuple(nodes),
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"no hashing metadata: {error!r}") from error
        if not nodes or any(node.prefix is None for node in nodes):
            raise ValueError("hashing metadata with a node that has no file group, or without nodes")
        return metadata


def encode_nodes(nodes: Sequence[HashingNode]) -> str:
    """Nodes as the text that plans and metadata have of them: JSON as Jackson lays it out."""
    objects = [
        ",\n".join(f"  {json.dumps(name)} : {json.dumps(value)}" for name, value in node.fields.items())
        for node in nodes
    ]
    return "[ " + ", ".join("{\n" + text + "\n}" for text in objects) + " ]"


def decode_nodes(text: str) -> tuple[HashingNode, ...]:
    """Nodes of such a text.

    Raises:
        ValueError: it is no such text.
    """
    try:
        return tuple(_nodes(json.loads(text)))
    except (KeyError, TypeError) as error:
        raise ValueError(f"no nodes of consistent hashing: {error!r}") from error


def _nodes(objects: Sequence[dict[str, Any]]) -> list[HashingNode]:
    return [HashingNode(int(one["value"]), one["fileIdPrefix"], str(one.get("tag") or NORMAL)) for one in objects]


def _first_prefix(partition: str, start: int, end: int) -> str:
    """Java's ``UUID.nameUUIDFromBytes`` of the range and the partition."""
    name = start.to_bytes(8, "big") + end.to_bytes(8, "big") + partition.encode()
    return str(uuid.UUID(bytes=hashlib.md5(name, usedforsecurity=False).digest(), version=3))


def new_prefix() -> str:
    """File id of a new group, without its number."""
    return str(uuid.uuid4())
