"""What of Spark is no promise of its own and yet used: classes, private fields and methods, by feature.

``tools.checks.spark_names`` holds the list against what the sources reach, a test on each release that the names are
there, and ``python -m tools.spark_versions_page`` makes the table of ``docs/spark-versions.md`` of it.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Feature(NamedTuple):
    """What a feature stands on.

    Names are of classes below ``org.apache.spark``, a member of one behind ``#``; of PySpark's attributes otherwise.

    Attributes:
        title: the feature.
        rooms: modules and packages below ``hudi_hive.spark``, and Java sources, that reach the names.
        names: in all releases.
        spark4: from 4.0 on.
        spark3: in 3.5 alone.
        pyspark: private attributes of PySpark's objects.
    """

    title: str
    rooms: tuple[str, ...]
    names: tuple[str, ...] = ()
    spark4: tuple[str, ...] = ()
    spark3: tuple[str, ...] = ()
    pyspark: tuple[str, ...] = ()

    @property
    def every(self) -> tuple[str, ...]:
        """All names of all releases."""
        return (*self.names, *self.spark4, *self.spark3, *self.pyspark)

    def has(self, room: str) -> bool:
        """True for a module below ``hudi_hive.spark``, or a Java source, that belongs to the feature."""
        return any(room == each or room.startswith(f"{each}.") for each in self.rooms)


def features_on(name: str) -> str:
    """Titles of the features that stand on a full class name or a member (``#field``); for errors."""
    short = name.removeprefix("org.apache.spark.").rstrip("$")
    titles = [each.title for each in FEATURES if any(one == short or one.endswith(short) for one in each.every)]
    return ", ".join(titles) or "hudi_hive"


FEATURES: Final = (
    Feature(
        "enabled sessions",
        (
            "bridge",
            "catalog",
            "session.install",
            "session.reader",
            "versions",
            "HudiStatementException.java",
            "RelationCache.java",
            "StoreSettings.java",
            "CollectionConverters.java",
        ),
        names=(
            "QueryContext",
            "SparkRuntimeException",
            "sql.catalyst.TableIdentifier",
            "sql.catalyst.analysis.Analyzer#postHocResolutionRules",
            "sql.catalyst.catalog.SessionCatalog#parser",
            "sql.catalyst.catalog.SessionCatalog#tableRelationCache",
            "sql.catalyst.expressions.BoundReference",
            "sql.catalyst.expressions.Cast",
            "sql.catalyst.expressions.EvalMode",
            "sql.catalyst.expressions.InterpretedProjection",
            "sql.catalyst.parser.CatalystSqlParser",
            "sql.execution.QueryExecution#analyzed",
            "sql.execution.QueryExecution#executedPlan",
            "sql.execution.QueryExecution#logical",
            "sql.execution.arrow.ArrowConverters",
            "sql.hive.thriftserver.HiveThriftServer2",
            "sql.internal.SessionState#analyzer",
            "sql.internal.SessionState#catalog",
            "sql.internal.SessionState#conf",
            "sql.internal.SessionState#newHadoopConf",
            "sql.internal.SessionState#sqlParser",
            "sql.types.DataType",
        ),
        spark4=(
            "sql.catalyst.analysis.Analyzer#hintResolutionRules",
            "sql.classic.DataFrameReader#extraOptions",
            "sql.classic.Dataset",
        ),
        spark3=("sql.DataFrameReader#extraOptions", "sql.Dataset", "sql.catalyst.ScalaReflection"),
        pyspark=("_active_spark_context", "_gateway", "_jdf", "_jsc", "_jsparkSession", "_jvm"),
    ),
    Feature(
        "reads",
        ("scan", "Relations.java", "MergeRule.java", "LogEffects.java"),
        names=(
            "sql.catalyst.InternalRow",
            "sql.catalyst.QualifiedTableName",
            "sql.catalyst.TableIdentifier",
            "sql.catalyst.catalog.CatalogTable",
            "sql.catalyst.catalog.SessionCatalog",
            "sql.catalyst.expressions.And",
            "sql.catalyst.expressions.Attribute",
            "sql.catalyst.expressions.AttributeMap",
            "sql.catalyst.expressions.AttributeReference",
            "sql.catalyst.expressions.AttributeSet",
            "sql.catalyst.expressions.BoundReference",
            "sql.catalyst.expressions.Cast",
            "sql.catalyst.expressions.DynamicPruningSubquery",
            "sql.catalyst.expressions.EvalMode",
            "sql.catalyst.expressions.Expression",
            "sql.catalyst.expressions.GenericInternalRow",
            "sql.catalyst.expressions.If",
            "sql.catalyst.expressions.In",
            "sql.catalyst.expressions.InterpretedProjection",
            "sql.catalyst.expressions.IsNotNull",
            "sql.catalyst.expressions.IsNull",
            "sql.catalyst.expressions.Literal",
            "sql.catalyst.expressions.UnsafeArrayData",
            "sql.catalyst.expressions.objects.AssertNotNull",
            "sql.catalyst.parser.CatalystSqlParser",
            "sql.catalyst.plans.logical.Filter",
            "sql.catalyst.plans.logical.LocalLimit",
            "sql.catalyst.plans.logical.LogicalPlan",
            "sql.catalyst.plans.logical.Project",
            "sql.catalyst.plans.logical.Statistics",
            "sql.catalyst.plans.logical.Union",
            "sql.catalyst.rules.Rule",
            "sql.catalyst.trees.TreeNode",
            "sql.catalyst.types.DataTypeUtils",
            "sql.execution.LogicalRDD#originStats",
            "sql.execution.QueryExecution",
            "sql.execution.QueryExecution#analyzed",
            "sql.execution.columnar.InMemoryRelation",
            "sql.execution.datasources.FileIndex",
            "sql.execution.datasources.FileStatusWithMetadata",
            "sql.execution.datasources.HadoopFsRelation",
            "sql.execution.datasources.LogicalRelation",
            "sql.execution.datasources.PartitionDirectory",
            "sql.execution.datasources.orc.OrcFileFormat",
            "sql.execution.datasources.parquet.ParquetFileFormat",
            "sql.internal.SQLConf",
            "sql.types.ArrayType",
            "sql.types.DataType",
            "sql.types.DataTypes",
            "sql.types.StringType",
            "sql.types.StructField",
            "sql.types.StructType",
            "storage.StorageLevel",
            "unsafe.types.UTF8String",
        ),
        spark4=("sql.classic.Dataset", "sql.classic.SparkSession"),
        spark3=("sql.Dataset", "sql.SparkSession"),
        pyspark=("_active_spark_context", "_jdf", "_jvm"),
    ),
    Feature(
        "table functions",
        ("session.functions",),
        names=(
            "sql.catalyst.FunctionIdentifier",
            "sql.catalyst.expressions.Cast",
            "sql.catalyst.expressions.DateFormatClass",
            "sql.catalyst.expressions.EvalMode",
            "sql.catalyst.expressions.ExpressionInfo",
            "sql.catalyst.expressions.Literal",
            "sql.internal.SessionState#conf",
            "sql.internal.SessionState#tableFunctionRegistry",
        ),
        spark4=("sql.classic.SparkSession",),
        spark3=("sql.SparkSession",),
    ),
    Feature(
        "the source hudi",
        ("source.source", "HudiSource.java"),
        names=(
            "rdd.RDD",
            "sql.Dataset",
            "sql.SQLContext",
            "sql.SaveMode",
            "sql.SparkSession",
            "sql.catalyst.expressions.And",
            "sql.catalyst.expressions.Attribute",
            "sql.catalyst.expressions.Expression",
            "sql.catalyst.expressions.In",
            "sql.catalyst.expressions.InSet",
            "sql.catalyst.expressions.Literal",
            "sql.catalyst.plans.logical.Filter",
            "sql.catalyst.plans.logical.LogicalPlan",
            "sql.catalyst.rules.Rule",
            "sql.catalyst.trees.TreeNode",
            "sql.execution.QueryExecution#analyzed",
            "sql.execution.QueryExecution#toRdd",
            "sql.execution.datasources.FileIndex",
            "sql.execution.datasources.HadoopFsRelation",
            "sql.execution.datasources.LogicalRelation",
            "sql.execution.streaming.Sink",
            "sql.execution.streaming.Source",
            "sql.sources.BaseRelation",
            "sql.sources.CreatableRelationProvider",
            "sql.sources.DataSourceRegister",
            "sql.sources.PrunedScan",
            "sql.sources.RelationProvider",
            "sql.sources.SchemaRelationProvider",
            "sql.sources.StreamSinkProvider",
            "sql.sources.StreamSourceProvider",
            "sql.streaming.OutputMode",
            "sql.types.DataTypes",
            "sql.types.StructType",
            "unsafe.types.UTF8String",
            "util.MutableURLClassLoader",
            "util.ShutdownHookManager",
        ),
        spark4=("sql.classic.Dataset",),
    ),
    Feature(
        "streams",
        ("source.streaming", "source.batches", "session.stream_tables"),
        names=(
            "sql.catalyst.plans.logical.Project",
            "sql.connector.read.streaming.SupportsTriggerAvailableNow",
            "sql.execution.QueryExecution#analyzed",
            "sql.execution.QueryExecution#toRdd",
            "sql.execution.datasources.LogicalRelation",
            "sql.execution.streaming.Source",
            "sql.internal.SessionState#newHadoopConf",
        ),
        spark4=(
            "sql.classic.DataStreamWriter#extraOptions",
            "sql.classic.DataStreamWriter#partitioningColumns",
            "sql.classic.DataStreamWriter#source",
            "sql.classic.Dataset",
            "sql.classic.SparkSession",
        ),
        spark3=(
            "sql.Dataset",
            "sql.SparkSession",
            "sql.streaming.DataStreamWriter#extraOptions",
            "sql.streaming.DataStreamWriter#partitioningColumns",
            "sql.streaming.DataStreamWriter#source",
        ),
        pyspark=("_jwrite",),
    ),
    Feature(
        "DataFrame writes and services",
        ("write",),
        pyspark=("_jsc", "_jsparkSession"),
    ),
    Feature(
        "statements",
        (
            "statements.parser",
            "statements.rewrite",
            "statements.statements",
            "statements.frame_commands",
            "statements.guarded_writers",
            "CommandRule.java",
            "CommandAnalyzer.java",
        ),
        names=(
            "sql.catalyst.QueryPlanningTracker",
            "sql.catalyst.analysis.Analyzer",
            "sql.catalyst.parser.CatalystSqlParser",
            "sql.catalyst.parser.ParserInterface",
            "sql.catalyst.plans.logical.LogicalPlan",
            "sql.catalyst.plans.logical.SubqueryAlias",
            "sql.catalyst.rules.Rule",
            "sql.catalyst.trees.TreeNode",
            "sql.internal.SessionState#catalogManager",
            "sql.util.CaseInsensitiveStringMap",
        ),
        spark4=(
            "sql.classic.DataFrameWriter#bucketColumnNames",
            "sql.classic.DataFrameWriter#curmode",
            "sql.classic.DataFrameWriter#extraOptions",
            "sql.classic.DataFrameWriter#partitioningColumns",
            "sql.classic.DataFrameWriter#source",
            "sql.classic.Dataset",
        ),
        spark3=(
            "sql.DataFrameWriter#bucketColumnNames",
            "sql.DataFrameWriter#extraOptions",
            "sql.DataFrameWriter#mode",
            "sql.DataFrameWriter#partitioningColumns",
            "sql.DataFrameWriter#source",
            "sql.Dataset",
        ),
        pyspark=("_jdf", "_jwrite"),
    ),
    Feature(
        "scripts",
        ("statements.scripts",),
        names=(
            "sql.catalyst.parser.CatalystSqlParser",
            "sql.catalyst.plans.logical.LogicalPlan",
            "sql.catalyst.plans.logical.OneRowRelation",
            "sql.catalyst.plans.logical.UnresolvedHint",
        ),
        spark4=("sql.catalyst.plans.logical.CompoundPlanStatement", "sql.classic.Dataset"),
        spark3=("sql.Dataset",),
    ),
    Feature(
        "time travel",
        ("statements.time_travel",),
        names=(
            "sql.catalyst.AliasIdentifier",
            "sql.catalyst.analysis.UnresolvedAlias",
            "sql.catalyst.plans.logical.OneRowRelation",
            "sql.catalyst.plans.logical.Project",
            "sql.catalyst.plans.logical.SubqueryAlias",
        ),
        spark4=("sql.classic.Dataset",),
        spark3=("sql.Dataset",),
    ),
    Feature(
        "SQL that writes",
        ("statements.entries", "statements.writes", "HudiSink.java", "RowsCommand.java"),
        names=(
            "sql.Dataset",
            "sql.SparkSession",
            "sql.catalyst.TableIdentifier",
            "sql.catalyst.analysis.UnresolvedRegex",
            "sql.catalyst.analysis.UnresolvedSubqueryColumnAliases",
            "sql.catalyst.catalog.CatalogStatistics",
            "sql.catalyst.catalog.CatalogStorageFormat",
            "sql.catalyst.catalog.CatalogTablePartition",
            "sql.catalyst.catalog.CatalogTableType",
            "sql.catalyst.expressions.And",
            "sql.catalyst.expressions.CaseWhen",
            "sql.catalyst.expressions.EqualTo",
            "sql.catalyst.expressions.EvalMode",
            "sql.catalyst.expressions.GetArrayItem",
            "sql.catalyst.expressions.In",
            "sql.catalyst.expressions.Literal",
            "sql.catalyst.expressions.Or",
            "sql.catalyst.parser.CatalystSqlParser",
            "sql.catalyst.plans.logical.Filter",
            "sql.catalyst.plans.logical.Join",
            "sql.catalyst.plans.logical.JoinHint",
            "sql.catalyst.plans.logical.OneRowRelation",
            "sql.catalyst.plans.logical.Project",
            "sql.catalyst.plans.logical.SubqueryAlias",
            "sql.catalyst.types.DataTypeUtils",
            "sql.connector.ExternalCommandRunner",
            "sql.connector.catalog.Identifier",
            "sql.connector.catalog.SupportsWrite",
            "sql.connector.catalog.Table",
            "sql.connector.catalog.TableCapability",
            "sql.connector.expressions.Expressions",
            "sql.connector.expressions.Transform",
            "sql.connector.write.LogicalWriteInfo",
            "sql.connector.write.V1Write",
            "sql.connector.write.Write",
            "sql.connector.write.WriteBuilder",
            "sql.execution.QueryExecution#analyzed",
            "sql.execution.QueryExecution#executedPlan",
            "sql.execution.command.ExternalCommandExecutor",
            "sql.execution.datasources.v2.DataSourceV2Relation",
            "sql.internal.SessionState#catalog",
            "sql.sources.InsertableRelation",
            "sql.types.ArrayType",
            "sql.types.DataType",
            "sql.types.StructType",
            "sql.util.CaseInsensitiveStringMap",
        ),
        spark4=(
            "sql.catalyst.analysis.ResolvedProcedure",
            "sql.catalyst.plans.logical.Call",
            "sql.classic.Dataset",
            "sql.classic.SparkSession",
        ),
        pyspark=("_active_spark_context", "_jdf", "_jsparkSession"),
    ),
    Feature(
        "ALTER, SHOW, ANALYZE and indexes",
        ("statements.definitions",),
        names=(
            "sql.execution.QueryExecution#analyzed",
            "sql.execution.command.AlterTableRenameCommand",
            "sql.execution.command.AlterTableSerDePropertiesCommand",
            "sql.execution.command.AlterTableSetPropertiesCommand",
            "sql.execution.command.CommandUtils",
            "sql.internal.SessionState#catalog",
        ),
        pyspark=("_jdf",),
    ),
    Feature(
        "CALL",
        ("statements.procedures", "HudiProcedure.java"),
        names=(
            "sql.catalyst.CatalystTypeConverters",
            "sql.catalyst.InternalRow",
            "sql.catalyst.parser.CatalystSqlParser",
            "sql.catalyst.plans.logical.Project",
            "sql.connector.catalog.Identifier",
            "sql.connector.read.LocalScan",
            "sql.internal.SessionState#catalogManager",
            "sql.internal.SessionState#newHadoopConf",
            "sql.types.DataType",
            "sql.types.StructType",
            "sql.util.CaseInsensitiveStringMap",
        ),
        spark4=(
            "sql.connector.catalog.ProcedureCatalog",
            "sql.connector.catalog.procedures.BoundProcedure",
            "sql.connector.catalog.procedures.ProcedureParameter",
            "sql.connector.catalog.procedures.UnboundProcedure",
        ),
    ),
    Feature(
        "mutations",
        ("mutate",),
        pyspark=("_jdf", "_jsc", "_jsparkSession"),
    ),
    Feature(
        "the Thrift server",
        ("thrift", "versions"),
        spark4=("sql.hive.thriftserver.HiveThriftServer2#startWithSparkSession",),
        spark3=("sql.hive.thriftserver.HiveThriftServer2#startWithContext",),
        pyspark=("_jsparkSession",),
    ),
    Feature(
        "the Connect server",
        ("connect",),
        spark4=("sql.connect.service.SparkConnectService",),
        pyspark=("_active_spark_context", "_gateway", "_jsc", "_jvm"),
    ),
    Feature(
        "the jar of spark-sql and spark-shell",
        ("jar", "SparkExtension.java"),
        names=(
            "SparkContext",
            "api.java.JavaSparkContext",
            "api.python.PythonUtils",
            "scheduler.SparkListener",
            "scheduler.SparkListenerApplicationEnd",
        ),
    ),
)
