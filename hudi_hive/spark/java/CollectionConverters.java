/* What Scala 2.13 has as scala.jdk.javaapi.CollectionConverters, for Scala 2.12. */
package hudi_hive;

public class CollectionConverters {
    public static java.util.List asJava(scala.collection.Seq items) {
        return scala.collection.JavaConverters.seqAsJavaList(items);
    }

    public static java.util.Map asJava(scala.collection.Map items) {
        return scala.collection.JavaConverters.mapAsJavaMap(items);
    }

    public static scala.collection.mutable.Buffer asScala(java.util.List items) {
        return (scala.collection.mutable.Buffer) scala.collection.JavaConverters.asScalaBuffer(items);
    }

    public static scala.collection.mutable.Set asScala(java.util.Set items) {
        return (scala.collection.mutable.Set) scala.collection.JavaConverters.asScalaSet(items);
    }
}
