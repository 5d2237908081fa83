/*
 * A rule of the analyser that gives commands about Hudi tables to a function of Python: those that do not come from the
 * parser, such as df.writeTo(...).append(). Compiled on the driver with Janino, which comes with Spark; the language is
 * kept to what Janino knows. It looks at the root of a plan alone, before names are resolved.
 */
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;

import scala.Function1;

public class CommandRule extends Rule {
    private final String label;
    private final Set commands;
    private final Set always;
    private final String statement;
    private final Function1 convert;

    /**
     * @param label what the rule is called
     * @param commands names of the nodes that may be about a Hudi table, if that is a name as yet
     * @param always names of the nodes that are looked at whatever they are about
     * @param statement name of the hint around the statements of scripts
     * @param convert gets a command, and gives the one that is carried out in its place, or the same
     */
    public CommandRule(String label, String[] commands, String[] always, String statement, Function1 convert) {
        this.label = label;
        this.always = new HashSet(Arrays.asList(always));
        this.commands = new HashSet(Arrays.asList(commands));
        this.statement = statement;
        this.convert = convert;
    }

    public String toString() {
        return label;
    }

    public String ruleName() {
        return label;
    }

    public TreeNode apply(TreeNode plan) {
        return isOpen((LogicalPlan) plan) ? (TreeNode) convert.apply(plan) : plan;
    }

    /** Whether it is a command about a table that is a name as yet, or a statement of a script. */
    private boolean isOpen(LogicalPlan plan) {
        String kind = plan.getClass().getSimpleName();
        if (kind.equals("UnresolvedHint")) {
            return statement.equals(plan.productElement(0));
        }
        if (kind.equals("PlanWithUnresolvedIdentifier") || always.contains(kind)) {
            return true;
        }
        if (kind.equals("WithCTE")) {
            return isOpen((LogicalPlan) plan.productElement(0));
        }
        if (kind.equals("Union")) {
            return isOpen((LogicalPlan) plan.children().head());
        }
        if (!commands.contains(kind)) {
            return false;
        }
        Object table = plan.productElement(0);
        while (table instanceof SubqueryAlias) {
            table = ((SubqueryAlias) table).child();
        }
        String name = table.getClass().getSimpleName();
        return name.startsWith("Unresolved") || name.equals("CatalogTable") || name.equals("PlanWithUnresolvedIdentifier");
    }
}
