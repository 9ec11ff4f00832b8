"""The command `duel`: matches between two bots, which a sequential test may end early."""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

import trio
from rich.console import Console, RenderableType
from rich.text import Text

from getstep import BotError, SetupError, llm
from getstep.adjudication import AgreementCheck, add_agreement, agreement_of, agreement_settings
from getstep.conventions import CONVENTIONS, no_opening
from getstep.games import only_game
from getstep.openings import BALANCED, book_setting
from getstep.programs import wire
from getstep.programs.start import check_startable
from getstep.programs.wire import WireBot
from getstep.referee import AGREED, Agreement
from getstep.sprt import DEFAULTS, MEANINGS, MOST_PAIRS
from getstep.text import Console as PlainConsole
from getstep_server.bot_runner.processes import Bot, Bots, bot_logs
from getstep_server.bot_runner.sample_bots import sample_bots
from getstep_server.children.log import last_lines
from getstep_server.config.class_list import NewTeam
from getstep_server.config.contest import Contest, Team, load_contest, make_contest
from getstep_server.config.event import describe_event
from getstep_server.config.roster import add_teams
from getstep_server.errors import ContestStopped, ProgramRefused, UsageError
from getstep_server.events import EXCEPT_MOVES, Bus, Event, MatchEnded
from getstep_server.formats.best import BestOptions
from getstep_server.formats.duel import MOST_AT_ONCE, DuelOptions
from getstep_server.limits import MAX_SEATS
from getstep_server.programs.adding import NewProgram, add_program
from getstep_server.programs.source import source_in
from getstep_server.records.record import parse
from getstep_server.reports.live_board import LiveBoard
from getstep_server.reports.match_pages import Links
from getstep_server.reports.progress import FRAMES_PER_SECOND, ProgressView
from getstep_server.reports.team_pair import pair_events
from getstep_server.runtime.run import MakeCluster, RunOutcome, run_contest
from getstep_server.runtime.start import StartCondition
from getstep_server.storage.contest_state import games_of, tournament_of
from getstep_server.storage.store import Store
from getstep_server.text import pluralize, shell_command
from getstep_server.tournament.best_score import BestScore
from getstep_server.tournament.combined import Tables
from getstep_server.tournament.duel_score import DuelScore, copied_pairs

from ._parser import EXIT_OK, EXIT_STOPPED
from ._shared import console, is_live, live_board, spinner
from ._with_bots import run_with_bots
from .clusters import add_dask, cluster_maker

DEFAULT_GAME = "hop"
PAIRS, PAIRS_WATCHED = 100, 1
WATCHED_MS = 500
WATCH_MS = (100, 60_000)
_TIMES = {
    "move_seconds": "for each move (default: the game's limit)",
    "budget_seconds": "for all of a player's moves in a match together",
    "increment_seconds": "added to the budget after each answered turn",
}
"""The settings of the time control, as contest.toml has them."""

PAIRS_ON_CLUSTER = 32
_AT_ONCE = (
    f"pairs at the same time, 1 to {MAX_SEATS // 2}, with four processes for each (default: 1); with --dask 1 to"
    f" {MOST_AT_ONCE} (default: {PAIRS_ON_CLUSTER})"
)

