"""The stores that can be started on this machine, by name, for programs that run on any of them."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from integration.support.stores.azure import AzureServer
from integration.support.stores.gcs import GcsServer
from integration.support.stores.hdfs import HdfsServer
from integration.support.stores.s3 import S3Server


@dataclass(frozen=True)
class RunningStore:
    """A store that runs.

    Attributes:
        folder: gives the URI of a folder that nobody has used.
        options: storage options.
        hadoop: properties of Hadoop's connector.
    """

    folder: Callable[[], str]
    options: Mapping[str, str]
    hadoop: Mapping[str, str]


def _s3() -> Iterator[RunningStore]:
    with S3Server() as server:
        yield RunningStore(lambda: server.folder("s3a"), server.options(), server.hadoop())


def _hdfs() -> Iterator[RunningStore]:
    with HdfsServer() as server:
        yield RunningStore(server.folder, {}, {})


def _gcs() -> Iterator[RunningStore]:
    with GcsServer() as server:
        yield RunningStore(server.folder, server.options(), server.hadoop())


def _azure() -> Iterator[RunningStore]:
    with AzureServer() as server:
        yield RunningStore(server.folder, server.options(), server.hadoop())


_SERVERS: Final = {"s3": _s3, "hdfs": _hdfs, "gcs": _gcs, "azure": _azure}
STORES: Final = tuple(_SERVERS)
"""Names of the stores."""


@contextmanager
def running_store(name: str) -> Iterator[RunningStore]:
    """A store while it runs.

    Args:
        name: one of :data:`STORES`.
    """
    yield from _SERVERS[name]()


def add_store_arguments(parser: argparse.ArgumentParser) -> None:
    """Add arguments that choose a store to start, or one that is there."""
    parser.add_argument("--store", choices=STORES, default="s3", help="the server that is started")
    parser.add_argument("--uri", help="an empty folder of a store that is there")
    parser.add_argument("--option", action="append", default=[], metavar="K=V", help="storage option for it")


@contextmanager
def chosen_store(chosen: argparse.Namespace) -> Iterator[RunningStore]:
    """The store that :func:`add_store_arguments` chose."""
    if chosen.uri is None:
        with running_store(chosen.store) as store:
            yield store
    else:
        numbers = itertools.count(1)
        options = dict(option.split("=", 1) for option in chosen.option)
        yield RunningStore(lambda: f"{chosen.uri}/f{next(numbers)}", options, {})
