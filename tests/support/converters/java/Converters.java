import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;

import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.storage.StringConverter;

/**
 * Reads messages with Connect's JsonConverter and writes them anew. A line is a decimal format, what
 * to write (`json` or `string`) and a message in base64, tabs between; each gives a line: `ok` and the
 * bytes in base64, or `refused` and why.
 */
public final class Converters {
    private static final String TOPIC = "topic";

    public static void main(String[] arguments) throws Exception {
        Map<String, JsonConverter> converters = Map.of("BASE64", json("BASE64"), "NUMERIC", json("NUMERIC"));
        StringConverter string = new StringConverter();
        string.configure(Map.of(), false);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split("\t", -1);
            try {
                JsonConverter converter = converters.get(words[0]);
                SchemaAndValue read = converter.toConnectData(TOPIC, Base64.getDecoder().decode(words[2]));
                byte[] written = words[1].equals("json")
                        ? converter.fromConnectData(TOPIC, read.schema(), read.value())
                        : string.fromConnectData(TOPIC, read.schema(), read.value());
                out.println("ok\t" + Base64.getEncoder().encodeToString(written));
            }
            catch (RuntimeException e) {
                out.println("refused\t" + e.toString().replaceAll("\\s+", " "));
            }
            out.flush();
        }
    }

    private static JsonConverter json(String decimals) {
        JsonConverter converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", "true", "decimal.format", decimals), false);
        return converter;
    }
}
