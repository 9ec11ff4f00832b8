// A bot for several games: @listed. It already plays; now improve it.
//
// Each match is one of these games. GetStep, at the end, calls the function of the game that is played.
//
// The live page of the contest has the rules, at /rules, and says how to build and start a bot in C#, at /csharp.

using System;
using System.Collections.Generic;

public static class MyBot
{
    // @each
    // --- @name ---
    //
    // @goal
    static class @PascalGame
    {
        // @body
    }

    // @done
    // Return the move to make. turn.Game is the game that is played. turn also has the match number, the opponent's name
    // and last move, and the milliseconds left: turn.Match, turn.Opponent, turn.LastSquares, turn.TimeLeftMs.
    static object GetStep(int[][] board, bool isBlack, Getstep.Turn turn)
    {
        switch (turn.Game)
        {
            // @each
            case "@name":
                return @PascalGame.GetStep(board, isBlack);
            // @done
            default:
                throw new ArgumentException("not a game of this bot: " + turn.Game);
        }
    }

    static void Main(string[] args)
    {
        // The bot gives up a match of any game that is not named here, and plays the next ones.
        Getstep.Play(args, GetStep, @quoted);
    }
}
