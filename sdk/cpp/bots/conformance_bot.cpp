// The test bot of docs/conformance.md: it always gives the same answer.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "getstep.hpp"

using Board = std::vector<std::vector<int>>;

static bool IsNumber(const std::string& text) {
    return !text.empty() && text.size() < 8 && text.find_first_not_of("0123456789") == std::string::npos;
}

static int At(const Board& board, int row, int column) {
    const bool inside = row >= 0 && row < static_cast<int>(board.size()) && column >= 0 &&
                        column < static_cast<int>(board[static_cast<std::size_t>(row)].size());
    return inside ? board[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)] : -1000;
}

static bool IsLegalSquare(const std::string& game, int cell, bool is_black) {
    return game == "chain_reaction" ? (is_black ? cell >= 0 : cell <= 0) : cell == 0;
}

static getstep::Move FirstMove(const Board& board, bool is_black, const std::string& game) {
    const int mine = is_black ? 1 : 2;
    for (int row = 0; row < static_cast<int>(board.size()); ++row)
        for (int column = 0; column < static_cast<int>(board[static_cast<std::size_t>(row)].size()); ++column) {
            const int cell = At(board, row, column);
            if (game == "hop") {
                if (cell != mine) continue;
                for (const auto& [down, right] : {std::pair{-1, 0}, {0, -1}, {0, 1}, {1, 0}})
                    if (At(board, row + down, column + right) == 0)
                        return std::vector<std::vector<int>>{{row, column}, {row + down, column + right}};
            } else if (game == "linkage") {
                if (cell != 0) continue;
                if (At(board, row, column + 1) == 0) return getstep::domino("R", {row, column}, {row, column + 1});
                if (At(board, row + 1, column) == 0) return getstep::domino("R", {row, column}, {row + 1, column});
            } else if (IsLegalSquare(game, cell, is_black)) {
                return std::vector<int>{row, column};
            }
        }
    return std::vector<int>{0, 0};
}

/// Note something about this move, as the command asks.
static void Note(const std::string& command, const getstep::Turn& turn) {
    if (command == "note") {
        getstep::say("conformance");
        getstep::say("\xF0\x9F\x8E\xB2");
        getstep::estimate(0.5);
        getstep::estimate(0.25);
        getstep::draw({0, 0}, 7, "red");
        getstep::draw({{0, 0}, {1, 1}}, "to", "blue", "arrow");
        getstep::tag("opening");
    } else if (command == "note and raise") {
        getstep::say("before the error");
        throw std::runtime_error("conformance");
    } else if (command == "note badly") {
        getstep::say(std::string(1000000, 'x'));
        getstep::say("the right one");
        for (const double value : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -1.5})
            getstep::estimate(value);
        getstep::draw({-1, 0});
        getstep::draw({0, 200});
        getstep::draw(Board());
        getstep::draw({0, 0}, nullptr, "", "circle");
        for (const char* word : {"", "two words", "\x1b[2J"}) getstep::tag(word);
    } else if (command == "note a lot") {
        for (int number = 0; number < 10000; ++number) {
            getstep::say(std::string(100, 'x'));
            getstep::estimate(number / 10000.0);
            getstep::draw({0, 0}, number);
            getstep::tag("tag" + std::to_string(number));
        }
    } else if (command.compare(0, 5, "note ") == 0 && IsNumber(command.substr(5))) {
        getstep::say("move " + std::to_string(turn.move_number));
        std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(command.c_str() + 5)));
    }
}

static getstep::Move GetStep(Board& board, bool is_black, const getstep::Turn& turn) {
    const std::string& command = turn.opponent;
    if (command == "raise" || command == "recurse") throw std::runtime_error("conformance");
    if (command == "raise long") {
        std::string text;
        for (int n = 0; n < 2000; ++n) text += "\xF0\x9F\x8E\xB2";
        throw std::runtime_error(text);
    }
    if (command == "return nothing") return std::vector<int>();
    if (command == "return long") return std::vector<std::vector<int>>(1000, {0, 0});
    if (command == "tell") {
        std::vector<std::vector<std::int64_t>> told{{turn.time_left_ms, turn.move_number}};
        for (const auto& square : turn.last_squares) told.emplace_back(square.begin(), square.end());
        return told;
    }
    if (command == "tell opening") {
        std::vector<std::vector<std::int64_t>> told{{static_cast<std::int64_t>(turn.opening.size()), 0}};
        for (const auto& squares : turn.opening_squares)
            for (const auto& square : squares) told.emplace_back(square.begin(), square.end());
        return told;
    }
    Note(command, turn);
    if (command.compare(0, 6, "sleep ") == 0 && IsNumber(command.substr(6)))
        std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(command.c_str() + 6)));
    return FirstMove(board, is_black, turn.game);
}

int main(int argc, char** argv) { return getstep::play(argc, argv, GetStep); }
