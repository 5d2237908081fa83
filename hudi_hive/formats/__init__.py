"""File formats: in come bytes or streams of single files, out come blocks, records and Arrow batches.

Nothing here knows of timelines or tables; import from the modules (``properties``, ``avro_container``, ``log_block``).
Bytes that do not follow their format raise ``CorruptFileError``, formats that we refuse ``UnsupportedFormatError``.
"""
