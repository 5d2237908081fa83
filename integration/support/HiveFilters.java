/*
 * Filters as Hive itself writes them into a job, for the requests that come as lines on standard input:
 *
 *     layouts TAB class,class,…       how Kryo, as Hive sets it up, writes objects of these classes and all in them
 *     filter TAB columns TAB text     a condition: columns are "name:type;…", the text is HiveQL
 *     rows TAB columns TAB row|row…   the rows that later filters are tried on: values between "," as text, \N is null
 *
 * The answer of a filter is four lines: hive.io.filter.expr.serialized, hive.io.filter.text with "\n" for line breaks,
 * sarg.pushdown (empty where Hive makes none), and the numbers of the rows for which Hive's own evaluator says true.
 * Works with the classes of Hive 2.3 to 4.0. Compiled in memory by Janino; ends when standard input ends.
 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.ql.exec.ColumnInfo;
import org.apache.hadoop.hive.ql.exec.ExprNodeEvaluator;
import org.apache.hadoop.hive.ql.exec.ExprNodeEvaluatorFactory;
import org.apache.hadoop.hive.ql.exec.SerializationUtilities;
import org.apache.hadoop.hive.ql.io.sarg.ConvertAstToSearchArg;
import org.apache.hadoop.hive.ql.parse.ASTNode;
import org.apache.hadoop.hive.ql.parse.ParseDriver;
import org.apache.hadoop.hive.ql.parse.RowResolver;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.hive.ql.session.SessionState;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspector;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspectorConverters;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspectorFactory;
import org.apache.hadoop.hive.serde2.objectinspector.PrimitiveObjectInspector;

import org.apache.hadoop.hive.serde2.objectinspector.primitive.PrimitiveObjectInspectorFactory;
import org.apache.hadoop.hive.serde2.typeinfo.PrimitiveTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoUtils;

import org.apache.hive.com.esotericsoftware.kryo.Kryo;
import org.apache.hive.com.esotericsoftware.kryo.Registration;
import org.apache.hive.com.esotericsoftware.kryo.Serializer;
import org.apache.hive.com.esotericsoftware.kryo.io.Output;
import org.apache.hive.com.esotericsoftware.kryo.serializers.FieldSerializer;

public class HiveFilters {
    private static HiveConf conf;
    private static List rows = new ArrayList();

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        System.setOut(System.err);
        conf = new HiveConf(SessionState.class);
        try {
            SessionState.setCurrentSessionState(new SessionState(conf));
        } catch (ClassCastException newerJava) {
            System.err.println("no session: " + newerJava);  // Hive 3.1 on Java 17; conditions do without
        }
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            try {
                List answer = answer(line.split("\t", -1));
                out.println("rows " + answer.size());
                for (int i = 0; i < answer.size(); i++) {
                    out.println(answer.get(i).toString().replace("\n", "\\n").replace("\r", "\\r"));
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

    private static List answer(String[] request) throws Exception {
        if (request[0].equals("layouts")) {
            return layouts(request[1].split(","));
        }
        if (request[0].equals("rows")) {
            rows = new ArrayList();
            String[] lines = request[2].isEmpty() ? new String[0] : request[2].split("\\|", -1);
            for (int i = 0; i < lines.length; i++) {
                rows.add(row(request[1].split(";"), lines[i].split(",", -1)));
            }
            return new ArrayList();
        }
        return filter(request[1].split(";"), request[2]);
    }

    // -- filters -----------------------------------------------------------------------------------------------------

    private static List filter(String[] columns, String text) throws Exception {
        RowResolver resolver = new RowResolver();
        for (int i = 0; i < columns.length; i++) {
            int colon = columns[i].indexOf(':');
            String name = columns[i].substring(0, colon);
            TypeInfo type = TypeInfoUtils.getTypeInfoFromTypeString(columns[i].substring(colon + 1));
            resolver.put("t", name, new ColumnInfo(name, type, "t", false));
        }
        Object parsed = ParseDriver.class.getMethod("parse", new Class[] {String.class})
            .invoke(new ParseDriver(), new Object[] {"select * from t where " + text});
        if (!(parsed instanceof ASTNode)) {
            parsed = parsed.getClass().getMethod("getTree", new Class[0]).invoke(parsed, new Object[0]);
        }
        ASTNode where = (ASTNode) find((ASTNode) parsed, "TOK_WHERE").getChild(0);
        ExprNodeGenericFuncDesc tree = (ExprNodeGenericFuncDesc) typed(where, resolver);
        List answer = new ArrayList();
        answer.add(SerializationUtilities.serializeExpression(tree));
        answer.add(tree.getExprString());
        answer.add(searchArgument(tree));
        answer.add(matches(tree, columns));
        return answer;
    }

    private static ASTNode find(ASTNode node, String name) {
        if (name.equals(node.getText())) {
            return node;
        }
        for (int i = 0; i < node.getChildCount(); i++) {
            ASTNode below = find((ASTNode) node.getChild(i), name);
            if (below != null) {
                return below;
            }
        }
        return null;
    }

    private static Object typed(ASTNode node, RowResolver resolver) throws Exception {
        boolean early = false;
        Class context;
        try {
            context = Class.forName("org.apache.hadoop.hive.ql.parse.type.TypeCheckCtx");
        } catch (ClassNotFoundException none) {
            context = Class.forName("org.apache.hadoop.hive.ql.parse.TypeCheckCtx");
            early = true;
        }
        Class factory = Class.forName(early
            ? "org.apache.hadoop.hive.ql.parse.TypeCheckProcFactory" : "org.apache.hadoop.hive.ql.parse.type.ExprNodeTypeCheck");
        Object made = context.getConstructor(new Class[] {RowResolver.class}).newInstance(new Object[] {resolver});
        Method method = factory.getMethod("genExprNode", new Class[] {ASTNode.class, context});
        Map nodes = (Map) method.invoke(null, new Object[] {node, made});
        Object result = nodes.get(node);
        if (result == null) {
            throw new IllegalArgumentException(String.valueOf(context.getMethod("getError", new Class[0]).invoke(made, new Object[0])));
        }
        return result;
    }

    private static String searchArgument(ExprNodeGenericFuncDesc tree) throws Exception {
        Object argument;
        try {
            argument = ConvertAstToSearchArg.class.getMethod("create", new Class[] {Configuration.class, ExprNodeGenericFuncDesc.class})
                .invoke(null, new Object[] {conf, tree});
        } catch (NoSuchMethodException early) {
            argument = ConvertAstToSearchArg.class.getMethod("create", new Class[] {ExprNodeGenericFuncDesc.class})
                .invoke(null, new Object[] {tree});
        } catch (InvocationTargetException none) {
            return "";
        }
        Kryo kryo = SerializationUtilities.borrowKryo();
        Output output = new Output(4096, 10 << 20);
        kryo.writeObject(output, argument);
        return Base64.getEncoder().encodeToString(output.toBytes());
    }

    // -- Hive's evaluator --------------------------------------------------------------------------------------------

    private static String matches(ExprNodeDesc tree, String[] columns) throws Exception {
        List names = new ArrayList();
        List inspectors = new ArrayList();
        for (int i = 0; i < columns.length; i++) {
            int colon = columns[i].indexOf(':');
            names.add(columns[i].substring(0, colon));
            inspectors.add(inspector(columns[i].substring(colon + 1)));
        }
        ObjectInspector struct = ObjectInspectorFactory.getStandardStructObjectInspector(names, inspectors);
        ExprNodeEvaluator evaluator = (ExprNodeEvaluator) ExprNodeEvaluatorFactory.class
            .getMethod("get", new Class[] {ExprNodeDesc.class}).invoke(null, new Object[] {tree});
        PrimitiveObjectInspector result = (PrimitiveObjectInspector) evaluator.initialize(struct);
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < rows.size(); i++) {
            Object value = result.getPrimitiveJavaObject(evaluator.evaluate(rows.get(i)));
            if (Boolean.TRUE.equals(value)) {
                text.append(text.length() > 0 ? "," : "").append(i);
            }
        }
        return text.toString();
    }

    private static ObjectInspector inspector(String type) {
        TypeInfo info = TypeInfoUtils.getTypeInfoFromTypeString(type);
        if (info instanceof PrimitiveTypeInfo) {
            return PrimitiveObjectInspectorFactory.getPrimitiveJavaObjectInspector((PrimitiveTypeInfo) info);
        }
        return TypeInfoUtils.getStandardJavaObjectInspectorFromTypeInfo(info);
    }

    private static List row(String[] columns, String[] values) {
        List result = new ArrayList();
        for (int i = 0; i < columns.length; i++) {
            ObjectInspector inspector = inspector(columns[i].substring(columns[i].indexOf(':') + 1));
            Object value = null;
            if (!values[i].equals("\\N") && inspector instanceof PrimitiveObjectInspector) {
                value = ObjectInspectorConverters
                    .getConverter(PrimitiveObjectInspectorFactory.javaStringObjectInspector, inspector).convert(values[i]);
                if (value instanceof java.sql.Timestamp) {  // an instant, whatever the time zone
                    value = java.sql.Timestamp.from(java.time.LocalDateTime.parse(values[i].replace(' ', 'T'))
                        .toInstant(java.time.ZoneOffset.UTC));
                } else if (value instanceof Boolean) {  // for early releases all texts are true
                    value = Boolean.valueOf(values[i]);
                }
                if (value == null) {
                    throw new IllegalArgumentException(values[i] + " is no " + columns[i]);
                }
            }
            result.add(value);
        }
        return result;
    }

    // -- how Kryo writes ---------------------------------------------------------------------------------------------

    private static List layouts(String[] names) throws Exception {
        Kryo kryo = SerializationUtilities.borrowKryo();
        List answer = new ArrayList();
        for (int id = 0; ; id++) {
            Registration registration = kryo.getRegistration(id);
            if (registration == null) {
                break;
            }
            answer.add("id\t" + id + "\t" + registration.getType().getName());
        }
        TreeSet seen = new TreeSet();
        List todo = new ArrayList();
        for (int i = 0; i < names.length; i++) {
            todo.add(names[i]);
        }
        while (!todo.isEmpty()) {
            String name = (String) todo.remove(todo.size() - 1);
            if (!seen.add(name)) {
                continue;
            }
            Class type;
            try {
                type = Class.forName(name);
            } catch (Throwable absent) {
                continue;
            }
            boolean isAbstract = Modifier.isAbstract(type.getModifiers()) && !type.isEnum() && !type.isArray();
            if (type.isInterface() || type.isPrimitive() || isAbstract) {
                continue;
            }
            answer.add(layout(kryo, type, todo));
        }
        return answer;
    }

    private static String layout(Kryo kryo, Class type, List todo) throws Exception {
        Serializer serializer;
        try {
            serializer = kryo.getSerializer(type);
        } catch (Throwable failure) {
            return "class\t" + type.getName() + "\tnone";
        }
        while (serializer.getClass().getSimpleName().equals("SerializerWithHook")) {
            serializer = (Serializer) value(serializer, "old");
        }
        StringBuilder text = new StringBuilder("class\t" + type.getName() + "\t" + serializer.getClass().getSimpleName());
        if (type.isArray()) {
            Class element = type.getComponentType();
            text.append("\t").append(Modifier.isFinal(element.getModifiers()) ? element.getName() : "-");
        } else if (type.isEnum()) {
            Object[] constants = type.getEnumConstants();
            for (int i = 0; i < constants.length; i++) {
                text.append("\t").append(((Enum) constants[i]).name());
            }
        } else if (serializer instanceof FieldSerializer) {
            Object[] fields = ((FieldSerializer) serializer).getFields();
            for (int i = 0; i < fields.length; i++) {
                Field field = (Field) fields[i].getClass().getMethod("getField", new Class[0]).invoke(fields[i], new Object[0]);
                Class known = (Class) value(fields[i], "valueClass");
                text.append("\t").append(field.getName()).append(" ").append(field.getType().getName())
                    .append(" ").append(known == null ? "-" : known.getName()).append(" ").append(element(field));
                todo.add(field.getType().getName());
                todo.addAll(parameters(field));
            }
        }
        return text.toString();
    }

    private static String element(Field field) {
        if (!(field.getGenericType() instanceof ParameterizedType)) {
            return "-";
        }
        Type[] types = ((ParameterizedType) field.getGenericType()).getActualTypeArguments();
        for (int i = 0; i < types.length; i++) {
            if (types[i] instanceof Class && Modifier.isFinal(((Class) types[i]).getModifiers())) {
                return types.length == 1 ? ((Class) types[i]).getName() : "!";
            }
        }
        return "-";
    }

    private static List parameters(Field field) {
        List names = new ArrayList();
        String text = field.getGenericType().getTypeName();
        String[] parts = text.split("[<>,? ]+");
        for (int i = 1; i < parts.length; i++) {
            names.add(parts[i]);
        }
        return names;
    }

    private static Object value(Object object, String name) throws Exception {
        for (Class type = object.getClass(); type != null; type = type.getSuperclass()) {
            try {
                Field field = type.getDeclaredField(name);
                field.setAccessible(true);
                return field.get(object);
            } catch (NoSuchFieldException higher) {
                continue;
            }
        }
        return null;
    }
}
