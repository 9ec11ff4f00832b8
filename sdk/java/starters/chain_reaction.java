/*
 * A bot for chain_reaction. It already plays; now improve it.
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
    /** Returns the squares above, below, left and right of a square, as far as they are on the board. */
    static List<int[]> neighbours(int[][] board, int row, int column) {
        List<int[]> found = new ArrayList<>();
        for (int[] step : new int[][] {{-1, 0}, {1, 0}, {0, -1}, {0, 1}}) {
            int nextRow = row + step[0];
            int nextColumn = column + step[1];
            if (nextRow >= 0 && nextRow < board.length && nextColumn >= 0 && nextColumn < board[0].length) {
                found.add(new int[] {nextRow, nextColumn});
            }
        }
        return found;
    }

    /** Returns all legal moves: the squares that are empty or yours. */
    static List<int[]> legalMoves(int[][] board, boolean isBlack) {
        List<int[]> moves = new ArrayList<>();
        for (int row = 0; row < board.length; row++) {
            for (int column = 0; column < board[row].length; column++) {
                if (isBlack ? board[row][column] >= 0 : board[row][column] <= 0) {
                    moves.add(new int[] {row, column});
                }
            }
        }
        return moves;
    }

    /** Returns how good a move looks: the higher, the better. */
    static double value(int[][] board, int[] move, boolean isBlack) {
        List<int[]> neighbours = neighbours(board, move[0], move[1]);
        boolean explodes = Math.abs(board[move[0]][move[1]]) + 1 >= neighbours.size();
        int enemies = 0; // orbs next to the square
        for (int[] square : neighbours) {
            int cell = board[square[0]][square[1]];
            if (isBlack ? cell < 0 : cell > 0) {
                enemies += Math.abs(cell);
            }
        }

        // Put your own ideas here.
        // @hints
        if (explodes) {
            return enemies;
        }
        return enemies > 0 ? -0.5 : 1.0 / neighbours.size();
    }

    /**
     * Returns the move to make: {row, column}, for example {0, 0}.
     *
     * @board
     * isBlack is true if you are the first player, Red. You are only asked when you have a move.
     */
    static int[] getStep(int[][] board, boolean isBlack) {
        List<int[]> best = new ArrayList<>();
        double bestValue = 0;
        for (int[] move : legalMoves(board, isBlack)) {
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
        Getstep.play(args, MyBot::getStep, "chain_reaction");
    }
}
