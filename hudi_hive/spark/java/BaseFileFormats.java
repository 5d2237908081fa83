/*
 * Spark's Parquet format for base files of slices with log files: of each batch that the vectorised reader makes, the
 * rows that log files replace or delete are left out, by their places in the file. A column with the number of each
 * row, and a condition on it, would cost as much as reading a column. Before the rows of a file come the log records of
 * its slice, as batches of Arrow that executors cache, so that a statement is planned as one over base files alone: a
 * union with a scan of the cache has tasks, and a stage, of its own.
 *
 * Where rows cannot be numbered, or log records not be had, an error ends the task: an exception would only have Spark
 * leave out the rest of the file when it ignores corrupt files.
 *
 * Compiled with Janino, which comes with Spark (no generics, no lambdas), and sent to executors in a jar.
 */
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.Serializable;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.PrimitiveIterator;

import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.ValueVector;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskKilledException;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.FileFormat$;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.RecordReaderIterator;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils$;
import org.apache.spark.sql.execution.datasources.parquet.SpecificParquetRecordReaderBase;
import org.apache.spark.sql.execution.datasources.parquet.VectorizedParquetRecordReader;
import org.apache.spark.sql.execution.vectorized.ConstantColumnVector;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils$;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.storage.StorageLevel;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.TaskCompletionListener;

import scala.Function1;
import scala.Option;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.Iterator$;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;

public class BaseFileFormats {
    /**
     * A partition column of files, the last one: the place of the first word of their bits; -1 for a file that is alone,
     * and -2 less the place where nothing but the log records of the slice is read.
     */
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

    /** Whether the vectorised reader reads files with some columns, the JSON of a type. */
    public boolean reads(SQLConf settings, String columns) {
        return ParquetUtils$.MODULE$.isBatchReadSupportedForSchema(settings, (StructType) DataType.fromJson(columns));
    }

    /** Batches of log records that executors keep once they were made, in memory or on their disks. */
    public CachedBatches cached(QueryExecution execution, String name) {
        String[] columns = execution.analyzed().schema().fieldNames();
        JavaRDD batches = execution.toRdd().toJavaRDD().map(new Packed());
        return new CachedBatches(batches.setName(name).persist(StorageLevel.MEMORY_AND_DISK()), columns);
    }

    /**
     * The format that leaves rows out by an array of words of 64 bits, which goes to each executor once, and gives the
     * records that are cached. Places are integers of 64 bits, little-endian, for each slice the place of its first word,
     * the number of the cache that has its records, that of the slice there, and behind how many they are the numbers of
     * the partitions that have some.
     */
    public FileFormat format(SparkSession session, Literal bits, Seq cached, byte[] places) {
        long[] words = ((ArrayData) bits.value()).toLongArray();
        HashMap records = new HashMap();
        LongBuffer numbers = ByteBuffer.wrap(places).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer();
        while (numbers.hasRemaining()) {
            Long word = Long.valueOf(numbers.get());
            int cache = (int) numbers.get();
            int slice = (int) numbers.get();
            int[] place = new int[2 + (int) numbers.get()];
            place[0] = cache;
            place[1] = slice;
            for (int i = 2; i < place.length; i++) {
                place[i] = (int) numbers.get();
            }
            records.put(word, place);
        }
        Object[] all = new Object[] {words, records};
        Broadcast sent = JavaSparkContext.fromSparkContext(session.sparkContext()).broadcast(all);
        return new Format(sent, new Records(cached));
    }

    /** Batches of log records that executors keep, each with the number of its slice; and the effects of slices. */
    public static class CachedBatches {
        final JavaRDD batches;
        final String[] columns;

        public CachedBatches(JavaRDD batches, String[] columns) {
            this.batches = batches;
            this.columns = columns;
        }

        /**
         * Makes them, and gives the effects: the number of each slice, that of the partition where its records are, and
         * the bytes of its effect behind how many these are; for each partition -1, its number and its bytes, too.
         */
        public byte[] effects() throws IOException {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            DataOutputStream out = new DataOutputStream(bytes);
            List found = batches.mapPartitionsWithIndex(new Effects(), true).collect();
            for (int i = 0; i < found.size(); i++) {
                Object[] each = (Object[]) found.get(i);
                byte[] effect = (byte[]) each[2];
                out.writeInt(((Integer) each[0]).intValue());
                out.writeInt(((Integer) each[1]).intValue());
                out.writeLong(effect == null ? ((Long) each[3]).longValue() : effect.length);
                if (effect != null) {
                    out.write(effect);
                }
            }
            return bytes.toByteArray();
        }

        /** Forget them. */
        public void forget() {
            batches.unpersist(false);
        }
    }

    /** The effects among batches, and the bytes of all. */
    public static class Effects implements org.apache.spark.api.java.function.Function2 {
        private static final long serialVersionUID = 1L;

