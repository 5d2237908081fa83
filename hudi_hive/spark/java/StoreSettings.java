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
    static final String PATH = ".security.credential.provider.path";
    static final String PROVIDERS = "hadoop" + PATH;
    static final String BUCKET = "fs.s3a.bucket.";

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

    static void append(StringBuilder out, String name, String value) {
        out.append(name).append('\u0001').append(value).append('\u0001');
    }

    /** Names and values in turn, behind a character of control each; secrets of credential providers are among them. */
    public String read(Configuration settings) throws Exception {
        StringBuilder out = new StringBuilder();
        StringBuilder secrets = new StringBuilder();
        Iterator all = settings.iterator();
        while (all.hasNext()) {
            String name = (String) ((Map.Entry) all.next()).getKey();
            if (!isOfStores(name) || isDefault(settings, name)) {
                continue;
            }
            String value = settings.get(name);
            if (value == null || value.length() == 0) {
                continue;
            }
            if (!name.endsWith(PATH)) {
                append(out, name, value);
            } else if (name.startsWith(BUCKET) && name.length() > BUCKET.length() + PATH.length()) {
                String bucket = name.substring(BUCKET.length(), name.length() - PATH.length());
                secrets.append(secrets(settings, value, bucket));
            }
        }
        String special = settings.get("fs.s3a" + PATH);
        String providers = settings.get(PROVIDERS);
        if (providers != null || special != null) {
            String path = special == null ? providers : providers == null ? special : special + "," + providers;
            out.append(secrets(settings, path, ""));
        }
        return out.append(secrets).toString();
    }

    /** What credential providers hold about stores, in the same form; for one bucket, unless its name is empty. */
    public String secrets(Configuration settings, String path, String bucket) throws Exception {
        StringBuilder out = new StringBuilder();
        Configuration copy = new Configuration(settings);
        copy.set(PROVIDERS, path);
        Iterator providers = CredentialProviderFactory.getProviders(copy).iterator();
        while (providers.hasNext()) {
            CredentialProvider provider = (CredentialProvider) providers.next();
            List aliases = provider.getAliases();
            for (int i = 0; i < aliases.size(); i++) {
                String alias = (String) aliases.get(i);
                if (!isOfStores(alias)) {
                    continue;
                }
                boolean general = alias.startsWith("fs.s3a.") && !alias.startsWith(BUCKET);
                String name = general && bucket.length() > 0 ? BUCKET + bucket + alias.substring(6) : alias;
                append(out, name, new String(provider.getCredentialEntry(alias).getCredential()));
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
