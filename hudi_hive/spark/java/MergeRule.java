/*
 * An optimiser rule that splits scans of merge-on-read tables: slices of a base file alone stay Spark's own scan, slices
 * with log files become rows that Python makes. Compiled in memory by Janino, which comes with Spark; the language is
 * kept to what Janino knows (no generics, no lambdas). It runs where queries are planned, never on executors.
 *
 * A relation to split is one whose file index is also a function. The function gets the columns and the conditions of a
 * scan, whether a limit lies on it, whether nothing but its number of rows matters, whether its tasks have classes of
 * their session alone, the session's time zone, the bytes of log records that it has executors keep, or null, and
 * settings of it on which the answer depends. It gives the index of the slices whose base files Spark reads, and the
 * plan of the other rows or null when the conditions leave none of them. Where log files replace rows of those base
 * files it gives a filter and bits, too: the filter's condition is on three columns, the bits, the place of a file's
 * first word of bits, and the number of a row in its file. Then come whether the other rows have passed the conditions
 * already, and a file format that does what the filter does, and gives log records, or null.
 */
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.spark.JobArtifactSet$;
import org.apache.spark.sql.RuntimeConfig;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.expressions.objects.AssertNotNull;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat$;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

public class MergeRule extends Rule {
    /** A setting of the session: bytes of log records that executors keep. */
    static final String RECORDS = "spark.hudi_hive.log.records.bytes";

    /** A partition column of files, as in BaseFileFormats.java. */
    static final String FIRST_WORD = "_hudi_hive_first_word";

    public String toString() {
        return "hudi_hive.MergeRule";
    }

    public String ruleName() {
        return "hudi_hive.MergeRule";
    }

    public TreeNode apply(TreeNode plan) {
        // Subqueries too: those of dynamic partition pruning are copies of a part of the plan that no other rule sees.
        return ((LogicalPlan) plan).transformDownWithSubqueries(new Split());
    }

    public static class Split extends AbstractPartialFunction {
        public boolean isDefinedAt(Object node) {
            return relationBelow(limited((LogicalPlan) node)) != null;
        }

        public Object applyOrElse(Object node, Function1 otherwise) {
            LogicalPlan below = limited((LogicalPlan) node);
            LogicalRelation relation = relationBelow(below);
            if (relation == null) {
                return otherwise.apply(node);
            }
            if (below == node) {
                return split(below, relation, false);
            }
            return new LocalLimit(((LocalLimit) node).limitExpr(), split(below, relation, true));
        }

        /** What a limit lies on, when any rows below do for it; else the node itself. */
        private static LogicalPlan limited(LogicalPlan node) {
            if (!(node instanceof LocalLimit)) {
                return node;
            }
            LogicalPlan below = ((LocalLimit) node).child();
            LogicalPlan columns = below instanceof Project ? ((Project) below).child() : below;
            return columns instanceof Filter ? node : below;
        }
    }

    /** Substitutes attributes. */
    public static class Replace extends AbstractPartialFunction {
        private final Map attributes;

        public Replace(Map attributes) {
            this.attributes = attributes;
        }

        public boolean isDefinedAt(Object node) {
            return find(node) != null;
        }

        public Object applyOrElse(Object node, Function1 otherwise) {
            Object found = find(node);
            return found == null ? otherwise.apply(node) : found;
        }

        private Object find(Object node) {
            return node instanceof AttributeReference ? attributes.get(((AttributeReference) node).exprId()) : null;
        }
    }

    /** The relation that a Project, a Filter, both, or nothing lies on directly, if it is one to split. */
    static LogicalRelation relationBelow(LogicalPlan node) {
        LogicalPlan below = node instanceof Project ? ((Project) node).child() : node;
        below = below instanceof Filter ? ((Filter) below).child() : below;
        if (!(below instanceof LogicalRelation) || !(((LogicalRelation) below).relation() instanceof HadoopFsRelation)) {
            return null;
        }
        HadoopFsRelation relation = (HadoopFsRelation) ((LogicalRelation) below).relation();
        return relation.location() instanceof Function1 ? (LogicalRelation) below : null;
    }

