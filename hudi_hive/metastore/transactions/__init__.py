"""Transactions, write ids and locks of a metastore."""
