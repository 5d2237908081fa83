"""Merges into Hive ACID tables (HIVE-10165): rows to insert, update and delete in, one committed transaction out.

A client holds transaction, locks and heartbeats; coordinators, one per task, write delta and delete delta files that no
reader sees before the commit. Import from the modules; nothing here knows of Hudi.
"""
