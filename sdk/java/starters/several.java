/*
 * A bot for several games: @listed. It already plays; now improve it.
 *
 * Each match is one of these games. getStep, at the end, calls the function of the game that is played.
 *
 * The live page of the contest has the rules, at /rules, and says how to build and start a bot in Java, at /java.
 */

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

public class MyBot {
    // @each
    // --- @name ---
    //
    // @goal
    static class @PascalGame {
        // @body
    }

    // @done
    /**
     * Returns the move to make. turn.game is the game that is played. turn also has the match number, the opponent's
     * name and last move, and the milliseconds left: turn.match, turn.opponent, turn.lastSquares, turn.timeLeftMs.
     */
    static Object getStep(int[][] board, boolean isBlack, Getstep.Turn turn) {
        switch (turn.game) {
            // @each
            case "@name":
                return @PascalGame.getStep(board, isBlack);
            // @done
            default:
                throw new IllegalArgumentException("not a game of this bot: " + turn.game);
        }
    }

    public static void main(String[] args) {
        // The bot gives up a match of any game that is not named here, and plays the next ones.
        Getstep.play(args, MyBot::getStep, @quoted);
    }
}
