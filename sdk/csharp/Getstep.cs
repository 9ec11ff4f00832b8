/*
 * Getstep.cs plays in a getstep bot contest. Put this file beside your bot; nothing else to install. C# 7.3: .NET 6 or
 * newer, .NET Framework 4.6.1 or newer, or Mono 6.
 *
 *     public static class MyBot
 *     {
 *         static int[][] GetStep(int[][] board, bool isBlack)
 *         {
 *             return new[] { new[] { 2, 2 }, new[] { 2, 3 } };
 *         }
 *
 *         static void Main(string[] args)
 *         {
 *             Getstep.Play(args, GetStep);
 *         }
 *     }
 *
 * With Mono, build and run it like this; with .NET, docs/csharp.md has the project file.
 *
 *     mcs -optimize MyBot.cs Getstep.cs
 *     mono MyBot.exe --host 192.168.1.10 --team 7 --token kq3m-x7fd-29pt
 *
 * --help lists the options. The contest's protocol.md says what travels on the wire.
 */

using System;
using System.Collections;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.NetworkInformation;
using System.Net.Security;
using System.Net.Sockets;
using System.Runtime.ExceptionServices;
using System.Security.Authentication;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

/// <summary>Plays in a getstep contest: Getstep.Play(args, GetStep) is the one call that a bot needs.</summary>
public static class Getstep
{
    /// <summary>The version of this file, which is that of the whole of getstep.</summary>
    public const string Version = "0.1.0";

    // --- for bots ------------------------------------------------------------------------------------------------

    /// <summary>A bot: it returns a move for a board.</summary>
    /// <param name="board">rows of cells, fresh for each call: the bot may change it</param>
    /// <param name="isBlack">true for the first player, whatever the game calls it</param>
    /// <returns>
    /// The move: an int[], an int[][], or lists of numbers and texts. A game whose move is one square takes
    /// {row, column} and {{row, column}} alike. A domino of linkage is Getstep.Domino, or
    /// {{colour}, {row, column}, {row, column}} with a colour from 1 to 4, as on the board.
    /// </returns>
    public delegate object Bot(int[][] board, bool isBlack);

    /// <summary>A bot that also gets the turn: the match, the opponent and the time.</summary>
    public delegate object TurnBot(int[][] board, bool isBlack, Turn turn);

    /// <summary>What is known about a turn, besides the board.</summary>
    public sealed class Turn
    {
        /// <summary>The game's name, such as "hop".</summary>
        public string Game { get; }

        /// <summary>The match number.</summary>
        public int Match { get; }

        /// <summary>1 for the first turn of the match. The turns of both players count, passed and skipped ones too.</summary>
        public int MoveNumber { get; }

        /// <summary>The other team's name.</summary>
        public string Opponent { get; }

        /// <summary>The opponent's last move: lists of numbers (long) and texts. Null if there was none.</summary>
        public object LastMove { get; }

        /// <summary>The squares of the opponent's last move, each {row, column}; empty if there was none.</summary>
        public int[][] LastSquares { get; }

        /// <summary>Milliseconds for this move, or for all the rest of the match if the limit is for all moves together.</summary>
        public int TimeLeftMs { get; }

        /// <summary>The game's options, such as size=8.</summary>
        public IReadOnlyDictionary<string, int> Options { get; }

        /// <summary>Milliseconds that such a common limit gets after each answer; 0 if nothing is added.</summary>
        public int IncrementMs { get; }

        /// <summary>
        /// The moves that the server has played from the start of the game before it asked anybody, for both players in
        /// turn, each as LastMove is; usually there are none.
        /// </summary>
        public IReadOnlyList<object> Opening { get; }

        /// <summary>The squares of each of these moves, each {row, column}.</summary>
        public IReadOnlyList<int[][]> OpeningSquares { get; }

        internal Turn(Message start, Message ask)
        {
            Game = Text.Escape(start.Game);
            Match = start.Match;
            MoveNumber = ask.MoveNumber;
            Opponent = Text.Escape(start.Opponent);
            LastMove = ask.LastMove;
            LastSquares = Squares(ask.LastMove);
            TimeLeftMs = ask.TimeLeftMs;
            Options = start.Options;
            IncrementMs = start.IncrementMs ?? 0;
            Opening = start.Opening;
            OpeningSquares = start.Opening.Select(Squares).ToArray();
        }

        private static int[][] Squares(object move)
        {
            int[] whole = Square(move);
            if (whole != null)
            {
                return new[] { whole };
            }
            return move is IList<object> items ? items.Select(Square).Where(square => square != null).ToArray() : new int[0][];
        }

        private static int[] Square(object value)
        {
            return value is IList<object> pair && pair.Count == 2 && pair[0] is long row && pair[1] is long column
                ? new[] { unchecked((int)row), unchecked((int)column) }
                : null;
        }
    }

    /// <summary>The result of a match.</summary>
    public sealed class Result
    {
        /// <summary>The match number.</summary>
        public int Match { get; }

        /// <summary>The game's name.</summary>
        public string Game { get; }

        /// <summary>The other team's name.</summary>
        public string Opponent { get; }

        /// <summary>True if this bot was the first player.</summary>
        public bool IsBlack { get; }

        /// <summary>This bot's result: "win", "draw", "loss" or "void". A void match does not count.</summary>
        public string Outcome { get; }

        /// <summary>An end code of protocol.md, such as "finished" or "missed_limit".</summary>
        public string Reason { get; }

        /// <summary>One sentence for people.</summary>
        public string Detail { get; }

        /// <summary>The scores of the first and of the second player in the game's own unit, or null.</summary>
        public IReadOnlyList<object> Scores { get; }

        /// <summary>The number of moves that this bot sent.</summary>
        public int Moves { get; }

        /// <summary>The longest time that GetStep took, in milliseconds.</summary>
        public double LongestMs { get; }

        /// <summary>The time that all calls of GetStep took together, in milliseconds.</summary>
        public double TotalMs { get; }

        internal Result(Played of, Message end)
        {
            Match = of.Number;
            Game = of.Game;
            Opponent = of.Opponent;
            IsBlack = of.Start.IsBlack;
            Outcome = end.Result;
            Reason = Text.Escape(end.Reason);
            Detail = Text.Escape(end.Detail);
            Scores = end.Scores;
            Moves = of.Moves;
            LongestMs = of.LongestMs;
            TotalMs = of.TotalMs;
        }
    }

    /// <summary>Plays until the contest is over.</summary>
    public static List<Result> Play(string[] args, Bot bot, params string[] games)
    {
        if (bot == null)
        {
            throw new ArgumentNullException(nameof(bot));
        }
        return Play(args, (board, isBlack, turn) => bot(board, isBlack), games);
    }

    /// <summary>Plays until the contest is over.</summary>
    /// <remarks>
    /// If the server is not running yet or the connection is lost, it connects again until that succeeds, and resumes a
    /// match in progress. An exception in the bot costs that turn only. If the server refuses the bot, or an option is
    /// wrong, this prints why and ends the program: exit code 1 for a refusal, 2 for wrong usage, 130 after Ctrl-C.
    /// </remarks>
    /// <param name="args">the arguments of Main; --help lists them</param>
    /// <param name="bot">the bot</param>
    /// <param name="games">
    /// the games that the bot plays; it gives up each match of another game, and plays the next ones. All if none is named
    /// </param>
    /// <returns>the matches that ended while the bot was connected, in order; the latest 10,000 if there were more</returns>
    public static List<Result> Play(string[] args, TurnBot bot, params string[] games)
    {
        if (bot == null)
        {
            throw new ArgumentNullException(nameof(bot));
        }
        var console = new Terminal();
        int code;
        try
        {
            var settings = new Settings(args, Environment.GetEnvironmentVariable);
            if (settings.Shows == null)
            {
                console.Quiet = settings.Quiet;
                settings.Find();
                return Run(settings, games.Length == 0 ? bot : Only(games, bot), console);
            }
            console.Say(settings.Shows);
            code = 0;
        }
        catch (SetupError error)
        {
            console.Warn("getstep: " + error.Message);
            code = 2;
        }
        catch (Refused error)
        {
            console.Warn("getstep: " + error.Message);
            code = 1;
        }
        catch (Stopped)
        {
            console.Say("Stopped.");
            code = 130;
        }
        Environment.Exit(code);
        return null;
    }

    /// <summary>Returns a bot that gives up each match of a game that is not in games.</summary>
    private static TurnBot Only(string[] games, TurnBot bot)
    {
        return (board, isBlack, turn) =>
        {
            if (!games.Contains(turn.Game))
            {
                throw new NotPlayed($"this bot plays {string.Join(", ", games)}; the match is {turn.Game}."
                    + " It gives up this match, and plays the next ones.");
            }
            return bot(board, isBlack, turn);
        };
    }

    /// <summary>Returns a domino of linkage; colour is 'R', 'B', 'G' or 'Y'.</summary>
    public static object[] Domino(char colour, int row1, int column1, int row2, int column2)
    {
        return new object[] { colour.ToString(), new[] { row1, column1 }, new[] { row2, column2 } };
    }

    // Notes of a move: what the bot thinks, for its author and the replay. They cost microseconds and never a turn; what is
    // wrong or too much is dropped, and the terminal says so once. Any thread may call these while a move is computed.

    /// <summary>Says something about the move; several texts are put below each other: at most 1,000 characters.</summary>
    public static void Say(string text)
    {
        Noted.Say(text);
    }

    /// <summary>Says how likely this bot wins, from -1 (it loses) to 1 (it wins). The last call for a move counts.</summary>
    public static void Estimate(double value)
    {
        Noted.Estimate(value);
    }

    /// <summary>Draws on the board of the replay, at most 64 times for a move.</summary>
    /// <param name="squares">an int[] {row, column}, or an int[][] or a list of these, at most 64</param>
    /// <param name="label">a text of at most 8 characters, or a number; null for none</param>
    /// <param name="color">
    /// "black", "white", "blue", "orange", "red", "green", "yellow", "purple" or "grey"; null for that of the bot's own side
    /// </param>
    /// <param name="shape">"mark" or "region"; "arrow" along 2 to 16 squares, or "domino" on 2</param>
    public static void Draw(object squares, object label = null, string color = null, string shape = "mark")
    {
        try
        {
            Noted.Draw(squares, label, color, shape);
        }
        catch (Exception) // a list of the bot that changes meanwhile, for example: a note never costs a turn
        {
        }
    }

    /// <summary>Tags the match with a word of at most 24 characters, such as an opening's name: at most 8 for a move.</summary>
    public static void Tag(string word)
    {
        Noted.Tag(word);
    }

    private static List<Result> Run(Settings settings, TurnBot bot, Terminal console)
    {
        Restarted before = Restarted.Of(settings.Variable(Restarted.Variable));
        if (before != null && int.TryParse(settings.Variable(Restarted.First), out int first))
        {
            new Thread(() => EndWith(first)) { IsBackground = true, Name = "getstep first program" }.Start();
        }
        Environment.SetEnvironmentVariable(Restarted.Variable, null); // not for programs that the bot starts
        try
        {
            return Play(settings, bot, console, before);
        }
        catch (Hung hung)
        {
            if (before != null)
            {
                Environment.Exit(hung.State.ExitCode); // the first program starts the next one
            }
            Environment.Exit(StartAgain(settings, hung.State));
            return null;
        }
    }

    private static List<Result> Play(Settings settings, TurnBot bot, Terminal console, Restarted before)
    {
        TextWriter original = Console.Out;
        var client = new Client(settings, bot, console, before);
        Console.CancelKeyPress += client.OnCtrlC;
        try
        {
            Console.SetOut(client.Output);
            return client.Run();
        }
        finally
        {
            Console.SetOut(original);
            Console.CancelKeyPress -= client.OnCtrlC;
        }
    }

    // --- errors --------------------------------------------------------------------------------------------------

    /// <summary>An option, a variable or the saved login is missing or not valid.</summary>
    internal sealed class SetupError : Exception
    {
        public SetupError(string message) : base(message) { }
    }

    /// <summary>The server does not let this bot play, or cannot be found.</summary>
    internal sealed class Refused : Exception
    {
        public Refused(string message) : base(message) { }
    }

    /// <summary>Ctrl-C was pressed.</summary>
    internal sealed class Stopped : Exception { }

    /// <summary>There is no usable connection, and the bot tries again. The message says why, for the bot's author.</summary>
    internal class ConnectionFailed : Exception
    {
        public ConnectionFailed(string message) : base(message) { }
    }

    /// <summary>The host's name does not resolve.</summary>
    internal sealed class Unresolved : ConnectionFailed
    {
        public Unresolved(string message) : base(message) { }
    }

    /// <summary>The peer sent something that the protocol does not allow.</summary>
    internal sealed class ProtocolError : Exception
    {
        /// <summary>The reason code of protocol.md, such as "oversize_frame".</summary>
        public string Code { get; }

        public ProtocolError(string code, string detail) : base(code + ": " + detail)
        {
            Code = code;
        }
    }

    /// <summary>The match is of a game that the bot does not play.</summary>
    internal sealed class NotPlayed : Exception
    {
        public NotPlayed(string message) : base(message) { }
    }

    /// <summary>A value that cannot be sent.</summary>
    internal sealed class NotSendable : Exception
    {
        public NotSendable(string message) : base(message) { }
    }

    // --- the limits of the wire (protocol.md, "Limits") ----------------------------------------------------------

    internal const int Protocol = 1;
    internal const int HeaderBytes = 4;
    internal const int MaxClientFrame = 4096;
    internal const int MaxServerFrame = 16384;
    internal const int MaxDepth = 8;
    internal const int MaxArray = 128;
    internal const int MaxMap = 32;
    internal const int MaxText = 500;
    internal const int MaxName = 64;
    internal const int MaxOpening = 20;
    internal const int MaxTextBytes = 4 * MaxText;
    internal const int MaxId = int.MaxValue;
    internal const int MaxMs = 24 * 3600 * 1000;
    internal const int NonceDigits = 32;
    internal const int MacDigits = 64;
    internal const int NotesBytes = 3584; // of 4,096 of a frame: the longest move of a game takes 400
    internal const int MaxSaid = 1000; // characters
    internal const int MaxDrawings = 64;
    internal const int MaxSquares = 64;
    internal const int MaxArrow = 16; // squares
    internal const int MaxSide = 128; // rows and columns
    internal const int MaxLabel = 8;
    internal const int MaxTags = 8; // of a move
    internal const int MaxTag = 24;

    private static readonly Encoding StrictUtf8 = new UTF8Encoding(false, true); // it refuses what is not UTF-8

    // --- msgpack -------------------------------------------------------------------------------------------------

    /// <summary>Decodes one msgpack value. What it costs is bounded by the limits, whatever the bytes are.</summary>
    internal sealed class Decoder
    {
        private readonly byte[] data;
        private int at;

        private Decoder(byte[] data)
        {
            this.data = data;
        }

        /// <summary>Returns the map in the body of a frame. Integers are long, or ulong from 2^63 on.</summary>
        public static Dictionary<string, object> Decode(byte[] body)
        {
            var decoder = new Decoder(body);
            object value = decoder.Value(0);
            if (decoder.at < body.Length)
            {
                throw Bad("bytes after the end of the map");
            }
            return value as Dictionary<string, object> ?? throw new ProtocolError("not_a_map", "another value, expected a map");
        }

        private static ProtocolError Bad(string detail)
        {
            return new ProtocolError("bad_msgpack", detail);
        }

        private object Value(int containersAround)
        {
            int first = (int)Number(1);
            if (first < 0x80)
            {
                return (long)first;
            }
            if (first >= 0xe0)
            {
                return (long)unchecked((sbyte)first);
            }
            if (first < 0x90)
            {
                return Map((ulong)(first & 0x0f), containersAround);
            }
            if (first < 0xa0)
            {
                return Array((ulong)(first & 0x0f), containersAround);
            }
            if (first < 0xc0)
            {
                return String((ulong)(first & 0x1f));
            }
            unchecked
            {
                switch (first)
                {
                    case 0xc0: return null;
                    case 0xc2: return false;
                    case 0xc3: return true;
                    case 0xca: return (double)BitConverter.ToSingle(BitConverter.GetBytes((uint)Number(4)), 0);
                    case 0xcb: return BitConverter.Int64BitsToDouble((long)Number(8));
                    case 0xcc: return (long)Number(1);
                    case 0xcd: return (long)Number(2);
                    case 0xce: return (long)Number(4);
                    case 0xcf:
                        ulong number = Number(8);
                        return number <= long.MaxValue ? (object)(long)number : number;
                    case 0xd0: return (long)(sbyte)Number(1);
                    case 0xd1: return (long)(short)Number(2);
                    case 0xd2: return (long)(int)Number(4);
                    case 0xd3: return (long)Number(8);
                    case 0xd9: return String(Number(1));
                    case 0xda: return String(Number(2));
                    case 0xdb: return String(Number(4));
                    case 0xdc: return Array(Number(2), containersAround);
                    case 0xdd: return Array(Number(4), containersAround);
                    case 0xde: return Map(Number(2), containersAround);
                    case 0xdf: return Map(Number(4), containersAround);
                    default: throw Bad($"type byte 0x{first:x2}: bin and ext are not used here");
                }
            }
        }

        private ulong Number(int bytes)
        {
            if (data.Length - at < bytes)
            {
                throw Bad("it ends inside a value");
            }
            ulong number = 0;
            for (int i = 0; i < bytes; i++)
            {
                number = number << 8 | data[at++];
            }
            return number;
        }

        private string String(ulong length)
        {
            CheckClaim("a string", length, MaxTextBytes);
            if (data.Length - at < (int)length)
            {
                throw Bad("it ends inside a string");
            }
            try
            {
                string text = StrictUtf8.GetString(data, at, (int)length);
                at += (int)length;
                return text;
            }
            catch (ArgumentException)
            {
                throw Bad("a string that is not UTF-8");
            }
        }

        private IList<object> Array(ulong length, int containersAround)
        {
            CheckDepth(containersAround);
            CheckClaim("an array", length, MaxArray);
            var items = new object[(int)length];
            for (int i = 0; i < items.Length; i++)
            {
                items[i] = Value(containersAround + 1);
            }
            return System.Array.AsReadOnly(items); // a bot gets the opponent's last move as it is here
        }

        private Dictionary<string, object> Map(ulong length, int containersAround)
        {
            CheckDepth(containersAround);
            CheckClaim("a map", length, MaxMap);
            var pairs = new object[(int)length, 2];
            for (int i = 0; i < (int)length; i++)
            {
                pairs[i, 0] = Value(containersAround + 1);
                pairs[i, 1] = Value(containersAround + 1);
            }
            var map = new Dictionary<string, object>(StringComparer.Ordinal);
            for (int i = 0; i < (int)length; i++)
            {
                if (!(pairs[i, 0] is string key))
                {
                    throw new ProtocolError("bad_key", "a key " + Text.Shown(pairs[i, 0]) + ", expected a string");
                }
                if (map.ContainsKey(key))
                {
                    throw new ProtocolError("duplicate_key", "the key " + Text.Shown(key) + " twice");
                }
                map.Add(key, pairs[i, 1]);
            }
            return map;
        }

        private static void CheckDepth(int containersAround)
        {
            if (containersAround >= MaxDepth)
            {
                throw new ProtocolError("too_deep", $"more than {MaxDepth} containers inside each other");
            }
        }

        private static void CheckClaim(string what, ulong length, int most)
        {
            if (length > (ulong)most)
            {
                throw new ProtocolError("too_large", $"{what} that claims a length of {length}, expected at most {most}");
            }
        }
    }

    /// <summary>Encodes a message of this client, and checks that the server can decode it.</summary>
    internal sealed class Encoder
    {
        private readonly List<byte> written = new List<byte>(256);

        /// <summary>Returns a frame with its header.</summary>
        public static byte[] Frame(IDictionary message)
        {
            var encoder = new Encoder();
            encoder.Number(0, HeaderBytes);
            encoder.Value(message, 0);
            byte[] frame = encoder.written.ToArray();
            int length = frame.Length - HeaderBytes;
            for (int i = 0; i < HeaderBytes; i++)
            {
                frame[i] = unchecked((byte)(length >> 8 * (HeaderBytes - 1 - i)));
            }
            return frame;
        }