    static LogicalPlan split(LogicalPlan node, LogicalRelation relation, boolean limited) {
        Project project = node instanceof Project ? (Project) node : null;
        LogicalPlan below = project == null ? node : project.child();
        Filter filter = below instanceof Filter ? (Filter) below : null;
        // A condition that is not the same each time it is evaluated stays above both parts, once for each row.
        boolean pushed = filter != null && filter.condition().deterministic();

        AttributeSet wanted = project == null ? relation.outputSet() : project.references();
        if (filter != null && !pushed) {
            wanted = wanted.$plus$plus(filter.references());
        }
        AttributeSet read = pushed ? wanted.$plus$plus(filter.references()) : wanted;
        List output = among(relation, wanted);
        List columns = among(relation, read);
        if (columns.isEmpty()) {
            columns.add(narrowest(relation)); // rows without columns cannot be told from no rows
        }
        List conditions = new ArrayList();
        if (pushed) {
            conjuncts(filter.condition(), conditions);
        }

        HadoopFsRelation files = (HadoopFsRelation) relation.relation();
        boolean counted = output.isEmpty() && !limited;
        RuntimeConfig settings = files.sparkSession().conf();
        Object[] request = new Object[] {
            seq(columns),
            seq(conditions),
            Boolean.valueOf(limited),
            Boolean.valueOf(counted),
            Boolean.valueOf(isolated(files)),
            settings.get("spark.sql.session.timeZone"),
            settings.get(RECORDS, null),
            settings.get("spark.sql.parquet.enableVectorizedReader"),
            settings.get("spark.sql.parquet.enableNestedColumnVectorizedReader"),
            settings.get("spark.sql.legacy.timeParserPolicy")
        };
        Object[] parts = (Object[]) ((Function1) files.location()).apply(request);
        LogicalPlan result = baseFiles(relation, files, parts, output, conditions, pushed);
        if (parts[1] != null) {
            boolean passed = ((Boolean) parts[4]).booleanValue();
            List unchecked = passed ? new ArrayList() : conditions;
            LogicalPlan merged = merged((LogicalPlan) parts[1], columns, output, unchecked, pushed);
            List both = new ArrayList();
            both.add(result);
            both.add(merged);
            // The columns of a union are called as those of its first part: what lies above needs no change.
            result = new Union(seq(both), false, false);
        }
        if (filter != null && !pushed) {
            result = new Filter(filter.condition(), result);
        }
        return project == null ? result : new Project(project.projectList(), result);
    }

    static Attribute narrowest(LogicalRelation relation) {
        Attribute found = (Attribute) relation.output().head();
        Iterator all = relation.output().iterator();
        while (all.hasNext()) {
            Attribute attribute = (Attribute) all.next();
            if (attribute.dataType().defaultSize() < found.dataType().defaultSize()) {
                found = attribute;
            }
        }
        return found;
    }

    static List among(LogicalRelation relation, AttributeSet wanted) {
        List found = new ArrayList();
        Iterator all = relation.output().iterator();
        while (all.hasNext()) {
            Attribute attribute = (Attribute) all.next();
            if (wanted.contains(attribute)) {
                found.add(attribute);
            }
        }
        return found;
    }

    static void conjuncts(Expression condition, List found) {
        if (condition instanceof And) {
            conjuncts(((And) condition).left(), found);
            conjuncts(((And) condition).right(), found);
        } else {
            found.add(condition);
        }
    }

