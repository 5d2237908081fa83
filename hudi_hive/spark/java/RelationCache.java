/*
 * The session catalog's cache of table relations, wrapped: synced tables are answered by Python, all else by Spark's own
 * cache. It is the handler of a java.lang.reflect.Proxy, since the interface's name depends on how Spark shades its
 * libraries. Python compiles this text with Janino, so there are no generics and no lambdas.
 *
 * Whatever refers to the session (plans, Spark's own cache) is held here and not in Python: what Python holds stays alive,
 * and the session with it.
 */
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.BooleanSupplier;

import org.apache.spark.api.java.function.Function2;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import scala.Function1;

public class RelationCache implements InvocationHandler {
    private final Object delegate;
    private final Object session;
    private final Function2 entries;
    private final Function1 planned;
    private final Function1 replaced;
    private final Map statements = new WeakHashMap(); // thread -> its statement; not ThreadLocal, whose values threads hold

    /** What one statement has looked up: key -> entry, and entry -> plan. */
    private static class Statement {
        final Map entries = new HashMap();
        final Map plans = new HashMap();
    }

    /**
     * entries gives the entry of a session's table and its key in the cache, or null for what is no synced table, planned
     * the plan of an entry; replaced is called with the entry of a table that Spark is about to drop, and throws.
     */
    public RelationCache(Object delegate, Object session, Function2 entries, Function1 planned, Function1 replaced) {
        this.delegate = delegate;
        this.session = session;
        this.entries = entries;
        this.planned = planned;
        this.replaced = replaced;
    }

    /** An object of the cache's interface. */
    public Object proxy(Class cache) {
        return Proxy.newProxyInstance(cache.getClassLoader(), new Class[] {cache}, this);
    }

    /** The cache around which this is. */
    public Object delegate() {
        return delegate;
    }

    /** A statement begins in this thread: each table is looked at anew, and only once. */
    public void begin() {
        synchronized (statements) {
            statements.put(Thread.currentThread(), new Statement());
        }
    }

    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        String name = method.getName();
        if (name.equals("toString")) {
            return "hudi_hive.RelationCache";
        }
        if (name.equals("equals")) {
            return Boolean.valueOf(proxy == arguments[0]);
        }
        if (name.equals("get") || name.equals("getIfPresent")) {
            Object plan = plan(arguments[0]);
            if (plan != null) {
                return plan;
            }
        }
        try {
            return method.invoke(delegate, arguments);
        } catch (InvocationTargetException error) {
            throw error.getCause();
        }
    }

    /** The plan of a synced table; null for what is none. */
    private Object plan(Object key) throws Exception {
        Statement statement;
        synchronized (statements) {
            statement = (Statement) statements.get(Thread.currentThread());
        }
        if (statement == null) {
            statement = new Statement();
        }
        // The catalog is asked first: what Spark cached may be a table of this name that is gone by now.
        if (!statement.entries.containsKey(key)) {
            statement.entries.put(key, entries.call(session, key));
        }
        Object entry = statement.entries.get(key);
        if (entry == null) {
            return null;
        }
        StackTraceElement[] frames = new Throwable().getStackTrace();
        if (isForReplacement(frames)) {
            replaced.apply(entry);
        }
        if (isForEntry(frames) && ((BooleanSupplier) entry).getAsBoolean()) {
            return new OneRowRelation();
        }
        if (!statement.plans.containsKey(entry)) {
            statement.plans.put(entry, planned.apply(entry));
        }
        return statement.plans.get(entry);
    }

    /** Whether saveAsTable with mode overwrite asks, which drops a table next, unlike that of other modes. */
    private static boolean isForReplacement(StackTraceElement[] frames) {
        for (int i = 0; i < frames.length; i++) {
            String name = frames[i].getClassName();
            if (name.endsWith(".DataFrameWriter") || name.endsWith(".DataFrameWriterImpl")) {
                return frames[i].getMethodName().equals("saveAsTable");
            }
        }
        return false;
    }

    /**
     * Whether the catalog of Spark 4 asks, which looks for no more than a plan that is there: lists and descriptions of
     * tables, and DROP, would open each, and fail at one that is damaged or whose store does not answer.
     */
    private static boolean isForEntry(StackTraceElement[] frames) {
        for (int i = 0; i < frames.length - 1; i++) {
            if (frames[i].getMethodName().equals("getCachedTable")) {
                return frames[i + 1].getClassName().endsWith(".V2SessionCatalog");
            }
        }
        return false;
    }
}
