// An example for the CSE Fest contest (chain_reaction, --as csefest-console): it looks one move ahead.
//
// Its argument is its colour, R or G. It reads "start" once, then 8 lines of the board before each of its moves, and
// writes "x y": the row and the column.

#include <array>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <numeric>
#include <string>
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

int main(int, char** arguments) {
    char colour = arguments[1][0];
    std::srand(static_cast<unsigned>(std::time(nullptr)) + colour);
    std::string start;
    std::cin >> start;
    Board board;
    while (read_board(std::cin, colour, board)) {
        auto [x, y] = best_move(board);
        std::cout << x << ' ' << y << std::endl;  // endl also flushes: the host waits for the line
    }
}
