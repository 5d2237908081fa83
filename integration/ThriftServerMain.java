/*
 * Runs Spark's Thrift server in a process that ends with its parent. Compiled in memory by Janino, which comes with Spark;
 * the language is kept to what Janino knows (no lambdas, no generic inference).
 *
 * Arguments: PORT PARENT_PID. Standard input: Spark's settings as a properties file, then an empty line. Lines on standard
 * output: "stage TEXT", then "ready PORT" or "failed TEXT". It ends when standard input ends or when the parent is no
 * longer its parent.
 */
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.StringReader;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Optional;
import java.util.Properties;

import org.apache.spark.sql.hive.thriftserver.HiveThriftServer2;

public class ThriftServerMain {
    private static PrintStream out;

    public static void main(String[] args) throws Throwable {
        // Libraries that print go to the log; standard output belongs to the lines for the parent.
        out = System.out;
        System.setOut(System.err);
        int port = Integer.parseInt(args[0]);
        readSettings();
        watch(Long.parseLong(args[1]));
        try {
            say("stage starting Spark");
            HiveThriftServer2.main(new String[0]);
            say("stage waiting for the port");
            waitFor(port);
            say("ready " + port);
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

    /** Not on the command line, which everybody on the machine can see. */
    private static void readSettings() throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, "ISO-8859-1"));
        StringBuilder text = new StringBuilder();
        while (true) {
            String line = input.readLine();
            if (line == null) {
                Runtime.getRuntime().halt(0);
            }
            if (line.length() == 0) {
                break;
            }
            text.append(line).append('\n');
        }
        Properties settings = new Properties();
        settings.load(new StringReader(text.toString()));
        System.getProperties().putAll(settings);
    }

    /** The server accepts in a thread of its own; the parent's time-out limits the waiting. */
    private static void waitFor(int port) throws Exception {
        while (true) {
            Socket socket = new Socket();
            try {
                socket.connect(new InetSocketAddress("127.0.0.1", port), 1000);
                return;
            } catch (IOException notYet) {
                Thread.sleep(50L);
            } finally {
                socket.close();
            }
        }
    }

    private static void watch(final long parent) {
        Thread pipe = new Thread("parent-pipe") {
            public void run() {
                try {
                    while (System.in.read() >= 0) {
                        continue;
                    }
                } catch (IOException error) {
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

    private static void say(String line) {
        out.println(line);
        out.flush();
    }
}
