import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** An application without Python of its own: statements in the first argument's folder, their rows into its file "rows". */
public class ClusterMain {
    public static void main(String[] arguments) throws Exception {
        SparkSession spark = SparkSession.builder().getOrCreate();
        String table = arguments[0] + "/trips";
        spark.sql("CREATE TABLE trips (id INT, name STRING, ts INT) USING hudi LOCATION '" + table + "' "
            + "TBLPROPERTIES (type = 'mor', primaryKey = 'id', preCombineField = 'ts')");
        spark.sql("INSERT INTO trips SELECT id, 'a', 1 FROM range(10)");
        spark.sql("UPDATE trips SET name = 'b', ts = 2 WHERE id < 3");
        List<String> rows = new ArrayList<>();
        for (Row row : spark.sql("SELECT id, name FROM hudi.`" + table + "` ORDER BY id").collectAsList()) {
            rows.add(row.getInt(0) + " " + row.getString(1));
        }
        rows.add(spark.conf().get("spark.submit.deployMode"));
        spark.stop();
        Files.write(Paths.get(arguments[0], "rows"), rows);
    }
}
