/*
 * Spark's Parquet format for base files of slices with log files: of each batch that the vectorised reader makes, the
 * rows that log files replace or delete are left out, by their places in the file. A column with the number of each
 * row, and a condition on it, would cost as much as reading a column.
 *
 * Where rows cannot be numbered an error ends the task: an exception would only have Spark leave out the rest of the file
 * when it ignores corrupt files.
 *
 * Compiled with Janino, which comes with Spark (no generics, no lambdas), and sent to executors in a jar.
 */
import java.io.Closeable;
import java.io.IOException;
import java.io.Serializable;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.PrimitiveIterator;

import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.RecordReaderIterator;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils$;
import org.apache.spark.sql.execution.datasources.parquet.SpecificParquetRecordReaderBase;
import org.apache.spark.sql.execution.datasources.parquet.VectorizedParquetRecordReader;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

import scala.Function1;
import scala.Option;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;

public class BaseFileFormats {
    /** A partition column of files, the last one: the place of the first word of their bits, or less than 0. */
    static final String FIRST_WORD = "_hudi_hive_first_word";

    /** Whether this version's reader can be watched; its parts are not public. */
    public boolean available() {
        try {
            return Rows.inner(RecordReaderIterator.class, "rowReader") != null
                && Rows.inner(SpecificParquetRecordReaderBase.class, "reader").getType().isInterface();
        } catch (NoSuchFieldException e) {
            return false;
        }
    }

    /** Whether the vectorised reader reads files with some columns. */
    public boolean reads(SQLConf settings, StructType columns) {
        return ParquetUtils$.MODULE$.isBatchReadSupportedForSchema(settings, columns);
    }

    /** The format that leaves rows out by an array of words of 64 bits; it goes to each executor once. */
    public FileFormat format(SparkSession session, Literal bits) {
        long[] words = ((ArrayData) bits.value()).toLongArray();
        return new Format(JavaSparkContext.fromSparkContext(session.sparkContext()).broadcast(words));
    }

    /** Parquet without the rows that log files replace. */
    public static class Format extends ParquetFileFormat {
        private static final long serialVersionUID = 1L;

        private final Broadcast bits;

        public Format(Broadcast bits) {
            this.bits = bits;
        }

        // Scans of the same files that leave out other rows are not the same.
        public boolean equals(Object other) {
            return other instanceof Format && ((Format) other).bits.id() == bits.id();
        }

        public int hashCode() {
            return (int) bits.id();
        }

        public Option vectorTypes(StructType required, StructType partitions, SQLConf settings) {
            return Option.empty();
        }

        public Function1 buildReaderWithPartitionValues(
            SparkSession session,
            StructType data,
            StructType partitions,
            StructType required,
            Seq filters,
            scala.collection.immutable.Map options,
            Configuration configuration
        ) {
            Function1 read = super.buildReaderWithPartitionValues(
                session, data, partitions, required, filters, options, configuration
            );
            return new Reader(read, bits, partitions.fieldIndex(FIRST_WORD));
        }
    }

    /** Reads a file on an executor. */
    public static class Reader extends AbstractFunction1 implements Serializable {
        private static final long serialVersionUID = 1L;

        private final Function1 read;
        private final Broadcast bits;
        private final int at;

        public Reader(Function1 read, Broadcast bits, int at) {
            this.read = read;
            this.bits = bits;
            this.at = at;
        }

        public Object apply(Object file) {
            long word = ((PartitionedFile) file).partitionValues().getLong(at);
            Iterator rows = (Iterator) read.apply(file);
            return word < 0L ? rows : new Rows(rows, (long[]) bits.value(), word);
        }
    }

    /** The batches, or rows, of a part of a file without those that do not count. */
    public static class Rows extends AbstractIterator implements Closeable {
        private final Iterator rows;
        private final long[] bits;
        private final long word;
        private final RowGroups numbers;
        private ColumnarBatch read;
        private ColumnarBatch counted;
        private int[] places;
        private Object item;

        public Rows(Iterator rows, long[] bits, long word) {
            this.rows = rows;
            this.bits = bits;
            this.word = word;
            this.numbers = watched(rows);
        }

        public boolean hasNext() {
            while (item == null && rows.hasNext()) {
                Object next = rows.next();
                if (next instanceof ColumnarBatch) {
                    item = counted((ColumnarBatch) next);
                } else if (counts(numbers.next())) {
                    item = next;
                }
            }
            return item != null;
        }

        public Object next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            Object next = item;
            item = null;
            return next;
        }

        public void close() throws IOException {
            if (rows instanceof Closeable) {
                ((Closeable) rows).close();
            }
        }

        private boolean counts(long number) {
            return (bits[(int) (word + (number >>> 6))] >>> (int) (number & 63L) & 1L) == 0L;
        }

