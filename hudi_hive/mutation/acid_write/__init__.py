"""Transactions over Hive ACID tables: coordinators, delta files, merges, commits (HIVE-10165)."""
