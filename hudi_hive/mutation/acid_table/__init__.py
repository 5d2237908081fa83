"""Hive ACID tables as they lie: names of base and delta directories, row ids, and a snapshot reader."""
