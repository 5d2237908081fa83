/*
 * Hudi's own path filter and combined splits, for the requests that come as lines on standard input:
 *
 *     accept TAB instant or empty TAB file TAB file …       the files that HoodieROTablePathFilter accepts
 *     combine TAB max TAB node TAB rack TAB file TAB file …  sizes ("-" is none), files "name length splittable" and, after
 *                                                           it, blocks "offset:length:host,host:rack,rack"
 *     realtime TAB max TAB min TAB length TAB length …       the lengths of realtime splits
 *
 * The answer is a line "rows N" and N lines: files; splits as "file:offset:length … | host,host"; groups as numbers.
 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.lib.CombineFileSplit;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.hadoop.HoodieParquetInputFormatBase;
import org.apache.hudi.hadoop.HoodieROTablePathFilter;
import org.apache.hudi.hadoop.hive.HoodieCombineHiveInputFormat;
import org.apache.hudi.hadoop.hive.HoodieCombineRealtimeFileSplit;
import org.apache.hudi.hadoop.realtime.HoodieMergeOnReadTableInputFormat;
import org.apache.hudi.hadoop.realtime.HoodieParquetRealtimeInputFormat;
import org.apache.hudi.hadoop.realtime.HoodieRealtimeFileSplit;

public class HudiInputFormats {
    static final String SIZES = "mapreduce.input.fileinputformat.split.";

    static class Combining extends HoodieCombineHiveInputFormat.HoodieCombineFileInputFormatShim {
        List<FileStatus> files = new ArrayList<>();
        InputSplit[] realtime;

        @Override
        protected List<FileStatus> listStatus(JobContext job) {
            return new ArrayList<>(files);
        }

        @Override
        protected HoodieParquetRealtimeInputFormat createParquetRealtimeInputFormat() {
            HoodieParquetRealtimeInputFormat format = new HoodieParquetRealtimeInputFormat();
            try {
                Field delegate = HoodieParquetInputFormatBase.class.getDeclaredField("inputFormatDelegate");
                delegate.setAccessible(true);
                delegate.set(format, new HoodieMergeOnReadTableInputFormat() {
                    @Override
                    public InputSplit[] getSplits(JobConf job, int number) {
                        return realtime;
                    }
                });
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
            return format;
        }
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            try {
                List<String> answer = answer(line.split("\t", -1));
                out.println("rows " + answer.size());
                answer.forEach(out::println);
            } catch (Throwable error) {
                error.printStackTrace();
                out.println("error " + error.toString().replaceAll("\\s+", " "));
            }
            out.flush();
        }
        System.exit(0);
    }

    static List<String> answer(String[] request) throws Exception {
        List<String> rest = Arrays.asList(request);
        switch (request[0]) {
            case "accept":
                return accepted(request[1], rest.subList(2, rest.size()));
            case "combine":
                return combined(request, rest.subList(4, rest.size()));
            default:
                return realtime(request[1], request[2], rest.subList(3, rest.size()));
        }
    }

    static List<String> accepted(String instant, List<String> files) {
        Configuration conf = new Configuration();
        if (!instant.isEmpty()) {
            conf.set("as.of.instant", instant);
        }
        HoodieROTablePathFilter filter = new HoodieROTablePathFilter(conf);
        List<String> answer = new ArrayList<>();
        for (String file : files) {
            if (filter.accept(new Path(file))) {
                answer.add(file);
            }
        }
        return answer;
    }

    static JobConf job(String[] keys, String[] sizes) {
        JobConf job = new JobConf();
        for (int i = 0; i < keys.length; i++) {
            if (!sizes[i].equals("-")) {
                job.set(SIZES + keys[i], sizes[i]);
            }
        }
        return job;
    }

    static List<String> combined(String[] request, List<String> files) throws Exception {
        Combining format = new Combining();
        for (String file : files) {
            String[] parts = file.split(" ");
            BlockLocation[] blocks = new BlockLocation[parts.length - 2];
            for (int i = 2; i < parts.length; i++) {
                String[] block = parts[i].split(":", -1);
                String[] hosts = block[2].isEmpty() ? new String[0] : block[2].split(",");
                String[] racks = block[3].isEmpty() ? new String[0] : block[3].split(",");
                String[] topology = new String[racks.length];
                for (int j = 0; j < racks.length; j++) {
                    topology[j] = racks[j] + "/" + hosts[j];
                }
                blocks[i - 2] = new BlockLocation(hosts, hosts, topology, Long.parseLong(block[0]), Long.parseLong(block[1]));
            }
            FileStatus status = new FileStatus(Long.parseLong(parts[1]), false, 1, 1 << 20, 0, new Path("/" + parts[0]));
            format.files.add(new LocatedFileStatus(status, blocks));
        }
        String[] keys = {"maxsize", "minsize.per.node", "minsize.per.rack"};
        JobConf job = job(keys, new String[] {request[1], request[2], request[3]});
        List<String> answer = new ArrayList<>();
        for (CombineFileSplit split : format.getSplits(job, 1)) {
            List<String> parts = new ArrayList<>();
            for (int i = 0; i < split.getNumPaths(); i++) {
                parts.add(split.getPath(i).getName() + ":" + split.getOffset(i) + ":" + split.getLength(i));
            }
            answer.add(String.join(" ", parts) + "|" + String.join(",", split.getLocations()));
        }
        return answer;
    }

    static List<String> realtime(String max, String min, List<String> lengths) throws Exception {
        Combining format = new Combining();
        format.setRealTime(true);
        format.setHoodieFilter(true);
        format.realtime = new InputSplit[lengths.size()];
        for (int i = 0; i < lengths.size(); i++) {
            FileSplit file = new FileSplit(new Path("/" + i), 0, Long.parseLong(lengths.get(i)), new String[0]);
            format.realtime[i] = new HoodieRealtimeFileSplit(file, "/", new ArrayList<>(), "1", false, Option.empty());
        }
        List<String> answer = new ArrayList<>();
        for (CombineFileSplit split : format.getSplits(job(new String[] {"maxsize", "minsize"}, new String[] {max, min}), 1)) {
            List<String> numbers = new ArrayList<>();
            for (FileSplit one : ((HoodieCombineRealtimeFileSplit) split).getRealtimeFileSplits()) {
                numbers.add(one.getPath().getName());
            }
            answer.add(String.join(" ", numbers));
        }
        return answer;
    }
}