        /// <summary>Returns the bytes that a value takes on the wire.</summary>
        public static int Size(object value)
        {
            var encoder = new Encoder();
            encoder.Value(value, 2); // in a message, in its notes
            return encoder.written.Count;
        }

        private void Value(object value, int containersAround)
        {
            if (value == null)
            {
                Number(0xc0, 1);
            }
            else if (value is bool truth)
            {
                Number(truth ? 0xc3UL : 0xc2UL, 1);
            }
            else if (value is ulong big && big > long.MaxValue)
            {
                Tagged(0xcf, big, 8);
            }
            else if (value is int || value is long || value is short || value is sbyte
                || value is uint || value is ulong || value is ushort || value is byte)
            {
                Integer(Convert.ToInt64(value, CultureInfo.InvariantCulture));
            }
            else if (value is double || value is float)
            {
                double real = Convert.ToDouble(value, CultureInfo.InvariantCulture);
                Tagged(0xcb, unchecked((ulong)BitConverter.DoubleToInt64Bits(real)), 8);
            }
            else if (value is string || value is char)
            {
                String(value.ToString());
            }
            else if (value is IDictionary map)
            {
                Map(map, containersAround);
            }
            else if (value is IEnumerable items)
            {
                Array(items, containersAround);
            }
            else
            {
                throw new NotSendable("a value of the type " + value.GetType());
            }
            // Checked after each value: lists that hold each other would otherwise grow without end.
            if (written.Count > HeaderBytes + MaxClientFrame)
            {
                throw new NotSendable($"a frame of more than {MaxClientFrame} bytes");
            }
        }

        private void Number(ulong number, int bytes)
        {
            for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
            {
                written.Add(unchecked((byte)(number >> shift)));
            }
        }

        private void Tagged(int tag, ulong number, int bytes)
        {
            written.Add((byte)tag);
            Number(number, bytes);
        }

        private void Integer(long number)
        {
            ulong bits = unchecked((ulong)number);
            if (number >= -32 && number < 128)
            {
                Number(bits, 1);
            }
            else if (number >= 0)
            {
                int size = number <= byte.MaxValue ? 0 : number <= ushort.MaxValue ? 1 : number <= uint.MaxValue ? 2 : 3;
                Tagged(0xcc + size, bits, 1 << size);
            }
            else
            {
                int size = number >= sbyte.MinValue ? 0 : number >= short.MinValue ? 1 : number >= int.MinValue ? 2 : 3;
                Tagged(0xd0 + size, bits, 1 << size);
            }
        }

        private void String(string text)
        {
            byte[] bytes;
            try
            {
                bytes = text.Length > MaxTextBytes ? new byte[MaxTextBytes + 1] : StrictUtf8.GetBytes(text);
            }
            catch (ArgumentException)
            {
                throw new NotSendable("a text that is not valid Unicode");
            }
            if (bytes.Length > MaxTextBytes)
            {
                throw new NotSendable($"a text of more than {MaxTextBytes} bytes");
            }
            if (bytes.Length < 32)
            {
                Number((ulong)(0xa0 | bytes.Length), 1);
            }
            else if (bytes.Length < 256)
            {
                Tagged(0xd9, (ulong)bytes.Length, 1);
            }
            else
            {
                Tagged(0xda, (ulong)bytes.Length, 2);
            }
            written.AddRange(bytes);
        }

        private void Array(IEnumerable items, int containersAround)
        {
            if (items is Array array && array.Rank > 1)
            {
                throw new NotSendable("an array such as int[,]; use int[][]");
            }
            var values = new List<object>();
            foreach (object item in items)
            {
                if (values.Count == MaxArray)
                {
                    throw new NotSendable($"an array of more than {MaxArray} elements");
                }
                values.Add(item);
            }
            Header(0x90, 0xdc, values.Count, containersAround);
            foreach (object item in values)
            {
                Value(item, containersAround + 1);
            }
        }

        private void Map(IDictionary map, int containersAround)
        {
            if (map.Count > MaxMap)
            {
                throw new NotSendable($"a map of {map.Count} elements, expected at most {MaxMap}");
            }
            Header(0x80, 0xde, map.Count, containersAround);
            foreach (DictionaryEntry entry in map)
            {
                String(entry.Key as string ?? throw new NotSendable("a map with a key that is no text"));
                Value(entry.Value, containersAround + 1);
            }
        }

        private void Header(int small, int tag, int length, int containersAround)
        {
            if (containersAround >= MaxDepth)
            {
                throw new NotSendable($"more than {MaxDepth} containers inside each other");
            }
            if (length < 16)
            {
                Number((ulong)(small | length), 1);
            }
            else
            {
                Tagged(tag, (ulong)length, 2);
            }
        }
    }

    /// <summary>Splits a stream of bytes into the bodies of frames.</summary>
    internal sealed class FrameReader
    {
        private byte[] buffer = new byte[HeaderBytes + MaxServerFrame];
        private int start;
        private int end;

        /// <summary>Adds received bytes.</summary>
        public void Feed(byte[] data, int length)
        {
            if (buffer.Length - end < length)
            {
                byte[] target = end - start + length <= buffer.Length ? buffer : new byte[end - start + length];
                Buffer.BlockCopy(buffer, start, target, 0, end - start);
                buffer = target;
                end -= start;
                start = 0;
            }
            Buffer.BlockCopy(data, 0, buffer, end, length);
            end += length;
        }

        /// <summary>True if a part of a frame is left, once all bodies are taken out.</summary>
        public bool Partial => end > start;

        /// <summary>Returns the next complete body, or null if more bytes are needed.</summary>
        public byte[] NextBody()
        {
            if (end - start < HeaderBytes)
            {
                return null;
            }
            uint length = 0;
            for (int i = 0; i < HeaderBytes; i++)
            {
                length = length << 8 | buffer[start + i];
            }
            if (length == 0)
            {
                throw new ProtocolError("empty_frame", "a frame of 0 bytes, expected at least 1");
            }
            if (length > MaxServerFrame)
            {
                throw new ProtocolError("oversize_frame", $"a frame of {length} bytes, expected at most {MaxServerFrame}");
            }
            int until = start + HeaderBytes + (int)length;
            if (until > end)
            {
                return null;
            }
            var body = new byte[length];
            Buffer.BlockCopy(buffer, start + HeaderBytes, body, 0, body.Length);
            start = until;
            return body;
        }
    }

    // --- messages (protocol.md, "Messages") ----------------------------------------------------------------------

    /// <summary>A message from the server. Only the fields of its type have values.</summary>
    internal sealed class Message
    {
        public string Type { get; }
        public List<long> Versions { get; private set; }
        public string Nonce { get; private set; }
        public string Contest { get; private set; }
        public string Server { get; private set; }
        public string Name { get; private set; }
        public string Proof { get; private set; }
        public Fence Fence { get; private set; }
        public string FenceProof { get; private set; }
        public string Game { get; private set; }
        public string Opponent { get; private set; }
        public string TimeKind { get; private set; }
        public string Result { get; private set; }
        public string Reason { get; private set; }
        public string Detail { get; private set; }
        public int Team { get; private set; }
        public int Match { get; private set; }
        public int Id { get; private set; }
        public int MoveNumber { get; private set; }
        public int TimeMs { get; private set; }
        public int TimeLeftMs { get; private set; }
        public int LagMs { get; private set; }
        public int? IncrementMs { get; private set; }
        public int? RetryMs { get; private set; }
        public bool Friendly { get; private set; }
        public bool Dialled { get; private set; }
        public bool IsBlack { get; private set; }
        public bool Resumed { get; private set; }
        public int[][] Board { get; private set; }
        public object LastMove { get; private set; }
        public List<object> Scores { get; private set; }
        public IReadOnlyList<object> Opening { get; private set; } = new object[0];
        public Dictionary<string, int> Options { get; private set; }

        private Message(string type)
        {
            Type = type;
        }

        /// <summary>Returns the message in a map.</summary>
        public static Message Of(Dictionary<string, object> map)
        {
            map.TryGetValue("type", out object type);
            var message = new Message(type as string ?? "");
            var fields = new Fields(map);
            switch (message.Type)
            {
                case "hello":
                    message.ReadHello(fields);
                    break;
                case "welcome":
                    message.ReadWelcome(fields);
                    break;
                case "start":
                    message.ReadStart(fields);
                    break;
                case "get_step":
                    message.ReadGetStep(fields);
                    break;
                case "penalty":
                    message.Id = fields.Integer("id", 1, MaxId);
                    message.ReadReason(fields);
                    break;
                case "end":
                    message.ReadEnd(fields);
                    break;
                case "notice":
                    message.Reason = fields.String("kind", MaxName);
                    message.Match = fields.Required("match") == null ? 0 : fields.Integer("match", 1, MaxId);
                    message.Detail = fields.String("text", MaxText);
                    break;
                case "goodbye":
                    message.ReadReason(fields);
                    fields.Required("retry_ms");
                    message.RetryMs = fields.OptionalMs("retry_ms");
                    break;
                default:
                    throw new ProtocolError("unknown_type", "type is " + Text.Shown(type));
            }
            return message;
        }

        private void ReadHello(Fields fields)
        {
            Versions = new List<long>();
            foreach (object version in fields.Array("versions"))
            {
                Versions.Add(version is long number && number >= 1 && number <= MaxId
                    ? number
                    : throw Fields.Wrong("versions", version, "whole numbers from 1"));
            }
            Nonce = fields.Hex("nonce", NonceDigits);
            Dialled = fields.OptionalBool("dialled");
            Contest = fields.String("contest", MaxName);
            Server = fields.String("server", MaxName);
            Friendly = fields.OptionalBool("friendly");
        }

        private void ReadWelcome(Fields fields)
        {
            Team = fields.Integer("team", 0, MaxId);
            Name = fields.String("name", MaxName);
            LagMs = fields.Integer("lag_ms", 0, MaxMs);
            foreach (object game in fields.Array("games"))
            {
                new Message("game").ReadGame(new Fields(Fields.Map("games", game)));
            }
            Proof = fields.IsNil("proof") ? null : fields.Hex("proof", MacDigits);
            int number = fields.IsNil("fence") ? 0 : fields.Integer("fence", 1, MaxId);
            bool bare = fields.IsNil("fence_certificate");
            Fence = new Fence(number, bare ? "" : fields.Hex("fence_certificate", MacDigits));
            FenceProof = fields.IsNil("fence_proof") ? null : fields.Hex("fence_proof", MacDigits);
        }

        private void ReadGame(Fields fields)
        {
            Game = fields.String("game", MaxName);
            Options = fields.Options();
            TimeKind = fields.OneOf("time_kind", "move", "budget");
            TimeMs = fields.Integer("time_ms", 1, MaxMs);
            IncrementMs = fields.OptionalMs("increment_ms");
        }

        private void ReadStart(Fields fields)
        {
            Match = fields.Integer("match", 1, MaxId);
            ReadGame(fields);
            IsBlack = fields.Bool("is_black");
            Opponent = fields.String("opponent", MaxName);
            LagMs = fields.Integer("lag_ms", 0, MaxMs);
            Resumed = fields.Bool("resumed");
            Friendly = fields.OptionalBool("friendly");
            if (!fields.IsNil("opening"))
            {
                Opening = fields.Array("opening").ToArray();
                if (Opening.Count < 1 || Opening.Count > MaxOpening)
                {
                    throw Fields.Wrong("opening", Opening, $"1 to {MaxOpening} moves");
                }
            }
        }

        private void ReadGetStep(Fields fields)
        {
            Id = fields.Integer("id", 1, MaxId);
            MoveNumber = fields.Integer("move_number", 1, MaxId);
            Board = fields.Board();
            IsBlack = fields.Bool("is_black");
            TimeLeftMs = fields.Integer("time_left_ms", 0, MaxMs);
            LastMove = fields.Required("last_move");
        }

        private void ReadEnd(Fields fields)
        {
            Match = fields.Integer("match", 1, MaxId);
            Result = fields.OneOf("result", "win", "draw", "loss", "void");
            ReadReason(fields);
            if (fields.Required("scores") != null)
            {
                Scores = fields.Array("scores").ToList();
                if (Scores.Count != 2)
                {
                    throw Fields.Wrong("scores", Scores, "one for each player");
                }
            }
        }

        private void ReadReason(Fields fields)
        {
            Reason = fields.String("reason", MaxName);
            Detail = fields.String("detail", MaxText);
        }

        /// <summary>Returns true if this question repeats another one; only the time left may differ.</summary>
        public bool Repeats(Message ask)
        {
            return Id == ask.Id && MoveNumber == ask.MoveNumber && IsBlack == ask.IsBlack
                && StructuralComparisons.StructuralEqualityComparer.Equals(Board, ask.Board)
                && Same(LastMove, ask.LastMove);
        }

        private static bool Same(object one, object other)
        {
            if (one is IList<object> items && other is IList<object> others)
            {
                return items.Count == others.Count && items.Zip(others, (item, second) => Same(item, second)).All(same => same);
            }
            if (one is Dictionary<string, object> map && other is Dictionary<string, object> otherMap)
            {
                return map.Count == otherMap.Count
                    && map.All(pair => otherMap.TryGetValue(pair.Key, out object value) && Same(pair.Value, value));
            }
            return Equals(one, other);
        }
    }

    /// <summary>The keys of a map, checked one by one.</summary>
    internal sealed class Fields
    {
        private readonly Dictionary<string, object> map;

        public Fields(Dictionary<string, object> map)
        {
            this.map = map;
        }

        public static ProtocolError Wrong(string name, object value, string expected)
        {
            return new ProtocolError("bad_field", $"{name} is {Text.Shown(value)}, expected {expected}");
        }

        public object Required(string name)
        {
            return map.TryGetValue(name, out object value)
                ? value
                : throw new ProtocolError("bad_field", name + " is missing");
        }

        public bool IsNil(string name)
        {
            return !map.TryGetValue(name, out object value) || value == null;
        }

        public int Integer(string name, int lowest, int highest)
        {
            object value = Required(name);
            return value is long number && number >= lowest && number <= highest
                ? (int)number
                : throw Wrong(name, value, $"a whole number from {lowest} to {highest}");
        }

        public int? OptionalMs(string name)
        {
            return IsNil(name) ? (int?)null : Integer(name, 0, MaxMs);
        }

        public bool Bool(string name)
        {
            object value = Required(name);
            return value is bool truth ? truth : throw Wrong(name, value, "true or false");
        }

        public bool OptionalBool(string name)
        {
            return !IsNil(name) && Bool(name);
        }

        public string String(string name, int most)
        {
            object value = Required(name);
            return value is string text && Text.CodePoints(text).Count() <= most
                ? text
                : throw Wrong(name, value, $"text of at most {most} characters");
        }

        public string Hex(string name, int digits)
        {
            object value = Required(name);
            return value is string text && text.Length == digits && text.All(c => c >= '0' && c <= '9' || c >= 'a' && c <= 'f')
                ? text
                : throw Wrong(name, value, $"{digits} lower-case hexadecimal digits");
        }

        public string OneOf(string name, params string[] allowed)
        {
            object value = Required(name);
            return value is string text && allowed.Contains(text)
                ? text
                : throw Wrong(name, value, "one of " + string.Join(", ", allowed));
        }

        public IList<object> Array(string name)
        {
            return List(name, Required(name));
        }

        private static IList<object> List(string name, object value)
        {
            return value as IList<object> ?? throw Wrong(name, value, "an array");
        }

        public static Dictionary<string, object> Map(string name, object value)
        {
            return value as Dictionary<string, object> ?? throw Wrong(name, value, "a map");
        }

        public Dictionary<string, int> Options()
        {
            var fields = new Fields(Map("options", Required("options")));
            return fields.map.Keys.ToDictionary(name => name, name => fields.Integer(name, -MaxId, MaxId));
        }

        public int[][] Board()
        {
            return Array("board").Select(row => List("board", row).Select(Cell).ToArray()).ToArray();
        }

        private static int Cell(object cell)
        {
            return cell is long number && number >= int.MinValue && number <= int.MaxValue
                ? (int)number
                : throw Wrong("board", cell, "whole numbers");
        }
    }

    // --- the conversation (protocol.md, "The conversation") ------------------------------------------------------

    /// <summary>The state of the conversation.</summary>
    internal enum State
    {
        /// <summary>Connected; the server sends hello.</summary>
        Greeting,

        /// <summary>The client sends join.</summary>
        Login,

        /// <summary>Join is sent; the server sends welcome or goodbye.</summary>
        Deciding,

        /// <summary>Logged in, no match.</summary>
        Lobby,

        /// <summary>In a match, no open question.</summary>
        Match,

        /// <summary>In a match, with an open question.</summary>
        Turn,

        /// <summary>After goodbye.</summary>
        Closed,
    }

    /// <summary>The client's end of a conversation, without a socket: it turns bytes into messages.</summary>
    internal sealed class Conversation
    {
        private readonly FrameReader reader = new FrameReader();

        public State State { get; set; } = State.Greeting;

        public void Feed(byte[] data, int length)
        {
            if (State != State.Closed)
            {
                reader.Feed(data, length);
            }
        }

        /// <summary>Returns the next message, or null if more bytes are needed.</summary>
        public Message Next()
        {
            byte[] body = State == State.Closed ? null : reader.NextBody();
            if (body == null)
            {
                return null;
            }
            Message message = Message.Of(Decoder.Decode(body));
            State = Following(message.Type)
                ?? throw new ProtocolError("out_of_order", $"{message.Type} in state {State.ToString().ToUpperInvariant()}");
            return message;
        }

        /// <summary>Returns what is wrong with the end of the stream here, or null.</summary>
        public ProtocolError AtEnd()
        {
            return State != State.Closed && reader.Partial
                ? new ProtocolError("truncated_frame", "the connection closed inside a frame")
                : null;
        }

        private State? Following(string type)
        {
            if (type == "goodbye")
            {
                return State.Closed;
            }
            bool welcomed = State == State.Lobby || State == State.Match || State == State.Turn;
            if (type == "notice" && welcomed)
            {
                return State;
            }
            switch (State)
            {
                case State.Greeting: return type == "hello" ? State.Login : (State?)null;
                case State.Deciding: return type == "welcome" ? State.Lobby : (State?)null;
                case State.Lobby: return type == "start" ? State.Match : (State?)null;
                case State.Match: return type == "get_step" ? State.Turn : Closing(type);
                case State.Turn: return Closing(type);
                default: return null;
            }
        }

        private static State? Closing(string type)
        {
            return type == "penalty" ? State.Match : type == "end" ? State.Lobby : (State?)null;
        }
    }

    // --- the login (protocol.md, "Logging in") -------------------------------------------------------------------

    /// <summary>The fencing number that a server has proved, and its certificate; 0 if no computer has taken over.</summary>
    internal sealed class Fence
    {
        public static readonly Fence None = new Fence(0, "");

        public int Number { get; }

        public string Certificate { get; }

        public Fence(int number, string certificate)
        {
            Number = number;
            Certificate = certificate;
        }
    }

    /// <summary>Signatures and tokens.</summary>
    internal static class Auth
    {
        private const string ProofPrefix = "getstep server proof v1:";
        private const string LoginAtPrefix = "getstep login v2:";
        private const string ProofAtPrefix = "getstep server proof v2:";
        private const string FencePrefix = "getstep fence v1:";
        private static readonly Regex Generated = new Regex(@"\A[abcdefghjkmnpqrstuvwxyz23456789]{12}\z");

        public static string NewNonce()
        {
            var bytes = new byte[NonceDigits / 2];
            using (RandomNumberGenerator random = RandomNumberGenerator.Create())
            {
                random.GetBytes(bytes);
            }
            return Hex(bytes);
        }

        /// <summary>Returns the client's signature; dialled is null if `join` has no address.</summary>
        public static string Sign(string token, string nonce, string dialled)
        {
            return Hmac(token, dialled == null ? nonce : LoginAtPrefix + nonce + dialled);
        }