        public Object call(Object partition, Object batches) {
            List found = new ArrayList();
            long size = 0L;
            java.util.Iterator all = (java.util.Iterator) batches;
            while (all.hasNext()) {
                Object[] batch = (Object[]) all.next();
                if (batch[1] != null) {
                    found.add(new Object[] {batch[0], partition, batch[1], null});
                }
                for (int i = 1; i < batch.length; i++) {
                    size += batch[i] instanceof byte[] ? ((byte[]) batch[i]).length : 0;
                }
            }
            found.add(new Object[] {Integer.valueOf(-1), partition, null, Long.valueOf(size)});
            return found.iterator();
        }
    }

    /** A batch of a slice as the slice's number, its effect or null, the number of rows, and streams of Arrow. */
    public static class Packed implements org.apache.spark.api.java.function.Function {
        private static final long serialVersionUID = 1L;

        public Object call(Object item) {
            InternalRow row = (InternalRow) item;
            int count = row.numFields() - 3;
            Object[] batch = new Object[count + 3];
            batch[0] = Integer.valueOf(row.getInt(count + 1));
            if (!row.isNullAt(count + 2)) {
                batch[1] = row.getBinary(count + 2);
                return batch;
            }
            batch[2] = Integer.valueOf(row.getInt(count));
            for (int i = 0; i < count; i++) {
                batch[i + 3] = row.getBinary(i);
            }
            return batch;
        }
    }

    /** Parquet without the rows that log files replace, and with the log records of the slice. */
    public static class Format extends ParquetFileFormat {
        private static final long serialVersionUID = 1L;

        private final Broadcast bits;
        private final Records records;

        public Format(Broadcast bits, Records records) {
            this.bits = bits;
            this.records = records;
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
            boolean batches = options.get(FileFormat$.MODULE$.OPTION_RETURNING_BATCH()).contains("true");
            return new Reader(read, bits, records, required, partitions, batches);
        }
    }

    /** Reads a file on an executor. */
    public static class Reader extends AbstractFunction1 implements Serializable {
        private static final long serialVersionUID = 1L;

        private final Function1 read;
        private final Broadcast bits;
        private final Records records;
        private final StructType required;
        private final StructType folders;
        private final boolean batches;

        public Reader(
            Function1 read, Broadcast bits, Records records, StructType required, StructType folders, boolean batches
        ) {
            this.read = read;
            this.bits = bits;
            this.records = records;
            this.required = required;
            this.folders = folders;
            this.batches = batches;
        }

        public Object apply(Object file) {
            PartitionedFile part = (PartitionedFile) file;
            long word = part.partitionValues().getLong(folders.fieldIndex(FIRST_WORD));
            if (word == -1L) {
                return read.apply(file);
            }
            Object[] sent = (Object[]) bits.value();
            int[] place = (int[]) ((HashMap) sent[1]).get(Long.valueOf(word < 0L ? -2L - word : word));
            int[] own = own(place, part.start(), part.length(), part.fileSize());
            Iterator behind = Iterator$.MODULE$.empty();
            if (own.length > 2) {
                Batches all = records.batches(own, required, folders, word);
                behind = batches ? (Iterator) all : new BatchRows(all);
            }
            return word < 0L ? behind : new SliceRows(behind, read, part, (long[]) sent[0], word);
        }
    }

    /**
     * A place with the partitions that are given with some bytes of a file: a large file is read in parts, by several
     * tasks, which share the partitions.
     */
    static int[] own(int[] place, long start, long length, long size) {
        int[] own = new int[place.length];
        int count = 2;
        for (int i = 2; i < place.length; i++) {
            long first = size * (i - 2) / (place.length - 2);
            if (start <= first && first < start + length) {
                own[count] = place[i];
                count++;
            }
        }
        own[0] = place[0];
        own[1] = place[1];
        return Arrays.copyOf(own, count);
    }

    /**
     * The log records of a slice and the rows of its base file that count. The records come first: when Spark ignores
     * corrupt files it goes on with the next file at once.
     */
    public static class SliceRows extends AbstractIterator implements Closeable {
        private final Iterator records;
        private final Function1 read;
        private final PartitionedFile file;
        private final long[] bits;
        private final long word;
        private Rows rows;

        public SliceRows(Iterator records, Function1 read, PartitionedFile file, long[] bits, long word) {
            this.records = records;
            this.read = read;
            this.file = file;
            this.bits = bits;
            this.word = word;
        }

        public boolean hasNext() {
            if (rows == null && records.hasNext()) {
                return true;
            }
            if (rows == null) {
                rows = new Rows((Iterator) read.apply(file), bits, word);
            }
            return rows.hasNext();
        }

        public Object next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            return rows == null ? records.next() : rows.next();
        }

