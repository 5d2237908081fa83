/*
 * An error of the Python package on its way through the JVM. Handlers of SQL scripts take errors of Spark's interface
 * alone, and clients of the Thrift server see its text. Compiled on the driver with Janino, which comes with Spark; the
 * language is kept to what Janino knows.
 */
import java.util.Collections;
import java.util.Map;

import org.apache.spark.QueryContext;
import org.apache.spark.SparkThrowable;

public class HudiStatementException extends IllegalStateException implements SparkThrowable {
    /** @param text what went wrong, and what to do */
    public HudiStatementException(String text) {
        super(text);
    }

    public String getCondition() {
        return "USER_RAISED_EXCEPTION"; // one of Spark's own, which handlers may name, and whose text is ours alone
    }

    public String getErrorClass() {
        return getCondition();
    }

    public String getSqlState() {
        return "P0001";
    }

    public boolean isInternalError() {
        return false;
    }

    public Map getMessageParameters() {
        return Collections.singletonMap("errorMessage", getMessage());
    }

    public QueryContext[] getQueryContext() {
        return new QueryContext[0];
    }
}