        public static bool IsProof(string token, string serverNonce, string clientNonce, string dialled, string proof)
        {
            string nonces = serverNonce + clientNonce;
            return IsEqual(Hmac(token, dialled == null ? ProofPrefix + nonces : ProofAtPrefix + nonces + dialled), proof);
        }

        public static bool IsFenceProof(string token, string serverNonce, string clientNonce, Fence fence, string proof)
        {
            string numbered = fence.Number.ToString(CultureInfo.InvariantCulture) + ":" + fence.Certificate;
            return IsEqual(Hmac(token, FencePrefix + serverNonce + clientNonce + numbered), proof);
        }

        private static bool IsEqual(string right, string proof)
        {
            int different = right.Length ^ proof.Length;
            for (int i = 0; i < Math.Min(right.Length, proof.Length); i++)
            {
                different |= right[i] ^ proof[i]; // all digits, whichever differs: in constant time
            }
            return different == 0;
        }

        /// <summary>Returns a token that a server has made in the form on paper; a token of another kind unchanged.</summary>
        public static string Canonical(string token)
        {
            string letters = Regex.Replace(token, @"[-\s]", "").ToLowerInvariant();
            return Generated.IsMatch(letters)
                ? letters.Substring(0, 4) + "-" + letters.Substring(4, 4) + "-" + letters.Substring(8)
                : token;
        }

        private static string Hmac(string token, string text)
        {
            using (var hmac = new HMACSHA256(Encoding.UTF8.GetBytes(token)))
            {
                return Hex(hmac.ComputeHash(Encoding.UTF8.GetBytes(text)));
            }
        }

        private static string Hex(byte[] bytes)
        {
            return string.Concat(bytes.Select(b => b.ToString("x2", CultureInfo.InvariantCulture)));
        }
    }

    // --- text for people -----------------------------------------------------------------------------------------

    /// <summary>Text that any terminal can show, whatever the server sent.</summary>
    internal static class Text
    {
        private const int MostShown = 200;
        private const int MostLines = 30;
        private const int MostTraced = 4000;

        /// <summary>Returns the characters of a text as numbers; half a surrogate pair is one alone.</summary>
        public static IEnumerable<int> CodePoints(string text)
        {
            for (int i = 0; i < text.Length; i++)
            {
                bool pair = char.IsHighSurrogate(text[i]) && i + 1 < text.Length && char.IsLowSurrogate(text[i + 1]);
                yield return pair ? char.ConvertToUtf32(text[i], text[++i]) : text[i];
            }
        }

        private static string Character(int c)
        {
            return c < 0x10000 ? ((char)c).ToString() : char.ConvertFromUtf32(c);
        }

        /// <summary>Returns text with control, bidi and other invisible characters escaped.</summary>
        public static string Escape(string text)
        {
            return string.Concat(CodePoints(text).Select(c => IsPrintable(c) ? Character(c) : Escaped(c)));
        }

        public static bool IsPrintable(string text)
        {
            return CodePoints(text).All(IsPrintable);
        }

        private static bool IsPrintable(int c)
        {
            switch (CharUnicodeInfo.GetUnicodeCategory(Character(c), 0))
            {
                case UnicodeCategory.Control:
                case UnicodeCategory.Format:
                case UnicodeCategory.Surrogate:
                case UnicodeCategory.PrivateUse:
                case UnicodeCategory.OtherNotAssigned:
                case UnicodeCategory.LineSeparator:
                case UnicodeCategory.ParagraphSeparator:
                    return false;
                case UnicodeCategory.SpaceSeparator:
                    return c == ' ';
                default:
                    return true;
            }
        }

        public static string Escaped(int c)
        {
            switch (c)
            {
                case '\n': return "\\n";
                case '\r': return "\\r";
                case '\t': return "\\t";
                default: return c < 0x100 ? $"\\x{c:x2}" : c < 0x10000 ? $"\\u{c:x4}" : $"\\U{c:x8}";
            }
        }

        /// <summary>Returns a text in which characters that an encoding cannot show are escaped.</summary>
        public static string For(Encoding encoding, string text)
        {
            var strict = encoding.Clone() as Encoding;
            if (strict == null || strict.IsReadOnly)
            {
                return text; // an encoding of a kind that does not say what it cannot show
            }
            strict.EncoderFallback = EncoderFallback.ExceptionFallback;
            return string.Concat(CodePoints(text).Select(c =>
            {
                try
                {
                    return strict.GetByteCount(Character(c)) > 0 ? Character(c) : "";
                }
                catch (ArgumentException)
                {
                    return Escaped(c);
                }
            }));
        }

        /// <summary>Returns a value on one line, shortened.</summary>
        public static string Shown(object value)
        {
            var text = new StringBuilder();
            Show(value, text, 4);
            string line = Escape(text.ToString());
            return line.Length <= MostShown ? line : line.Substring(0, MostShown) + "...";
        }

        private static void Show(object value, StringBuilder text, int depth)
        {
            if (text.Length > MostShown)
            {
                return;
            }
            if (value is string whole)
            {
                text.Append('"').Append(whole, 0, Math.Min(whole.Length, MostShown)).Append('"');
            }
            else if (value is IDictionary map)
            {
                text.Append("a map of ").Append(map.Count);
            }
            else if (value is IEnumerable items)
            {
                text.Append('[');
                bool first = true;
                foreach (object item in items)
                {
                    text.Append(first ? "" : ", ");
                    first = false;
                    if (depth == 0 || text.Length > MostShown)
                    {
                        text.Append("...");
                        break;
                    }
                    Show(item, text, depth - 1);
                }
                text.Append(']');
            }
            else
            {
                text.Append(value == null ? "null" : Convert.ToString(value, CultureInfo.InvariantCulture));
            }
        }

        /// <summary>Returns text for a field of a message: valid Unicode of at most so many characters.</summary>
        public static string Sendable(string text, int most = MaxText)
        {
            return string.Concat(CodePoints(text).Take(most).Select(c => c >= 0xd800 && c <= 0xdfff ? "?" : Character(c)));
        }

        /// <summary>Returns the start of a text: at most so many characters, and bytes of UTF-8.</summary>
        public static string Cut(string text, int characters, int bytes)
        {
            if (text.Length <= characters && 3 * text.Length <= bytes)
            {
                return text;
            }
            int end = 0, charactersLeft = characters, bytesLeft = bytes;
            foreach (int c in CodePoints(text))
            {
                charactersLeft--;
                bytesLeft -= c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
                if (charactersLeft < 0 || bytesLeft < 0)
                {
                    break;
                }
                end += c < 0x10000 ? 1 : 2;
            }
            return text.Substring(0, end);
        }

        /// <summary>Returns a time for people: "0.8 ms", "35 ms", "0.35 s", "20 s".</summary>
        public static string Duration(double ms)
        {
            if (ms > 0 && ms < 0.1)
            {
                return "under 0.1 ms";
            }
            if (ms > 0 && ms < 100)
            {
                return ms.ToString(ms < 10 ? "0.0" : "0", CultureInfo.InvariantCulture) + " ms";
            }
            return (ms / 1000).ToString("0.##", CultureInfo.InvariantCulture) + " s";
        }

        /// <summary>Returns the error without its trace, such as "System.InvalidOperationException: no move left".</summary>
        public static string Summary(Exception error)
        {
            try
            {
                return error.GetType() + ": " + error.Message;
            }
            catch (Exception) // of the contestant's own Message
            {
                return error.GetType().ToString();
            }
        }

        /// <summary>
        /// Returns the trace of an error of the bot, without the calls of this file and not longer than a screen. What a
        /// terminal would obey is escaped: a message may have the opponent's name in it.
        /// </summary>
        public static string Trace(Exception error)
        {
            var text = new StringBuilder();
            Exception cause = error;
            for (int causes = 0; cause != null && causes < 4; causes++, cause = cause.InnerException)
            {
                text.Append(causes == 0 ? "" : "\nCaused by: ").Append(Summary(cause));
                string[] calls = (cause.StackTrace ?? "").Split('\n').Select(call => call.Trim()).ToArray();
                // Further out than the worker is only this file.
                string[] own = calls.TakeWhile(call => !Regex.IsMatch(call, @"\bGetstep[.+]Worker")).ToArray();
                foreach (string call in own.Where(call => call.Length > 0).Take(MostLines))
                {
                    text.Append("\n    ").Append(call);
                }
                text.Append(own.Length > MostLines ? "\n    ..." : "");
            }
            string whole = text.Length <= MostTraced ? text.ToString() : text.ToString(0, MostTraced) + "...";
            return string.Join("\n", whole.Replace("\r\n", "\n").Split('\n').Select(Escape));
        }
    }

    /// <summary>Prints progress to standard output, and problems to standard error.</summary>
    internal sealed class Terminal
    {
        private readonly TextWriter output = Console.Out;
        private readonly TextWriter errors = Console.Error;

        public bool Quiet { get; set; }

        /// <summary>Prints a line of progress.</summary>
        public void Say(string line)
        {
            if (!Quiet)
            {
                Print(output, line);
            }
        }

        /// <summary>Prints a problem, also if quiet.</summary>
        public void Warn(string text)
        {
            Print(errors, text);
        }

        private static void Print(TextWriter writer, string text)
        {
            try
            {
                writer.WriteLine(Text.For(writer.Encoding, text.Replace("\n", "\0")).Replace("\0", Environment.NewLine));
                writer.Flush();
            }
            catch (IOException)
            {
                // nobody reads; the bot plays on
            }
            catch (ObjectDisposedException)
            {
                // likewise
            }
        }
    }

    /// <summary>Stands in for Console.Out: the first lines that a bot prints in a match are shown, the others are counted.</summary>
    internal sealed class BotOutput : TextWriter
    {
        private const int ShownLines = 20;
        private const int MostKept = 200;

        private readonly TextWriter original = Console.Out;
        private readonly StringBuilder end = new StringBuilder();
        private int lines;

        public BotOutput() : base(CultureInfo.CurrentCulture) { }

        public override Encoding Encoding => original.Encoding;

        public override void Write(char value)
        {
            Write(value.ToString());
        }

        public override void Write(char[] buffer, int index, int count)
        {
            Write(new string(buffer, index, count));
        }

        public override void WriteLine(string value)
        {
            Write(value + NewLine);
        }

        public override void Write(string value)
        {
            lock (end)
            {
                string text = value ?? "";
                if (lines < ShownLines)
                {
                    original.Write(text);
                }
                lines += text.Count(c => c == '\n');
                end.Append(text.Length > MostKept ? text.Substring(text.Length - MostKept) : text);
                end.Remove(0, Math.Max(0, end.Length - MostKept));
            }
        }

        public override void Flush()
        {
            original.Flush();
        }

        /// <summary>Returns the line about what was not shown since the last call, or null.</summary>
        public string EndMatch()
        {
            lock (end)
            {
                int hidden = lines - ShownLines;
                lines = 0;
                if (hidden <= 0)
                {
                    return null;
                }
                string last = end.ToString().Trim().Split('\n').Last();
                return $"GetStep printed {hidden} more line{(hidden > 1 ? "s" : "")}; the last: {Text.Escape(last)}";
            }
        }
    }

    // --- settings ------------------------------------------------------------------------------------------------

    /// <summary>The options of the command line, else the GETSTEP_ variables, else the saved login, else defaults.</summary>
    internal sealed class Settings
    {
        private const int DefaultPort = 7777;
        private const int FriendlyPort = 7780;
        private const string Help = @"usage: MyBot [options]

Play in a getstep contest until it is over. You can start the bot before the contest: it waits for the
server. If the connection is lost, it reconnects. Ctrl-C stops it.

options:
  --host HOST         the host's name or address (default: the saved one, else 127.0.0.1)
  --port PORT         the host's port (default 7777)
  --tls               connect with TLS; check the certificate of the host
  --tls-pin PIN       connect with TLS; the certificate has this key: 64 digits on the slip
  --team TEAM         your team's id, a number
  --token TOKEN       your team's token
  --token-file FILE   a text file that holds the token alone
  --friendly          play against people on the live page; --port is then its port for bots
                      (default 7780). These matches count nowhere
  --quiet             print problems only
  --restart-after SECONDS
                      start the program again if GetStep has not returned so long after its limit
                      (default 10; 0 for never)
  --help, --version

The variables GETSTEP_HOST, GETSTEP_PORT, GETSTEP_TLS, GETSTEP_TEAM, GETSTEP_TOKEN,
GETSTEP_TOKEN_FILE and GETSTEP_RESTART_AFTER work as well, and so does the login that the command getstep login has saved.

exit codes: 0 the contest is over, 1 refused, 2 wrong usage, 130 stopped by Ctrl-C";
        private const string Where = "Give it as --{0} on the command line, or in the variable {1}.\n"
            + "To save host, team and token permanently: getstep login";
        private static readonly string[] WithValue =
            { "--host", "--port", "--team", "--token", "--token-file", "--restart-after", "--tls-pin" };
        private const string RestartSeconds = "10"; // a computer that is only busy is not so late
        private const double LongestRestartSeconds = 86400;

        private readonly Dictionary<string, string> given = new Dictionary<string, string>();
        private readonly Func<string, string> environment;

        /// <summary>The text that --help or --version prints; null if the bot is to play.</summary>
        public string Shows { get; private set; }

        public bool Quiet { get; private set; }
        public bool Friendly { get; private set; }
        public string Host { get; set; }
        public int Port { get; set; }

        /// <summary>"" without TLS, "roots" to have the certificate checked, or the pin of its key.</summary>
        public string Tls { get; private set; } = "";

        /// <summary>Whether the user has named the host or its port; else the client may look for them on the network.</summary>
        public bool GivenHost { get; private set; }

        public bool GivenPort { get; private set; }

        /// <summary>The contest of the saved login, and its token; null without one that was seen.</summary>
        public string Contest { get; private set; }

        public string KnownToken { get; private set; }

        public int Team { get; private set; }
        public string Token { get; private set; }

        /// <summary>Milliseconds after the limit of a question at which a bot that has not returned is given up; 0: never.</summary>
        public long RestartAfterMs { get; private set; }

        public Settings(string[] args, Func<string, string> environment)
        {
            this.environment = environment;
            Quiet = Variable("GETSTEP_QUIET") != null;
            for (int i = 0; i < args.Length; i++)
            {
                string[] parts = args[i].Split(new[] { '=' }, 2);
                if (!WithValue.Contains(parts[0]))
                {
                    Flag(args[i]);
                    continue;
                }
                if (parts.Length == 1 && i + 1 == args.Length)
                {
                    throw new SetupError(parts[0] + " needs a value; --help lists all");
                }
                given[parts[0].Substring(2)] = parts.Length == 2 ? parts[1] : args[++i];
            }
            if (given.ContainsKey("token") && given.ContainsKey("token-file"))
            {
                throw new SetupError("give --token or --token-file, not both");
            }
        }

        private void Flag(string flag)
        {
            switch (flag)
            {
                case "--tls":
                    given["tls-pin"] = Given("tls-pin") ?? "roots";
                    break;
                case "--friendly":
                    Friendly = true;
                    break;
                case "--quiet":
                    Quiet = true;
                    break;
                case "--help":
                case "-h":
                    Shows = Help.Replace("\r", "");
                    break;
                case "--version":
                    Shows = "getstep C# " + Version;
                    break;
                default:
                    throw new SetupError($"unknown argument {Text.Shown(flag)}; --help lists all");
            }
        }

        /// <summary>Finds the address, the login and the time after which a bot hangs.</summary>
        public void Find()
        {
            FindAddress();
            FindLogin();
            string text = Given("restart-after") ?? Variable("GETSTEP_RESTART_AFTER") ?? RestartSeconds;
            bool isNumber = double.TryParse(text.Trim(), NumberStyles.Float, CultureInfo.InvariantCulture, out double seconds);
            RestartAfterMs = isNumber && seconds >= 0 && seconds <= LongestRestartSeconds
                ? (long)(1000 * seconds)
                : throw new SetupError($"The restart-after is {Text.Shown(text)}, expected a number of seconds from 0 to"
                    + " 86400; 0 is never.");
        }

        public string Variable(string name)
        {
            string value = environment(name);
            return string.IsNullOrEmpty(value) ? null : value;
        }

        private string Given(string name)
        {
            return given.TryGetValue(name, out string value) ? value : null;
        }

        private void FindAddress()
        {
            string named = Given("host");
            Host = string.IsNullOrEmpty(named) ? Variable("GETSTEP_HOST") : named;
            Port = DefaultPort;
            GivenHost = Host != null;
            if (Host == null)
            {
                SavedLogin saved = SavedLogin.Load(environment);
                Contest = saved?.Contest;
                KnownToken = saved?.Contest == null ? null : saved.Token;
                Host = saved == null ? "127.0.0.1" : saved.Host;
                Port = saved == null ? DefaultPort : saved.Port; // the saved port belongs to the saved host
                Tls = saved == null ? "" : saved.Tls;
            }
            Host = Host.Trim();
            if (Host.Contains("/") || Host.Count(c => c == ':') == 1 || !Text.IsPrintable(Host))
            {
                throw new SetupError($"The host is {Text.Shown(Host)}, expected a name or an address alone, such as"
                    + " 192.168.1.10.\nThe port goes into --port or GETSTEP_PORT.");
            }
            // The contest's port in GETSTEP_PORT is not the one for friendly matches.
            string text = Given("port") ?? (Friendly ? null : Variable("GETSTEP_PORT"));
            GivenPort = text != null;
            Port = text != null ? Number("port", text, 1, 65535) : Friendly ? FriendlyPort : Port;
            string way = Given("tls-pin") ?? Variable("GETSTEP_TLS");
            // The port for friendly matches speaks no TLS.
            Tls = Friendly ? "" : way != null ? ParseTls(way) : Tls;
        }

        public static string ParseTls(string text)
        {
            string way = text.Trim().ToLowerInvariant().Replace(":", "");
            if (way == "" || way == "0")
            {
                return "";
            }
            if (way == "1" || way == "roots")
            {
                return "roots";
            }
            return Regex.IsMatch(way, @"\A[0-9a-f]{64}\z") ? way
                : throw new SetupError($"The TLS setting is {Text.Shown(text)}, expected roots, or a pin: the 64 hexadecimal"
                    + " digits on the slip from the host.");
        }

        private void FindLogin()
        {
            string text = Given("team") ?? Variable("GETSTEP_TEAM");
            string token = FindToken();
            SavedLogin saved = text == null || token == null ? SavedLogin.Load(environment) : null;
            if (text == null && saved == null)
            {
                throw new SetupError("The team id is missing; the host gave your team one, a number such as 7.\n"
                    + string.Format(CultureInfo.InvariantCulture, Where, "team", "GETSTEP_TEAM"));
            }
            Team = text == null ? saved.Team : Number("team", text, 0, MaxId);
            Token = token ?? (saved != null && saved.Team == Team ? saved.Token : null);
            if (Token == null)
            {
                throw new SetupError($"The token of team {Team} is missing; it is on the slip from the host.\n"
                    + string.Format(CultureInfo.InvariantCulture, Where, "token", "GETSTEP_TOKEN"));
            }
        }

        private string FindToken()
        {
            if (Given("token") != null)
            {
                return Check(Given("token"), "The token");
            }
            if (Given("token-file") != null)
            {
                return Read(Given("token-file"));
            }
            if (Variable("GETSTEP_TOKEN") != null)
            {
                return Check(Variable("GETSTEP_TOKEN"), "The token in the variable GETSTEP_TOKEN");
            }
            return Variable("GETSTEP_TOKEN_FILE") != null ? Read(Variable("GETSTEP_TOKEN_FILE")) : null;
        }

        private static int Number(string name, string text, int lowest, int highest)
        {
            bool whole = long.TryParse(text.Trim(), NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long number);
            return whole && number >= lowest && number <= highest
                ? (int)number
                : throw new SetupError(
                    $"The {name} is {Text.Shown(text)}, expected a whole number from {lowest} to {highest}.");
        }

        private static string Check(string token, string what)
        {
            string text = Auth.Canonical(token.Trim());
            return text.Length > 0 && !text.Any(char.IsWhiteSpace) && Text.IsPrintable(text)
                ? text
                : throw new SetupError(
                    what + " should be one word such as kq3m-x7fd-29pt, as it is on the slip from the host.");
        }