_DUEL = f"""\
Compare two bots: play pairs of matches on this machine. In a pair, each bot is
the first player once. Each bot is a process of its own and plays over TCP. A
and B are names of sample bots, bot files in Python, sources in C++, Java, C#
or JavaScript, which are built first, programs, or commands in quotes.

The result is the score and the Elo difference with its 95 % interval. With
--sprt the duel stops as soon as a sequential probability ratio test decides
between H0 (A is --elo0 Elo stronger than B) and H1 (A is --elo1 Elo stronger).
The closer the two values are, the more pairs it takes: about 130 for 0 and {DEFAULTS["elo1"]:g},
and four times as many for half of that distance.

With --best there may be more than two bots. In each round every two of those
that are left play a pair. A bot is eliminated when a test finds another one
--elo1 Elo stronger rather than weaker. A bot that is so much stronger than
each other one is eliminated with a probability of at most --alpha.

With --watch the terminal shows the matches on a board, one at a time. The bots
do not wait for it; Ctrl-C then skips the matches that are not shown yet. In a
pipe there is no board.

With --as the bots are programs of an original contest, which use its
convention. --as does not matter for a sample bot. With the convention llm, a
bot's name is that of a language model at --url. This command is also called
match.

With --resign 0.95 or --draw 0.05, a match ends as soon as the estimates that
both bots note agree for --agree moves of each. Add --play-on first: it ends no
match early, and says how often that would have been wrong.

Bots that repeat the same matches cannot be compared; the result says so. With
--openings each pair begins with other moves, and both bots play both sides.

With --dask the pairs are played on the workers of a Dask cluster, --at-once of
them at the same time. A and B are programs as for getstep-server programs add:
files, folders or archives, which are built and tried here first. Each worker
proves its sandbox before it gets a program. With --sprt the duel ends with the
verdict: matches in progress do not count.

examples:
  getstep-server duel my_bot.py greedy --game hop --sprt
  getstep-server duel my_bot.cpp "java -cp . MyBot" --game hop
  getstep-server duel new.py old.py --sprt --elo0 -10 --elo1 10 --at-once 2
  getstep-server duel a.py b.py c.py d.py --best --game hop
  getstep-server duel my_bot.py greedy --game hop --openings balanced
  getstep-server duel my_bot.py mcts --game hop --resign 0.95 --play-on
  getstep-server duel my_bot.py greedy --game hop --watch 500
  getstep-server duel greedy mcts --game pseudo_tonga --option size=6 --pairs 9
  getstep-server match ./p1 ./p2 --as csefest-console --watch 1000
  getstep-server duel ./my_program house_pseudo_tonga --as topcoder
  getstep-server duel llama3.2 my_bot.py --as-a llm --url URL --move-seconds 60
  getstep-server duel new.zip old.zip --sprt --dask tcp://lab1:8786 --at-once 50

exit codes: 0 played, 1 a bot ended early, 2 the command cannot be used,
130 stopped with Ctrl-C
"""


def add_duel(parser: argparse.ArgumentParser) -> None:
    parser.description = _DUEL
    parser.add_argument("bots", action="append", metavar="A", help="a bot's file, or the name of a sample bot")
    parser.add_argument("bots", action="append", metavar="B", help="the other bot; it may be the same")
    parser.add_argument("others", nargs="*", metavar="C", help="with --best: more bots")
    parser.add_argument("--game", help="the game (default: the only one that a bot plays, else hop)")
    both = (
        f"both bots are programs that talk by this convention: {', '.join(CONVENTIONS)}; or {llm.CONVENTION}: they"
        " are the names of language models at --url"
    )
    for flag, name, text in (
        ("--as", "conventions", both),
        ("--as-a", "convention_a", "A is a program of this convention"),
        ("--as-b", "convention_b", "B is a program of this convention"),
    ):
        action = "append" if name == "conventions" else "store"  # a second one would replace the first silently
        names = [*CONVENTIONS, llm.CONVENTION]
        parser.add_argument(flag, dest=name, metavar="CONVENTION", choices=names, action=action, help=text)
    llm.add_model(parser, named=False)
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=N",
        help="an option of the game, such as size=8, or size=6-16: drawn for each pair of games",
    )
    parser.add_argument(
        "--openings",
        metavar="BOOK",
        help='each pair begins with other moves, which nobody is asked for: "balanced" for the game\'s book, the'
        " file of a book, or a number of random moves, such as 4",
    )
    for name, meaning in _TIMES.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, metavar="S", help=meaning)
    parser.add_argument(
        "--pairs",
        type=int,
        metavar="N",
        help=f"the maximum number of pairs (default: {PAIRS}, with --sprt {MOST_PAIRS},"
        f" with --watch {PAIRS_WATCHED})",
    )
    parser.add_argument("--sprt", action="store_true", help="stop as soon as the test reaches a verdict")
    best = "find the best of several bots: eliminate one as soon as a test finds it weaker than another"
    parser.add_argument("--best", action="store_true", help=best)
    for name, meaning in MEANINGS.items():
        parser.add_argument(f"--{name}", type=float, metavar="X", help=f"{meaning} (default: {DEFAULTS[name]:g})")
    add_agreement(parser)
    parser.add_argument(
        "--watch",
        type=int,
        nargs="?",
        const=WATCHED_MS,
        metavar="MS",
        help="draw the matches while they are played, with MS milliseconds for each turn"
        f" (default: {WATCHED_MS}); without MS, put it behind the bots",
    )
    parser.add_argument("--at-once", type=int, metavar="K", help=_AT_ONCE)
    add_dask(parser)
    unprotected = "with --dask: play without the sandbox, if both programs are your own"
    parser.add_argument("--no-sandbox", action="store_true", help=unprotected)
    parser.add_argument("--seed", type=int, default=2019, help="the seed of the contest (default: 2019)")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep the contest and the output of the bots here"
    )
    parser.add_argument("--plain", action="store_true", help="print plain lines instead of the live view")
    parser.set_defaults(command=_duel)


