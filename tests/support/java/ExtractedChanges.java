import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;

import io.debezium.transforms.ExtractNewRecordState;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;

/**
 * Applies Debezium's ExtractNewRecordState to messages, as a sink connector does. A line is a key and a value in
 * base64, a tab between; the value of a tombstone is empty. Each gives a line with the value in JSON after it, `null`
 * for a tombstone and `dropped` for a message that the transformation drops.
 */
public final class ExtractedChanges {
    private static final String TOPIC = "topic";

    public static void main(String[] arguments) throws Exception {
        JsonConverter keys = json(true, true);
        JsonConverter values = json(false, true);
        JsonConverter plain = json(false, false);
        ExtractNewRecordState<SinkRecord> transformation = new ExtractNewRecordState<>();
        transformation.configure(Map.of("delete.tombstone.handling.mode", arguments[0], "add.fields", arguments[1]));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split("\t", -1);
            SchemaAndValue key = keys.toConnectData(TOPIC, Base64.getDecoder().decode(words[0]));
            byte[] bytes = words[1].isEmpty() ? null : Base64.getDecoder().decode(words[1]);
            SchemaAndValue value = values.toConnectData(TOPIC, bytes);
            SinkRecord record = new SinkRecord(TOPIC, 0, key.schema(), key.value(), value.schema(), value.value(), 0);
            SinkRecord found = transformation.apply(record);
            if (found == null) {
                out.println("dropped");
            }
            else if (found.value() == null) {
                out.println("null");
            }
            else {
                byte[] text = plain.fromConnectData(TOPIC, found.valueSchema(), found.value());
                out.println(new String(text, StandardCharsets.UTF_8));
            }
        }
        out.flush();
    }

    private static JsonConverter json(boolean isKey, boolean hasSchemas) {
        JsonConverter converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", String.valueOf(hasSchemas)), isKey);
        return converter;
    }
}
