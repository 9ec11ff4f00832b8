"""The process of a sample bot: it reads questions, a line of JSON each, and writes a move for each, until its
standard input ends."""

from __future__ import annotations

import json
import os
import runpy
import sys

from getstep import Turn


def main() -> None:
    """Answer questions with the ``get_step`` of the file that is the argument."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the bot prints must not get between the answers
    get_step = runpy.run_path(sys.argv[1])["get_step"]
    for line in sys.stdin:
        question = json.loads(line)
        move = get_step(question["board"], question["is_black"], Turn(**question["turn"]))
        answers.write(json.dumps(move) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
