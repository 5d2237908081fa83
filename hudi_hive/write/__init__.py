"""Writing: transactions on a table's timeline, files made from Arrow rows, indexes, locks and table services.

In come Arrow tables and Hudi's own write options, out come completed instants; see :mod:`hudi_hive.write.writers.local`
for the writer without any engine, which the engines' writers share all parts with.
"""