        /// <summary>Returns the one word in a text file, also if a Windows editor or shell has written it.</summary>
        private static string Read(string name)
        {
            try
            {
                byte[] data = SavedLogin.ReadStart(name);
                // The reader finds the mark of UTF-16 at the beginning, and leaves out that of UTF-8.
                using (var reader = new StreamReader(new MemoryStream(data), StrictUtf8, true))
                {
                    return Check(reader.ReadToEnd(), "The content of the token file " + Text.Shown(name));
                }
            }
            catch (Exception error) when (SavedLogin.IsOfAFile(error))
            {
                throw new SetupError($"The token file {Text.Shown(name)} cannot be read: {Text.Escape(error.Message)}\n"
                    + "Put the token from the host's slip into it, alone, as plain text.");
            }
        }
    }

    /// <summary>The login that the command "getstep login" has saved, and the latest contact with that host.</summary>
    internal sealed class SavedLogin
    {
        private const int MostBytes = 10000;
        private const string Again = "Type getstep login again, or getstep logout to remove it.";

        public string Host { get; }
        public int Port { get; }
        public int Team { get; }
        public string Token { get; }
        public string Tls { get; }
        private readonly string contest; // null if nothing was seen of that host
        public string Contest => contest;
        private readonly double at;
        private readonly bool over;

        private SavedLogin(Dictionary<string, object> data)
        {
            Host = Word(data["host"]);
            Token = Word(data["token"]);
            Port = Number(data["port"], 1, 65535);
            Tls = data.TryGetValue("tls", out object way) && way != null ? Settings.ParseTls((string)way) : "";
            Team = Number(data["team"], 0, MaxId);
            if (data.TryGetValue("seen", out object last) && last != null)
            {
                var seen = (Dictionary<string, object>)last;
                contest = Text.Escape(Convert.ToString(seen["contest"], CultureInfo.InvariantCulture));
                at = Convert.ToDouble(seen["at"], CultureInfo.InvariantCulture);
                over = (bool)seen["over"];
            }
        }

        private static string Word(object value)
        {
            return value is string text && text.Length > 0 && Text.IsPrintable(text)
                ? text
                : throw new FormatException("a value of the wrong kind");
        }

        private static int Number(object value, int lowest, int highest)
        {
            return value is long number && number >= lowest && number <= highest
                ? (int)number
                : throw new FormatException("a value of the wrong kind");
        }

        /// <summary>Returns true for the errors of opening and reading a file.</summary>
        public static bool IsOfAFile(Exception error)
        {
            return error is IOException || error is UnauthorizedAccessException || error is ArgumentException
                || error is NotSupportedException || error is System.Security.SecurityException;
        }

        /// <summary>Returns the first bytes of a file.</summary>
        public static byte[] ReadStart(string path)
        {
            using (FileStream stream = File.OpenRead(path))
            {
                var data = new byte[MostBytes];
                int length = 0;
                for (int more = 1; more > 0 && length < MostBytes; length += more)
                {
                    more = stream.Read(data, length, MostBytes - length);
                }
                return data.Take(length).ToArray();
            }
        }

        private static string FilePath(Func<string, string> environment)
        {
            string named = environment("GETSTEP_LOGIN_FILE");
            if (!string.IsNullOrEmpty(named))
            {
                return named;
            }
            string home = Environment.GetFolderPath(Environment.SpecialFolder.UserProfile);
            bool isWindows = Path.DirectorySeparatorChar == '\\';
            bool isMac = !isWindows && Directory.Exists("/System/Library/CoreServices");
            string variable = isMac ? null : environment(isWindows ? "APPDATA" : "XDG_CONFIG_HOME");
            string folder = !string.IsNullOrEmpty(variable) ? variable
                : isWindows ? Path.Combine(home, "AppData", "Roaming")
                : isMac ? Path.Combine(home, "Library", "Application Support")
                : Path.Combine(home, ".config");
            return Path.Combine(folder, "getstep", "login.json");
        }

        /// <summary>Returns the saved login, or null if there is none.</summary>
        public static SavedLogin Load(Func<string, string> environment)
        {
            string path = "";
            byte[] data;
            try
            {
                path = FilePath(environment);
                data = ReadStart(path);
            }
            catch (Exception error) when (error is FileNotFoundException || error is DirectoryNotFoundException)
            {
                return null;
            }
            catch (Exception error) when (IsOfAFile(error))
            {
                throw new SetupError($"The saved login cannot be read: {Text.Escape(error.Message)}\n{Again}");
            }
            try
            {
                // Cut off, and so not JSON, if it is too long.
                return new SavedLogin((Dictionary<string, object>)Json.Parse(StrictUtf8.GetString(data)));
            }
            catch (Exception error) when (error is FormatException || error is ArgumentException || error is OverflowException
                || error is InvalidCastException || error is KeyNotFoundException || error is NullReferenceException)
            {
                throw new SetupError($"{Text.Escape(path)}: not a saved login.\n{Again}");
            }
        }

        /// <summary>Returns what it means that nothing listens at an address, by what was last seen there.</summary>
        public static string Absence(Settings settings)
        {
            SavedLogin saved = null;
            try
            {
                saved = Load(settings.Variable);
            }
            catch (SetupError)
            {
                // it tells nothing, then
            }
            if (saved == null || saved.contest == null || saved.Host != settings.Host || saved.Port != settings.Port)
            {
                return "nothing listens there; the server is not running yet, or the port is wrong";
            }
            double seconds = Math.Max(0, Math.Min(saved.at, 1e11)); // not beyond the years that a DateTime has
            DateTime when = new DateTime(1970, 1, 1, 0, 0, 0, DateTimeKind.Utc).AddSeconds(seconds).ToLocalTime();
            string time = when.ToString("yyyy-MM-dd HH:mm", CultureInfo.InvariantCulture);
            return saved.over
                ? $"nothing listens there any more; '{saved.contest}' was over when it was last seen, {time}"
                : $"nothing listens there now; '{saved.contest}' was there on {time} and was not over."
                    + " The host has stopped it for now, or has a new address";
        }
    }

    /// <summary>JSON, as far as the saved login and the test vectors of the protocol need it.</summary>
    internal sealed class Json
    {
        private const int MostNested = 64;
        private readonly string text;
        private int at;

        private Json(string text)
        {
            this.text = text;
        }

        /// <summary>Returns a Dictionary, List, string, long, double, bool or null; throws FormatException.</summary>
        public static object Parse(string text)
        {
            var json = new Json(text);
            object value = json.Value(0);
            json.Space();
            return json.at == text.Length ? value : throw json.Bad();
        }

        private FormatException Bad()
        {
            return new FormatException("not JSON at " + at);
        }

        private void Space()
        {
            while (at < text.Length && " \t\r\n".IndexOf(text[at]) >= 0)
            {
                at++;
            }
        }

        private bool Take(char wanted)
        {
            Space();
            bool here = at < text.Length && text[at] == wanted;
            at += here ? 1 : 0;
            return here;
        }

        private void Expect(char wanted)
        {
            if (!Take(wanted))
            {
                throw Bad();
            }
        }

        private object Value(int nested)
        {
            Space();
            if (at >= text.Length || nested > MostNested)
            {
                throw Bad();
            }
            switch (text[at])
            {
                case '{': return Map(nested);
                case '[': return Array(nested);
                case '"': return String();
                default: return Word();
            }
        }

        private Dictionary<string, object> Map(int nested)
        {
            var map = new Dictionary<string, object>(StringComparer.Ordinal);
            Expect('{');
            if (Take('}'))
            {
                return map;
            }
            do
            {
                Space();
                string key = String();
                Expect(':');
                map[key] = Value(nested + 1);
            }
            while (Take(','));
            Expect('}');
            return map;
        }

        private List<object> Array(int nested)
        {
            var array = new List<object>();
            Expect('[');
            if (Take(']'))
            {
                return array;
            }
            do
            {
                array.Add(Value(nested + 1));
            }
            while (Take(','));
            Expect(']');
            return array;
        }

        private string String()
        {
            Expect('"');
            var made = new StringBuilder();
            while (at < text.Length && text[at] != '"')
            {
                char c = text[at++];
                made.Append(c == '\\' ? Escape() : c);
            }
            Expect('"');
            return made.ToString();
        }

        private char Escape()
        {
            if (at >= text.Length)
            {
                throw Bad();
            }
            char c = text[at++];
            if (c == 'u' && at + 4 <= text.Length)
            {
                at += 4;
                return (char)ushort.Parse(text.Substring(at - 4, 4), NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture);
            }
            int known = "\"\\/bfnrt".IndexOf(c);
            return known >= 0 ? "\"\\/\b\f\n\r\t"[known] : throw Bad();
        }

        private object Word()
        {
            int from = at;
            while (at < text.Length && ",]} \t\r\n".IndexOf(text[at]) < 0)
            {
                at++;
            }
            string word = text.Substring(from, at - from);
            switch (word)
            {
                case "true": return true;
                case "false": return false;
                case "null": return null;
                default:
                    return long.TryParse(word, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long number)
                        ? (object)number
                        : double.Parse(word, NumberStyles.Float, CultureInfo.InvariantCulture);
            }
        }
    }

    // --- one connection ------------------------------------------------------------------------------------------

    /// <summary>What the client waits for: bytes, the bot's answer, or Ctrl-C. A thread that changes it holds its lock.</summary>
    internal sealed class Gate
    {
        private bool changed;

        public bool IsStopped { get; private set; }

        public void Notify()
        {
            lock (this)
            {
                changed = true;
                Monitor.PulseAll(this);
            }
        }

        public void Stop()
        {
            lock (this)
            {
                IsStopped = true;
                Notify();
            }
        }

        /// <summary>Waits until something has changed since the last call, or the time is over.</summary>
        public void Wait(long ms)
        {
            lock (this)
            {
                if (!changed && !IsStopped)
                {
                    Monitor.Wait(this, (int)Math.Min(ms, int.MaxValue));
                }
                changed = false;
                if (IsStopped)
                {
                    throw new Stopped();
                }
            }
        }
    }

    /// <summary>
    /// One TCP connection to the server. A thread receives, because a blocking socket cannot be waited for together with
    /// the bot's answer; only the client's thread calls the methods.
    /// </summary>
    internal sealed class Connection : IDisposable
    {
        private const int ConnectMs = 5000; // for each address of the host's name
        private const int SilenceMs = 8000; // after an answer, before the host's computer is tried
        private const int SendMs = 5000; // an answer has some hundred bytes, which fit into every network buffer
        private const int ReceiveBytes = 65536;
        private const int PollMicroseconds = 200000;
        private const int MostWaiting = 16; // received pieces: after that, TCP makes the server wait

        private readonly Socket socket;
        private readonly SslStream tls; // null without TLS
        private readonly Gate gate;
        private readonly Thread receiver;
        private readonly Queue<Message> inbox = new Queue<Message>();
        private readonly Queue<byte[]> received = new Queue<byte[]>(); // its lock guards these three
        private string endOfStream; // why nothing more will be received; "" if the server has closed the connection
        private volatile bool disposed;
        private readonly object watched = new object(); // wakes the thread that watches the host
        private long answered; // the time of the last answer in ticks; 0 if something has arrived since
        private readonly PolledStream bytes; // under TLS
        private ConnectionFailed failure; // why nothing more will arrive

        public Conversation Conversation { get; } = new Conversation();

        private Connection(Socket socket, PolledStream bytes, SslStream tls, Gate gate)
        {
            this.socket = socket;
            this.bytes = bytes;
            this.tls = tls;
            this.gate = gate;
            receiver = new Thread(ReceiveAll) { IsBackground = true, Name = "getstep receiver" };
            receiver.Start();
            new Thread(WatchHost) { IsBackground = true, Name = "getstep host watch" }.Start();
        }

        /// <summary>
        /// Ends the connection if nothing arrives for a while after an answer, and the host's computer does not answer. An
        /// answer that is not acknowledged is repeated for 15 minutes by Linux, without a keep-alive, and Mono and .NET
        /// Framework have no option for that.
        /// </summary>
        private void WatchHost()
        {
            while (!disposed)
            {
                long since = Interlocked.Read(ref answered);
                long left = since == 0 ? SilenceMs : SilenceMs - (Stopwatch.GetTimestamp() - since) * 1000 / Stopwatch.Frequency;
                if (left > 0)
                {
                    Pause((int)left);
                }
                else if (HostAnswers() || HostAnswers())
                {
                    Interlocked.CompareExchange(ref answered, 0, since);
                }
                else if (Interlocked.Read(ref answered) == since)
                {
                    lock (received)
                    {
                        endOfStream = endOfStream ?? "the host's computer does not answer";
                    }
                    gate.Notify();
                    return;
                }
            }
        }

        private void Pause(int ms)
        {
            lock (watched)
            {
                if (!disposed)
                {
                    Monitor.Wait(watched, ms);
                }
            }
        }

