/*
 * The connections by which Java calls Python, as py4j's client keeps those that are not in use. Each thread of Java has
 * its own; py4j keeps that of a thread that has ended, and with it a socket on both sides and a thread of Python's. Spark's
 * pools end threads all the time: here their connections are closed when another thread puts its own back.
 *
 * Everything runs under the lock that py4j's client guards its connections with.
 */
import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Iterator;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.locks.Lock;

import py4j.CallbackClient;
import py4j.ClientServerConnection;

public class CallbackConnections extends ArrayDeque {
    private final Map threads = new WeakHashMap(); // connection -> reference to its thread
    private final Lock lock;

    /** Takes the place of the connections of py4j's client so far; whose these are is not known, so they stay. */
    public CallbackConnections(Object client) throws Exception {
        lock = (Lock) field("lock").get(client);
        lock.lock();
        try {
            Field connections = field("connections");
            addAll((Collection) connections.get(client));
            connections.set(client, this);
        } finally {
            lock.unlock();
        }
    }

    private static Field field(String name) throws Exception {
        Field found = CallbackClient.class.getDeclaredField(name);
        found.setAccessible(true);
        return found;
    }

    public void addLast(Object connection) {
        threads.put(connection, new WeakReference(Thread.currentThread()));
        super.addLast(connection);
        close(false);
    }

    /** Closes all that are not in use; a thread that calls Python again opens a new one. */
    public void closeAll() {
        lock.lock();
        try {
            close(true);
        } finally {
            lock.unlock();
        }
    }

    private void close(boolean all) {
        Iterator kept = iterator();
        while (kept.hasNext()) {
            Object each = kept.next();
            // Those that Python opened, for its own threads to call Java, are Python's to close.
            if (each instanceof ClientServerConnection && ((ClientServerConnection) each).isInitiatedFromClient()
                    && (all || hasEnded(each))) {
                kept.remove();
                threads.remove(each);
                ((ClientServerConnection) each).shutdown();
            }
        }
    }

    private boolean hasEnded(Object connection) {
        WeakReference reference = (WeakReference) threads.get(connection);
        if (reference == null) {
            return false;
        }
        Thread thread = (Thread) reference.get();
        return thread == null || !thread.isAlive();
    }
}
