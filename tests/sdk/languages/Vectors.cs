using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Security.Cryptography;
using System.Text;

/// <summary>Reads commands of one line each, and prints a line of JSON for each: see tests/sdk/test_vectors_in_languages.py.</summary>
public static class Vectors
{
    private static byte[] Unhex(string digits)
    {
        return Enumerable.Range(0, digits.Length / 2).Select(i => Convert.ToByte(digits.Substring(2 * i, 2), 16)).ToArray();
    }

    private static string Hex(byte[] bytes)
    {
        return string.Concat(bytes.Select(b => b.ToString("x2")));
    }

    private static string Quoted(string text)
    {
        return "\"" + string.Concat(text.Select(c =>
            c >= ' ' && c < 127 && c != '"' && c != '\\' ? c.ToString() : $"\\u{(int)c:x4}")) + "\"";
    }

    private static string Real(double real)
    {
        string text = real.ToString("R", CultureInfo.InvariantCulture);
        return double.IsNaN(real) || double.IsInfinity(real) || text.IndexOfAny(new[] { '.', 'E' }) >= 0 ? text : text + ".0";
    }

    private static string Json(object value)
    {
        if (value is string text)
        {
            return Quoted(text);
        }
        if (value is bool truth)
        {
            return truth ? "true" : "false";
        }
        if (value is double real)
        {
            return Real(real);
        }
        if (value is IDictionary map)
        {
            IEnumerable<string> pairs = map.Keys.Cast<string>().Select(key => Json(key) + ":" + Json(map[key]));
            return "{" + string.Join(",", pairs) + "}";
        }
        if (value is IEnumerable items)
        {
            return "[" + string.Join(",", items.Cast<object>().Select(Json)) + "]";
        }
        return value == null ? "null" : Convert.ToString(value, CultureInfo.InvariantCulture);
    }

    private static Dictionary<string, object> Map(params object[] pairs)
    {
        var map = new Dictionary<string, object>();
        for (int i = 0; i < pairs.Length; i += 2)
        {
            map[(string)pairs[i]] = pairs[i + 1];
        }
        return map;
    }

    private static object Stream(byte[] bytes)
    {
        var reader = new Getstep.FrameReader();
        reader.Feed(bytes, bytes.Length);
        var bodies = new List<string>();
        string code = null;
        try
        {
            for (byte[] body = reader.NextBody(); body != null; body = reader.NextBody())
            {
                bodies.Add(Hex(body));
            }
        }
        catch (Getstep.ProtocolError error)
        {
            code = error.Code;
        }
        return Map("bodies", bodies, "code", code, "partial", code == null && reader.Partial);
    }

    private static object Conversation(IEnumerable<object> frames)
    {
        var client = new Getstep.Conversation();
        var types = new List<string>();
        foreach (Dictionary<string, object> frame in frames)
        {
            if ((string)frame["from"] == "client")
            {
                client.State = client.State == Getstep.State.Login ? Getstep.State.Deciding : Getstep.State.Match;
                continue;
            }
            foreach (byte b in Unhex((string)frame["bytes"]))
            {
                client.Feed(new[] { b }, 1);
                for (Getstep.Message message = client.Next(); message != null; message = client.Next())
                {
                    types.Add(message.Type);
                }
            }
        }
        return Map("messages", types);
    }

    /// <summary>Returns the frame of an answer with the notes of some calls, and what the author reads.</summary>
    private static object Noted(Dictionary<string, object> given)
    {
        var lines = new List<object>();
        var notes = new Getstep.Notes(lines.Add);
        var rows = (List<object>)given["board"];
        notes.Begin(rows.Select(row => ((List<object>)row).Select(cell => (int)(long)cell).ToArray()).ToArray());
        foreach (List<object> call in (List<object>)given["calls"])
        {
            switch ((string)call[0])
            {
                case "say":
                    notes.Say((string)call[1]);
                    break;
                case "estimate":
                    notes.Estimate(Convert.ToDouble(call[1], CultureInfo.InvariantCulture));
                    break;
                case "tag":
                    notes.Tag((string)call[1]);
                    break;
                case "end":
                    notes.End();
                    break;
                default:
                    notes.Draw(Squares(call[1]), call[2], (string)call[3], (string)call[4]);
                    break;
            }
        }
        var answer = new Getstep.Call(given["move"], null, null, 0);
        int room = Getstep.MaxClientFrame - Getstep.Encoder.Frame(Getstep.AnswerOf(31, answer)).Length + Getstep.HeaderBytes - 6;
        answer.Notes = notes.End() ? notes.Take(room) : null;
        return Map("frame", Hex(Getstep.Encoder.Frame(Getstep.AnswerOf(31, answer))), "lines", lines);
    }

