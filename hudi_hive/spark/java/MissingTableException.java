/*
 * Spark's own error about a name that no table or view has, with a text that says what to do. Clients of Spark's servers
 * see the text; programs find Spark's class, condition and parameters. Compiled on the driver with Janino, which comes
 * with Spark; the language is kept to what Janino knows.
 */
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.trees.Origin;

import scala.Option;
import scala.Some;
import scala.collection.immutable.Map;

public class MissingTableException extends AnalysisException {
    private static final String CONDITION = "TABLE_OR_VIEW_NOT_FOUND";

    private final String text;

    /**
     * @param text what is wrong, and what to do
     * @param parameters of Spark's own text, which programs may ask for
     * @param origin where the statement has the name
     */
    public MissingTableException(String text, Map parameters, Origin origin) {
        super(
            text(text), origin.line(), origin.startPosition(), Option.empty(), new Some(CONDITION),
            parameters, origin.getQueryContext()
        );
        this.text = text(text);
    }

    private static String text(String said) {
        return "[" + CONDITION + "] " + said;
    }

    public String getMessage() {
        return text;
    }

    public String getSimpleMessage() {
        return text;
    }
}
