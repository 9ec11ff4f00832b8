"""Bots that hang once, in each language, and a contest that they play.

A bot hangs when it is asked in a folder that has the file `HANG`, which it removes first. So it hangs once, however
often its program is started.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from getstep.languages import LANGUAGES
from getstep_server.config.contest import load_contest
from getstep_server.records.result import Result
from getstep_server.storage.contest_state import results_of
from tests.support.contests import token_of
from tests.support.languages import COMPILERS, QUICK_START, compile_cpp, compile_csharp, compile_java, need
from tests.support.processes import Program, Programs

HANG = "hang"

GAME = {"game": "pseudo_tonga", "options": {"size": 6}}
"""The first empty square is a legal move, and a missed limit ends the match."""

SOURCES = {
    "python": """
import os
import getstep


def get_step(board, is_black):
    if os.path.exists("hang"):
        os.remove("hang")
        while True:
            board = board
    return next((row, cells.index(0)) for row, cells in enumerate(board) if 0 in cells)


if __name__ == "__main__":
    getstep.play(get_step)
""",
    "cpp": """
#include <cstdio>
#include "getstep.hpp"

static std::vector<int> GetStep(getstep::Board& board, bool) {
    volatile bool hangs = std::remove("hang") == 0;
    while (hangs) {
    }
    for (std::size_t row = 0; row < board.size(); ++row)
        for (std::size_t column = 0; column < board[row].size(); ++column)
            if (board[row][column] == 0) return {static_cast<int>(row), static_cast<int>(column)};
    return {};
}

int main(int argc, char** argv) { return getstep::play(argc, argv, GetStep); }
""",
    "java": """
public class Hangs {
    static volatile boolean hangs;

    static int[] getStep(int[][] board, boolean isBlack) {
        hangs = new java.io.File("hang").delete();
        while (hangs) {
        }
        for (int row = 0; row < board.length; row++) {
            for (int column = 0; column < board[row].length; column++) {
                if (board[row][column] == 0) {
                    return new int[] {row, column};
                }
            }
        }
        return new int[0];
    }

    public static void main(String[] args) {
        Getstep.play(args, Hangs::getStep);
    }
}
""",
    "csharp": """
using System.IO;

public static class Hangs
{
    private static volatile bool hangs;

    private static int[] GetStep(int[][] board, bool isBlack)
    {
        if (File.Exists("hang"))
        {
            File.Delete("hang");
            hangs = true;
        }
        while (hangs)
        {
        }
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
""",
    "javascript": """
import { existsSync, unlinkSync } from "node:fs";
import { play } from "./getstep.mjs";

function getStep(board) {
  if (existsSync("hang")) {
    unlinkSync("hang");
    while (true);
  }
  for (const [row, cells] of board.entries()) if (cells.includes(0)) return [row, cells.indexOf(0)];
}

play(getStep);
""",
}


def build(language: str, folder: Path) -> list[str]:
    """Write and build the bot of a language, and return the command that starts it."""
    need(*COMPILERS.get(language, ()))
    suffix = LANGUAGES[language].suffix if language in LANGUAGES else ".py"
    source = folder / f"Hangs{suffix}"
    source.write_text(SOURCES[language], encoding="utf-8")
    match language:
        case "python":
            return [sys.executable, str(source)]
        case "cpp":
            return [str(compile_cpp(source, ["-O0"]))]
        case "java":
            return ["java", *QUICK_START, "-cp", str(compile_java(source)), "Hangs"]
        case "csharp":
            return ["mono", str(compile_csharp(source))]
        case _:
            for file, content in LANGUAGES[language].sdk_files():
                (folder / file).write_bytes(content)
            return ["node", str(source)]


def play(
    programs: Programs,
    contest: Path,
    bots: Mapping[int, Sequence[str]],
    *,
    hang: Sequence[int],
    restart_after: str,
) -> tuple[list[Result], Mapping[int, Program]]:
    """Play a contest to its end. Return the results, and the programs with what they have printed.

    Args:
        programs: starts them.
        contest: its folder.
        bots: the command of each team's bot, in any language: it takes the options of the SDKs.
        hang: the teams whose bots hang once.
        restart_after: the seconds after the limit at which they are started again.
    """
    server = programs.serve_in_thread(contest)
    started = {}
    for team, command in bots.items():
        folder = contest / f"team{team}"
        folder.mkdir()
        if team in hang:
            (folder / HANG).touch()
        where = ["--host", "127.0.0.1", "--port", str(server.port), "--restart-after", restart_after]
        login = ["--team", str(team), "--token", token_of(team)]
        started[team] = programs.start(*command, *where, *login, cwd=folder)
    assert server.wait() == 0
    assert {team: program.wait() for team, program in started.items()} == dict.fromkeys(started, 0)
    assert server.complaints == []
    return results_of(load_contest(contest)), started
