import io.apicurio.registry.utils.converter.avro.AvroData;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Map;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.json.JsonConverter;

/**
 * Reads messages with their schema as Connect does. For each line, a message in hexadecimal digits, one line with the
 * message as the converter writes it again, and its schema as Confluent's Avro converter registers it, with a tab
 * between them.
 */
public final class ConnectSchemas {
    public static void main(String[] arguments) throws Exception {
        JsonConverter converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", "true"), false);
        AvroData avro = new AvroData(100);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            SchemaAndValue read = converter.toConnectData("t", HexFormat.of().parseHex(line));
            byte[] again = converter.fromConnectData("t", read.schema(), read.value());
            out.print(HexFormat.of().formatHex(again) + '\t');
            out.print(avro.fromConnectSchema(read.schema()).toString() + '\n');
        }
        out.flush();
    }
}
