import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** Starts HDFS on free ports, says where the name node is, and runs until its input ends. */
public class HdfsMain {
  public static void main(String[] arguments) throws Exception {
    Configuration configuration = new Configuration();
    configuration.set("hdfs.minidfs.basedir", arguments[0]);
    configuration.set("dfs.permissions.enabled", "false");
    configuration.set("dfs.namenode.fs-limits.min-block-size", "1024");
    MiniDFSCluster cluster = new MiniDFSCluster.Builder(configuration).numDataNodes(1).format(true).build();
    cluster.waitActive();
    System.out.println("ready " + cluster.getNameNodePort());
    System.out.flush();
    while (System.in.read() >= 0) {}
    System.exit(0);
  }
}
