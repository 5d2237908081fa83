/*
 * Runs one of Hudi's own sync tools, whose class is the argument, again and again in one warm Java process. Compiled in memory by Janino, which comes with
 * Spark; the language is kept to what Janino knows.
 *
 * Each line of standard input is one sync: properties as key=value, separated by tabs. Each gets one line of output,
 * "done NANOSECONDS" or "failed TEXT". It ends when its input ends.
 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.Properties;

import org.apache.hadoop.conf.Configuration;
import org.apache.hudi.common.config.TypedProperties;
import org.apache.hudi.hive.HiveSyncTool;

public class HiveSyncDriver {
    public static void main(String[] args) throws Throwable {
        PrintStream out = System.out;
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        while (true) {
            String line = in.readLine();
            if (line == null) {
                break;
            }
            TypedProperties properties = new TypedProperties();
            String[] pairs = line.split("\t");
            for (int i = 0; i < pairs.length; i++) {
                int at = pairs[i].indexOf('=');
                properties.setProperty(pairs[i].substring(0, at), pairs[i].substring(at + 1));
            }
            String answer;
            long begin = System.nanoTime();
            try {
                Class type = Class.forName(args[0]);
                Class[] kinds = new Class[] {Properties.class, Configuration.class};
                Object[] values = new Object[] {properties, new Configuration()};
                HiveSyncTool tool = (HiveSyncTool) type.getConstructor(kinds).newInstance(values);
                try {
                    tool.syncHoodieTable();
                } finally {
                    tool.close();
                }
                answer = "done " + (System.nanoTime() - begin);
            } catch (Throwable error) {
                error.printStackTrace();
                Throwable cause = error;
                while (cause.getCause() != null) {
                    cause = cause.getCause();
                }
                answer = "failed " + String.valueOf(cause).replace('\n', ' ');
            }
            out.println(answer);
            out.flush();
        }
        System.exit(0);
    }
}
