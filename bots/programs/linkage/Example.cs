// An example for the Linkage ladder (linkage, --as linkage): as More it parts the colours, as Fewer it joins them.
//
// With an argument it prints its id line. Without one it reads input.txt and writes order.txt, such as RA1A2.

using System;
using System.IO;

public static class Example
{
    const string Colours = "RBGY";
    static string[] lines;

    public static void Main(string[] arguments)
    {
        if (arguments.Length > 0)
        {
            Console.WriteLine("Example in C#, The getstep authors, 2026-01-31, 1.0");
            return;
        }
        lines = File.ReadAllLines("input.txt");
        File.WriteAllText("order.txt", BestOrder() + "\n");
    }

    static string BestOrder()
    {
        string first = lines[0]; // such as M6666: the player, and the dominoes left of each colour
        string best = "";
        int bestValue = int.MinValue;
        for (int n = 0; n < 4; n++)
            for (int r = 0; r < 7; r++)
                for (int c = 0; c < 7; c++)
                    for (int down = 0; down < 2; down++)
                    {
                        int r2 = r + down, c2 = c + 1 - down;
                        if (first[n + 1] == '0' || Cell(r, c) != '.' || Cell(r2, c2) != '.')
                            continue;
                        int same = SameAround(Colours[n], r, c) + SameAround(Colours[n], r2, c2);
                        int value = first[0] == 'F' ? same : -same;
                        if (value <= bestValue)
                            continue;
                        bestValue = value;
                        best = Colours[n] + Name(r, c) + Name(r2, c2);
                    }
        return best;
    }

    /// <summary>How many squares of a colour are around a square.</summary>
    static int SameAround(char colour, int r, int c)
    {
        int count = 0;
        count += Cell(r + 1, c) == colour ? 1 : 0;
        count += Cell(r - 1, c) == colour ? 1 : 0;
        count += Cell(r, c + 1) == colour ? 1 : 0;
        count += Cell(r, c - 1) == colour ? 1 : 0;
        return count;
    }

    static char Cell(int r, int c) => r < 0 || c < 0 || r > 6 || c > 6 ? ' ' : lines[r + 1][c];

    static string Name(int r, int c) => "" + "ABCDEFG"[c] + (r + 1);
}
