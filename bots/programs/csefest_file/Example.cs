// An example for the CSE Fest contest (chain_reaction, --as csefest-file): it looks one move ahead.
//
// Its argument is its colour, R or G. It reads shared_file.txt again and again. If the first line has its colour, the
// other 8 lines are the board, and it writes its move there: 0, and on the second line the row and the column.

using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;

public static class Example
{
    const int Size = 8;
    static readonly Random Chance = new Random();
    const string Shared = "shared_file.txt";

    public static void Main(string[] arguments)
    {
        string colour = arguments[0];
        var board = new int[Size, Size];
        while (true) // the host ends the program
        {
            string[] lines = ReadLines();
            if (lines.Length == 1 + Size && lines[0] == colour)
            {
                for (int x = 0; x < Size; x++)
                {
                    string[] cells = lines[1 + x].Split(' ');
                    for (int y = 0; y < Size; y++)
                        board[x, y] = Orbs(cells[y], colour[0]);
                }
                BestMove(board, out int bestX, out int bestY);
                File.WriteAllText(Shared, "0\n" + bestX + " " + bestY + "\n");
            }
            Thread.Sleep(5);
        }
    }

    static string[] ReadLines()
    {
        try
        {
            return File.ReadAllLines(Shared);
        }
        catch (IOException)
        {
            return new string[0]; // the host is writing it: Windows then refuses to read it
        }
    }

    /// <summary>The number of a cell such as R2 or No: positive for my orbs, negative for the opponent's.</summary>
    static int Orbs(string cell, char colour)
    {
        int number = cell == "No" ? 0 : cell[1] - '0';
        return cell[0] == colour ? number : -number;
    }

    static void BestMove(int[,] board, out int bestX, out int bestY)
    {
        bestX = bestY = 0;
        int best = int.MinValue;
        for (int x = 0; x < Size; x++)
            for (int y = 0; y < Size; y++)
            {
                if (board[x, y] < 0)
                    continue;
                int value = ValueAfter(board, x, y) * 1000 + Chance.Next(1000); // of equal ones, any
                if (value <= best)
                    continue;
                best = value;
                bestX = x;
                bestY = y;
            }
    }

    /// <summary>The sum of the orbs after a move, mine less the opponent's.</summary>
    static int ValueAfter(int[,] before, int x, int y)
    {
        var board = (int[,])before.Clone();
        var todo = new Stack<int>();
        todo.Push(x * Size + y);
        while (todo.Count > 0)
        {
            int square = todo.Pop();
            x = square / Size;
            y = square % Size;
            board[x, y] = Math.Abs(board[x, y]) + 1;
            var around = new List<int>();
            if (x > 0) around.Add(square - Size);
            if (y > 0) around.Add(square - 1);
            if (x < Size - 1) around.Add(square + Size);
            if (y < Size - 1) around.Add(square + 1);
            if (board[x, y] < around.Count)
                continue;
            board[x, y] = 0; // the square explodes
            around.ForEach(todo.Push);
            if (board.Cast<int>().All(cell => cell >= 0))
                return 1000; // the opponent has nothing left
        }
        return board.Cast<int>().Sum();
    }
}
