/// <summary>
/// Answers at once: what remains of the time between question and answer is the SDK's. The first empty square is legal in
/// longest_path, pseudo_tonga and chain_reaction; in other games the answer is illegal, which costs as long.
/// </summary>
public static class EchoBot
{
    private static int[] GetStep(int[][] board, bool isBlack)
    {
        for (int row = 0; row < board.Length; row++)
        {
            for (int column = 0; column < board[row].Length; column++)
            {
                if (board[row][column] == 0)
                {
                    return new[] { row, column };
                }
            }
        }
        return new int[0];
    }

    private static void Main(string[] args)
    {
        Getstep.Play(args, GetStep);
    }
}
