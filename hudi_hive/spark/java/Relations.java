/*
 * Relations over file indexes of Python, made and answered with few calls between Python and the JVM: what Spark asks of
 * an index again and again is answered here, Python is asked which files a scan reads, and it tells them in bulk.
 * Python compiles this text with Janino, so there are no generics and no lambdas. It is used where queries are planned,
 * never on executors.
 */
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.BooleanSupplier;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.QualifiedTableName;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeMap;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.InterpretedProjection;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

import scala.Function2;
import scala.Option;
import scala.collection.immutable.ArraySeq$;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

public class Relations implements org.apache.spark.api.java.function.Function2 {
    static final ObjectMapper JSON = new ObjectMapper();

    /**
     * A relation of files; partitions and data are the JSON of types, format is the name of a class, settings a map of
     * properties of Hadoop for its reader, or null.
     */
    public HadoopFsRelation relation(
        Object index, String partitions, String data, String format, Object settings, Object session
    ) throws Exception {
        Class made = Thread.currentThread().getContextClassLoader().loadClass(format);
        Object[] arguments = new Object[] {
            index,
            DataType.fromJson(partitions),
            DataType.fromJson(data),
            Option.empty(),
            made.getConstructors()[0].newInstance(new Object[0]),
            settings == null ? Map$.MODULE$.empty() : settings,
            session
        };
        // The type of the session is another one in other versions of Spark.
        return (HadoopFsRelation) HadoopFsRelation.class.getConstructors()[0].newInstance(arguments);
    }

    /** Some columns of a relation, in order. */
    static LogicalPlan project(HadoopFsRelation files, Object table, String[] names) {
        LogicalRelation relation = table == null
            ? LogicalRelation$.MODULE$.apply(files, false)
            : LogicalRelation$.MODULE$.apply(files, ((Entry) table).table);
        Map known = new HashMap();
        Iterator all = CollectionConverters.asJava(relation.output()).iterator();
        while (all.hasNext()) {
            Attribute attribute = (Attribute) all.next();
            known.put(attribute.name(), attribute);
        }
        Object[] columns = new Object[names.length];
        for (int i = 0; i < names.length; i++) {
            columns[i] = known.get(names[i]);
        }
        return new Project(seq(columns), relation);
    }

    /** Some columns of such a relation, in order; table is an Entry, or null, names the JSON of a list. */
    public LogicalPlan plan(
        Object index, String partitions, String data, String format, Object settings, Object session, Object table,
        String names
    ) throws Exception {
        String[] columns = (String[]) JSON.readValue(names, String[].class);
        return project(relation(index, partitions, data, format, settings, session), table, columns);
    }

    /** What is known of rows that Python makes: their size in bytes. */
    public Statistics statistics(long bytes) {
        AttributeMap none = new AttributeMap(scala.collection.immutable.Map$.MODULE$.empty());
        return new Statistics(scala.math.BigInt.apply(bytes), scala.Option.empty(), none, false);
    }

    /** The entry of a Hudi table in the session's catalog; null for what is none, and for a name without a table. */
    public Entry entry(Object session, String database, String name) throws Exception {
        SessionCatalog catalog = ((SparkSession) session).sessionState().catalog();
        CatalogTable table;
        try {
            table = catalog.getTableMetadata(new TableIdentifier(name, Option.apply(database)));
        } catch (Exception error) {
            // Of a metastore that fails nothing is known: Spark's own reader may read what it must not.
            if (error.getClass().getSimpleName().startsWith("NoSuch")) {
                return null;
            }
            throw error;
        }
        boolean named = "hudi".equals(orNull(table.provider()));
        Object input = orNull(table.storage().inputFormat());
        Object location = orNull(table.storage().locationUri());
        if (location == null || !(named || (input != null && input.toString().startsWith("org.apache.hudi.hadoop.")))) {
            return null;
        }
        Map told = new HashMap();
        told.put("native", Boolean.valueOf(named));
        told.put("location", qualified(session, (URI) location));
        told.put("read optimised", orNull(table.storage().properties().get("hoodie.query.as.ro.table")));
        Map options = new HashMap(CollectionConverters.asJava(table.properties()));
        options.putAll(CollectionConverters.asJava(table.storage().properties()));
        told.put("properties", options);
        told.put("name", table.database() + "." + table.identifier().table());
        told.put("columns", table.schema().json());
        told.put("partition columns", CollectionConverters.asJava(table.partitionColumnNames()));
        return new Entry(table, named, JSON.writeValueAsString(told));
    }

