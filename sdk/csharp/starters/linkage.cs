// A bot for linkage. It already plays; now improve it.
//
// @goal
//
// The live page of the contest has the rules, at /rules, and says how to build and start a bot in C#, at /csharp.

using System;
using System.Collections.Generic;

public static class MyBot
{
    // @body
    const int Size = 7;
    static readonly int[][] Directions = { new[] { -1, 0 }, new[] { 1, 0 }, new[] { 0, -1 }, new[] { 0, 1 } };

    // A domino: its colour, 1 to 4 for R, B, G and Y, and its two squares.
    static int[][] Domino(int colour, int row1, int column1, int row2, int column2)
    {
        return new[] { new[] { colour }, new[] { row1, column1 }, new[] { row2, column2 } };
    }

    // Return the legal moves: a domino of a colour that is left, on two neighbouring squares that are 0.
    static List<int[][]> LegalMoves(int[][] board, bool isBlack)
    {
        int[] left = { 0, 12, 12, 12, 12 }; // squares: six dominoes of each colour
        foreach (int[] row in board)
        {
            foreach (int cell in row)
            {
                if (cell > 0)
                {
                    left[cell]--;
                }
            }
        }
        var moves = new List<int[][]>();
        for (int colour = 1; colour <= 4; colour++)
        {
            for (int row = 0; row < Size; row++)
            {
                for (int column = 0; column < Size; column++)
                {
                    if (left[colour] < 2 || board[row][column] != 0)
                    {
                        continue;
                    }
                    if (column + 1 < Size && board[row][column + 1] == 0)
                    {
                        moves.Add(Domino(colour, row, column, row, column + 1));
                    }
                    if (row + 1 < Size && board[row + 1][column] == 0)
                    {
                        moves.Add(Domino(colour, row, column, row + 1, column));
                    }
                }
            }
        }
        return moves;
    }

    // Return how good a move looks: the higher, the better.
    static double Value(int[][] board, int[][] move, bool isBlack)
    {
        int colour = move[0][0];
        int same = 0; // neighbours of the domino that have its colour
        foreach (int[] square in new[] { move[1], move[2] })
        {
            foreach (int[] step in Directions)
            {
                int row = square[0] + step[0], column = square[1] + step[1];
                if (row >= 0 && row < Size && column >= 0 && column < Size && board[row][column] == colour)
                {
                    same++;
                }
            }
        }

        // Put your own ideas here.
        // @hints
        return isBlack ? -same : same;
    }

    // Return the move to make: a colour, 1 to 4 for R, B, G and Y, and two squares, for example
    // new[] { new[] { 1 }, new[] { 0, 0 }, new[] { 0, 1 } }.
    //
    // @board
    // isBlack is true if you are the first player, More. You are only asked when you have a move.
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
        Getstep.Play(args, GetStep, "linkage");
    }
}
