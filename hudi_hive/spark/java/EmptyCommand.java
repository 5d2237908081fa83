/*
 * A command without columns, unlike Spark's own that runs what is elsewhere. With a projection around that one, plans of
 * statements that ran would be no results of commands, and Spark Connect runs those again when their rows are asked for.
 * It is used where statements run, never on executors.
 */
import org.apache.spark.sql.connector.ExternalCommandRunner;
import org.apache.spark.sql.execution.command.ExternalCommandExecutor;

import scala.collection.immutable.Map;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;

public class EmptyCommand extends ExternalCommandExecutor {
    /**
     * @param runner does the work; gives no rows
     * @param text how plans show it
     * @param options none
     */
    public EmptyCommand(ExternalCommandRunner runner, String text, Map options) {
        super(runner, text, options);
    }

    public Seq output() {
        return Nil$.MODULE$;
    }
}
