// An example for the Prodrive Dev Challenge (longest_path, --as prodrive): it makes long paths, and blocks them.
//
// It reads its player id, 0 or 1, and then the opponent's moves. Each line is "x y": the column and the row.

import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;

public class Example {
    static final int SIZE = 11, MINE = 1, THEIRS = 2;
    static final int[][] AROUND = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};

    final int[][] board = new int[SIZE][SIZE]; // board[x][y], 0 for an empty square
    final Scanner in = new Scanner(System.in);
    int taken = 0;

    public static void main(String[] arguments) {
        new Example().play();
    }

    void play() {
        int id = in.nextInt();
        if (id == 1) {
            readOpponent();
        }
        while (taken < SIZE * SIZE) {
            int[] move = bestMove();
            board[move[0]][move[1]] = MINE;
            taken++;
            System.out.println(move[0] + " " + move[1]);
            if (taken < SIZE * SIZE) {
                readOpponent();
            }
        }
    }

    void readOpponent() {
        if (!in.hasNextInt()) {
            System.exit(0); // the game is over
        }
        board[in.nextInt()][in.nextInt()] = THEIRS;
        taken++;
    }

    int[] bestMove() {
        int[] best = null;
        int bestValue = -1;
        for (int x = 0; x < SIZE; x++) {
            for (int y = 0; y < SIZE; y++) {
                int value = board[x][y] != 0 ? -1 : 3 * pathFrom(x, y, MINE) + 2 * pathFrom(x, y, THEIRS);
                if (value > bestValue) {
                    bestValue = value;
                    best = new int[] {x, y};
                }
            }
        }
        return best;
    }

    /** The number of stones to the farthest one of the group that has the square: a breadth-first search. */
    int pathFrom(int x, int y, int colour) {
        boolean[][] seen = new boolean[SIZE][SIZE];
        seen[x][y] = true;
        List<int[]> ring = List.of(new int[] {x, y});
        int length = 0;
        while (!ring.isEmpty()) {
            length++;
            List<int[]> next = new ArrayList<>();
            for (int[] square : ring) {
                for (int[] step : AROUND) {
                    int nx = square[0] + step[0], ny = square[1] + step[1];
                    if (nx < 0 || ny < 0 || nx >= SIZE || ny >= SIZE || seen[nx][ny] || board[nx][ny] != colour) {
                        continue;
                    }
                    seen[nx][ny] = true;
                    next.add(new int[] {nx, ny});
                }
            }
            ring = next;
        }
        return length;
    }
}