def _duel(args: argparse.Namespace) -> int:
    make_cluster = cluster_maker(args.dask)
    if args.dask is None and args.no_sandbox:
        raise UsageError("--no-sandbox: without --dask the bots have no sandbox anyway; leave it out")
    if args.dask is not None and args.watch is not None:
        raise UsageError("--watch shows matches that this machine plays; leave it out with --dask")
    checked = agreement_of(_agreement(args)) if args.play_on else None
    pair, event = _pair(args), _event(args)
    at_once = _at_once(args)
    check_bots(pair, event["game"], at_once if make_cluster is None else 0, openings="openings" in event)
    folders = tempfile.TemporaryDirectory(prefix="getstep-") if args.keep is None else nullcontext(str(args.keep))
    with folders as folder:
        programs = None if make_cluster is None else {"sandbox": "none" if args.no_sandbox else "required"}
        contest, bots = duel_contest(Path(folder), pair, event, programs, at_once=at_once, seed=args.seed)
        terminal = console()
        live = is_live(terminal) and not args.plain
        watch = live_board(contest, args.watch / 1000) if live and args.watch is not None else None
        turns_per_second = 1000 / args.watch if args.watch else 0  # 0 ms: as fast as they are played
        frames = max(FRAMES_PER_SECOND, turns_per_second)  # each turn is drawn at least once
        progress = DuelProgress(contest, terminal, live=live, board=watch, frames_per_second=frames)
        progress.say(f"{contest.name}: {describe_event(contest.events[0], contest.file.time.lag_ms)}")
        bus = Bus()
        bus.subscribe(progress, EXCEPT_MOVES)
        play = partial(run_with_bots, contest, bus, bots)
        if make_cluster is not None:
            with spinner() as tick:
                add_programs(contest, bots, tick)
            play = partial(run_on_cluster, contest, bus, make_cluster)
        try:
            with progress.shown():
                outcome = trio.run(play)
                if watch is not None and outcome is RunOutcome.FINISHED:
                    # The board is slower than the bots. Ctrl-C skips the rest.
                    watch.close()
                    with suppress(KeyboardInterrupt):
                        watch.all_shown.wait()
        # The matches until then are on record, and the folder may be a temporary one: say now what they show.
        except* ContestStopped:
            _say_outcome(contest, progress, checked)
            raise
        _say_outcome(contest, progress, checked)
        if args.keep is not None:
            progress.say(f"The contest is kept; to see a match, type: {shell_command('show', contest.folder, '1')}")
    if outcome is RunOutcome.FINISHED:
        return EXIT_OK
    progress.say("Stopped.")
    return EXIT_STOPPED


def _at_once(args: argparse.Namespace) -> int:
    if args.at_once is not None:
        return int(args.at_once)
    return 1 if args.dask is None else PAIRS_ON_CLUSTER


def _pair(args: argparse.Namespace) -> list[Bot]:
    own, both = (args.convention_a, args.convention_b), _convention(args)
    find = partial(_find_bot, args) if args.dask is None else find_program
    has_model = llm.CONVENTION in (both, *own)
    if has_model and args.dask is not None:
        raise UsageError(f"--as {llm.CONVENTION}: a language model has no program; leave out --dask")
    if not has_model and args.url is not None:
        raise UsageError(f"--url is for a language model: add --as-a {llm.CONVENTION} or --as-b {llm.CONVENTION}")
    for letter, name in zip("ab", own, strict=True):
        if args.best and name is not None:
            raise UsageError(
                f"--as-{letter} {name}: with --best all programs talk in the same way; give --as {name}"
            )
    if args.others and not args.best:
        raise UsageError(f"{len(args.bots + args.others)} bots; give --best to find the best of them")
    two = [find(text, one or both) for text, one in zip(args.bots, own, strict=True)]
    return [*two, *(find(text, both) for text in args.others)]


