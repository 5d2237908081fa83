"""The options of writers, by Hudi's own names: values, ranges, defaults, and refusals by name."""