        private bool HostAnswers()
        {
            var watch = Stopwatch.StartNew();
            Socket probe = null;
            try
            {
                probe = new Socket(socket.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
                Open(probe, (IPEndPoint)socket.RemoteEndPoint, gate);
                return true;
            }
            catch (Exception error) when (error is ConnectionFailed || IsOfANetwork(error))
            {
                if ((error as SocketException)?.SocketErrorCode == SocketError.ConnectionRefused)
                {
                    return true; // by the computer
                }
                Pause((int)Math.Max(1, ConnectMs - watch.ElapsedMilliseconds));
                return false;
            }
            finally
            {
                probe?.Close();
            }
        }

        /// <summary>Returns the peer's address and port as in `join`: without the zone, which only this computer knows.</summary>
        public string Peer()
        {
            try
            {
                var peer = (IPEndPoint)socket.RemoteEndPoint;
                string host = peer.Address.ToString().Split('%')[0];
                return (host.Contains(":") ? "[" + host + "]" : host) + ":" + peer.Port.ToString(CultureInfo.InvariantCulture);
            }
            catch (SocketException)
            {
                throw new ConnectionFailed("the server closed the connection");
            }
        }

        /// <summary>Connects to the first of the host's addresses that accepts.</summary>
        public static Connection Connect(Settings to, Gate gate)
        {
            var failure = new ConnectionFailed("the name has no address");
            foreach (IPAddress address in Resolve(to.Host))
            {
                Socket socket = null;
                try
                {
                    socket = new Socket(address.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
                    Open(socket, new IPEndPoint(address, to.Port), gate);
                    SetOptions(socket);
                    var bytes = to.Tls == "" ? null : new PolledStream(socket);
                    SslStream tls = bytes == null ? null : ShakeHands(bytes, to, gate);
                    return new Connection(socket, bytes, tls, gate);
                }
                catch (ConnectionFailed error)
                {
                    failure = error;
                }
                catch (Exception error) when (IsOfANetwork(error))
                {
                    failure = new ConnectionFailed(Explain(error, to));
                }
                socket?.Close();
            }
            throw failure;
        }

        /// <summary>Begins TLS. A pin stands for the name, the dates and the authority of the certificate.</summary>
        private static SslStream ShakeHands(PolledStream bytes, Settings to, Gate gate)
        {
            string problem = null;
            var tls = new SslStream(bytes, false, (sender, certificate, chain, errors) =>
            {
                problem = CertificateProblem(certificate, errors, to);
                return problem == null;
            });
            Exception failure = null;
            var shaking = new Thread(() =>
            {
                try
                {
                    tls.AuthenticateAsClient(to.Host, null, SslProtocols.None, false); // None: the system's choice
                }
                catch (Exception error) when (IsOfANetwork(error) || error is AuthenticationException)
                {
                    failure = error;
                }
            }) { IsBackground = true, Name = "getstep TLS" };
            shaking.Start();
            var watch = Stopwatch.StartNew();
            while (!shaking.Join(100))
            {
                if (gate.IsStopped || watch.ElapsedMilliseconds > ConnectMs)
                {
                    bytes.Stop();
                    throw new ConnectionFailed("no TLS handshake within 5 s");
                }
            }
            if (failure != null)
            {
                bytes.Stop();
                throw new ConnectionFailed(problem
                    ?? "no TLS here, or no TLS that this computer knows (" + Text.Escape(failure.Message) + ")");
            }
            return tls;
        }

        /// <summary>Returns why a certificate is not to be trusted, or null.</summary>
        private static string CertificateProblem(X509Certificate certificate, SslPolicyErrors errors, Settings to)
        {
            if (to.Tls == "roots")
            {
                return errors == SslPolicyErrors.None ? null
                    : $"the certificate of {to.Host} is not to be trusted: {errors}. If the slip from the host has a pin, give"
                        + " it with --tls-pin";
            }
            string found = certificate == null ? "" : Pin(certificate.GetRawCertData());
            return found == to.Tls ? null
                : "the server's certificate has another key than the pin says, so it is not your host, or the host has a new"
                    + $" key (pin {found})";
        }

        /// <summary>Returns the SHA-256 of the public key of a certificate in DER; "" if it is none.</summary>
        private static string Pin(byte[] certificate)
        {
            try
            {
                int at = Content(certificate, Content(certificate, 0)); // the fields of what is signed: RFC 5280, 4.1
                // serial number, algorithm, issuer, validity and subject; version 1 leaves out the version before them
                for (int skipped = certificate[at] == 0xa0 ? 6 : 5; skipped > 0; skipped--)
                {
                    at = End(certificate, at);
                }
                using (var sha256 = SHA256.Create())
                {
                    byte[] digest = sha256.ComputeHash(certificate, at, End(certificate, at) - at);
                    return string.Concat(digest.Select(one => one.ToString("x2", CultureInfo.InvariantCulture)));
                }
            }
            catch (Exception error) when (error is IndexOutOfRangeException || error is ArgumentException)
            {
                return "";
            }
        }

        /// <summary>Returns where the content of an element of DER begins.</summary>
        private static int Content(byte[] data, int at)
        {
            return at + 2 + (data[at + 1] >= 0x80 ? data[at + 1] - 0x80 : 0);
        }

        /// <summary>Returns where the element after one of DER begins.</summary>
        private static int End(byte[] data, int at)
        {
            int length = data[at + 1] < 0x80 ? data[at + 1] : 0;
            for (int i = at + 2; i < Content(data, at); i++)
            {
                length = checked(256 * length + data[i]);
            }
            return Content(data, at) + length;
        }

        private static IPAddress[] Resolve(string host)
        {
            try
            {
                return Dns.GetHostAddresses(host);
            }
            catch (Exception error) when (error is SocketException || error is ArgumentException)
            {
                throw new Unresolved($"No computer is called {Text.Shown(host)} in this network.\n"
                    + "Check the spelling, or ask the host for the address in numbers, such as 192.168.1.10.");
            }
        }

        private static void Open(Socket socket, IPEndPoint address, Gate gate)
        {
            Exception failure = null;
            // Not BeginConnect: if Mono starts a thread of its pool just when the program ends, it waits up to a minute.
            var connecting = new Thread(() =>
            {
                try
                {
                    socket.Connect(address);
                }
                catch (Exception error) when (IsOfANetwork(error))
                {
                    failure = error;
                }
            }) { IsBackground = true, Name = "getstep connecting" };
            connecting.Start();
            var watch = Stopwatch.StartNew();
            while (!connecting.Join(100))
            {
                if (gate.IsStopped || watch.ElapsedMilliseconds > ConnectMs)
                {
                    throw new ConnectionFailed("no answer; the address is wrong, or a firewall or another network is between");
                }
            }
            if (failure != null)
            {
                ExceptionDispatchInfo.Capture(failure).Throw();
            }
        }

        /// <summary>Sends without delay, and detects a dead peer within 20 s: another computer may have taken over.</summary>
        private static void SetOptions(Socket socket)
        {
            socket.NoDelay = true;
            socket.SendTimeout = SendMs;
            socket.SetSocketOption(SocketOptionLevel.Socket, SocketOptionName.KeepAlive, true);
            try
            {
                // Mono and Windows: on, milliseconds before the first probe, milliseconds between probes.
                // Windows sends 10 probes, Linux 9.
                byte[] values = new[] { 1, 5000, 1500 }.SelectMany(number => BitConverter.GetBytes(number)).ToArray();
                socket.IOControl(IOControlCode.KeepAliveValues, values, null);
            }
            catch (Exception error) when (IsOfANetwork(error))
            {
                SetNumberedOptions(socket);
            }
        }

        /// <summary>Sets the times of keep-alive as .NET has them elsewhere; .NET Framework has no names for them.</summary>
        private static void SetNumberedOptions(Socket socket)
        {
            try
            {
                socket.SetSocketOption(SocketOptionLevel.Tcp, (SocketOptionName)3, 5); // TcpKeepAliveTime
                socket.SetSocketOption(SocketOptionLevel.Tcp, (SocketOptionName)17, 5); // TcpKeepAliveInterval
                socket.SetSocketOption(SocketOptionLevel.Tcp, (SocketOptionName)16, 3); // TcpKeepAliveRetryCount
            }
            catch (Exception error) when (IsOfANetwork(error))
            {
                // this system keeps its own intervals
            }
        }

        private static bool IsOfANetwork(Exception error)
        {
            return error is SocketException || error is ObjectDisposedException || error is IOException
                || error is NotSupportedException || error is ArgumentException || error is System.Security.SecurityException;
        }

        /// <summary>Returns an error of the network in words for the bot's author.</summary>
        private static string Explain(Exception error, Settings to)
        {
            switch ((error as SocketException)?.SocketErrorCode)
            {
                case SocketError.HostUnreachable:
                case SocketError.NetworkUnreachable:
                case SocketError.NetworkDown:
                    return "no way to that address; is this computer in the host's network?";
                case SocketError.TimedOut:
                    return to == null ? "the server does not read"
                        : "no answer; the address is wrong, or a firewall or another network is between";
                case SocketError.ConnectionRefused:
                    return to == null ? "connection refused" : Text.Escape(SavedLogin.Absence(to));
                case SocketError.ConnectionReset:
                    return "connection reset by the server";
                default:
                    return Text.Escape(error.Message);
            }
        }

        private static ConnectionFailed Broken(ProtocolError error)
        {
            return new ConnectionFailed($"the server broke the protocol ({Text.Escape(error.Message)}); please tell the host");
        }

        private void ReceiveAll()
        {
            var buffer = new byte[ReceiveBytes];
            string end = null;
            while (end == null)
            {
                try
                {
                    // No wait without an end: Mono cannot always close a socket, or end, while a thread receives.
                    while (tls == null && !disposed && !socket.Poll(PollMicroseconds, SelectMode.SelectRead))
                    {
                    }
                    // TLS keeps what it has read ahead, so only the stream below it waits for the socket.
                    int length = disposed ? 0 : tls != null ? tls.Read(buffer, 0, buffer.Length) : socket.Receive(buffer);
                    end = length == 0 || !Keep(buffer, length) ? "" : null;
                }
                catch (Exception error) when (IsOfANetwork(error))
                {
                    end = Explain(error, null);
                }
            }
            lock (received)
            {
                endOfStream = end;
            }
            gate.Notify();
        }

        /// <summary>Keeps received bytes until the client's thread takes them. Returns false once it is gone.</summary>
        private bool Keep(byte[] buffer, int length)
        {
            var piece = new byte[length];
            Buffer.BlockCopy(buffer, 0, piece, 0, length);
            Interlocked.Exchange(ref answered, 0);
            lock (received)
            {
                while (received.Count >= MostWaiting && !disposed)
                {
                    Monitor.Wait(received);
                }
                received.Enqueue(piece);
                if (disposed)
                {
                    return false;
                }
            }
            gate.Notify();
            return true;
        }

        /// <summary>Sends a message.</summary>
        public void Send(IDictionary message)
        {
            if (failure != null)
            {
                throw failure;
            }
            byte[] frame = Encoder.Frame(message);
            try
            {
                tls?.Write(frame);
                for (int sent = tls != null ? frame.Length : 0; sent < frame.Length;)
                {
                    sent += socket.Send(frame, sent, frame.Length - sent, SocketFlags.None);
                }
            }
            catch (Exception error) when (IsOfANetwork(error))
            {
                failure = new ConnectionFailed(Explain(error, null));
                throw failure;
            }
        }

        /// <summary>Sends an answer, and tries the host's computer if nothing arrives for a while.</summary>
        public void Answer(IDictionary message)
        {
            Interlocked.Exchange(ref answered, Stopwatch.GetTimestamp());
            Send(message);
        }

        /// <summary>Decodes what has arrived, without waiting.</summary>
        public void Receive()
        {
            byte[][] pieces;
            string end;
            lock (received)
            {
                pieces = received.ToArray();
                end = endOfStream;
                received.Clear();
                Monitor.PulseAll(received);
            }
            try
            {
                foreach (byte[] piece in pieces)
                {
                    if (failure == null)
                    {
                        Conversation.Feed(piece, piece.Length);
                        Decode();
                    }
                }
                if (end != null && failure == null)
                {
                    ProtocolError inside = end == "" ? Conversation.AtEnd() : null;
                    failure = inside != null ? Broken(inside)
                        : new ConnectionFailed(end == "" ? "the server closed the connection" : end);
                }
            }
            catch (ProtocolError error)
            {
                failure = Broken(error);
            }
        }

        private void Decode()
        {
            for (Message message = Conversation.Next(); message != null; message = Conversation.Next())
            {
                inbox.Enqueue(message);
            }
        }

        /// <summary>Returns the next message that has arrived, or null; throws once the connection has ended.</summary>
        public Message Take()
        {
            if (inbox.Count > 0)
            {
                return inbox.Dequeue();
            }
            if (failure != null && Conversation.State != State.Closed)
            {
                throw failure;
            }
            return null;
        }

        /// <summary>Waits for the next message; for the login. Returns null if none came in time.</summary>
        public Message Await(int ms)
        {
            var watch = Stopwatch.StartNew();
            while (true)
            {
                Receive();
                Message message = Take();
                long left = ms - watch.ElapsedMilliseconds;
                if (message != null || left <= 0)
                {
                    return message;
                }
                gate.Wait(left);
            }
        }

        public void Dispose()
        {
            lock (received)
            {
                disposed = true;
                Monitor.PulseAll(received);
            }
            lock (watched)
            {
                Monitor.PulseAll(watched);
            }
            bytes?.Stop();
            try
            {
                socket.Shutdown(SocketShutdown.Both); // it wakes the receiver
            }
            catch (Exception error) when (IsOfANetwork(error))
            {
                // it has ended already
            }
            receiver.Join(1000);
            socket.Close();
        }
    }

    /// <summary>
    /// The bytes of a socket for TLS. It waits for them in short steps: Mono cannot always close a socket, or end, while a
    /// thread receives.
    /// </summary>
    private sealed class PolledStream : Stream
    {
        private const int PollMicroseconds = 200000;

        private readonly Socket socket;
        private volatile bool stopped;

        public PolledStream(Socket socket)
        {
            this.socket = socket;
        }

        public override bool CanRead => true;
        public override bool CanWrite => true;
        public override bool CanSeek => false;
        public override long Length => throw new NotSupportedException();
        public override long Position
        {
            get => throw new NotSupportedException();
            set => throw new NotSupportedException();
        }

        /// <summary>Ends a wait for bytes.</summary>
        public void Stop()
        {
            stopped = true;
        }

        public override int Read(byte[] buffer, int offset, int count)
        {
            while (!stopped && !socket.Poll(PollMicroseconds, SelectMode.SelectRead))
            {
            }
            return stopped ? 0 : socket.Receive(buffer, offset, count, SocketFlags.None);
        }

        public override void Write(byte[] buffer, int offset, int count)
        {
            for (int sent = 0; sent < count;)
            {
                sent += socket.Send(buffer, offset + sent, count - sent, SocketFlags.None);
            }
        }

        // In the same thread: if Mono starts a thread of its pool just when the program ends, it waits up to a minute.
        public override Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancel)
        {
            return Task.FromResult(Read(buffer, offset, count));
        }

        public override Task WriteAsync(byte[] buffer, int offset, int count, CancellationToken cancel)
        {
            Write(buffer, offset, count);
            return Task.FromResult(0);
        }

        public override void Flush()
        {
        }

        public override long Seek(long offset, SeekOrigin origin)
        {
            throw new NotSupportedException();
        }

        public override void SetLength(long value)
        {
            throw new NotSupportedException();
        }
    }

    // --- calling the bot -----------------------------------------------------------------------------------------

    /// <summary>A question from the server, and the bot's result.</summary>
    internal sealed class Question
    {
        public Played Match { get; }
        public Message Ask { get; }

        /// <summary>The connection on which the question was asked last; an answer belongs to it.</summary>
        public Connection AskedOn { get; set; }

        public Call Call { get; set; }
        public bool Answered { get; set; }

        /// <summary>The time since the call began, null before; and the warnings that were printed about it.</summary>
        public Stopwatch Since { get; set; }

        public int Warnings { get; set; }

        public Question(Played match, Message ask)
        {
            Match = match;
            Ask = ask;
        }
    }

    /// <summary>The result of one call of the bot: a move that can be sent, or an error.</summary>
    internal sealed class Call
    {
        public object Move { get; }
        public string Error { get; }
        public string Problem { get; } // for the bot's author, or null
        public double Ms { get; }
        public bool Resigns { get; private set; } // the bot gives up the match
        public IDictionary Notes { get; set; } // of the move, or null

        public static Call Resign(string problem)
        {
            return new Call(null, null, problem, 0) { Resigns = true };
        }

        public Call(object move, string error, string problem, double ms)
        {
            Move = move;
            Error = error;
            Problem = problem;
            Ms = ms;
        }
    }

    /// <summary>Calls the bot in a thread of its own, so that the connection is served while it thinks.</summary>
    internal sealed class Worker
    {
        /// <summary>Room for deep recursion: a thread has 1 MB otherwise. An overflow of the stack ends the program.</summary>
        private const int StackBytes = 64 << 20;

        private readonly TurnBot bot;
        private readonly Gate gate;
        private readonly object guard = new object(); // of these three
        private Question job;
        private bool finished;
        private bool ending;
        private Thread thread;

        public Worker(TurnBot bot, Gate gate)
        {
            this.bot = bot;
            this.gate = gate;
        }

        /// <summary>The question that the bot thinks about, or null.</summary>
        public Question Current
        {
            get
            {
                lock (guard)
                {
                    return job;
                }
            }
        }

        /// <summary>Returns the question whose call has returned, once, or null.</summary>
        public Question TakeFinished()
        {
            lock (guard)
            {
                if (!finished)
                {
                    return null;
                }
                Question done = job;
                job = null;
                finished = false;
                return done;
            }
        }

        /// <summary>Calls the bot. No other call may be running.</summary>
        public void Start(Question question)
        {
            lock (guard)
            {
                question.Since = Stopwatch.StartNew();
                job = question;
                Monitor.PulseAll(guard);
                Begin();
            }
        }

        /// <summary>Starts the thread, which waits for questions.</summary>
        public void Begin()
        {
            lock (guard)
            {
                if (thread == null)
                {
                    thread = new Thread(Run, StackBytes) { IsBackground = true, Name = "GetStep" };
                    thread.Start();
                }
            }
        }

        /// <summary>Ends the thread, unless the bot still thinks: Mono sometimes never ends while a thread waits.</summary>
        public void End()
        {
            lock (guard)
            {
                ending = true;
                Monitor.PulseAll(guard);
            }
            if (thread != null && Current == null)
            {
                thread.Join(1000);
            }
        }

        /// <summary>
        /// Gives the hung thread's processor to the program that is started again. Mono and .NET Framework can end a
        /// thread. .NET cannot; there an endless loop goes on beside the program, with the lowest priority on Windows.
        /// </summary>
        public void GiveUp()
        {
            try
            {
                thread.Priority = ThreadPriority.Lowest;
                typeof(Thread).GetMethod("Abort", Type.EmptyTypes)?.Invoke(thread, null);
            }
            catch (Exception error) when (error is System.Reflection.TargetInvocationException || error is ThreadStateException)
            {
                // it goes on
            }
        }

        private void Run()
        {
            while (true)
            {
                Question question = Next();
                if (question == null)
                {
                    return;
                }
                Call call = CallBot(question);
                lock (guard)
                {
                    question.Call = call;
                    finished = true;
                }
                gate.Notify();
            }
        }

        /// <summary>Waits for a question; null if the thread is to end.</summary>
        private Question Next()
        {
            lock (guard)
            {
                while (job == null || finished)
                {
                    if (ending)
                    {
                        return null;
                    }
                    try
                    {
                        Monitor.Wait(guard);
                    }
                    catch (ThreadInterruptedException)
                    {
                        // a bot that has interrupted its thread is asked again all the same
                    }
                }
                return job;
            }
        }

        public Call CallBot(Question question)
        {
            Noted.Begin(question.Ask.Board);
            Call call = ResultOf(question);
            if (Noted.End())
            {
                int bytes = Encoder.Frame(AnswerOf(MaxId, call)).Length - HeaderBytes + 6; // with the key "notes"
                call.Notes = Noted.Take(MaxClientFrame - bytes);
            }
            return call;
        }

        private Call ResultOf(Question question)
        {
            Message ask = question.Ask;
            var watch = Stopwatch.StartNew();
            try
            {
                int[][] board = ask.Board.Select(row => (int[])row.Clone()).ToArray(); // a copy, which the bot may change
                var turn = new Turn(question.Match.Start, ask);
                watch.Restart();
                object move = bot(board, ask.IsBlack, turn);
                return AfterReturn(move, question.Match.Game, watch.Elapsed.TotalMilliseconds);
            }
            catch (NotPlayed why)
            {
                return Call.Resign(why.Message);
            }
            catch (Exception error) // an OutOfMemoryException costs this turn only, too
            {
                double ms = watch.Elapsed.TotalMilliseconds;
                return new Call(null, Text.Sendable(Text.Summary(error)), "GetStep threw:\n" + Text.Trace(error), ms);
            }
        }

        private static Call AfterReturn(object value, string game, double ms)
        {
            if (value == null)
            {
                return new Call(null, null, "GetStep returned null. It counts as an illegal move." + Expected(game), ms);
            }
            object move = InWireForm(value);
            try
            {
                Encoder.Frame(Step(MaxId, move));
                return new Call(move, null, null, ms);
            }
            catch (NotSendable reason)
            {
                string error = $"GetStep returned {Text.Shown(value)}, which cannot be sent: {reason.Message}";
                return new Call(null, Text.Sendable(error), error + Expected(game), ms);
            }
        }

        private static string Expected(string game)
        {
            return $"\nExpected for {game}: {Drawing.MoveText(game)}";
        }

        /// <summary>Returns a move as the wire has it: of an int[][], one square alone, or a domino with its colour.</summary>
        private static object InWireForm(object value)
        {
            if (!(value is int[][] move))
            {
                return value;
            }
            if (move.Length == 1 && move[0] != null && move[0].Length == 2)
            {
                return move[0].Clone();
            }
            if (move.Length == 3 && move[0] != null && move[0].Length == 1)
            {
                int colour = move[0][0];
                char letter = colour >= 1 && colour <= 4 ? "RBGY"[colour - 1] : unchecked((char)colour);
                return new object[] { letter.ToString(), move[1], move[2] };
            }
            return move;
        }
    }

    /// <summary>Returns the message that answers a question with the result of its call.</summary>
    internal static IDictionary AnswerOf(int id, Call call)
    {
        if (call.Resigns)
        {
            return Resign(id);
        }
        IDictionary message = call.Error != null ? Raised(id, call.Error) : Step(id, call.Move);
        if (call.Notes != null)
        {
            message.Add("notes", call.Notes);
        }
        return message;
    }

    internal static IDictionary Step(int id, object move)
    {
        return new Dictionary<string, object> { { "type", "step" }, { "id", id }, { "move", move } };
    }

    internal static IDictionary Resign(int id)
    {
        return new Dictionary<string, object> { { "type", "resign" }, { "id", id } };
    }

    internal static IDictionary Raised(int id, string error)
    {
        return new Dictionary<string, object> { { "type", "raised" }, { "id", id }, { "error", error } };
    }

    internal static IDictionary Join(int team, string mac, string client, string nonce, string dialled, Fence fence)
    {
        var message = new Dictionary<string, object>
        {
            { "type", "join" }, { "version", Protocol }, { "team", team }, { "mac", mac }, { "client", client },
            { "purpose", "play" }, { "nonce", nonce },
        };
        if (dialled != null)
        {
            message.Add("dialled", dialled);
        }
        message.Add("notices", true);
        if (fence.Number > 0)
        {
            message.Add("fence", fence.Number);
            message.Add("fence_certificate", fence.Certificate);
        }
        return message;
    }

    // --- notes of a move (protocol.md, "Notes of a move") ------------------------------------------------------------

    private static readonly Notes Noted = new Notes(new Terminal().Warn);

    /// <summary>
    /// Collects what a bot notes while it computes a move, from any thread. What is wrong or too much is dropped, and the
    /// author reads so once for each kind of mistake.
    /// </summary>
    internal sealed class Notes
    {
        private static readonly string[] Shapes = { "mark", "arrow", "region", "domino" };
        private static readonly string[] Colors =
            { "black", "white", "blue", "orange", "red", "green", "yellow", "purple", "grey" };

        private readonly object guard = new object(); // of all below
        private readonly Action<string> warn;
        private readonly HashSet<string> mistakes = new HashSet<string>();
        private readonly List<object> drawings = new List<object>();
        private readonly List<string> tags = new List<string>();
        private int rows = -1; // of the board of the open question; -1: no move is computed
        private int columns;
        private string said = "";
        private double? estimate;

        public Notes(Action<string> warn)
        {
            this.warn = warn;
        }

        /// <summary>Begins a move.</summary>
        public void Begin(int[][] board)
        {
            lock (guard)
            {
                Clear();
                rows = board.Length;
                columns = 0;
                foreach (int[] row in board)
                {
                    columns = Math.Max(columns, row.Length);
                }
            }
        }

        public void Say(string text)
        {
            lock (guard)
            {
                if (!IsOpen())
                {
                    return;
                }
                if (text == null)
                {
                    Mistake("text", "say takes a text, others are dropped: null");
                    return;
                }
                if (text.Length == 0)
                {
                    return;
                }
                string line = Text.Sendable(text, MaxSaid + 1);
                string all = said.Length == 0 ? line : said + "\n" + line;
                if (Text.Cut(all, MaxSaid, MaxTextBytes) == all)
                {
                    said = all;
                }
                else
                {
                    Mistake("said", "say takes 1,000 characters and 2,000 bytes for a move, longer texts are dropped");
                }
            }
        }

        public void Estimate(double value)
        {
            lock (guard)
            {
                if (!IsOpen())
                {
                    return;
                }
                if (value >= -1 && value <= 1)
                {
                    estimate = value;
                }
                else
                {
                    string given = value.ToString(CultureInfo.InvariantCulture);
                    Mistake("estimate", $"estimate takes a number from -1 (you lose) to 1 (you win), others are dropped: {given}");
                }
            }
        }

        public void Draw(object squares, object label, string color, string shape)
        {
            lock (guard)
            {
                if (!IsOpen())
                {
                    return;
                }
                if (!Shapes.Contains(shape))
                {
                    string shapes = string.Join(", ", Shapes);
                    Mistake("shape", $"draw takes the shapes {shapes}, others are dropped: {Text.Shown(shape)}");
                }
                else if (color != null && !Colors.Contains(color))
                {
                    string colors = string.Join(", ", Colors);
                    Mistake("color", $"draw takes the colours {colors}, others are dropped: {Text.Shown(color)}");
                }
                else if (label != null && !(label is string) && !IsNumber(label))
                {
                    Mistake("label", $"draw takes a text or a number as a label, others are dropped: {Text.Shown(label)}");
                }
                else if (drawings.Count == MaxDrawings)
                {
                    Mistake("drawings", $"draw takes {MaxDrawings} drawings for a move, more are dropped");
                }
                else if (Flat(squares, shape) is List<int> flat)
                {
                    string text = label as string ?? (label == null ? "" : NumberText(Convert.ToDouble(label, CultureInfo.InvariantCulture)));
                    if (text.Length > 2 * MaxLabel || Text.CodePoints(text).Count() > MaxLabel)
                    {
                        Mistake("long label", $"draw takes a label of {MaxLabel} characters, others are dropped: {Text.Shown(label)}");
                    }
                    else
                    {
                        drawings.Add(new object[] { shape, flat, text.Length == 0 ? null : Text.Sendable(text), color });
                    }
                }
            }
        }

