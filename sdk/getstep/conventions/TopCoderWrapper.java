// Calls a Java class of the TopCoder match: a getstep program for the convention "topcoder".
//
// The class PseudoTonga has
//     public int[] init(int N, int row, int col)
//     public int[] move(int row, int col)
// Compile both files into one folder, and play the wrapper's class:
//     javac PseudoTonga.java TopCoderWrapper.java
//     getstep play TopCoderWrapper.class --as topcoder
//
// It reads a line for each call, "N row col" first and then "row col", and writes the array that was returned.
// What the class prints goes to standard error, so that it cannot get between the moves.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.stream.Collectors;

public class TopCoderWrapper {
    public static void main(String[] arguments) {
        try {
            play();
            System.exit(0);  // here and below: also if the class has started threads
        } catch (Throwable error) {
            error.printStackTrace();
            System.exit(1);
        }
    }

    private static void play() throws IOException {
        PrintStream moves = System.out;
        System.setOut(System.err);
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in));
        PseudoTonga program = new PseudoTonga();
        boolean begun = false;
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            int[] n = Arrays.stream(line.trim().split(" +")).mapToInt(Integer::parseInt).toArray();
            write(moves, begun ? program.move(n[0], n[1]) : program.init(n[0], n[1], n[2]));
            begun = true;
        }
    }

    /** Writes an array as a line of numbers. No array is an empty line. */
    private static void write(PrintStream moves, int[] array) {
        int[] numbers = array == null ? new int[0] : array;
        moves.print(Arrays.stream(numbers).mapToObj(String::valueOf).collect(Collectors.joining(" ")) + "\n");
        moves.flush();
    }
}
