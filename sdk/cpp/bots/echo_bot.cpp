// Answers at once: what remains of the time between question and answer is the SDK's. The first empty square is legal in
// longest_path, pseudo_tonga and chain_reaction; in other games the answer is illegal, which costs as long.
#include "getstep.hpp"

static std::vector<int> GetStep(std::vector<std::vector<int>>& board, bool) {
    for (int row = 0; row < static_cast<int>(board.size()); ++row)
        for (int column = 0; column < static_cast<int>(board[static_cast<std::size_t>(row)].size()); ++column)
            if (board[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)] == 0) return {row, column};
    return {};
}

int main(int argc, char** argv) { return getstep::play(argc, argv, GetStep); }
