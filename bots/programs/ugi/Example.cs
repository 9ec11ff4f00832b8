// An example for UGI (--as ugi): it plays longest_path, and makes and blocks long paths.
//
// It reads the position in each turn: the board, or the moves from the start.

using System;
using System.Collections.Generic;

public static class Example
{
    const int Size = 11;
    static readonly int[,] Around = { { 1, 0 }, { -1, 0 }, { 0, 1 }, { 0, -1 } };

    static int[,] board = new int[Size, Size]; // board[row, column]: 0, or the player 1 or 2
    static int mover = 1;

    public static void Main()
    {
        string line;
        while ((line = Console.ReadLine()) != null)
        {
            string[] words = line.Trim().Split(' ');
            if (words[0] == "ugi")
                Console.WriteLine("id name Example in C#\nid author The getstep authors\nugiok");
            else if (words[0] == "isready")
                Console.WriteLine("readyok");
            else if (words[0] == "position")
                ReadPosition(words);
            else if (words[0] == "go")
                Think();
            else if (words[0] == "quit")
                return;
        }
    }

    /// <summary>Reads "startpos" or "fen BOARD PLAYER TURNS", and the moves after "moves".</summary>
    static void ReadPosition(string[] words)
    {
        board = new int[Size, Size];
        mover = 1;
        int next = 2;
        if (words[1] == "fen")
        {
            string[] rows = words[2].Split('/');
            for (int row = 0; row < Size; row++)
            {
                string[] cells = rows[row].Split(',');
                for (int column = 0; column < Size; column++)
                    board[row, column] = int.Parse(cells[column]);
            }
            mover = words[3] == "p2" ? 2 : 1;
            next = 5;
        }
        for (int n = next + 1; n < words.Length; n++) // after "moves"
        {
            string[] square = words[n].Split(',');
            board[int.Parse(square[0]), int.Parse(square[1])] = mover;
            mover = 3 - mover;
        }
    }

    static void Think()
    {
        int bestRow = 0, bestColumn = 0, best = -1;
        for (int row = 0; row < Size; row++)
            for (int column = 0; column < Size; column++)
            {
                if (board[row, column] != 0)
                    continue;
                int value = 3 * PathFrom(row, column, mover) + 2 * PathFrom(row, column, 3 - mover);
                if (value <= best)
                    continue;
                best = value;
                bestRow = row;
                bestColumn = column;
            }
        int ahead = PathFrom(bestRow, bestColumn, mover) - PathFrom(bestRow, bestColumn, 3 - mover);
        string move = bestRow + "," + bestColumn;
        Console.WriteLine("info depth 1 score cp " + 20 * ahead + " pv " + move + "\nbestmove " + move);
    }

    /// <summary>The stones to the farthest one of the group: a breadth-first search.</summary>
    static int PathFrom(int row, int column, int player)
    {
        var length = new int[Size, Size]; // from the square; 0 if it was not seen
        var queue = new Queue<int>();
        length[row, column] = 1;
        queue.Enqueue(row * Size + column);
        int longest = 1;
        while (queue.Count > 0)
        {
            int square = queue.Dequeue();
            for (int n = 0; n < 4; n++)
            {
                int r = square / Size + Around[n, 0], c = square % Size + Around[n, 1];
                if (r < 0 || c < 0 || r >= Size || c >= Size || length[r, c] > 0 || board[r, c] != player)
                    continue;
                longest = length[r, c] = length[square / Size, square % Size] + 1;
                queue.Enqueue(r * Size + c);
            }
        }
        return longest;
    }
}
