using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;

// Plays pseudo_tonga by Monte Carlo: each move is tried, and the rest of the game played at random, many times.
public static class SearchPseudoTonga
{
    static readonly Random Random = new Random();

    // Return the size of the group at a square, and mark its squares as seen.
    static int GroupSize(int[][] board, bool[,] seen, int row, int column, int stone)
    {
        bool inside = row >= 0 && row < board.Length && column >= 0 && column < board.Length;
        if (!inside || seen[row, column] || board[row][column] != stone)
        {
            return 0;
        }
        seen[row, column] = true;
        return 1 + GroupSize(board, seen, row - 1, column, stone) + GroupSize(board, seen, row + 1, column, stone)
            + GroupSize(board, seen, row, column - 1, stone) + GroupSize(board, seen, row, column + 1, stone);
    }

    // Return the score of the first player minus that of the second: each group counts its size squared.
    static double Score(int[][] board)
    {
        var seen = new bool[board.Length, board.Length];
        double score = 0;
        for (int row = 0; row < board.Length; row++)
        {
            for (int column = 0; column < board.Length; column++)
            {
                double group = GroupSize(board, seen, row, column, board[row][column]);
                score += board[row][column] == 1 ? group * group : -group * group;
            }
        }
        return score;
    }

    // Fill the board at random, and return its score for the player who moved before.
    static double Playout(int[][] board, List<int[]> empty, bool isBlack)
    {
        int[][] order = empty.ToArray();
        int stone = isBlack ? 2 : 1; // the opponent is next
        for (int left = order.Length; left > 0; left--)
        {
            int chosen = Random.Next(left);
            int[] square = order[chosen];
            order[chosen] = order[left - 1];
            if (board[square[0]][square[1]] == 0)
            {
                board[square[0]][square[1]] = stone;
                stone = 3 - stone;
            }
        }
        return isBlack ? Score(board) : -Score(board);
    }

    static int[] GetStep(int[][] board, bool isBlack, Getstep.Turn turn)
    {
        var empty = new List<int[]>();
        for (int row = 0; row < board.Length; row++)
        {
            for (int column = 0; column < board.Length; column++)
            {
                if (board[row][column] == 0)
                {
                    empty.Add(new[] { row, column });
                }
            }
        }

        // The limit is for all moves together: half of an equal share for this move.
        double myMoves = (empty.Count + 1) / 2.0;
        double milliseconds = 0.5 * turn.TimeLeftMs / myMoves;
        var watch = Stopwatch.StartNew();

        var sums = new double[empty.Count];
        do
        {
            for (int n = 0; n < sums.Length; n++)
            {
                int[][] later = board.Select(row => (int[])row.Clone()).ToArray();
                later[empty[n][0]][empty[n][1]] = isBlack ? 1 : 2;
                sums[n] += Playout(later, empty, isBlack);
            }
        }
        while (watch.ElapsedMilliseconds < milliseconds);
        return empty[Array.IndexOf(sums, sums.Max())];
    }

    static void Main(string[] args)
    {
        Getstep.Play(args, GetStep);
    }
}
