"""The ``hudi`` data source of Spark: batch and streaming, reads and writes."""
