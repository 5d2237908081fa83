"""Executes scan plans: base files, file slices with logs, change data, as Arrow batches."""
