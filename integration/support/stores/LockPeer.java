import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.util.Map;
import java.util.concurrent.TimeUnit;

import org.apache.hadoop.conf.Configuration;
import org.apache.hudi.common.config.LockConfiguration;
import org.apache.hudi.common.config.TypedProperties;
import org.apache.hudi.common.lock.LockProvider;
import org.codehaus.janino.SimpleCompiler;

/** One of Hudi's lock providers, by its class: takes and releases its lock as lines on standard input say. */
public class LockPeer {
  public static void main(String[] arguments) throws Exception {
    TypedProperties properties = new TypedProperties();
    for (int at = 1; at < arguments.length; at++) {
      int cut = arguments[at].indexOf('=');
      properties.setProperty(arguments[at].substring(0, cut), arguments[at].substring(cut + 1));
    }
    String more = properties.getProperty("source", "");
    if (!more.isEmpty()) {
      SimpleCompiler compiler = new SimpleCompiler();
      compiler.cookFile(more);
      // Hudi looks for the class by its name, among those that it has loaded first.
      Field loaded = Class.forName("org.apache.hudi.common.util.ReflectionUtils").getDeclaredField("CLAZZ_CACHE");
      loaded.setAccessible(true);
      String name = "org.apache.hudi.aws.transaction.lock.S3StorageLockClient";
      ((Map) loaded.get(null)).put(name, compiler.getClassLoader().loadClass(name));
    }
    Class provider = Class.forName(arguments[0]);
    LockProvider lock = null;
    System.out.println("ready");
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    String line = lines.readLine();
    while (line != null) {
      String answer;
      try {
        if (lock == null) {
          lock = make(provider, properties);
        }
        if (line.equals("lock")) {
          long wait = Long.parseLong(properties.getProperty("hoodie.write.lock.wait_time_ms"));
          answer = lock.tryLock(wait, TimeUnit.MILLISECONDS) ? "true" : "false";
        } else {
          lock.unlock();
          lock.close();
          lock = null;
          answer = "true";
        }
      } catch (Exception error) {
        answer = ("false " + error + " " + error.getCause()).replace('\n', ' ');
        error.printStackTrace();
        if (lock != null) {
          lock.close();
          lock = null;
        }
      }
      System.out.println(answer);
      line = lines.readLine();
    }
    System.exit(0);
  }

  private static LockProvider make(Class provider, TypedProperties properties) throws Exception {
    LockConfiguration configuration = new LockConfiguration(properties);
    Constructor[] constructors = provider.getConstructors();
    for (int at = 0; at < constructors.length; at++) {
      Constructor constructor = constructors[at];
      if (constructor.getParameterTypes().length == 2) {
        Object hadoop = null;
        if (constructor.getParameterTypes()[1].getName().endsWith("StorageConfiguration")) {
          hadoop = Class.forName("org.apache.hudi.storage.hadoop.HadoopStorageConfiguration")
              .getConstructor(new Class[] {Configuration.class}).newInstance(new Object[] {new Configuration(false)});
        }
        return (LockProvider) constructor.newInstance(new Object[] {configuration, hadoop});
      }
    }
    throw new IllegalArgumentException(provider.getName());
  }
}
