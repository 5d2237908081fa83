"""Hashes that decide where a record goes: bloom filters, Java's ``hashCode``, Hive's bucket numbers."""
