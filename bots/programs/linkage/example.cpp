// An example for the Linkage ladder (linkage, --as linkage): as More it parts the colours, as Fewer it joins them.
//
// With an argument it prints its id line. Without one it reads input.txt and writes order.txt, such as RA1A2.

#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

using Square = std::pair<int, int>;
const std::string COLOURS = "RBGY";
std::vector<std::string> board(7);

char cell(Square square) {
    auto [r, c] = square;
    return r < 0 || c < 0 || r > 6 || c > 6 ? ' ' : board[r][c];
}

// How many squares of a colour are around a domino.
int same_around(char colour, Square one, Square other) {
    int count = 0;
    for (auto [r, c] : {one, other}) {
        for (Square near : {Square{r + 1, c}, Square{r - 1, c}, Square{r, c + 1}, Square{r, c - 1}}) {
            count += cell(near) == colour;
        }
    }
    return count;
}

std::string name(Square square) {
    return {static_cast<char>('A' + square.second), static_cast<char>('1' + square.first)};
}

int main(int count, char**) {
    if (count > 1) {
        std::cout << "Example in C++, The getstep authors, 2026-01-31, 1.0\n";
        return 0;
    }
    std::string first;  // such as M6666: the player, and the dominoes left of each colour
    std::ifstream in("input.txt");
    in >> first;
    for (auto& row : board) in >> row;
    std::string best;
    int best_value = -100;
    for (int n = 0; n < 4; ++n) {
        if (first[n + 1] == '0') continue;
        for (int r = 0; r < 7; ++r) {
            for (int c = 0; c < 7; ++c) {
                for (Square other : {Square{r + 1, c}, Square{r, c + 1}}) {
                    if (board[r][c] != '.' || cell(other) != '.') continue;
                    int same = same_around(COLOURS[n], {r, c}, other);
                    int value = first[0] == 'F' ? same : -same;
                    if (value > best_value) {
                        best_value = value;
                        best = COLOURS[n] + name({r, c}) + name(other);
                    }
                }
            }
        }
    }
    std::ofstream("order.txt") << best << '\n';
}