    /** A location with its scheme. */
    public String qualified(Object session, URI location) throws Exception {
        Path path = new Path(location);
        if (path.toUri().getScheme() == null) {
            // hive-sync writes it as the user gave it, and Hadoop's default file system decides.
            Configuration settings = ((SparkSession) session).sparkContext().hadoopConfiguration();
            path = path.getFileSystem(settings).makeQualified(path);
        }
        return path.toString();
    }

    /** The entry of a session's table and its key in the cache of relations; as by its names. */
    public Object call(Object session, Object key) throws Exception {
        QualifiedTableName name = (QualifiedTableName) key;
        return entry(session, name.database(), name.name());
    }

    public static class Entry implements BooleanSupplier {
        final CatalogTable table;
        final boolean named;
        final String text;

        Entry(CatalogTable table, boolean named, String text) {
            this.table = table;
            this.named = named;
            this.text = text;
        }

        /** Whether Spark takes the table for one of the source hudi. */
        public boolean getAsBoolean() {
            return named;
        }

        /** What it says, as JSON. */
        public String text() {
            return text;
        }
    }

    /**
     * An index of Python's behind what never changes of it.
     *
     * known are the partition columns whose values paths tell (the JSON of a type): first as many as are shown as
     * partition columns, then those that are read from files. roots is the JSON of a list. listing gets a Question and
     * its text.
     */
    public Object face(
        Object delegate, Function2 listing, String token, String roots, String known, int shown, boolean indexed,
        boolean travels, Object session
    ) throws Exception {
        Face face = new Face();
        face.delegate = delegate;
        face.listing = listing;
        face.token = token;
        String[] names = (String[]) JSON.readValue(roots, String[].class);
        Object[] paths = new Object[names.length];
        for (int i = 0; i < names.length; i++) {
            paths[i] = new Path(names[i]);
        }
        face.roots = seq(paths);
        face.known = (StructType) DataType.fromJson(known);
        face.shown = shown;
        face.indexed = indexed;
        face.travels = travels;
        face.zone = zone(session);
        face.partitions = new StructType((StructField[]) Arrays.copyOf(face.known.fields(), shown));
        Class kind = delegate.getClass();
        return Proxy.newProxyInstance(kind.getClassLoader(), kind.getInterfaces(), face);
    }

    static String zone(Object session) {
        return ((SparkSession) session).sessionState().conf().sessionLocalTimeZone();
    }

    public static class Face implements InvocationHandler {
        static final int KEPT = 8;

        Object delegate;
        Function2 listing;
        volatile String token;
        Seq roots;
        StructType known;
        StructType partitions;
        int shown;
        volatile boolean indexed;
        boolean travels;
        String zone;
        volatile String told;
        // One statement asks the same more than once: adaptive execution, self-joins.
        final Map listings = new LinkedHashMap();
        // Plans refer to the session, so they are not kept in Python, which would keep it.
        final Map parts = new LinkedHashMap();

        public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
            String name = method.getName();
            if (name.equals("listFiles")) {
                return listFiles((Seq) arguments[0], (Seq) arguments[1]);
            }
            if (name.equals("rootPaths")) {
                return roots;
            }
            if (name.equals("partitionSchema")) {
                return partitions;
            }
            if (name.equals("isTimeTravel")) {
                return Boolean.valueOf(travels);
            }
            if (name.equals("metadataOpsTimeNs")) {
                return Option.empty();
            }
            if (name.equals("toString")) {
                return token;
            }
            if (name.equals("hashCode")) {
                return Integer.valueOf(token.hashCode());
            }
            if (name.equals("equals")) {
                // Plans over indexes with the same token may share cached data.
                return Boolean.valueOf(
                    proxy == arguments[0] || (arguments[0] != null && token.equals(arguments[0].toString()))
                );
            }
            if (name.equals("get") && told != null) {
                return told;
            }
            if (name.equals("apply") && arguments != null) {
                return split(method, arguments);
            }
            Object found = asked(method, arguments);
            if (name.equals("refresh")) {
                refreshed();
            }
            return found;
        }