        /** The batch with the rows that count; null if none does. */
        private ColumnarBatch counted(ColumnarBatch batch) {
            int rows = batch.numRows();
            if (batch != read || places.length < rows) {
                read = batch;
                places = new int[rows];
                ColumnVector[] columns = new ColumnVector[batch.numCols()];
                for (int i = 0; i < columns.length; i++) {
                    columns[i] = new Column(batch.column(i), places);
                }
                counted = new ColumnarBatch(columns);
            }
            int[] places = this.places;
            int count = 0;
            for (int i = 0; i < rows; i++) {
                places[count] = i;
                count += counts(numbers.next()) ? 1 : 0;
            }
            counted.setNumRows(count);
            return count == 0 ? null : counted;
        }

        /** Has Spark's reader tell of the row groups that it begins. */
        private static RowGroups watched(Iterator rows) {
            try {
                boolean alone = rows instanceof RecordReaderIterator;
                Object reader = alone ? inner(RecordReaderIterator.class, "rowReader").get(rows) : null;
                if (!(reader instanceof VectorizedParquetRecordReader)) {
                    throw new AssertionError(
                        "rows are not read by the vectorised reader, which was on when the statement was planned"
                            + " (spark.sql.parquet.enableVectorizedReader): have it planned again"
                    );
                }
                Field field = inner(SpecificParquetRecordReaderBase.class, "reader");
                RowGroups groups = new RowGroups(field.get(reader));
                Class kind = field.getType();
                field.set(reader, Proxy.newProxyInstance(kind.getClassLoader(), new Class[] {kind}, groups));
                return groups;
            } catch (NoSuchFieldException e) {
                throw new AssertionError(e);
            } catch (IllegalAccessException e) {
                throw new AssertionError(e);
            }
        }

        static Field inner(Class of, String name) throws NoSuchFieldException {
            Field field = of.getDeclaredField(name);
            field.setAccessible(true);
            return field;
        }
    }

    /** Numbers the rows that are read: Spark's reader skips row groups and pages that filters rule out. */
    public static class RowGroups implements InvocationHandler {
        private final Object reader;
        private long left;
        private long first;
        private long number;
        private PrimitiveIterator.OfLong chosen;

        public RowGroups(Object reader) {
            this.reader = reader;
        }

        public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
            method.setAccessible(true);
            try {
                Object result = method.invoke(reader, arguments);
                if (result instanceof PageReadStore) {
                    begin((PageReadStore) result);
                }
                return result;
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        }

        private void begin(PageReadStore group) {
            Optional offset = group.getRowIndexOffset();
            if (left != 0L || !offset.isPresent()) {
                throw new AssertionError("rows of a row group cannot be numbered");
            }
            left = group.getRowCount();
            first = ((Long) offset.get()).longValue();
            number = first;
            Optional indexes = group.getRowIndexes();
            chosen = indexes.isPresent() ? (PrimitiveIterator.OfLong) indexes.get() : null;
        }

        /** The number of the next row in its file. */
        public long next() {
            left--;
            if (left < 0L) {
                throw new AssertionError("a row of no row group");
            }
            return chosen == null ? number++ : first + chosen.nextLong();
        }
    }

    /** A column of a batch with the rows at some places. */
    public static class Column extends ColumnVector {
        private final ColumnVector inner;
        private final int[] places;

        public Column(ColumnVector inner, int[] places) {
            super(inner.dataType());
            this.inner = inner;
            this.places = places;
        }

        // The vectors are the reader's, which closes them.
        public void close() {
        }

        public void closeIfFreeable() {
        }

        public boolean hasNull() {
            return inner.hasNull();
        }

        public int numNulls() {
            return inner.numNulls();
        }

        public boolean isNullAt(int row) {
            return inner.isNullAt(places[row]);
        }

        public boolean getBoolean(int row) {
            return inner.getBoolean(places[row]);
        }

        public byte getByte(int row) {
            return inner.getByte(places[row]);
        }

        public short getShort(int row) {
            return inner.getShort(places[row]);
        }

        public int getInt(int row) {
            return inner.getInt(places[row]);
        }

        public long getLong(int row) {
            return inner.getLong(places[row]);
        }

        public float getFloat(int row) {
            return inner.getFloat(places[row]);
        }

        public double getDouble(int row) {
            return inner.getDouble(places[row]);
        }

        public ColumnarArray getArray(int row) {
            return inner.getArray(places[row]);
        }

        public ColumnarMap getMap(int row) {
            return inner.getMap(places[row]);
        }

        public Decimal getDecimal(int row, int precision, int scale) {
            return inner.getDecimal(places[row], precision, scale);
        }

        public UTF8String getUTF8String(int row) {
            return inner.getUTF8String(places[row]);
        }

        public byte[] getBinary(int row) {
            return inner.getBinary(places[row]);
        }

        /** A field of a struct, which is asked for by the same number of the row. */
        public ColumnVector getChild(int ordinal) {
            return new Column(inner.getChild(ordinal), places);
        }
    }
}
