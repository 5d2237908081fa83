/*
 * A rule of the analyser, behind all of its own, that has Python say what to do about a name that no table or view has.
 * Compiled on the driver with Janino, which comes with Spark; the language is kept to what Janino knows.
 */
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.unsafe.Platform;

import scala.Function1;
import scala.collection.Iterator;

public class MissingTableRule extends Rule {
    private final String label;
    private final Function1 explain;

    /**
     * @param label what the rule is called
     * @param explain gets the node of a name that stayed one, and gives the error to throw, or null for Spark's own
     */
    public MissingTableRule(String label, Function1 explain) {
        this.label = label;
        this.explain = explain;
    }

    public String toString() {
        return label;
    }

    public String ruleName() {
        return label;
    }

    public TreeNode apply(TreeNode plan) {
        check((LogicalPlan) plan);
        return plan;
    }

    private void check(LogicalPlan plan) {
        if (plan.resolved()) {
            return;
        }
        String name = plan.getClass().getSimpleName();
        if (name.equals("UnresolvedRelation") || name.equals("UnresolvedTable") || name.equals("UnresolvedTableOrView")) {
            Object error = explain.apply(plan);
            if (error != null) {
                Platform.throwException((Throwable) error); // a checked exception, which Scala does not declare
            }
        }
        for (Iterator children = plan.children().iterator(); children.hasNext();) {
            check((LogicalPlan) children.next());
        }
    }
}
