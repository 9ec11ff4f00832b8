// An example for the CSE Fest contest (chain_reaction, --as csefest-file): it looks one move ahead.
//
// Its argument is its colour, R or G. It reads shared_file.txt again and again. If the first line has its colour, the
// other 8 lines are the board, and it writes its move there: 0, and on the second line the row and the column.

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Random;

public class Example {
    static final int SIZE = 8;
    static final Random RANDOM = new Random();
    static final Path FILE = Path.of("shared_file.txt");

    public static void main(String[] arguments) throws IOException, InterruptedException {
        String colour = arguments[0];
        while (true) { // the host ends the program
            List<String> lines = readLines();
            if (lines.size() == 1 + SIZE && lines.get(0).equals(colour)) {
                int[] move = bestMove(board(lines.subList(1, 1 + SIZE), colour.charAt(0)));
                Files.writeString(FILE, "0\n" + move[0] + " " + move[1] + "\n");
            }
            Thread.sleep(5);
        }
    }

    static List<String> readLines() {
        try {
            return Files.readAllLines(FILE);
        } catch (IOException error) {
            return List.of(); // the host is writing it: Windows then refuses to read it
        }
    }

    /** Returns 8 lines as numbers: positive ones are my orbs, negative ones the opponent's. */
    static int[][] board(List<String> lines, char colour) {
        int[][] board = new int[SIZE][SIZE];
        for (int x = 0; x < SIZE; x++) {
            String[] cells = lines.get(x).trim().split(" ");
            for (int y = 0; y < SIZE; y++) {
                int number = cells[y].equals("No") ? 0 : cells[y].charAt(1) - '0';
                board[x][y] = cells[y].charAt(0) == colour ? number : -number;
            }
        }
        return board;
    }

    static int[] bestMove(int[][] board) {
        int[] best = null;
        int bestValue = Integer.MIN_VALUE;
        for (int x = 0; x < SIZE; x++) {
            for (int y = 0; y < SIZE; y++) {
                if (board[x][y] < 0) {
                    continue;
                }
                int value = valueAfter(board, x, y) * 1000 + RANDOM.nextInt(1000); // of equal ones, any
                if (value > bestValue) {
                    bestValue = value;
                    best = new int[] {x, y};
                }
            }
        }
        return best;
    }

    /** The sum of the orbs after a move, mine less the opponent's. */
    static int valueAfter(int[][] before, int x, int y) {
        int[][] board = Arrays.stream(before).map(int[]::clone).toArray(int[][]::new);
        Deque<int[]> todo = new ArrayDeque<>();
        todo.push(new int[] {x, y});
        while (!todo.isEmpty()) {
            int[] square = todo.pop();
            int r = square[0], c = square[1];
            board[r][c] = Math.abs(board[r][c]) + 1;
            List<int[]> around = around(r, c);
            if (board[r][c] < around.size()) {
                continue;
            }
            board[r][c] = 0; // the square explodes
            around.forEach(todo::push);
            if (Arrays.stream(board).flatMapToInt(Arrays::stream).allMatch(cell -> cell >= 0)) {
                return 1000; // the opponent has nothing left
            }
        }
        return Arrays.stream(board).flatMapToInt(Arrays::stream).sum();
    }

    static List<int[]> around(int r, int c) {
        List<int[]> found = new ArrayList<>();
        for (int[] step : new int[][] {{1, 0}, {-1, 0}, {0, 1}, {0, -1}}) {
            int nr = r + step[0], nc = c + step[1];
            if (nr >= 0 && nc >= 0 && nr < SIZE && nc < SIZE) {
                found.add(new int[] {nr, nc});
            }
        }
        return found;
    }
}
