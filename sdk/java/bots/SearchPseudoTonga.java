import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/** Plays pseudo_tonga by Monte Carlo: each move is tried, and the rest of the game played at random, many times. */
public class SearchPseudoTonga {
    private static final Random RANDOM = new Random();

    /** Returns the size of the group at a square, and marks its squares as seen. */
    static int groupSize(int[][] board, boolean[][] seen, int row, int column, int stone) {
        boolean inside = row >= 0 && row < board.length && column >= 0 && column < board.length;
        if (!inside || seen[row][column] || board[row][column] != stone) {
            return 0;
        }
        seen[row][column] = true;
        return 1 + groupSize(board, seen, row - 1, column, stone) + groupSize(board, seen, row + 1, column, stone)
                + groupSize(board, seen, row, column - 1, stone) + groupSize(board, seen, row, column + 1, stone);
    }

    /** Returns the score of the first player minus that of the second: each group counts its size squared. */
    static double score(int[][] board) {
        boolean[][] seen = new boolean[board.length][board.length];
        double score = 0;
        for (int row = 0; row < board.length; row++) {
            for (int column = 0; column < board.length; column++) {
                double group = groupSize(board, seen, row, column, board[row][column]);
                score += board[row][column] == 1 ? group * group : -group * group;
            }
        }
        return score;
    }

    /** Fills the board at random, and returns its score for the player who moved before. */
    static double playout(int[][] board, List<int[]> empty, boolean isBlack) {
        List<int[]> order = new ArrayList<>(empty);
        Collections.shuffle(order, RANDOM);
        int stone = isBlack ? 2 : 1; // the opponent is next
        for (int[] square : order) {
            if (board[square[0]][square[1]] == 0) {
                board[square[0]][square[1]] = stone;
                stone = 3 - stone;
            }
        }
        return isBlack ? score(board) : -score(board);
    }

    static int[] getStep(int[][] board, boolean isBlack, Getstep.Turn turn) {
        List<int[]> empty = new ArrayList<>();
        for (int row = 0; row < board.length; row++) {
            for (int column = 0; column < board.length; column++) {
                if (board[row][column] == 0) {
                    empty.add(new int[] {row, column});
                }
            }
        }

        // The limit is for all moves together: half of an equal share for this move.
        double myMoves = (empty.size() + 1) / 2.0;
        long until = System.nanoTime() + (long) (0.5e6 * turn.timeLeftMs / myMoves);

        double[] sums = new double[empty.size()];
        do {
            for (int n = 0; n < sums.length; n++) {
                int[][] later = new int[board.length][];
                for (int row = 0; row < board.length; row++) {
                    later[row] = board[row].clone();
                }
                later[empty.get(n)[0]][empty.get(n)[1]] = isBlack ? 1 : 2;
                sums[n] += playout(later, empty, isBlack);
            }
        } while (System.nanoTime() - until < 0);

        int best = 0;
        for (int n = 1; n < sums.length; n++) {
            best = sums[n] > sums[best] ? n : best;
        }
        return empty.get(best);
    }

    public static void main(String[] args) {
        Getstep.play(args, SearchPseudoTonga::getStep);
    }
}