        public void close() throws IOException {
            if (rows != null) {
                rows.close();
            }
        }
    }

    /** Log records that executors keep, and where. */
    public static class Records implements Serializable {
        private static final long serialVersionUID = 1L;

        private final RDD[] batches;
        private final Partition[][] partitions;
        private final String[][] columns;

        public Records(Seq cached) {
            batches = new RDD[cached.size()];
            partitions = new Partition[batches.length][];
            columns = new String[batches.length][];
            for (int i = 0; i < batches.length; i++) {
                batches[i] = ((CachedBatches) cached.apply(i)).batches.rdd();
                partitions[i] = batches[i].partitions();
                columns[i] = ((CachedBatches) cached.apply(i)).columns;
            }
        }

        /** Those of a slice, with some columns of files, and all of folders. An executor that lost them makes them. */
        public Batches batches(int[] place, StructType required, StructType folders, long word) {
            List own = Arrays.asList(columns[place[0]]);
            int[] sources = new int[required.size() + folders.size()];
            for (int i = 0; i < sources.length; i++) {
                int inFolder = i - required.size();
                String name = (inFolder < 0 ? required.apply(i) : folders.apply(inFolder)).name();
                int source = own.indexOf(name);
                if (source < 0 && !name.equals(FIRST_WORD)) {
                    throw new AssertionError("log records are cached without column " + name);
                }
                sources[i] = source < 0 ? -1 : 3 + source;
            }
            Partition[] places = new Partition[place.length - 2];
            for (int i = 0; i < places.length; i++) {
                places[i] = partitions[place[0]][place[i + 2]];
            }
            return new Batches(batches[place[0]], places, place[1], sources, word);
        }
    }

    /** Batches of the records of a slice. Each is there until the next one is asked for, or its task ends. */
    public static class Batches extends AbstractIterator implements TaskCompletionListener {
        private final RDD cached;
        private final Partition[] partitions;
        private final Integer slice;
        private final int[] sources;
        private final long word;
        private final BufferAllocator allocator;
        private final List streams = new ArrayList();
        private Iterator batches = Iterator$.MODULE$.empty();
        private int begun;
        private Object[] next;
        private boolean ended;

        /** Sources are the places of columns in a batch; that of the first words, which is in none, is -1. */
        public Batches(RDD cached, Partition[] partitions, int slice, int[] sources, long word) {
            this.cached = cached;
            this.partitions = partitions;
            this.slice = Integer.valueOf(slice);
            this.sources = sources;
            this.word = word;
            allocator = ArrowUtils$.MODULE$.rootAllocator().newChildAllocator("log records", 0L, Long.MAX_VALUE);
            TaskContext.get().addTaskCompletionListener(this);
        }

        public boolean hasNext() {
            try {
                while (next == null && (batches.hasNext() || begun < partitions.length)) {
                    if (!batches.hasNext()) {
                        batches = cached.iterator(partitions[begun], TaskContext.get());
                        begun++;
                        continue;
                    }
                    Object[] batch = (Object[]) batches.next();
                    if (batch[0].equals(slice) && batch[1] == null) {
                        next = batch;
                    }
                }
                if (next == null) {
                    end();
                }
                return next != null;
            } catch (Exception e) {
                throw error(e);
            }
        }

        public Object next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            try {
                release();
                int rows = ((Integer) next[2]).intValue();
                ColumnVector[] columns = new ColumnVector[sources.length];
                for (int i = 0; i < columns.length; i++) {
                    columns[i] = sources[i] < 0 ? words(rows) : column((byte[]) next[sources[i]], rows);
                }
                next = null;
                return new ColumnarBatch(columns, rows);
            } catch (Exception e) {
                throw error(e);
            }
        }

        private ColumnVector words(int rows) {
            ConstantColumnVector column = new ConstantColumnVector(rows, DataTypes.LongType);
            column.setLong(word);
            return column;
        }

        private ColumnVector column(byte[] data, int rows) throws IOException {
            ArrowStreamReader stream = new ArrowStreamReader(new ByteArrayInputStream(data), allocator);
            streams.add(stream);
            if (!stream.loadNextBatch() || stream.getVectorSchemaRoot().getRowCount() != rows) {
                throw new IOException("a batch of log records has columns of several lengths");
            }
            return new ArrowColumnVector((ValueVector) stream.getVectorSchemaRoot().getFieldVectors().get(0));
        }

        private void release() throws IOException {
            while (!streams.isEmpty()) {
                ((ArrowStreamReader) streams.remove(streams.size() - 1)).close();
            }
        }

        private void end() throws IOException {
            if (!ended) {
                ended = true;
                release();
                allocator.close();
            }
        }

        public void onTaskCompletion(TaskContext context) {
            try {
                end();
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        }
    }

    /** What ends a task, also where Spark ignores files that are corrupt or missing; the end of a killed one as it is. */
    static Error error(Exception of) {
        if (of instanceof TaskKilledException) {
            throw (TaskKilledException) of;
        }
        return new AssertionError(of);
    }

    /** The rows of batches. */
    public static class BatchRows extends AbstractIterator {
        private final Iterator batches;
        private java.util.Iterator rows;

        public BatchRows(Iterator batches) {
            this.batches = batches;
        }

        public boolean hasNext() {
            while ((rows == null || !rows.hasNext()) && batches.hasNext()) {
                rows = ((ColumnarBatch) batches.next()).rowIterator();
            }
            return rows != null && rows.hasNext();
        }

        public Object next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            return rows.next();
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
