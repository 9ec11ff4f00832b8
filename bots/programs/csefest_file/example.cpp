// An example for the CSE Fest contest (chain_reaction, --as csefest-file): it looks one move ahead.
//
// Its argument is its colour, R or G. It reads shared_file.txt again and again. If the first line has its colour, the
// other 8 lines are the board, and it writes its move there: 0, and on the second line the row and the column.

#include <array>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <numeric>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

const int SIZE = 8;
using Board = std::array<std::array<int, SIZE>, SIZE>;  // positive: my orbs, negative: the opponent's

// The number of orbs of a cell such as "R2" or "No".
int orbs(const std::string& cell, char colour) {
    if (cell == "No") return 0;
    int number = cell[1] - '0';
    return cell[0] == colour ? number : -number;
}

// The sum of the orbs after a move, mine less the opponent's.
int value_after(Board board, int x, int y) {
    std::vector<std::pair<int, int>> todo{{x, y}};
    while (!todo.empty()) {
        std::tie(x, y) = todo.back();
        todo.pop_back();
        board[x][y] = std::abs(board[x][y]) + 1;
        std::vector<std::pair<int, int>> around;
        if (x > 0) around.emplace_back(x - 1, y);
        if (y > 0) around.emplace_back(x, y - 1);
        if (x < SIZE - 1) around.emplace_back(x + 1, y);
        if (y < SIZE - 1) around.emplace_back(x, y + 1);
        if (board[x][y] < static_cast<int>(around.size())) continue;
        board[x][y] = 0;  // the square explodes
        todo.insert(todo.end(), around.begin(), around.end());
        bool opponent_left = false;
        for (const auto& row : board) {
            for (int cell : row) opponent_left |= cell < 0;
        }
        if (!opponent_left) return 1000;
    }
    int sum = 0;
    for (const auto& row : board) sum = std::accumulate(row.begin(), row.end(), sum);
    return sum;
}

std::pair<int, int> best_move(const Board& board) {
    std::pair<int, int> best;
    int best_value = INT_MIN;
    for (int x = 0; x < SIZE; ++x) {
        for (int y = 0; y < SIZE; ++y) {
            if (board[x][y] < 0) continue;
            int value = value_after(board, x, y) * 1000 + std::rand() % 1000;  // of equal ones, any
            if (value > best_value) {
                best_value = value;
                best = {x, y};
            }
        }
    }
    return best;
}

bool read_board(std::istream& in, char colour, Board& board) {
    std::string cell;
    for (auto& row : board) {
        for (int& number : row) {
            if (!(in >> cell) || cell.size() != 2) return false;
            number = orbs(cell, colour);
        }
    }
    return true;
}

// Reads the board if it is my turn. The file is closed at the end: Windows does not let the host replace an open one.
bool is_my_turn(char colour, Board& board) {
    std::ifstream in("shared_file.txt");
    std::string first;
    return in >> first && first == std::string(1, colour) && read_board(in, colour, board);
}

int main(int, char** arguments) {
    char colour = arguments[1][0];
    std::srand(static_cast<unsigned>(std::time(nullptr)) + colour);
    Board board;
    while (true) {  // the host ends the program
        if (is_my_turn(colour, board)) {
            auto [x, y] = best_move(board);
            std::ofstream("shared_file.txt") << "0\n" << x << ' ' << y << '\n';
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}
