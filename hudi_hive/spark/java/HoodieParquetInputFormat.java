/*
 * Names of Hudi's input formats, for jars that have no Hudi: Spark's client of a metastore that runs in its own process
 * loads the classes that an entry of a table names. Nobody reads by them: Spark reads Hudi tables as the data source that
 * the entry names, too. Compiled by "hudi-hive spark jar" with Janino, which comes with Spark.
 */
package org.apache.hudi.hadoop;

import java.io.IOException;

import org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.JobConf;

public class HoodieParquetInputFormat extends MapredParquetInputFormat {
    public InputSplit[] getSplits(JobConf job, int number) throws IOException {
        throw new IOException("a Hudi table is read as one, not as files: start Spark with its extension of hudi_hive");
    }
}