        public void Tag(string word)
        {
            lock (guard)
            {
                if (!IsOpen())
                {
                    return;
                }
                bool isWord = !string.IsNullOrEmpty(word) && word.Length <= 2 * MaxTag && !word.Contains(" ")
                    && Text.CodePoints(word).Count() <= MaxTag && Text.IsPrintable(word);
                if (!isWord)
                {
                    Mistake("tag", $"tag takes a word of 1 to {MaxTag} characters, others are dropped: {Text.Shown(word)}");
                }
                else if (tags.Count == MaxTags && !tags.Contains(word))
                {
                    Mistake("tags", $"tag takes {MaxTags} words for a move, more are dropped");
                }
                else if (!tags.Contains(word))
                {
                    tags.Add(word);
                }
            }
        }

        /// <summary>Ends the move. Returns true if it has notes.</summary>
        public bool End()
        {
            lock (guard)
            {
                rows = -1;
                return said.Length > 0 || estimate != null || drawings.Count > 0 || tags.Count > 0;
            }
        }

        private void Clear()
        {
            said = "";
            estimate = null;
            drawings.Clear();
            tags.Clear();
        }

        /// <summary>Returns the notes of the move, in at most so many bytes, or null if none of them fit.</summary>
        public IDictionary Take(int most)
        {
            lock (guard)
            {
                int left = Math.Min(most, NotesBytes) - Encoder.Size(Map("", 0)) - SaidBytes(said);
                int drawn = 0;
                int bytes = 8; // the key "draw" and the longest header of its array
                foreach (object drawing in drawings)
                {
                    bytes += Encoder.Size(drawing);
                    if (bytes > left)
                    {
                        break;
                    }
                    drawn++;
                }
                string text = said;
                if (said.Length > 0 && left < 0)
                {
                    text = Text.Cut(said, MaxSaid, Encoding.UTF8.GetByteCount(said) + left);
                    left += SaidBytes(said) - SaidBytes(text);
                }
                if (drawn < drawings.Count || text != said)
                {
                    Mistake("room", $"the notes of a move have {NotesBytes} bytes, and less beside a long move;"
                        + " what does not fit is dropped");
                }
                IDictionary notes = Map(text, drawn);
                return left < 0 || notes.Count == 0 ? null : notes;
            }
        }

        private static int SaidBytes(string text)
        {
            return text.Length == 0 ? 0 : 4 + Encoder.Size(text); // with the key "say"
        }

        private IDictionary Map(string text, int drawn)
        {
            var notes = new Dictionary<string, object>();
            if (text.Length > 0)
            {
                notes.Add("say", text);
            }
            if (estimate != null)
            {
                notes.Add("estimate", estimate.Value);
            }
            if (drawn > 0)
            {
                notes.Add("draw", drawings.GetRange(0, drawn));
            }
            if (tags.Count > 0)
            {
                notes.Add("tags", tags.ToArray());
            }
            return notes;
        }

        /// <summary>Returns the squares of a drawing as row, column, row, column, and so on; null if they are wrong.</summary>
        private List<int> Flat(object given, string shape)
        {
            int least = shape == "arrow" || shape == "domino" ? 2 : 1;
            int most = shape == "arrow" ? MaxArrow : shape == "domino" ? 2 : MaxSquares;
            object[] items = given is int[] ? new[] { given }
                : given is IEnumerable several && !(given is string) ? several.Cast<object>().Take(most + 1).ToArray()
                : new object[0];
            if (items.Length < least || items.Length > most || !items.All(item => item is int[] square && square.Length == 2))
            {
                string many = least == most ? $"{most}" : $"{least} to {most}";
                Mistake(shape, $"draw takes {{row, column}} or several of them, {many} for the shape {shape}, others are"
                    + $" dropped: {Text.Shown(given)}");
                return null;
            }
            List<int> flat = items.SelectMany(item => (int[])item).ToList();
            for (int i = 0; i < flat.Count; i += 2)
            {
                int row = flat[i], column = flat[i + 1];
                if (row < 0 || column < 0 || row >= Math.Min(rows, MaxSide) || column >= Math.Min(columns, MaxSide))
                {
                    Mistake("board", $"draw takes squares of the board, which has {rows} rows and {columns} columns, others"
                        + $" are dropped: {row}, {column}");
                    return null;
                }
            }
            return flat;
        }

        private static bool IsNumber(object value)
        {
            return value is IConvertible number && number.GetTypeCode() >= TypeCode.SByte && number.GetTypeCode() <= TypeCode.Decimal;
        }

        /// <summary>Returns a number as "%.3g" of other languages, with fewer digits if it is longer than a label.</summary>
        public static string NumberText(double number)
        {
            if (double.IsNaN(number) || double.IsInfinity(number))
            {
                return double.IsNaN(number) ? "nan" : number > 0 ? "inf" : "-inf";
            }
            string text = "";
            for (int digits = 3; digits > 0; digits--)
            {
                string[] parts = number.ToString("E" + (digits - 1), CultureInfo.InvariantCulture).Split('E');
                int power = int.Parse(parts[1], CultureInfo.InvariantCulture);
                text = power < -4 || power >= digits
                    ? Shortest(parts[0]) + "e" + power.ToString("+00;-00", CultureInfo.InvariantCulture)
                    : Shortest(number.ToString("F" + (digits - 1 - power), CultureInfo.InvariantCulture));
                if (text.Length <= MaxLabel)
                {
                    break;
                }
            }
            return text;
        }

        private static string Shortest(string digits)
        {
            return digits.Contains(".") ? digits.TrimEnd('0').TrimEnd('.') : digits;
        }

        private bool IsOpen()
        {
            if (rows < 0)
            {
                Mistake("outside", "say, estimate, draw and tag belong to a move that is computed; calls before and after are"
                    + " dropped");
            }
            return rows >= 0;
        }

        private void Mistake(string kind, string line)
        {
            if (mistakes.Add(kind))
            {
                warn("getstep: " + line + ". This is said once.");
            }
        }
    }

    // --- a bot that does not return (protocol.md, "The conversation") --------------------------------------------

    /// <summary>GetStep has not returned, and the program has to be started again.</summary>
    internal sealed class Hung : Exception
    {
        public Restarted State { get; }

        public Hung(Restarted state)
        {
            State = state;
        }
    }

    /// <summary>What a program that was started again knows from the one before: its login is in the other variables.</summary>
    internal sealed class Restarted
    {
        public const string Variable = "GETSTEP_RESTARTED";
        public const string First = "GETSTEP_FIRST_PROCESS";

        // An exit code from here on asks the first program to start another: two bits for the server, the others for the
        // hangs. A process has 8 bits in all on most systems, and 255 is that of Exit(-1).
        private const int Again = 192;
        private const int MostHangs = 14;
        private const double LongestPause = 60; // seconds

        /// <summary>A server has proved itself, and at which address it is, since the first start.</summary>
        public bool Proved { get; }

        public bool Located { get; }

        /// <summary>How often in a row the program was started again without an answer in between.</summary>
        public int Hangs { get; }

        /// <summary>The highest fencing number that was proved. An exit code has no room for it: the first program keeps its
        /// own.</summary>
        public Fence Fence { get; }

        public Restarted(bool proved, bool located, int hangs, Fence fence)
        {
            Fence = fence;
            Proved = proved;
            Located = located;
            Hangs = Math.Min(hangs, MostHangs);
        }

        public int ExitCode => Again + (Proved ? 1 : 0) + (Located ? 2 : 0) + 4 * Hangs;

        /// <summary>Returns the state in an exit code, or null if it is another code.</summary>
        public static Restarted Of(int exitCode, Fence fence)
        {
            int bits = exitCode - Again;
            bool asks = bits >= 0 && bits < 4 * (MostHangs + 1);
            return asks ? new Restarted((bits & 1) != 0, (bits & 2) != 0, bits / 4, fence) : null;
        }

        /// <summary>Returns the state in the variable, or null if a user has started this program.</summary>
        public static Restarted Of(string text)
        {
            Match words = Regex.Match(text ?? "", @"\A([0-9]{3}) ([0-9]{1,10}) ([0-9a-f]*)\z");
            return words.Success && int.TryParse(words.Groups[2].Value, out int number)
                ? Of(int.Parse(words.Groups[1].Value, CultureInfo.InvariantCulture), new Fence(number, words.Groups[3].Value))
                : null;
        }

        public override string ToString()
        {
            return string.Format(CultureInfo.InvariantCulture, "{0} {1} {2}", ExitCode, Fence.Number, Fence.Certificate);
        }

        /// <summary>Seconds to wait before the first connection: a bot that hangs at once does so again.</summary>
        public double Pause => Hangs < 2 ? 0 : Math.Min(Math.Pow(2, Hangs - 1), LongestPause);
    }

    /// <summary>
    /// Starts this program again, and again each time that it asks for it; returns the exit code of the last one. So there
    /// are never more than two processes, however often the bot hangs.
    /// </summary>
    private static int StartAgain(Settings settings, Restarted state)
    {
        // Ctrl-C is for all programs of the terminal, and the other one ends by it.
        Console.CancelKeyPress += (sender, press) => press.Cancel = true;
        Process running = null;
        AppDomain.CurrentDomain.ProcessExit += (sender, end) => Kill(running); // SIGTERM is for this one alone
        try
        {
            ProcessStartInfo next = OwnCommand();
            next.UseShellExecute = false; // so that it has the same terminal
            next.EnvironmentVariables["GETSTEP_HOST"] = settings.Host;
            next.EnvironmentVariables["GETSTEP_TLS"] = settings.Tls == "" ? "0" : settings.Tls;
            next.EnvironmentVariables["GETSTEP_PORT"] = settings.Port.ToString(CultureInfo.InvariantCulture);
            next.EnvironmentVariables["GETSTEP_TEAM"] = settings.Team.ToString(CultureInfo.InvariantCulture);
            next.EnvironmentVariables["GETSTEP_TOKEN"] = settings.Token;
            string first = Process.GetCurrentProcess().Id.ToString(CultureInfo.InvariantCulture);
            Restarted before = state;
            while (true)
            {
                next.EnvironmentVariables[Restarted.First] = first;
                next.EnvironmentVariables[Restarted.Variable] = before.ToString();
                running = Process.Start(next);
                running.WaitForExit();
                before = Restarted.Of(running.ExitCode, before.Fence);
                if (before == null)
                {
                    return running.ExitCode;
                }
            }
        }
        catch (Exception error) when (error is System.ComponentModel.Win32Exception || error is InvalidOperationException
            || error is IOException)
        {
            throw new Refused($"The program could not be started again ({Text.Escape(error.Message)}); start it yourself, it"
                + " goes on with its match.");
        }
    }

    /// <summary>
    /// Ends this program when the first one has ended, which waits for it: Mono without a terminal ends at once by SIGINT
    /// or SIGTERM, and nobody could stop this one then.
    /// </summary>
    private static void EndWith(int first)
    {
        while (IsParent(first))
        {
            Thread.Sleep(250);
        }
        Process.GetCurrentProcess().Kill(); // not Exit: it may wait for the thread that hangs
    }

    private static bool IsParent(int first)
    {
        try
        {
            // Linux: behind the name in parentheses, the state and the parent. A process that has ended is there until its
            // own parent has asked for its exit code, and would count as running.
            string own = File.Exists("/proc/self/stat") ? File.ReadAllText("/proc/self/stat") : null;
            return own != null
                ? own.Substring(own.LastIndexOf(')')).Split(' ')[2] == first.ToString(CultureInfo.InvariantCulture)
                : !Process.GetProcessById(first).HasExited;
        }
        catch (Exception error) when (error is ArgumentException || error is InvalidOperationException || error is IOException)
        {
            return false; // there is no such process any more
        }
    }

    private static void Kill(Process process)
    {
        try
        {
            if (process != null && !process.HasExited)
            {
                process.Kill();
            }
        }
        catch (Exception error) when (error is InvalidOperationException || error is System.ComponentModel.Win32Exception)
        {
            // it has ended meanwhile
        }
    }

    /// <summary>Returns the command of this program, without the token: other users can read the arguments of a process.</summary>
    internal static ProcessStartInfo OwnCommand()
    {
        // The first word is the program's own file: an .exe for Mono and .NET Framework, a .dll for `dotnet MyBot.dll`.
        string[] words = Environment.GetCommandLineArgs();
        string runner;
        using (Process own = Process.GetCurrentProcess())
        {
            runner = own.MainModule.FileName;
        }
        string name = Path.GetFileNameWithoutExtension(runner).ToLowerInvariant();
        bool isRuntime = name.StartsWith("mono", StringComparison.Ordinal) || name == "dotnet";
        var arguments = new List<string>();
        for (int i = isRuntime ? 0 : 1; i < words.Length; i++)
        {
            if (i > 0 && words[i] == "--token")
            {
                i++; // and its value
            }
            else if (i == 0 || !words[i].StartsWith("--token=", StringComparison.Ordinal))
            {
                arguments.Add(Quoted(words[i]));
            }
        }
        return new ProcessStartInfo(runner, string.Join(" ", arguments));
    }

    /// <summary>Returns a word as a command line of Windows has it; .NET and Mono read it so on every system.</summary>
    internal static string Quoted(string word)
    {
        if (word.Length > 0 && !Regex.IsMatch(word, "[\\s\"]"))
        {
            return word;
        }
        // Backslashes mean themselves, but for those before a quote.
        string inside = Regex.Replace(word, "(\\\\*)\"", "$1$1\\\"");
        return "\"" + Regex.Replace(inside, "(\\\\+)$", "$1$1") + "\"";
    }

    // --- one match -----------------------------------------------------------------------------------------------

    /// <summary>A match in progress, and the lines printed about it.</summary>
    internal sealed class Played
    {
        public const int StalledMisses = 3; // protocol.md, "Playing"
        private const int BoardsDrawn = 3; // a bot may make a fault in every turn, and its author needs few
        private int boardsLeft = BoardsDrawn;

        public Message Start { get; }
        public int Number { get; }
        public string Game { get; }
        public string Opponent { get; }
        public int Moves { get; set; }
        public double LongestMs { get; private set; }
        public double TotalMs { get; private set; }

        public Played(Message start)
        {
            Start = start;
            Number = start.Match;
            Game = Text.Escape(start.Game);
            Opponent = Text.Escape(start.Opponent);
        }

        public string StartText()
        {
            string colour = Start.IsBlack ? "the first player (isBlack is true)" : "the second player (isBlack is false)";
            string name = (Start.Friendly ? "Friendly match " : "Match ") + Number + (Start.Resumed ? " continues" : "");
            string line = $"{name}: {Game}{OptionsText()} against {Opponent}, you are {colour}; {LimitText()},"
                + $" plus {Text.Duration(Start.LagMs)} for network delay";
            return Start.Friendly ? line + ". It counts nowhere" : line;
        }

        private string OptionsText()
        {
            string listed = string.Join(", ", Start.Options.Select(option => Text.Escape(option.Key) + " " + option.Value));
            return listed.Length == 0 ? "" : $" ({listed})";
        }

        private string LimitText()
        {
            if (Start.TimeKind == "move")
            {
                return Text.Duration(Start.TimeMs) + " a move";
            }
            string added = Start.IncrementMs > 0 ? $" and {Text.Duration(Start.IncrementMs.Value)} more after each answer" : "";
            return Text.Duration(Start.TimeMs) + " for all your moves together" + added;
        }

        /// <summary>Returns milliseconds after the question when its limit is over.</summary>
        public long LimitMs(Message ask)
        {
            return (long)ask.TimeLeftMs + Start.LagMs;
        }

        /// <summary>Returns milliseconds after the question when the server begins to skip turns; -1 if it never does.</summary>
        public long StalledMs(Message ask)
        {
            return Start.TimeKind == "move" // with a budget, the first missed limit takes all of it
                ? LimitMs(ask) + (StalledMisses - 1) * ((long)Start.TimeMs + Start.LagMs)
                : -1;
        }

        public void AddTime(double ms)
        {
            LongestMs = Math.Max(LongestMs, ms);
            TotalMs += ms;
        }

        public string Place(Message ask)
        {
            return $"Match {Number}, move {ask.MoveNumber}";
        }

        /// <summary>Returns how late an answer was. An estimate: the server's clock also counts the time of the network.</summary>
        public string LatenessText(Message ask, double ms)
        {
            string took = $"{Place(ask)}: GetStep took {Text.Duration(ms)}";
            double over = ms - ask.TimeLeftMs;
            return over <= 0
                ? $"{took} of {Text.Duration(ask.TimeLeftMs)}"
                : $"{took}, {Text.Duration(over)} over the limit of {Text.Duration(ask.TimeLeftMs)}";
        }

        public string PenaltyText(Message penalty, Question question)
        {
            string which = question == null ? "question " + penalty.Id : "move " + question.Ask.MoveNumber;
            string line = $"Match {Number}, {which}: penalty for {Text.Escape(penalty.Reason + ": " + penalty.Detail)}";
            if (question == null || question.Call == null)
            {
                return line;
            }
            bool illegal = penalty.Reason == "illegal_move";
            line += illegal ? $" (you returned {Text.Shown(question.Call.Move)})" : "";
            bool drawn = illegal || penalty.Reason == "raised" || penalty.Reason == "malformed_answer";
            return drawn && boardsLeft-- > 0 ? line + Drawing.Of(Game, question.Ask.Board, question.Call.Move) : line;
        }

        public static string EndText(Result result)
        {
            string outcome = result.Outcome == "win" ? "won" : result.Outcome == "loss" ? "lost"
                : result.Outcome == "draw" ? "a draw" : "void";
            string line = $"Match {result.Match}: {outcome} ({result.Reason}): {result.Detail.TrimEnd('.')}.";
            if (result.Scores != null)
            {
                line += $" Score: you {Text.Shown(result.Scores[result.IsBlack ? 0 : 1])}, they"
                    + $" {Text.Shown(result.Scores[result.IsBlack ? 1 : 0])}.";
            }
            return line + $" Your moves: {result.Moves}, longest {Text.Duration(result.LongestMs)}, together"
                + $" {Text.Duration(result.TotalMs)}.";
        }
    }

    /// <summary>A board as text for its author, as getstep draws it in every language: with coordinates, marks and a legend.</summary>
    internal static class Drawing
    {
        private const int MostNested = 3;
        private static readonly string[] Known = { "hop", "linkage", "longest_path", "chain_reaction", "pseudo_tonga" };

        /// <summary>Returns the form of a move of a game, with an example.</summary>
        public static string MoveText(string game)
        {
            switch (game)
            {
                case "hop": return "a list of squares, the piece's own first, for example {{0, 0}, {0, 1}}";
                case "linkage": return "(colour, square, square), for example Getstep.Domino('R', 0, 0, 0, 1)";
                case "longest_path":
                case "chain_reaction":
                case "pseudo_tonga": return "(row, column), for example {0, 0}";
                default: return "as the contest's rules say";
            }
        }

