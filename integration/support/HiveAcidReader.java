/*
 * Reads folders of ACID tables with Hive's own readers, for the questions that come as lines on standard input:
 *
 *     row|vector TAB folder TAB number of buckets TAB column names TAB column types TAB write ids TAB transactions
 *     TAB places of the bucketing columns TAB bucketing version
 *
 * Names and places are separated by commas, types by colons; write ids and transactions are lists in Hive's text form.
 * The answer to a question is a line "rows N" or "error TEXT", and a line of JSON for each row: its identifier, its
 * values, and the bucket that Hive computes from them (of mode row, if the table has buckets). Compiled in memory by
 * Janino; ends when standard input ends.
 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import org.apache.hadoop.hive.common.type.HiveChar;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.ql.exec.vector.VectorExtractRow;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedRowBatch;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedRowBatchCtx;
import org.apache.hadoop.hive.ql.io.AcidInputFormat;
import org.apache.hadoop.hive.ql.io.RecordIdentifier;
import org.apache.hadoop.hive.ql.io.orc.OrcInputFormat;
import org.apache.hadoop.hive.ql.io.orc.OrcSplit;
import org.apache.hadoop.hive.ql.io.orc.VectorizedOrcAcidRowBatchReader;
import org.apache.hadoop.hive.ql.metadata.VirtualColumn;
import org.apache.hadoop.hive.serde2.objectinspector.ListObjectInspector;
import org.apache.hadoop.hive.serde2.objectinspector.MapObjectInspector;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspector;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspectorUtils;
import org.apache.hadoop.hive.serde2.objectinspector.PrimitiveObjectInspector;
import org.apache.hadoop.hive.serde2.objectinspector.StructField;
import org.apache.hadoop.hive.serde2.objectinspector.StructObjectInspector;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoUtils;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.mapred.Reporter;

public class HiveAcidReader {
    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        System.setOut(System.err);
        HiveConf hive = new HiveConf();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            try {
                List rows = answer(hive, line.split("\t", -1));
                out.println("rows " + rows.size());
                for (int i = 0; i < rows.size(); i++) {
                    out.println(rows.get(i));
                }
            } catch (Throwable error) {
                StringBuilder text = new StringBuilder("error");
                for (Throwable one = error; one != null; one = one.getCause()) {
                    text.append(" <- ").append(one.toString().replaceAll("\\s+", " "));
                }
                error.printStackTrace();
                out.println(text);
            }
            out.flush();
        }
        System.exit(0);
    }

    private static List answer(HiveConf hive, String[] question) throws Exception {
        JobConf conf = new JobConf(hive);
        conf.setInt("bucket_count", Integer.parseInt(question[2]));
        String[] names = {"columns", "schema.evolution.columns"};
        for (int i = 0; i < names.length; i++) {
            conf.set(names[i], question[3]);
            conf.set(names[i] + ".types", question[4]);
        }
        conf.set("hive.txn.valid.writeids", question[5]);
        conf.set("hive.txn.valid.txns", question[6]);
        conf.setBoolean("hive.transactional.table.scan", true);
        conf.setInt("hive.txn.operational.properties", 1);
        conf.setBoolean("transactional", true);
        conf.set("transactional_properties", "default");
        conf.setBoolean("hive.io.file.read.all.columns", true);
        conf.set("mapred.input.dir", question[1]);
        conf.set("mapreduce.input.fileinputformat.inputdir", question[1]);
        conf.setBoolean("mapreduce.input.fileinputformat.input.dir.recursive", true);
        conf.setLong("mapreduce.input.fileinputformat.split.maxsize", 1 << 18); // a large file is read in parts
        OrcInputFormat format = new OrcInputFormat();
        List rows = new ArrayList();
        InputSplit[] splits = format.getSplits(conf, 1);
        for (int i = 0; i < splits.length; i++) {
            if (question[0].equals("vector")) {
                readVectors(conf, (OrcSplit) splits[i], question[3].split(","), question[4], rows);
            } else {
                readRows(conf, format, splits[i], question, rows);
            }
        }
        return rows;
    }

    private static void readRows(
        JobConf conf, OrcInputFormat format, InputSplit split, String[] question, List rows) throws Exception {
        AcidInputFormat.RowReader reader = format.getReader(split, new AcidInputFormat.Options(conf));
        ObjectInspector inspector = reader.getObjectInspector();
        RecordReader plain = (RecordReader) reader; // Hive 3 and 4 have keys of different classes
        RecordIdentifier id = (RecordIdentifier) plain.createKey();
        Object row = plain.createValue();
        while (plain.next(id, row)) {
            StringBuilder text = new StringBuilder("[[");
            text.append(id.getWriteId()).append(',').append(id.getBucketProperty()).append(',').append(id.getRowId());
            text.append("],");
            print(text, row, inspector);
            if (Integer.parseInt(question[2]) > 0) {
                text.append(',').append(bucket(row, (StructObjectInspector) inspector, question));
            }
            rows.add(text.append(']').toString());
        }
        reader.close();
    }

    private static int bucket(Object row, StructObjectInspector inspector, String[] question) {
        String[] places = question[7].split(",");
        Object[] values = new Object[places.length];
        ObjectInspector[] inspectors = new ObjectInspector[places.length];
        for (int i = 0; i < places.length; i++) {
            StructField field = (StructField) inspector.getAllStructFieldRefs().get(Integer.parseInt(places[i]));
            values[i] = inspector.getStructFieldData(row, field);
            inspectors[i] = field.getFieldObjectInspector();
        }
        int hash = question[8].equals("2")
            ? ObjectInspectorUtils.getBucketHashCode(values, inspectors)
            : ObjectInspectorUtils.getBucketHashCodeOld(values, inspectors);
        return ObjectInspectorUtils.getBucketNumber(hash, Integer.parseInt(question[2]));
    }

    private static void readVectors(JobConf conf, OrcSplit split, String[] names, String types, List rows)
        throws Exception {
        List found = TypeInfoUtils.getTypeInfosFromTypeString(types);
        int count = names.length;
        String[] columns = new String[count + 1];
        TypeInfo[] kinds = new TypeInfo[count + 1];
        ObjectInspector[] inspectors = new ObjectInspector[count + 1];
        int[] numbers = new int[count];
        for (int i = 0; i <= count; i++) {
            columns[i] = i < count ? names[i] : VirtualColumn.ROWID.getName();
            kinds[i] = i < count ? (TypeInfo) found.get(i) : VirtualColumn.ROWID.getTypeInfo();
            inspectors[i] = TypeInfoUtils.getStandardWritableObjectInspectorFromTypeInfo(kinds[i]);
            if (i < count) {
                numbers[i] = i;
            }
        }
        VectorizedRowBatchCtx context = new VectorizedRowBatchCtx(
            columns, kinds, null, numbers, 0, 1, new VirtualColumn[] {VirtualColumn.ROWID}, new String[0], null);
        Constructor maker = VectorizedOrcAcidRowBatchReader.class.getDeclaredConstructor(
            new Class[] {OrcSplit.class, JobConf.class, Reporter.class, VectorizedRowBatchCtx.class});
        maker.setAccessible(true);
        RecordReader reader = (RecordReader) maker.newInstance(new Object[] {split, conf, Reporter.NULL, context});
        VectorExtractRow extractor = new VectorExtractRow();
        VectorizedRowBatch batch = (VectorizedRowBatch) reader.createValue();
        while (reader.next(NullWritable.get(), batch)) {
            for (int i = 0; i < batch.size; i++) {
                int at = batch.selectedInUse ? batch.selected[i] : i;
                StringBuilder text = new StringBuilder("[");
                print(text, value(extractor, batch, at, count, kinds, inspectors), inspectors[count]);
                for (int column = 0; column < count; column++) {
                    text.append(column == 0 ? ",[" : ",");
                    print(text, value(extractor, batch, at, column, kinds, inspectors), inspectors[column]);
                }
                rows.add(text.append("]]").toString());
            }
        }
        reader.close();
    }

    private static Object value(
        VectorExtractRow extractor, VectorizedRowBatch batch, int row, int column, TypeInfo[] kinds,
        ObjectInspector[] inspectors) {
        return extractor.extractRowColumn(batch.cols[column], kinds[column], inspectors[column], row);
    }

    private static void print(StringBuilder text, Object value, ObjectInspector inspector) {
        if (value == null) {
            text.append("null");
            return;
        }
        switch (inspector.getCategory()) {
        case PRIMITIVE:
            printPrimitive(text, (PrimitiveObjectInspector) inspector, value);
            return;
        case LIST:
            ListObjectInspector list = (ListObjectInspector) inspector;
            text.append('[');
            for (int i = 0; i < list.getListLength(value); i++) {
                text.append(i > 0 ? "," : "");
                print(text, list.getListElement(value, i), list.getListElementObjectInspector());
            }
            break;
        case MAP:
            MapObjectInspector map = (MapObjectInspector) inspector;
            text.append('[');
            for (Object one : map.getMap(value).entrySet()) {
                Map.Entry entry = (Map.Entry) one;
                text.append(text.charAt(text.length() - 1) == ']' ? ",[" : "[");
                print(text, entry.getKey(), map.getMapKeyObjectInspector());
                text.append(',');
                print(text, entry.getValue(), map.getMapValueObjectInspector());
                text.append(']');
            }
            break;
        case STRUCT:
            StructObjectInspector struct = (StructObjectInspector) inspector;
            List fields = struct.getAllStructFieldRefs();
            text.append('[');
            for (int i = 0; i < fields.size(); i++) {
                StructField field = (StructField) fields.get(i);
                text.append(i > 0 ? "," : "");
                print(text, struct.getStructFieldData(value, field), field.getFieldObjectInspector());
            }
            break;
        default:
            throw new IllegalArgumentException(inspector.getTypeName());
        }
        text.append(']');
    }

    private static void printPrimitive(StringBuilder text, PrimitiveObjectInspector inspector, Object value) {
        Object plain = inspector.getPrimitiveJavaObject(value);
        if (plain instanceof Float) {
            text.append(((Float) plain).doubleValue());
        } else if (plain instanceof Number || plain instanceof Boolean) {
            text.append(plain);
        } else if (plain instanceof byte[]) {
            text.append('"');
            byte[] bytes = (byte[]) plain;
            for (int i = 0; i < bytes.length; i++) {
                text.append(Character.forDigit(bytes[i] >> 4 & 15, 16)).append(Character.forDigit(bytes[i] & 15, 16));
            }
            text.append('"');
        } else {
            quote(text, plain instanceof HiveChar ? ((HiveChar) plain).getStrippedValue() : plain.toString());
        }
    }

    private static void quote(StringBuilder text, String value) {
        text.append('"');
        for (int i = 0; i < value.length(); i++) {
            char one = value.charAt(i);
            if (one == '"' || one == '\\') {
                text.append('\\').append(one);
            } else if (one < ' ' || one > '~') {
                text.append("\\u").append(Integer.toHexString(0x10000 | one).substring(1));
            } else {
                text.append(one);
            }
        }
        text.append('"');
    }
}
