/*
 * A session of Hive's SQL engine, and its compactor, for the requests that come as lines on standard input:
 *
 *     sql TEXT                                                          a statement, its line breaks as blanks
 *     compact TAB MINOR|MAJOR TAB database TAB table [TAB partition]    asks for a compaction, and runs Hive's compactor
 *
 * The answer is a line "rows N" or "error TEXT", and N lines of results: as Hive prints them with tabs between columns,
 * or the state of the compaction, as the metastore has it. The arguments are what tables may need of their clients.
 * Compiled in memory by Janino; ends when standard input ends.
 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.HiveMetaStoreClient;
import org.apache.hadoop.hive.metastore.api.CompactionRequest;
import org.apache.hadoop.hive.metastore.api.CompactionType;
import org.apache.hadoop.hive.metastore.api.ShowCompactResponseElement;
import org.apache.hadoop.hive.ql.DriverFactory;
import org.apache.hadoop.hive.ql.IDriver;
import org.apache.hadoop.hive.ql.session.SessionState;
import org.apache.hadoop.hive.ql.txn.compactor.Worker;

public class HiveSql {
    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        System.setOut(System.err);
        HiveConf conf = new HiveConf(SessionState.class);
        HiveMetaStoreClient.setProcessorIdentifier("hive");
        HiveMetaStoreClient.setProcessorCapabilities(args);
        SessionState.start(new SessionState(conf));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            try {
                List rows = line.startsWith("compact\t") ? compact(conf, line.split("\t")) : run(conf, line.substring("sql ".length()));
                out.println("rows " + rows.size());
                for (int i = 0; i < rows.size(); i++) {
                    out.println(rows.get(i).toString().replaceAll("[\r\n]", " "));
                }
            } catch (Throwable error) {
                StringBuilder text = new StringBuilder("error");
                for (Throwable one = error; one != null; one = one.getCause()) {
                    text.append(" <- ").append(one.toString().replaceAll("\\s+", " "));
                }
                error.printStackTrace();
                out.println(text);
            }
            out.flush();
        }
        System.exit(0);
    }

    private static List run(HiveConf conf, String statement) throws Exception {
        IDriver driver = DriverFactory.newDriver(conf);
        try {
            driver.run(statement);
            List rows = new ArrayList();
            List some = new ArrayList();
            while (driver.getResults(some)) {
                rows.addAll(some);
                some.clear();
            }
            return rows;
        } finally {
            driver.close();
            driver.destroy();
        }
    }

    private static List compact(HiveConf conf, String[] request) throws Exception {
        HiveMetaStoreClient client = new HiveMetaStoreClient(conf);
        CompactionRequest wanted = new CompactionRequest(request[2], request[3], CompactionType.valueOf(request[1]));
        if (request.length > 4) {
            wanted.setPartitionname(request[4]);
        }
        wanted.setInitiatorId("somebody-manual");
        wanted.setInitiatorVersion("4.0.1");
        long id = client.compact2(wanted).getId();
        Worker worker = new Worker();
        worker.setConf(conf);
        worker.setName("worker");
        worker.init(new AtomicBoolean(true));
        Method next = Worker.class.getDeclaredMethod(
            "findNextCompactionAndExecute", new Class[] {boolean.class, boolean.class});
        next.setAccessible(true);
        next.invoke(worker, new Object[] {Boolean.FALSE, Boolean.FALSE});
        List states = new ArrayList();
        List all = client.showCompactions().getCompacts();
        for (int i = 0; i < all.size(); i++) {
            ShowCompactResponseElement one = (ShowCompactResponseElement) all.get(i);
            if (one.getId() == id) {
                states.add(one.getErrorMessage() == null ? one.getState() : one.getState() + ": " + one.getErrorMessage());
            }
        }
        client.close();
        return states;
    }
}
