/*
 * Getstep.java plays in a getstep bot contest. Put this file beside your bot; Java 11 or newer, nothing else to install.
 *
 *     public class MyBot {
 *         static int[][] getStep(int[][] board, boolean isBlack) {
 *             return new int[][] {{2, 2}, {2, 3}};
 *         }
 *
 *         public static void main(String[] args) {
 *             Getstep.play(args, MyBot::getStep);
 *         }
 *     }
 *
 * Build and run it:
 *
 *     javac *.java
 *     java MyBot --host 192.168.1.10 --team 7 --token kq3m-x7fd-29pt
 *
 * java MyBot --help lists the options. The contest's protocol.md says what travels on the wire.
 */

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Array;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.math.RoundingMode;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.Inet4Address;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.StandardProtocolFamily;
import java.net.NoRouteToHostException;
import java.net.Socket;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.channels.UnresolvedAddressException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.CharsetEncoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;

/** Plays in a getstep contest: {@code Getstep.play(args, MyBot::getStep)} is the one call that a bot needs. */
public final class Getstep {
    /** The version of this file, which is that of the whole of getstep. */
    public static final String VERSION = "0.1.0";

    private Getstep() {}

    // --- for bots ------------------------------------------------------------------------------------------------

    /** A bot: it returns a move for a board. */
    @FunctionalInterface
    public interface Bot {
        /**
         * Returns the move: an {@code int[]}, an {@code int[][]}, or lists of numbers and texts.
         *
         * <p>A game whose move is one square takes {@code {row, column}} and {@code {{row, column}}} alike. A domino of
         * linkage is {@link Getstep#domino}, or {@code {{colour}, {row, column}, {row, column}}} with a colour from 1 to
         * 4, as on the board.
         *
         * @param board rows of cells, fresh for each call: the bot may change it
         * @param isBlack true for the first player, whatever the game calls it
         */
        Object getStep(int[][] board, boolean isBlack) throws Exception;
    }

    /** A bot that also gets the turn: the match, the opponent and the time. */
    @FunctionalInterface
    public interface TurnBot {
        /** Returns the move, as {@link Bot#getStep} does. */
        Object getStep(int[][] board, boolean isBlack, Turn turn) throws Exception;
    }

    /** What is known about a turn, besides the board. */
    public static final class Turn {
        /** The game's name, such as "hop". */
        public final String game;
        /** The match number. */
        public final int match;
        /** 1 for the first turn of the match. The turns of both players count, passed and skipped ones too. */
        public final int moveNumber;
        /** The other team's name. */
        public final String opponent;
        /** The opponent's last move: lists of numbers and texts. Null if there was none. */
        public final Object lastMove;
        /** The squares of the opponent's last move, each {row, column}; empty if there was none. */
        public final int[][] lastSquares;
        /** Milliseconds for this move, or for all the rest of the match if the limit is for all moves together. */
        public final int timeLeftMs;
        /** The game's options, such as size=8. */
        public final Map<String, Integer> options;
        /** Milliseconds that such a common limit gets after each answer; 0 if nothing is added. */
        public final int incrementMs;
        /**
         * The moves that the server has played from the start of the game before it asked anybody, for both players in
         * turn, each as lastMove is; usually there are none.
         */
        public final List<Object> opening;
        /** The squares of each of these moves, each {row, column}. */
        public final List<int[][]> openingSquares;

        Turn(Message start, Message ask) {
            game = Text.escape(start.game);
            match = start.match;
            moveNumber = ask.moveNumber;
            opponent = Text.escape(start.opponent);
            lastMove = ask.lastMove;
            lastSquares = squares(ask.lastMove);
            timeLeftMs = ask.timeLeftMs;
            options = Collections.unmodifiableMap(start.options);
            incrementMs = start.incrementMs == null ? 0 : start.incrementMs;
            opening = start.opening;
            List<int[][]> squares = new ArrayList<>();
            for (Object move : opening) {
                squares.add(squares(move));
            }
            openingSquares = Collections.unmodifiableList(squares);
        }
    }

    /** The result of a match. */
    public static final class Result {
        /** The match number. */
        public final int match;
        /** The game's name. */
        public final String game;
        /** The other team's name. */
        public final String opponent;
        /** True if this bot was the first player. */
        public final boolean isBlack;
        /** This bot's result: "win", "draw", "loss" or "void". A void match does not count. */
        public final String result;
        /** An end code of protocol.md, such as "finished" or "missed_limit". */
        public final String reason;
        /** One sentence for people. */
        public final String detail;
        /** The scores of the first and of the second player in the game's own unit, or null. */
        public final List<Object> scores;
        /** The number of moves that this bot sent. */
        public final int moves;
        /** The longest time that getStep took, in milliseconds. */
        public final double longestMs;
        /** The time that all calls of getStep took together, in milliseconds. */
        public final double totalMs;

        Result(Match of, Message end) {
            match = of.number;
            game = of.game;
            opponent = of.opponent;
            isBlack = of.start.isBlack;
            result = end.result;
            reason = Text.escape(end.reason);
            detail = Text.escape(end.detail);
            scores = end.scores;
            moves = of.moves;
            longestMs = of.longestMs;
            totalMs = of.totalMs;
        }
    }

    /** Plays until the contest is over; see {@link #play(String[], TurnBot, String...)}. */
    public static List<Result> play(String[] args, Bot bot, String... games) {
        Objects.requireNonNull(bot, "bot");
        return play(args, (board, isBlack, turn) -> bot.getStep(board, isBlack), games);
    }

    /**
     * Plays until the contest is over.
     *
     * <p>If the server is not running yet or the connection is lost, it connects again until that succeeds, and resumes a
     * match in progress. An exception in the bot costs that turn only. If the server refuses the bot, or an option is
     * wrong, this prints why and ends the program: exit code 1 for a refusal, 2 for wrong usage.
     *
     * @param args the arguments of main; --help lists them
     * @param bot the bot, for example {@code MyBot::getStep}
     * @param games the games that the bot plays; it gives up each match of another game, and plays the next ones. All if
     *     none is named
     * @return the matches that ended while the bot was connected, in order; the latest 10,000 if there were more
     */
    public static List<Result> play(String[] args, TurnBot bot, String... games) {
        Objects.requireNonNull(bot, "bot");
        Set<String> played = new LinkedHashSet<>(Arrays.asList(games));
        Console console = new Console();
        try {
            Settings settings = new Settings(args);
            if (settings.shows != null) {
                console.say(settings.shows);
                System.exit(0);
            }
            console.quiet = settings.quiet;
            settings.find();
            return run(settings, played.isEmpty() ? bot : only(played, bot), console);
        } catch (SetupError error) {
            console.warn("getstep: " + error.getMessage());
            System.exit(2);
        } catch (Refused error) {
            console.warn("getstep: " + error.getMessage());
            System.exit(1);
        }
        throw new AssertionError("System.exit returned");
    }

    /** Returns a bot that gives up each match of a game that is not in {@code games}. */
    private static TurnBot only(Set<String> games, TurnBot bot) {
        return (board, isBlack, turn) -> {
            if (!games.contains(turn.game)) {
                throw new NotPlayed("this bot plays " + String.join(", ", games) + "; the match is " + turn.game
                        + ". It gives up this match, and plays the next ones.");
            }
            return bot.getStep(board, isBlack, turn);
        };
    }

    /** Returns a domino of linkage; colour is 'R', 'B', 'G' or 'Y'. */
    public static List<Object> domino(char colour, int row1, int column1, int row2, int column2) {
        return Arrays.asList(String.valueOf(colour), Arrays.asList(row1, column1), Arrays.asList(row2, column2));
    }

    // Notes of a move: what the bot thinks, for its author and the replay. They cost microseconds and never a turn; what is
    // wrong or too much is dropped, and the terminal says so once. Any thread may call these while a move is computed.

    /** Says something about the move; several texts are put below each other: at most 1,000 characters. */
    public static void say(String text) {
        NOTES.say(text);
    }

    /** Says how likely this bot wins, from -1 (it loses) to 1 (it wins). The last call for a move counts. */
    public static void estimate(double value) {
        NOTES.estimate(value);
    }

    /** Marks squares on the board of the replay; see {@link #draw(Object, Object, String, String)}. */
    public static void draw(Object squares) {
        draw(squares, null);
    }

    /** Marks squares, with a label; see {@link #draw(Object, Object, String, String)}. */
    public static void draw(Object squares, Object label) {
        draw(squares, label, null);
    }

    /** Marks squares, with a label, in a colour; see {@link #draw(Object, Object, String, String)}. */
    public static void draw(Object squares, Object label, String color) {
        draw(squares, label, color, "mark");
    }

    /**
     * Draws on the board of the replay, at most 64 times for a move.
     *
     * @param squares an int[] {row, column}, or an int[][] or a list of these, at most 64
     * @param label a text of at most 8 characters, or a number; null for none
     * @param color "black", "white", "blue", "orange", "red", "green", "yellow", "purple" or "grey"; null for that of the
     *     bot's own side
     * @param shape "mark" or "region"; "arrow" along 2 to 16 squares, or "domino" on 2
     */
    public static void draw(Object squares, Object label, String color, String shape) {
        try {
            NOTES.draw(squares, label, color, shape);
        } catch (RuntimeException unreadable) {
            // a list of the bot that changes meanwhile, for example
        }
    }

    /** Tags the match with a word of at most 24 characters, such as the name of an opening: at most 8 for a move. */
    public static void tag(String word) {
        NOTES.tag(word);
    }

    private static List<Result> run(Settings settings, TurnBot bot, Console console) throws SetupError, Refused {
        Restarted before = Restarted.of(settings.variable(Restarted.VARIABLE));
        if (before != null) {
            // The first program waits for this one. If it is killed, nobody could stop this one with Ctrl-C.
            ProcessHandle.current().parent().ifPresent(first -> first.onExit().thenRun(() -> Runtime.getRuntime().halt(1)));
        }
        try {
            return play(settings, bot, console, before);
        } catch (Hung hung) {
            if (before != null) {
                Runtime.getRuntime().halt(hung.state.exitCode()); // the first program starts the next one
            }
            throw startAgain(settings, hung.state);
        }
    }

    private static List<Result> play(Settings settings, TurnBot bot, Console console, Restarted before)
            throws SetupError, Refused, Hung {
        Thread stopped = new Thread(() -> console.say("Stopped."));
        PrintStream original = System.out;
        try (Client client = new Client(settings, bot, console, before)) {
            Runtime.getRuntime().addShutdownHook(stopped); // Ctrl-C runs it; the exit code is then 130
            System.setOut(client.output.stream);
            return client.run();
        } finally {
            System.setOut(original);
            try {
                Runtime.getRuntime().removeShutdownHook(stopped);
            } catch (IllegalStateException alreadyEnding) {
                // Ctrl-C was pressed: the hook runs now
            }
        }
    }

    private static int[][] squares(Object move) {
        List<int[]> found = new ArrayList<>();
        int[] whole = square(move);
        if (whole != null) {
            found.add(whole);
        } else if (move instanceof List) {
            for (Object item : (List<?>) move) {
                int[] square = square(item);
                if (square != null) {
                    found.add(square);
                }
            }
        }
        return found.toArray(new int[0][]);
    }

    private static int[] square(Object value) {
        if (!(value instanceof List) || ((List<?>) value).size() != 2) {
            return null;
        }
        Object row = ((List<?>) value).get(0);
        Object column = ((List<?>) value).get(1);
        return row instanceof Long && column instanceof Long
                ? new int[] {((Long) row).intValue(), ((Long) column).intValue()}
                : null;
    }

    // --- errors --------------------------------------------------------------------------------------------------

    /** An option, a variable or the saved login is missing or not valid. */
    static final class SetupError extends Exception {
        private static final long serialVersionUID = 1;

        SetupError(String message) {
            super(message);
        }
    }

    /** The server does not let this bot play, or cannot be found. */
    static final class Refused extends Exception {
        private static final long serialVersionUID = 1;

        Refused(String message) {
            super(message);
        }
    }

    /** There is no usable connection, and the bot tries again. The message says why, for the bot's author. */
    static class ConnectionFailed extends Exception {
        private static final long serialVersionUID = 1;

        ConnectionFailed(String message) {
            super(message);
        }
    }

    /** The host's name does not resolve. */
    static final class Unresolved extends ConnectionFailed {
        private static final long serialVersionUID = 1;

        Unresolved(String message) {
            super(message);
        }
    }

    /** The peer sent something that the protocol does not allow. */
    static final class ProtocolError extends Exception {
        private static final long serialVersionUID = 1;

        /** The reason code of protocol.md, such as "oversize_frame". */
        final String code;

        ProtocolError(String code, String detail) {
            super(code + ": " + detail);
            this.code = code;
        }
    }

    /** The match is of a game that the bot does not play. */
    static final class NotPlayed extends Exception {
        private static final long serialVersionUID = 1;

        NotPlayed(String message) {
            super(message);
        }
    }

    /** A value that cannot be sent. */
    static final class NotSendable extends Exception {
        private static final long serialVersionUID = 1;

        NotSendable(String message) {
            super(message);
        }
    }

    // --- the limits of the wire (protocol.md, "Limits") ----------------------------------------------------------

    static final int PROTOCOL = 1;
    static final int HEADER_BYTES = 4;
    static final int MAX_CLIENT_FRAME = 4096;
    static final int MAX_SERVER_FRAME = 16384;
    static final int MAX_DEPTH = 8;
    static final int MAX_ARRAY = 128;
    static final int MAX_MAP = 32;
    static final int MAX_TEXT = 500;
    static final int MAX_NAME = 64;
    static final int MAX_OPENING = 20;
    static final int MAX_TEXT_BYTES = 4 * MAX_TEXT;
    static final int MAX_ID = Integer.MAX_VALUE;
    static final int MAX_MS = 24 * 3600 * 1000;
    static final int NONCE_DIGITS = 32;
    static final int MAC_DIGITS = 64;
    static final int NOTES_BYTES = 3584; // of 4,096 of a frame: the longest move of a game takes 400
    static final int MAX_SAID = 1000; // characters
    static final int MAX_DRAWINGS = 64;
    static final int MAX_SQUARES = 64;
    static final int MAX_ARROW = 16; // squares
    static final int MAX_SIDE = 128; // rows and columns
    static final int MAX_LABEL = 8;
    static final int MAX_TAGS = 8; // of a move
    static final int MAX_TAG = 24;

    // --- msgpack -------------------------------------------------------------------------------------------------

    /** Decodes one msgpack value. What it costs is bounded by the limits, whatever the bytes are. */
    static final class Decoder {
        private final byte[] data;
        private int at;

        private Decoder(byte[] data) {
            this.data = data;
        }

        /** Returns the map in the body of a frame. Integers are Long, or BigInteger from 2^63 on. */
        static Map<String, Object> decode(byte[] body) throws ProtocolError {
            Decoder decoder = new Decoder(body);
            Object value = decoder.value(0);
            if (decoder.at < body.length) {
                throw bad("bytes after the end of the map");
            }
            if (!(value instanceof Map)) {
                throw new ProtocolError("not_a_map", "another value, expected a map");
            }
            @SuppressWarnings("unchecked") // map() makes no others
            Map<String, Object> map = (Map<String, Object>) value;
            return map;
        }

        private static ProtocolError bad(String detail) {
            return new ProtocolError("bad_msgpack", detail);
        }

        private Object value(int containersAround) throws ProtocolError {
            int first = (int) number(1);
            if (first < 0x80) {
                return (long) first;
            }
            if (first >= 0xe0) {
                return (long) (byte) first;
            }
            if (first < 0x90) {
                return map(first & 0x0f, containersAround);
            }
            if (first < 0xa0) {
                return array(first & 0x0f, containersAround);
            }
            if (first < 0xc0) {
                return text(first & 0x1f);
            }
            switch (first) {
                case 0xc0:
                    return null;
                case 0xc2:
                    return false;
                case 0xc3:
                    return true;
                case 0xca:
                    return (double) Float.intBitsToFloat((int) number(4));
                case 0xcb:
                    return Double.longBitsToDouble(number(8));
                case 0xcc:
                    return number(1);
                case 0xcd:
                    return number(2);
                case 0xce:
                    return number(4);
                case 0xcf:
                    return unsigned(number(8));
                case 0xd0:
                    return (long) (byte) number(1);
                case 0xd1:
                    return (long) (short) number(2);
                case 0xd2:
                    return (long) (int) number(4);
                case 0xd3:
                    return number(8);
                case 0xd9:
                    return text(number(1));
                case 0xda:
                    return text(number(2));
                case 0xdb:
                    return text(number(4));
                case 0xdc:
                    return array(number(2), containersAround);
                case 0xdd:
                    return array(number(4), containersAround);
                case 0xde:
                    return map(number(2), containersAround);
                case 0xdf:
                    return map(number(4), containersAround);
                default:
                    throw bad(String.format("type byte 0x%02x: bin and ext are not used here", first));
            }
        }

        private static Object unsigned(long bits) {
            return bits >= 0 ? (Object) bits : new BigInteger(Long.toUnsignedString(bits));
        }

        private long number(int bytes) throws ProtocolError {
            if (data.length - at < bytes) {
                throw bad("it ends inside a value");
            }
            long number = 0;
            for (int i = 0; i < bytes; i++) {
                number = number << 8 | data[at++] & 0xff;
            }
            return number;
        }

        private String text(long length) throws ProtocolError {
            checkClaim("a string", length, MAX_TEXT_BYTES);
            if (data.length - at < length) {
                throw bad("it ends inside a string");
            }
            try {
                String text = StandardCharsets.UTF_8.newDecoder() // it reports what is not UTF-8
                        .decode(ByteBuffer.wrap(data, at, (int) length)).toString();
                at += (int) length;
                return text;
            } catch (CharacterCodingException error) {
                throw bad("a string that is not UTF-8");
            }
        }

        private List<Object> array(long length, int containersAround) throws ProtocolError {
            checkDepth(containersAround);
            checkClaim("an array", length, MAX_ARRAY);
            List<Object> list = new ArrayList<>((int) length);
            for (int i = 0; i < length; i++) {
                list.add(value(containersAround + 1));
            }
            return Collections.unmodifiableList(list); // a bot gets the opponent's last move as it is here
        }

        private Map<String, Object> map(long length, int containersAround) throws ProtocolError {
            checkDepth(containersAround);
            checkClaim("a map", length, MAX_MAP);
            Object[] keys = new Object[(int) length];
            Object[] values = new Object[(int) length];
            for (int i = 0; i < length; i++) {
                keys[i] = value(containersAround + 1);
                values[i] = value(containersAround + 1);
            }
            Map<String, Object> map = new LinkedHashMap<>();
            for (int i = 0; i < length; i++) {
                if (!(keys[i] instanceof String)) {
                    throw new ProtocolError("bad_key", "a key " + Text.shown(keys[i]) + ", expected a string");
                }
                if (map.containsKey(keys[i])) {
                    throw new ProtocolError("duplicate_key", "the key " + Text.shown(keys[i]) + " twice");
                }
                map.put((String) keys[i], values[i]);
            }
            return map;
        }

        private static void checkDepth(int containersAround) throws ProtocolError {
            if (containersAround >= MAX_DEPTH) {
                throw new ProtocolError("too_deep", "more than " + MAX_DEPTH + " containers inside each other");
            }
        }

        private static void checkClaim(String what, long length, int most) throws ProtocolError {
            if (length > most) {
                throw new ProtocolError(
                        "too_large", what + " that claims a length of " + length + ", expected at most " + most);
            }
        }
    }

    /** Encodes a message of this client, and checks that the server can decode it. */
    static final class Encoder {
        private final ByteArrayOutputStream out = new ByteArrayOutputStream(256);

