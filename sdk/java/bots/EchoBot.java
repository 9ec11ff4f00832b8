/**
 * Answers at once: what remains of the time between question and answer is the SDK's. The first empty square is legal in
 * longest_path, pseudo_tonga and chain_reaction; in other games the answer is illegal, which costs as long.
 */
public class EchoBot {
    static int[] getStep(int[][] board, boolean isBlack) {
        for (int row = 0; row < board.length; row++) {
            for (int column = 0; column < board[row].length; column++) {
                if (board[row][column] == 0) {
                    return new int[] {row, column};
                }
            }
        }
        return new int[0];
    }

    public static void main(String[] args) {
        Getstep.play(args, EchoBot::getStep);
    }
}
