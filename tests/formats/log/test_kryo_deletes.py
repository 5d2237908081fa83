"""What Kryo wrote into delete blocks of versions 1 and 2: decoded for known classes, refused otherwise."""

from __future__ import annotations

import pytest

from hudi_hive.errors import CorruptFileError, UnsupportedFormatError
from hudi_hive.formats.log.kryo_deletes import OldDelete, decode_old_deletes

KEYS = bytes.fromhex("0100") + b"[Lorg.apache.hudi.common.model.HoodieKey\xbb\x01\x02\x01\x01"
KEYS += b"org.apache.hudi.common.model.HoodieKe\xf9\x01\x01part=\xe2\x01k\xb4"


def test_the_worked_example_of_keys() -> None:
    # docs/format.md#delete-blocks-of-versions-1-and-2
    assert decode_old_deletes(KEYS) == [OldDelete("k4", "part=b", None)]


@pytest.mark.parametrize("cut", range(len(KEYS)))
def test_keys_that_are_cut_off(cut: int) -> None:
    with pytest.raises((CorruptFileError, UnsupportedFormatError)):
        decode_old_deletes(KEYS[:cut])


def test_no_other_class_is_made() -> None:
    for known, other in ((b"HoodieKe\xf9", b"HoodieKz\xf9"), (b"HoodieKey\xbb", b"HoodieKez\xbb")):
        with pytest.raises(UnsupportedFormatError, match="of the class"):
            decode_old_deletes(KEYS.replace(known, other))
    with pytest.raises(CorruptFileError, match="bytes are left"):
        decode_old_deletes(KEYS + b"\x00")
