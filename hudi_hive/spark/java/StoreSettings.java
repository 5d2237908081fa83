/*
 * The properties of Hadoop that are about stores of files, as somebody set them: defaults of Hadoop's own stay out.
 * Python compiles this text with Janino, so there are no generics and no lambdas.
 */
import java.util.Iterator;
import java.util.List;
import java.util.Map;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.alias.CredentialProvider;
import org.apache.hadoop.security.alias.CredentialProviderFactory;

public class StoreSettings {
    static final String[] PREFIXES = { "fs.s3a.", "fs.azure.", "fs.gs.", "google.cloud.", "dfs.", "fs.defaultFS" };
    static final String PROVIDERS = "hadoop.security.credential.provider.path";

    static boolean isOfStores(String name) {
        for (int i = 0; i < PREFIXES.length; i++) {
            if (name.startsWith(PREFIXES[i])) {
                return true;
            }
        }
        return false;
    }

    static boolean isDefault(Configuration settings, String name) {
        String[] sources = settings.getPropertySources(name);
        return sources != null && sources.length > 0 && sources[sources.length - 1].endsWith("-default.xml");
    }

    /** Names and values in turn, behind a character of control each; secrets of credential providers are among them. */
    public String read(Configuration settings) throws Exception {
        StringBuilder out = new StringBuilder();
        Iterator all = settings.iterator();
        while (all.hasNext()) {
            String name = (String) ((Map.Entry) all.next()).getKey();
            if (isOfStores(name) && !isDefault(settings, name)) {
                String value = settings.get(name);
                if (value != null && value.length() > 0) {
                    out.append(name).append('\u0001').append(value).append('\u0001');
                }
            }
        }
        String special = settings.get("fs.s3a.security.credential.provider.path");
        if (settings.get(PROVIDERS) != null || special != null) {
            Configuration copy = new Configuration(settings);
            if (special != null) {
                copy.set(PROVIDERS, settings.get(PROVIDERS) == null ? special : special + "," + settings.get(PROVIDERS));
            }
            Iterator providers = CredentialProviderFactory.getProviders(copy).iterator();
            while (providers.hasNext()) {
                CredentialProvider provider = (CredentialProvider) providers.next();
                List aliases = provider.getAliases();
                for (int i = 0; i < aliases.size(); i++) {
                    String name = (String) aliases.get(i);
                    if (isOfStores(name)) {
                        char[] value = provider.getCredentialEntry(name).getCredential();
                        out.append(name).append('\u0001').append(value).append('\u0001');
                    }
                }
            }
        }
        return out.toString();
    }

    /** Set properties that nobody has set; names and values in turn. */
    public void add(Configuration settings, List pairs) {
        for (int i = 0; i < pairs.size(); i += 2) {
            settings.set((String) pairs.get(i), (String) pairs.get(i + 1));
        }
    }
}
