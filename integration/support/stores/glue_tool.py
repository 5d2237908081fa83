"""Hudi's own ``AwsGlueCatalogSyncTool``, to compare what it and ours leave in Glue.

Its newest release on Maven Central is 0.15.0. The jars are pinned, and stay in the cache of
:mod:`integration.support.metastores`; AWS's SDK is the one of :mod:`integration.support.stores.hadoop_aws`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from integration.support.metastores import Artifact, fetch
from integration.support.stores.hadoop_aws import sdk_jars
from tools.real_hudi import RealSync, class_path

RELEASE: Final = "0.15.0"
"""Of Hudi, which writes and reads tables of version 6."""

_TOOL: Final = "org.apache.hudi.aws.sync.AwsGlueCatalogSyncTool"
_JARS: Final = (
    Artifact(
        "org.apache.hudi", "hudi-aws", RELEASE, "fb3bef775d90559976116552229c978243db01118be9571e0acea64f251e3db9"
    ),
    # Central has not every module of every version of the SDK.
    Artifact(
        "software.amazon.awssdk", "glue", "2.35.1", "544877300a6b744d0acff48069c23f151a4aa319c9850329e1972233e02e7fba"
    ),
    Artifact(
        "software.amazon.awssdk",
        "aws-json-protocol",
        "2.35.4",
        "d15dccce10d41c997be458ed897e3837bc7d4243a4baa7debeb5d963d12c672b",
    ),
    Artifact(
        "software.amazon.awssdk",
        "dynamodb",
        "2.35.4",
        "a91efeca6c98b3d541c5d44c730072084170b9874e7800cea48b5407e21b4530",
    ),
)


def glue_tool() -> RealSync:
    """The tool, in a process of its own; what is missing is fetched."""
    jars = [fetch(jar) for jar in _JARS] + sdk_jars()
    return RealSync(os.pathsep.join([*map(str, jars), class_path(release=RELEASE)]), tool=_TOOL)


def glue_options(endpoint: str, keys: Mapping[str, str]) -> dict[str, str]:
    """Options by which both tools reach a Glue.

    Args:
        endpoint: its URL.
        keys: ``access_key``, ``secret_key`` and ``region``.
    """
    return {
        "hoodie.aws.glue.endpoint": endpoint,
        "hoodie.aws.glue.region": keys["region"],
        "hoodie.aws.access.key": keys["access_key"],
        "hoodie.aws.secret.key": keys["secret_key"],
    }
