/*
 * An error of the Python package on its way through the JVM. Handlers of SQL scripts take errors of Spark's interface
 * alone, clients of the Thrift server see its text, and clients of Spark Connect raise the nearest of Spark's own
 * classes that it extends. Compiled on the driver with Janino, which comes with Spark; the language is kept to what
 * Janino knows.
 */
import java.util.Collections;
import java.util.Map;

import org.apache.spark.QueryContext;
import org.apache.spark.SparkRuntimeException;

public class HudiStatementException extends SparkRuntimeException {
    private static final String CONDITION = "USER_RAISED_EXCEPTION"; // one of Spark's own, which handlers may name

    private final String text;

    /** @param text what went wrong, and what to do */
    public HudiStatementException(String text) {
        super(CONDITION, new scala.collection.immutable.Map.Map1("errorMessage", text), null, new QueryContext[0], "");
        this.text = text;
    }

    /** The text alone, without the condition before it and the state behind it. */
    public String getMessage() {
        return text;
    }

    public String getSqlState() {
        return "P0001";
    }

    public Map getMessageParameters() {
        return Collections.singletonMap("errorMessage", text);
    }
}