def _find_bot(args: argparse.Namespace, text: str, convention: str | None) -> Bot:
    """Return the bot or the language model that ``text`` names; see `find_bot`. Raises UsageError."""
    if convention != llm.CONVENTION or text in sample_bots():
        return find_bot(text, convention, say=console().print)
    try:
        words = llm.play_words(text, args, PlainConsole())
    except SetupError as error:
        raise UsageError(str(error).rstrip(".")) from None
    file = Path(f"{text}.{llm.CONVENTION}")  # its stem is the name of the team, and a model's name may have a dot
    return Bot(file, wire=WireBot(text, tuple(words)))


def _convention(args: argparse.Namespace) -> str | None:
    given: list[str] = args.conventions or []
    if len(given) > 1:
        each = " ".join(f"--as-{letter} {name}" for letter, name in zip("ab", given, strict=False))
        raise UsageError(f"--as is for both bots, and is given {len(given)} times; for one each, type {each}")
    return given[0] if given else None


def _game(args: argparse.Namespace) -> str:
    """Return the game that was asked for, or the only one that a program or a sample bot plays."""
    if args.game is not None:
        return str(args.game)
    name = _convention(args) or args.convention_a or args.convention_b
    if name in CONVENTIONS and (plays := CONVENTIONS[name].game) is not None:
        return plays
    return next(
        (game for text in [*args.bots, *args.others] if (game := only_game(text)) and not Path(text).is_file()),
        DEFAULT_GAME,
    )


def _say_outcome(contest: Contest, progress: DuelProgress, checked: Agreement | None) -> None:
    for line in outcome_lines(contest, checked):
        progress.say(line)


def _event(args: argparse.Namespace) -> dict[str, Any]:
    """Return the event's table of contest.toml."""
    if args.watch is not None and not WATCH_MS[0] <= args.watch <= WATCH_MS[1]:
        raise UsageError(f"--watch {args.watch}, expected {WATCH_MS[0]} to {WATCH_MS[1]} milliseconds a turn")
    most = MOST_PAIRS if args.sprt or args.best else PAIRS if args.watch is None else PAIRS_WATCHED
    settings = {"pairs": most if args.pairs is None else args.pairs}
    event: dict[str, Any] = {"game": _game(args), "options": dict(map(option_of, args.option))}
    times = {name: value for name in _TIMES if (value := getattr(args, name)) is not None}
    openings = {} if args.openings is None else {"openings": _openings(args.openings)}
    agreement = {} if args.play_on else _agreement(args)
    return {**event, **times, **openings, **_format(args), "settings": {**settings, **_test(args), **agreement}}


def _agreement(args: argparse.Namespace) -> dict[str, float]:
    """Return the settings by which estimates end matches. Raises UsageError."""
    try:
        settings = agreement_settings(args)
        agreement_of(settings)
    except SetupError as error:
        raise UsageError(str(error).rstrip(".")) from None
    return settings


def _openings(text: str) -> int | str:
    """Return the setting of contest.toml. A file is in the current folder, and not in the contest's."""
    setting = book_setting(text)
    return setting if setting == BALANCED or isinstance(setting, int) else str(Path(setting).resolve())


def _format(args: argparse.Namespace) -> dict[str, str]:
    return {"format": "best"} if args.best else {}


def _test(args: argparse.Namespace) -> dict[str, float]:
    given = {name: value for name in DEFAULTS if (value := getattr(args, name)) is not None}
    if args.best:
        if args.sprt:
            raise UsageError("--sprt compares two bots, and --best has tests of its own; leave out one of them")
        if other := next((name for name in ("elo0", "beta") if name in given), None):
            raise UsageError(f"--{other}: --best needs only --elo1, the difference that matters, and --alpha")
        return {new: given[name] for name, new in (("elo1", "elo"), ("alpha", "alpha")) if name in given}
    if given and not args.sprt:
        name, value = next(iter(given.items()))
        raise UsageError(f"--{name} {value:g}: there is no test without --sprt; give --sprt as well")
    return {**DEFAULTS, **given} if args.sprt else {}


