// An example for the CSE Fest contest (chain_reaction, --as csefest-console): it looks one move ahead.
//
// Its argument is its colour, R or G. It reads "start" once, then 8 lines of the board before each of its moves, and
// writes "x y": the row and the column.

using System;
using System.Collections.Generic;
using System.Linq;

public static class Example
{
    const int Size = 8;
    static readonly Random Chance = new Random();

    public static void Main(string[] arguments)
    {
        char colour = arguments[0][0];
        var board = new int[Size, Size];
        Console.ReadLine(); // start
        while (ReadBoard(board, colour))
        {
            BestMove(board, out int x, out int y);
            Console.WriteLine(x + " " + y);
        }
    }

    static bool ReadBoard(int[,] board, char colour)
    {
        for (int x = 0; x < Size; x++)
        {
            string line = Console.ReadLine();
            if (line == null)
                return false; // the game is over
            string[] cells = line.Split(' ');
            for (int y = 0; y < Size; y++)
                board[x, y] = Orbs(cells[y], colour);
        }
        return true;
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
