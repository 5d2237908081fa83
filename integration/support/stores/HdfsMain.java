import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * Starts HDFS on free ports, says where the name node is, and runs until its input ends. Each line of the input is the
 * path of a file, whose blocks it tells as Hadoop's own client sees them. Arguments: a folder, the names of data nodes.
 */
public class HdfsMain {
  /** Logins by Kerberos, to the data nodes too, which want SASL there. */
  private static void secure(Configuration configuration, String principal, String keytab, String protection)
      throws Exception {
    configuration.set("hadoop.security.authentication", "kerberos");
    configuration.set("hadoop.rpc.protection", protection);
    for (String node : new String[] {"namenode", "datanode"}) {
      configuration.set("dfs." + node + ".kerberos.principal", principal);
      configuration.set("dfs." + node + ".keytab.file", keytab);
    }
    configuration.set("dfs.web.authentication.kerberos.principal", principal);
    configuration.set("dfs.web.authentication.kerberos.keytab", keytab);
    configuration.set("dfs.block.access.token.enable", "true");
    configuration.set("dfs.data.transfer.protection", protection);
    configuration.set("ignore.secure.ports.for.testing", "true");
    UserGroupInformation.setConfiguration(configuration);
    UserGroupInformation.loginUserFromKeytab(principal, keytab);
  }

  public static void main(String[] arguments) throws Exception {
    Configuration configuration = new Configuration();
    configuration.set("hdfs.minidfs.basedir", arguments[0]);
    configuration.set("dfs.permissions.enabled", "false");
    configuration.set("dfs.namenode.fs-limits.min-block-size", "1024");
    String principal = System.getProperty("hdfs.principal");
    if (principal != null) {
      secure(configuration, principal, System.getProperty("hdfs.keytab"), System.getProperty("hdfs.protection"));
    }
    MiniDFSCluster.Builder builder = new MiniDFSCluster.Builder(configuration).format(true).numDataNodes(1);
    if (arguments.length > 1) {
      String[] hosts = (String[]) Arrays.copyOfRange(arguments, 1, arguments.length);
      String[] racks = new String[hosts.length];
      for (int i = 0; i < hosts.length; i++) {
        racks[i] = "/rack-of-" + hosts[i];
      }
      configuration.set("dfs.blocksize", "1048576");
      configuration.set("dfs.replication", "1");
      builder = builder.numDataNodes(hosts.length).hosts(hosts).racks(racks);
    }
    MiniDFSCluster cluster = builder.build();
    cluster.waitActive();
    System.out.println("ready " + cluster.getNameNodePort() + " " + cluster.getHttpUri(0));
    System.out.flush();
    FileSystem files = cluster.getFileSystem();
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      FileStatus status = files.getFileStatus(new Path(line));
      StringBuilder answer = new StringBuilder("blocks");
      BlockLocation[] blocks = files.getFileBlockLocations(status, 0, status.getLen());
      for (int i = 0; i < blocks.length; i++) {
        answer.append(' ').append(blocks[i].getOffset()).append(':').append(blocks[i].getLength());
        answer.append(':').append(String.join(",", Arrays.asList(blocks[i].getHosts())));
      }
      System.out.println(answer);
      System.out.flush();
    }
    System.exit(0);
  }
}
