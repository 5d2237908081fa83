"""Entries of HFiles found without a step for each: keys of one length, of several, and misleading bytes in values."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from hudi_hive.formats.hfile import HFileReader
from hudi_hive.formats.hfile.entries import _step, _stride
from hudi_hive.formats.hfile.writer import write_hfile

END = b"\0\x7f" + b"\xff" * 7 + b"\4"
VALUES = {
    "plain": lambda chance: chance.randbytes(chance.randrange(60)),
    "ends of keys in values": lambda chance: END * chance.randrange(3) + chance.randbytes(3),
    "none": lambda chance: b"",
}


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("form", ["{:08d}", "key-{}"])
def test_look_ups_and_scans(form, values):
    chance = random.Random(5)
    keys = sorted({form.format(chance.randrange(10**6)) for _ in range(6000)})
    content = [VALUES[values](chance) for _ in keys]
    expected = dict(zip(keys, content, strict=True))
    data = write_hfile(pa.array(keys), pa.array(content, pa.binary()), schema="{}")
    reader = HFileReader(data, "f")
    assert dict(zip(*reader.scan().to_pydict().values(), strict=True)) == expected
    sought = [*chance.sample(keys, 50), keys[0], keys[-1], "", "zzz", form.format(10**7), keys[0]]
    for asked in (sought, pa.array(sought), [], ["zzz"], [""]):
        texts = asked.to_pylist() if isinstance(asked, pa.Array) else asked
        found = HFileReader(data, "f").lookup(asked).to_pydict()
        assert found["key"] == sorted(set(texts) & set(keys))
        assert found["value"] == [expected[key] for key in found["key"]]


def test_both_ways_agree_and_the_quick_one_gives_up():
    def entry(key: bytes, value: bytes) -> bytes:
        row = len(key).to_bytes(2, "big") + key + END
        return len(row).to_bytes(4, "big") + len(value).to_bytes(4, "big") + row + value + b"\0"

    def both(data: bytes):
        content = pa.py_buffer(data)
        quick = _stride(content, 1)
        return quick, [list(part) for part in _step(content, 1, "f")]

    same = b"".join(entry(b"%03d" % number, b"v" * (number % 7)) for number in range(50))
    quick, slow = both(same)
    assert quick is not None and [list(part) for part in quick] == slow
    assert both(entry(b"a", b"1") + entry(b"bb", b"2"))[0] is None
    misleading, slow = both(entry(b"a", END) + entry(b"b", b""))
    assert misleading is None and len(slow[0]) == 2
    for cut in (0, 5, len(same) - 1):
        assert _stride(pa.py_buffer(same[:cut]), 1) is None
