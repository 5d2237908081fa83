"""Writes DataFrames to Hudi tables, and runs table services on Spark."""
