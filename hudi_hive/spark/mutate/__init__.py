"""Merges DataFrames into Hive ACID tables and Hudi tables by key, and reads ACID tables."""