        /// <summary>Returns the lines, each after a line break; nothing if the rows of the board have different lengths.</summary>
        public static string Of(string game, int[][] board, object move)
        {
            int columns = board.Length == 0 ? 0 : board[0].Length;
            if (board.Any(row => row.Length != columns))
            {
                return "";
            }
            var marked = new HashSet<long>();
            Mark(move, board.Length, columns, MostNested, marked);
            string[][] pieces = board.SelectMany(row => row).Select(cell => Piece(game, cell)).Where(piece => piece != null).ToArray();
            int least = game == "chain_reaction" || !Known.Contains(game) ? 2 : 1;
            int width = pieces.Select(piece => piece[0].Length).Concat(new[] { least, Number(columns - 1).Length - 1 }).Max();
            IEnumerable<string> head = Enumerable.Range(0, columns).Select(column =>
                (column < 10 ? " " : "") + Number(column).PadLeft(column < 10 ? width : width + 1) + " ");
            var text = new StringBuilder("\n" + ("        " + string.Concat(head)).TrimEnd());
            for (int row = 0; row < board.Length; row++)
            {
                string line = "    " + Number(row).PadLeft(2) + "  ";
                for (int column = 0; column < columns; column++)
                {
                    string frame = marked.Contains((long)row * columns + column) ? "!" : " ";
                    bool isTarget = game == "hop" && row < 8 && (column < 2 || column == 6 || column == 7);
                    string shown = Piece(game, board[row][column])?[0] ?? (isTarget ? ":" : ".");
                    line += frame + shown.PadRight(width) + frame;
                }
                text.Append("\n" + line.TrimEnd());
            }
            // One and two orbs of a player are one kind: the first is named.
            IEnumerable<string> legend = pieces.GroupBy(piece => piece[1]).Select(kind => kind.First()[0] + " " + kind.First()[2]);
            string[] mark = marked.Count == 0 ? new string[0] : new[] { "! ! the squares that you returned" };
            string[] target = game == "hop" ? new[] { ": Black's target region or White's target region" } : new string[0];
            string entries = string.Join(", ", mark.Concat(legend).Concat(target));
            return text + (entries == "" ? "" : "\n    ") + entries;
        }

        private static string Number(int number)
        {
            return number.ToString(CultureInfo.InvariantCulture);
        }

        /// <summary>Returns the text, the kind and the name of a piece; null for an empty square.</summary>
        private static string[] Piece(string game, int cell)
        {
            if (cell == 0)
            {
                return null;
            }
            bool known = Known.Contains(game);
            string whole = Number(cell);
            if (cell == 1 || cell == 2)
            {
                switch (game)
                {
                    case "hop": return cell == 1 ? new[] { "B", "1", "black piece" } : new[] { "W", "2", "white piece" };
                    case "pseudo_tonga": return cell == 1 ? new[] { "B", "1", "black stone" } : new[] { "W", "2", "white stone" };
                    case "longest_path": return new[] { whole, whole, "piece of Player " + whole };
                }
                if (!known)
                {
                    return new[] { whole, whole, cell == 1 ? "piece of the first player" : "piece of the second player" };
                }
            }
            if (game == "chain_reaction" && cell > -8 && cell < 8)
            {
                string orbs = Number(Math.Abs(cell));
                string name = orbs + (orbs == "1" ? " orb of " : " orbs of ") + (cell > 0 ? "Red" : "Green");
                return new[] { (cell > 0 ? "R" : "G") + orbs, cell > 0 ? "1" : "2", name };
            }
            if (game == "linkage" && cell >= -2 && cell <= 4)
            {
                string[] names = { "empty, next to the last domino", "blocked centre", "", "red half-domino", "blue half-domino",
                    "green half-domino", "yellow half-domino" };
                return new[] { "x# RBGY"[cell + 2].ToString(), whole, names[cell + 2] };
            }
            if (!known && cell >= -9 && cell < 0)
            {
                return new[] { whole, "2", Number(-cell) + " of the second player" };
            }
            string start = !known && cell > 0 && cell < 10 ? "tile " : "value ";
            return new[] { whole.Substring(0, Math.Min(2, whole.Length)), "other", start + whole };
        }

        /// <summary>Adds the squares of the board that are anywhere in a move.</summary>
        private static void Mark(object move, int rows, int columns, int depth, HashSet<long> marked)
        {
            if (!(move is IEnumerable items) || move is string || move is IDictionary || depth == 0)
            {
                return;
            }
            object[] parts = items.Cast<object>().Take(100).ToArray();
            if (parts.Length == 2 && parts.All(part => part is int || part is long || part is short || part is byte))
            {
                long row = Convert.ToInt64(parts[0], CultureInfo.InvariantCulture);
                long column = Convert.ToInt64(parts[1], CultureInfo.InvariantCulture);
                if (row >= 0 && row < rows && column >= 0 && column < columns)
                {
                    marked.Add(row * columns + column);
                }
                return;
            }
            foreach (object part in parts)
            {
                Mark(part, rows, columns, depth - 1, marked);
            }
        }
    }

    // --- finding the host on the network (docs/standby.md) -------------------------------------------------------

    /// <summary>A server that has answered by multicast DNS. Any computer can announce anything: only a proof counts.</summary>
    internal sealed class FoundServer
    {
        public string Contest { get; set; }
        public int Port { get; set; }
        public int Fence { get; set; }
        public List<string> Hosts { get; set; }
    }

    /// <summary>An answer of multicast DNS (RFC 6762, section 5.1).</summary>
    internal sealed class DnsAnswer
    {
        private const string Service = "_getstep._tcp.local.";
        private readonly byte[] packet;
        private int at = 12;

        public DnsAnswer(byte[] packet)
        {
            this.packet = packet;
        }

        /// <summary>Returns the packet that asks for all servers.</summary>
        public static byte[] Question(int number)
        {
            var data = new List<byte> { (byte)(number >> 8), (byte)number, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0 };
            foreach (string label in Service.Split('.'))
            {
                data.Add((byte)label.Length);
                data.AddRange(Encoding.ASCII.GetBytes(label));
            }
            data.AddRange(new byte[] { 0, 12, 0, 1 });
            return data.ToArray();
        }

        private int Number(int place)
        {
            return packet[place] << 8 | packet[place + 1];
        }

        /// <summary>Reads a name. Throws IndexOutOfRangeException if it is wrong or ends too early.</summary>
        private string Name()
        {
            var name = new StringBuilder();
            int here = at, lowest = at, after = -1, pointers = 0;
            while (packet[here] != 0)
            {
                int length = packet[here];
                if (length >= 0xc0)
                {
                    after = after < 0 ? here + 2 : after;
                    here = Number(here) & 0x3fff;
                    pointers++;
                    if (here >= lowest || pointers > 8)
                    {
                        throw new IndexOutOfRangeException(); // only backwards, so that no name is endless
                    }
                    lowest = here;
                    continue;
                }
                if (length >= 0x40 || name.Length + length >= 255)
                {
                    throw new IndexOutOfRangeException();
                }
                for (int i = 1; i <= length; i++)
                {
                    name.Append((char)packet[here + i]);
                }
                name.Append('.');
                here += 1 + length;
            }
            at = after < 0 ? here + 1 : after;
            return name.ToString().ToLowerInvariant();
        }

        /// <summary>Returns the servers by their names. Throws IndexOutOfRangeException if the packet ends too early.</summary>
        public Dictionary<string, FoundServer> Servers(int question)
        {
            var found = new Dictionary<string, FoundServer>();
            int records = Number(6) + Number(8) + Number(10);
            if (Number(0) != question || (Number(2) & 0xf80f) != 0x8000 || Number(4) > 4 || records > 64)
            {
                return found;
            }
            for (int i = 0; i < Number(4); i++)
            {
                Name();
                at += 4;
            }
            var instances = new List<string>();
            var ports = new Dictionary<string, int>();
            var computers = new Dictionary<string, string>();
            var texts = new Dictionary<string, Dictionary<string, string>>();
            var addresses = new List<KeyValuePair<string, string>>();
            for (int i = 0; i < records; i++)
            {
                string owner = Name();
                int kind = Number(at), start = at + 10, end = start + Number(at + 8);
                bool counts = (Number(at + 2) & 0x7fff) == 1 && (Number(at + 4) | Number(at + 6)) != 0;
                if (end > packet.Length)
                {
                    throw new IndexOutOfRangeException();
                }
                at = start;
                if (counts && kind == 12 && owner == Service)
                {
                    instances.Add(Name());
                }
                else if (counts && kind == 33 && !ports.ContainsKey(owner))
                {
                    ports[owner] = Number(start + 4);
                    at = start + 6;
                    computers[owner] = Name();
                }
                else if (counts && kind == 16 && !texts.ContainsKey(owner))
                {
                    texts[owner] = Values(start, end);
                }
                else if (counts && kind == 1 && end == start + 4)
                {
                    string host = string.Join(".", packet.Skip(start).Take(4));
                    addresses.Add(new KeyValuePair<string, string>(owner, host));
                }
                at = end;
            }
            foreach (string instance in instances.Distinct())
            {
                if (!ports.TryGetValue(instance, out int port) || port == 0)
                {
                    continue;
                }
                List<string> hosts = addresses.Where(one => one.Key == computers[instance]).Select(one => one.Value).Take(8).ToList();
                texts.TryGetValue(instance, out Dictionary<string, string> about);
                string contest = "", fence = "";
                about?.TryGetValue("contest", out contest);
                about?.TryGetValue("fence", out fence);
                int.TryParse(fence, NumberStyles.None, CultureInfo.InvariantCulture, out int number);
                found[instance + port] = new FoundServer { Contest = Text.Escape(contest ?? ""), Port = port, Fence = number, Hosts = hosts };
            }
            return found;
        }

        private Dictionary<string, string> Values(int start, int end)
        {
            var values = new Dictionary<string, string>();
            for (int here = start; here < end; here += 1 + packet[here])
            {
                string[] parts = Encoding.UTF8.GetString(packet, here + 1, Math.Min(packet[here], end - here - 1)).Split(new[] { '=' }, 2);
                string name = parts[0].ToLowerInvariant();
                if (!values.ContainsKey(name))
                {
                    values[name] = parts.Length == 2 ? parts[1] : "";
                }
            }
            return values;
        }
    }

    /// <summary>The addresses that a client tries while its own address does not answer.</summary>
    internal sealed class Finder
    {
        private const int SearchMs = 1000;
        private const int AskAgainMs = 350; // multicast on WLAN is not repeated if it is lost
        private const int MostTried = 20; // found addresses to which one run connects
        private const int MostPackets = 256; // that one search reads
        private const int MostInterfaces = 16;

        private readonly Settings settings;
        private readonly HashSet<string> tried = new HashSet<string>();
        private readonly Queue<KeyValuePair<string, int>> waiting = new Queue<KeyValuePair<string, int>>();
        private string ownHost;
        private int ownPort;
        private string contest;

        public Finder(Settings settings)
        {
            this.settings = settings;
            contest = settings.Contest;
            ownHost = settings.Host;
            ownPort = settings.Port;
        }

        /// <summary>True if the client is at an address from the network, and nothing was proved there yet.</summary>
        public bool AtFound => settings.Host != ownHost || settings.Port != ownPort;

        /// <summary>Goes to the next address after a failure. Returns true to connect at once, false to wait before.</summary>
        public bool Next(Terminal console)
        {
            if (!AtFound && tried.Count < MostTried)
            {
                List<FoundServer> found = Search().Where(server => !settings.GivenPort || server.Port == ownPort).ToList();
                // the highest number first: a computer that was lost may still be announced
                List<FoundServer> trying = found.Where(server => server.Contest == contest).OrderByDescending(server => server.Fence).ToList();
                foreach (FoundServer server in trying.Count == 0 && found.Count == 1 ? found : trying)
                {
                    foreach (string host in server.Hosts.Where(host => host != ownHost || server.Port != ownPort))
                    {
                        if (waiting.Count < MostTried)
                        {
                            if (tried.Add($"{host}:{server.Port}"))
                            {
                                console.Say($"Found {Text.Shown(server.Contest)} at {host}:{server.Port} on this network.");
                            }
                            waiting.Enqueue(new KeyValuePair<string, int>(host, server.Port));
                        }
                    }
                }
            }
            bool isFound = waiting.Count > 0;
            KeyValuePair<string, int> next = isFound ? waiting.Dequeue() : new KeyValuePair<string, int>(ownHost, ownPort);
            settings.Host = next.Key;
            settings.Port = next.Value;
            return isFound;
        }

        /// <summary>Stays at an address, whose server has proved itself.</summary>
        public void Settle(string name)
        {
            contest = name;
            ownHost = settings.Host;
            ownPort = settings.Port;
            waiting.Clear();
        }

        private List<FoundServer> Search()
        {
            var found = new Dictionary<string, FoundServer>();
            string test = settings.Variable("GETSTEP_DISCOVERY"); // docs/conformance.md
            string[] place = (test ?? "224.0.0.251:5353").Split(':');
            var to = new IPEndPoint(IPAddress.Parse(place[0]), int.Parse(place[1], CultureInfo.InvariantCulture));
            byte[] number = new byte[2];
            using (RandomNumberGenerator random = RandomNumberGenerator.Create())
            {
                random.GetBytes(number);
            }
            int asked = number[0] << 8 | number[1];
            List<Socket> sockets = Locals(test).Take(MostInterfaces).Select(Opened).Where(socket => socket != null).ToList();
            var watch = Stopwatch.StartNew();
            bool again = false;
            int left = MostPackets;
            Ask(sockets, asked, to);
            while (watch.ElapsedMilliseconds < SearchMs && left > 0 && sockets.Count > 0)
            {
                if (!again && watch.ElapsedMilliseconds >= AskAgainMs)
                {
                    again = true;
                    Ask(sockets, asked, to);
                }
                var ready = new List<Socket>(sockets);
                Socket.Select(ready, null, null, 50000);
                foreach (Socket socket in ready)
                {
                    left--;
                    Read(socket, asked, to, found);
                }
            }
            sockets.ForEach(socket => socket.Close());
            return found.Values.Where(server => server.Hosts.Count > 0).ToList();
        }

        private static List<IPAddress> Locals(string test)
        {
            if (test != null)
            {
                return new List<IPAddress> { IPAddress.Loopback };
            }
            try
            {
                return NetworkInterface.GetAllNetworkInterfaces().SelectMany(one => one.GetIPProperties().UnicastAddresses)
                    .Select(one => one.Address).Where(one => one.AddressFamily == AddressFamily.InterNetwork).ToList();
            }
            catch (NetworkInformationException)
            {
                return new List<IPAddress> { IPAddress.Any };
            }
        }

        private static Socket Opened(IPAddress local)
        {
            var socket = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
            try
            {
                socket.Bind(new IPEndPoint(local, 0));
                socket.SetSocketOption(SocketOptionLevel.IP, SocketOptionName.MulticastInterface, local.GetAddressBytes());
                return socket;
            }
            catch (SocketException)
            {
                socket.Close();
                return null; // the other interfaces may lead to the host
            }
        }

        private static void Ask(List<Socket> sockets, int number, IPEndPoint to)
        {
            foreach (Socket socket in sockets)
            {
                try
                {
                    socket.SendTo(DnsAnswer.Question(number), to);
                }
                catch (SocketException)
                {
                    // the interface is down
                }
            }
        }

        private static void Read(Socket socket, int number, IPEndPoint to, Dictionary<string, FoundServer> found)
        {
            var buffer = new byte[9000];
            EndPoint from = new IPEndPoint(IPAddress.Any, 0);
            try
            {
                int length = socket.ReceiveFrom(buffer, ref from);
                if (((IPEndPoint)from).Port != to.Port)
                {
                    return;
                }
                bool own = IPAddress.IsLoopback(((IPEndPoint)from).Address);
                foreach (KeyValuePair<string, FoundServer> one in new DnsAnswer(buffer.Take(length).ToArray()).Servers(number))
                {
                    List<string> hosts = one.Value.Hosts.Where(host => IsUsable(host, own)).ToList();
                    if (found.TryGetValue(one.Key, out FoundServer known))
                    {
                        known.Hosts = known.Hosts.Union(hosts).Take(8).ToList();
                    }
                    else
                    {
                        one.Value.Hosts = hosts;
                        found.Add(one.Key, one.Value);
                    }
                }
            }
            catch (Exception error) when (error is SocketException || error is IndexOutOfRangeException)
            {
                // any computer can send anything
            }
        }

        private static bool IsUsable(string host, bool own)
        {
            int first = int.Parse(host.Split('.')[0], CultureInfo.InvariantCulture);
            return first > 0 && first < 224 && (first != 127 || own);
        }
    }

    // --- the whole contest ---------------------------------------------------------------------------------------

    /// <summary>A bot in a contest, over as many connections as it takes.</summary>
    internal sealed class Client
    {
        private const int HelloMs = 5000; // a server sends it at once
        private const int WelcomeMs = 10000; // a wrong login is answered after up to 8 s
        private const double FirstPause = 0.2; // seconds
        private const double LongestPause = 5;

        // Bounds for the retry_ms of a server that has not proved itself: any computer could be in the host's place.
        private const double ShortestRetry = 1;
        private const double LongestRetry = 60;

        // A connection without a proof makes the pauses short again only if it lasted that long, in seconds.
        private const double Steady = 10;
        private const long LongestWaitMs = 3600000; // a wait without a limit of its own
        private const int MostResults = 10000; // of a ladder that goes on for months, or of a false server
        private const int MostProblems = 100; // a bot whose every text differs takes no more memory

        private const string Update = "Get the newer Getstep.cs from the host's live page, and build the bot again.";
        private const string NotLocated =
            "this server does not prove at which address it is, as it did before, so it is not your host";
        private const string EarlierHost =
            "another computer has taken over this contest from this server, so nothing counts here any more";
        private const string WrongFence =
            "the server's proof of its fencing number is wrong, so it is not your host; check the address";
        private const string NotProved =
            "this server has not proved that it knows your token (an older getstep server, or not your host)";
        private const string NoFriendly = "This is the port of the contest, not the one for friendly matches.\n"
            + "The page Play of the host's live page shows the command for friendly matches.";
        private const string OnlyFriendly = "This port is for friendly matches, which count nowhere: give --friendly.\n"
            + "To play in the contest, give its port; it is 7777 unless the host says otherwise.";
        private const string FriendlyText = "People can play friendly matches against this bot now, on the page Play of the"
            + " host's live page. They count nowhere.\nYour seat in the contest is not touched. Ctrl-C stops the bot.";

        private readonly Settings settings;
        private readonly Terminal console;
        private readonly Gate gate = new Gate();
        private readonly Worker worker;
        private readonly double timeScale;
        private readonly Queue<Result> results = new Queue<Result>();
        private readonly HashSet<string> warned = new HashSet<string>(); // since the last good connection
        private readonly Dictionary<string, int> problems = new Dictionary<string, int>(); // of the bot, and how often again
        private readonly Random random = new Random();
        private double nextPause = FirstPause;
        private Played match;
        private Question question; // the newest
        private bool open; // the newest question is to be answered on this connection
        private Message goodbye;
        private bool welcomed; // on this connection
        private bool proved; // on this connection
        private bool everWelcomed;
        private bool everProved;
        private bool everLocated; // a server has proved at which address it is
        private Fence fence; // the highest that was proved
        private int hangs; // in a row, without an answer in between
        private readonly double firstPause;

        public BotOutput Output { get; } = new BotOutput();

        private readonly Finder finder; // null if the user has named the host

        public Client(Settings settings, TurnBot bot, Terminal console, Restarted before)
        {
            finder = settings.GivenHost || settings.Friendly ? null : new Finder(settings);
            this.settings = settings;
            this.console = console;
            everProved = before != null && before.Proved;
            everLocated = before != null && before.Located;
            fence = before == null ? Fence.None : before.Fence;
            hangs = before == null ? 0 : before.Hangs;
            firstPause = before == null ? 0 : before.Pause;
            worker = new Worker(bot, gate);
            timeScale = TimeScale(settings.Variable("GETSTEP_TIME_SCALE"));
        }

        /// <summary>Returns what pauses are multiplied by, for tests of this client (docs/conformance.md); 1 otherwise.</summary>
        private static double TimeScale(string text)
        {
            bool isNumber = double.TryParse(text, NumberStyles.Float, CultureInfo.InvariantCulture, out double scale);
            return isNumber && scale >= 0.01 && scale <= 1 ? scale : 1;
        }

        public void OnCtrlC(object sender, ConsoleCancelEventArgs press)
        {
            press.Cancel = !gate.IsStopped; // a second Ctrl-C ends the program at once
            gate.Stop();
        }

        private string Address => settings.Host.Contains(":") ? $"[{settings.Host}]:{settings.Port}" : $"{settings.Host}:{settings.Port}";