    /// <summary>Returns squares as a bot gives them.</summary>
    private static object Squares(object given)
    {
        var list = (List<object>)given;
        return list.All(item => item is long)
            ? (object)list.Select(item => (int)(long)item).ToArray()
            : list.Select(Squares).ToList();
    }

    private static object Answer(string command, string argument)
    {
        switch (command)
        {
            case "body":
                return Map("value", Getstep.Decoder.Decode(Unhex(argument)));
            case "message":
                Dictionary<string, object> body = Getstep.Decoder.Decode(Unhex(argument));
                Getstep.Message.Of(body);
                return Map("message", body);
            case "stream":
                return Stream(Unhex(argument));
            case "sha256":
                using (SHA256 sha = SHA256.Create())
                {
                    return Map("digest", Hex(sha.ComputeHash(Unhex(argument))));
                }
            default:
                return AnswerJson(command, Getstep.Json.Parse(argument));
        }
    }

    private static object AnswerJson(string command, object data)
    {
        var map = data as Dictionary<string, object>;
        switch (command)
        {
            case "sent":
                try
                {
                    return Map("frame", Hex(Getstep.Encoder.Frame(map)));
                }
                catch (Getstep.NotSendable)
                {
                    return Map("refused", true);
                }
            case "signature":
                string token = Getstep.Auth.Canonical((string)map["typed"]);
                string nonce = (string)map["nonce"], clientNonce = (string)map["client_nonce"], proof = (string)map["proof"];
                string dialled = (string)map["dialled"], proofThere = (string)map["dialled_proof"];
                bool right = Getstep.Auth.IsProof(token, nonce, clientNonce, null, proof)
                    && !Getstep.Auth.IsProof(token, clientNonce, nonce, null, proof);
                bool rightThere = Getstep.Auth.IsProof(token, nonce, clientNonce, dialled, proofThere)
                    && !Getstep.Auth.IsProof(token, nonce, clientNonce, dialled, proof);
                return Map("token", token, "mac", Getstep.Auth.Sign(token, nonce, null), "proof", right ? proof : "wrong",
                    "dialled_mac", Getstep.Auth.Sign(token, nonce, dialled),
                    "dialled_proof", rightThere ? proofThere : "wrong");
            case "nonce":
                var versions = new List<object>();
                Getstep.Message.Of(Map("type", "hello", "versions", versions, "nonce", data, "contest", "", "server", ""));
                return Map();
            case "conversation":
                return Conversation((List<object>)data);
            case "notes":
                return Noted(map);
            case "escaped":
                return Map("text", Getstep.Text.Escape((string)data));
            case "trace":
                return Map("text", Getstep.Text.Trace(new InvalidOperationException((string)data)));
            case "duration":
                return Map("text", Getstep.Text.Duration(Convert.ToDouble(data, CultureInfo.InvariantCulture)));
            default:
                return Map("unknown", true);
        }
    }

    private static void Main()
    {
        var lines = new StreamReader(Console.OpenStandardInput(), new UTF8Encoding(false));
        for (string line = lines.ReadLine(); line != null; line = lines.ReadLine())
        {
            string[] parts = line.Split(new[] { ' ' }, 2);
            object found;
            try
            {
                found = Answer(parts[0], parts.Length > 1 ? parts[1] : "");
            }
            catch (Getstep.ProtocolError error)
            {
                found = Map("code", error.Code);
            }
            catch (Exception error)
            {
                found = Map("failed", error.ToString());
            }
            Console.WriteLine(Json(found));
        }
    }
}
