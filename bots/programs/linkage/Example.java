// An example for the Linkage ladder (linkage, --as linkage): as More it parts the colours, as Fewer it joins them.
//
// With an argument it prints its id line. Without one it reads input.txt and writes order.txt, such as RA1A2.

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

public class Example {
    static final String COLOURS = "RBGY";
    static final int[][] AROUND = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
    static List<String> lines;

    public static void main(String[] arguments) throws IOException {
        if (arguments.length > 0) {
            System.out.println("Example in Java, The getstep authors, 2026-01-31, 1.0");
            return;
        }
        lines = Files.readAllLines(Path.of("input.txt"));
        Files.writeString(Path.of("order.txt"), bestOrder() + "\n");
    }

    static String bestOrder() {
        String first = lines.get(0); // such as M6666: the player, and the dominoes left of each colour
        String best = "";
        int bestValue = Integer.MIN_VALUE;
        for (int n = 0; n < 4; n++) {
            for (int r = 0; r < 7; r++) {
                for (int c = 0; c < 7; c++) {
                    for (int[] other : new int[][] {{r + 1, c}, {r, c + 1}}) {
                        if (first.charAt(n + 1) == '0' || cell(r, c) != '.' || cell(other[0], other[1]) != '.') {
                            continue;
                        }
                        char colour = COLOURS.charAt(n);
                        int same = sameAround(colour, r, c) + sameAround(colour, other[0], other[1]);
                        int value = first.charAt(0) == 'F' ? same : -same;
                        if (value > bestValue) {
                            bestValue = value;
                            best = colour + name(r, c) + name(other[0], other[1]);
                        }
                    }
                }
            }
        }
        return best;
    }

    /** How many squares of a colour are around a square. */
    static int sameAround(char colour, int r, int c) {
        int count = 0;
        for (int[] step : AROUND) {
            count += cell(r + step[0], c + step[1]) == colour ? 1 : 0;
        }
        return count;
    }

    static char cell(int r, int c) {
        return r < 0 || c < 0 || r > 6 || c > 6 ? ' ' : lines.get(r + 1).charAt(c);
    }

    static String name(int r, int c) {
        return "" + "ABCDEFG".charAt(c) + (r + 1);
    }
}
