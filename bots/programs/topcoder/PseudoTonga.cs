// An example for TopCoder Marathon Match 6 (pseudo_tonga, --as topcoder): it joins its isles, and parts others.
//
// The host makes one object of the class for each game. It calls init once and then move. The Main method comes from
// TopCoderWrapper.cs: `getstep wrapper PseudoTonga.cs` writes it.

public class PseudoTonga
{
    const int Mine = 1, Theirs = 2;

    int size;
    int[,] board; // 0 for an empty square

    /// <summary>The first move; row and col are the opponent's, or -1 if there was none.</summary>
    public int[] init(int N, int row, int col)
    {
        size = N;
        board = new int[N, N];
        return row < 0 ? Take(N / 2, N / 2) : move(row, col);
    }

    public int[] move(int row, int col)
    {
        board[row, col] = Theirs;
        int best = -1, bestRow = 0, bestCol = 0;
        for (int r = 0; r < size; r++)
            for (int c = 0; c < size; c++)
            {
                int value = board[r, c] != 0 ? -1 : Gain(r, c, Mine) + Gain(r, c, Theirs);
                if (value <= best)
                    continue;
                best = value;
                bestRow = r;
                bestCol = c;
            }
        return Take(bestRow, bestCol);
    }

    int[] Take(int row, int col)
    {
        board[row, col] = Mine;
        return new[] { row, col };
    }

    /// <summary>The points of a stone: the square of the new isle less the squares of those it joins.</summary>
    int Gain(int row, int col, int colour)
    {
        var seen = new bool[size, size];
        int area = 1, before = 0;
        for (int n = 0; n < 4; n++)
        {
            int isle = Count(row + Row(n), col + Column(n), colour, seen);
            area += isle;
            before += isle * isle;
        }
        return area * area - before;
    }

    /// <summary>The stones of an isle that were not seen yet.</summary>
    int Count(int r, int c, int colour, bool[,] seen)
    {
        if (r < 0 || c < 0 || r >= size || c >= size || board[r, c] != colour || seen[r, c])
            return 0;
        seen[r, c] = true;
        int stones = 1;
        for (int n = 0; n < 4; n++)
            stones += Count(r + Row(n), c + Column(n), colour, seen);
        return stones;
    }

    static int Row(int n) => new[] { 1, -1, 0, 0 }[n];

    static int Column(int n) => new[] { 0, 0, 1, -1 }[n];
}
