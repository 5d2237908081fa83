"""Settings of the Spark sessions and servers that tests start."""

from __future__ import annotations

from typing import Final

JAVA_OPTIONS: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For Java processes that run for minutes: optimising code takes them longer than running it."""
SERVER_SETTINGS: Final = {"spark.driver.defaultJavaOptions": JAVA_OPTIONS}
"""The same for a Thrift server, which has Java options of its own."""
START_SECONDS: Final = 900.0
"""Limit for the start of a server: only one that hangs comes to it."""