def option_of(text: str) -> tuple[str, int | str]:
    """Return the name and the value, or the range, of an option such as ``size=8``. Raises UsageError."""
    name, _, value = text.partition("=")
    if value.removeprefix("-").isdecimal():
        return name, int(value)
    if re.fullmatch(r"-?\d+--?\d+", value, re.ASCII):
        return name, value
    raise UsageError(f"--option {text!r}, expected a name and a whole number such as size=8, or a range: size=6-16")


# --- on a cluster: the bots become programs, and workers play the pairs -----------------------------------------


def find_program(text: str, convention: str | None = None) -> Bot:
    """Return the program that ``text`` names: a file, a folder or an archive, or a sample bot.

    Raises:
        UsageError: there is neither.
    """
    if Path(text).exists():
        return Bot(Path(text).resolve(), convention=convention)
    return sample_bot(text, "a program")


def add_programs(contest: Contest, bots: Bots, tick: Callable[[str], None]) -> None:
    """Build and try the bots, and store them as the programs of their teams.

    Args:
        contest: of the duel.
        bots: by team.
        tick: called with what goes on.

    Raises:
        UsageError: a program makes a fault in its trial game, or cannot be built.
        ConfigError: the sandbox of this machine does not work, or a compiler is missing.
    """
    for team, bot in bots.items():
        name = contest.team_name(team)
        try:
            program = NewProgram(team, source_in(bot.file), "host", bot.convention)
            add_program(contest, program, partial(_tick, tick, name))
        except ProgramRefused as refused:
            raise UsageError(f"{name} cannot be played with: {refused}") from refused


def _tick(tick: Callable[[str], None], name: str, text: str) -> None:
    tick(f"{name}: {text}")


async def run_on_cluster(contest: Contest, bus: Bus, make_cluster: MakeCluster) -> RunOutcome:
    """Play a duel on a cluster. The verdict of the sequential test ends it, in the middle of other matches.

    Args:
        contest: of the duel; both teams have a program.
        bus: gets all events.
        make_cluster: see `run_contest`.

    Raises:
        ContestStopped: a match could not be played.
    """
    score, decided = score_of(contest), trio.Event()

    def note(event: Event) -> None:
        if isinstance(event, MatchEnded) and score.take(event.result) and score.is_decided:
            decided.set()

    bus.subscribe(note, [MatchEnded])
    outcome = await run_contest(contest, bus, StartCondition(now=True), make_cluster, decided)
    return RunOutcome.FINISHED if decided.is_set() else outcome


# --- the contest of a duel, its live view and its outcome -------------------------------------------------------


def find_bot(text: str, convention: str | None = None, *, say: Callable[[str], None] = lambda _line: None) -> Bot:
    """Return the bot whose file or command ``text`` is, or the sample bot with that name.

    A source in another language than Python is built now; ``say`` prints a line about that.

    Args:
        text: a file, a command or a name.
        convention: that of a program; it does not matter for a sample bot.
        say: prints a line.

    Raises:
        UsageError: there is no such file and no such sample bot, or the program cannot be built or started.
    """
    path = Path(text)
    try:
        if convention is not None and path.is_file():
            check_startable(convention, path)
            return Bot(path.resolve(), convention=convention)
        if words := wire.command_words(text):
            program = wire.from_command(words)
            return Bot(Path(program.name), wire=program)
        if path.exists() and wire.plays_on_the_wire(path):
            return Bot(path.resolve(), wire=wire.from_path(path, say))
    except BotError as error:
        raise UsageError(f"{error.trace}\n{error}".lstrip()) from None
    return Bot(path.resolve()) if path.is_file() else sample_bot(text, "a bot's file")


def sample_bot(name: str, expected: str) -> Bot:
    """Return the sample bot with this name.

    Raises:
        UsageError: there is none; the message says that ``expected`` could be given, too.
    """
    known = sample_bots()
    if name not in known:
        raise UsageError(f"{name!r}, expected {expected} or one of the sample bots: {', '.join(known)}")
    return Bot(known[name])


