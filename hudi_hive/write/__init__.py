"""Writing: in come Arrow tables and Hudi's write options, out come completed instants, or the table as it was.

Transactions, indexes, handles of file groups and table services; the same functions run here and in Spark's tasks.
"""
