/*
 * A bot for hop. It already plays; now improve it.
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
    static final int SIZE = 8;
    static final int[][] DIRECTIONS = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};

    static boolean isEmpty(int[][] board, int row, int column) {
        return row >= 0 && row < SIZE && column >= 0 && column < SIZE && board[row][column] == 0;
    }

    /** Returns the legal moves: steps to a neighbouring square, and hops, also several with the same piece. */
    static List<int[][]> legalMoves(int[][] board, boolean isBlack) {
        int mine = isBlack ? 1 : 2;
        List<int[][]> moves = new ArrayList<>();
        for (int row = 0; row < SIZE; row++) {
            for (int column = 0; column < SIZE; column++) {
                if (board[row][column] != mine) {
                    continue;
                }
                for (int[] direction : DIRECTIONS) {
                    if (isEmpty(board, row + direction[0], column + direction[1])) {
                        moves.add(new int[][] {{row, column}, {row + direction[0], column + direction[1]}});
                    }
                }
                List<int[]> path = new ArrayList<>();
                path.add(new int[] {row, column});
                board[row][column] = 0; // the piece leaves its square while it hops
                addHops(board, mine, path, moves);
                board[row][column] = mine;
            }
        }
        return moves;
    }

    /** Adds all hops that go on from the last square of path. Pieces that were captured on the way have left the board. */
    static void addHops(int[][] board, int mine, List<int[]> path, List<int[][]> moves) {
        int[] at = path.get(path.size() - 1);
        for (int[] direction : DIRECTIONS) {
            int overRow = at[0] + direction[0];
            int overColumn = at[1] + direction[1];
            int[] to = {at[0] + 2 * direction[0], at[1] + 2 * direction[1]};
            // A square twice is allowed, but leads nowhere new.
            boolean seen = path.stream().anyMatch(square -> square[0] == to[0] && square[1] == to[1]);
            if (seen || !isEmpty(board, to[0], to[1]) || board[overRow][overColumn] == 0) {
                continue;
            }
            int hopped = board[overRow][overColumn];
            if (hopped != mine) {
                board[overRow][overColumn] = 0;
            }
            path.add(to);
            moves.add(path.toArray(new int[0][]));
            addHops(board, mine, path, moves);
            path.remove(path.size() - 1);
            board[overRow][overColumn] = hopped;
        }
    }

    /** Returns how good a move looks: the higher, the better. */
    static double value(int[][] board, int[][] move, boolean isBlack) {
        int mine = isBlack ? 1 : 2;
        int[] from = move[0];
        int[] to = move[move.length - 1];
        int captured = 0;
        for (int n = 1; n < move.length; n++) {
            // Of a step, the square between is one of its own two: no enemy is there.
            int between = board[(move[n - 1][0] + move[n][0]) / 2][(move[n - 1][1] + move[n][1]) / 2];
            captured += between != 0 && between != mine ? 1 : 0;
        }
        int columns = to[1] - from[1]; // to the right, as Black goes
        boolean isHome = isBlack ? from[1] >= 6 : from[1] <= 1;

        // Put your own ideas here.
        // @hints
        return 2 * captured + (isBlack ? columns : -columns) - (isHome ? 1.5 : 0);
    }

    /**
     * Returns the move to make: the piece's square, then each square on its way, for example {{0, 0}, {0, 1}}.
     *
     * @board
     * isBlack is true if you are the first player, Black. You are only asked when you have a move.
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
        Getstep.play(args, MyBot::getStep, "hop");
    }
}