def _game_of_sample(bot: Bot) -> str | None:
    """Return the only game of a sample bot; None if it plays all games, or is not a sample bot."""
    return only_game(bot.file.stem) if bot.file in sample_bots().values() else None


def check_bots(bots: Sequence[Bot], game: str, at_once: int, *, openings: bool = False) -> None:
    """Raise an error if the bots cannot play this duel.

    Args:
        bots: all of them.
        game: of the duel.
        at_once: the number of pairs with processes that share the folder of their bot.
        openings: True if the matches begin with openings.

    Raises:
        UsageError: a bot plays another game only, or cannot begin after an opening, or two processes would talk
            through the same files.
    """
    folders: list[Path] = []
    for bot in bots:
        talk = None if bot.convention is None else CONVENTIONS[bot.convention]
        plays = _game_of_sample(bot) if talk is None else talk.game
        if plays not in (None, game):
            raise UsageError(f"{bot.file.name} plays {plays} only; give --game {plays}")
        if openings and talk is not None and not talk.from_any_board:
            raise UsageError(f"--openings: {no_opening(bot.file.name, bot.convention or '')}; leave them out")
        if talk is not None and talk.output_file is not None:
            folders += [bot.file.parent] * at_once
    shared = next((folder for folder in folders if folders.count(folder) > 1), None)
    if shared is not None:
        why = "with --at-once, several" if at_once > 1 else "both" if len(bots) == 2 else "several"
        raise UsageError(f"{shared}: {why} programs would talk through the same file here; use several folders")


def duel_contest(
    folder: Path,
    pair: Sequence[Bot],
    event: Mapping[str, Any],
    programs: Mapping[str, Any] | None = None,
    *,
    at_once: int = 1,
    seed: int,
) -> tuple[Contest, Bots]:
    """Make a contest folder for the bots of a duel, on a free port of the loopback interface.

    Args:
        folder: the new folder.
        pair: the bots, two unless the format says otherwise; they may be the same.
        event: the event's table of contest.toml; without a format it is ``match``.
        programs: the table ``[programs]``, if a cluster plays with the bots. None: they are processes of this
            machine, two for each match.
        at_once: the number of pairs played at the same time.
        seed: of the contest.

    Returns:
        The contest, and its bots by team id.

    Raises:
        UsageError: a setting is not valid, or there is a contest already.
    """
    stems = [bot.file.stem for bot in pair]
    earlier = [stems[:place].count(stem) for place, stem in enumerate(stems)]
    names = [f"{stem} ({count + 1})" if count else stem for stem, count in zip(stems, earlier, strict=True)]
    tables = {
        "contest": {"name": " – ".join(names), "seed": seed},
        "event": [{"format": "match", **event, "settings": {**event["settings"], "at_once": at_once}}],
        "server": {"host": "127.0.0.1", "port": 0},
    }
    most = MAX_SEATS // 2 if programs is None else MOST_AT_ONCE
    if not 1 <= at_once <= most:
        raise UsageError(f"--at-once {at_once}, expected 1 to {most}")
    make_contest(folder, tables if programs is None else {**tables, "programs": programs})
    seats = 2 * at_once if at_once > 1 and programs is None else 1
    entries = [NewTeam(name, bot.file.name, seats=seats) for name, bot in zip(names, pair, strict=True)]
    added = add_teams(folder, entries)
    return load_contest(folder), {team.id: bot for team, bot in zip(added, pair, strict=True)}


def score_of(contest: Contest) -> DuelScore | BestScore:
    """Return the score of the bots from the matches on record."""
    options = contest.events[0].format.options
    score: DuelScore | BestScore
    if isinstance(options, DuelOptions):
        one, other = contest.teams.values()
        score = DuelScore(options, (one.id, one.name), other.name)
    elif isinstance(options, BestOptions):
        score = BestScore(options, {team.id: team.name for team in contest.teams.values()})
    else:
        raise TypeError(f"the format of {contest.events[0]!r}, expected a match or a search for the best")
    for result in tournament_of(contest).results:
        score.take(result)
    return score


