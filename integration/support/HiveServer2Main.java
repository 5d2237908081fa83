/*
 * Runs HiveServer2 on the loopback address: its binary Thrift service without web page, ZooKeeper and session pool.
 * Compiled in memory by Janino. Prints "ready PORT"; ends when standard input ends.
 */
import java.io.PrintStream;

import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hive.service.cli.CLIService;
import org.apache.hive.service.cli.thrift.ThriftBinaryCLIService;

public class HiveServer2Main {
    public static void main(String[] args) throws Throwable {
        PrintStream out = System.out;
        System.setOut(System.err);
        HiveConf conf = new HiveConf();
        CLIService service = new CLIService(null);
        service.init(conf);
        service.start();
        ThriftBinaryCLIService server = new ThriftBinaryCLIService(service, null);
        server.init(conf);
        server.start();
        out.println("ready " + server.getPortNumber());
        out.flush();
        while (System.in.read() >= 0) {
            continue;
        }
        System.exit(0);
    }
}
