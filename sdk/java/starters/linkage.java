/*
 * A bot for linkage. It already plays; now improve it.
 *
 * @goal
 *
 * The live page of the contest has the rules, at /rules, and says how to build and start a bot in Java, at /java.
 */

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

public class MyBot {
    // @body
    static final int SIZE = 7;

    /** A domino: its colour, 1 to 4 for R, B, G and Y, and its two squares. */
    static int[][] domino(int colour, int row1, int column1, int row2, int column2) {
        return new int[][] {{colour}, {row1, column1}, {row2, column2}};
    }

    /** Returns the legal moves: a domino of a colour that is left, on two neighbouring squares that are 0. */
    static List<int[][]> legalMoves(int[][] board, boolean isBlack) {
        int[] left = {0, 12, 12, 12, 12}; // squares: six dominoes of each colour
        for (int[] row : board) {
            for (int cell : row) {
                if (cell > 0) {
                    left[cell]--;
                }
            }
        }
        List<int[][]> moves = new ArrayList<>();
        for (int colour = 1; colour <= 4; colour++) {
            for (int row = 0; row < SIZE; row++) {
                for (int column = 0; column < SIZE; column++) {
                    if (left[colour] < 2 || board[row][column] != 0) {
                        continue;
                    }
                    if (column + 1 < SIZE && board[row][column + 1] == 0) {
                        moves.add(domino(colour, row, column, row, column + 1));
                    }
                    if (row + 1 < SIZE && board[row + 1][column] == 0) {
                        moves.add(domino(colour, row, column, row + 1, column));
                    }
                }
            }
        }
        return moves;
    }

    /** Returns how good a move looks: the higher, the better. */
    static double value(int[][] board, int[][] move, boolean isBlack) {
        int colour = move[0][0];
        int same = 0; // neighbours of the domino that have its colour
        for (int[] square : new int[][] {move[1], move[2]}) {
            for (int[] step : new int[][] {{-1, 0}, {1, 0}, {0, -1}, {0, 1}}) {
                int row = square[0] + step[0];
                int column = square[1] + step[1];
                if (row >= 0 && row < SIZE && column >= 0 && column < SIZE && board[row][column] == colour) {
                    same++;
                }
            }
        }

        // Put your own ideas here.
        // @hints
        return isBlack ? -same : same;
    }

    /**
     * Returns the move to make: {{colour}, {row, column}, {row, column}}, for example {{1}, {0, 0}, {0, 1}};
     * the colours 1 to 4 are R, B, G and Y.
     *
     * @board
     * isBlack is true if you are the first player, More. You are only asked when you have a move.
     */
    static int[][] getStep(int[][] board, boolean isBlack) {
        List<int[][]> best = new ArrayList<>();
        double bestValue = 0;
        for (int[][] move : legalMoves(board, isBlack)) {
            double value = value(board, move, isBlack);
            if (best.isEmpty() || value > bestValue) {
                best.clear();
                bestValue = value;
            }
            if (value == bestValue) {
                best.add(move);
            }
        }

        // Play one of the moves that look best.
        return best.get(RANDOM.nextInt(best.size()));
    }

    private static final Random RANDOM = new Random();
    // @end

    // With a third parameter, getStep(int[][] board, boolean isBlack, Getstep.Turn turn), you also get the match number,
    // the opponent's name and last move, and the milliseconds left: turn.match, turn.opponent, turn.lastSquares,
    // turn.timeLeftMs.
    // getStep may note what it thinks, for the replay: Getstep.say("I take the corner"); Getstep.estimate(0.25);

    public static void main(String[] args) {
        Getstep.play(args, MyBot::getStep, "linkage");
    }
}
