// An example for the Prodrive Dev Challenge (longest_path, --as prodrive): it makes long paths, and blocks them.
//
// It reads its player id, 0 or 1, and then the opponent's moves. Each line is "x y": the column and the row.

using System;
using System.Collections.Generic;

public static class Example
{
    const int Size = 11, Mine = 1, Theirs = 2;
    static readonly int[,] Around = { { 1, 0 }, { -1, 0 }, { 0, 1 }, { 0, -1 } };

    static readonly int[,] board = new int[Size, Size]; // board[x, y], 0 for an empty square
    static int taken;

    public static void Main()
    {
        bool second = Console.ReadLine().Trim() == "1";
        if (second && !ReadOpponent())
            return;
        while (taken < Size * Size)
        {
            BestMove(out int x, out int y);
            board[x, y] = Mine;
            taken++;
            Console.WriteLine(x + " " + y);
            if (taken < Size * Size && !ReadOpponent())
                return;
        }
    }

    static bool ReadOpponent()
    {
        string line = Console.ReadLine();
        if (line == null)
            return false; // the game is over
        string[] words = line.Split(' ');
        board[int.Parse(words[0]), int.Parse(words[1])] = Theirs;
        taken++;
        return true;
    }

    static void BestMove(out int bestX, out int bestY)
    {
        bestX = bestY = 0;
        int best = -1;
        for (int x = 0; x < Size; x++)
            for (int y = 0; y < Size; y++)
            {
                int value = board[x, y] != 0 ? -1 : 3 * PathFrom(x, y, Mine) + 2 * PathFrom(x, y, Theirs);
                if (value <= best)
                    continue;
                best = value;
                bestX = x;
                bestY = y;
            }
    }

    /// <summary>The stones to the farthest one of the group that has the square: a breadth-first search.</summary>
    static int PathFrom(int x, int y, int colour)
    {
        var length = new int[Size, Size]; // from the square; 0 if it was not seen
        var queue = new Queue<int>();
        length[x, y] = 1;
        queue.Enqueue(x * Size + y);
        int longest = 1;
        while (queue.Count > 0)
        {
            int square = queue.Dequeue();
            for (int n = 0; n < 4; n++)
            {
                int nx = square / Size + Around[n, 0], ny = square % Size + Around[n, 1];
                if (nx < 0 || ny < 0 || nx >= Size || ny >= Size || length[nx, ny] > 0 || board[nx, ny] != colour)
                    continue;
                longest = length[nx, ny] = length[square / Size, square % Size] + 1;
                queue.Enqueue(nx * Size + ny);
            }
        }
        return longest;
    }
}