        /** Returns a frame with its header. */
        static byte[] frame(Map<String, Object> message) throws NotSendable {
            Encoder encoder = new Encoder();
            encoder.number(0, HEADER_BYTES);
            encoder.value(message, 0);
            byte[] frame = encoder.out.toByteArray();
            int length = frame.length - HEADER_BYTES;
            for (int i = 0; i < HEADER_BYTES; i++) {
                frame[i] = (byte) (length >> 8 * (HEADER_BYTES - 1 - i));
            }
            return frame;
        }

        /** Returns the bytes that a value takes on the wire. */
        static int size(Object value) throws NotSendable {
            Encoder encoder = new Encoder();
            encoder.value(value, 2); // in a message, in its notes
            return encoder.out.size();
        }

        private void value(Object value, int containersAround) throws NotSendable {
            if (value == null) {
                number(0xc0, 1);
            } else if (value instanceof Boolean) {
                number((Boolean) value ? 0xc3 : 0xc2, 1);
            } else if (value instanceof Long || value instanceof Integer || value instanceof Short || value instanceof Byte) {
                integer(((Number) value).longValue());
            } else if (value instanceof BigInteger) {
                bigInteger((BigInteger) value);
            } else if (value instanceof Double || value instanceof Float) {
                number(0xcb, 1);
                number(Double.doubleToLongBits(((Number) value).doubleValue()), 8);
            } else if (value instanceof String || value instanceof Character) {
                text(value.toString());
            } else if (value instanceof Map) {
                map((Map<?, ?>) value, containersAround);
            } else if (value instanceof Collection) {
                array(((Collection<?>) value).toArray(), containersAround);
            } else if (value.getClass().isArray()) {
                array(value, containersAround);
            } else {
                throw new NotSendable("a value of the type " + value.getClass().getName());
            }
            // Checked after each value: lists that hold each other would otherwise grow without end.
            if (out.size() > HEADER_BYTES + MAX_CLIENT_FRAME) {
                throw new NotSendable("a frame of more than " + MAX_CLIENT_FRAME + " bytes");
            }
        }

        private void number(long number, int bytes) {
            for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
                out.write((int) (number >> shift));
            }
        }

        private void tagged(int tag, long number, int bytes) {
            out.write(tag);
            number(number, bytes);
        }

        private void integer(long number) {
            if (number >= -32 && number < 128) {
                number(number, 1);
            } else if (number >= 0) {
                int size = number < 1 << 8 ? 0 : number < 1 << 16 ? 1 : number < 1L << 32 ? 2 : 3;
                tagged(0xcc + size, number, 1 << size);
            } else {
                int size = number >= Byte.MIN_VALUE ? 0 : number >= Short.MIN_VALUE ? 1 : number >= Integer.MIN_VALUE ? 2 : 3;
                tagged(0xd0 + size, number, 1 << size);
            }
        }

        private void bigInteger(BigInteger number) throws NotSendable {
            if (number.bitLength() <= 63) {
                integer(number.longValue());
            } else if (number.signum() > 0 && number.bitLength() == 64) {
                tagged(0xcf, number.longValue(), 8);
            } else {
                throw new NotSendable("an integer of more than 64 bits");
            }
        }

        private void text(String text) throws NotSendable {
            byte[] bytes;
            try {
                CharBuffer characters = CharBuffer.wrap(text, 0, Math.min(text.length(), MAX_TEXT_BYTES + 1));
                ByteBuffer encoded = StandardCharsets.UTF_8.newEncoder().encode(characters);
                bytes = Arrays.copyOf(encoded.array(), encoded.limit());
            } catch (CharacterCodingException error) {
                throw new NotSendable("a text that is not valid Unicode");
            }
            if (bytes.length > MAX_TEXT_BYTES) {
                throw new NotSendable("a text of more than " + MAX_TEXT_BYTES + " bytes");
            }
            if (bytes.length < 32) {
                number(0xa0 | bytes.length, 1);
            } else if (bytes.length < 256) {
                tagged(0xd9, bytes.length, 1);
            } else {
                tagged(0xda, bytes.length, 2);
            }
            out.write(bytes, 0, bytes.length);
        }

        private void array(Object array, int containersAround) throws NotSendable {
            int length = Array.getLength(array);
            header(0x90, 0xdc, length, MAX_ARRAY, "an array", containersAround);
            for (int i = 0; i < length; i++) {
                value(Array.get(array, i), containersAround + 1);
            }
        }

