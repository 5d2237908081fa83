"""Record keys and partition paths as Hudi's key generators make them, and back from a path to values."""
