"""Between Python and Spark's JVM: calls by py4j, proxies, errors, rows and Arrow types."""
