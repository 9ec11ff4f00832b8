import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads commands of one line each, and prints a line of JSON for each: see tests/sdk/test_vectors_in_languages.py. */
public class Vectors {
    static byte[] unhex(String digits) {
        byte[] bytes = new byte[digits.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(digits.substring(2 * i, 2 * i + 2), 16);
        }
        return bytes;
    }

    static String hex(byte[] bytes) {
        StringBuilder digits = new StringBuilder();
        for (byte b : bytes) {
            digits.append(String.format("%02x", b));
        }
        return digits.toString();
    }

    static String json(Object value) {
        if (value instanceof String) {
            return Getstep.Json.quoted((String) value);
        }
        List<String> items = new ArrayList<>();
        if (value instanceof List) {
            ((List<?>) value).forEach(item -> items.add(json(item)));
            return "[" + String.join(",", items) + "]";
        }
        if (value instanceof Map) {
            ((Map<?, ?>) value).forEach((key, item) -> items.add(json(key) + ":" + json(item)));
            return "{" + String.join(",", items) + "}";
        }
        return String.valueOf(value);
    }

    static Map<String, Object> map(Object... pairs) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            map.put((String) pairs[i], pairs[i + 1]);
        }
        return map;
    }

    @SuppressWarnings("unchecked") // a map of JSON has texts as keys
    static Map<String, Object> object(Object value) {
        return (Map<String, Object>) value;
    }

    static Object stream(byte[] bytes) {
        Getstep.FrameReader reader = new Getstep.FrameReader();
        reader.feed(bytes, bytes.length);
        List<String> bodies = new ArrayList<>();
        String code = null;
        try {
            for (byte[] body = reader.nextBody(); body != null; body = reader.nextBody()) {
                bodies.add(hex(body));
            }
        } catch (Getstep.ProtocolError error) {
            code = error.code;
        }
        return map("bodies", bodies, "code", code, "partial", code == null && reader.partial());
    }

    static Object conversation(List<?> frames) throws Getstep.ProtocolError {
        Getstep.Conversation client = new Getstep.Conversation();
        List<String> types = new ArrayList<>();
        for (Object frame : frames) {
            if (object(frame).get("from").equals("client")) {
                client.state = client.state == Getstep.State.LOGIN ? Getstep.State.DECIDING : Getstep.State.MATCH;
                continue;
            }
            for (byte b : unhex((String) object(frame).get("bytes"))) {
                client.feed(new byte[] {b}, 1);
                for (Getstep.Message message = client.next(); message != null; message = client.next()) {
                    types.add(message.type);
                }
            }
        }
        return map("messages", types);
    }

    /** Returns the frame of an answer with the notes of some calls, and what the author reads. */
    static Object noted(Map<String, Object> given) throws Getstep.NotSendable {
        List<String> lines = new ArrayList<>();
        Getstep.Notes notes = new Getstep.Notes(lines::add);
        List<?> rows = (List<?>) given.get("board");
        notes.begin(rows.stream().map(Vectors::numbers).toArray(int[][]::new));
        for (Object item : (List<?>) given.get("calls")) {
            List<?> call = (List<?>) item;
            switch ((String) call.get(0)) {
                case "say":
                    notes.say((String) call.get(1));
                    break;
                case "estimate":
                    notes.estimate(((Number) call.get(1)).doubleValue());
                    break;
                case "tag":
                    notes.tag((String) call.get(1));
                    break;
                case "end":
                    notes.end();
                    break;
                default:
                    notes.draw(squares((List<?>) call.get(1)), call.get(2), (String) call.get(3), (String) call.get(4));
            }
        }
        Map<String, Object> step = Getstep.step(31, given.get("move"));
        int room = Getstep.MAX_CLIENT_FRAME - Getstep.Encoder.frame(step).length + Getstep.HEADER_BYTES - 6;
        Map<String, Object> found = notes.end() ? notes.take(room) : null;
        if (found != null) {
            step.put("notes", found);
        }
        return map("frame", hex(Getstep.Encoder.frame(step)), "lines", lines);
    }

    static int[] numbers(Object row) {
        return ((List<?>) row).stream().mapToInt(cell -> ((Number) cell).intValue()).toArray();
    }

    /** Returns squares as a bot gives them: one as an array, several as an array of arrays or as a list. */
    static Object squares(List<?> given) {
        if (given.stream().allMatch(item -> item instanceof Number)) {
            return numbers(given);
        }
        return given.size() % 2 == 0 ? given : given.stream().map(Vectors::numbers).toArray(int[][]::new);
    }

    static Object answer(String command, String argument) throws Exception {
        switch (command) {
            case "body":
                return map("value", Getstep.Decoder.decode(unhex(argument)));
            case "message":
                Map<String, Object> body = Getstep.Decoder.decode(unhex(argument));
                Getstep.Message.of(body);
                return map("message", body);
            case "stream":
                return stream(unhex(argument));
            case "sha256":
                return map("digest", hex(MessageDigest.getInstance("SHA-256").digest(unhex(argument))));
            default:
                return answerJson(command, Getstep.Json.parse(argument));
        }
    }

    static Object answerJson(String command, Object data) throws Exception {
        switch (command) {
            case "sent":
                try {
                    return map("frame", hex(Getstep.Encoder.frame(object(data))));
                } catch (Getstep.NotSendable refusal) {
                    return map("refused", true);
                }
            case "signature":
                String token = Getstep.Auth.canonical((String) object(data).get("typed"));
                String nonce = (String) object(data).get("nonce");
                String proof = (String) object(data).get("proof");
                String clientNonce = (String) object(data).get("client_nonce");
                String dialled = (String) object(data).get("dialled");
                String proofThere = (String) object(data).get("dialled_proof");
                boolean right = Getstep.Auth.isProof(token, nonce, clientNonce, null, proof)
                        && !Getstep.Auth.isProof(token, clientNonce, nonce, null, proof);
                boolean rightThere = Getstep.Auth.isProof(token, nonce, clientNonce, dialled, proofThere)
                        && !Getstep.Auth.isProof(token, nonce, clientNonce, dialled, proof);
                return map("token", token, "mac", Getstep.Auth.sign(token, nonce, null), "proof", right ? proof : "wrong",
                        "dialled_mac", Getstep.Auth.sign(token, nonce, dialled),
                        "dialled_proof", rightThere ? proofThere : "wrong");
            case "nonce":
                Getstep.Message.of(map("type", "hello", "versions", List.of(), "nonce", data, "contest", "", "server", ""));
                return map();
            case "conversation":
                return conversation((List<?>) data);
            case "notes":
                return noted(object(data));
            case "escaped":
                return map("text", Getstep.Text.escape((String) data));
            case "trace":
                return map("text", Getstep.Text.trace(new IllegalStateException((String) data)));
            case "duration":
                return map("text", Getstep.Text.duration(((Number) data).doubleValue()));
            default:
                return map("unknown", true);
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split(" ", 2);
            Object found;
            try {
                found = answer(parts[0], parts.length > 1 ? parts[1] : "");
            } catch (Getstep.ProtocolError error) {
                found = map("code", error.code);
            } catch (Exception error) {
                found = map("failed", error.toString());
            }
            System.out.println(json(found));
        }
    }
}
