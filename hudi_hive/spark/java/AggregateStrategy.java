/*
 * Plans aggregates over slices with log files: rows of base files and log records are aggregated apart as far as tasks
 * do so anyway, and only what comes out of them is put together. Spark cannot compile a union of rows into one loop with
 * what lies on it, so that each row of the base files would be copied on its way to the aggregate.
 *
 * Compiled on the driver with Janino, which comes with Spark; the language is kept to what Janino knows (no generics, no
 * lambdas). It runs where queries are planned, never on executors.
 */
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Partial$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.PlanLater;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.UnionExec;
import org.apache.spark.sql.execution.aggregate.HashAggregateExec;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

import scala.Function1;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

public class AggregateStrategy extends SparkStrategy {
    private final SparkSession session;

    public AggregateStrategy(Object session) {
        this.session = (SparkSession) session;
    }

    public String toString() {
        return "hudi_hive.AggregateStrategy";
    }

    public Seq apply(LogicalPlan plan) {
        List planned = new ArrayList();
        if (plan instanceof Aggregate) {
            LogicalPlan rows = ((Aggregate) plan).child();
            Project project = rows instanceof Project ? (Project) rows : null;
            LogicalPlan below = project == null ? rows : project.child();
            boolean same = project == null || sameAnywhere(project);
            if (same && below instanceof Union && hasReplacedRows((LogicalPlan) below.children().head())) {
                Iterator plans = session.sessionState().planner().Aggregation().apply(plan).iterator();
                while (plans.hasNext()) {
                    planned.add(((SparkPlan) plans.next()).transformDown(new Split(rows, project, (Union) below)));
                }
            }
        }
        return seq(planned);
    }

    /** Whether columns do not depend on the task: each part of a union would number its tasks, and rows, from the first. */
    static boolean sameAnywhere(Project project) {
        Iterator columns = project.projectList().iterator();
        while (columns.hasNext()) {
            if (!((Expression) columns.next()).deterministic()) {
                return false;
            }
        }
        return true;
    }

    /** Whether rows are those of base files without the ones that log files replace. */
    static boolean hasReplacedRows(LogicalPlan rows) {
        LogicalPlan below = rows;
        while (below instanceof Project || below instanceof Filter) {
            below = (LogicalPlan) below.children().head();
        }
        if (!(below instanceof LogicalRelation) || !(((LogicalRelation) below).relation() instanceof HadoopFsRelation)) {
            return false;
        }
        Object format = ((HadoopFsRelation) ((LogicalRelation) below).relation()).fileFormat();
        return format.getClass().getName().equals("BaseFileFormats$Format");
    }

    /** Puts what tasks aggregate by themselves below a union. */
    public static class Split extends AbstractPartialFunction {
        private final LogicalPlan rows;
        private final Project project;
        private final Union union;

        public Split(LogicalPlan rows, Project project, Union union) {
            this.rows = rows;
            this.project = project;
            this.union = union;
        }

        public boolean isDefinedAt(Object node) {
            if (!(node instanceof HashAggregateExec)) {
                return false;
            }
            SparkPlan child = ((HashAggregateExec) node).child();
            if (!(child instanceof PlanLater) || ((PlanLater) child).plan() != rows) {
                return false;
            }
            Iterator expressions = ((HashAggregateExec) node).aggregateExpressions().iterator();
            while (expressions.hasNext()) {
                if (((AggregateExpression) expressions.next()).mode() != Partial$.MODULE$) {
                    return false;
                }
            }
            return ((HashAggregateExec) node).requiredChildDistributionExpressions().isEmpty();
        }

        public Object applyOrElse(Object node, Function1 otherwise) {
            if (!isDefinedAt(node)) {
                return otherwise.apply(node);
            }
            List parts = new ArrayList();
            Iterator children = union.children().iterator();
            while (children.hasNext()) {
                List part = new ArrayList();
                part.add(part((LogicalPlan) children.next()));
                parts.add(((SparkPlan) node).withNewChildren(seq(part)));
            }
            return new UnionExec(seq(parts));
        }

        /** A part of the union with the columns, under the same identities, that the aggregate is about. */
        private SparkPlan part(LogicalPlan child) {
            Map own = new HashMap();
            for (int i = 0; i < child.output().size(); i++) {
                own.put(((Attribute) union.output().apply(i)).exprId(), child.output().apply(i));
            }
            List columns = new ArrayList();
            Iterator wanted = project == null ? union.output().iterator() : project.projectList().iterator();
            while (wanted.hasNext()) {
                Expression column = (Expression) wanted.next();
                Expression substituted = (Expression) column.transform(new Replace(own));
                columns.add(column instanceof Attribute ? named(substituted, (Attribute) column) : substituted);
            }
            return new ProjectExec(seq(columns), new PlanLater(child));
        }

        private static Expression named(Expression column, Attribute as) {
            if (column instanceof Attribute && ((Attribute) column).exprId().equals(as.exprId())) {
                return column;
            }
            List none = new ArrayList();
            return new Alias(column, as.name(), as.exprId(), seq(none), Option.empty(), seq(none));
        }
    }

    /** Substitutes attributes. */
    public static class Replace extends AbstractPartialFunction {
        private final Map attributes;

        public Replace(Map attributes) {
            this.attributes = attributes;
        }

        public boolean isDefinedAt(Object node) {
            return node instanceof AttributeReference && attributes.containsKey(((AttributeReference) node).exprId());
        }

        public Object applyOrElse(Object node, Function1 otherwise) {
            return isDefinedAt(node) ? attributes.get(((AttributeReference) node).exprId()) : otherwise.apply(node);
        }
    }

    static Seq seq(List items) {
        return CollectionConverters.asScala(items).toSeq();
    }
}
