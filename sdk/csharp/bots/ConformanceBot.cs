using System;
using System.Linq;
using System.Text.RegularExpressions;
using System.Threading;

/// <summary>The test bot of docs/conformance.md: it always gives the same answer.</summary>
public static class ConformanceBot
{
    private static readonly int[][] Neighbours = { new[] { -1, 0 }, new[] { 0, -1 }, new[] { 0, 1 }, new[] { 1, 0 } };

    private static int At(int[][] board, int row, int column)
    {
        bool inside = row >= 0 && row < board.Length && column >= 0 && column < board[row].Length;
        return inside ? board[row][column] : -1000;
    }

    private static object FirstMove(int[][] board, bool isBlack, string game)
    {
        for (int row = 0; row < board.Length; row++)
        {
            for (int column = 0; column < board[row].Length; column++)
            {
                object move = MoveFrom(board, isBlack, game, row, column);
                if (move != null)
                {
                    return move;
                }
            }
        }
        return new[] { 0, 0 };
    }

    private static object MoveFrom(int[][] board, bool isBlack, string game, int row, int column)
    {
        int cell = board[row][column];
        if (game == "hop")
        {
            int[] step = Neighbours.FirstOrDefault(next => At(board, row + next[0], column + next[1]) == 0);
            return cell == (isBlack ? 1 : 2) && step != null
                ? new[] { new[] { row, column }, new[] { row + step[0], column + step[1] } }
                : null;
        }
        if (game == "linkage")
        {
            if (cell == 0 && At(board, row, column + 1) == 0)
            {
                return Getstep.Domino('R', row, column, row, column + 1);
            }
            return cell == 0 && At(board, row + 1, column) == 0 ? Getstep.Domino('R', row, column, row + 1, column) : null;
        }
        bool legal = cell == 0 || game == "chain_reaction" && isBlack == cell > 0;
        return legal ? new[] { row, column } : null;
    }

    /// <summary>Notes something about this move, as the command asks.</summary>
    private static void Note(string command, Getstep.Turn turn)
    {
        switch (command)
        {
            case "note":
                Getstep.Say("conformance");
                Getstep.Say("\U0001F3B2");
                Getstep.Estimate(0.5);
                Getstep.Estimate(0.25);
                Getstep.Draw(new[] { 0, 0 }, 7, "red");
                Getstep.Draw(new[] { new[] { 0, 0 }, new[] { 1, 1 } }, "to", "blue", "arrow");
                Getstep.Tag("opening");
                break;
            case "note and raise":
                Getstep.Say("before the error");
                throw new InvalidOperationException("conformance");
            case "note badly":
                Getstep.Say(new string('x', 1000000));
                Getstep.Say("the right one");
                foreach (double estimate in new[] { double.NaN, double.PositiveInfinity, -1.5 })
                {
                    Getstep.Estimate(estimate);
                }
                Getstep.Draw(new[] { -1, 0 });
                Getstep.Draw(new[] { 0, 200 });
                Getstep.Draw(new int[0][]);
                Getstep.Draw(new[] { 0, 0 }, shape: "circle");
                foreach (string word in new[] { "", "two words", "\u001b[2J" })
                {
                    Getstep.Tag(word);
                }
                break;
            case "note a lot":
                for (int number = 0; number < 10000; number++)
                {
                    Getstep.Say(new string('x', 100));
                    Getstep.Estimate(number / 10000.0);
                    Getstep.Draw(new[] { 0, 0 }, number);
                    Getstep.Tag("tag" + number);
                }
                break;
        }
        if (Regex.IsMatch(command, @"\Anote [0-9]{1,7}\z"))
        {
            Getstep.Say("move " + turn.MoveNumber);
            Thread.Sleep(int.Parse(command.Substring(5)));
        }
    }

    private static object GetStep(int[][] board, bool isBlack, Getstep.Turn turn)
    {
        string command = turn.Opponent;
        switch (command)
        {
            case "raise":
            case "recurse": // an overflow of the stack ends a program in C#
                throw new InvalidOperationException("conformance");
            case "raise long":
                throw new InvalidOperationException(string.Concat(Enumerable.Repeat("\U0001F3B2", 2000)));
            case "return nothing":
                return null;
            case "return long":
                return Enumerable.Repeat(new[] { 0, 0 }, 1000).ToArray();
            case "tell":
                object[] given = { new[] { turn.TimeLeftMs, turn.MoveNumber } }; // an int[][] of one square is that square
                return given.Concat(turn.LastSquares).ToArray();
            case "tell opening":
                object[] length = { new[] { turn.Opening.Count, 0 } };
                return length.Concat(turn.OpeningSquares.SelectMany(squares => squares)).ToArray();
        }
        Note(command, turn);
        if (Regex.IsMatch(command, @"\Asleep [0-9]{1,7}\z"))
        {
            Thread.Sleep(int.Parse(command.Substring(6)));
        }
        return FirstMove(board, isBlack, turn.Game);
    }

    private static void Main(string[] args)
    {
        Getstep.Play(args, GetStep);
    }
}
