/*
 * What spark.sql.extensions names where no Python drives Spark (spark-sql, spark-shell, Spark's own servers): sessions
 * are enabled by a Python process that is started here, is Spark's driver for Python as spark-submit would start it, and
 * ends with the Spark context or with this JVM. All threads of it are daemons: programs end as they do without it.
 *
 * "hudi-hive spark jar" compiles this text with Janino, which comes with Spark; the language is kept to what Janino knows
 * (no generics, no lambdas), and to names that Scala 2.12 and 2.13, Spark 3.5 and 4 have in common.
 */
package hudi_hive;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.ProcessBuilder.Redirect;
import java.math.BigInteger;
import java.security.SecureRandom;
import java.util.Iterator;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

import org.apache.spark.SparkContext;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;

import py4j.ClientServer;
import py4j.ClientServer.ClientServerBuilder;

import scala.Function1;
import scala.runtime.BoxedUnit;

public class SparkExtension implements Function1 {
    /** Classes that a process compiled, by name: py4j takes methods of another class of a name for those of the first. */
    private static final Map CLASSES = new ConcurrentHashMap();

    private static Planner running;

    /** Enable all sessions that are made with an object of extensions. */
    public Object apply(Object extensions) {
        SparkContext context = SparkContext.getOrCreate(); // which is there: the session is made on it
        if (!isDrivenByPython()) {
            of(context).enable(extensions);
        }
        return BoxedUnit.UNIT;
    }

    private static synchronized Planner of(SparkContext context) {
        if (running == null || running.context != context || running.stopped) {
            running = new Planner(context);
            running.start();
        }
        return running;
    }

    /** Whether this is the JVM of PySpark, whose sessions hudi_hive.spark.enable enables. */
    private static boolean isDrivenByPython() {
        Iterator stacks = Thread.getAllStackTraces().values().iterator();
        while (stacks.hasNext()) {
            StackTraceElement[] frames = (StackTraceElement[]) stacks.next();
            for (int i = 0; i < frames.length; i++) {
                String name = frames[i].getClassName();
                if (name.startsWith("org.apache.spark.deploy.PythonRunner")
                    || name.startsWith("org.apache.spark.api.python.PythonGatewayServer")) {
                    return true;
                }
            }
        }
        return false;
    }

    /** A Python process that plans the statements of one Spark context. */
    public static class Planner extends SparkListener {
        private static final long LEAVE_SECONDS = 10;

        final SparkContext context;
        volatile boolean stopped;
        private String python;
        private Process process;
        private volatile ClientServer server;
        private volatile Function1 enabler;

        Planner(SparkContext context) {
            this.context = context;
        }

        /** Called by the process when it is ready, with what enables an object of extensions. */
        public void ready(Function1 enabler) {
            this.enabler = enabler;
        }

        /** What this JVM has compiled for this process and those before it. */
        public Map classes() {
            return CLASSES;
        }

        void enable(Object extensions) {
            enabler.apply(extensions);
        }

        void start() {
            try {
                String secret = new BigInteger(256, new SecureRandom()).toString(16);
                serve(secret);
                launch(secret);
                String failure = awaited();
                if (failure != null) {
                    throw new IOException(failure);
                }
            } catch (Exception error) {
                stop();
                throw new IllegalStateException("hudi_hive: " + error.getMessage());
            }
            context.addSparkListener(this);
            watch();
        }

        /** Listens for the process. Threads inherit being daemons, and py4j's own would keep the JVM from its end. */
        private void serve(final String secret) throws Exception {
            final Object entry = this;
            Thread starter = new Thread("hudi_hive.start") {
                public void run() {
                    ClientServerBuilder builder = new ClientServerBuilder(entry).authToken(secret).javaPort(0);
                    ClientServer made = builder.autoStartJavaServer(false).build();
                    made.startServer();
                    server = made;
                }
            };
            starter.setDaemon(true);
            starter.start();
            starter.join();
            if (server == null) {
                throw new IOException("no port can be opened for Python");
            }
        }

        private void launch(String secret) throws IOException {
            Properties own = new Properties();
            own.load(SparkExtension.class.getResourceAsStream("jar.properties"));
            String option = own.getProperty("option");
            python = context.getConf().get(option, own.getProperty("python"));
            String remedy = "; set " + option + " to a Python that has hudi_hive " + own.getProperty("version");
            if (python.indexOf(File.separatorChar) >= 0 && !new File(python).canExecute()) {
                throw new IOException("there is no Python at " + python + remedy);
            }
            String paths = PythonUtils.sparkPythonPath();
            ProcessBuilder builder = new ProcessBuilder(
                new String[] {python, "-c", text("start.py"), own.getProperty("version"), context.version(), paths, remedy}
            );
            Map environment = builder.environment();
            environment.put("PYSPARK_GATEWAY_PORT", String.valueOf(server.getJavaServer().getListeningPort()));
            environment.put("PYSPARK_GATEWAY_SECRET", secret);
            environment.put("PYSPARK_PIN_THREAD", "true");
            environment.put("SPARK_CONNECT_MODE", "0");
            environment.remove("SPARK_REMOTE");
            environment.remove("SPARK_API_MODE");
            builder.redirectError(Redirect.INHERIT);
            try {
                process = builder.start();
            } catch (IOException error) {
                throw new IOException("Python does not start: " + error.getMessage() + remedy);
            }
        }

        /** Waits for the process to be ready; gives the reason if it never will be. */
        private String awaited() throws IOException {
            BufferedReader lines = new BufferedReader(new InputStreamReader(process.getInputStream(), "UTF-8"));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.equals("ready")) {
                    return null;
                }
                if (line.startsWith("failed ")) {
                    return line.substring("failed ".length());
                }
            }
            return python + " ended before it was ready; see what it printed";
        }

        /** Says so when the process ends before the context does: from then on no statement can be planned. */
        private void watch() {
            Thread watcher = new Thread("hudi_hive.watch") {
                public void run() {
                    try {
                        int code = process.waitFor();
                        if (!stopped && !context.isStopped()) {
                            System.err.println(
                                "hudi_hive: the Python process that plans statements has ended (" + code
                                    + "); start Spark anew"
                            );
                        }
                    } catch (InterruptedException error) {
                        return;
                    }
                }
            };
            watcher.setDaemon(true);
            watcher.start();
        }

        public void onApplicationEnd(SparkListenerApplicationEnd end) {
            stop();
        }

        private void stop() {
            stopped = true;
            try {
                if (process != null) {
                    process.getOutputStream().close(); // Python's order to leave
                    if (!process.waitFor(LEAVE_SECONDS, TimeUnit.SECONDS)) {
                        process.destroyForcibly();
                    }
                }
            } catch (IOException error) {
                process.destroyForcibly();
            } catch (InterruptedException error) {
                process.destroyForcibly();
                Thread.currentThread().interrupt();
            }
            if (server != null) {
                server.shutdown();
            }
        }

        private static String text(String name) throws IOException {
            InputStream source = SparkExtension.class.getResourceAsStream(name);
            ByteArrayOutputStream all = new ByteArrayOutputStream();
            byte[] part = new byte[8192];
            for (int read = source.read(part); read >= 0; read = source.read(part)) {
                all.write(part, 0, read);
            }
            return all.toString("UTF-8");
        }
    }
}