    static LogicalPlan baseFiles(
        LogicalRelation relation, HadoopFsRelation files, Object[] parts, List output, List conditions, boolean pushed
    ) {
        FileIndex index = (FileIndex) parts[0];
        FileFormat format = files.fileFormat();
        StructType partitions = files.partitionSchema();
        StructType data = files.dataSchema();
        if (parts[2] == null) {
            return part(over(relation, files, index, format, partitions, data, relation.output()), output, conditions, pushed);
        }
        partitions = partitions.add(FIRST_WORD, DataTypes.LongType);
        Attribute first = (Attribute) DataTypeUtils.toAttributes(new StructType().add(FIRST_WORD, DataTypes.LongType)).head();
        List columns = new ArrayList(CollectionConverters.asJava(relation.output()));
        columns.add(first);
        if (parts[5] != null) {
            format = (FileFormat) parts[5];
            return part(over(relation, files, index, format, partitions, data, seq(columns)), output, conditions, pushed);
        }
        String name = ParquetFileFormat$.MODULE$.ROW_INDEX_TEMPORARY_COLUMN_NAME();
        StructType numbers = new StructType().add(name, DataTypes.LongType);
        Attribute number = (Attribute) DataTypeUtils.toAttributes(numbers).head();
        columns.add(number);
        data = data.add(name, DataTypes.LongType);
        LogicalPlan read = over(relation, files, index, format, partitions, data, seq(columns));
        // Before the conditions: one that fails at a row that does not count must not be asked of it.
        List all = new ArrayList();
        all.add(counts((Filter) parts[2], (Expression) parts[3], first, number));
        if (pushed) {
            all.addAll(conditions);
        }
        return part(read, output, all, true);
    }

    /** Whether tasks have classes of their session alone, and do not find that of the format; plans are made outside, too. */
    static boolean isolated(HadoopFsRelation files) {
        return JobArtifactSet$.MODULE$.getCurrentJobArtifactState().isDefined()
            || files.sparkSession().conf().get("spark.sql.artifact.isolation.enabled", "false").equals("true");
    }

    /** The condition that no log file replaces a row. */
    static Expression counts(Filter filter, Expression bits, Attribute first, Attribute number) {
        Map attributes = new HashMap();
        Seq columns = filter.child().output();
        attributes.put(((Attribute) columns.apply(0)).exprId(), bits);
        attributes.put(((Attribute) columns.apply(1)).exprId(), first);
        // A reader that does not number rows would have all of them left out.
        Expression numbered = new AssertNotNull(number, seq(new ArrayList()));
        attributes.put(((Attribute) columns.apply(2)).exprId(), numbered);
        return (Expression) filter.condition().transform(new Replace(attributes));
    }

    static LogicalPlan over(
        LogicalRelation relation,
        HadoopFsRelation files,
        FileIndex index,
        FileFormat format,
        StructType partitions,
        StructType data,
        Seq output
    ) {
        Object[] arguments = new Object[relation.productArity()];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = relation.productElement(i);
        }
        arguments[0] = files.copy(
            index, partitions, data, files.bucketSpec(), format, files.options(), files.sparkSession()
        );
        arguments[1] = output;
        return (LogicalPlan) relation.makeCopy(arguments);
    }

    static LogicalPlan merged(LogicalPlan rows, List columns, List output, List conditions, boolean pushed) {
        Map attributes = new HashMap();
        for (int i = 0; i < columns.size(); i++) {
            attributes.put(((Attribute) columns.get(i)).exprId(), rows.output().apply(i));
        }
        Replace replace = new Replace(attributes);
        List own = new ArrayList();
        for (int i = 0; i < output.size(); i++) {
            own.add(attributes.get(((Attribute) output.get(i)).exprId()));
        }
        List kept = new ArrayList();
        for (int i = 0; i < conditions.size(); i++) {
            // Dynamic pruning only saves work: the join that it comes from decides on rows.
            if (!(conditions.get(i) instanceof DynamicPruningSubquery)) {
                kept.add(((Expression) conditions.get(i)).transform(replace));
            }
        }
        return part(rows, own, kept, pushed);
    }

    static LogicalPlan part(LogicalPlan rows, List output, List conditions, boolean pushed) {
        LogicalPlan result = rows;
        if (pushed && !conditions.isEmpty()) {
            Expression all = (Expression) conditions.get(0);
            for (int i = 1; i < conditions.size(); i++) {
                all = new And(all, (Expression) conditions.get(i));
            }
            result = new Filter(all, result);
        }
        return new Project(seq(output), result);
    }

    static Seq seq(List items) {
        return CollectionConverters.asScala(items).toSeq();
    }
}
