/*
 * A Hudi table as the target of a statement that writes: Spark's analyser matches the statement's columns with it, and a
 * function of Python gets the rows. Compiled on the driver with Janino, which comes with Spark; the language is kept to
 * what Janino knows.
 */
import java.util.HashSet;
import java.util.Set;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.sources.InsertableRelation;
import org.apache.spark.sql.types.StructType;

import scala.Function1;

public class HudiSink implements Table, SupportsWrite {
    private final String label;
    private final StructType columns;
    private final String[] partitionColumns;
    private final boolean anySchema;
    private final Function1 write;

    /**
     * @param label what plans and messages call it
     * @param columns of the rows that it takes
     * @param partitionColumns those that a PARTITION clause may name
     * @param anySchema whether rows are taken as they are, with whatever columns
     * @param write gets the rows as a Dataset, and returns when they are committed
     */
    public HudiSink(
        String label, StructType columns, String[] partitionColumns, Boolean anySchema, Function1 write
    ) {
        this.label = label;
        this.columns = columns;
        this.partitionColumns = partitionColumns;
        this.anySchema = anySchema.booleanValue();
        this.write = write;
    }

    public String name() {
        return label;
    }

    public String toString() {
        return label;
    }

    public StructType schema() {
        return columns;
    }

    public Transform[] partitioning() {
        Transform[] transforms = new Transform[partitionColumns.length];
        for (int i = 0; i < transforms.length; i++) {
            transforms[i] = Expressions.identity("`" + partitionColumns[i].replace("`", "``") + "`");
        }
        return transforms;
    }

    public Set capabilities() {
        Set found = new HashSet();
        found.add(TableCapability.V1_BATCH_WRITE);
        if (anySchema) {
            found.add(TableCapability.ACCEPT_ANY_SCHEMA);
        }
        return found;
    }

    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        return new Rows(label, write);
    }

    /** The rows of one statement on their way. */
    public static class Rows implements WriteBuilder, V1Write, InsertableRelation {
        private final String label;
        private final Function1 write;

        public Rows(String label, Function1 write) {
            this.label = label;
            this.write = write;
        }

        public Write build() {
            return this;
        }

        public String description() {
            return label;
        }

        public InsertableRelation toInsertableRelation() {
            return this;
        }

        public void insert(Dataset rows, boolean overwrite) {
            write.apply(rows);
        }
    }
}
