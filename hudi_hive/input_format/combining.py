"""Groups blocks of files to few splits, near the nodes that hold them, as Hadoop's ``CombineFileInputFormat`` does.

Source: docs/format/hive.md#hive-input-formats.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hudi_hive.errors import InvalidOptionError
from hudi_hive.storage import BlockLocation

DEFAULT_RACK = "/default-rack"


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a file of at most the greatest size; ``file`` is the file's place among all."""

    file: int
    offset: int
    length: int
    hosts: tuple[str, ...]
    racks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BlockGroup:
    """The blocks of one split, and the nodes where a task should run; none where it does not matter."""

    blocks: tuple[Block, ...]
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CombineSizes:
    """Bytes of combined splits: at most, and at least for one of a single node or of a single rack; 0 is no limit.

    Raises:
        InvalidOptionError: the least are more than the most, or a node's is more than a rack's.
    """

    most: int = 0
    node: int = 0
    rack: int = 0

    def __post_init__(self) -> None:
        for name, size in (("node", self.node), ("rack", self.rack)):
            if size and self.most and size > self.most:
                raise InvalidOptionError(f"a split of one {name} has {size} bytes at least, and {self.most} at most")
        if self.rack and self.node > self.rack:
            raise InvalidOptionError(f"a split of one node has {self.node} bytes at least, one of a rack {self.rack}")


def blocks_of_file(file: int, locations: Sequence[BlockLocation], length: int, cut: bool, most: int) -> list[Block]:
    """The blocks of a file, cut to pieces of at most ``most`` bytes; two halves where little would be left.

    Args:
        file: its place among all files.
        locations: where its parts are; none is a file without any.
        length: bytes of the file.
        cut: whether it may be read in parts.
        most: greatest number of bytes, 0 for no limit.
    """
    locations = locations or [BlockLocation(0, 0, ())]
    if not cut:
        first = locations[0]
        return [Block(file, 0, length, first.hosts, _racks(first))]
    blocks = []
    for location in locations:
        offset, left = location.offset, location.length
        while True:
            size = left if not most else left // 2 if most < left < 2 * most else min(most, left)
            blocks.append(Block(file, offset, size, location.hosts, _racks(location)))
            offset, left = offset + size, left - size
            if left <= 0:
                break
    return blocks


def _racks(location: BlockLocation) -> tuple[str, ...]:
    return location.racks or (DEFAULT_RACK,) * len(location.hosts)


def combine_blocks(blocks: Sequence[Block], sizes: CombineSizes) -> list[BlockGroup]:
    """Group blocks: first those of one node, a split from each node by turns, then those of one rack, then the rest.

    What is left of a node makes a split of its own only if it is the node's first and not below the least size.
    """
    return _Combiner(blocks, sizes).groups()


class _Taken(NamedTuple):
    numbers: list[int]
    size: int
    is_full: bool


class _Combiner:
    def __init__(self, blocks: Sequence[Block], sizes: CombineSizes) -> None:
        self._sizes = sizes
        self._blocks = blocks
        self._left = set(range(len(blocks)))  # not in any split yet
        self._of_node: dict[str, deque[int]] = {}
        self._of_rack: dict[str, deque[int]] = {}
        self._nodes_of_rack: dict[str, dict[str, None]] = {}
        for number, block in enumerate(blocks):
            for place, rack in enumerate(block.racks if block.hosts else (DEFAULT_RACK,)):
                self._of_rack.setdefault(rack, deque()).append(number)
                if rack != DEFAULT_RACK:
                    self._nodes_of_rack.setdefault(rack, {})[block.hosts[place]] = None
            for node in dict.fromkeys(block.hosts):
                self._of_node.setdefault(node, deque()).append(number)
        self._groups: list[BlockGroup] = []

    def groups(self) -> list[BlockGroup]:
        self._by_node()
        rest = deque(self._by_rack())
        while rest:
            taken = self._until_full(rest, free=True)
            racks = [rack for number in taken.numbers for rack in self._blocks[number].racks]
            self._add(taken.numbers, self._hosts(racks))
        return self._groups

    def _by_node(self) -> None:
        split_nodes: set[str] = set()
        open_nodes = hash_order(self._of_node)
        total = sum(block.length for block in self._blocks)
        while open_nodes:
            following = []
            for node in open_nodes:
                taken = self._until_full(self._of_node[node])
                if taken.is_full:
                    self._add(taken.numbers, (node,))
                    total -= taken.size
                    split_nodes.add(node)
                    following += [node] if self._of_node[node] else []
                elif taken.numbers:
                    least = self._sizes.node
                    if least and taken.size >= least and node not in split_nodes:
                        self._add(taken.numbers, (node,))
                        total -= taken.size
                    else:
                        self._left.update(taken.numbers)
            open_nodes = following
            if total == 0:
                break

    def _until_full(self, numbers: deque[int], *, free: bool = False) -> _Taken:
        """Blocks from the left that are in no split yet (``free``: none of them is), up to a full split."""
        taken: list[int] = []
        size = 0
        while numbers:
            number = numbers.popleft()
            if not free and number not in self._left:
                continue
            taken.append(number)
            self._left.discard(number)
            size += self._blocks[number].length
            if self._sizes.most and size >= self._sizes.most:
                return _Taken(taken, size, is_full=True)
        return _Taken(taken, size, is_full=False)

    def _by_rack(self) -> list[int]:
        """Splits of one rack each, by turns; the blocks that are left."""
        rest: list[int] = []
        racks = hash_order(self._of_rack)
        while self._left:
            for rack in racks:
                taken = self._until_full(self._of_rack[rack])
                if not taken.numbers:
                    continue
                if taken.is_full or (self._sizes.rack and taken.size >= self._sizes.rack):
                    self._add(taken.numbers, self._hosts([rack]))
                else:
                    rest += taken.numbers
        return rest

    def _hosts(self, racks: Iterable[str]) -> tuple[str, ...]:
        nodes: dict[str, None] = {}
        for rack in hash_order(racks):
            nodes.update(self._nodes_of_rack.get(rack, {}))
        return tuple(hash_order(nodes))

    def _add(self, numbers: Sequence[int], hosts: tuple[str, ...]) -> None:
        self._groups.append(BlockGroup(tuple(self._blocks[number] for number in numbers), hosts))


def hash_order(names: Iterable[str]) -> list[str]:
    """Names in the order in which a Java hash map that they were put into goes through them."""
    unique = list(dict.fromkeys(names))
    buckets = 16
    while len(unique) > buckets * 3 // 4:
        buckets *= 2
    return sorted(unique, key=lambda name: _spread(name) & (buckets - 1))


def _spread(name: str) -> int:
    code = 0
    units = name.encode("utf-16-be")
    for place in range(0, len(units), 2):
        code = (31 * code + int.from_bytes(units[place : place + 2], "big")) & 0xFFFFFFFF
    return code ^ (code >> 16)
