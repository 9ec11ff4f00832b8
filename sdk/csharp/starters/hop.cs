// A bot for hop. It already plays; now improve it.
//
// @goal
//
// The live page of the contest has the rules, at /rules, and says how to build and start a bot in C#, at /csharp.

using System;
using System.Collections.Generic;

public static class MyBot
{
    // @body
    const int Size = 8;
    static readonly int[][] Directions = { new[] { -1, 0 }, new[] { 1, 0 }, new[] { 0, -1 }, new[] { 0, 1 } };

    static bool IsEmpty(int[][] board, int row, int column)
    {
        return row >= 0 && row < Size && column >= 0 && column < Size && board[row][column] == 0;
    }

    // Return the legal moves: steps to a neighbouring square, and hops, also several with the same piece.
    static List<int[][]> LegalMoves(int[][] board, bool isBlack)
    {
        int mine = isBlack ? 1 : 2;
        var moves = new List<int[][]>();
        for (int row = 0; row < Size; row++)
        {
            for (int column = 0; column < Size; column++)
            {
                if (board[row][column] != mine)
                {
                    continue;
                }
                int[] from = { row, column };
                foreach (int[] direction in Directions)
                {
                    int[] to = { row + direction[0], column + direction[1] };
                    if (IsEmpty(board, to[0], to[1]))
                    {
                        moves.Add(new[] { from, to });
                    }
                }
                board[row][column] = 0; // the piece leaves its square while it hops
                AddHops(board, mine, new List<int[]> { from }, moves);
                board[row][column] = mine;
            }
        }
        return moves;
    }

    // Add all hops that go on from the last square of path. Pieces that were captured on the way have left the board.
    static void AddHops(int[][] board, int mine, List<int[]> path, List<int[][]> moves)
    {
        int[] at = path[path.Count - 1];
        foreach (int[] direction in Directions)
        {
            int[] over = { at[0] + direction[0], at[1] + direction[1] };
            int[] to = { at[0] + 2 * direction[0], at[1] + 2 * direction[1] };
            // A square twice is allowed, but leads nowhere new.
            bool seen = path.Exists(square => square[0] == to[0] && square[1] == to[1]);
            if (seen || !IsEmpty(board, to[0], to[1]) || board[over[0]][over[1]] == 0)
            {
                continue;
            }
            int hopped = board[over[0]][over[1]];
            if (hopped != mine)
            {
                board[over[0]][over[1]] = 0;
            }
            path.Add(to);
            moves.Add(path.ToArray());
            AddHops(board, mine, path, moves);
            path.RemoveAt(path.Count - 1);
            board[over[0]][over[1]] = hopped;
        }
    }

    // Return how good a move looks: the higher, the better.
    static double Value(int[][] board, int[][] move, bool isBlack)
    {
        int mine = isBlack ? 1 : 2;
        int[] from = move[0], to = move[move.Length - 1];
        int captured = 0;
        for (int n = 1; n < move.Length; n++)
        {
            // Of a step, the square between is one of its own two: no enemy is there.
            int between = board[(move[n - 1][0] + move[n][0]) / 2][(move[n - 1][1] + move[n][1]) / 2];
            captured += between != 0 && between != mine ? 1 : 0;
        }
        int columns = to[1] - from[1]; // to the right, as Black goes
        bool isHome = isBlack ? from[1] >= 6 : from[1] <= 1;

        // Put your own ideas here.
        // @hints
        return 2 * captured + (isBlack ? columns : -columns) - (isHome ? 1.5 : 0);
    }

    // Return the move to make: the piece's square, then each square on its way, for example
    // new[] { new[] { 0, 0 }, new[] { 0, 1 } }.
    //
    // @board
    // isBlack is true if you are the first player, Black. You are only asked when you have a move.
    public static int[][] GetStep(int[][] board, bool isBlack)
    {
        var best = new List<int[][]>();
        double bestValue = 0;
        foreach (int[][] move in LegalMoves(board, isBlack))
        {
            double value = Value(board, move, isBlack);
            if (best.Count == 0 || value > bestValue)
            {
                best.Clear();
                bestValue = value;
            }
            if (value == bestValue)
            {
                best.Add(move);
            }
        }

        // Play one of the moves that look best.
        return best[Random.Next(best.Count)];
    }

    static readonly Random Random = new Random();
    // @end

    // With a third parameter, GetStep(int[][] board, bool isBlack, Getstep.Turn turn), you also get the match number, the
    // opponent's name and last move, and the milliseconds left: turn.Match, turn.Opponent, turn.LastSquares,
    // turn.TimeLeftMs.
    // GetStep may note what it thinks, for the replay: Getstep.Say("I take the corner"); Getstep.Estimate(0.25);

    static void Main(string[] args)
    {
        Getstep.Play(args, GetStep, "hop");
    }
}
