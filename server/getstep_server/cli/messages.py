"""The commands `announce`, `questions` and `answer`: what the host and the teams write to each other."""

from __future__ import annotations

import argparse

from getstep_server.config.contest import load_contest
from getstep_server.decisions import messages
from getstep_server.text import local_minute, pluralize, shell_command
from getstep_server.tournament.messages import Question
from getstep_server.tournament.tournament import Tournament

from ._parser import EXIT_OK, folder_argument
from ._shared import on_record, print_folded
from .decisions import login

_ANNOUNCE = """\
Say something to everybody: it is shown in the terminal of each bot, on each
page and on the wall. A bot that connects later gets it then. It stays on
record. A text has 500 characters at most, in one line; ten in a minute.

example:
  getstep-server announce autumn "Lunch is at noon, hop goes on at 13:00"
"""

_QUESTIONS = """\
List the questions of teams that have no answer yet; --answered lists the
answered ones, too. A team asks one question in 30 s, and may have 20 that wait.

examples:
  getstep-server questions autumn
  getstep-server questions autumn --answered
"""

_ANSWER = """\
Answer the question with this number, to the team that has asked it; --to-all
shows question and answer to everybody. It is shown in the terminals of the
team's bots, and stays on record.

examples:
  getstep-server answer autumn 3 "Yes, until 15:00"
  getstep-server answer autumn 3 "Yes, until 15:00" --to-all
"""


def add_announce(parser: argparse.ArgumentParser) -> None:
    parser.description = _ANNOUNCE
    folder_argument(parser)
    _add_text(parser)
    parser.set_defaults(command=_announce)


def add_questions(parser: argparse.ArgumentParser) -> None:
    parser.description = _QUESTIONS
    folder_argument(parser)
    parser.add_argument("--answered", action="store_true", help="list answered questions, too")
    parser.set_defaults(command=_list)


def add_answer(parser: argparse.ArgumentParser) -> None:
    parser.description = _ANSWER
    folder_argument(parser)
    parser.add_argument("question", type=int, metavar="QUESTION", help="the number of the question")
    _add_text(parser)
    parser.add_argument("--to-all", action="store_true", help="show the question and the answer to everybody")
    parser.set_defaults(command=_answer)


def _add_text(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", help="one line of at most 500 characters, without markup")
    parser.add_argument("--by", metavar="NAME", default=login(), help="who writes (default: your login name)")


def _announce(args: argparse.Namespace) -> int:
    messages.announce(args.contest, args.text, args.by)
    print("On record. If the server runs, bots, pages and the wall show it within two seconds.")
    return EXIT_OK


def _answer(args: argparse.Namespace) -> int:
    after = messages.answer(args.contest, args.question, args.text, args.by, to_all=args.to_all)
    team = after.contest.team_name(after.messages.questions[args.question].team)
    print_folded(f"On record: {'everybody' if args.to_all else team} can read it.")
    if left := after.messages.unanswered:
        more = "question waits" if left == 1 else "questions wait"
        print_folded(f"{left} {more} for an answer: {shell_command('questions', args.contest)}")
    return EXIT_OK


def _list(args: argparse.Namespace) -> int:
    tournament = on_record(load_contest(args.contest))
    board = tournament.messages
    found = list(board.questions.values()) if args.answered else board.open_questions
    for question in found:
        _print(question, tournament)
    if not found:
        print("No questions." if args.answered or not board.questions else "No question waits for an answer.")
    elif board.unanswered:
        first = board.open_questions[0].number
        how = shell_command("answer", args.contest, str(first), "TEXT")
        print_folded(f"{pluralize(board.unanswered, 'question')} without an answer; the first one: {how}")
    return EXIT_OK


def _print(question: Question, tournament: Tournament) -> None:
    team = tournament.contest.team_name(question.team)
    print_folded(f"{question.number}  {local_minute(question.at)}  {team}: {question.text}")
    for answer in question.answers:
        to_all = ", to all" if answer.to_all else ""
        print_folded(f"   {answer.by}{to_all}: {answer.text}")
