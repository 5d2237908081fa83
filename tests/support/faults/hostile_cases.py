"""Sets of hostile inputs: a name and a function that decodes the input, and bytes made in a process of their own."""

from __future__ import annotations

import os
from collections.abc import Callable
from tempfile import TemporaryFile

SIZE = 64 * 1024
"""Bytes of an input at the most."""

NULLS = {"type": "record", "name": "r", "fields": [{"name": "a", "type": ["null", "string"]}]}
"""A record of one nullable field: its encoding is one byte."""

Decode = Callable[[], object]


class CaseSet(dict[str, Decode]):
    """Functions by the name of the input that they decode."""

    def case(self, name: str) -> Callable[[Decode], Decode]:
        """Register the decorated function under a name."""

        def add(decode: Decode) -> Decode:
            self[name] = decode
            return decode

        return add


def apart(make: Callable[[], bytes]) -> bytes:
    """Bytes that another process makes, so that making them does not count as decoding."""
    with TemporaryFile() as file:
        if os.fork() == 0:
            try:
                file.write(make())
                file.flush()
                os._exit(0)
            except BaseException as error:
                print(f"cannot make it: {error!r}")
                os._exit(1)
        assert os.wait()[1] == 0
        file.seek(0)
        return file.read()


def varint(value: int) -> bytes:
    value = value << 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
