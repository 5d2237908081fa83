"""Avro schemas of the records in instants' files: metadata, plans, archive entries.

A compact notation makes them: one field a line, ``?`` for a nullable type whose default is null, ``!`` for a nullable
type without default, ``= x`` for another default, ``8+`` for fields that only table versions from 8 on have.

Source: docs/format.md#avro-records-of-the-timeline.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any, Final

NAMESPACE: Final = "org.apache.hudi.avro.model"

_COMMIT = """
 partitionToWriteStats map<array<HoodieWriteStat>>?
 compacted boolean? 8+
 extraMetadata map<string>?
 version int~ = 1
 operationType string?
"""

_NOTATION: Final = {
    "HoodieCommitMetadata": _COMMIT,
    "HoodieReplaceCommitMetadata": _COMMIT + " partitionToReplaceFileIds map<array<string>>?",
    "HoodieWriteStat": """
 fileId string?
 path string?
 prevCommit string?
 numWrites long?
 numDeletes long?
 numUpdateWrites long?
 totalWriteBytes long?
 totalWriteErrors long?
 partitionPath string?
 totalLogRecords long?
 totalLogFiles long?
 totalUpdatedRecordsCompacted long?
 numInserts long?
 totalLogBlocks long?
 totalCorruptLogBlock long?
 totalRollbackBlocks long?
 fileSizeInBytes long?
 logVersion int? 8+
 logOffset long? 8+
 baseFile string? 8+
 logFiles array<string>? 8+
 cdcStats map<long>? 8+
 prevBaseFile string? 8+
 minEventTime long? 8+
 maxEventTime long? 8+
 runtimeStats HoodieRuntimeStats? 8+
 totalLogFilesCompacted long? 8+
 totalLogReadTimeMs long? 8+
 totalLogSizeCompacted long? 8+
 tempPath string? 8+
 numUpdates long? 8+
""",
    "HoodieRuntimeStats": """
 totalScanTime long?
 totalCreateTime long?
 totalUpsertTime long?
""",
    "HoodieCompactionPlan": """
 operations array<HoodieCompactionOperation>?
 extraMetadata map<string>?
 version int~ = 1
 strategy HoodieCompactionStrategy?
 preserveHoodieMetadata boolean~ = false
 missingSchedulePartitions array<string>? 8+
""",
    "HoodieCompactionOperation": """
 baseInstantTime string!
 deltaFilePaths array<string>?
 dataFilePath string?
 fileId string!
 partitionPath string?
 metrics map<double>?
 bootstrapFilePath string?
""",
    "HoodieCompactionStrategy": """
 compactorClassName string?
 strategyParams map<string>?
 version int~ = 1
""",
    "HoodieRequestedReplaceMetadata": """
 operationType string?
 clusteringPlan HoodieClusteringPlan?
 extraMetadata map<string>?
 version int~ = 1
""",
    "HoodieClusteringPlan": """
 inputGroups array<HoodieClusteringGroup>?
 strategy HoodieClusteringStrategy?
 extraMetadata map<string>?
 version int~ = 1
 preserveHoodieMetadata boolean?
 missingSchedulePartitions array<string>? 8+
""",
    "HoodieClusteringGroup": """
 slices array<HoodieSliceInfo>?
 metrics map<double>?
 numOutputFileGroups int~ = 1
 extraMetadata map<string>?
 version int~ = 1
""",
    "HoodieSliceInfo": """
 dataFilePath string?
 deltaFilePaths array<string>?
 fileId string!
 partitionPath string?
 bootstrapFilePath string?
 version int~ = 1
""",
    "HoodieClusteringStrategy": """
 strategyClassName string?
 strategyParams map<string>?
 version int~ = 1
""",
    "HoodieCleanerPlan": """
 earliestInstantToRetain HoodieActionInstant?
 lastCompletedCommitTimestamp string = ""
 policy string
 filesToBeDeletedPerPartition map<array<string>>?
 version int~ = 1
 filePathsToBeDeletedPerPartition map<array<HoodieCleanFileInfo>>?
 partitionsToBeDeleted array<string>?
 extraMetadata map<string>?
""",
    "HoodieActionInstant": """
 timestamp string
 action string
 state string
""",
    "HoodieCleanFileInfo": """
 filePath string?
 isBootstrapBaseFile boolean?
""",
    "HoodieCleanMetadata": """
 startCleanTime string
 timeTakenInMillis long
 totalFilesDeleted int
 earliestCommitToRetain string
 lastCompletedCommitTimestamp string = ""
 partitionMetadata map<HoodieCleanPartitionMetadata>
 version int~ = 1
 bootstrapPartitionMetadata map<HoodieCleanPartitionMetadata>?
 extraMetadata map<string>?
""",
    "HoodieCleanPartitionMetadata": """
 partitionPath string
 policy string
 deletePathPatterns array<string>
 successDeleteFiles array<string>
 failedDeleteFiles array<string>
 isPartitionDeleted boolean?
""",
    "HoodieRollbackPlan": """
 instantToRollback HoodieInstantInfo?
 RollbackRequests array<HoodieRollbackRequest>?
 version int~ = 1
""",
    "HoodieInstantInfo": """
 commitTime string
 action string
""",
    "HoodieRollbackRequest": """
 partitionPath string
 fileId string?
 latestBaseInstant string?
 filesToBeDeleted array<string> = []
 logBlocksToBeDeleted map<long>?
""",
    "HoodieRollbackMetadata": """
 startRollbackTime string
 timeTakenInMillis long
 totalFilesDeleted int
 commitsRollback array<string>
 partitionMetadata map<HoodieRollbackPartitionMetadata>
 version int~ = 1
 instantsRollback array<HoodieInstantInfo> = []
