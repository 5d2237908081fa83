/*
 * Compiles Java sources with Janino, which comes with Spark, and writes their classes below a folder. Arguments: folder,
 * files, each of which may use the ones before it. Run by Janino's own command line.
 */
import java.io.File;
import java.nio.file.Files;
import java.util.Iterator;
import java.util.Map;

import org.codehaus.janino.SimpleCompiler;

public class CompileSource {
    public static void main(String[] arguments) throws Exception {
        ClassLoader known = CompileSource.class.getClassLoader();
        for (int at = 1; at < arguments.length; at++) {
            SimpleCompiler compiler = new SimpleCompiler();
            compiler.setParentClassLoader(known);
            compiler.cookFile(arguments[at]);
            known = compiler.getClassLoader();
            Iterator classes = compiler.getBytecodes().entrySet().iterator();
            while (classes.hasNext()) {
                Map.Entry one = (Map.Entry) classes.next();
                File target = new File(arguments[0], ((String) one.getKey()).replace('.', '/') + ".class");
                target.getParentFile().mkdirs();
                Files.write(target.toPath(), (byte[]) one.getValue());
            }
        }
    }
}
