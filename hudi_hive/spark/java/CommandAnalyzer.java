/* An analyser of Spark 3.5 that shows each plan to a rule first; later releases have a place for such rules. */
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.analysis.Analyzer;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;

public class CommandAnalyzer extends Analyzer {
    private final Analyzer delegate;
    private final Rule rule;

    public CommandAnalyzer(Analyzer delegate, Rule rule) {
        super(delegate.catalogManager());
        this.delegate = delegate;
        this.rule = rule;
    }

    /** The analyser around which this is. */
    public Analyzer delegate() {
        return delegate;
    }

    public String toString() {
        return "hudi_hive.CommandAnalyzer";
    }

    public LogicalPlan executeAndCheck(LogicalPlan plan, QueryPlanningTracker tracker) {
        return delegate.executeAndCheck((LogicalPlan) rule.apply(plan), tracker);
    }

    public LogicalPlan execute(LogicalPlan plan) {
        return delegate.execute((LogicalPlan) rule.apply(plan));
    }
}
