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

import scala.Function1;

public class RelationCache implements InvocationHandler {
    private final Object delegate;
    private final Function1 planned;
    private final Function1 replaced;
    private final Map statements = new WeakHashMap(); // thread -> key -> plan; not ThreadLocal, whose values threads hold

    /**
     * planned gives the plan of a key of the cache, or null for what is no synced table; replaced is called with the key
     * of one that Spark is about to drop, and throws.
     */
    public RelationCache(Object delegate, Function1 planned, Function1 replaced) {
        this.delegate = delegate;
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
            statements.put(Thread.currentThread(), new HashMap());
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
        // The catalog is asked first: what Spark cached may be a table of this name that is gone by now.
        Object found = name.equals("get") || name.equals("getIfPresent") ? plan(arguments[0]) : null;
        if (found != null) {
            if (isForReplacement()) {
                replaced.apply(arguments[0]);
            }
            return found;
        }
        try {
            return method.invoke(delegate, arguments);
        } catch (InvocationTargetException error) {
            throw error.getCause();
        }
    }

    /** Whether saveAsTable with mode overwrite asks, which drops a table next, unlike that of other modes. */
    private static boolean isForReplacement() {
        StackTraceElement[] frames = new Throwable().getStackTrace();
        for (int i = 0; i < frames.length; i++) {
            String name = frames[i].getClassName();
            if (name.endsWith(".DataFrameWriter") || name.endsWith(".DataFrameWriterImpl")) {
                return frames[i].getMethodName().equals("saveAsTable");
            }
        }
        return false;
    }

    private Object plan(Object key) {
        Map known;
        synchronized (statements) {
            known = (Map) statements.get(Thread.currentThread());
        }
        if (known == null) {
            return planned.apply(key);
        }
        if (!known.containsKey(key)) {
            known.put(key, planned.apply(key));
        }
        return known.get(key);
    }
}
