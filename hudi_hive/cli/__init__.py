"""The command line: in come a command's words, out come rows as a table, JSON or CSV.

Exit codes: 0 done, 1 an error (one line on stderr, with the remedy), 2 wrong usage.
"""