        private void map(Map<?, ?> map, int containersAround) throws NotSendable {
            header(0x80, 0xde, map.size(), MAX_MAP, "a map", containersAround);
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                if (!(entry.getKey() instanceof String)) {
                    throw new NotSendable("a map with a key that is no text");
                }
                text((String) entry.getKey());
                value(entry.getValue(), containersAround + 1);
            }
        }

        private void header(int small, int tag, int length, int most, String what, int containersAround)
                throws NotSendable {
            if (containersAround >= MAX_DEPTH) {
                throw new NotSendable("more than " + MAX_DEPTH + " containers inside each other");
            }
            if (length > most) {
                throw new NotSendable(what + " of " + length + " elements, expected at most " + most);
            }
            if (length < 16) {
                number(small | length, 1);
            } else {
                tagged(tag, length, 2);
            }
        }
    }

    /** Splits a stream of bytes into the bodies of frames. */
    static final class FrameReader {
        private byte[] buffer = new byte[HEADER_BYTES + MAX_SERVER_FRAME];
        private int start;
        private int end;

        /** Adds received bytes. */
        void feed(byte[] data, int length) {
            if (buffer.length - end < length) {
                byte[] target = end - start + length <= buffer.length ? buffer : new byte[end - start + length];
                System.arraycopy(buffer, start, target, 0, end - start);
                buffer = target;
                end -= start;
                start = 0;
            }
            System.arraycopy(data, 0, buffer, end, length);
            end += length;
        }

        /** Returns true if a part of a frame is left, once all bodies are taken out. */
        boolean partial() {
            return end > start;
        }

        /** Returns the next complete body, or null if more bytes are needed. */
        byte[] nextBody() throws ProtocolError {
            if (end - start < HEADER_BYTES) {
                return null;
            }
            long length = ByteBuffer.wrap(buffer, start, HEADER_BYTES).getInt() & 0xffffffffL;
            if (length == 0) {
                throw new ProtocolError("empty_frame", "a frame of 0 bytes, expected at least 1");
            }
            if (length > MAX_SERVER_FRAME) {
                throw new ProtocolError(
                        "oversize_frame", "a frame of " + length + " bytes, expected at most " + MAX_SERVER_FRAME);
            }
            int until = start + HEADER_BYTES + (int) length;
            if (until > end) {
                return null;
            }
            byte[] body = Arrays.copyOfRange(buffer, start + HEADER_BYTES, until);
            start = until;
            return body;
        }
    }

    // --- messages (protocol.md, "Messages") ----------------------------------------------------------------------

    /** A message from the server. Only the fields of its type have values. */
    static final class Message {
        final String type;
        List<Long> versions;
        String nonce;
        String contest;
        String server;
        String name;
        String proof;
        Fence fence;
        String fenceProof;
        String game;
        String opponent;
        String timeKind;
        String result;
        String reason;
        String detail;
        int team;
        int match;
        int id;
        int moveNumber;
        int timeMs;
        int timeLeftMs;
        int lagMs;
        Integer incrementMs;
        Integer retryMs;
        boolean friendly;
        boolean dialled;
        boolean isBlack;
        boolean resumed;
        int[][] board;
        Object lastMove;
        List<Object> scores;
        List<Object> opening = Collections.emptyList();
        Map<String, Integer> options;

        private Message(String type) {
            this.type = type;
        }

        /** Returns the message in a map. */
        static Message of(Map<String, Object> map) throws ProtocolError {
            Object type = map.get("type");
            Message message = new Message(type instanceof String ? (String) type : "");
            Fields fields = new Fields(map);
            switch (message.type) {
                case "hello":
                    message.readHello(fields);
                    break;
                case "welcome":
                    message.readWelcome(fields);
                    break;
                case "start":
                    message.readStart(fields);
                    break;
                case "get_step":
                    message.readGetStep(fields);
                    break;
                case "penalty":
                    message.id = fields.integer("id", 1, MAX_ID);
                    message.readReason(fields);
                    break;
                case "end":
                    message.readEnd(fields);
                    break;
                case "notice":
                    message.reason = fields.text("kind", MAX_NAME);
                    message.match = fields.required("match") == null ? 0 : fields.integer("match", 1, MAX_ID);
                    message.detail = fields.text("text", MAX_TEXT);
                    break;
                case "goodbye":
                    message.readReason(fields);
                    message.retryMs = fields.optionalInteger("retry_ms", true);
                    break;
                default:
                    throw new ProtocolError("unknown_type", "type is " + Text.shown(type));
            }
            return message;
        }

        private void readHello(Fields fields) throws ProtocolError {
            versions = new ArrayList<>();
            for (Object version : fields.array("versions")) {
                if (!(version instanceof Long) || (Long) version < 1 || (Long) version > MAX_ID) {
                    throw Fields.wrong("versions", version, "whole numbers from 1");
                }
                versions.add((Long) version);
            }
            nonce = fields.hex("nonce", NONCE_DIGITS);
            dialled = fields.optionalBool("dialled");
            contest = fields.text("contest", MAX_NAME);
            server = fields.text("server", MAX_NAME);
            friendly = fields.optionalBool("friendly");
        }

        private void readWelcome(Fields fields) throws ProtocolError {
            team = fields.integer("team", 0, MAX_ID);
            name = fields.text("name", MAX_NAME);
            lagMs = fields.integer("lag_ms", 0, MAX_MS);
            for (Object game : fields.array("games")) {
                new Message("game").readGame(new Fields(Fields.map("games", game)));
            }
            proof = fields.isNil("proof") ? null : fields.hex("proof", MAC_DIGITS);
            int number = fields.isNil("fence") ? 0 : fields.integer("fence", 1, MAX_ID);
            boolean bare = fields.isNil("fence_certificate");
            fence = new Fence(number, bare ? "" : fields.hex("fence_certificate", MAC_DIGITS));
            fenceProof = fields.isNil("fence_proof") ? null : fields.hex("fence_proof", MAC_DIGITS);
        }

        private void readGame(Fields fields) throws ProtocolError {
            game = fields.text("game", MAX_NAME);
            options = fields.options();
            timeKind = fields.oneOf("time_kind", "move", "budget");
            timeMs = fields.integer("time_ms", 1, MAX_MS);
            incrementMs = fields.optionalInteger("increment_ms", false);
        }

        private void readStart(Fields fields) throws ProtocolError {
            match = fields.integer("match", 1, MAX_ID);
            readGame(fields);
            isBlack = fields.bool("is_black");
            opponent = fields.text("opponent", MAX_NAME);
            lagMs = fields.integer("lag_ms", 0, MAX_MS);
            resumed = fields.bool("resumed");
            friendly = fields.optionalBool("friendly");
            if (!fields.isNil("opening")) {
                opening = fields.array("opening");
                if (opening.isEmpty() || opening.size() > MAX_OPENING) {
                    throw Fields.wrong("opening", opening, "1 to " + MAX_OPENING + " moves");
                }
            }
        }

        private void readGetStep(Fields fields) throws ProtocolError {
            id = fields.integer("id", 1, MAX_ID);
            moveNumber = fields.integer("move_number", 1, MAX_ID);
            board = fields.board();
            isBlack = fields.bool("is_black");
            timeLeftMs = fields.integer("time_left_ms", 0, MAX_MS);
            lastMove = fields.required("last_move");
        }

        private void readEnd(Fields fields) throws ProtocolError {
            match = fields.integer("match", 1, MAX_ID);
            result = fields.oneOf("result", "win", "draw", "loss", "void");
            readReason(fields);
            if (fields.required("scores") != null) {
                scores = fields.array("scores");
                if (scores.size() != 2) {
                    throw Fields.wrong("scores", scores, "one for each player");
                }
            }
        }

        private void readReason(Fields fields) throws ProtocolError {
            reason = fields.text("reason", MAX_NAME);
            detail = fields.text("detail", MAX_TEXT);
        }

        /** Returns true if this question repeats another one; only the time left may differ. */
        boolean repeats(Message ask) {
            return id == ask.id && moveNumber == ask.moveNumber && isBlack == ask.isBlack
                    && Arrays.deepEquals(board, ask.board) && Objects.equals(lastMove, ask.lastMove);
        }
    }

    /** The keys of a map, checked one by one. */
    private static final class Fields {
        private final Map<String, Object> map;

        Fields(Map<String, Object> map) {
            this.map = map;
        }

        static ProtocolError wrong(String name, Object value, String expected) {
            return new ProtocolError("bad_field", name + " is " + Text.shown(value) + ", expected " + expected);
        }

        Object required(String name) throws ProtocolError {
            if (!map.containsKey(name)) {
                throw new ProtocolError("bad_field", name + " is missing");
            }
            return map.get(name);
        }

        boolean isNil(String name) {
            return map.get(name) == null;
        }

        int integer(String name, int lowest, int highest) throws ProtocolError {
            Object value = required(name);
            if (!(value instanceof Long) || (Long) value < lowest || (Long) value > highest) {
                throw wrong(name, value, "a whole number from " + lowest + " to " + highest);
            }
            return ((Long) value).intValue();
        }

        Integer optionalInteger(String name, boolean mustBeThere) throws ProtocolError {
            if (mustBeThere) {
                required(name);
            }
            return isNil(name) ? null : (Integer) integer(name, 0, MAX_MS);
        }

        boolean bool(String name) throws ProtocolError {
            Object value = required(name);
            if (!(value instanceof Boolean)) {
                throw wrong(name, value, "true or false");
            }
            return (Boolean) value;
        }

        boolean optionalBool(String name) throws ProtocolError {
            return !isNil(name) && bool(name);
        }

        String text(String name, int most) throws ProtocolError {
            Object value = required(name);
            if (!(value instanceof String) || ((String) value).codePointCount(0, ((String) value).length()) > most) {
                throw wrong(name, value, "text of at most " + most + " characters");
            }
            return (String) value;
        }

        String hex(String name, int digits) throws ProtocolError {
            Object value = required(name);
            if (!(value instanceof String) || !((String) value).matches("[0-9a-f]{" + digits + "}")) {
                throw wrong(name, value, digits + " lower-case hexadecimal digits");
            }
            return (String) value;
        }

        String oneOf(String name, String... allowed) throws ProtocolError {
            Object value = required(name);
            if (!(value instanceof String) || !Arrays.asList(allowed).contains(value)) {
                throw wrong(name, value, "one of " + String.join(", ", allowed));
            }
            return (String) value;
        }

        List<Object> array(String name) throws ProtocolError {
            return list(name, required(name));
        }

        private static List<Object> list(String name, Object value) throws ProtocolError {
            if (!(value instanceof List)) {
                throw wrong(name, value, "an array");
            }
            @SuppressWarnings("unchecked") // the decoder makes no others
            List<Object> list = (List<Object>) value;
            return list;
        }

        static Map<String, Object> map(String name, Object value) throws ProtocolError {
            if (!(value instanceof Map)) {
                throw wrong(name, value, "a map");
            }
            @SuppressWarnings("unchecked") // the decoder makes no others
            Map<String, Object> map = (Map<String, Object>) value;
            return map;
        }

        Map<String, Integer> options() throws ProtocolError {
            Map<String, Integer> options = new LinkedHashMap<>();
            Fields fields = new Fields(map("options", required("options")));
            for (String name : fields.map.keySet()) {
                options.put(name, fields.integer(name, -MAX_ID, MAX_ID));
            }
            return options;
        }

        int[][] board() throws ProtocolError {
            List<Object> rows = array("board");
            int[][] board = new int[rows.size()][];
            for (int i = 0; i < board.length; i++) {
                List<Object> row = list("board", rows.get(i));
                board[i] = new int[row.size()];
                for (int j = 0; j < board[i].length; j++) {
                    Object cell = row.get(j);
                    if (!(cell instanceof Long) || (Long) cell != (int) (long) (Long) cell) {
                        throw wrong("board", cell, "whole numbers");
                    }
                    board[i][j] = (int) (long) (Long) cell;
                }
            }
            return board;
        }
    }

    // --- the conversation (protocol.md, "The conversation") ------------------------------------------------------

    /** The state of the conversation. */
    enum State {
        /** Connected; the server sends hello. */
        GREETING,
        /** The client sends join. */
        LOGIN,
        /** Join is sent; the server sends welcome or goodbye. */
        DECIDING,
        /** Logged in, no match. */
        LOBBY,
        /** In a match, no open question. */
        MATCH,
        /** In a match, with an open question. */
        TURN,
        /** After goodbye. */
        CLOSED
    }

    /** The client's end of a conversation, without a socket: it turns bytes into messages. */
    static final class Conversation {
        private final FrameReader reader = new FrameReader();
        State state = State.GREETING;

        void feed(byte[] data, int length) {
            if (state != State.CLOSED) {
                reader.feed(data, length);
            }
        }

        /** Returns the next message, or null if more bytes are needed. */
        Message next() throws ProtocolError {
            byte[] body = state == State.CLOSED ? null : reader.nextBody();
            if (body == null) {
                return null;
            }
            Map<String, Object> map = Decoder.decode(body);
            State following = following(map.get("type"));
            Message message = Message.of(map);
            if (following == null) {
                throw new ProtocolError("out_of_order", message.type + " in state " + state);
            }
            state = following;
            return message;
        }

        /** Returns what is wrong with the end of the stream here, or null. */
        ProtocolError atEnd() {
            return state != State.CLOSED && reader.partial()
                    ? new ProtocolError("truncated_frame", "the connection closed inside a frame")
                    : null;
        }

        private State following(Object type) {
            if ("goodbye".equals(type)) {
                return State.CLOSED;
            }
            boolean welcomed = state == State.LOBBY || state == State.MATCH || state == State.TURN;
            if ("notice".equals(type) && welcomed) {
                return state;
            }
            switch (state) {
                case GREETING:
                    return "hello".equals(type) ? State.LOGIN : null;
                case DECIDING:
                    return "welcome".equals(type) ? State.LOBBY : null;
                case LOBBY:
                    return "start".equals(type) ? State.MATCH : null;
                case MATCH:
                    return "get_step".equals(type) ? State.TURN : closing(type);
                case TURN:
                    return closing(type);
                default:
                    return null;
            }
        }

        private static State closing(Object type) {
            return "penalty".equals(type) ? State.MATCH : "end".equals(type) ? State.LOBBY : null;
        }
    }

    // --- the login (protocol.md, "Logging in") -------------------------------------------------------------------

    /** The fencing number that a server has proved, and the certificate with it; 0 if no computer has taken over. */
    static final class Fence {
        static final Fence NONE = new Fence(0, "");

        final int number;
        final String certificate;

        Fence(int number, String certificate) {
            this.number = number;
            this.certificate = certificate;
        }
    }

    /** Signatures and tokens. */
    static final class Auth {
        private static final String PROOF = "getstep server proof v1:";
        private static final String LOGIN_AT = "getstep login v2:";
        private static final String PROOF_AT = "getstep server proof v2:";
        private static final String FENCE = "getstep fence v1:";
        private static final String LETTERS = "abcdefghjkmnpqrstuvwxyz23456789";
        private static final SecureRandom RANDOM = new SecureRandom();

        private Auth() {}

        static String newNonce() {
            byte[] bytes = new byte[NONCE_DIGITS / 2];
            RANDOM.nextBytes(bytes);
            return hex(bytes);
        }

        /** Returns the client's signature; {@code dialled} is null if {@code join} has no address. */
        static String sign(String token, String nonce, String dialled) {
            return hmac(token, dialled == null ? nonce : LOGIN_AT + nonce + dialled);
        }

        static boolean isProof(String token, String serverNonce, String clientNonce, String dialled, String proof) {
            String nonces = serverNonce + clientNonce;
            return isEqual(hmac(token, dialled == null ? PROOF + nonces : PROOF_AT + nonces + dialled), proof);
        }

        static boolean isFenceProof(String token, String serverNonce, String clientNonce, Fence fence, String proof) {
            return isEqual(hmac(token, FENCE + serverNonce + clientNonce + fence.number + ":" + fence.certificate), proof);
        }

        private static boolean isEqual(String right, String proof) {
            byte[] wanted = right.getBytes(StandardCharsets.US_ASCII);
            return MessageDigest.isEqual(wanted, proof.getBytes(StandardCharsets.UTF_8)); // in constant time
        }

        /** Returns a token that a server has made in the form on paper; a token of another kind unchanged. */
        static String canonical(String token) {
            String letters = token.replaceAll("[-\\s]", "").toLowerCase(Locale.ROOT);
            return letters.matches("[" + LETTERS + "]{12}")
                    ? letters.substring(0, 4) + "-" + letters.substring(4, 8) + "-" + letters.substring(8)
                    : token;
        }

        private static String hmac(String token, String text) {
            try {
                Mac mac = Mac.getInstance("HmacSHA256"); // every Java has it
                mac.init(new SecretKeySpec(token.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
                return hex(mac.doFinal(text.getBytes(StandardCharsets.UTF_8)));
            } catch (GeneralSecurityException error) {
                throw new IllegalStateException(error);
            }
        }

        private static String hex(byte[] bytes) {
            StringBuilder digits = new StringBuilder();
            for (byte b : bytes) {
                digits.append(Character.forDigit(b >> 4 & 15, 16)).append(Character.forDigit(b & 15, 16));
            }
            return digits.toString();
        }
    }

    // --- text for people -----------------------------------------------------------------------------------------

    /** Text that any terminal can show, whatever the server sent. */
    static final class Text {
        private static final int MOST_SHOWN = 200;
        private static final int MOST_LINES = 30;
        private static final int MOST_TRACED = 4000;

        private Text() {}

        /** Returns text with control, bidi and other invisible characters escaped. */
        static String escape(String text) {
            StringBuilder shown = new StringBuilder(text.length());
            text.codePoints().forEach(c -> {
                if (isPrintable(c)) {
                    shown.appendCodePoint(c);
                } else {
                    shown.append(escaped(c));
                }
            });
            return shown.toString();
        }

        static boolean isPrintable(String text) {
            return text.codePoints().allMatch(Text::isPrintable);
        }

        private static boolean isPrintable(int c) {
            switch (Character.getType(c)) {
                case Character.CONTROL:
                case Character.FORMAT:
                case Character.SURROGATE:
                case Character.PRIVATE_USE:
                case Character.UNASSIGNED:
                case Character.LINE_SEPARATOR:
                case Character.PARAGRAPH_SEPARATOR:
                    return false;
                case Character.SPACE_SEPARATOR:
                    return c == ' ';
                default:
                    return true;
            }
        }

        static String escaped(int c) {
            int known = "\n\r\t".indexOf(c);
            if (known >= 0) {
                return "\\" + "nrt".charAt(known);
            }
            return String.format(c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
        }

        /** Returns a value on one line, shortened. */
        static String shown(Object value) {
            StringBuilder text = new StringBuilder();
            show(value, text, 4);
            String line = escape(text.toString());
            return line.length() <= MOST_SHOWN ? line : line.substring(0, MOST_SHOWN) + "...";
        }

        private static void show(Object value, StringBuilder text, int depth) {
            if (text.length() > MOST_SHOWN) {
                return;
            }
            if (value instanceof String) {
                String whole = (String) value;
                text.append('"').append(whole, 0, Math.min(whole.length(), MOST_SHOWN)).append('"');
            } else if (value instanceof Collection || value != null && value.getClass().isArray()) {
                Object items = value instanceof Collection ? ((Collection<?>) value).toArray() : value;
                text.append('[');
                for (int i = 0; i < Array.getLength(items) && text.length() <= MOST_SHOWN; i++) {
                    text.append(i > 0 ? ", " : "");
                    if (depth > 0) {
                        show(Array.get(items, i), text, depth - 1);
                    } else {
                        text.append("...");
                    }
                }
                text.append(']');
            } else if (value instanceof Map) {
                text.append("a map of ").append(((Map<?, ?>) value).size());
            } else {
                text.append(value == null ? "null" : value.toString());
            }
        }

        /** Returns text for a field of a message: valid Unicode of at most MAX_TEXT characters. */
        static String sendable(String text) {
            return sendable(text, MAX_TEXT);
        }

        /** Returns valid Unicode of at most {@code most} characters. */
        static String sendable(String text, int most) {
            StringBuilder valid = new StringBuilder();
            text.codePoints().limit(most).forEach(c ->
                    valid.appendCodePoint(c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE ? '?' : c));
            return valid.toString();
        }

        /** Returns the start of a text: at most so many characters, and bytes of UTF-8. */
        static String cut(String text, int characters, int bytes) {
            if (text.length() <= characters && 3 * text.length() <= bytes) {
                return text;
            }
            int end = 0;
            int bytesLeft = bytes;
            for (int n = 0; n < characters && end < text.length(); n++) {
                int c = text.codePointAt(end);
                bytesLeft -= c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
                if (bytesLeft < 0) {
                    break;
                }
                end += Character.charCount(c);
            }
            return text.substring(0, end);
        }

        /** Returns a time for people: "0.8 ms", "35 ms", "0.35 s", "20 s". */
        static String duration(double ms) {
            if (ms > 0 && ms < 0.1) {
                return "under 0.1 ms";
            }
            if (ms > 0 && ms < 100) {
                return String.format(Locale.ROOT, ms < 10 ? "%.1f ms" : "%.0f ms", ms);
            }
            String seconds = String.format(Locale.ROOT, "%.2f", ms / 1000);
            return seconds.replaceAll("0+$", "").replaceAll("\\.$", "") + " s";
        }

        /** Returns the error without its trace, such as "IllegalStateException: no move left". */
        static String summary(Throwable error) {
            String name = error.getClass().getName();
            String message;
            try {
                message = error.getMessage();
            } catch (Throwable inTheContestantsOwnCode) {
                return name;
            }
            return message == null || message.isEmpty() ? name : name + ": " + message;
        }

        /**
         * Returns the trace of an error of the bot, without the calls of this file and not longer than a screen. What a
         * terminal would obey is escaped: a message may have the opponent's name in it.
         */
        static String trace(Throwable error) {
            StringBuilder text = new StringBuilder();
            Throwable cause = error;
            for (int causes = 0; cause != null && causes < 4; causes++, cause = cause.getCause()) {
                text.append(causes == 0 ? "" : "\nCaused by: ").append(summary(cause));
                int lines = 0;
                for (StackTraceElement call : cause.getStackTrace()) {
                    if (isOurs(call)) {
                        break; // further out is only this file
                    }
                    if (++lines > MOST_LINES) {
                        text.append("\n    ...");
                        break;
                    }
                    text.append("\n    at ").append(call);
                }
            }
            String whole = text.length() <= MOST_TRACED ? text.toString() : text.substring(0, MOST_TRACED) + "...";
            return Arrays.stream(whole.split("\r?\n")).map(Text::escape).collect(Collectors.joining("\n"));
        }

        /** Returns the innermost call of the bot's own code, such as "MyBot.java line 12". */
        static String location(StackTraceElement[] stack) {
            StackTraceElement found = null;
            for (StackTraceElement call : stack) {
                if (isOurs(call)) {
                    break;
                }
                boolean library = call.getModuleName() != null && call.getModuleName().matches("(java|jdk)\\..*");
                if (!library) {
                    found = call;
                    break;
                }
                found = found == null ? call : found;
            }
            return found == null ? "an unknown place" : found.getFileName() + " line " + found.getLineNumber();
        }

        private static boolean isOurs(StackTraceElement call) {
            String name = call.getClassName();
            return name.equals("Getstep") || name.startsWith("Getstep$");
        }

        static String firstLine(String text) {
            return text.strip().split("\\R", 2)[0];
        }
    }

    /** Prints progress to standard output, and problems to standard error. */
    static final class Console {
        boolean quiet;
        private final Charset charset = charset();
        private final PrintStream out = System.out;
        private final PrintStream err = System.err;

        /** Prints a line of progress. */
        void say(String line) {
            if (!quiet) {
                print(out, line);
            }
        }

        /** Prints a problem, also if quiet. */
        void warn(String text) {
            print(err, text);
        }

        private void print(PrintStream stream, String text) {
            byte[] line = encode(text + System.lineSeparator());
            stream.write(line, 0, line.length);
            stream.flush();
        }

        /** Encodes for the terminal; a character that it cannot show is escaped. */
        private byte[] encode(String text) {
            CharsetEncoder encoder = charset.newEncoder();
            StringBuilder shown = new StringBuilder();
            text.codePoints().forEach(c -> {
                String character = new String(Character.toChars(c));
                shown.append(encoder.canEncode(character) ? character : Text.escaped(c));
            });
            return shown.toString().getBytes(charset);
        }

        /** Returns the encoding of the terminal. Java has the property under three names, by its version. */
        static Charset charset() {
            for (String name : new String[] {"stdout.encoding", "sun.stdout.encoding", "native.encoding"}) {
                try {
                    return Charset.forName(System.getProperty(name, ""));
                } catch (IllegalArgumentException missingOrUnknown) {
                    // the next one
                }
            }
            return Charset.defaultCharset();
        }
    }

    /** Stands in for System.out: the first lines that a bot prints in a match are shown, the others are counted. */
    static final class BotOutput extends OutputStream {
        private static final int SHOWN_LINES = 20;
        private static final int MOST_KEPT = 200;

        final PrintStream stream = new PrintStream(this, true);
        private final PrintStream original = System.out;
        private final StringBuilder end = new StringBuilder();
        private int lines;

        @Override
        public void write(int b) {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public synchronized void write(byte[] bytes, int offset, int length) {
            if (lines < SHOWN_LINES) {
                original.write(bytes, offset, length);
            }
            for (int i = offset; i < offset + length; i++) {
                lines += bytes[i] == '\n' ? 1 : 0;
            }
            int kept = Math.min(length, MOST_KEPT);
            end.append(new String(bytes, offset + length - kept, kept, Charset.defaultCharset()));
            end.delete(0, Math.max(0, end.length() - MOST_KEPT));
        }

        @Override
        public void flush() {
            original.flush();
        }

        /** Returns the line about what was not shown since the last call, or null. */
        synchronized String endMatch() {
            int hidden = lines - SHOWN_LINES;
            lines = 0;
            if (hidden <= 0) {
                return null;
            }
            String[] last = end.toString().strip().split("\\R");
            String more = hidden + " more line" + (hidden > 1 ? "s" : "");
            return "getStep printed " + more + "; the last: " + Text.escape(last[last.length - 1]);
        }
    }

    // --- settings ------------------------------------------------------------------------------------------------

    /** The options of the command line, else the GETSTEP_ variables, else the saved login, else defaults. */
    static final class Settings {
        static final int DEFAULT_PORT = 7777;
        static final int FRIENDLY_PORT = 7780;
        private static final String HELP = "usage: java MyBot [options]\n\n"
                + "Play in a getstep contest until it is over. You can start the bot before the contest: it waits for the\n"
                + "server. If the connection is lost, it reconnects. Ctrl-C stops it.\n\n"
                + "options:\n"
                + "  --host HOST         the host's name or address (default: the saved one, else 127.0.0.1)\n"
                + "  --port PORT         the host's port (default 7777)\n"
                + "  --tls               connect with TLS; check the certificate of the host\n"
                + "  --tls-pin PIN       connect with TLS; the certificate has this key: 64 digits on the slip\n"
                + "  --team TEAM         your team's id, a number\n"
                + "  --token TOKEN       your team's token\n"
                + "  --token-file FILE   a text file that holds the token alone\n"
                + "  --friendly          play against people on the live page; --port is then its port for bots\n"
                + "                      (default 7780). These matches count nowhere\n"
                + "  --quiet             print problems only\n"
                + "  --restart-after SECONDS\n"
                + "                      start the program again if getStep has not returned so long after its limit\n"
                + "                      (default 10; 0 for never)\n"
                + "  --help, --version\n\n"
                + "The variables GETSTEP_HOST, GETSTEP_PORT, GETSTEP_TLS, GETSTEP_TEAM, GETSTEP_TOKEN,\n"
                + "GETSTEP_TOKEN_FILE and GETSTEP_RESTART_AFTER work as well, and so does the login that the command getstep login has saved.\n\n"
                + "exit codes: 0 the contest is over, 1 refused, 2 wrong usage, 130 stopped by Ctrl-C";
        private static final String WHERE = "Give it as --%s on the command line, or in the variable %s.\n"
                + "To save host, team and token permanently: getstep login";

        private static final double RESTART_SECONDS = 10; // a computer that is only busy is not so late
        private static final double LONGEST_RESTART_SECONDS = 86_400;

        private final Map<String, String> given = new LinkedHashMap<>();
        private final Map<String, String> environment;
        final String[] arguments;
        /** The text that --help or --version prints; null if the bot is to play. */
        String shows;
        boolean quiet;
        boolean friendly;
        String host;
        int port;
        /** "" without TLS, "roots" to have the certificate checked, or the pin of its key. */
        String tls = "";
        int team;
        String token;
        /** Whether the user has named the host or its port; else the client may look for them on the network. */
        boolean givenHost;
        boolean givenPort;
        /** The contest of the saved login, and its token; null without one that was seen. */
        String contest;
        String knownToken;
        /** Milliseconds after the limit of a question at which a bot that has not returned is given up; 0 for never. */
        long restartAfterMs;

        Settings(String[] args) throws SetupError {
            this(args, System.getenv());
        }

        Settings(String[] args, Map<String, String> environment) throws SetupError {
            this.environment = environment;
            quiet = variable("GETSTEP_QUIET") != null;
            arguments = args;
            List<String> withValue =
                    Arrays.asList("--host", "--port", "--team", "--token", "--token-file", "--restart-after",
                            "--tls-pin");
            for (int i = 0; i < args.length; i++) {
                String[] parts = args[i].split("=", 2);
                if (withValue.contains(parts[0])) {
                    if (parts.length == 1 && i + 1 == args.length) {
                        throw new SetupError(parts[0] + " needs a value; --help lists all");
                    }
                    given.put(parts[0].substring(2), parts.length == 2 ? parts[1] : args[++i]);
                } else {
                    flag(args[i]);
                }
            }
            if (given.containsKey("token") && given.containsKey("token-file")) {
                throw new SetupError("give --token or --token-file, not both");
            }
        }

        private void flag(String flag) throws SetupError {
            switch (flag) {
                case "--tls":
                    given.putIfAbsent("tls-pin", "roots");
                    break;
                case "--friendly":
                    friendly = true;
                    break;
                case "--quiet":
                    quiet = true;
                    break;
                case "--help":
                case "-h":
                    shows = HELP;
                    break;
                case "--version":
                    shows = "getstep Java " + VERSION;
                    break;
                default:
                    throw new SetupError("unknown argument " + Text.shown(flag) + "; --help lists all");
            }
        }

        /** Finds the address, the login and the time after which a bot hangs. */
        void find() throws SetupError {
            findAddress();
            findLogin();
            String text = option("restart-after", "GETSTEP_RESTART_AFTER");
            restartAfterMs = (long) (1000 * (text == null ? RESTART_SECONDS : restartAfter(text)));
        }

        private static double restartAfter(String text) throws SetupError {
            try {
                double seconds = Double.parseDouble(text.strip());
                if (seconds >= 0 && seconds <= LONGEST_RESTART_SECONDS) {
                    return seconds;
                }
            } catch (NumberFormatException notANumber) {
                // told below
            }
            throw new SetupError("The restart-after is " + Text.shown(text)
                    + ", expected a number of seconds from 0 to 86400; 0 is never.");
        }

        private String variable(String name) {
            String value = environment.get(name);
            return value == null || value.isEmpty() ? null : value;
        }

        private String option(String name, String variable) {
            String value = given.get(name);
            return value != null ? value : variable(variable);
        }

        private void findAddress() throws SetupError {
            String named = given.get("host");
            host = named != null && !named.isEmpty() ? named : variable("GETSTEP_HOST");
            port = DEFAULT_PORT;
            givenHost = host != null;
            if (host == null) {
                SavedLogin saved = SavedLogin.load(environment);
                if (saved != null && saved.seen != null) {
                    contest = String.valueOf(saved.seen.get("contest"));
                    knownToken = saved.token;
                }
                host = saved == null ? "127.0.0.1" : saved.host;
                port = saved == null ? DEFAULT_PORT : saved.port; // the saved port belongs to the saved host
                tls = saved == null ? "" : saved.tls;
            }
            boolean oneColon = host.indexOf(':') >= 0 && host.indexOf(':') == host.lastIndexOf(':');
            host = host.strip();
            if (host.contains("/") || oneColon || !Text.isPrintable(host)) {
                throw new SetupError("The host is " + Text.shown(host)
                        + ", expected a name or an address alone, such as 192.168.1.10.\n"
                        + "The port goes into --port or GETSTEP_PORT.");
            }
            // The contest's port in GETSTEP_PORT is not the one for friendly matches.
            String text = friendly ? given.get("port") : option("port", "GETSTEP_PORT");
            givenPort = text != null;
            port = text != null ? number("port", text, 1, 65535) : friendly ? FRIENDLY_PORT : port;
            String way = option("tls-pin", "GETSTEP_TLS");
            // The port for friendly matches speaks no TLS.
            tls = friendly ? "" : way != null ? tls(way) : tls;
        }

        static String tls(String text) throws SetupError {
            String way = text.strip().toLowerCase(Locale.ROOT).replace(":", "");
            if (way.isEmpty() || way.equals("0")) {
                return "";
            }
            if (way.equals("1") || way.equals("roots")) {
                return "roots";
            }
            if (way.matches("[0-9a-f]{64}")) {
                return way;
            }
            throw new SetupError("The TLS setting is " + Text.shown(text)
                    + ", expected roots, or a pin: the 64 hexadecimal digits on the slip from the host.");
        }

        private void findLogin() throws SetupError {
            String text = option("team", "GETSTEP_TEAM");
            SavedLogin saved = text == null || !tokenIsGiven() ? SavedLogin.load(environment) : null;
            if (text == null && saved == null) {
                throw new SetupError("The team id is missing; the host gave your team one, a number such as 7.\n"
                        + String.format(WHERE, "team", "GETSTEP_TEAM"));
            }
            team = text == null ? saved.team : number("team", text, 0, MAX_ID);
            token = findToken();
            if (token == null && saved != null && saved.team == team) {
                token = saved.token;
            }
            if (token == null) {
                throw new SetupError("The token of team " + team + " is missing; it is on the slip from the host.\n"
                        + String.format(WHERE, "token", "GETSTEP_TOKEN"));
            }
        }

        private boolean tokenIsGiven() {
            return given.containsKey("token") || given.containsKey("token-file")
                    || variable("GETSTEP_TOKEN") != null || variable("GETSTEP_TOKEN_FILE") != null;
        }

        private String findToken() throws SetupError {
            if (given.containsKey("token")) {
                return check(given.get("token"), "The token");
            }
            if (given.containsKey("token-file")) {
                return read(given.get("token-file"));
            }
            if (variable("GETSTEP_TOKEN") != null) {
                return check(variable("GETSTEP_TOKEN"), "The token in the variable GETSTEP_TOKEN");
            }
            return variable("GETSTEP_TOKEN_FILE") != null ? read(variable("GETSTEP_TOKEN_FILE")) : null;
        }

        private static int number(String name, String text, int lowest, int highest) throws SetupError {
            try {
                long number = Long.parseLong(text.strip());
                if (number >= lowest && number <= highest) {
                    return (int) number;
                }
            } catch (NumberFormatException notANumber) {
                // told below
            }
            throw new SetupError("The " + name + " is " + Text.shown(text) + ", expected a whole number from " + lowest
                    + " to " + highest + ".");
        }

        private static String check(String token, String what) throws SetupError {
            String text = Auth.canonical(token.strip());
            if (text.isEmpty() || text.matches("(?s).*\\s.*") || !Text.isPrintable(text)) {
                throw new SetupError(
                        what + " should be one word such as kq3m-x7fd-29pt, as it is on the slip from the host.");
            }
            return text;
        }

        /** Returns the one word in a text file, also if a Windows editor or shell has written it. */
        private static String read(String name) throws SetupError {
            try (InputStream file = Files.newInputStream(Paths.get(name))) {
                byte[] data = file.readNBytes(10_000);
                boolean utf16 = data.length > 1
                        && (data[0] == (byte) 0xff && data[1] == (byte) 0xfe || data[0] == (byte) 0xfe && data[1] == (byte) 0xff);
                Charset charset = utf16 ? StandardCharsets.UTF_16 : StandardCharsets.UTF_8;
                String text = charset.newDecoder().onMalformedInput(CodingErrorAction.REPORT)
                        .decode(ByteBuffer.wrap(data)).toString();
                return check(text.startsWith("\ufeff") ? text.substring(1) : text,
                        "The content of the token file " + Text.shown(name));
            } catch (IOException | InvalidPathException error) {
                throw new SetupError("The token file " + Text.shown(name) + " cannot be read: "
                        + Text.escape(Text.summary(error)) + ".\n"
                        + "Put the token from the host's slip into it, alone, as plain text.");
            }
        }
    }

    /** The login that the command "getstep login" has saved, and the latest contact with that host. */
    static final class SavedLogin {
        private static final int MOST_BYTES = 10_000;
        private static final String AGAIN = "Type getstep login again, or getstep logout to remove it.";

        final String host;
        final int port;
        final int team;
        final String token;
        final String tls;
        private final Map<String, Object> seen;

        private SavedLogin(Map<?, ?> data) {
            host = text(data.get("host"));
            token = text(data.get("token"));
            port = integer(data.get("port"), 1, 65535);
            try {
                tls = data.get("tls") == null ? "" : Settings.tls(String.valueOf(data.get("tls")));
            } catch (SetupError wrong) {
                throw new IllegalArgumentException("a value of the wrong kind");
            }
            team = integer(data.get("team"), 0, MAX_ID);
            Object last = data.get("seen");
            Map<String, Object> checked = null;
            if (last != null) {
                checked = new LinkedHashMap<>();
                checked.put("contest", Text.escape(String.valueOf(((Map<?, ?>) last).get("contest"))));
                checked.put("at", ((Number) ((Map<?, ?>) last).get("at")).doubleValue());
                checked.put("over", ((Map<?, ?>) last).get("over"));
            }
            seen = checked;
        }

        private static String text(Object value) {
            if (!(value instanceof String) || ((String) value).isEmpty() || !Text.isPrintable((String) value)) {
                throw new IllegalArgumentException("a value of the wrong kind");
            }
            return (String) value;
        }

        private static int integer(Object value, int lowest, int highest) {
            if (!(value instanceof Long) || (Long) value < lowest || (Long) value > highest) {
                throw new IllegalArgumentException("a value of the wrong kind");
            }
            return ((Long) value).intValue();
        }

        private static Path file(Map<String, String> environment) {
            String named = environment.get("GETSTEP_LOGIN_FILE");
            if (named != null && !named.isEmpty()) {
                return Paths.get(named);
            }
            String system = System.getProperty("os.name", "").toLowerCase(Locale.ROOT);
            Path home = Paths.get(System.getProperty("user.home", "."));
            String variable = environment.get(system.startsWith("windows") ? "APPDATA" : "XDG_CONFIG_HOME");
            boolean isSet = variable != null && !variable.isEmpty();
            Path folder;
            if (system.startsWith("windows")) {
                folder = isSet ? Paths.get(variable) : home.resolve("AppData").resolve("Roaming");
            } else if (system.startsWith("mac")) {
                folder = home.resolve("Library").resolve("Application Support");
            } else {
                folder = isSet ? Paths.get(variable) : home.resolve(".config");
            }
            return folder.resolve("getstep").resolve("login.json");
        }

        /** Returns the saved login, or null if there is none. */
        static SavedLogin load(Map<String, String> environment) throws SetupError {
            Path path = null;
            try {
                path = file(environment);
                try (InputStream stream = Files.newInputStream(path)) {
                    byte[] data = stream.readNBytes(MOST_BYTES); // cut off, and so not JSON, if it is too long
                    return new SavedLogin((Map<?, ?>) Json.parse(new String(data, StandardCharsets.UTF_8)));
                }
            } catch (NoSuchFileException none) {
                return null;
            } catch (IOException | InvalidPathException error) {
                throw new SetupError("The saved login cannot be read: " + Text.summary(error) + ".\n" + AGAIN);
            } catch (IllegalArgumentException | ClassCastException | NullPointerException error) {
                throw new SetupError(path + ": not a saved login.\n" + AGAIN);
            }
        }

        private static SavedLogin savedFor(String host, int port) {
            try {
                SavedLogin saved = load(System.getenv());
                return saved != null && saved.host.equals(host) && saved.port == port ? saved : null;
            } catch (SetupError unreadable) {
                return null;
            }
        }

        /** Keeps what was seen of a host, if it is the saved one. A file that cannot be written stays as it is. */
        static void noteSeen(Settings of, String contest, boolean over) {
            SavedLogin saved = savedFor(of.host, of.port);
            if (saved == null || saved.team != of.team) {
                return;
            }
            String text = String.format(Locale.ROOT,
                    "{\n \"host\": %s,\n \"port\": %d,\n \"team\": %d,\n \"token\": %s,\n \"seen\": {\n"
                            + "  \"contest\": %s,\n  \"at\": %.3f,\n  \"over\": %s\n }\n}",
                    Json.quoted(saved.host), saved.port, saved.team, Json.quoted(saved.token),
                    Json.quoted(contest), System.currentTimeMillis() / 1000.0, over);
            Path temporary = null;
            try {
                Path path = file(System.getenv());
                // createTempFile makes a file that only this user can read.
                temporary = Files.createTempFile(path.toAbsolutePath().getParent(), ".login-", "");
                Files.write(temporary, text.getBytes(StandardCharsets.UTF_8));
                Files.move(temporary, path, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
            } catch (IOException | InvalidPathException | UnsupportedOperationException notWritten) {
                if (temporary != null) {
                    temporary.toFile().delete();
                }
            }
        }

        /** Returns what it means that nothing listens at an address, by what was last seen there. */
        static String absence(String host, int port) {
            SavedLogin saved = savedFor(host, port);
            if (saved == null || saved.seen == null) {
                return "nothing listens there; the server is not running yet, or the port is wrong";
            }
            Instant at = Instant.ofEpochMilli((long) ((Double) saved.seen.get("at") * 1000));
            String when = DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm").withZone(ZoneId.systemDefault()).format(at);
            String contest = "'" + saved.seen.get("contest") + "'";
            if (Boolean.TRUE.equals(saved.seen.get("over"))) {
                return "nothing listens there any more; " + contest + " was over when it was last seen, " + when;
            }
            return "nothing listens there now; " + contest + " was there on " + when
                    + " and was not over. The host has stopped it for now, or has a new address";
        }
    }

    /** JSON, as far as the saved login and the test vectors of the protocol need it. */
    static final class Json {
        private static final int MOST_NESTED = 64;
        private final String text;
        private int at;

        private Json(String text) {
            this.text = text;
        }

        /** Returns a Map, List, String, Long, Double, Boolean or null; throws IllegalArgumentException. */
        static Object parse(String text) {
            Json json = new Json(text);
            Object value = json.value(0);
            json.space();
            if (json.at < text.length()) {
                throw json.bad();
            }
            return value;
        }

        static String quoted(String value) {
            StringBuilder quoted = new StringBuilder("\"");
            for (char c : value.toCharArray()) {
                boolean plain = c >= ' ' && c < 0x7f && c != '"' && c != '\\';
                quoted.append(plain ? String.valueOf(c) : String.format("\\u%04x", (int) c));
            }
            return quoted.append('"').toString();
        }

        private IllegalArgumentException bad() {
            return new IllegalArgumentException("not JSON at " + at);
        }

        private void space() {
            while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
                at++;
            }
        }

        private boolean take(char wanted) {
            space();
            boolean here = at < text.length() && text.charAt(at) == wanted;
            at += here ? 1 : 0;
            return here;
        }

        private void expect(char wanted) {
            if (!take(wanted)) {
                throw bad();
            }
        }

        private Object value(int nested) {
            space();
            if (at >= text.length() || nested > MOST_NESTED) {
                throw bad();
            }
            switch (text.charAt(at)) {
                case '{':
                    return map(nested);
                case '[':
                    return array(nested);
                case '"':
                    return string();
                default:
                    return word();
            }
        }

        private Map<String, Object> map(int nested) {
            Map<String, Object> map = new LinkedHashMap<>();
            expect('{');
            if (take('}')) {
                return map;
            }
            do {
                space();
                String key = string();
                expect(':');
                map.put(key, value(nested + 1));
            } while (take(','));
            expect('}');
            return map;
        }

        private List<Object> array(int nested) {
            List<Object> array = new ArrayList<>();
            expect('[');
            if (take(']')) {
                return array;
            }
            do {
                array.add(value(nested + 1));
            } while (take(','));
            expect(']');
            return array;
        }

        private String string() {
            expect('"');
            StringBuilder string = new StringBuilder();
            while (at < text.length() && text.charAt(at) != '"') {
                char c = text.charAt(at++);
                string.append(c == '\\' ? escape() : c);
            }
            expect('"');
            return string.toString();
        }

        private char escape() {
            if (at >= text.length()) {
                throw bad();
            }
            char c = text.charAt(at++);
            if (c == 'u' && at + 4 <= text.length()) {
                at += 4;
                return (char) Integer.parseInt(text.substring(at - 4, at), 16);
            }
            int known = "\"\\/bfnrt".indexOf(c);
            if (known < 0) {
                throw bad();
            }
            return "\"\\/\b\f\n\r\t".charAt(known);
        }

        private Object word() {
            int from = at;
            while (at < text.length() && ",]} \t\r\n".indexOf(text.charAt(at)) < 0) {
                at++;
            }
            String word = text.substring(from, at);
            switch (word) {
                case "true":
                    return true;
                case "false":
                    return false;
                case "null":
                    return null;
                default:
                    return word.matches("-?[0-9]{1,18}") ? (Object) Long.valueOf(word) : (Object) Double.valueOf(word);
            }
        }
    }

    // --- one connection ------------------------------------------------------------------------------------------

    /** One TCP connection to the server. Only one thread uses it. */
    static final class Connection implements Closeable {
        private static final int CONNECT_MS = 5000; // for each address of the host's name
        private static final int SILENCE_MS = 8000; // after an answer, before the host's computer is tried
        private static final int SEND_MS = 5000; // an answer has some hundred bytes, which fit into every network buffer
        private static final int RECEIVE_BYTES = 65536;
        private static final int MOST_RECEIVES = 16; // at once, so that a flood does not keep the bot from answering

        private final SocketChannel channel;
        private final Selector selector;
        private final SelectionKey key;
        private final Tls tls; // null without TLS
        private final byte[] bytes = new byte[RECEIVE_BYTES];
        private final ByteBuffer incoming = ByteBuffer.wrap(bytes);
        private final ArrayDeque<Message> inbox = new ArrayDeque<>();
        final Conversation conversation = new Conversation();
        /** Why nothing more will arrive: a ConnectionFailed. Thrown when all messages have been taken out. */
        private ConnectionFailed failure;
        private final Thread watch = new Thread(this::watchHost, "getstep host watch");
        private final AtomicLong answered = new AtomicLong(); // the time of the last answer; 0 if something has arrived since
        private volatile boolean gone; // the host's computer

        private Connection(SocketChannel channel, Tls tls, Selector selector) throws IOException {
            this.channel = channel;
            this.tls = tls;
            this.selector = selector;
            this.key = channel.register(selector, SelectionKey.OP_READ);
            watch.setDaemon(true);
            watch.start();
        }

        /**
         * Ends the connection if nothing arrives for a while after an answer, and the host's computer does not answer. An
         * answer that is not acknowledged is repeated for 15 minutes by Linux, without a keep-alive, and Java has no option
         * for that.
         */
        private void watchHost() {
            try {
                while (channel.isOpen()) {
                    long since = answered.get();
                    long left = since == 0 ? SILENCE_MS : SILENCE_MS - (System.nanoTime() - since) / 1_000_000;
                    if (left > 0) {
                        Thread.sleep(left);
                    } else if (hostAnswers() || hostAnswers()) {
                        answered.compareAndSet(since, 0);
                    } else if (answered.get() == since) {
                        gone = true;
                        closeQuietly(channel);
                        selector.wakeup();
                    }
                }
            } catch (InterruptedException closed) {
                // nothing is to be watched any more
            }
        }

        private boolean hostAnswers() throws InterruptedException {
            long until = System.nanoTime() + CONNECT_MS * 1_000_000L;
            try (Socket probe = new Socket()) {
                probe.connect(channel.getRemoteAddress(), CONNECT_MS);
                return true;
            } catch (IOException | RuntimeException error) {
                if (String.valueOf(error.getMessage()).contains("refused")) {
                    return true; // by the computer
                }
                Thread.sleep(Math.max(0, (until - System.nanoTime()) / 1_000_000));
                return false;
            }
        }

        /** Returns the peer's address and port as in {@code join}: without the zone, which only this computer knows. */
        String peer() throws IOException {
            InetSocketAddress peer = (InetSocketAddress) channel.getRemoteAddress();
            String host = peer.getAddress().getHostAddress().replaceFirst("%.*", "");
            return (host.contains(":") ? "[" + host + "]" : host) + ":" + peer.getPort();
        }

        /** Connects to the first of the host's addresses that accepts. */
        static Connection connect(Settings to, Selector selector) throws ConnectionFailed {
            ConnectionFailed failure = new ConnectionFailed("the name has no address");
            for (InetAddress address : resolve(to.host)) {
                SocketChannel channel = null;
                try {
                    channel = SocketChannel.open();
                    channel.configureBlocking(false);
                    open(channel, new InetSocketAddress(address, to.port));
                    setOptions(channel);
                    Tls tls = to.tls.isEmpty() ? null : new Tls(channel, to);
                    if (tls != null) {
                        tls.shakeHands(CONNECT_MS);
                    }
                    return new Connection(channel, tls, selector);
                } catch (IOException | UnresolvedAddressException | SecurityException error) {
                    failure = new ConnectionFailed(explain(error, to));
                    closeQuietly(channel);
                } catch (ConnectionFailed error) {
                    failure = error;
                    closeQuietly(channel);
                }
            }
            throw failure;
        }

        private static InetAddress[] resolve(String host) throws ConnectionFailed {
            try {
                return InetAddress.getAllByName(host);
            } catch (UnknownHostException | SecurityException error) {
                throw new Unresolved("No computer is called " + Text.shown(host) + " in this network.\n"
                        + "Check the spelling, or ask the host for the address in numbers, such as 192.168.1.10.");
            }
        }

        private static void open(SocketChannel channel, InetSocketAddress address) throws IOException, ConnectionFailed {
            if (channel.connect(address)) {
                return;
            }
            try (Selector waiting = Selector.open()) {
                channel.register(waiting, SelectionKey.OP_CONNECT);
                long until = System.nanoTime() + CONNECT_MS * 1_000_000L;
                while (!channel.finishConnect()) {
                    long leftMs = (until - System.nanoTime()) / 1_000_000;
                    if (leftMs <= 0 || Thread.currentThread().isInterrupted()) {
                        throw new ConnectionFailed(
                                "no answer; the address is wrong, or a firewall or another network is between");
                    }
                    waiting.select(leftMs);
                    waiting.selectedKeys().clear();
                }
            }
        }

        /**
         * Sends without delay, and detects a dead peer within 20 s: 5 s + 3 times 5 s. Another computer may have taken over
         * by then.
         */
        private static void setOptions(SocketChannel channel) throws IOException {
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
            for (SocketOption<?> option : channel.supportedOptions()) { // a system without them keeps its intervals
                int seconds = "TCP_KEEPIDLE".equals(option.name()) || "TCP_KEEPINTERVAL".equals(option.name()) ? 5
                        : "TCP_KEEPCOUNT".equals(option.name()) ? 3 : 0;
                if (seconds > 0) {
                    @SuppressWarnings("unchecked") // these three are integers
                    SocketOption<Integer> number = (SocketOption<Integer>) option;
                    channel.setOption(number, seconds);
                }
            }
        }

        /** Returns an error of the network in words for the bot's author. */
        private static String explain(Exception error, Settings to) {
            String message = String.valueOf(error.getMessage());
            if (error instanceof NoRouteToHostException || message.contains("unreachable")) {
                return "no way to that address; is this computer in the host's network?";
            }
            if (message.contains("timed out")) {
                return "no answer; the address is wrong, or a firewall or another network is between";
            }
            if (error instanceof ConnectException && to != null) {
                return Text.escape(SavedLogin.absence(to.host, to.port));
            }
            return Text.escape(error.getMessage() == null ? error.getClass().getSimpleName() : message);
        }

        private static ConnectionFailed broken(ProtocolError error) {
            return new ConnectionFailed(
                    "the server broke the protocol (" + Text.escape(error.getMessage()) + "); please tell the host");
        }

        /** Sends a message. */
        void send(Map<String, Object> message) throws ConnectionFailed {
            if (failure != null) {
                throw failure;
            }
            try {
                ByteBuffer frame = ByteBuffer.wrap(Encoder.frame(message));
                if (tls == null) {
                    write(channel, frame);
                } else {
                    tls.write(frame);
                }
            } catch (NotSendable error) { // moves were checked before
                throw new IllegalStateException(error);
            } catch (IOException error) {
                failure = lost(error);
                throw failure;
            }
        }

        /** Sends an answer, and tries the host's computer if nothing arrives for a while. */
        void answer(Map<String, Object> message) throws ConnectionFailed {
            answered.set(System.nanoTime() | 1);
            send(message);
        }

        private ConnectionFailed lost(IOException error) {
            return new ConnectionFailed(gone ? "the host's computer does not answer" : explain(error, null));
        }

        static void write(SocketChannel channel, ByteBuffer frame) throws IOException {
            long until = System.nanoTime() + SEND_MS * 1_000_000L;
            channel.write(frame);
            while (frame.hasRemaining()) { // the server reads nothing
                if (System.nanoTime() - until > 0) {
                    throw new IOException("the server does not read");
                }
                try (Selector waiting = Selector.open()) {
                    // A channel has one key in each selector; this one waits for room.
                    channel.register(waiting, SelectionKey.OP_WRITE);
                    waiting.select(200);
                }
                channel.write(frame);
            }
        }

        /** Receives what has arrived, without waiting. */
        void receive() {
            for (int i = 0; i < MOST_RECEIVES && failure == null; i++) {
                incoming.clear();
                try {
                    int length = tls == null ? channel.read(incoming) : tls.read(incoming);
                    if (length == 0) {
                        return;
                    }
                    if (length > 0) {
                        answered.set(0);
                        conversation.feed(bytes, length);
                        decode();
                    } else {
                        ProtocolError inside = conversation.atEnd();
                        failure = inside != null ? broken(inside) : new ConnectionFailed("the server closed the connection");
                    }
                } catch (IOException error) {
                    failure = lost(error);
                } catch (ProtocolError error) {
                    failure = broken(error);
                }
            }
        }

        private void decode() throws ProtocolError {
            for (Message message = conversation.next(); message != null; message = conversation.next()) {
                inbox.add(message);
            }
        }

        /** Returns the next message that has arrived, or null; throws once the connection has ended. */
        Message take() throws ConnectionFailed {
            Message message = inbox.poll();
            if (message == null && failure != null && conversation.state != State.CLOSED) {
                throw failure;
            }
            return message;
        }

        /** Waits for the next message; for the login. Returns null if none came in time. */
        Message await(int ms) throws ConnectionFailed, IOException {
            long until = System.nanoTime() + ms * 1_000_000L;
            while (true) {
                receive();
                Message message = take();
                long left = (until - System.nanoTime()) / 1_000_000;
                if (message != null || left <= 0) {
                    return message;
                }
                selector.select(left);
                selector.selectedKeys().clear();
                if (Thread.currentThread().isInterrupted()) {
                    throw new ConnectionFailed("the bot's main thread was interrupted");
                }
            }
        }

        @Override
        public void close() {
            watch.interrupt();
            key.cancel();
            closeQuietly(channel);
        }

        private static void closeQuietly(SocketChannel channel) {
            try {
                if (channel != null) {
                    channel.close();
                }
            } catch (IOException nothingToSave) {
                // it is closed all the same
            }
        }
    }

    /** TLS over a channel that does not block. A pin stands for the name, the dates and the authority of a certificate. */
    private static final class Tls {
        private final SocketChannel channel;
        private final SSLEngine engine;
        private final ByteBuffer received; // ready to be read from
        private final ByteBuffer sent;
        private ByteBuffer text; // decrypted, ready to be read from

        Tls(SocketChannel channel, Settings to) throws IOException {
            this.channel = channel;
            try {
                SSLContext context = SSLContext.getDefault();
                if (!to.tls.equals("roots")) {
                    context = SSLContext.getInstance("TLS");
                    context.init(null, new TrustManager[] {new Pinned(to.tls)}, null);
                }
                engine = context.createSSLEngine(to.host, to.port);
            } catch (GeneralSecurityException error) {
                throw new IOException("TLS: " + error.getMessage(), error);
            }
            engine.setUseClientMode(true);
            if (to.tls.equals("roots")) {
                SSLParameters parameters = engine.getSSLParameters();
                parameters.setEndpointIdentificationAlgorithm("HTTPS"); // the name is checked only with this
                engine.setSSLParameters(parameters);
            }
            received = ByteBuffer.allocate(2 * engine.getSession().getPacketBufferSize()).limit(0);
            sent = ByteBuffer.allocate(2 * engine.getSession().getPacketBufferSize());
            text = ByteBuffer.allocate(2 * engine.getSession().getApplicationBufferSize()).limit(0);
        }

        void shakeHands(int ms) throws IOException, ConnectionFailed {
            long until = System.nanoTime() + ms * 1_000_000L;
            try {
                engine.beginHandshake();
                while (engine.getHandshakeStatus() != SSLEngineResult.HandshakeStatus.NOT_HANDSHAKING) {
                    long left = (until - System.nanoTime()) / 1_000_000;
                    if (left <= 0 || Thread.currentThread().isInterrupted()) {
                        throw new ConnectionFailed("no TLS handshake within " + ms / 1000 + " s");
                    }
                    if (!step()) {
                        int length = receive();
                        if (length < 0) {
                            throw new ConnectionFailed("the server closed the connection during the TLS handshake");
                        }
                        if (length == 0) {
                            await(left);
                        }
                    }
                }
            } catch (SSLException error) {
                answerWithAlert();
                throw new ConnectionFailed(explain(error));
            }
        }

        /** Tells the server why the handshake has failed, so that its host can read it. */
        private void answerWithAlert() {
            try {
                wrap(ByteBuffer.allocate(0));
            } catch (IOException | RuntimeException alreadyClosed) {
                // it is not needed
            }
        }

        private void await(long ms) throws IOException {
            try (Selector waiting = Selector.open()) {
                channel.register(waiting, SelectionKey.OP_READ);
                waiting.select(ms);
            }
        }

        private static String explain(SSLException error) {
            Throwable cause = error;
            while (cause.getCause() != null && cause.getCause() != cause) {
                cause = cause.getCause();
            }
            if (cause instanceof WrongPin) {
                return cause.getMessage();
            }
            String said = String.valueOf(cause.getMessage());
            if (cause instanceof GeneralSecurityException) {
                return "the certificate of the host is not to be trusted: " + Text.escape(said)
                        + ". If the slip from the host has a pin, give it with --tls-pin";
            }
            return said.toLowerCase(Locale.ROOT).contains("unrecognized ssl message")
                    ? "what answers there does not speak TLS; without --tls, the bot connects without it"
                    : "TLS: " + Text.escape(said);
        }

        /** Goes on with a handshake. Returns false if more bytes have to arrive first. */
        private boolean step() throws IOException {
            switch (engine.getHandshakeStatus()) {
                case NEED_TASK:
                    for (Runnable task = engine.getDelegatedTask(); task != null; task = engine.getDelegatedTask()) {
                        task.run();
                    }
                    return true;
                case NEED_WRAP:
                    wrap(ByteBuffer.allocate(0));
                    return true;
                case NEED_UNWRAP:
                    return unwrap() != SSLEngineResult.Status.BUFFER_UNDERFLOW;
                default:
                    return true;
            }
        }

        private void wrap(ByteBuffer plain) throws IOException {
            sent.clear();
            engine.wrap(plain, sent);
            sent.flip();
            Connection.write(channel, sent);
        }

        private SSLEngineResult.Status unwrap() throws IOException {
            text.compact();
            try {
                return engine.unwrap(received, text).getStatus();
            } finally {
                text.flip();
            }
        }

        private int receive() throws IOException {
            received.compact();
            try {
                return channel.read(received);
            } finally {
                received.flip();
            }
        }

        /** Reads as a channel does: returns 0 if no complete record has arrived, -1 at the end. */
        int read(ByteBuffer into) throws IOException {
            int start = into.position();
            while (true) { // all that has arrived: the selector does not know what is decrypted already
                int length = Math.min(text.remaining(), into.remaining());
                into.put(text.array(), text.arrayOffset() + text.position(), length);
                text.position(text.position() + length);
                if (!into.hasRemaining()) {
                    return into.position() - start;
                }
                SSLEngineResult.Status status = unwrap();
                int arrived = 1;
                if (status == SSLEngineResult.Status.CLOSED) {
                    arrived = -1;
                } else if (status == SSLEngineResult.Status.BUFFER_UNDERFLOW) {
                    arrived = receive();
                } else if (engine.getHandshakeStatus() != SSLEngineResult.HandshakeStatus.NOT_HANDSHAKING) {
                    step(); // the server has asked for new keys
                }
                if (arrived <= 0) {
                    return into.position() > start ? into.position() - start : arrived;
                }
            }
        }

        void write(ByteBuffer plain) throws IOException {
            while (plain.hasRemaining()) {
                wrap(plain);
            }
        }
    }

    /** The certificate of the server has another key than the pinned one. */
    private static final class WrongPin extends CertificateException {
        private static final long serialVersionUID = 1;

        WrongPin(String found) {
            super("the server's certificate has another key than the pin says, so it is not your host, or the host has a"
                    + " new key (pin " + found + ")");
        }
    }

    /** Trusts the certificate with one key, and no other. */
    private static final class Pinned extends X509ExtendedTrustManager {
        private final String pin;

        Pinned(String pin) {
            this.pin = pin;
        }

        private void check(X509Certificate[] chain) throws CertificateException {
            byte[] digest;
            try {
                digest = MessageDigest.getInstance("SHA-256").digest(chain[0].getPublicKey().getEncoded());
            } catch (NoSuchAlgorithmException error) {
                throw new CertificateException(error);
            }
            StringBuilder found = new StringBuilder();
            for (byte one : digest) {
                found.append(String.format("%02x", one));
            }
            if (!found.toString().equals(pin)) {
                throw new WrongPin(found.toString());
            }
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
            check(chain);
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) throws CertificateException {
            check(chain);
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine)
                throws CertificateException {
            check(chain);
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
            throw new CertificateException("this is a client");
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) throws CertificateException {
            throw new CertificateException("this is a client");
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine)
                throws CertificateException {
            throw new CertificateException("this is a client");
        }

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
        }
    }

    // --- calling the bot -----------------------------------------------------------------------------------------

    /** A question from the server, and the bot's result. */
    private static final class Question {
        final Match match;
        final Message ask;
        /** The connection on which the question was asked last; an answer belongs to it. */
        Connection askedOn;
        Call call;
        boolean started;
        boolean answered;
        /** When the call began, in the time of System.nanoTime, and the warnings that were printed about it. */
        long startedAt;
        int warnings;

        Question(Match match, Message ask, Connection askedOn) {
            this.match = match;
            this.ask = ask;
            this.askedOn = askedOn;
        }
    }

    /** The result of one call of the bot: a move that can be sent, or an error. */
    private static final class Call {
        final Object move;
        final String error;
        final String problem; // for the bot's author, or null
        final double ms;
        boolean resigns; // the bot gives up the match
        Map<String, Object> notes; // of the move, or null

        Call(Object move, String error, String problem, double ms) {
            this.move = move;
            this.error = error;
            this.problem = problem;
            this.ms = ms;
        }

        static Call resign(String problem) {
            Call call = new Call(null, null, problem, 0);
            call.resigns = true;
            return call;
        }
    }

    /** Calls the bot in a thread of its own, so that the connection is served while it thinks. */
    private static final class Worker implements Runnable {
        /** Room for deep recursion: a thread has 1 MB otherwise. An overflow of 16 MB costs 0.2 s, of 64 MB 1.5 s. */
        private static final long STACK_BYTES = 16L << 20;

        private static final Call OUT_OF_MEMORY =
                new Call(null, "java.lang.OutOfMemoryError", "getStep threw:\njava.lang.OutOfMemoryError", 0);

        private final TurnBot bot;
        private final Selector waiting;
        private Thread thread;
        private Question job; // guarded by this
        private boolean finished; // guarded by this

        Worker(TurnBot bot, Selector waiting) {
            this.bot = bot;
            this.waiting = waiting;
        }

        /** Returns the question that the bot thinks about, or null. */
        synchronized Question current() {
            return job;
        }

        /** Returns the question whose call has returned, once, or null. */
        synchronized Question takeFinished() {
            if (!finished) {
                return null;
            }
            Question done = job;
            job = null;
            finished = false;
            return done;
        }

        /** Calls the bot. No other call may be running. */
        synchronized void start(Question question) {
            question.started = true;
            question.startedAt = System.nanoTime();
            job = question;
            notifyAll();
            if (!begin()) { // the next question tries again
                question.call = OUT_OF_MEMORY;
                finished = true;
            }
        }

        /** Starts the thread, which waits for questions. Returns false if there is no memory for it. */
        synchronized boolean begin() {
            if (thread == null) {
                try {
                    thread = new Thread(null, this, "getStep", STACK_BYTES);
                    thread.setDaemon(true);
                    thread.start();
                } catch (OutOfMemoryError noThread) {
                    thread = null;
                }
            }
            return thread != null;
        }

        /**
         * Gives the hung thread's processor to the program that is started again. Java up to 19 can end a thread; a newer
         * one cannot, and Linux ignores the priority, so an endless loop goes on beside the program there.
         */
        void giveUp() {
            thread.setPriority(Thread.MIN_PRIORITY);
            try {
                Thread.class.getMethod("stop").invoke(thread);
            } catch (ReflectiveOperationException notInThisJava) {
                // it goes on
            }
        }

        StackTraceElement[] stack() {
            Thread running = thread;
            return running == null ? new StackTraceElement[0] : running.getStackTrace();
        }

        @Override
        public void run() {
            while (true) {
                Question question = next();
                Call call = call(question);
                synchronized (this) {
                    question.call = call;
                    finished = true;
                }
                waiting.wakeup();
            }
        }

        private synchronized Question next() {
            while (job == null || finished) {
                try {
                    wait();
                } catch (InterruptedException theBotsOwn) {
                    // a bot that has interrupted its thread is asked again all the same
                }
            }
            return job;
        }

        private Call call(Question question) {
            NOTES.begin(question.ask.board);
            Call call = result(question);
            if (NOTES.end() && call != OUT_OF_MEMORY) {
                try {
                    int bytes = Encoder.frame(answerOf(MAX_ID, call)).length - HEADER_BYTES + 6; // with the key "notes"
                    call.notes = NOTES.take(MAX_CLIENT_FRAME - bytes);
                } catch (NotSendable | OutOfMemoryError error) {
                    // the answer goes without notes
                }
            }
            return call;
        }

        private Call result(Question question) {
            long started = System.nanoTime();
            try {
                Message ask = question.ask;
                int[][] board = new int[ask.board.length][]; // a copy, which the bot may change
                for (int i = 0; i < board.length; i++) {
                    board[i] = ask.board[i].clone();
                }
                Turn turn = new Turn(question.match.start, ask);
                started = System.nanoTime();
                Object move = bot.getStep(board, ask.isBlack, turn);
                return afterReturn(move, question.match.game, msSince(started));
            } catch (NotPlayed why) {
                return Call.resign(why.getMessage());
            } catch (Throwable error) { // also a StackOverflowError and an OutOfMemoryError cost this turn only
                return afterError(error, msSince(started));
            }
        }

        private static double msSince(long started) {
            return (System.nanoTime() - started) / 1e6;
        }

        private static Call afterError(Throwable error, double ms) {
            try {
                String text = Text.sendable(Text.summary(error));
                return new Call(null, text, "getStep threw:\n" + Text.trace(error), ms);
            } catch (Throwable again) { // no memory is left for the text
                return OUT_OF_MEMORY;
            }
        }

        private static Call afterReturn(Object value, String game, double ms) {
            if (value == null) {
                String problem = "getStep returned null. It counts as an illegal move.";
                return new Call(null, null, problem + expected(game), ms);
            }
            Object move = inWireForm(value);
            try {
                Encoder.frame(step(MAX_ID, move));
                return new Call(move, null, null, ms);
            } catch (NotSendable reason) {
                String error = "getStep returned " + Text.shown(value) + ", which cannot be sent: " + reason.getMessage();
                return new Call(null, Text.sendable(error), error + expected(game), ms);
            }
        }

        private static String expected(String game) {
            return "\nExpected for " + game + ": " + Drawing.moveText(game);
        }

        /** Returns a move as the wire has it: of an int[][], one square alone, or a domino with its colour. */
        private static Object inWireForm(Object value) {
            if (!(value instanceof int[][])) {
                return value;
            }
            int[][] move = (int[][]) value;
            if (move.length == 1 && move[0] != null && move[0].length == 2) {
                return move[0].clone();
            }
            if (move.length == 3 && move[0] != null && move[0].length == 1) {
                int colour = move[0][0];
                char letter = colour >= 1 && colour <= 4 ? "RBGY".charAt(colour - 1) : (char) colour;
                return Arrays.asList(String.valueOf(letter), move[1], move[2]);
            }
            return value;
        }
    }

    /** Returns the message that answers a question with the result of its call. */
    private static Map<String, Object> answerOf(int id, Call call) {
        if (call.resigns) {
            return resign(id);
        }
        Map<String, Object> message = call.error != null ? raised(id, call.error) : step(id, call.move);
        if (call.notes != null) {
            message.put("notes", call.notes);
        }
        return message;
    }

    static Map<String, Object> step(int id, Object move) {
        Map<String, Object> message = new LinkedHashMap<>();
        message.put("type", "step");
        message.put("id", id);
        message.put("move", move);
        return message;
    }

    static Map<String, Object> resign(int id) {
        Map<String, Object> message = new LinkedHashMap<>();
        message.put("type", "resign");
        message.put("id", id);
        return message;
    }

    static Map<String, Object> raised(int id, String error) {
        Map<String, Object> message = new LinkedHashMap<>();
        message.put("type", "raised");
        message.put("id", id);
        message.put("error", error);
        return message;
    }

    static Map<String, Object> join(
            int team, String mac, String client, String nonce, String dialled, Fence fence) {
        Map<String, Object> message = new LinkedHashMap<>();
        message.put("type", "join");
        message.put("version", PROTOCOL);
        message.put("team", team);
        message.put("mac", mac);
        message.put("client", client);
        message.put("purpose", "play");
        message.put("nonce", nonce);
        if (dialled != null) {
            message.put("dialled", dialled);
        }
        message.put("notices", true);
        if (fence.number > 0) {
            message.put("fence", fence.number);
            message.put("fence_certificate", fence.certificate);
        }
        return message;
    }

    // --- notes of a move (protocol.md, "Notes of a move") ------------------------------------------------------------

    private static final Notes NOTES = new Notes(new Console()::warn);

    /**
     * Collects what a bot notes while it computes a move, from any thread. What is wrong or too much is dropped, and the
     * author reads so once for each kind of mistake. It never throws.
     */
    static final class Notes {
        private static final Set<String> SHAPES = new LinkedHashSet<>(Arrays.asList("mark", "arrow", "region", "domino"));
        private static final Set<String> COLORS = new LinkedHashSet<>(
                Arrays.asList("black", "white", "blue", "orange", "red", "green", "yellow", "purple", "grey"));

        private final Consumer<String> warn;
        private final Set<String> mistakes = new HashSet<>();
        private final List<Object> drawings = new ArrayList<>();
        private final Set<String> tags = new LinkedHashSet<>();
        private int rows = -1; // of the board of the open question; -1: no move is computed
        private int columns;
        private String said;
        private Double estimate;

        Notes(Consumer<String> warn) {
            this.warn = warn;
        }

        /** Begins a move. */
        synchronized void begin(int[][] board) {
            clear();
            rows = board.length;
            columns = 0;
            for (int[] row : board) {
                columns = Math.max(columns, row.length);
            }
        }

        synchronized void say(String text) {
            if (!open()) {
                return;
            }
            if (text == null) {
                mistake("text", "say takes a text, others are dropped: null");
                return;
            }
            if (text.isEmpty()) {
                return;
            }
            String line = Text.sendable(text, MAX_SAID + 1);
            String all = said == null ? line : said + "\n" + line;
            if (Text.cut(all, MAX_SAID, MAX_TEXT_BYTES).equals(all)) {
                said = all;
            } else {
                mistake("said", "say takes 1,000 characters and 2,000 bytes for a move, longer texts are dropped");
            }
        }

        synchronized void estimate(double value) {
            if (!open()) {
                return;
            }
            if (value >= -1 && value <= 1) {
                estimate = value;
            } else {
                mistake("estimate", "estimate takes a number from -1 (you lose) to 1 (you win), others are dropped: " + value);
            }
        }

        synchronized void draw(Object squares, Object label, String color, String shape) {
            if (!open()) {
                return;
            }
            if (!SHAPES.contains(shape)) {
                mistake("shape", "draw takes the shapes " + String.join(", ", SHAPES) + ", others are dropped: "
                        + Text.shown(shape));
            } else if (color != null && !COLORS.contains(color)) {
                mistake("color", "draw takes the colours " + String.join(", ", COLORS) + ", others are dropped: "
                        + Text.shown(color));
            } else if (label != null && !(label instanceof String) && !(label instanceof Number)) {
                mistake("label", "draw takes a text or a number as a label, others are dropped: " + Text.shown(label));
            } else if (drawings.size() == MAX_DRAWINGS) {
                mistake("drawings", "draw takes " + MAX_DRAWINGS + " drawings for a move, more are dropped");
            } else {
                List<Integer> flat = flat(squares, shape);
                String text = label instanceof Number ? numberText(((Number) label).doubleValue()) : (String) label;
                if (flat != null && text != null && text.codePointCount(0, text.length()) > MAX_LABEL) {
                    mistake("long label", "draw takes a label of " + MAX_LABEL + " characters, others are dropped: "
                            + Text.shown(label));
                } else if (flat != null) {
                    text = text == null || text.isEmpty() ? null : Text.sendable(text);
                    drawings.add(Arrays.asList(shape, flat, text, color));
                }
            }
        }

        synchronized void tag(String word) {
            if (!open()) {
                return;
            }
            if (word == null || word.isEmpty() || word.length() > 2 * MAX_TAG || word.codePointCount(0, word.length()) > MAX_TAG
                    || word.indexOf(' ') >= 0 || !Text.escape(word).equals(word)) {
                mistake("tag", "tag takes a word of 1 to " + MAX_TAG + " characters, others are dropped: " + Text.shown(word));
            } else if (tags.size() < MAX_TAGS || tags.contains(word)) {
                tags.add(word);
            } else {
                mistake("tags", "tag takes " + MAX_TAGS + " words for a move, more are dropped");
            }
        }

        /** Ends the move. Returns true if it has notes. */
        synchronized boolean end() {
            rows = -1;
            return said != null || estimate != null || !drawings.isEmpty() || !tags.isEmpty();
        }

        private void clear() {
            said = null;
            estimate = null;
            drawings.clear();
            tags.clear();
        }

        /** Returns the notes of the move, in at most {@code most} bytes, or null if none of them fit. */
        synchronized Map<String, Object> take(int most) throws NotSendable {
            int room = Math.min(most, NOTES_BYTES);
            int left = room - Encoder.size(map(null, 0)) - (said == null ? 0 : 4 + Encoder.size(said));
            int drawn = 0;
            int bytes = 8; // the key "draw" and the longest header of its array
            for (Object drawing : drawings) {
                bytes += Encoder.size(drawing);
                if (bytes > left) {
                    break;
                }
                drawn++;
            }
            String text = said;
            if (said != null && left < 0) {
                text = Text.cut(said, MAX_SAID, said.getBytes(StandardCharsets.UTF_8).length + left);
                text = text.isEmpty() ? null : text;
                left += text == null ? 4 + Encoder.size(said) : Encoder.size(said) - Encoder.size(text);
            }
            if (drawn < drawings.size() || !Objects.equals(text, said)) {
                mistake("room", "the notes of a move have " + NOTES_BYTES
                        + " bytes, and less beside a long move; what does not fit is dropped");
            }
            Map<String, Object> notes = map(text, drawn);
            return left < 0 || notes.isEmpty() ? null : notes;
        }

        private Map<String, Object> map(String text, int drawn) {
            Map<String, Object> notes = new LinkedHashMap<>();
            if (text != null) {
                notes.put("say", text);
            }
            if (estimate != null) {
                notes.put("estimate", estimate);
            }
            if (drawn > 0) {
                notes.put("draw", new ArrayList<>(drawings.subList(0, drawn)));
            }
            if (!tags.isEmpty()) {
                notes.put("tags", new ArrayList<>(tags));
            }
            return notes;
        }

        /** Returns the squares of a drawing as row, column, row, column, and so on; null if they are wrong. */
        private List<Integer> flat(Object given, String shape) {
            int least = shape.equals("arrow") || shape.equals("domino") ? 2 : 1;
            int most = shape.equals("arrow") ? MAX_ARROW : shape.equals("domino") ? 2 : MAX_SQUARES;
            int[] single = square(given);
            Object[] items = single != null ? new Object[] {single}
                    : given instanceof Object[] ? (Object[]) given
                    : given instanceof List && ((List<?>) given).size() <= most ? ((List<?>) given).toArray() : new Object[0];
            List<Integer> flat = new ArrayList<>();
            for (int i = 0; i < items.length && items.length <= most; i++) {
                int[] square = square(items[i]);
                if (square == null) {
                    flat.clear();
                    break;
                }
                flat.add(square[0]);
                flat.add(square[1]);
            }
            if (flat.size() < 2 * least) {
                mistake(shape, "draw takes {row, column} or several of them, " + (least == most ? "" : least + " to ") + most
                        + " for the shape " + shape + ", others are dropped: " + Text.shown(given));
                return null;
            }
            for (int i = 0; i < flat.size(); i += 2) {
                int row = flat.get(i);
                int column = flat.get(i + 1);
                if (row < 0 || column < 0 || row >= Math.min(rows, MAX_SIDE) || column >= Math.min(columns, MAX_SIDE)) {
                    mistake("board", "draw takes squares of the board, which has " + rows + " rows and " + columns
                            + " columns, others are dropped: " + row + ", " + column);
                    return null;
                }
            }
            return flat;
        }

        /** Returns a square that is given as an int[], or as a list of two integers; else null. */
        private static int[] square(Object given) {
            if (given instanceof int[]) {
                return ((int[]) given).length == 2 ? ((int[]) given).clone() : null;
            }
            if (!(given instanceof List) || ((List<?>) given).size() != 2) {
                return null;
            }
            Object row = ((List<?>) given).get(0);
            Object column = ((List<?>) given).get(1);
            boolean whole = (row instanceof Integer || row instanceof Long) && (column instanceof Integer || column instanceof Long);
            // what is beyond an int is beyond every board
            return whole ? new int[] {clamped(row), clamped(column)} : null;
        }

        private static int clamped(Object number) {
            return (int) Math.max(-1, Math.min(Integer.MAX_VALUE, ((Number) number).longValue()));
        }

        /** Returns a number as "%.3g" of other languages, with fewer digits if it is longer than a label. */
        static String numberText(double number) {
            if (Double.isNaN(number) || Double.isInfinite(number)) {
                return Double.isNaN(number) ? "nan" : number > 0 ? "inf" : "-inf";
            }
            String text = "";
            for (int digits = 3; digits > 0; digits--) {
                BigDecimal rounded = new BigDecimal(number).round(new MathContext(digits, RoundingMode.HALF_EVEN));
                int power = number == 0 ? 0 : rounded.precision() - rounded.scale() - 1;
                BigDecimal shortest = rounded.stripTrailingZeros();
                if (power < -4 || power >= digits) {
                    String mantissa = shortest.movePointLeft(power).toPlainString();
                    text = mantissa + "e" + (power < 0 ? "-" : "+") + (Math.abs(power) < 10 ? "0" : "") + Math.abs(power);
                } else {
                    text = shortest.signum() == 0 ? "0" : shortest.toPlainString();
                }
                if (text.length() <= MAX_LABEL) {
                    break;
                }
            }
            return text;
        }

        private boolean open() {
            if (rows < 0) {
                mistake("outside", "say, estimate, draw and tag belong to a move that is computed; calls before and after are dropped");
            }
            return rows >= 0;
        }

        private void mistake(String kind, String line) {
            if (mistakes.add(kind)) {
                warn.accept("getstep: " + line + ". This is said once.");
            }
        }
    }

    // --- a bot that does not return (protocol.md, "The conversation") --------------------------------------------

    /** getStep has not returned, and the program has to be started again. */
    static final class Hung extends Exception {
        private static final long serialVersionUID = 1;

        final transient Restarted state;

        Hung(Restarted state) {
            super("getStep has not returned");
            this.state = state;
        }
    }

    /** What a program that was started again knows from the one before: its login is in the other variables. */
    static final class Restarted {
        static final String VARIABLE = "GETSTEP_RESTARTED";
        /**
         * An exit code from here on asks the first program to start another: two bits for the server, the others for the
         * hangs. A process has 8 bits in all on most systems, and 255 is that of System.exit(-1).
         */
        private static final int AGAIN = 192;
        private static final int MOST_HANGS = 14;
        private static final double LONGEST_PAUSE = 60; // seconds

        /** Whether a server has proved itself, and at which address it is, since the first start. */
        final boolean proved;
        final boolean located;
        /** How often in a row the program was started again without an answer in between. */
        final int hangs;
        /** The highest fencing number that was proved. An exit code has no room for it: the first program keeps its own. */
        final Fence fence;

        Restarted(boolean proved, boolean located, int hangs, Fence fence) {
            this.fence = fence;
            this.proved = proved;
            this.located = located;
            this.hangs = Math.min(hangs, MOST_HANGS);
        }

        int exitCode() {
            return AGAIN + (proved ? 1 : 0) + (located ? 2 : 0) + 4 * hangs;
        }

        /** Returns the state in an exit code, or null if it is another code. */
        static Restarted of(int exitCode, Fence fence) {
            int bits = exitCode - AGAIN;
            boolean asks = bits >= 0 && bits < 4 * (MOST_HANGS + 1);
            return asks ? new Restarted((bits & 1) != 0, (bits & 2) != 0, bits / 4, fence) : null;
        }

        /** Returns the state in the variable, or null if a user has started this program. */
        static Restarted of(String text) {
            if (text == null || !text.matches("[0-9]{3} [0-9]{1,10} [0-9a-f]*")) {
                return null;
            }
            String[] words = text.split(" ", -1);
            return of(Integer.parseInt(words[0]), new Fence((int) Math.min(Long.parseLong(words[1]), MAX_ID), words[2]));
        }

        @Override
        public String toString() {
            return exitCode() + " " + fence.number + " " + fence.certificate;
        }

        /** Returns the seconds to wait before the first connection: a bot that hangs at once does so again. */
        double pause() {
            return hangs < 2 ? 0 : Math.min(Math.pow(2, hangs - 1), LONGEST_PAUSE);
        }
    }

    /**
     * Starts this program again, and again each time that it asks for it; ends with the exit code of the last one. So
     * there are never more than two processes, however often the bot hangs.
     */
    private static Refused startAgain(Settings settings, Restarted state) {
        ProcessBuilder next = new ProcessBuilder(ownCommand(settings.arguments)).inheritIO();
        Map<String, String> environment = next.environment();
        environment.put("GETSTEP_HOST", settings.host);
        environment.put("GETSTEP_PORT", String.valueOf(settings.port));
        environment.put("GETSTEP_TLS", settings.tls.isEmpty() ? "0" : settings.tls);
        environment.put("GETSTEP_TEAM", String.valueOf(settings.team));
        environment.put("GETSTEP_TOKEN", settings.token);
        Process[] running = new Process[1];
        // Ctrl-C ends both: the terminal tells both programs, and kill tells only this one.
        Thread ending = new Thread(() -> end(running[0]));
        try {
            Runtime.getRuntime().addShutdownHook(ending);
            Restarted before = state;
            while (true) {
                environment.put(Restarted.VARIABLE, before.toString());
                running[0] = next.start();
                int code = running[0].waitFor();
                before = Restarted.of(code, before.fence);
                if (before == null) {
                    Runtime.getRuntime().halt(code); // not exit: it would wait for threads of the bot
                }
            }
        } catch (IOException | InterruptedException | IllegalStateException error) {
            return new Refused("The program could not be started again (" + Text.escape(Text.summary(error))
                    + "); start it yourself, it goes on with its match.");
        }
    }

    private static void end(Process process) {
        if (process == null) {
            return;
        }
        process.destroy();
        try {
            if (!process.waitFor(1, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException endingAnyway) {
            process.destroyForcibly();
        }
    }

    /** Returns the command of this program, without the token: other users can read the arguments of a process. */
    static List<String> ownCommand(String[] arguments) {
        List<String> command = new ArrayList<>();
        ProcessHandle.Info info = ProcessHandle.current().info();
        if (info.command().isPresent() && info.arguments().isPresent()) {
            command.add(info.command().get());
            command.addAll(Arrays.asList(info.arguments().get()));
        } else { // Windows does not tell the arguments of a process
            command.add(info.command().orElse(Paths.get(System.getProperty("java.home"), "bin", "java").toString()));
            command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
            command.add("-cp");
            command.add(System.getProperty("java.class.path"));
            command.addAll(startedClass(System.getProperty("sun.java.command", ""), arguments));
            command.addAll(Arrays.asList(arguments));
        }
        for (int i = command.size() - 1; i >= 0; i--) {
            if (command.get(i).equals("--token") && i + 1 < command.size()) {
                command.remove(i + 1);
            }
            if (command.get(i).equals("--token") || command.get(i).startsWith("--token=")) {
                command.remove(i);
            }
        }
        return command;
    }

    /** Returns what java was told to start, from the text of the whole command: a class, a jar, or a source file. */
    private static List<String> startedClass(String command, String[] arguments) {
        String tail = arguments.length == 0 ? "" : " " + String.join(" ", arguments);
        String started = command.endsWith(tail) ? command.substring(0, command.length() - tail.length()) : command;
        String launcher = "jdk.compiler/com.sun.tools.javac.launcher.";
        if (started.startsWith(launcher)) {
            return Arrays.asList(started.substring(started.indexOf(' ') + 1));
        }
        return started.endsWith(".jar") ? Arrays.asList("-jar", started) : Arrays.asList(started);
    }

    /** Returns true if a debugger may have stopped the bot. */
    private static boolean isDebugged() {
        return ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .anyMatch(argument -> argument.startsWith("-agentlib:jdwp") || argument.startsWith("-Xrunjdwp"));
    }

    // --- one match -----------------------------------------------------------------------------------------------

    /** A match in progress, and the lines printed about it. */
    private static final class Match {
        private static final int STALLED_MISSES = 3; // protocol.md, "Playing"
        private static final int BOARDS_DRAWN = 3; // a bot may make a fault in every turn, and its author needs few

        final int number;
        final String game;
        final String opponent;
        final Message start;
        int moves;
        double longestMs;
        double totalMs;
        private int boardsLeft = BOARDS_DRAWN;

        Match(Message start) {
            this.start = start;
            number = start.match;
            game = Text.escape(start.game);
            opponent = Text.escape(start.opponent);
        }

        String startText() {
            String colour = start.isBlack ? "the first player (isBlack is true)" : "the second player (isBlack is false)";
            String name = (start.friendly ? "Friendly match " : "Match ") + number + (start.resumed ? " continues" : "");
            String line = name + ": " + game + optionsText() + " against " + opponent + ", you are " + colour + "; "
                    + limitText() + ", plus " + Text.duration(start.lagMs) + " for network delay";
            return start.friendly ? line + ". It counts nowhere" : line;
        }

        private String optionsText() {
            List<String> listed = new ArrayList<>();
            start.options.forEach((name, value) -> listed.add(Text.escape(name) + " " + value));
            return listed.isEmpty() ? "" : " (" + String.join(", ", listed) + ")";
        }

        private String limitText() {
            if (start.timeKind.equals("move")) {
                return Text.duration(start.timeMs) + " a move";
            }
            boolean grows = start.incrementMs != null && start.incrementMs > 0;
            String added = grows ? " and " + Text.duration(start.incrementMs) + " more after each answer" : "";
            return Text.duration(start.timeMs) + " for all your moves together" + added;
        }

        /** Returns milliseconds after the question when its limit is over. */
        long limitMs(Message ask) {
            return (long) ask.timeLeftMs + start.lagMs;
        }

        /** Returns milliseconds after the question when the server begins to skip turns; -1 if it never does. */
        long stalledMs(Message ask) {
            if (!start.timeKind.equals("move")) {
                return -1; // the first missed limit takes the whole budget
            }
            return limitMs(ask) + (STALLED_MISSES - 1) * ((long) start.timeMs + start.lagMs);
        }

        void addTime(double ms) {
            longestMs = Math.max(longestMs, ms);
            totalMs += ms;
        }

        String place(Message ask) {
            return "Match " + number + ", move " + ask.moveNumber;
        }

        /** Returns how late an answer was. An estimate: the server's clock also counts the time of the network. */
        String latenessText(Message ask, double ms) {
            String took = place(ask) + ": getStep took " + Text.duration(ms);
            double over = ms - ask.timeLeftMs;
            if (over <= 0) {
                return took + " of " + Text.duration(ask.timeLeftMs);
            }
            return took + ", " + Text.duration(over) + " over the limit of " + Text.duration(ask.timeLeftMs);
        }

        String penaltyText(Message penalty, Question question) {
            String which = question == null ? "question " + penalty.id : "move " + question.ask.moveNumber;
            String line = "Match " + number + ", " + which + ": penalty for "
                    + Text.escape(penalty.reason + ": " + penalty.detail);
            if (question == null || question.call == null) {
                return line;
            }
            boolean illegal = penalty.reason.equals("illegal_move");
            line += illegal ? " (you returned " + Text.shown(question.call.move) + ")" : "";
            boolean drawn = illegal || penalty.reason.equals("raised") || penalty.reason.equals("malformed_answer");
            return drawn && boardsLeft-- > 0 ? line + Drawing.text(game, question.ask.board, question.call.move) : line;
        }

        static String endText(Result result) {
            String outcome = result.result.equals("win") ? "won" : result.result.equals("loss") ? "lost"
                    : result.result.equals("draw") ? "a draw" : "void";
            String line = "Match " + result.match + ": " + outcome + " (" + result.reason + "): "
                    + result.detail.replaceAll("\\.+$", "") + ".";
            if (result.scores != null) {
                line += " Score: you " + Text.shown(result.scores.get(result.isBlack ? 0 : 1)) + ", they "
                        + Text.shown(result.scores.get(result.isBlack ? 1 : 0)) + ".";
            }
            return line + " Your moves: " + result.moves + ", longest " + Text.duration(result.longestMs)
                    + ", together " + Text.duration(result.totalMs) + ".";
        }
    }

    /** A board as text for its author, as getstep draws it in every language: with coordinates, marks and a legend. */
    private static final class Drawing {
        private static final int MOST_NESTED = 3;

        private Drawing() {}

        /** Returns the form of a move of a game, with an example. */
        static String moveText(String game) {
            switch (game) {
                case "hop":
                    return "a list of squares, the piece's own first, for example {{0, 0}, {0, 1}}";
                case "linkage":
                    return "(colour, square, square), for example Getstep.domino('R', 0, 0, 0, 1)";
                case "longest_path":
                case "chain_reaction":
                case "pseudo_tonga":
                    return "(row, column), for example {0, 0}";
                default:
                    return "as the contest's rules say";
            }
        }

        /** Returns the lines, each after a line break; nothing if the rows of the board have different lengths. */
        static String text(String game, int[][] board, Object move) {
            int columns = board.length == 0 ? 0 : board[0].length;
            if (Arrays.stream(board).anyMatch(row -> row.length != columns)) {
                return "";
            }
            Set<String> marked = new HashSet<>();
            mark(move, board.length, columns, MOST_NESTED, marked);
            Map<String, String> legend = new LinkedHashMap<>(); // by kind: one and two orbs of a player are one kind
            int width = Math.max(game.equals("chain_reaction") || !isKnown(game) ? 2 : 1, String.valueOf(columns - 1).length() - 1);
            for (int[] row : board) {
                for (int cell : row) {
                    String[] piece = piece(game, cell);
                    if (piece != null) {
                        width = Math.max(width, piece[0].length());
                        legend.putIfAbsent(piece[1], piece[0] + " " + piece[2]);
                    }
                }
            }
            StringBuilder head = new StringBuilder("\n        ");
            for (int column = 0; column < columns; column++) {
                head.append(column < 10 ? " " : "").append(right(String.valueOf(column), column < 10 ? width : width + 1)).append(" ");
            }
            StringBuilder text = new StringBuilder(head.toString().stripTrailing());
            for (int row = 0; row < board.length; row++) {
                StringBuilder line = new StringBuilder("\n    " + right(String.valueOf(row), 2) + "  ");
                for (int column = 0; column < columns; column++) {
                    String[] piece = piece(game, board[row][column]);
                    String frame = marked.contains(row + "," + column) ? "!" : " ";
                    String shown = piece != null ? piece[0] : isTarget(game, row, column) ? ":" : ".";
                    line.append(frame).append(shown).append(" ".repeat(width - shown.length())).append(frame);
                }
                text.append(line.toString().stripTrailing());
            }
            List<String> entries = new ArrayList<>(legend.values());
            if (!marked.isEmpty()) {
                entries.add(0, "! ! the squares that you returned");
            }
            if (game.equals("hop")) {
                entries.add(": Black's target region or White's target region");
            }
            return text + (entries.isEmpty() ? "" : "\n    ") + String.join(", ", entries);
        }

        private static String right(String text, int width) {
            return " ".repeat(Math.max(0, width - text.length())) + text;
        }

        private static boolean isKnown(String game) {
            return Arrays.asList("hop", "linkage", "longest_path", "chain_reaction", "pseudo_tonga").contains(game);
        }

        private static boolean isTarget(String game, int row, int column) {
            return game.equals("hop") && row < 8 && (column < 2 || column == 6 || column == 7);
        }

        /** Returns the text, the kind and the name of a piece; null for an empty square. */
        private static String[] piece(String game, int cell) {
            String letters = "RBGY";
            boolean small = cell == 1 || cell == 2;
            int number = Math.abs(cell);
            if (cell == 0) {
                return null;
            } else if (small && (game.equals("hop") || game.equals("pseudo_tonga"))) {
                String kind = game.equals("hop") ? "piece" : "stone";
                return cell == 1 ? new String[] {"B", "1", "black " + kind} : new String[] {"W", "2", "white " + kind};
            } else if (small && game.equals("longest_path")) {
                return new String[] {"" + cell, "" + cell, "piece of Player " + cell};
            } else if (game.equals("chain_reaction") && number < 8) {
                String name = number + (number > 1 ? " orbs of " : " orb of ") + (cell > 0 ? "Red" : "Green");
                return new String[] {(cell > 0 ? "R" : "G") + number, cell > 0 ? "1" : "2", name};
            } else if (game.equals("linkage") && cell >= 1 && cell <= 4) {
                String[] names = {"red", "blue", "green", "yellow"};
                return new String[] {letters.substring(cell - 1, cell), "" + cell, names[cell - 1] + " half-domino"};
            } else if (game.equals("linkage") && cell == -1) {
                return new String[] {"#", "#", "blocked centre"};
            } else if (game.equals("linkage") && cell == -2) {
                return new String[] {"x", "x", "empty, next to the last domino"};
            } else if (!isKnown(game) && small) {
                return new String[] {"" + cell, "" + cell, "piece of the " + (cell == 1 ? "first" : "second") + " player"};
            } else if (!isKnown(game) && cell >= -9 && cell < 0) {
                return new String[] {"" + cell, "2", number + " of the second player"};
            }
            String whole = String.valueOf(cell);
            String name = (!isKnown(game) && cell > 0 && cell < 10 ? "tile " : "value ") + whole;
            return new String[] {whole.substring(0, Math.min(2, whole.length())), "other", name};
        }

        /** Adds the squares of the board that are anywhere in a move. */
        private static void mark(Object move, int rows, int columns, int depth, Set<String> marked) {
            Object items = move instanceof Collection ? ((Collection<?>) move).toArray() : move;
            if (items == null || !items.getClass().isArray() || depth == 0) {
                return;
            }
            int length = Array.getLength(items);
            if (length == 2 && isInt(Array.get(items, 0)) && isInt(Array.get(items, 1))) {
                long row = ((Number) Array.get(items, 0)).longValue();
                long column = ((Number) Array.get(items, 1)).longValue();
                if (row >= 0 && row < rows && column >= 0 && column < columns) {
                    marked.add(row + "," + column);
                }
                return;
            }
            for (int i = 0; i < Math.min(length, 100); i++) {
                mark(Array.get(items, i), rows, columns, depth - 1, marked);
            }
        }

        private static boolean isInt(Object value) {
            return value instanceof Integer || value instanceof Long || value instanceof Short || value instanceof Byte;
        }
    }

    // --- finding the host on the network (docs/standby.md) -------------------------------------------------------

    /** A server that has answered by multicast DNS. Any computer can announce anything: only a proof counts. */
    static final class FoundServer {
        final String contest;
        final int port;
        final int fence;
        final Set<String> hosts;

        FoundServer(String contest, int port, int fence, Collection<String> hosts) {
            this.contest = contest;
            this.port = port;
            this.fence = fence;
            this.hosts = new LinkedHashSet<>(hosts);
        }
    }

    /** An answer of multicast DNS (RFC 6762, section 5.1). */
    static final class DnsAnswer {
        private static final String SERVICE = "_getstep._tcp.local.";

        private final ByteBuffer packet;
        private int at = 12;

        DnsAnswer(ByteBuffer packet) {
            this.packet = packet;
        }

        /** Returns the packet that asks for all servers. */
        static ByteBuffer question(int number) {
            ByteArrayOutputStream data = new ByteArrayOutputStream();
            data.writeBytes(new byte[] {(byte) (number >> 8), (byte) number, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0});
            for (String label : SERVICE.split("\\.")) {
                data.write(label.length());
                data.writeBytes(label.getBytes(StandardCharsets.US_ASCII));
            }
            data.writeBytes(new byte[] {0, 0, 12, 0, 1});
            return ByteBuffer.wrap(data.toByteArray());
        }

        private int number(int place) {
            return packet.getShort(place) & 0xffff;
        }

        /** Reads a name. Throws IndexOutOfBoundsException if it is wrong or ends too early. */
        private String name() {
            StringBuilder name = new StringBuilder();
            int here = at;
            int lowest = at;
            int after = -1;
            for (int pointers = 0; packet.get(here) != 0;) {
                int length = packet.get(here) & 0xff;
                if (length >= 0xc0) {
                    after = after < 0 ? here + 2 : after;
                    here = number(here) & 0x3fff;
                    if (here >= lowest || ++pointers > 8) { // only backwards, so that no name is endless
                        throw new IndexOutOfBoundsException();
                    }
                    lowest = here;
                    continue;
                }
                if (length >= 0x40 || name.length() + length >= 255) {
                    throw new IndexOutOfBoundsException();
                }
                for (int i = 1; i <= length; i++) {
                    name.append((char) (packet.get(here + i) & 0xff));
                }
                name.append('.');
                here += 1 + length;
            }
            at = after < 0 ? here + 1 : after;
            return name.toString().toLowerCase(Locale.ROOT);
        }

        /** Returns the servers by their names. Throws IndexOutOfBoundsException if the packet ends too early. */
        Map<String, FoundServer> servers(int question) {
            Map<String, FoundServer> found = new LinkedHashMap<>();
            int records = number(6) + number(8) + number(10);
            if (number(0) != question || (number(2) & 0xf80f) != 0x8000 || number(4) > 4 || records > 64) {
                return found;
            }
            for (int i = 0; i < number(4); i++) {
                name();
                at += 4;
            }
            Set<String> instances = new LinkedHashSet<>();
            Map<String, Integer> ports = new LinkedHashMap<>();
            Map<String, String> computers = new LinkedHashMap<>();
            Map<String, Map<String, String>> texts = new LinkedHashMap<>();
            Map<String, List<String>> addresses = new LinkedHashMap<>();
            for (int i = 0; i < records; i++) {
                String owner = name();
                int kind = number(at);
                boolean counts = (number(at + 2) & 0x7fff) == 1 && packet.getInt(at + 4) != 0;
                int start = at + 10;
                int end = start + number(at + 8);
                if (end > packet.limit()) {
                    throw new IndexOutOfBoundsException();
                }
                at = start;
                if (counts && kind == 12 && owner.equals(SERVICE)) {
                    instances.add(name());
                } else if (counts && kind == 33 && !ports.containsKey(owner)) {
                    ports.put(owner, number(start + 4));
                    at = start + 6;
                    computers.put(owner, name());
                } else if (counts && kind == 16) {
                    texts.putIfAbsent(owner, values(start, end));
                } else if (counts && kind == 1 && end == start + 4) {
                    addresses.computeIfAbsent(owner, none -> new ArrayList<>()).add((packet.get(start) & 0xff) + "."
                            + (packet.get(start + 1) & 0xff) + "." + (packet.get(start + 2) & 0xff) + "." + (packet.get(start + 3) & 0xff));
                }
                at = end;
            }
            for (String instance : instances) {
                List<String> hosts = addresses.getOrDefault(computers.getOrDefault(instance, ""), new ArrayList<>());
                int port = ports.getOrDefault(instance, 0);
                Map<String, String> about = texts.getOrDefault(instance, new LinkedHashMap<>());
                String fence = about.getOrDefault("fence", "0");
                long number = fence.matches("[0-9]{1,10}") ? Long.parseLong(fence) : 0;
                if (port > 0 && !hosts.isEmpty()) {
                    found.put(instance + port, new FoundServer(Text.escape(about.getOrDefault("contest", "")), port,
                            number > MAX_ID ? 0 : (int) number, hosts.subList(0, Math.min(hosts.size(), 8))));
                }
            }
            return found;
        }

        private Map<String, String> values(int start, int end) {
            Map<String, String> values = new LinkedHashMap<>();
            for (int here = start; here < end; here += 1 + (packet.get(here) & 0xff)) {
                byte[] text = new byte[Math.min(packet.get(here) & 0xff, end - here - 1)];
                for (int i = 0; i < text.length; i++) {
                    text[i] = packet.get(here + 1 + i);
                }
                String[] parts = new String(text, StandardCharsets.UTF_8).split("=", 2);
                values.putIfAbsent(parts[0].toLowerCase(Locale.ROOT), parts.length == 2 ? parts[1] : "");
            }
            return values;
        }
    }

    /** The addresses that a client tries while its own address does not answer. */
    static final class Finder {
        private static final int SEARCH_MS = 1000;
        private static final int ASK_AGAIN_MS = 350; // multicast on WLAN is not repeated if it is lost
        private static final int MOST_TRIED = 20; // found addresses to which one run connects
        private static final int MOST_PACKETS = 256; // that one search reads
        private static final int MOST_INTERFACES = 16;

        private final Settings settings;
        private final Set<String> tried = new HashSet<>();
        private final ArrayDeque<InetSocketAddress> waiting = new ArrayDeque<>();
        private String ownHost;
        private int ownPort;
        private String contest;

        Finder(Settings settings) {
            this.settings = settings;
            contest = settings.contest;
            ownHost = settings.host;
            ownPort = settings.port;
        }

        /** Returns true if the client is at an address from the network, and nothing was proved there yet. */
        boolean atFound() {
            return !settings.host.equals(ownHost) || settings.port != ownPort;
        }

        /** Goes to the next address after a failure. Returns true to connect at once, false to wait before. */
        boolean next(Console console) {
            if (!atFound() && tried.size() < MOST_TRIED) {
                Map<String, FoundServer> found = search();
                found.values().removeIf(server -> settings.givenPort && server.port != ownPort);
                List<FoundServer> trying = found.values().stream().filter(server -> server.contest.equals(contest))
                        .sorted((a, b) -> Integer.compare(b.fence, a.fence)) // a computer that was lost may still be announced
                        .collect(Collectors.toList());
                if (trying.isEmpty() && found.size() == 1) {
                    trying.addAll(found.values());
                }
                for (FoundServer server : trying) {
                    for (String host : server.hosts) {
                        if (waiting.size() < MOST_TRIED && (!host.equals(ownHost) || server.port != ownPort)) {
                            if (tried.add(host + ":" + server.port)) {
                                console.say("Found " + Text.shown(server.contest) + " at " + host + ":" + server.port + " on this network.");
                            }
                            waiting.add(InetSocketAddress.createUnresolved(host, server.port));
                        }
                    }
                }
            }
            InetSocketAddress next = waiting.poll();
            settings.host = next == null ? ownHost : next.getHostString();
            settings.port = next == null ? ownPort : next.getPort();
            return next != null;
        }

        /** Stays at an address, whose server has proved itself. */
        void settle(String name) {
            contest = name;
            ownHost = settings.host;
            ownPort = settings.port;
            waiting.clear();
        }

        private Map<String, FoundServer> search() {
            Map<String, FoundServer> found = new LinkedHashMap<>();
            String test = settings.variable("GETSTEP_DISCOVERY"); // docs/conformance.md
            String[] place = test == null ? new String[] {"224.0.0.251", "5353"} : test.split(":");
            InetSocketAddress to = new InetSocketAddress(place[0], Integer.parseInt(place[1]));
            int number = ThreadLocalRandom.current().nextInt(1 << 16);
            List<DatagramChannel> channels = new ArrayList<>();
            try (Selector selector = Selector.open()) {
                for (NetworkInterface network : Collections.list(NetworkInterface.getNetworkInterfaces())) {
                    for (InetAddress address : Collections.list(network.getInetAddresses())) {
                        boolean fits = address instanceof Inet4Address && (test == null || address.isLoopbackAddress());
                        if (fits && channels.size() < MOST_INTERFACES) {
                            DatagramChannel channel = DatagramChannel.open(StandardProtocolFamily.INET);
                            channels.add(channel);
                            channel.bind(new InetSocketAddress(address, 0));
                            channel.setOption(StandardSocketOptions.IP_MULTICAST_IF, network);
                            channel.configureBlocking(false);
                            channel.register(selector, SelectionKey.OP_READ);
                        }
                    }
                }
                long began = System.nanoTime();
                int left = MOST_PACKETS;
                int asked = 0;
                for (long ms = 0; ms < SEARCH_MS && left > 0; ms = (System.nanoTime() - began) / 1_000_000) {
                    if (asked == 0 || asked == 1 && ms >= ASK_AGAIN_MS) {
                        asked++;
                        for (DatagramChannel channel : channels) {
                            ask(channel, number, to);
                        }
                    }
                    selector.select((asked == 1 ? ASK_AGAIN_MS : SEARCH_MS) - ms + 1);
                    for (SelectionKey key : selector.selectedKeys()) {
                        left--;
                        read((DatagramChannel) key.channel(), number, to, found);
                    }
                    selector.selectedKeys().clear();
                }
            } catch (IOException noNetwork) {
                return found;
            } finally {
                for (DatagramChannel channel : channels) {
                    try {
                        channel.close();
                    } catch (IOException nothingToSave) {
                        // it is closed all the same
                    }
                }
            }
            found.values().removeIf(server -> server.hosts.isEmpty());
            return found;
        }

        private static void ask(DatagramChannel channel, int number, InetSocketAddress to) {
            try {
                channel.send(DnsAnswer.question(number), to);
            } catch (IOException isDown) {
                // the other interfaces may lead to the host
            }
        }

        private static void read(DatagramChannel channel, int number, InetSocketAddress to, Map<String, FoundServer> found) {
            ByteBuffer packet = ByteBuffer.allocate(9000);
            try {
                InetSocketAddress from = (InetSocketAddress) channel.receive(packet);
                packet.flip();
                if (from == null || from.getPort() != to.getPort()) {
                    return;
                }
                boolean own = from.getAddress().isLoopbackAddress();
                new DnsAnswer(packet).servers(number).forEach((name, server) -> {
                    server.hosts.removeIf(host -> !isUsable(host, own));
                    FoundServer known = found.putIfAbsent(name, server);
                    if (known != null && known.hosts.size() < 8) {
                        known.hosts.addAll(server.hosts);
                    }
                });
            } catch (IOException | IndexOutOfBoundsException noAnswer) {
                // any computer can send anything
            }
        }

        private static boolean isUsable(String host, boolean own) {
            int first = Integer.parseInt(host.substring(0, host.indexOf('.')));
            return first > 0 && first < 224 && (first != 127 || own);
        }
    }

    // --- the whole contest ---------------------------------------------------------------------------------------

    /** A bot in a contest, over as many connections as it takes. */
    static final class Client implements Closeable {
        private static final int HELLO_MS = 5000; // a server sends it at once
        private static final int WELCOME_MS = 10_000; // a wrong login is answered after up to 8 s
        private static final double FIRST_PAUSE = 0.2; // seconds
        private static final double LONGEST_PAUSE = 5;
        /** Bounds for the retry_ms of a server that has not proved itself: any computer could be in the host's place. */
        private static final double SHORTEST_RETRY = 1;
        private static final double LONGEST_RETRY = 60;
        /** A connection without a proof makes the pauses short again only if it lasted that long, in seconds. */
        private static final double STEADY = 10;
        private static final long LONGEST_WAIT_MS = 3_600_000; // a wait without a limit of its own
        private static final int MOST_RESULTS = 10_000; // of a ladder that goes on for months, or of a false server
        private static final int WARM_UPS = 100; // so many calls that the codec begins to be compiled
        private static final int MOST_PROBLEMS = 100; // a bot whose every text differs takes no more memory

        private static final String UPDATE =
                "Get the newer Getstep.java from the host's live page, and build the bot again.";
        private static final String NOT_LOCATED =
                "this server does not prove at which address it is, as it did before, so it is not your host";
        private static final String EARLIER_HOST =
                "another computer has taken over this contest from this server, so nothing counts here any more";
        private static final String WRONG_FENCE =
                "the server's proof of its fencing number is wrong, so it is not your host; check the address";
        private static final String NOT_PROVED = "this server has not proved that it knows your token"
                + " (an older getstep server, or not your host)";
        private static final String NO_FRIENDLY = "This is the port of the contest, not the one for friendly matches.\n"
                + "The page Play of the host's live page shows the command for friendly matches.";
        private static final String ONLY_FRIENDLY =
                "This port is for friendly matches, which count nowhere: give --friendly.\n"
                + "To play in the contest, give its port; it is 7777 unless the host says otherwise.";
        private static final String FRIENDLY = "People can play friendly matches against this bot now, on the page Play of"
                + " the host's live page. They count nowhere.\nYour seat in the contest is not touched. Ctrl-C stops the"
                + " bot.";

        private final Settings settings;
        private final Console console;
        private final Selector selector;
        private final Worker worker;
        final BotOutput output = new BotOutput();
        private final ArrayDeque<Result> results = new ArrayDeque<>();
        private final Set<String> warned = new HashSet<>(); // since the last good connection
        private final Map<String, Integer> problems = new LinkedHashMap<>(); // of the bot, and how often again
        private final double timeScale;
        private final Finder finder; // null if the user has named the host
        private double nextPause = FIRST_PAUSE;
        private Match match;
        private Question question; // the newest
        private boolean open; // the newest question is to be answered on this connection
        private Message goodbye;
        private boolean welcomed; // on this connection
        private boolean proved; // on this connection
        private boolean everWelcomed;
        private boolean everProved;
        private boolean everLocated; // a server has proved at which address it is
        private Fence fence; // the highest that was proved
        private String contest = "";
        private int hangs; // in a row, without an answer in between
        private final double firstPause;

        Client(Settings settings, TurnBot bot, Console console, Restarted before) throws SetupError {
            this.settings = settings;
            this.console = console;
            everProved = before != null && before.proved;
            everLocated = before != null && before.located;
            fence = before == null ? Fence.NONE : before.fence;
            hangs = before == null ? 0 : before.hangs;
            firstPause = before == null ? 0 : before.pause();
            try {
                selector = Selector.open();
            } catch (IOException error) {
                throw new SetupError("The network cannot be used: " + error + ".");
            }
            worker = new Worker(bot, selector);
            finder = settings.givenHost || settings.friendly ? null : new Finder(settings);
            timeScale = timeScale(settings.variable("GETSTEP_TIME_SCALE"));
        }

        /** Returns what pauses are multiplied by, for tests of this client (docs/conformance.md); 1 otherwise. */
        private static double timeScale(String text) {
            try {
                double scale = text == null ? 1 : Double.parseDouble(text);
                return scale >= 0.01 && scale <= 1 ? scale : 1;
            } catch (NumberFormatException notANumber) {
                return 1;
            }
        }

        @Override
        public void close() {
            try {
                selector.close();
            } catch (IOException nothingToSave) {
                // it is closed all the same
            }
        }

        private String address() {
            return settings.host.contains(":") ? "[" + settings.host + "]:" + settings.port
                    : settings.host + ":" + settings.port;
        }

        /** Plays until the server says not to come back. */
        List<Result> run() throws Refused, Hung {
            warmUp();
            if (firstPause > 0) {
                console.warn("getStep has hung " + hangs + " times in a row without an answer in between; the client connects in "
                        + Text.duration(1000 * firstPause) + ".");
                pause(firstPause);
            }
            console.say("Connecting to " + address() + " as team " + settings.team + " ...");
            while (true) {
                double pause;
                try {
                    Message last = oneConnection();
                    if (isDoubtful(last)) {
                        throw new ConnectionFailed(goodbyeText(last));
                    }
                    if (endsTheRun(last)) {
                        return endRun(last);
                    }
                    pause = afterGoodbye(last);
                } catch (Unresolved error) {
                    if (!everWelcomed && finder == null) {
                        throw new Refused(error.getMessage());
                    }
                    pause = afterFailure(Text.firstLine(error.getMessage()));
                } catch (ConnectionFailed error) {
                    pause = afterFailure(error.getMessage());
                } catch (IOException | OutOfMemoryError error) {
                    pause = afterFailure(Text.escape(Text.summary(error)));
                }
                pause(pause);
            }
        }

        /**
         * Goes through all that the first question takes, but for the bot. Java loads a class when it is first used, and
         * compiles what is often used: without this, the first answer took 0.6 s, not 0.2 s, on a computer with other work to do.
         */
        private void warmUp() {
            Map<String, Object> start = new LinkedHashMap<>();
            start.put("type", "start");
            start.put("match", 1);
            start.put("game", "hop");
            start.put("options", Collections.singletonMap("size", 8));
            start.put("time_kind", "budget");
            start.put("time_ms", 20_150);
            start.put("increment_ms", 15);
            start.put("is_black", true);
            start.put("opponent", "nobody");
            start.put("lag_ms", 100);
            start.put("resumed", false);
            Map<String, Object> ask = new LinkedHashMap<>();
            ask.put("type", "get_step");
            ask.put("id", 1);
            ask.put("move_number", 1);
            ask.put("board", new int[8][8]);
            ask.put("is_black", true);
            ask.put("time_left_ms", 20_150);
            ask.put("last_move", new int[][] {{2, 2}, {2, 3}});
            try {
                byte[] begins = Encoder.frame(start);
                byte[] asks = Encoder.frame(ask);
                for (int i = 0; i < WARM_UPS; i++) {
                    Conversation conversation = new Conversation();
                    conversation.state = State.LOBBY;
                    conversation.feed(begins, begins.length);
                    Match sample = new Match(conversation.next());
                    conversation.feed(asks, asks.length);
                    Turn turn = new Turn(sample.start, conversation.next());
                    console.encode(i == 0 ? sample.startText() + sample.opponent : turn.opponent);
                    Worker.afterReturn(new int[][] {{2, 2}, {2, 3}}, turn.game, 1);
                }
                String nonce = Auth.newNonce();
                Auth.isProof(settings.token, nonce, nonce, nonce, Auth.sign(settings.token, nonce, nonce));
                worker.begin();
                selector.wakeup();
                selector.selectNow();
            } catch (ProtocolError | NotSendable | IOException error) {
                throw new IllegalStateException(error);
            }
        }

        private void pause(double seconds) throws Refused, Hung {
            long until = System.nanoTime() + (long) (timeScale * seconds * 1e9);
            for (long left = until - System.nanoTime(); left > 0; left = until - System.nanoTime()) {
                try {
                    select(left / 1_000_000 + 1);
                } catch (IOException error) {
                    throw new Refused("The network cannot be used any more: " + error + ".");
                }
                collect(null);
                if (Thread.currentThread().isInterrupted()) {
                    throw new Refused("The bot's main thread was interrupted.");
                }
            }
        }

        /** Waits until bytes have arrived, the bot has returned, a warning about it is due, or the time is over. */
        private void select(long ms) throws IOException, Hung {
            long due = Math.min(ms, warnIfLate());
            selector.select(Math.max(due, 1));
            selector.selectedKeys().clear();
        }

        // --- one connection ---

        /** Connects, logs in and plays; returns the server's goodbye. */
        private Message oneConnection() throws ConnectionFailed, IOException, Refused, Hung {
            welcomed = false;
            proved = false;
            open = false;
            goodbye = null;
            if (match != null && match.start.friendly) {
                match = null; // it has ended with its connection
            }
            try (Connection connection = Connection.connect(settings, selector)) {
                Message hello = readHello(connection);
                if (hello.type.equals("goodbye")) {
                    return hello;
                }
                checkSuitable(hello);
                Message answer = logIn(connection, hello);
                if (answer.type.equals("goodbye")) {
                    return answer;
                }
                onWelcome(hello, answer);
                return playUntilGoodbye(connection);
            }
        }

        private Message readHello(Connection connection) throws ConnectionFailed, IOException {
            String behaviour = "it sends nothing";
            try {
                Message hello = connection.await(HELLO_MS);
                if (hello != null) {
                    return hello;
                }
            } catch (ConnectionFailed error) {
                boolean spoke = error.getMessage().startsWith("the server broke");
                behaviour = spoke ? "it speaks another protocol" : "it closes the connection at once";
            }
            throw new ConnectionFailed(
                    "what answers there is no getstep server: " + behaviour + "; the port may be wrong");
        }

        /** Refuses a server that this client does not log in to; tries again if it has proved itself before. */
        private void checkSuitable(Message hello) throws Refused, ConnectionFailed {
            String problem = null;
            if (!hello.versions.contains((long) PROTOCOL)) {
                String theirs = hello.versions.isEmpty() ? "none" : hello.versions.toString().replaceAll("[\\[\\]]", "");
                problem = "The server speaks version " + theirs + " of the protocol, this Getstep.java " + VERSION
                        + " speaks " + PROTOCOL + ".\n" + UPDATE;
            } else if (hello.friendly != settings.friendly) {
                problem = settings.friendly ? NO_FRIENDLY : ONLY_FRIENDLY;
            }
            if (problem != null && !everProved && !atFound()) {
                throw new Refused(problem);
            }
            if (problem != null) {
                throw new ConnectionFailed(problem.replace("\n", " "));
            }
        }

        private Message logIn(Connection connection, Message hello) throws ConnectionFailed, IOException {
            String nonce = Auth.newNonce();
            String dialled = hello.dialled ? connection.peer() : null;
            if (connection.conversation.state != State.CLOSED) {
                if ((everLocated || atFound()) && dialled == null) {
                    throw new ConnectionFailed(NOT_LOCATED);
                }
                String mac = Auth.sign(settings.token, hello.nonce, dialled);
                connection.send(join(settings.team, mac, "getstep-java " + VERSION, nonce, dialled, fence));
                connection.conversation.state = State.DECIDING;
            }
            Message answer = connection.await(WELCOME_MS);
            if (answer == null) {
                throw new ConnectionFailed("no answer within " + WELCOME_MS / 1000 + " s");
            }
            if (answer.type.equals("welcome")) {
                checkProof(hello, answer, nonce, dialled);
            }
            return answer;
        }

        private void checkProof(Message hello, Message welcome, String nonce, String dialled) throws ConnectionFailed {
            if (welcome.proof != null && !Auth.isProof(settings.token, hello.nonce, nonce, dialled, welcome.proof)) {
                throw new ConnectionFailed("the server's proof that it knows your token is wrong, so it is not your host;"
                        + " check the address");
            }
            proved = welcome.proof != null;
            everLocated |= proved && dialled != null;
            if (everProved && !proved) {
                throw new ConnectionFailed(NOT_PROVED + ", as it did before; to play there, start the bot again");
            }
            if (atFound() && !proved) {
                throw new ConnectionFailed(NOT_PROVED + "; to play there, give its address with --host");
            }
            if (proved) {
                checkFence(hello, welcome, nonce);
            }
        }

        /** Remembers the highest fencing number; refuses a server whose number is lower or not proved. */
        private void checkFence(Message hello, Message welcome, String nonce) throws ConnectionFailed {
            Fence found = welcome.fence;
            boolean right = welcome.fenceProof != null && !found.certificate.isEmpty()
                    && Auth.isFenceProof(settings.token, hello.nonce, nonce, found, welcome.fenceProof);
            if (found.number > 0 && !right) {
                throw new ConnectionFailed(WRONG_FENCE);
            }
            if (found.number < fence.number) {
                throw new ConnectionFailed(EARLIER_HOST);
            }
            fence = found;
        }

        private void onWelcome(Message hello, Message welcome) {
            if (everWelcomed) {
                console.say("Reconnected.");
            } else {
                console.say("Connected to " + Text.escape(hello.contest) + " as " + Text.escape(welcome.name) + " (team "
                        + welcome.team + ").");
                if (settings.friendly) {
                    console.say(FRIENDLY);
                }
            }
            welcomed = true;
            everWelcomed = true;
            if (proved) {
                everProved = true;
                contest = Text.escape(hello.contest);
                if (finder != null) {
                    finder.settle(contest);
                }
                SavedLogin.noteSeen(settings, contest, false);
                resetProblems();
            } else {
                warnOnce("Careful: " + NOT_PROVED
                        + ". The bot plays, but does not stop when this server says that the contest is over; Ctrl-C stops"
                        + " it.");
            }
        }

        private Message playUntilGoodbye(Connection connection) throws ConnectionFailed, IOException, Hung {
            long since = System.nanoTime();
            try {
                while (true) {
                    connection.receive();
                    for (Message message = connection.take(); message != null; message = connection.take()) {
                        handle(message, connection);
                    }
                    if (goodbye != null) {
                        return goodbye;
                    }
                    collect(connection);
                    answer(connection);
                    select(LONGEST_WAIT_MS);
                    if (Thread.currentThread().isInterrupted()) {
                        throw new ConnectionFailed("the bot's main thread was interrupted");
                    }
                }
            } finally {
                if (System.nanoTime() - since >= STEADY * 1e9) {
                    resetProblems();
                }
            }
        }

        // --- the bot's answers ---

        /** Answers the open question, or asks the bot. */
        private void answer(Connection connection) throws ConnectionFailed {
            if (!open) {
                return;
            }
            if (question.call != null) {
                connection.answer(answerOf(question.ask.id, question.call));
                connection.conversation.state = State.MATCH;
                open = false;
                if (!question.answered && question.call.error == null && !question.call.resigns) {
                    question.match.moves++;
                }
                question.answered = true;
            } else if (!question.started && worker.current() == null) {
                worker.start(question);
            }
        }

        /** Takes the result of a call that has returned. */
        private void collect(Connection connection) {
            Question done = worker.takeFinished();
            if (done == null) {
                return;
            }
            hangs = 0;
            done.match.addTime(done.call.ms);
            if (done.call.problem != null) {
                reportProblem(done);
            }
            if (connection == null || open && done == question) {
                return;
            }
            String late = done.match.latenessText(done.ask, done.call.ms);
            if (done.match != match) {
                console.warn(late + "; the match was already over, so the answer was not sent");
            } else if (done.askedOn == connection && goodbye == null) {
                try { // a late answer shows the server that the bot is alive
                    connection.answer(answerOf(done.ask.id, done.call));
                    console.warn(late + "; the turn was already over, so the answer changes nothing");
                } catch (ConnectionFailed error) {
                    // the next receive reports it
                }
            }
        }

        private void reportProblem(Question done) {
            String problem = done.call.problem;
            Integer again = problems.get(problem);
            if (again != null) {
                problems.put(problem, again + 1);
                return;
            }
            if (problems.size() < MOST_PROBLEMS) {
                problems.put(problem, 0);
            }
            console.warn(done.match.place(done.ask) + ": " + problem);
        }

        /** Reports a call that takes too long. Returns milliseconds until the next report is due. */
        private long warnIfLate() throws Hung {
            Question running = worker.current();
            if (running == null) {
                return LONGEST_WAIT_MS;
            }
            long limit = running.match.limitMs(running.ask);
            long stalled = running.match.stalledMs(running.ask);
            long hung = settings.restartAfterMs > 0 ? limit + settings.restartAfterMs : LONGEST_WAIT_MS;
            long ms = (System.nanoTime() - running.startedAt) / 1_000_000;
            if (running.warnings == 0 && ms >= limit) {
                running.warnings = 1;
                console.warn(taken(running, limit) + ", over the limit of " + Text.duration(running.ask.timeLeftMs)
                        + ", and is still running. It is at " + Text.location(worker.stack()));
            }
            if (running.warnings == 1 && stalled >= 0 && ms >= stalled) {
                running.warnings = 2;
                console.warn(taken(running, stalled) + ", " + Match.STALLED_MISSES + " limits; your bot is stalled: unless the"
                        + " match is over, the server skips its turns until getStep returns. It is at "
                        + Text.location(worker.stack()) + (settings.restartAfterMs == 0 || isDebugged()
                        ? "\nStop it with Ctrl-C, correct it and start it again: it goes on with this match."
                        : "\nIn " + Text.duration(Math.max(0, hung - stalled)) + " the client starts your program again."));
            }
            if (running.warnings < 3 && settings.restartAfterMs > 0 && ms >= hung) {
                running.warnings = 3;
                onHung(running);
            }
            long next = running.warnings == 0 ? limit : running.warnings == 1 && stalled >= 0 ? stalled : hung;
            return running.warnings == 3 ? LONGEST_WAIT_MS : Math.max(1, Math.min(next, hung) - ms);
        }

        private static String taken(Question running, long ms) {
            return running.match.place(running.ask) + ": getStep has taken " + Text.duration(ms);
        }

        private void onHung(Question running) throws Hung {
            if (isDebugged()) {
                return;
            }
            String place = Text.location(worker.stack());
            console.warn("getStep has not returned, " + Text.duration(settings.restartAfterMs) + " after its limit of "
                    + Text.duration(running.ask.timeLeftMs) + " (match " + running.match.number + ", move "
                    + running.ask.moveNumber + " of " + running.match.game + "). The client starts your program again; the"
                    + " contest goes on.\nIt was at " + place);
            worker.giveUp();
            throw new Hung(new Restarted(everProved, everLocated, hangs + 1, fence));
        }

        // --- messages from the server ---

        private void handle(Message message, Connection connection) {
            switch (message.type) {
                case "start":
                    onStart(message);
                    break;
                case "get_step":
                    if (question == null || question.match != match || !message.repeats(question.ask)) {
                        question = new Question(match, message, connection);
                    }
                    question.askedOn = connection;
                    open = true;
                    break;
                case "penalty":
                    open = false;
                    onPenalty(message);
                    break;
                case "end":
                    open = false;
                    onEnd(message);
                    break;
                case "notice": // its kind and its text are the reason and the detail
                    String about = message.match == 0 ? "" : "match " + message.match + ", ";
                    console.warn("From the host (" + about + Text.escape(message.reason) + "): "
                            + Text.escape(message.detail));
                    break;
                default: // goodbye: the conversation allows no other
                    open = false;
                    goodbye = message;
                    break;
            }
        }

        private void onStart(Message start) {
            if (match != null && match.number == start.match) {
                console.say("Match " + start.match + " continues.");
                return;
            }
            if (match != null) {
                console.warn("Match " + match.number + " ended while this bot was not connected; ask the host how.");
            }
            match = new Match(start);
            console.say(match.startText());
        }

        private void onPenalty(Message penalty) {
            boolean known = question != null && question.match == match && question.ask.id == penalty.id;
            console.warn(match.penaltyText(penalty, known ? question : null));
            boolean late = penalty.reason.equals("missed_limit") || penalty.reason.equals("stalled");
            if (known && late && question.answered) {
                console.warn(match.latenessText(question.ask, question.call.ms) + "; the answer arrived too late");
            }
        }

        private void onEnd(Message end) {
            Result result = new Result(match, end);
            if (results.size() == MOST_RESULTS) {
                results.remove();
            }
            results.add(result);
            String hidden = output.endMatch();
            if (hidden != null) {
                console.warn("Match " + result.match + ": " + hidden);
            }
            problems.forEach((problem, again) -> {
                if (again > 0) {
                    console.warn("Match " + result.match + ": the same problem as before occurred " + again + " more time"
                            + (again > 1 ? "s" : "") + ": " + Text.escape(namingLine(problem)));
                }
            });
            problems.replaceAll((problem, again) -> 0);
            console.say(Match.endText(result));
            match = null;
        }

        /** Returns the line of a problem that names it: the one after "getStep threw:", or the first one. */
        private static String namingLine(String problem) {
            String[] lines = problem.split("\n");
            return lines[lines.length > 1 && lines[0].endsWith(" threw:") ? 1 : 0];
        }

        // --- the end of a connection (docs/proofs.md, "Trust" and "Reconnecting") ---

        private boolean endsTheRun(Message last) {
            if (last.retryMs != null) {
                return false;
            }
            if (proved) {
                return true;
            }
            if (everProved || last.reason.equals("contest_over")) {
                return false;
            }
            // A refused login cannot be proved, and the author has to read at once that the token is wrong. Two copies of
            // a bot that ignored "replaced" would take the seat from each other without end.
            return !welcomed || last.reason.equals("replaced");
        }

        private List<Result> endRun(Message last) throws Refused {
            String advice = advice(last.reason);
            if (advice != null || !welcomed) {
                String text = "Team " + settings.team + " may not play: " + goodbyeText(last) + ".";
                throw new Refused(advice == null ? text : text + "\n" + advice);
            }
            if (proved && last.reason.equals("contest_over")) {
                SavedLogin.noteSeen(settings, contest, true);
            }
            console.say(Text.escape(last.detail.isEmpty() ? last.reason : last.detail));
            if (worker.current() != null) {
                console.warn("getstep: getStep is still running; the program ends without it");
            }
            return new ArrayList<>(results);
        }

        private static String advice(String reason) {
            switch (reason) {
                case "bad_token":
                    return "Copy the token again from the slip from the host, and check the host's address.";
                case "unknown_team":
                    return "Ask the host for your team's id, or look at the slip; check the host's address, too.";
                case "replaced":
                    return "Is a second copy of your bot running? The newest one plays, this one stops.";
                case "unsupported_version":
                    return UPDATE;
                default:
                    return null;
            }
        }

        private static String goodbyeText(Message last) {
            return Text.escape(last.reason) + ": " + Text.escape(last.detail).replaceAll("\\.+$", "");
        }

        private double afterFailure(String why) {
            String what = welcomed ? "Connection lost" : "No connection to " + address();
            boolean isLong = nextPause >= LONGEST_PAUSE / 2; // a server that was restarted would be back
            boolean found = finder != null && (isGone(why) || atFound() || !everWelcomed || isLong) && finder.next(console);
            warnOnce(what + ": " + why + ". Trying again until it works; Ctrl-C stops the bot.");
            double pause = growingPause();
            return found ? 0 : pause;
        }

        private boolean atFound() {
            return finder != null && finder.atFound();
        }

        /** Returns true if no computer answers at an address any more, or its server says that another has taken over. */
        private static boolean isGone(String why) {
            return why.equals(EARLIER_HOST) || why.startsWith("no answer; the address") || why.startsWith("no way to that address")
                    || why.contains("timed out");
        }

        /** Returns true if a found server has refused the login: the token may be right, and the server not the host's. */
        private boolean isDoubtful(Message last) {
            boolean known = everProved || settings.token.equals(settings.knownToken);
            return atFound() && !welcomed && (known || last.retryMs != null || "wrong_address".equals(last.reason));
        }

        private double afterGoodbye(Message last) {
            String text = goodbyeText(last) + ". Connecting again.";
            warnOnce(last.retryMs != null ? text
                    : text + " The server that said so has not proved that it is your host; Ctrl-C stops the bot.");
            if (last.retryMs == null) {
                return Math.max(growingPause(), SHORTEST_RETRY);
            }
            double seconds = last.retryMs / 1000.0;
            if (proved) {
                return seconds * jitter(1, 1.1);
            }
            return Math.min(Math.max(seconds, SHORTEST_RETRY) * jitter(1, 1.1), LONGEST_RETRY);
        }

        private double growingPause() {
            double pause = nextPause;
            nextPause = Math.min(2 * pause, LONGEST_PAUSE);
            return pause * jitter(0.9, 1);
        }

        /** Returns a random factor, so that a room full of bots does not connect in the same instant. */
        private static double jitter(double lowest, double highest) {
            return ThreadLocalRandom.current().nextDouble(lowest, highest);
        }

        private void warnOnce(String line) {
            if (warned.contains(line)) {
                return;
            }
            if (warned.size() >= MOST_PROBLEMS) {
                warned.clear(); // a server whose every goodbye differs takes no more memory
            }
            warned.add(line);
            console.warn(line);
        }

        private void resetProblems() {
            warned.clear();
            nextPause = FIRST_PAUSE;
        }
    }
}
