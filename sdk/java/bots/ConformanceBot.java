import java.util.ArrayList;
import java.util.List;

/** The test bot of docs/conformance.md: it always gives the same answer. */
public class ConformanceBot {
    private static final int[][] NEIGHBOURS = {{-1, 0}, {0, -1}, {0, 1}, {1, 0}};

    static int at(int[][] board, int row, int column) {
        boolean inside = row >= 0 && row < board.length && column >= 0 && column < board[row].length;
        return inside ? board[row][column] : -1000;
    }

    static Object firstMove(int[][] board, boolean isBlack, String game) {
        for (int row = 0; row < board.length; row++) {
            for (int column = 0; column < board[row].length; column++) {
                Object move = moveFrom(board, isBlack, game, row, column);
                if (move != null) {
                    return move;
                }
            }
        }
        return new int[] {0, 0};
    }

    static Object moveFrom(int[][] board, boolean isBlack, String game, int row, int column) {
        int cell = board[row][column];
        if (game.equals("hop")) {
            for (int[] step : NEIGHBOURS) {
                if (cell == (isBlack ? 1 : 2) && at(board, row + step[0], column + step[1]) == 0) {
                    return new int[][] {{row, column}, {row + step[0], column + step[1]}};
                }
            }
            return null;
        }
        if (game.equals("linkage")) {
            if (cell == 0 && at(board, row, column + 1) == 0) {
                return Getstep.domino('R', row, column, row, column + 1);
            }
            return cell == 0 && at(board, row + 1, column) == 0 ? Getstep.domino('R', row, column, row + 1, column) : null;
        }
        boolean legal = cell == 0 || game.equals("chain_reaction") && isBlack == cell > 0;
        return legal ? new int[] {row, column} : null;
    }

    static int recurse(int depth) {
        return recurse(depth + 1) + 1;
    }

    /** Notes something about this move, as the command asks. */
    static void note(String command, Getstep.Turn turn) throws InterruptedException {
        switch (command) {
            case "note":
                Getstep.say("conformance");
                Getstep.say("\uD83C\uDFB2");
                Getstep.estimate(0.5);
                Getstep.estimate(0.25);
                Getstep.draw(new int[] {0, 0}, 7, "red");
                Getstep.draw(new int[][] {{0, 0}, {1, 1}}, "to", "blue", "arrow");
                Getstep.tag("opening");
                break;
            case "note and raise":
                Getstep.say("before the error");
                throw new IllegalStateException("conformance");
            case "note badly":
                Getstep.say("x".repeat(1_000_000));
                Getstep.say("the right one");
                for (double estimate : new double[] {Double.NaN, Double.POSITIVE_INFINITY, -1.5}) {
                    Getstep.estimate(estimate);
                }
                Getstep.draw(new int[] {-1, 0});
                Getstep.draw(new int[] {0, 200});
                Getstep.draw(new int[0][]);
                Getstep.draw(new int[] {0, 0}, null, null, "circle");
                for (String word : new String[] {"", "two words", "\033[2J"}) {
                    Getstep.tag(word);
                }
                break;
            case "note a lot":
                for (int number = 0; number < 10_000; number++) {
                    Getstep.say("x".repeat(100));
                    Getstep.estimate(number / 10_000.0);
                    Getstep.draw(new int[] {0, 0}, number);
                    Getstep.tag("tag" + number);
                }
                break;
            default:
                if (command.matches("note [0-9]{1,7}")) {
                    Getstep.say("move " + turn.moveNumber);
                    Thread.sleep(Integer.parseInt(command.substring(5)));
                }
        }
    }

    static Object getStep(int[][] board, boolean isBlack, Getstep.Turn turn) throws InterruptedException {
        String command = turn.opponent;
        switch (command) {
            case "raise":
                throw new IllegalStateException("conformance");
            case "raise long":
                throw new IllegalStateException("\uD83C\uDFB2".repeat(2000));
            case "recurse":
                return recurse(0);
            case "return nothing":
                return null;
            case "return long":
                return new int[1000][2];
            case "tell":
                List<int[]> told = new ArrayList<>(List.of(turn.lastSquares));
                told.add(0, new int[] {turn.timeLeftMs, turn.moveNumber});
                return told;
            case "tell opening":
                List<int[]> opening = new ArrayList<>();
                opening.add(new int[] {turn.opening.size(), 0});
                for (int[][] squares : turn.openingSquares) {
                    opening.addAll(List.of(squares));
                }
                return opening;
            default:
                note(command, turn);
                if (command.matches("sleep [0-9]{1,7}")) {
                    Thread.sleep(Integer.parseInt(command.substring(6)));
                }
                return firstMove(board, isBlack, turn.game);
        }
    }

    public static void main(String[] args) {
        Getstep.play(args, ConformanceBot::getStep);
    }
}
