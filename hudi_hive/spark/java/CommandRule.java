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
    private static final Set COMMANDS = new HashSet(
        Arrays.asList(
            new String[] {
                "AppendData", "OverwriteByExpression", "OverwritePartitionsDynamic", "InsertIntoStatement",
                "MergeIntoTable", "CreateTable", "CreateTableAsSelect", "ReplaceTable", "ReplaceTableAsSelect"
            }
        )
    );

    private final Function1 convert;

    /** @param convert gets a command, and gives the one that is carried out in its place, or the same */
    public CommandRule(Function1 convert) {
        this.convert = convert;
    }

    public String toString() {
        return "hudi_hive.CommandRule";
    }

    public String ruleName() {
        return "hudi_hive.CommandRule";
    }

    public TreeNode apply(TreeNode plan) {
        return isOpen((LogicalPlan) plan) ? (TreeNode) convert.apply(plan) : plan;
    }

    /** Whether it is a command about a table that is a name as yet. */
    static boolean isOpen(LogicalPlan plan) {
        if (!COMMANDS.contains(plan.getClass().getSimpleName())) {
            return false;
        }
        Object table = plan.productElement(0);
        while (table instanceof SubqueryAlias) {
            table = ((SubqueryAlias) table).child();
        }
        String kind = table.getClass().getSimpleName();
        return kind.startsWith("Unresolved") || kind.equals("CatalogTable");
    }
}
