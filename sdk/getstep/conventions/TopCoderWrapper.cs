// Calls a C# class of the TopCoder match: a getstep program for the convention "topcoder".
//
// The class PseudoTonga has
//     public int[] init(int N, int row, int col)
//     public int[] move(int row, int col)
// It has no Main method. Compile both files to one program:
//     mcs -out:pseudo_tonga.exe PseudoTonga.cs TopCoderWrapper.cs           (mono; on Windows also: csc)
// With dotnet, both files are in the folder of one project ("dotnet new console"), without another Main.
//
// It reads a line for each call, "N row col" first and then "row col", and writes the array that was returned.
// What the class prints goes to standard error, so that it cannot get between the moves.

using System;
using System.IO;

public static class TopCoderWrapper
{
    public static void Main()
    {
        TextWriter moves = Console.Out;
        Console.SetOut(Console.Error);
        var program = new PseudoTonga();
        bool begun = false;
        for (string line = Console.In.ReadLine(); line != null; line = Console.In.ReadLine())
        {
            string[] words = line.Split(new[] { ' ' }, StringSplitOptions.RemoveEmptyEntries);
            int[] n = Array.ConvertAll(words, int.Parse);
            Write(moves, begun ? program.move(n[0], n[1]) : program.init(n[0], n[1], n[2]));
            begun = true;
        }
        Environment.Exit(0); // also if the class has started threads
    }

    /// <summary>Writes an array as a line of numbers. No array is an empty line.</summary>
    private static void Write(TextWriter moves, int[] array)
    {
        moves.Write(string.Join(" ", array ?? new int[0]) + "\n");
        moves.Flush();
    }
}
