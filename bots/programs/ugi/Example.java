// An example for UGI (--as ugi): it plays longest_path, and makes and blocks long paths.
//
// It reads the position in each turn: the board, or the moves from the start.

import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;

public class Example {
    static final int SIZE = 11;
    static final int[][] AROUND = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};

    int[][] board = new int[SIZE][SIZE]; // board[row][column]: 0, or the player 1 or 2
    int mover = 1;

    public static void main(String[] arguments) {
        new Example().play();
    }

    void play() {
        Scanner in = new Scanner(System.in);
        while (in.hasNextLine()) {
            String[] words = in.nextLine().trim().split("\\s+");
            switch (words[0]) {
                case "ugi":
                    System.out.println("id name Example in Java\nid author The getstep authors\nugiok");
                    break;
                case "isready":
                    System.out.println("readyok");
                    break;
                case "position":
                    readPosition(words);
                    break;
                case "go":
                    think();
                    break;
                case "quit":
                    return;
                default: // a command that it does not need
            }
        }
    }

    /** Reads "startpos" or "fen BOARD PLAYER TURNS", and the moves after "moves". */
    void readPosition(String[] words) {
        board = new int[SIZE][SIZE];
        mover = 1;
        int next = 2;
        if (words[1].equals("fen")) {
            String[] rows = words[2].split("/");
            for (int row = 0; row < SIZE; row++) {
                String[] cells = rows[row].split(",");
                for (int column = 0; column < SIZE; column++) {
                    board[row][column] = Integer.parseInt(cells[column]);
                }
            }
            mover = words[3].equals("p2") ? 2 : 1;
            next = 5;
        }
        for (int n = next + 1; n < words.length; n++) { // after "moves"
            String[] square = words[n].split(",");
            board[Integer.parseInt(square[0])][Integer.parseInt(square[1])] = mover;
            mover = 3 - mover;
        }
    }

    void think() {
        int bestRow = 0, bestColumn = 0, bestValue = -1;
        for (int row = 0; row < SIZE; row++) {
            for (int column = 0; column < SIZE; column++) {
                if (board[row][column] != 0) {
                    continue;
                }
                int value = 3 * pathFrom(row, column, mover) + 2 * pathFrom(row, column, 3 - mover);
                if (value > bestValue) {
                    bestValue = value;
                    bestRow = row;
                    bestColumn = column;
                }
            }
        }
        int ahead = pathFrom(bestRow, bestColumn, mover) - pathFrom(bestRow, bestColumn, 3 - mover);
        String move = bestRow + "," + bestColumn;
        System.out.println("info depth 1 score cp " + 20 * ahead + " pv " + move + "\nbestmove " + move);
    }

    /** The number of stones to the farthest one of the group that has the square: a breadth-first search. */
    int pathFrom(int row, int column, int player) {
        boolean[][] seen = new boolean[SIZE][SIZE];
        seen[row][column] = true;
        List<int[]> ring = List.of(new int[] {row, column});
        int length = 0;
        while (!ring.isEmpty()) {
            length++;
            List<int[]> next = new ArrayList<>();
            for (int[] square : ring) {
                for (int[] step : AROUND) {
                    int r = square[0] + step[0], c = square[1] + step[1];
                    if (r < 0 || c < 0 || r >= SIZE || c >= SIZE || seen[r][c] || board[r][c] != player) {
                        continue;
                    }
                    seen[r][c] = true;
                    next.add(new int[] {r, c});
                }
            }
            ring = next;
        }
        return length;
    }
}
