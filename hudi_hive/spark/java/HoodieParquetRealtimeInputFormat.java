/* The name of Hudi's input format of tables with log files; see HoodieParquetInputFormat.java. */
package org.apache.hudi.hadoop.realtime;

import org.apache.hudi.hadoop.HoodieParquetInputFormat;

public class HoodieParquetRealtimeInputFormat extends HoodieParquetInputFormat {
}