        /// <summary>Plays until the server says not to come back.</summary>
        public List<Result> Run()
        {
            WarmUp();
            if (firstPause > 0)
            {
                console.Warn($"GetStep has hung {hangs} times in a row without an answer in between; the client connects in"
                    + $" {Text.Duration(1000 * firstPause)}.");
                Pause(firstPause);
            }
            console.Say($"Connecting to {Address} as team {settings.Team} ...");
            while (true)
            {
                double pause;
                try
                {
                    Message last = OneConnection();
                    if (IsDoubtful(last))
                    {
                        throw new ConnectionFailed(GoodbyeText(last));
                    }
                    if (EndsTheRun(last))
                    {
                        return EndRun(last);
                    }
                    pause = AfterGoodbye(last);
                }
                catch (Unresolved error) when (!everWelcomed && finder == null)
                {
                    throw new Refused(error.Message);
                }
                catch (ConnectionFailed error)
                {
                    pause = AfterFailure(error.Message.Split('\n')[0]);
                }
                catch (OutOfMemoryException)
                {
                    pause = AfterFailure("no memory is left");
                }
                Pause(pause);
            }
        }

        /// <summary>
        /// Goes through all that the first question takes, but for the bot. A method is compiled when it is first called:
        /// without this, the first answer took 0.18 s, not 0.1 s, on a computer with other work to do.
        /// </summary>
        private void WarmUp()
        {
            byte[] start = Encoder.Frame(new Dictionary<string, object>
            {
                { "type", "start" }, { "match", 1 }, { "game", "hop" }, { "is_black", true }, { "opponent", "nobody" },
                { "options", new Dictionary<string, object> { { "size", 8 } } }, { "time_kind", "budget" },
                { "time_ms", 20150 }, { "increment_ms", 15 }, { "lag_ms", 100 }, { "resumed", false },
            });
            byte[] ask = Encoder.Frame(new Dictionary<string, object>
            {
                { "type", "get_step" }, { "id", 1 }, { "move_number", 1 }, { "board", Enumerable.Repeat(new int[8], 8).ToArray() },
                { "is_black", true }, { "time_left_ms", 20150 }, { "last_move", new[] { new[] { 2, 2 }, new[] { 2, 3 } } },
            });
            var conversation = new Conversation { State = State.Lobby };
            conversation.Feed(start, start.Length);
            var sample = new Played(conversation.Next());
            conversation.Feed(ask, ask.Length);
            var first = new Question(sample, conversation.Next()) { Since = Stopwatch.StartNew() };
            Text.For(Console.Error.Encoding, sample.StartText());
            new Worker((board, isBlack, turn) => new[] { new[] { 2, 2 }, new[] { 2, 3 } }, gate).CallBot(first);
            string nonce = Auth.NewNonce();
            Auth.IsProof(settings.Token, nonce, nonce, nonce, Auth.Sign(settings.Token, nonce, nonce));
            worker.Begin();
        }

        private void Pause(double seconds)
        {
            var watch = Stopwatch.StartNew();
            double ms = 1000 * timeScale * seconds;
            while (watch.ElapsedMilliseconds < ms)
            {
                Wait((long)(ms - watch.ElapsedMilliseconds) + 1);
                Collect(null);
            }
        }

        /// <summary>Waits until bytes have arrived, the bot has returned, a warning about it is due, or the time is over.</summary>
        private void Wait(long ms)
        {
            gate.Wait(Math.Max(1, Math.Min(ms, WarnIfLate())));
        }

        // --- one connection ---

        /// <summary>Connects, logs in and plays; returns the server's goodbye.</summary>
        private Message OneConnection()
        {
            welcomed = proved = open = false;
            goodbye = null;
            if (match != null && match.Start.Friendly)
            {
                match = null; // it has ended with its connection
            }
            using (Connection connection = Connection.Connect(settings, gate))
            {
                Message hello = ReadHello(connection);
                if (hello.Type == "goodbye")
                {
                    return hello;
                }
                CheckSuitable(hello);
                Message answer = LogIn(connection, hello);
                if (answer.Type == "goodbye")
                {
                    return answer;
                }
                OnWelcome(hello, answer);
                return PlayUntilGoodbye(connection);
            }
        }

        private static Message ReadHello(Connection connection)
        {
            string behaviour = "it sends nothing";
            try
            {
                Message hello = connection.Await(HelloMs);
                if (hello != null)
                {
                    return hello;
                }
            }
            catch (ConnectionFailed error)
            {
                bool spoke = error.Message.StartsWith("the server broke", StringComparison.Ordinal);
                behaviour = spoke ? "it speaks another protocol" : "it closes the connection at once";
            }
            throw new ConnectionFailed($"what answers there is no getstep server: {behaviour}; the port may be wrong");
        }

        /// <summary>Refuses a server that this client does not log in to; tries again if it has proved itself before.</summary>
        private void CheckSuitable(Message hello)
        {
            string problem = null;
            if (!hello.Versions.Contains(Protocol))
            {
                string theirs = hello.Versions.Count == 0 ? "none" : string.Join(", ", hello.Versions);
                problem = $"The server speaks version {theirs} of the protocol, this Getstep.cs {Version} speaks {Protocol}.\n"
                    + Update;
            }
            else if (hello.Friendly != settings.Friendly)
            {
                problem = settings.Friendly ? NoFriendly : OnlyFriendly;
            }
            if (problem != null && !everProved && !AtFound)
            {
                throw new Refused(problem);
            }
            if (problem != null)
            {
                throw new ConnectionFailed(problem.Replace("\n", " "));
            }
        }

        private Message LogIn(Connection connection, Message hello)
        {
            string nonce = Auth.NewNonce();
            string dialled = hello.Dialled ? connection.Peer() : null;
            if (connection.Conversation.State != State.Closed)
            {
                if ((everLocated || AtFound) && dialled == null)
                {
                    throw new ConnectionFailed(NotLocated);
                }
                string mac = Auth.Sign(settings.Token, hello.Nonce, dialled);
                connection.Send(Join(settings.Team, mac, "getstep-csharp " + Version, nonce, dialled, fence));
                connection.Conversation.State = State.Deciding;
            }
            Message answer = connection.Await(WelcomeMs)
                ?? throw new ConnectionFailed($"no answer within {WelcomeMs / 1000} s");
            if (answer.Type == "welcome")
            {
                CheckProof(hello, answer, nonce, dialled);
            }
            return answer;
        }

        private void CheckProof(Message hello, Message welcome, string nonce, string dialled)
        {
            if (welcome.Proof != null && !Auth.IsProof(settings.Token, hello.Nonce, nonce, dialled, welcome.Proof))
            {
                throw new ConnectionFailed(
                    "the server's proof that it knows your token is wrong, so it is not your host; check the address");
            }
            proved = welcome.Proof != null;
            everLocated |= proved && dialled != null;
            if (everProved && !proved)
            {
                throw new ConnectionFailed(NotProved + ", as it did before; to play there, start the bot again");
            }
            if (AtFound && !proved)
            {
                throw new ConnectionFailed(NotProved + "; to play there, give its address with --host");
            }
            if (proved)
            {
                CheckFence(hello, welcome, nonce);
            }
        }

        /// <summary>Remembers the highest fencing number; refuses a server whose number is lower or not proved.</summary>
        private void CheckFence(Message hello, Message welcome, string nonce)
        {
            Fence found = welcome.Fence;
            bool right = welcome.FenceProof != null && found.Certificate != ""
                && Auth.IsFenceProof(settings.Token, hello.Nonce, nonce, found, welcome.FenceProof);
            if (found.Number > 0 && !right)
            {
                throw new ConnectionFailed(WrongFence);
            }
            if (found.Number < fence.Number)
            {
                throw new ConnectionFailed(EarlierHost);
            }
            fence = found;
        }

        private void OnWelcome(Message hello, Message welcome)
        {
            if (everWelcomed)
            {
                console.Say("Reconnected.");
            }
            else
            {
                console.Say($"Connected to {Text.Escape(hello.Contest)} as {Text.Escape(welcome.Name)} (team {welcome.Team}).");
                if (settings.Friendly)
                {
                    console.Say(FriendlyText);
                }
            }
            welcomed = everWelcomed = true;
            if (proved)
            {
                everProved = true;
                finder?.Settle(Text.Escape(hello.Contest));
                ResetProblems();
            }
            else
            {
                WarnOnce($"Careful: {NotProved}. The bot plays, but does not stop when this server says that the contest is"
                    + " over; Ctrl-C stops it.");
            }
        }

        private Message PlayUntilGoodbye(Connection connection)
        {
            var watch = Stopwatch.StartNew();
            try
            {
                while (true)
                {
                    connection.Receive();
                    for (Message message = connection.Take(); message != null; message = connection.Take())
                    {
                        Handle(message, connection);
                    }
                    if (goodbye != null)
                    {
                        return goodbye;
                    }
                    Collect(connection);
                    Answer(connection);
                    Wait(LongestWaitMs);
                }
            }
            finally
            {
                if (watch.Elapsed.TotalSeconds >= Steady)
                {
                    ResetProblems();
                }
            }
        }

        // --- the bot's answers ---

        /// <summary>Answers the open question, or asks the bot.</summary>
        private void Answer(Connection connection)
        {
            if (!open)
            {
                return;
            }
            if (question.Call != null)
            {
                connection.Answer(AnswerOf(question.Ask.Id, question.Call));
                connection.Conversation.State = State.Match;
                open = false;
                question.Match.Moves += !question.Answered && question.Call.Error == null && !question.Call.Resigns ? 1 : 0;
                question.Answered = true;
            }
            else if (question.Since == null && worker.Current == null)
            {
                worker.Start(question);
            }
        }

        /// <summary>Takes the result of a call that has returned.</summary>
        private void Collect(Connection connection)
        {
            Question done = worker.TakeFinished();
            if (done == null)
            {
                return;
            }
            hangs = 0;
            done.Match.AddTime(done.Call.Ms);
            if (done.Call.Problem != null)
            {
                ReportProblem(done);
            }
            if (connection == null || open && done == question)
            {
                return;
            }
            string late = done.Match.LatenessText(done.Ask, done.Call.Ms);
            if (done.Match != match)
            {
                console.Warn(late + "; the match was already over, so the answer was not sent");
            }
            else if (done.AskedOn == connection && goodbye == null)
            {
                connection.Answer(AnswerOf(done.Ask.Id, done.Call)); // a late answer shows the server that the bot is alive
                console.Warn(late + "; the turn was already over, so the answer changes nothing");
            }
        }

        private void ReportProblem(Question done)
        {
            string problem = done.Call.Problem;
            if (problems.ContainsKey(problem))
            {
                problems[problem]++;
                return;
            }
            if (problems.Count < MostProblems)
            {
                problems[problem] = 0;
            }
            console.Warn(done.Match.Place(done.Ask) + ": " + problem);
        }

        /// <summary>Reports a call that takes too long. Returns milliseconds until the next report is due.</summary>
        private long WarnIfLate()
        {
            Question running = worker.Current;
            if (running == null)
            {
                return LongestWaitMs;
            }
            bool restarts = settings.RestartAfterMs > 0;
            long limit = running.Match.LimitMs(running.Ask);
            long stalled = running.Match.StalledMs(running.Ask);
            long hung = restarts ? limit + settings.RestartAfterMs : LongestWaitMs;
            long ms = running.Since.ElapsedMilliseconds;
            if (running.Warnings == 0 && ms >= limit)
            {
                running.Warnings = 1;
                console.Warn($"{Taken(running, limit)}, over the limit of {Text.Duration(running.Ask.TimeLeftMs)}, and is still"
                    + " running");
            }
            if (running.Warnings == 1 && stalled >= 0 && ms >= stalled)
            {
                running.Warnings = 2;
                string then = restarts && !Debugger.IsAttached
                    ? $"In {Text.Duration(Math.Max(0, hung - stalled))} the client starts your program again."
                    : "Stop it with Ctrl-C, correct it and start it again: it goes on with this match.";
                console.Warn($"{Taken(running, stalled)}, {Played.StalledMisses} limits; your bot is stalled: unless the match is"
                    + " over, the server skips its turns until GetStep returns\n" + then);
            }
            if (running.Warnings < 3 && restarts && ms >= hung)
            {
                running.Warnings = 3;
                OnHung(running);
            }
            long next = running.Warnings == 0 ? limit : running.Warnings == 1 && stalled >= 0 ? stalled : hung;
            return running.Warnings == 3 ? LongestWaitMs : Math.Max(1, Math.Min(next, hung) - ms);
        }

        private static string Taken(Question running, long ms)
        {
            return $"{running.Match.Place(running.Ask)}: GetStep has taken {Text.Duration(ms)}";
        }

        private void OnHung(Question running)
        {
            if (Debugger.IsAttached)
            {
                return; // it may have stopped the bot
            }
            console.Warn($"GetStep has not returned, {Text.Duration(settings.RestartAfterMs)} after its limit of"
                + $" {Text.Duration(running.Ask.TimeLeftMs)} (match {running.Match.Number}, move {running.Ask.MoveNumber} of"
                + $" {running.Match.Game}). The client starts your program again; the contest goes on.");
            worker.GiveUp();
            throw new Hung(new Restarted(everProved, everLocated, hangs + 1, fence));
        }

        // --- messages from the server ---

        private void Handle(Message message, Connection connection)
        {
            if (message.Type == "notice") // its kind and its text are the reason and the detail
            {
                string about = message.Match == 0 ? "" : $"match {message.Match}, ";
                console.Warn($"From the host ({about}{Text.Escape(message.Reason)}): {Text.Escape(message.Detail)}");
                return;
            }
            open = message.Type == "get_step"; // every other message closes the question, or comes without one
            switch (message.Type)
            {
                case "start":
                    OnStart(message);
                    break;
                case "get_step":
                    if (question == null || question.Match != match || !message.Repeats(question.Ask))
                    {
                        question = new Question(match, message);
                    }
                    question.AskedOn = connection;
                    break;
                case "penalty":
                    OnPenalty(message);
                    break;
                case "end":
                    OnEnd(message);
                    break;
                default: // goodbye: the conversation allows no other
                    goodbye = message;
                    break;
            }
        }

        private void OnStart(Message start)
        {
            if (match != null && match.Number == start.Match)
            {
                console.Say($"Match {start.Match} continues.");
                return;
            }
            if (match != null)
            {
                console.Warn($"Match {match.Number} ended while this bot was not connected; ask the host how.");
            }
            match = new Played(start);
            console.Say(match.StartText());
        }

        private void OnPenalty(Message penalty)
        {
            bool known = question != null && question.Match == match && question.Ask.Id == penalty.Id;
            console.Warn(match.PenaltyText(penalty, known ? question : null));
            bool late = penalty.Reason == "missed_limit" || penalty.Reason == "stalled";
            if (known && late && question.Answered)
            {
                console.Warn(match.LatenessText(question.Ask, question.Call.Ms) + "; the answer arrived too late");
            }
        }

        private void OnEnd(Message end)
        {
            var result = new Result(match, end);
            if (results.Count == MostResults)
            {
                results.Dequeue();
            }
            results.Enqueue(result);
            string hidden = Output.EndMatch();
            if (hidden != null)
            {
                console.Warn($"Match {result.Match}: {hidden}");
            }
            foreach (string problem in problems.Keys.ToList())
            {
                int again = problems[problem];
                problems[problem] = 0;
                if (again > 0)
                {
                    // The line that names the problem: the one after "GetStep threw:", or the first one.
                    string[] lines = problem.Split('\n');
                    string line = lines[lines.Length > 1 && lines[0].EndsWith(" threw:", StringComparison.Ordinal) ? 1 : 0];
                    console.Warn($"Match {result.Match}: the same problem as before occurred {again} more"
                        + $" time{(again > 1 ? "s" : "")}: {Text.Escape(line)}");
                }
            }
            console.Say(Played.EndText(result));
            match = null;
        }

        // --- the end of a connection (docs/proofs.md, "Trust" and "Reconnecting") ---

        private bool EndsTheRun(Message last)
        {
            if (last.RetryMs != null)
            {
                return false;
            }
            if (proved)
            {
                return true;
            }
            if (everProved || last.Reason == "contest_over")
            {
                return false;
            }
            // A refused login cannot be proved, and the author has to read at once that the token is wrong. Two copies of
            // a bot that ignored "replaced" would take the seat from each other without end.
            return !welcomed || last.Reason == "replaced";
        }

        private List<Result> EndRun(Message last)
        {
            string advice = Advice(last.Reason);
            if (advice != null || !welcomed)
            {
                throw new Refused($"Team {settings.Team} may not play: {GoodbyeText(last)}." + (advice == null ? "" : "\n" + advice));
            }
            console.Say(Text.Escape(last.Detail.Length == 0 ? last.Reason : last.Detail));
            worker.End();
            if (worker.Current != null)
            {
                console.Warn("getstep: GetStep is still running; the program ends without it");
            }
            return results.ToList();
        }

        private static string Advice(string reason)
        {
            switch (reason)
            {
                case "bad_token": return "Copy the token again from the slip from the host, and check the host's address.";
                case "unknown_team":
                    return "Ask the host for your team's id, or look at the slip; check the host's address, too.";
                case "replaced": return "Is a second copy of your bot running? The newest one plays, this one stops.";
                case "unsupported_version": return Update;
                default: return null;
            }
        }

        private static string GoodbyeText(Message last)
        {
            return Text.Escape(last.Reason) + ": " + Text.Escape(last.Detail).TrimEnd('.');
        }

        private double AfterFailure(string why)
        {
            string what = welcomed ? "Connection lost" : "No connection to " + Address;
            bool isLong = nextPause >= LongestPause / 2; // a server that was restarted would be back
            bool found = finder != null && (IsGone(why) || AtFound || !everWelcomed || isLong) && finder.Next(console);
            WarnOnce($"{what}: {why}. Trying again until it works; Ctrl-C stops the bot.");
            double pause = GrowingPause();
            return found ? 0 : pause;
        }

        private bool AtFound => finder != null && finder.AtFound;

        /// <summary>Returns true if no computer answers at an address, or its server says that another has taken over.</summary>
        private static bool IsGone(string why)
        {
            return why == EarlierHost || why.StartsWith("no answer; the address", StringComparison.Ordinal)
                || why.StartsWith("no way to that address", StringComparison.Ordinal) || why.Contains("timed out");
        }

        /// <summary>Returns true if a found server has refused the login: the token may be right, and the server not the
        /// host's.</summary>
        private bool IsDoubtful(Message last)
        {
            bool known = everProved || settings.Token == settings.KnownToken;
            return AtFound && !welcomed && (known || last.RetryMs != null || last.Reason == "wrong_address");
        }

        private double AfterGoodbye(Message last)
        {
            string text = GoodbyeText(last) + ". Connecting again.";
            WarnOnce(last.RetryMs != null
                ? text
                : text + " The server that said so has not proved that it is your host; Ctrl-C stops the bot.");
            if (last.RetryMs == null)
            {
                return Math.Max(GrowingPause(), ShortestRetry);
            }
            double seconds = last.RetryMs.Value / 1000.0;
            return proved
                ? seconds * Jitter(1, 1.1)
                : Math.Min(Math.Max(seconds, ShortestRetry) * Jitter(1, 1.1), LongestRetry);
        }

        private double GrowingPause()
        {
            double pause = nextPause;
            nextPause = Math.Min(2 * pause, LongestPause);
            return pause * Jitter(0.9, 1);
        }

        /// <summary>Returns a random factor, so that a room full of bots does not connect in the same instant.</summary>
        private double Jitter(double lowest, double highest)
        {
            return lowest + (highest - lowest) * random.NextDouble();
        }

        private void WarnOnce(string line)
        {
            if (warned.Contains(line))
            {
                return;
            }
            if (warned.Count >= MostProblems)
            {
                warned.Clear(); // a server whose every goodbye differs takes no more memory
            }
            warned.Add(line);
            console.Warn(line);
        }

        private void ResetProblems()
        {
            warned.Clear();
            nextPause = FirstPause;
        }
    }
}
