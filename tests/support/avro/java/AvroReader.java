package cdcsidecar.avro;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.NameValidator;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;
import org.apache.avro.SchemaCompatibility.SchemaPairCompatibility;
import org.apache.avro.SchemaValidationException;
import org.apache.avro.SchemaValidatorBuilder;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;

/**
 * Avro's own Java library, asked line by line. Each line is an object of JSON, and so is its answer;
 * one with <code>error</code> says what the library does not take.
 *
 * <pre>
 * {"do": "parse", "id": 1, "schema": "{…}"}       {}
 * {"do": "read", "writer": 1, "reader": 2, "message": base64 without magic and id}
 *                                                  {"record": …}
 * {"do": "compare", "reader": 2, "writer": 1}      {"compatible": …, "readable": …, "why": […]}
 * </pre>
 *
 * Bytes are <code>{"$bytes": base64}</code> and floats <code>{"$float": text}</code>.
 */
public final class AvroReader {
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
    private final Map<Integer, Schema> schemas = new HashMap<>();

    public static void main(String[] arguments) throws IOException {
        ObjectMapper json = new ObjectMapper();
        AvroReader reader = new AvroReader();
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            out.println(json.writeValueAsString(reader.answer(json.readTree(line))));
        }
    }

    private ObjectNode answer(JsonNode asked) throws JsonProcessingException {
        try {
            switch (asked.get("do").asText()) {
                case "parse":
                    return parse(asked);
                case "read":
                    return read(asked);
                default:
                    return compare(asked);
            }
        } catch (AvroRuntimeException | IOException error) {
            return NODES.objectNode().put("error", error.toString());
        }
    }

    private ObjectNode parse(JsonNode asked) {
        Schema.Parser parser = new Schema.Parser(NameValidator.STRICT_VALIDATOR);
        parser.setValidateDefaults(true);
        schemas.put(asked.get("id").asInt(), parser.parse(asked.get("schema").asText()));
        return NODES.objectNode();
    }

    private ObjectNode read(JsonNode asked) throws IOException {
        byte[] message = Base64.getDecoder().decode(asked.get("message").asText());
        BinaryDecoder decoder = DecoderFactory.get().binaryDecoder(message, null);
        GenericDatumReader<GenericRecord> reader =
                new GenericDatumReader<>(schema(asked, "writer"), schema(asked, "reader"));
        GenericRecord record = reader.read(null, decoder);
        if (!decoder.isEnd()) {
            throw new IOException("bytes are left behind the record");
        }
        ObjectNode answer = NODES.objectNode();
        answer.set("record", rendered(record));
        return answer;
    }

    /** What a registry asks of BACKWARD, by both of the library's own answers. */
    private ObjectNode compare(JsonNode asked) {
        Schema reader = schema(asked, "reader");
        Schema writer = schema(asked, "writer");
        SchemaPairCompatibility found =
                SchemaCompatibility.checkReaderWriterCompatibility(reader, writer);
        boolean isCompatible =
                found.getType() == SchemaCompatibility.SchemaCompatibilityType.COMPATIBLE;
        ObjectNode answer = NODES.objectNode();
        answer.put("compatible", isCompatible);
        answer.put("readable", isReadable(reader, writer));
        ArrayNode why = answer.putArray("why");
        found.getResult().getIncompatibilities().forEach(each -> why.add(each.toString()));
        return answer;
    }

    private static boolean isReadable(Schema reader, Schema writer) {
        try {
            new SchemaValidatorBuilder()
                    .canReadStrategy()
                    .validateLatest()
                    .validate(reader, List.of(writer));
            return true;
        } catch (SchemaValidationException error) {
            return false;
        }
    }

    private Schema schema(JsonNode asked, String name) {
        return schemas.get(asked.get(name).asInt());
    }

    private static JsonNode rendered(Object value) {
        if (value == null) {
            return NODES.nullNode();
        }
        if (value instanceof GenericRecord) {
            GenericRecord record = (GenericRecord) value;
            ObjectNode object = NODES.objectNode();
            for (Schema.Field field : record.getSchema().getFields()) {
                object.set(field.name(), rendered(record.get(field.pos())));
            }
            return object;
        }
        if (value instanceof Collection) {
            ArrayNode array = NODES.arrayNode();
            ((Collection<?>) value).forEach(each -> array.add(rendered(each)));
            return array;
        }
        if (value instanceof Map) {
            ObjectNode object = NODES.objectNode();
            ((Map<?, ?>) value).forEach((key, each) -> object.set(key.toString(), rendered(each)));
            return object;
        }
        if (value instanceof ByteBuffer) {
            ByteBuffer buffer = (ByteBuffer) value;
            byte[] bytes = new byte[buffer.remaining()];
            buffer.duplicate().get(bytes);
            return NODES.objectNode().put("$bytes", Base64.getEncoder().encodeToString(bytes));
        }
        if (value instanceof Float || value instanceof Double) {
            return NODES.objectNode()
                    .put("$float", Double.toString(((Number) value).doubleValue()));
        }
        if (value instanceof Boolean) {
            return NODES.booleanNode((Boolean) value);
        }
        if (value instanceof Number) {
            return NODES.numberNode(((Number) value).longValue());
        }
        return NODES.textNode(value.toString());
    }
}
