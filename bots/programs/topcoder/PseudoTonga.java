// An example for TopCoder Marathon Match 6 (pseudo_tonga, --as topcoder): it joins its isles, and parts others.
//
// The host makes one object of the class for each game. It calls init once and then move. The main method comes from
// TopCoderWrapper.java: `getstep wrapper PseudoTonga.java` writes it.

public class PseudoTonga {
    private static final int MINE = 1, THEIRS = 2;
    private static final int[][] AROUND = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};

    private int size;
    private int[][] board; // 0 for an empty square

    /** The first move; row and col are the opponent's, or -1 if there was none. */
    public int[] init(int N, int row, int col) {
        size = N;
        board = new int[N][N];
        return row < 0 ? take(N / 2, N / 2) : move(row, col);
    }

    public int[] move(int row, int col) {
        board[row][col] = THEIRS;
        int best = -1, bestRow = 0, bestCol = 0;
        for (int r = 0; r < size; r++) {
            for (int c = 0; c < size; c++) {
                int value = board[r][c] != 0 ? -1 : gain(r, c, MINE) + gain(r, c, THEIRS);
                if (value > best) {
                    best = value;
                    bestRow = r;
                    bestCol = c;
                }
            }
        }
        return take(bestRow, bestCol);
    }

    private int[] take(int row, int col) {
        board[row][col] = MINE;
        return new int[] {row, col};
    }

    /** The points that a stone would add: the square of the new isle less the squares of those it joins. */
    private int gain(int row, int col, int colour) {
        boolean[][] seen = new boolean[size][size];
        int area = 1, before = 0;
        for (int[] step : AROUND) {
            int isle = count(row + step[0], col + step[1], colour, seen);
            area += isle;
            before += isle * isle;
        }
        return area * area - before;
    }

    /** The stones of an isle that were not seen yet. */
    private int count(int r, int c, int colour, boolean[][] seen) {
        if (r < 0 || c < 0 || r >= size || c >= size || board[r][c] != colour || seen[r][c]) {
            return 0;
        }
        seen[r][c] = true;
        int stones = 1;
        for (int[] step : AROUND) {
            stones += count(r + step[0], c + step[1], colour, seen);
        }
        return stones;
    }
}
