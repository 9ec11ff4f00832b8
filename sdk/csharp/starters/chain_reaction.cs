// A bot for chain_reaction. It already plays; now improve it.
//
// @goal
//
// The live page of the contest has the rules, at /rules, and says how to build and start a bot in C#, at /csharp.

using System;
using System.Collections.Generic;

public static class MyBot
{
    // @body
    static readonly int[][] Directions = { new[] { -1, 0 }, new[] { 1, 0 }, new[] { 0, -1 }, new[] { 0, 1 } };

    // Return the squares above, below, left and right of a square, as far as they are on the board.
    static List<int[]> Neighbours(int[][] board, int row, int column)
    {
        var found = new List<int[]>();
        foreach (int[] step in Directions)
        {
            int nextRow = row + step[0], nextColumn = column + step[1];
            if (nextRow >= 0 && nextRow < board.Length && nextColumn >= 0 && nextColumn < board[0].Length)
            {
                found.Add(new[] { nextRow, nextColumn });
            }
        }
        return found;
    }

    // Return all legal moves: the squares that are empty or yours.
    static List<int[]> LegalMoves(int[][] board, bool isBlack)
    {
        var moves = new List<int[]>();
        for (int row = 0; row < board.Length; row++)
        {
            for (int column = 0; column < board[row].Length; column++)
            {
                if (isBlack ? board[row][column] >= 0 : board[row][column] <= 0)
                {
                    moves.Add(new[] { row, column });
                }
            }
        }
        return moves;
    }

    // Return how good a move looks: the higher, the better.
    static double Value(int[][] board, int[] move, bool isBlack)
    {
        List<int[]> neighbours = Neighbours(board, move[0], move[1]);
        bool explodes = Math.Abs(board[move[0]][move[1]]) + 1 >= neighbours.Count;
        int enemies = 0; // orbs next to the square
        foreach (int[] square in neighbours)
        {
            int cell = board[square[0]][square[1]];
            if (isBlack ? cell < 0 : cell > 0)
            {
                enemies += Math.Abs(cell);
            }
        }

        // Put your own ideas here.
        // @hints
        if (explodes)
        {
            return enemies;
        }
        return enemies > 0 ? -0.5 : 1.0 / neighbours.Count;
    }

    // Return the move to make: { row, column }, for example new[] { 0, 0 }.
    //
    // @board
    // isBlack is true if you are the first player, Red. You are only asked when you have a move.
    public static int[] GetStep(int[][] board, bool isBlack)
    {
        var best = new List<int[]>();
        double bestValue = 0;
        foreach (int[] move in LegalMoves(board, isBlack))
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
        Getstep.Play(args, GetStep, "chain_reaction");
    }
}
