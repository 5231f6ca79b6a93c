import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;
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
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Runs Debezium engines, as many as it is told to, and prints their records; those of an engine with properties
 * `kafka.producer.…` go to Kafka instead.
 *
 * Each line of the standard input is the path of a properties file; its engine is called as `name` in it says. The end
 * of the input stops all engines, and then the process. Lines of the output, with tabs between their parts:
 *
 *     record   engine  topic  key  value     key and value in hexadecimal digits, `-` for none
 *     stopped  engine  message               with a message where it failed
 */
public final class EmbeddedEngines {
    private static final String PRODUCER = "kafka.producer.";
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
                .create(Json.class, Json.class)
                .using(properties)
                .using((isSuccess, message, error) -> {
                    if (error != null) {
                        error.printStackTrace();
                    }
                    print("stopped", name, isSuccess ? "" : causes(message, error).replaceAll("\\s+", " "));
                })
                .notifying(consumer(properties))
                .build();
    }

    private static DebeziumEngine.ChangeConsumer<ChangeEvent<String, String>> consumer(Properties properties) {
        String name = properties.getProperty("name");
        Properties ofProducer = new Properties();
        for (String property : properties.stringPropertyNames()) {
            if (property.startsWith(PRODUCER)) {
                ofProducer.setProperty(property.substring(PRODUCER.length()), properties.getProperty(property));
            }
        }
        if (!ofProducer.isEmpty()) {
            return new ToKafka(ofProducer);
        }
        return (records, committer) -> {
            for (ChangeEvent<String, String> event : records) {
                print("record", name, event.destination(), hex(event.key()), hex(event.value()));
                committer.markProcessed(event);
            }
            committer.markBatchFinished();
        };
    }

    /** Sends batches to Kafka, each with its key and value; a batch is done when all of it is acknowledged. */
    private static final class ToKafka implements DebeziumEngine.ChangeConsumer<ChangeEvent<String, String>> {
        private final KafkaProducer<String, String> producer;

        ToKafka(Properties properties) {
            producer = new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer());
        }

        @Override
        public void handleBatch(
                List<ChangeEvent<String, String>> records,
                DebeziumEngine.RecordCommitter<ChangeEvent<String, String>> committer) throws InterruptedException {
            List<Future<RecordMetadata>> sent = new ArrayList<>(records.size());
            for (ChangeEvent<String, String> event : records) {
                sent.add(producer.send(new ProducerRecord<>(event.destination(), event.key(), event.value())));
            }
            for (int index = 0; index < sent.size(); index++) {
                try {
                    sent.get(index).get();
                } catch (ExecutionException error) {
                    throw new IllegalStateException(error.getCause());
                }
                committer.markProcessed(records.get(index));
            }
            committer.markBatchFinished();
        }
    }

    private static String causes(String message, Throwable error) {
        StringBuilder text = new StringBuilder(String.valueOf(message));
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            text.append("; ").append(cause);
        }
        return text.toString();
    }

    private static String hex(String text) {
        return text == null ? "-" : HEX.formatHex(text.getBytes(StandardCharsets.UTF_8));
    }

    private static synchronized void print(String... parts) {
        OUT.println(String.join("\t", parts));
        OUT.flush();
    }
}
