"""Hudi's ``HashID`` of 64 bits: a hash of short names (columns, partitions, base paths) that identifies them."""

from __future__ import annotations

import struct
from typing import Final

_MASK: Final = 0xFFFFFFFFFFFFFFFF
_P1, _P2, _P3, _P4, _P5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_SEED: Final = 0xFFFFFFFFDABADABA  # a 32-bit seed, sign-extended


def hash_id(text: str) -> bytes:
    """The 8 bytes that identify a text in Hudi's keys: its xxHash64, the most significant byte first."""
    return _xxhash64(text.encode(), _SEED).to_bytes(8, "big")


def _rotate(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (64 - bits))) & _MASK


def _round(state: int, lane: int) -> int:
    return (_rotate((state + lane * _P2) & _MASK, 31) * _P1) & _MASK


def _xxhash64(data: bytes, seed: int) -> int:
    """xxHash64 of short texts: names of columns and partitions, so speed is no matter."""
    position = 0
    if len(data) >= 32:
        states = [(seed + _P1 + _P2) & _MASK, (seed + _P2) & _MASK, seed, (seed - _P1) & _MASK]
        while position + 32 <= len(data):
            lanes = struct.unpack_from("<4Q", data, position)
            states = [_round(state, lane) for state, lane in zip(states, lanes, strict=True)]
            position += 32
        value = sum(_rotate(state, bits) for state, bits in zip(states, (1, 7, 12, 18), strict=True)) & _MASK
        for state in states:
            value = ((value ^ _round(0, state)) * _P1 + _P4) & _MASK
    else:
        value = (seed + _P5) & _MASK
    value = (value + len(data)) & _MASK
    while position + 8 <= len(data):
        value ^= _round(0, int(struct.unpack_from("<Q", data, position)[0]))
        value = (_rotate(value, 27) * _P1 + _P4) & _MASK
        position += 8
    if position + 4 <= len(data):
        value ^= (int(struct.unpack_from("<I", data, position)[0]) * _P1) & _MASK
        value = (_rotate(value, 23) * _P2 + _P3) & _MASK
        position += 4
    for byte in data[position:]:
        value ^= (byte * _P5) & _MASK
        value = (_rotate(value, 11) * _P1) & _MASK
    value = ((value ^ (value >> 33)) * _P2) & _MASK
    value = ((value ^ (value >> 29)) * _P3) & _MASK
    return value ^ (value >> 32)
