"""Runs syncs: one table, many tables, after each commit, or after a write."""