        private Object asked(Method method, Object[] arguments) throws Throwable {
            try {
                return method.invoke(delegate, arguments);
            } catch (InvocationTargetException error) {
                throw error.getCause();
            }
        }

        /**
         * What the index as a function gives for a scan: of what it reads it is told in a question, once, and it answers
         * by divide.
         */
        private synchronized Object split(Method method, Object[] arguments) throws Throwable {
            Object[] request = (Object[]) arguments[0];
            List conditions = new ArrayList(CollectionConverters.asJava((Seq) request[1]));
            String columns = DataTypeUtils.fromAttributes((Seq) request[0]).json();
            List texts = new ArrayList();
            texts.add(columns);
            texts.addAll(Arrays.asList(request).subList(2, request.length));
            for (int i = 0; i < conditions.size(); i++) {
                texts.add(conditions.get(i).toString());
            }
            Object[] kept = (Object[]) parts.get(texts);
            if (kept == null || !kept[0].equals(conditions)) {
                List filters = new ArrayList();
                boolean hidden = false;
                for (int i = 0; i < conditions.size(); i++) {
                    Expression condition = (Expression) conditions.get(i);
                    if (onPartitions(condition)) {
                        filters.add(condition);
                        hidden = hidden || readsHidden(condition);
                    }
                }
                Question question = new Question(filters, conditions, known, shown, (String) request[5]);
                boolean counted = ((Boolean) request[3]).booleanValue();
                question.scan.put("columns", columns);
                question.scan.put("limited", request[2]);
                question.scan.put("counted", Boolean.valueOf(counted && filters.size() == conditions.size() && !hidden));
                question.scan.put("isolated", request[4]);
                question.scan.put("zone", request[5]);
                question.scan.put("records", request[6]);
                asked(method, new Object[] {question});
                kept = new Object[] {conditions, question.parts};
                keep(parts, texts, kept);
            }
            return kept[1];
        }

        private static void keep(Map map, Object key, Object value) {
            map.remove(key);
            map.put(key, value);
            if (map.size() > KEPT) {
                map.remove(map.keySet().iterator().next());
            }
        }

        private synchronized void refreshed() {
            token = delegate.toString();
            indexed = true; // it may have indexes now
            told = null;
            listings.clear();
            parts.clear();
        }

        private synchronized Object listFiles(Seq onPartitions, Seq onRows) throws Exception {
            List rows = new ArrayList(CollectionConverters.asJava(onRows));
            List filters = new ArrayList(CollectionConverters.asJava(onPartitions));
            for (int i = 0; i < rows.size(); i++) {
                if (onHidden((Expression) rows.get(i))) {
                    filters.add(rows.get(i));
                }
            }
            List asked = new ArrayList(filters);
            if (indexed) {
                asked.addAll(rows);
            }
            List texts = new ArrayList();
            for (int i = 0; i < asked.size(); i++) {
                texts.add(asked.get(i).toString());
            }
            Object[] kept = (Object[]) listings.get(texts);
            // A text leaves out what matters: the zone of a cast, which function a name stands for, the end of a list.
            if (kept == null || !kept[0].equals(asked)) {
                Question question = new Question(filters, rows, known, shown, zone);
                listing.apply(question, question.text());
                kept = new Object[] {asked, question.directories(), question.told};
                keep(listings, texts, kept);
            }
            told = (String) kept[2];
            return kept[1];
        }

        /** Whether a condition is about nothing but partition columns, and can be evaluated now. */
        private boolean onPartitions(Expression condition) {
            return isOn(condition, partitionNames(0)) && condition.toString().indexOf("dynamicpruning") < 0;
        }

        /** Whether a condition is about a column of which the path of the default partition leaves open what it is. */
        private boolean readsHidden(Expression condition) {
            return !Collections.disjoint(lowerNames(condition), partitionNames(shown));
        }

        /** Whether a condition on rows is about nothing but partition columns that are read from files. */
        private boolean onHidden(Expression condition) {
            return isOn(condition, partitionNames(shown));
        }

