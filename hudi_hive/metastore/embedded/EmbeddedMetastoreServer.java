/*
 * Runs Hive 2.3's metastore on the loopback address only. Hive's own main class listens on all addresses and can be told
 * nothing else, so this one builds the same server on a socket of its own. It is compiled in memory by Janino, which comes
 * with Spark, so no JDK is needed; the language is kept to what Janino knows (no lambdas, no generic inference).
 *
 * Arguments: PORT (0 = any free one) PARENT_PID. Lines on standard output: "stage TEXT", then "ready PORT" or
 * "failed TEXT". It ends when standard input ends or when the parent is no longer its parent: whatever kills the parent,
 * no server stays behind.
 */
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Optional;

import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.IHMSHandler;
import org.apache.hadoop.hive.metastore.TUGIBasedProcessor;
import org.apache.hadoop.hive.thrift.TUGIContainingTransport;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TProtocol;
import org.apache.thrift.server.ServerContext;
import org.apache.thrift.server.TServerEventHandler;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.TServerSocket;
import org.apache.thrift.transport.TTransport;

public class EmbeddedMetastoreServer {
    private static PrintStream out;

    public static void main(String[] args) throws Throwable {
        // Libraries that print go to the log; standard output belongs to the lines for the parent.
        out = System.out;
        System.setOut(System.err);
        final int port = Integer.parseInt(args[0]);
        final long parent = Long.parseLong(args[1]);
        watch(parent);
        try {
            serve(port);
        } catch (Throwable error) {
            error.printStackTrace();
            Throwable cause = error;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            say("failed " + cause.getClass().getSimpleName() + ": " + String.valueOf(cause.getMessage()).replace('\n', ' '));
            Runtime.getRuntime().halt(1);
        }
    }

    private static void serve(int port) throws Throwable {
        say("stage reserving the port");
        final TServerSocket socket = new TServerSocket(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), port));
        say("stage opening the catalog");
        HiveConf conf = new HiveConf(HiveMetaStore.class);
        HiveMetaStore.HMSHandler base = new HiveMetaStore.HMSHandler("embedded metastore", conf, false);
        final IHMSHandler handler = HiveMetaStore.newRetryingHMSHandler(base, conf);
        TThreadPoolServer.Args options = new TThreadPoolServer.Args(socket);
        options.processor(new TUGIBasedProcessor(handler));
        options.transportFactory(new TUGIContainingTransport.Factory());
        options.protocolFactory(new TBinaryProtocol.Factory());
        options.minWorkerThreads(4);
        options.maxWorkerThreads(conf.getIntVar(HiveConf.ConfVars.METASTORESERVERMAXTHREADS));
        final TThreadPoolServer server = new TThreadPoolServer(options);
        server.setServerEventHandler(new Events(base, socket.getServerSocket().getLocalPort()));
        Runtime.getRuntime().addShutdownHook(new Thread() {
            public void run() {
                server.stop();
                closeDerby();
            }
        });
        server.serve();
    }

    /** Tells the parent that the server listens, and frees what a connection held when it ends. */
    public static class Events implements TServerEventHandler {
        private final HiveMetaStore.HMSHandler handler;
        private final int port;

        public Events(HiveMetaStore.HMSHandler handler, int port) {
            this.handler = handler;
            this.port = port;
        }

        public void preServe() {
            say("ready " + port);
        }

        public ServerContext createContext(TProtocol input, TProtocol output) {
            return null;
        }

        public void deleteContext(ServerContext context, TProtocol input, TProtocol output) {
            handler.shutdown();
        }

        public void processContext(ServerContext context, TTransport input, TTransport output) {
        }
    }

    private static void watch(final long parent) {
        Thread pipe = new Thread("parent-pipe") {
            public void run() {
                try {
                    while (System.in.read() >= 0) {
                        continue;
                    }
                } catch (java.io.IOException error) {
                    error.printStackTrace();
                }
                leave();
            }
        };
        pipe.setDaemon(true);
        pipe.start();
        // A process forked from the parent may keep the pipe open, so the parent itself is looked at too.
        Thread poll = new Thread("parent-poll") {
            public void run() {
                try {
                    // By reflection because Janino compiles no calls of an interface's static methods.
                    ProcessHandle self = (ProcessHandle)
                        ProcessHandle.class.getMethod("current", new Class[0]).invoke(null, new Object[0]);
                    while (true) {
                        Optional now = self.parent();
                        if (!now.isPresent() || ((ProcessHandle) now.get()).pid() != parent) {
                            leave();
                        }
                        Thread.sleep(500L);
                    }
                } catch (Exception error) {
                    error.printStackTrace();
                    leave();
                }
            }
        };
        poll.setDaemon(true);
        poll.start();
    }

    private static void leave() {
        // A shutdown hook that hangs must not keep the process.
        Thread last = new Thread("last-resort") {
            public void run() {
                try {
                    Thread.sleep(10000L);
                } catch (InterruptedException error) {
                    error.printStackTrace();
                }
                Runtime.getRuntime().halt(0);
            }
        };
        last.setDaemon(true);
        last.start();
        System.exit(0);
    }

    private static void closeDerby() {
        try {
            DriverManager.getConnection("jdbc:derby:;shutdown=true");
        } catch (SQLException expected) {
            // Derby reports a clean shutdown as an exception.
        }
    }

    private static void say(String line) {
        out.println(line);
        out.flush();
    }
}
