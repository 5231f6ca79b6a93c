import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.Header;
import io.debezium.engine.format.JsonByteArray;
import io.debezium.engine.format.KeyValueHeaderChangeEventFormat;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * Runs Debezium engines, as many as it is told to, and prints their records.
 *
 * Each line of the standard input is the path of a properties file; its engine is called as `name` in it says. The end
 * of the input stops all engines, and then the process. Lines of the output, with tabs between their parts:
 *
 *     record   engine  topic  key  value  header=value …     key and value in hexadecimal digits, `-` for none
 *     stopped  engine  message                               with a message where it failed
 */
public final class EmbeddedEngines {
    private static final HexFormat HEX = HexFormat.of();
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    public static void main(String[] arguments) throws Exception {
        ExecutorService threads = Executors.newCachedThreadPool();
        List<DebeziumEngine<?>> engines = new ArrayList<>();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Properties properties = new Properties();
            try (Reader reader = Files.newBufferedReader(Path.of(line))) {
                properties.load(reader);
            }
            DebeziumEngine<?> engine = engine(properties);
            engines.add(engine);
            threads.execute(engine);
        }
        for (DebeziumEngine<?> engine : engines) {
            try {
                engine.close();
            } catch (IllegalStateException stoppedByItself) {
                continue;
            }
        }
        threads.shutdown();
        threads.awaitTermination(1, TimeUnit.MINUTES);
        System.exit(0);
    }

    private static DebeziumEngine<?> engine(Properties properties) {
        String name = properties.getProperty("name");
        return DebeziumEngine
                .create(KeyValueHeaderChangeEventFormat.of(
                        JsonByteArray.class, JsonByteArray.class, JsonByteArray.class))
                .using(properties)
                .using((isSuccess, message, error) -> {
                    if (error != null) {
                        error.printStackTrace();
                    }
                    print("stopped", name, isSuccess ? "" : String.valueOf(message).replaceAll("\\s+", " "));
                })
                .notifying(event -> print("record", name, event.destination(), text(event)))
                .build();
    }

    private static String text(ChangeEvent<byte[], byte[]> event) {
        StringBuilder text = new StringBuilder(hex(event.key())).append('\t').append(hex(event.value()));
        List<Header<byte[]>> headers = event.headers();
        for (Header<byte[]> header : headers) {
            text.append('\t').append(header.getKey()).append('=').append(hex(header.getValue()));
        }
        return text.toString();
    }

    private static String hex(byte[] bytes) {
        return bytes == null ? "-" : HEX.formatHex(bytes);
    }

    private static synchronized void print(String... parts) {
        OUT.println(String.join("\t", parts));
        OUT.flush();
    }
}
