"""The command duel: arguments that do not fit together."""

from __future__ import annotations

import pytest

from tests.server.command_line import Command


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("nobody greedy", "'nobody', expected a bot's file or one of the sample bots: greedy, "),
        ("greedy mcts --pairs 0", "--pairs = 0, expected at least 1\n"),
        ("greedy mcts --at-once 0", "--at-once 0, expected 1 to 8\n"),
        ("greedy mcts --elo1 3", "--elo1 3: there is no test without --sprt; give --sprt as well\n"),
        ("greedy mcts --sprt --elo1 -3", "--elo1 = -3.0, expected more than elo0, which is 0.0\n"),
        ("greedy mcts --sprt --alpha 2", "--alpha = 2.0, expected less than 0.5\n"),
        ("greedy mcts --game go", "--game = 'go', expected an installed game (unknown game 'go'; installed: "),
        ("greedy mcts --option size", "--option 'size', expected a name and a whole number such as size=8\n"),
        ("greedy mcts --option size=8", "--option size = 8, expected an option of hop, which has none\n"),
        ("greedy mcts --move-seconds 0", "--move-seconds = 0.0, expected more than 0\n"),
        ("greedy mcts --increment 1", "--increment-seconds = 1.0, expected budget_seconds as well: "),
        ("greedy mcts --budget 9 --increment -1", "--increment-seconds = -1.0, expected at least 0\n"),
        ("greedy mcts --budget 9 --move-sec 1", "--budget-seconds = 9.0, expected either move_seconds or "),
    ],
)
def test_wrong_arguments(command: Command, arguments: str, message: str) -> None:
    complaint = command.complaint("duel", *arguments.split())
    assert f"{complaint}\n".startswith(message)
    assert "\n" not in complaint
