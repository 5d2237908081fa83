"""The package version, read by setup.cfg and by ``hudi-hive --version``."""

__version__ = "0.1.0"