""",
    "HoodieRollbackPartitionMetadata": """
 partitionPath string
 successDeleteFiles array<string>
 failedDeleteFiles array<string>
 rollbackLogFiles map<long>?
 logFilesFromFailedCommit map<long>?
""",
    "HoodieRestorePlan": """
 instantsToRollback array<HoodieInstantInfo> = []
 version int~ = 2
 savepointToRestoreTimestamp string?
""",
    "HoodieRestoreMetadata": """
 startRestoreTime string
 timeTakenInMillis long
 instantsToRollback array<string>
 hoodieRestoreMetadata map<array<HoodieRollbackMetadata?>>
 version int~ = 1
 restoreInstantInfo array<HoodieInstantInfo> = []
""",
    "HoodieIndexPlan": """
 version int~ = 1
 indexPartitionInfos array<HoodieIndexPartitionInfo>?
""",
    "HoodieSavepointMetadata": """
 savepointedBy string
 savepointedAt long
 comments string
 partitionMetadata map<HoodieSavepointPartitionMetadata>
 version int~ = 1
""",
    "HoodieSavepointPartitionMetadata": """
 partitionPath string
 savepointDataFile array<string>
""",
    "HoodieIndexPartitionInfo": """
 version int~ = 1
 metadataPartitionPath string?
 indexUptoInstant string?
 extraMetadata map<string>? 8+
""",
    "HoodieIndexCommitMetadata": """
 version int~ = 1
 operationType string?
 indexPartitionInfos array<HoodieIndexPartitionInfo>?
""",
    "HoodieLSMTimelineInstant": """
 instantTime string?
 completionTime string?
 action string?
 metadata bytes?
 plan bytes?
 version int = 1
""",
    "HoodieArchivedMetaEntry": """
 hoodieCommitMetadata HoodieCommitMetadata?
 hoodieCleanMetadata HoodieCleanMetadata?
 hoodieCompactionMetadata HoodieCompactionMetadata?
 hoodieRollbackMetadata HoodieRollbackMetadata?
 hoodieSavePointMetadata HoodieSavepointMetadata?
 commitTime string?
 actionType string?
 version int~ = 1
 hoodieCompactionPlan HoodieCompactionPlan?
 hoodieCleanerPlan HoodieCleanerPlan?
 actionState string?
 hoodieReplaceCommitMetadata HoodieReplaceCommitMetadata?
 hoodieRequestedReplaceMetadata HoodieRequestedReplaceMetadata?
 HoodieInflightReplaceMetadata HoodieCommitMetadata?
 hoodieIndexCommitMetadata HoodieIndexCommitMetadata?
 stateTransitionTime string?
""",
    "HoodieCompactionMetadata": " partitionToCompactionWriteStats map<array<HoodieCompactionWriteStat>>!",
    "HoodieCompactionWriteStat": """
 partitionPath string?
 totalLogRecords long?
 totalLogFiles long?
 totalUpdatedRecordsCompacted long?
 hoodieWriteStat HoodieWriteStat?
""",
}

_FIELD = re.compile(r"(?P<name>\w+) (?P<type>[\w<>?]+?)(?P<null>[?!~]?)(?: = (?P<default>\S+))?(?P<new> 8\+)?")
_CONTAINER = re.compile(r"(array|map)<(.*)>")
_PRIMITIVES: Final = {"int", "long", "double", "boolean", "bytes"}
_STRING: Final = {"type": "string", "avro.java.string": "String"}


@cache
def model_text(name: str, layout: int) -> str:
    """JSON text of the Avro schema of one of Hudi's timeline records; see :func:`model_schema`."""
    return json.dumps({**_record(name, layout, set()), "namespace": NAMESPACE}, separators=(",", ":"))


def model_schema(name: str, layout: int) -> dict[str, Any]:
    """Avro schema of one of Hudi's timeline records, by the release that writes the timeline layout.

    Args:
        name: name of the record without namespace, ``HoodieCommitMetadata`` for one.
        layout: timeline layout version: 1 leaves out the fields that came with layout 2.
    """
    schema: dict[str, Any] = json.loads(model_text(name, layout))
    return schema


def field_names(name: str, layout: int) -> frozenset[str]:
    """Field names of one of Hudi's timeline records."""
    return frozenset(field["name"] for field in model_schema(name, layout)["fields"])


def _record(name: str, layout: int, defined: set[str]) -> dict[str, Any]:
    defined.add(name)
    fields: list[dict[str, Any]] = []
    for line in _NOTATION[name].strip().splitlines():
        match = _FIELD.fullmatch(line.strip())
        assert match is not None, line
        if match["new"] and layout == 1:
            continue
        fields.append(_field(match, layout, defined))
    return {"type": "record", "name": name, "fields": fields}


def _field(match: re.Match[str], layout: int, defined: set[str]) -> dict[str, Any]:
    kind: object = _type(match["type"], layout, defined)
    if match["null"] == "~":  # the default is of the first branch
        kind = [kind, "null"]
    elif match["null"]:
        kind = ["null", kind]
    result: dict[str, Any] = {"name": match["name"], "type": kind}
    if match["null"] == "?":
        result["default"] = None
    elif match["default"] is not None:
        result["default"] = json.loads(match["default"])
    return result


def _type(text: str, layout: int, defined: set[str]) -> object:
    if text.endswith("?"):
        return ["null", _type(text[:-1], layout, defined)]
    container = _CONTAINER.fullmatch(text)
    if container is not None:
        inner = _type(container[2], layout, defined)
        if container[1] == "array":
            return {"type": "array", "items": inner}
        return {"type": "map", "values": inner, "avro.java.string": "String"}
    if text in _PRIMITIVES:
        return text
    if text == "string":
        return dict(_STRING)
    return text if text in defined else _record(text, layout, defined)
