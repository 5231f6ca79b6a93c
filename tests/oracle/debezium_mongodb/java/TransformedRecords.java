import io.debezium.converters.BinaryDataConverter;
import io.debezium.embedded.Connect;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.RecordChangeEvent;
import io.debezium.engine.format.ChangeEventFormat;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.kafka.connect.converters.ByteArrayConverter;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.SimpleHeaderConverter;
import org.apache.kafka.connect.storage.StringConverter;
import org.apache.kafka.connect.transforms.Transformation;

/**
 * Runs Debezium engines and prints what transformations make of each of their records.
 *
 * Each line of the standard input is the path of a properties file. Its properties `smt.NAME.type` and
 * `smt.NAME.OPTION` are transformations. Lines of the output, with tabs between their parts, one for each record and
 * transformation:
 *
 *     record    engine/NAME  topic  key  value  header=value…    in hexadecimal digits, `-` for none; the last
 *                                                                headers are Kafka's time and partition, key and
 *                                                                value with their schemas, and those by other
 *                                                                converters, unless these reject them
 *     dropped   engine/NAME
 *     rejected  engine/NAME  message
 *     stopped   engine       message
 */
public final class TransformedRecords {
    private static final String SMT = "smt.";
    private static final HexFormat HEX = HexFormat.of();
    private static final Map<String, Converter> CONVERTERS = new ConcurrentHashMap<>();
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    public static void main(String[] arguments) throws Exception {
        ExecutorService threads = Executors.newCachedThreadPool();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Properties properties = new Properties();
            try (Reader reader = Files.newBufferedReader(Path.of(line))) {
                properties.load(reader);
            }
            threads.execute(engine(properties));
        }
        System.exit(0);
    }

    private static DebeziumEngine<?> engine(Properties properties) throws Exception {
        String name = properties.getProperty("name");
        Map<String, Map<String, String>> options = new TreeMap<>();
        for (String property : properties.stringPropertyNames()) {
            if (property.startsWith(SMT)) {
                String[] parts = property.substring(SMT.length()).split("\\.", 2);
                options.computeIfAbsent(parts[0], each -> new HashMap<>())
                        .put(parts[1], properties.getProperty(property));
            }
        }
        Map<String, Transformation<SourceRecord>> transformations = new TreeMap<>();
        for (Map.Entry<String, Map<String, String>> each : options.entrySet()) {
            transformations.put(name + "/" + each.getKey(), transformation(each.getValue()));
        }
        return DebeziumEngine
                .create(ChangeEventFormat.of(Connect.class))
                .using(properties)
                .using((isSuccess, message, error) -> {
                    if (error != null) {
                        error.printStackTrace();
                    }
                    print("stopped", name, isSuccess ? "" : line(String.valueOf(message)));
                })
                .notifying((records, committer) -> {
                    for (RecordChangeEvent<SourceRecord> event : records) {
                        transformations.forEach((smt, by) -> apply(smt, by, event.record()));
                        committer.markProcessed(event);
                    }
                    committer.markBatchFinished();
                })
                .build();
    }

    @SuppressWarnings("unchecked")
    private static Transformation<SourceRecord> transformation(Map<String, String> options) throws Exception {
        Object made = Class.forName(options.remove("type")).getDeclaredConstructor().newInstance();
        Transformation<SourceRecord> transformation = (Transformation<SourceRecord>) made;
        transformation.configure(options);
        return transformation;
    }

    private static void apply(
            String name,
            Transformation<SourceRecord> transformation,
            SourceRecord record) {
        SourceRecord copy = record.newRecord(
                record.topic(), record.kafkaPartition(), record.keySchema(), record.key(), record.valueSchema(),
                record.value(), record.timestamp(), record.headers().duplicate());
        StringBuilder headers = new StringBuilder();
        try {
            SourceRecord made = transformation.apply(copy);
            if (made == null) {
                print("dropped", name);
                return;
            }
            SimpleHeaderConverter converter = new SimpleHeaderConverter();
            for (Header header : made.headers()) {
                byte[] value = converter.fromConnectHeader(made.topic(), header.key(), header.schema(), header.value());
                headers.append('\t').append(header.key()).append('=').append(hex(value));
            }
            headers.append("\tkafka.timestamp=").append(hex(String.valueOf(made.timestamp()).getBytes()));
            headers.append("\tkafka.partition=").append(hex(String.valueOf(made.kafkaPartition()).getBytes()));
            for (String kind : new String[] {"typed", "string", "bytes", "binary"}) {
                try {
                    String key = hex(key(made, kind));
                    headers.append("\tkafka.").append(kind).append(".key=").append(key);
                } catch (DataException error) {
                    // No column.
                }
                try {
                    String value = hex(value(made, kind));
                    headers.append("\tkafka.").append(kind).append(".value=").append(value);
                } catch (DataException error) {
                    // No column.
                }
            }
            print("record", name, made.topic(), hex(key(made, "json")), hex(value(made, "json")) + headers);
        } catch (RuntimeException error) {
            print("rejected", name, line(String.valueOf(error)));
        }
    }

    private static byte[] key(SourceRecord record, String kind) {
        return converter(kind, true).fromConnectData(record.topic(), record.keySchema(), record.key());
    }

    private static byte[] value(SourceRecord record, String kind) {
        return converter(kind, false).fromConnectData(record.topic(), record.valueSchema(), record.value());
    }

    private static Converter converter(String kind, boolean isKey) {
        return CONVERTERS.computeIfAbsent(kind + "/" + isKey, each -> {
            Map<String, String> options = new HashMap<>();
            Converter made = switch (kind) {
                case "string" -> new StringConverter();
                case "bytes" -> new ByteArrayConverter();
                case "binary" -> new BinaryDataConverter();
                default -> new JsonConverter();
            };
            options.put("schemas.enable", String.valueOf(kind.equals("typed")));
            if (kind.equals("binary")) {
                options.clear();
                options.put("delegate.converter.type", JsonConverter.class.getName());
                options.put("delegate.converter.type.schemas.enable", "false");
            }
            made.configure(options, isKey);
            return made;
        });
    }

    private static String hex(byte[] bytes) {
        return bytes == null ? "-" : HEX.formatHex(bytes);
    }

    private static String line(String message) {
        return message.replaceAll("\\s+", " ");
    }

    private static synchronized void print(String... parts) {
        OUT.println(String.join("\t", parts));
        OUT.flush();
    }
}