        /** Whether a condition is about nothing but some columns, and is the same each time. */
        private static boolean isOn(Expression condition, List columns) {
            List names = lowerNames(condition);
            // A subquery has no value yet when files are listed.
            boolean subquery = condition.toString().indexOf("subquery") >= 0;
            return !names.isEmpty() && columns.containsAll(names) && condition.deterministic() && !subquery;
        }

        /** Names of the partition columns from a place on; those that are read from files begin at shown. */
        private List partitionNames(int first) {
            List names = new ArrayList();
            StructField[] fields = known.fields();
            for (int i = first; i < fields.length; i++) {
                names.add(lower(fields[i].name()));
            }
            return names;
        }

        private static List lowerNames(Expression condition) {
            List lowered = new ArrayList();
            String[] names = names(condition);
            for (int i = 0; i < names.length; i++) {
                lowered.add(lower(names[i]));
            }
            return lowered;
        }
    }

    /** Which files a scan reads; Python answers with add, of a scan to split first with divide. */
    public static class Question {
        final List filters;
        final List rows;
        final StructType known;
        final int shown;
        final String zone;
        final List made = new ArrayList();
        final Map scan = new HashMap();
        String told = "";
        Object[] parts;

        Question(List filters, List rows, StructType known, int shown, String zone) {
            this.filters = filters;
            this.rows = rows;
            this.known = known;
            this.shown = shown;
            this.zone = zone;
        }

        /** Texts of the conditions on partitions, and names of the columns in them, as JSON; empty without conditions. */
        public String text() throws Exception {
            return filters.isEmpty() ? "" : JSON.writeValueAsString(described(new HashMap()));
        }

        /** A scan to split as JSON, with the texts of its conditions on partitions and the names of the columns in them. */
        public String request() throws Exception {
            scan.put("has_conditions", Boolean.valueOf(!rows.isEmpty()));
            return JSON.writeValueAsString(described(scan));
        }

        private Map described(Map about) {
            List texts = new ArrayList();
            for (int i = 0; i < filters.size(); i++) {
                texts.add(filters.get(i).toString());
            }
            about.put("filters", texts);
            about.put("names", filters.isEmpty() ? new String[0] : names(predicate()));
            return about;
        }

        /** What a scan is split into, as MergeRule.java has it. */
        public void divide(Object index, Object rows, Object test, Object bits, boolean passed, Object format) {
            parts = new Object[] {index, rows, test, bits, Boolean.valueOf(passed), format};
        }

        /** The conditions on rows that have their values before the query runs, each as JSON, in a JSON list. */
        public String conditions() throws Exception {
            return evaluable(rows);
        }

        /** The conditions on partitions, likewise. */
        public String partitionConditions() throws Exception {
            return evaluable(filters);
        }

        String evaluable(List conditions) throws Exception {
            List found = new ArrayList();
            for (int i = 0; i < conditions.size(); i++) {
                Expression condition = (Expression) conditions.get(i);
                String text = condition.toString();
                // The JSON of a try_cast is that of a cast, which makes numbers of more texts.
                boolean tells = text.indexOf("try_cast(") < 0;
                tells = tells && text.indexOf("subquery") < 0 && text.indexOf("dynamicpruning") < 0;
                if (tells && condition.deterministic()) {
                    found.add(condition.toJSON());
                }
            }
            return JSON.writeValueAsString(found);
        }

        /** A digit per partition: whether it passes the conditions. values are packed texts of the columns named. */
        public String mask(byte[] values, int count) {
            Expression predicate = predicate();
            Object[] attributes = CollectionConverters.asJava(predicate.references().toSeq()).toArray();
            Expression[] types = new Expression[attributes.length];
            for (int i = 0; i < types.length; i++) {
                types[i] = typed(i, field(((Attribute) attributes[i]).name()).dataType());
            }
            // If takes null for false, as a filter does.
            Expression digit = new If(
                predicate,
                new Literal(Integer.valueOf(1), DataTypes.IntegerType),
                new Literal(Integer.valueOf(0), DataTypes.IntegerType)
            );
            InterpretedProjection projection = new InterpretedProjection(seq(new Object[] {digit}), seq(attributes));
            Object[][] texts = unpacked(values, types.length, count);
            StringBuilder digits = new StringBuilder();
            for (int i = 0; i < count; i++) {
                digits.append(((InternalRow) projection.apply(row(texts[i], types))).getInt(0));
            }
            return digits.toString();
        }

        /**
         * More folders with their files. values are packed texts of the partition columns that are shown, a row for a
         * folder; paths packed paths of files; numbers the number of folders and of files, the sizes and times of files,
         * and the number of files in each folder. text is what to tell of the answer.
         */
        public void add(byte[] values, byte[] paths, byte[] numbers, String text) {
            told = text;
            ByteBuffer read = ByteBuffer.wrap(numbers).order(ByteOrder.LITTLE_ENDIAN);
            int folders = (int) read.getLong(0);
            int files = (int) read.getLong(8);
            Expression[] types = new Expression[shown];
            for (int i = 0; i < shown; i++) {
                types[i] = typed(i, known.fields()[i].dataType());
            }
            Object[][] texts = unpacked(values, shown, folders);
            Object[][] names = unpacked(paths, 1, files);
            int file = 0;
            for (int folder = 0; folder < folders; folder++) {
                Object[] found = new Object[(int) read.getLong(8 * (2 + 2 * files + folder))];
                for (int i = 0; i < found.length; i++) {
                    long size = read.getLong(8 * (2 + file));
                    long modified = read.getLong(8 * (2 + files + file));
                    Path path = new Path(names[file][0].toString());
                    // Spark splits files by its own setting; the block size only has to be there.
                    FileStatus status = new FileStatus(size, false, 1, 134217728L, modified, path);
                    found[i] = new FileStatusWithMetadata(status, Map$.MODULE$.empty());
                    file++;
                }
                made.add(new PartitionDirectory(row(texts[folder], types), seq(found)));
            }
        }

        /** The answer. */
        public Seq directories() {
            return seq(made.toArray());
        }

        private Expression predicate() {
            Expression all = (Expression) filters.get(0);
            for (int i = 1; i < filters.size(); i++) {
                all = new And(all, (Expression) filters.get(i));
            }
            return all;
        }

        private StructField field(String name) {
            StructField[] fields = known.fields();
            for (int i = 0; i < fields.length; i++) {
                if (lower(fields[i].name()).equals(lower(name))) {
                    return fields[i];
                }
            }
            throw new IllegalStateException("no partition column " + name);
        }

        private Expression typed(int index, DataType type) {
            Expression text = new BoundReference(index, DataTypes.StringType, true);
            // ANSI: a text that does not fit is an error; the legacy mode would make it null, which is a wrong row.
            return type instanceof StringType
                ? text
                : new Cast(text, type, Option.apply(zone), EvalMode$.MODULE$.ANSI());
        }

        private static InternalRow row(Object[] texts, Expression[] types) {
            InternalRow given = new GenericInternalRow(texts);
            Object[] values = new Object[types.length];
            for (int i = 0; i < values.length; i++) {
                values[i] = types[i].eval(given);
            }
            return new GenericInternalRow(values);
        }
    }

    static String[] names(Expression condition) {
        Object[] attributes = CollectionConverters.asJava(condition.references().toSeq()).toArray();
        String[] names = new String[attributes.length];
        for (int i = 0; i < names.length; i++) {
            names[i] = ((Attribute) attributes[i]).name();
        }
        return names;
    }

    /** Rows of texts: the length of each in bytes (less than 0 for null), column by column, and then all bytes. */
    static Object[][] unpacked(byte[] packed, int columns, int rows) {
        ByteBuffer lengths = ByteBuffer.wrap(packed).order(ByteOrder.LITTLE_ENDIAN);
        Object[][] found = new Object[rows][columns];
        int at = 4 * columns * rows;
        for (int column = 0; column < columns; column++) {
            for (int row = 0; row < rows; row++) {
                int length = lengths.getInt(4 * (column * rows + row));
                if (length >= 0) {
                    found[row][column] = UTF8String.fromBytes(packed, at, length);
                    at += length;
                }
            }
        }
        return found;
    }

    static Object orNull(Option value) {
        return value.isDefined() ? value.get() : null;
    }

    static String lower(String name) {
        return name.toLowerCase(Locale.ROOT);
    }

    static Seq seq(Object[] items) {
        return (Seq) ArraySeq$.MODULE$.unsafeWrapArray(items);
    }
}
