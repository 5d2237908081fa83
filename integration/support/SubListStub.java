/*
 * In place of a serializer of Hive 3.1 that looks for fields which ArrayList has on Java 8 alone. No condition has what
 * it is for; its place among the registered classes counts, which is the same.
 */
package org.apache.hadoop.hive.ql.exec;

import org.apache.hive.com.esotericsoftware.kryo.Kryo;
import org.apache.hive.com.esotericsoftware.kryo.Serializer;
import org.apache.hive.com.esotericsoftware.kryo.io.Input;
import org.apache.hive.com.esotericsoftware.kryo.io.Output;

class SerializationUtilities$ArrayListSubListSerializer extends Serializer {
    public Object read(Kryo kryo, Input input, Class type) {
        throw new UnsupportedOperationException();
    }

    public void write(Kryo kryo, Output output, Object object) {
        throw new UnsupportedOperationException();
    }
}