class DuelProgress(ProgressView):
    """The live view of a duel: a line for each pair, and the score in place of a table."""

    def __init__(
        self,
        contest: Contest,
        console: Console,
        *,
        live: bool,
        board: LiveBoard | None = None,
        frames_per_second: float = FRAMES_PER_SECOND,
    ) -> None:
        super().__init__(contest, console, live=live, board=board, frames_per_second=frames_per_second)
        self._score = score_of(contest)
        self._line_of_score = self._score.line()

    def describe(self, event: Event) -> str | None:
        """Return the score for a match that completes a pair (of a search: a round), and nothing for others."""
        line = super().describe(event)
        if not isinstance(event, MatchEnded):
            return line
        if not self._score.take(event.result):
            return None
        self._line_of_score = self._score.line()  # for the thread that draws
        return self._line_of_score

    def remaining(self) -> str:
        """Return nothing: the sequential test may reach its verdict at any time."""
        return ""

    def bar(self) -> RenderableType:
        """Return the most that may be played, in place of a bar."""
        return Text(self._score.most)

    def table(self, tables: Tables, lines: int) -> list[RenderableType]:  # noqa: ARG002 - the score is one line
        return [Text(self._line_of_score)]


def outcome_lines(contest: Contest, checked: Agreement | None = None) -> list[str]:
    """Return the lines to print after a duel has ended or was stopped.

    Args:
        contest: of the duel.
        checked: an agreement that has ended no match; the lines say how often it would have been wrong.
    """
    score = score_of(contest)
    lines = [score.line(), score.verdict()]
    if isinstance(score, BestScore):
        lines += score.differences()
    lines += _agreed(contest, checked)
    warning = copied_pairs(games_of(contest.database), tournament_of(contest).matches)
    if warning is not None:
        lines.append(f"! {warning}")
    if isinstance(score, DuelScore):
        lines += _sides_and_tags(contest)
    return [*lines, *(line for team in contest.teams.values() for line in _faults(contest, score, team))]


def _agreed(contest: Contest, checked: Agreement | None) -> list[str]:
    """Return how many matches the estimates of both bots have ended, or how often that would have been wrong."""
    results = tournament_of(contest).results
    if checked is None:
        ended = sum(result.reason == AGREED for result in results)
        return [f"The estimates of both bots ended {ended} of {pluralize(len(results), 'match')}."] if ended else []
    counting, check = {result.match.number: result for result in results}, AgreementCheck(checked)
    for fields in _games_on_record(contest):
        result = counting.get(fields["match"])
        if result is not None and result.attempt == fields["attempt"]:
            check.add(fields["turns"], result.winner)
    return check.lines()


def _games_on_record(contest: Contest) -> Iterator[dict[str, Any]]:
    """Yield the records of games."""
    with Store(contest.database, reading=True) as store:
        yield from (fields for fields in (parse(each.line) for each in store.records()) if fields["type"] == "game")


def _sides_and_tags(contest: Contest) -> list[str]:
    """Return how often the first bot won from each side, and with each tag."""
    tournament, team = tournament_of(contest), next(iter(contest.teams))
    links = Links("", "", {number for number, _ in tournament.recorded})
    with Store(contest.database, reading=True) as store:
        matches = list(tournament.matches.values())
        events = pair_events(tournament, store, team, matches, links, None, lambda fields: fields)
    return [f"{what}: {text}" for event in events for what, text in event.facts]


def _faults(contest: Contest, score: DuelScore | BestScore, team: Team) -> list[str]:
    """Return how a team's bot came to make faults: the end of what it printed, or of a program its first fault."""
    count = score.faults[team.id]
    if not count:
        return []
    logs = [path for path in bot_logs(contest, team) if path.exists()]
    told = f"! {team.name} made {pluralize(count, 'fault')} (see rules.md)."
    if not logs:
        return [f"{told} The first one:", *_first_fault(contest, team)]
    log = max(logs, key=lambda path: path.stat().st_size)  # of several processes, the one that printed most
    return [f"{told} The end of what it printed:", *last_lines(log)]


def _first_fault(contest: Contest, team: Team) -> list[str]:
    for fields in _games_on_record(contest):
        player = [entry["id"] for entry in fields["teams"]].index(team.id)
        for number, turn in enumerate(fields["turns"], start=1):
            if "fault" in turn and turn["player"] == player:
                return [f"match {fields['match']}, turn {number}: {turn['fault']}: {turn['detail']}"]
    return []
