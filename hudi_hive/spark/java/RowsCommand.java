/* A command with rows, for Spark 3.5, which has no CALL. It is used where statements run, never on executors. */
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.ExternalCommandRunner;
import org.apache.spark.sql.execution.command.ExternalCommandExecutor;

import scala.Function1;
import scala.collection.Seq;
import scala.collection.immutable.Map;
import scala.collection.mutable.WrappedArray$;

public class RowsCommand extends ExternalCommandExecutor {
    private final Seq columns;
    private final Function1 rows;

    /**
     * @param runner stands where Spark's own command has one; it is not called
     * @param text how plans show it
     * @param options none
     * @param columns attributes of its rows
     * @param rows gives the rows as an array of Spark's
     */
    public RowsCommand(ExternalCommandRunner runner, String text, Map options, Seq columns, Function1 rows) {
        super(runner, text, options);
        this.columns = columns;
        this.rows = rows;
    }

    public Seq output() {
        return columns;
    }

    public Seq otherCopyArgs() {
        return WrappedArray$.MODULE$.make(new Object[] {columns, rows});
    }

    public Seq run(SparkSession session) {
        return WrappedArray$.MODULE$.make(rows.apply(session));
    }
}
