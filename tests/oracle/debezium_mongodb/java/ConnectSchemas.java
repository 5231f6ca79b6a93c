import io.apicurio.registry.serde.avro.NonRecordContainer;
import io.apicurio.registry.utils.converter.avro.AvroData;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.json.JsonConverter;

/**
 * Reads messages with their schema as Connect does. For each line, a message in hexadecimal digits, one line with the
 * message as the converter writes it again, its schema as Confluent's Avro converter registers it, and the value in
 * Avro, with tabs between them.
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
            Schema schema = avro.fromConnectSchema(read.schema());
            out.print(schema.toString() + '\t');
            out.print(HexFormat.of().formatHex(written(schema, avro.fromConnectData(read.schema(), read.value()))) + '\n');
        }
        out.flush();
    }

    private static byte[] written(Schema schema, Object value) throws Exception {
        Object datum = value instanceof NonRecordContainer container ? container.getValue() : value;
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(bytes, null);
        new GenericDatumWriter<>(schema).write(datum, encoder);
        encoder.flush();
        return bytes.toByteArray();
    }
}
