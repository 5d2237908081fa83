"""Hudi's lock in DynamoDB for tests: ``hudi-aws``, AWS's lock client and the part of AWS's SDK that they need.

Maven Central has ``hudi-aws`` up to 0.15.0; of the releases behind it there is neither that jar nor a bundle. The lock
is that of AWS's client in all of them.
"""

from __future__ import annotations

from typing import Final

from integration.support.metastores import Artifact

RELEASE: Final = "0.15.0"
_SDK: Final = "2.20.8"
_OTHERS: Final = (
    "org.apache.hudi hudi-aws 0.15.0 fb3bef775d90559976116552229c978243db01118be9571e0acea64f251e3db9",
    "com.amazonaws dynamodb-lock-client 1.2.0 d0732cf6f8cd6ebb050a69e63effcf5a365bb69ba194bcb5c32cc343b6f831ce",
    "software.amazon.eventstream eventstream 1.0.1 0c37d8e696117f02c302191b8110b0d0eb20fa412fce34c3a269ec73c16ce822",
    "org.reactivestreams reactive-streams 1.0.3 1dee0481072d19c929b623e155e14d2f6085dc011529a0a0dbefc84cf571d865",
)
_OF_SDK: Final = (
    "annotations 7a11a5d28997c20281d51987a2e3bc0b87dd5c7b00c786f62497268b8eeafff2",
    "auth fef4d9c91216f8bca02507263ec8d5e0070a926c0d4b31cab25f1039831374bb",
    "aws-core a2ac22223bf925eec2942def81a161400b2cdd4c81f44e566099cb545672cc8e",
    "aws-json-protocol 95e9be9695cd6ba23e031a9fb20f503a4e18fd4a0a472bbe10070220e21620b4",
    "dynamodb 0a754d5cdfec5e9198636bfbab4aff1d57ee4e1f0cd98ae51d2f6b2ea4d1e5ea",
    "endpoints-spi 54f9bc7d101e7b55be839086412151a2a194f9c15c62e8cc9d79949c9a3ffedf",
    "http-client-spi 2f0d74482f911f3d31e31dd210fc749d6ed1748558ca7570f6b1ad625326efff",
    "json-utils da7e352c8907e858b764b99bc4c252a5f561680c9c6b60d8ca3ca3c8bf87e6df",
    "metrics-spi 129a04fbc0ef17e8fdb38199c4aa03bb36cc8aeef91b7ff548af544eecd1091a",
    "profiles 2e8eba7d838425c0c5bc9a14ebd63603d95c0e221262dd0e1360037ac00713c5",
    "protocol-core af47e318d2eaa731487b02d2f4328bf7e0597dd8f9e30e808c5a537a018d21a0",
    "regions dc26798f5b5dbf82227dd63a9fd15cdb85bbb48c57b7a332200a2b0ecab793c1",
    "sdk-core 89b5eb4b4d763b6f6832f98106ef71504a31c7f3ea1f8e68eee999f1d8509f9d",
    "third-party-jackson-core 84eabe282f1298095f00a12cd81262c0cd40d53910a381aa621c5e4288f33d69",
    "url-connection-client 098c87efebf2018aaf17603d32272034d9c68587e56b9466af048386e7e1fdc7",
    "utils b4e9e2d81ddc053b01d63335f73e3421579b8aabafdfe19132f336921d301c7f",
)

JARS: Final = (
    *(Artifact(*line.split()) for line in _OTHERS),
    *(Artifact("software.amazon.awssdk", line.split()[0], _SDK, line.split()[1]) for line in _OF_SDK),
)
"""What Hudi's bundle lacks."""
