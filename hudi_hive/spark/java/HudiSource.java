/*
 * The data source "hudi": what spark.read.format("hudi"), USING hudi and readStream.format("hudi") find. Spark looks for
 * the class hudi.DefaultSource by its name; Python compiles this text with Janino, which comes with Spark, and puts the
 * classes where Spark's class loader looks. The language is kept to what Janino knows (no generics, no lambdas). It is
 * used where queries are planned, never on executors.
 *
 * Everything is answered by a function of Python, which gets what is asked as an array: a word, the session, the options
 * as keys and values in turn, and what else belongs to the question.
 */
package hudi;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.execution.streaming.Source;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.sources.PrunedScan;
import org.apache.spark.sql.sources.RelationProvider;
import org.apache.spark.sql.sources.SchemaRelationProvider;
import org.apache.spark.sql.sources.StreamSinkProvider;
import org.apache.spark.sql.sources.StreamSourceProvider;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

import scala.Function0;
import scala.Function1;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

public class DefaultSource
    implements RelationProvider, SchemaRelationProvider, CreatableRelationProvider, StreamSourceProvider,
        StreamSinkProvider, DataSourceRegister {
    /** Answers every question; set by Python for the running Spark context. */
    public static Function1 handler;

    public String shortName() {
        return "hudi";
    }

    public BaseRelation createRelation(SQLContext context, Map parameters) {
        return (BaseRelation) ask(new Object[] {"read", context.sparkSession(), pairs(parameters), null});
    }

    public BaseRelation createRelation(SQLContext context, Map parameters, StructType schema) {
        return (BaseRelation) ask(new Object[] {"read", context.sparkSession(), pairs(parameters), schema});
    }

    public BaseRelation createRelation(SQLContext context, SaveMode mode, Map parameters, Dataset rows) {
        return (BaseRelation) ask(
            new Object[] {"write", context.sparkSession(), pairs(parameters), mode.name(), rows}
        );
    }

    public Sink createSink(SQLContext context, Map parameters, Seq partitionColumns, OutputMode mode) {
        List columns = CollectionConverters.asJava(partitionColumns);
        return (Sink) ask(
            new Object[] {"sink", context.sparkSession(), pairs(parameters), mode.toString(), columns.toArray()}
        );
    }

    public Tuple2 sourceSchema(SQLContext context, Option schema, String provider, Map parameters) {
        Object[] question = new Object[] {"stream schema", context.sparkSession(), pairs(parameters), orNull(schema)};
        return new Tuple2("hudi", ask(question));
    }

    public Source createSource(SQLContext context, String metadata, Option schema, String provider, Map parameters) {
        String query = context.sparkSession().sparkContext().getLocalProperty("sql.streaming.queryId");
        return (Source) ask(
            new Object[] {"stream", context.sparkSession(), pairs(parameters), orNull(schema), metadata, query}
        );
    }

    static Object ask(Object[] question) {
        Function1 function = handler;
        if (function == null) {
            throw new IllegalStateException("no session reads Hudi tables; call hudi_hive.spark.enable(spark)");
        }
        return function.apply(question);
    }

    static String[] pairs(Map parameters) {
        String[] found = new String[2 * parameters.size()];
        Iterator all = parameters.iterator();
        for (int i = 0; all.hasNext(); i += 2) {
            Tuple2 entry = (Tuple2) all.next();
            found[i] = (String) entry._1();
            found[i + 1] = (String) entry._2();
        }
        return found;
    }

    static Object orNull(Option value) {
        return value.isDefined() ? value.get() : null;
    }

    /** Takes the batches of a stream. The function gets number, id of the query, and rows of each. */
    public static class BatchSink implements Sink {
        private final String label;
        private final Function1 write;

        public BatchSink(String label, Function1 write) {
            this.label = label;
            this.write = write;
        }

        public void addBatch(long batch, Dataset rows) {
            String query = rows.sparkSession().sparkContext().getLocalProperty("sql.streaming.queryId");
            write.apply(new Object[] {Long.valueOf(batch), query, rows});
        }

        public String name() {
            return label;
        }

        public StructType schema() {
            return new StructType();
        }

        public Set capabilities() {
            return new HashSet();
        }

        public String toString() {
            return label;
        }
    }

    /**
     * An optimiser rule that leaves the rows of an incremental query: a file also holds rows that older commits wrote,
     * and a relation cannot say which of its rows count. It is for relations whose file index is also a function, which
     * gives the index that lists the files, and the times of the commits.
     */
    public static class CommitRule extends Rule {
        public String toString() {
            return "hudi_hive.CommitRule";
        }

        public String ruleName() {
            return "hudi_hive.CommitRule";
        }

        public TreeNode apply(TreeNode plan) {
            return ((LogicalPlan) plan).transformDownWithSubqueries(new Restrict());
        }
    }

    public static class Restrict extends AbstractPartialFunction {
        public boolean isDefinedAt(Object node) {
            return relationBelow(node) != null;
        }

        public Object applyOrElse(Object node, Function1 otherwise) {
            LogicalRelation relation = relationBelow(node);
            return relation == null ? otherwise.apply(node) : restricted((LogicalPlan) node, relation);
        }
    }

    /** The relation that a node is, or that a Filter lies on, if it is one of some commits. */
    static LogicalRelation relationBelow(Object node) {
        Object below = node instanceof Filter ? ((Filter) node).child() : node;
        if (!(below instanceof LogicalRelation) || !(((LogicalRelation) below).relation() instanceof HadoopFsRelation)) {
            return null;
        }
        HadoopFsRelation files = (HadoopFsRelation) ((LogicalRelation) below).relation();
        return files.location() instanceof Function0 ? (LogicalRelation) below : null;
    }

    static LogicalPlan restricted(LogicalPlan node, LogicalRelation relation) {
        HadoopFsRelation files = (HadoopFsRelation) relation.relation();
        Tuple2 told = (Tuple2) ((Function0) files.location()).apply();
        Object[] arguments = new Object[relation.productArity()];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = relation.productElement(i);
        }
        arguments[0] = files.copy(
            (FileIndex) told._1(),
            files.partitionSchema(),
            files.dataSchema(),
            files.bucketSpec(),
            files.fileFormat(),
            files.options(),
            files.sparkSession()
        );
        Expression condition = written(relation, (String[]) told._2());
        boolean joined = node instanceof Filter && ((Filter) node).condition().deterministic();
        if (joined) {
            condition = new And(((Filter) node).condition(), condition);
        }
        LogicalPlan kept = new Filter(condition, (LogicalPlan) relation.makeCopy(arguments));
        return node instanceof Filter && !joined ? new Filter(((Filter) node).condition(), kept) : kept;
    }

    /** Whether a row was written by one of some commits. */
    static Expression written(LogicalRelation relation, String[] times) {
        Attribute column = null;
        Iterator all = relation.output().iterator();
        while (all.hasNext()) {
            Attribute attribute = (Attribute) all.next();
            column = attribute.name().equals("_hoodie_commit_time") ? attribute : column;
        }
        if (column == null) {
            throw new IllegalStateException("an incremental query of a relation without _hoodie_commit_time");
        }
        List literals = new ArrayList();
        Set values = new HashSet();
        for (int i = 0; i < times.length; i++) {
            UTF8String time = UTF8String.fromString(times[i]);
            literals.add(new Literal(time, DataTypes.StringType));
            values.add(time);
        }
        if (times.length > 10) { // as Spark's own rule would, which has run by now
            return new InSet(column, CollectionConverters.asScala(values).toSet());
        }
        return new In(column, CollectionConverters.asScala(literals).toSeq());
    }

    /** Rows that Python makes whole. The function gets names of columns and gives an RDD of Spark's internal rows. */
    public static class PlannedRows extends BaseRelation implements PrunedScan {
        private final SQLContext context;
        private final StructType columns;
        private final Function1 rows;

        public PlannedRows(SparkSession session, StructType columns, Function1 rows) {
            this.context = session.sqlContext();
            this.columns = columns;
            this.rows = rows;
        }

        public SQLContext sqlContext() {
            return context;
        }

        public StructType schema() {
            return columns;
        }

        public boolean needConversion() {
            return false;
        }

        public RDD buildScan(String[] wanted) {
            return (RDD) rows.apply(wanted);
        }
    }
}
