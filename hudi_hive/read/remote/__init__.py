"""Reads parts of a scan plan in other processes: executors get serialised plans and give Arrow batches."""
