"""The log files of a file slice: which blocks are committed, and their records."""
