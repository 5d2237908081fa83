import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Base64;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.DecoderFactory;
import org.apache.hudi.common.config.TypedProperties;
import org.apache.hudi.common.model.HoodieKey;
import org.apache.hudi.keygen.BaseKeyGenerator;

/** Asks a release's own key generators: cases as JSON on the standard input, keys and paths on the standard output. */
public class KeyGenerators {
  public static void main(String[] arguments) throws Exception {
    ObjectMapper mapper = new ObjectMapper();
    ArrayNode answers = mapper.createArrayNode();
    for (JsonNode item : mapper.readTree(System.in)) {
      TypedProperties properties = new TypedProperties();
      item.get("options").fields().forEachRemaining(e -> properties.put(e.getKey(), e.getValue().asText()));
      Schema schema = new Schema.Parser().parse(item.get("schema").asText());
      ArrayNode rows = answers.addArray();
      for (JsonNode row : item.get("rows")) {
        ObjectNode answer = rows.addObject();
        try {
          Class<?> kind = Class.forName("org.apache.hudi.keygen." + item.get("generator").asText());
          BaseKeyGenerator made = (BaseKeyGenerator) kind.getConstructor(TypedProperties.class).newInstance(properties);
          GenericRecord record = new GenericDatumReader<GenericRecord>(schema)
              .read(null, DecoderFactory.get().binaryDecoder(Base64.getDecoder().decode(row.asText()), null));
          HoodieKey key = made.getKey(record);
          answer.put("key", key.getRecordKey()).put("path", key.getPartitionPath());
        } catch (Throwable error) {
          Throwable cause = error;
          while (cause.getCause() != null) {
            cause = cause.getCause();
          }
          answer.put("error", cause.getClass().getSimpleName() + ": " + cause.getMessage());
        }
      }
    }
    System.out.println(mapper.writeValueAsString(answers));
  }
}
