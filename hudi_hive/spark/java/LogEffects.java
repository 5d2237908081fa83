/*
 * Plans over what log files do to base files: the records that stand beside them, which Spark caches, and bits of the
 * rows that do not count. Compiled in memory by Janino, which comes with Spark: no generics, no lambdas. It is used where
 * queries are planned, never on executors.
 */
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.columnar.InMemoryRelation$;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.storage.StorageLevel;

import scala.Option;
import scala.collection.immutable.ArraySeq$;
import scala.collection.immutable.Seq;

public class LogEffects {
    static final ObjectMapper JSON = new ObjectMapper();

    /** Rows that executors keep once they were made, in memory or on their disks. */
    public InMemoryRelation cached(Object execution, String name) {
        StorageLevel level = StorageLevel.MEMORY_AND_DISK();
        return InMemoryRelation$.MODULE$.apply(level, (QueryExecution) execution, Option.apply(name));
    }

    /** Bytes of cached rows. */
    public long size(InMemoryRelation cached) {
        return cached.computeStats().sizeInBytes().toLong();
    }

    /** Forget cached rows. */
    public void forget(InMemoryRelation cached) {
        cached.cacheBuilder().clearCache(false);
    }

    /** The effects among cached rows, behind the numbers of their slices. */
    public LogicalPlan effects(InMemoryRelation cached, String effect, String slice) {
        InMemoryRelation own = (InMemoryRelation) cached.newInstance();
        Attribute column = column(own, effect);
        return new Project(seq(new Object[] {column(own, slice), column}), new Filter(new IsNotNull(column), own));
    }

    /** The rows of several plans. */
    public LogicalPlan union(Seq plans) {
        return new Union(plans, false, false);
    }

    /**
     * The records among cached rows: names is the JSON of a list of their columns, numbers that of the slices that count,
     * or null for all.
     */
    public LogicalPlan records(InMemoryRelation cached, String effect, String slice, String names, String numbers)
        throws Exception {
        InMemoryRelation own = (InMemoryRelation) cached.newInstance();
        Expression condition = new IsNull(column(own, effect));
        if (numbers != null) {
            int[] chosen = (int[]) JSON.readValue(numbers, int[].class);
            Object[] literals = new Object[chosen.length];
            for (int i = 0; i < chosen.length; i++) {
                literals[i] = new Literal(Integer.valueOf(chosen[i]), DataTypes.IntegerType);
            }
            condition = new And(condition, new In(column(own, slice), seq(literals)));
        }
        String[] wanted = (String[]) JSON.readValue(names, String[].class);
        Object[] columns = new Object[wanted.length];
        for (int i = 0; i < wanted.length; i++) {
            columns[i] = column(own, wanted[i]);
        }
        return new Project(seq(columns), new Filter(condition, own));
    }

    /** Words of 64 bits, little-endian, as an array. */
    public Literal bits(byte[] words) {
        long[] values = new long[words.length / 8];
        ByteBuffer.wrap(words).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(values);
        return new Literal(UnsafeArrayData.fromPrimitiveArray(values), new ArrayType(DataTypes.LongType, false));
    }

    static Attribute column(InMemoryRelation cached, String name) {
        Seq output = cached.output();
        for (int i = 0; i < output.size(); i++) {
            if (((Attribute) output.apply(i)).name().equals(name)) {
                return (Attribute) output.apply(i);
            }
        }
        throw new IllegalStateException("no cached column " + name);
    }

    static Seq seq(Object[] items) {
        return (Seq) ArraySeq$.MODULE$.unsafeWrapArray(items);
    }
}
