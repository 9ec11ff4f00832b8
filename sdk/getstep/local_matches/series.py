"""A series of games with the colours swapped, and the function `practice`."""

from __future__ import annotations

import functools
import os
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Union

from getstep import _bot
from getstep._debugger import attached_debugger
from getstep._errors import BotError, SetupError
from getstep.adjudication import agreement_of
from getstep.conventions import CONVENTIONS, no_opening
from getstep.drawing import Picture
from getstep.games import games_named, only_game
from getstep.languages import language_of
from getstep.openings import Book, BookError, drawn, find_book, state_after
from getstep.output import Output
from getstep.programs.folder import find
from getstep.programs.wire import WireBot, command_words, from_command, from_path, plays_on_the_wire
from getstep.referee import Agreement
from getstep.samples import SAMPLES
from getstep.sprt import DEFAULTS, MOST_PAIRS, Sprt
from getstep.text import short_repr
from getstep.turn import Callback, GetStepFunction
from getstep_engines import GAMES, Game, TimeControl, UnknownGameError
from getstep_engines import Player as Colour

from .debug import DebugPlayer, awaited
from .human import PersonPlayer, Quit
from .match import PlayedMatch, PlayedTurn, play_match, play_turn
from .players import Player, ProcessPlayer, ThreadPlayer
from .position import Position, position_in, sides_from
from .results import Results, pairs_of
from .screen import Screen
from .wire_players import WirePlayer

DEFAULT_GAMES, GAMES_WITH_TEST = 10, 2 * MOST_PAIRS

MOST_GAMES = 10_000
"""Their boards are kept in memory until the end, 100 kB or so for a game."""

Bot = Union[GetStepFunction, str, "os.PathLike[str]", Sequence[str]]
"""A function, a bot's file or folder, the name of a sample bot, or the words of a command that starts a program."""


def practice(
    get_step: Bot,
    game: str | None = None,
    against: Bot = "greedy",
    games: int | None = None,
    *,
    limit: float | None = None,
    options: Mapping[str, int | str] | None = None,
    seed: int | str | None = None,
    quiet: bool = False,
    debug: bool = False,
    replay: str | os.PathLike[str] | None = None,
    move: int | None = None,
    number: int | None = None,
    side: str | None = None,
    recorded: bool = True,
    sprt: bool | Mapping[str, float] = False,
    openings: int | str | None = None,
    agreement: Mapping[str, float] | None = None,
    play_on: bool = False,
) -> Results:
    """Play whole games on this machine, with the rules, the clocks and the penalties of a contest.

    >>> results = getstep.practice(get_step, game="hop", against="greedy", games=4)  # doctest: +SKIP
    >>> results.won, results.lost  # doctest: +SKIP
    (3, 1)

    A bot that is given as a file or as a name plays in a process of its own, as with ``getstep practice``. A
    function runs in a thread of this process, on all systems, because a notebook's function cannot be sent to
    another process. So it keeps its global variables, and what it prints is shown. A call that does not return
    costs its turn and is told with its line; after the game it is interrupted, which ends a loop in Python, but not
    a library's call that never returns. The interrupt key stops practice; the results are what is known by then.

    Args:
        get_step: the bot: a function, a file, the name of a sample bot, or the words of a command. A source in
            another language is built first; the program connects over TCP.
        game: the game's name; with a file, the one that the file names.
        against: the opponent: ``"random"``, ``"greedy"``, ``"mcts"``, another sample bot, a file or a function.
        games: how many games: by default 10, with ``sprt`` at most 2,000, with ``replay`` or ``debug`` one. The bot
            has the first move in the first, third, ... one.
        limit: seconds for each move, or for a whole game in a game with such a limit; by default the game's own.
        options: the game's options, such as ``{"size": 10}``. ``{"size": "6-16"}`` draws it for each two games.
        seed: the same seed gives the sample bots the same random moves, and seeds ``random`` in each process.
        quiet: print nothing while the games are played, unless with ``debug``.
        debug: stop the clocks, and call the function in this thread, where ``breakpoint()`` works. That is so as
            well while a debugger is attached. A program in another language is started by you, as is then printed.
        replay: the page of a replay: each game begins with a position of it, as with ``--from``.
        move: with ``replay``: after which turn, as the replay counts them; 0 is the start.
        number: with ``replay``: which game of the page, from 1.
        side: with ``replay``: ``"first"``, ``"second"`` or ``"both"`` in turn; by default the side on turn there.
        recorded: with ``replay``: the opponent first makes its moves of the replay, as long as they are legal.
        sprt: stop as soon as a sequential test is sure which bot is stronger. It may have the settings of the test,
            such as ``{"elo0": -10, "elo1": 10}``.
        openings: each two games begin with the same moves, which nobody is asked for: ``"balanced"`` draws from the
            game's book, a number of moves from random play, and the name of a file from a book of yours.
        agreement: end a game as soon as the estimates that both bots note agree about its result: ``resign``,
            ``draw``, ``agree`` and ``draw_from``, as the options of the command.
        play_on: with ``agreement``: end no game early, and count how often the result would have been wrong.

    Raises:
        SetupError: the game, the number of games, an option, the limit or the position is not valid.
        BotError: a bot cannot be loaded.
    """
    if _bot.loading:
        raise BotError(
            'getstep.practice is called while the file is loaded; put it under if __name__ == "__main__":'
        )
    out = None if quiet and not debug else sys.stdout
    test = None if sprt is False else sequential_test({} if sprt is True else sprt)
    if replay is None:
        if (move, number, side, recorded) != (None, None, None, True):
            raise SetupError("move, number, side and recorded are for a position of a replay: give replay as well.")
        begins = None
        check_game(game, get_step)
    else:
        if test is not None:
            raise SetupError("sprt compares two bots in whole games; leave out replay, or sprt.")
        if options:
            raise SetupError("options: the replay has the options of its game; leave them out.")
        if openings is not None:
            raise SetupError("openings: the games begin with the replay's position; leave out one of them.")
        if agreement:
            raise SetupError("agreement: estimates end whole games only; leave out replay, or agreement.")
        begins = position_in(Path(replay), move, number, game, Screen(out, 1).say)
    if test is not None and debug:
        raise SetupError("sprt needs the clocks, which debug stops; leave out one of them.")
    if games is None:
        games = GAMES_WITH_TEST if test is not None else 1 if begins is not None or debug else DEFAULT_GAMES
    screen = Screen(out, games, test=test)
    bot, other = own_entrant(get_step, debug=debug, say=screen.say), entrant(against, say=screen.say)
    if begins is None:
        rule = agreement_of(agreement or {})
        plan = Plan(
            find_game(game, bot),
            games,
            limit,
            dict(options or {}),
            seed,
            test,
            openings=openings,
            agreement=rule,
            play_on=play_on,
        )
    else:
        sides = sides_from(side, begins)
        plan = Plan(begins.game, games, limit, seed=seed, begins=begins, sides=sides, recorded=recorded)
    return run(plan, bot, other, screen)


def sequential_test(settings: Mapping[str, float]) -> Sprt:
    """Return the test with these settings, in place of the default ones.

    Raises:
        SetupError: a setting is not valid.
    """
    try:
        return Sprt(**{**DEFAULTS, **settings})
    except (ValueError, TypeError) as error:
        raise SetupError(f"--sprt: {error}.") from None


@dataclass(frozen=True)
class Entrant:
    """A bot that can be started: ``start`` takes the seed.

    ``file`` is None for a function, a command or a person. ``game`` is the only game that it plays, None if it
    plays all; ``folder`` is the folder in which a program talks to its host through files, None for any other bot.
    ``games`` are those that its source names. ``convention`` is that of a program, empty for other bots.
    A bot ``in_python`` has a ``get_step``, here or in a file. Without a
    ``clock``, it is debugged.
    """

    name: str
    start: Callable[[str], Player]
    file: Path | None = None
    game: str | None = None
    folder: Path | None = None
    games: tuple[str, ...] = ()
    convention: str = ""
    in_python: bool = False
    clock: bool = True


class Plan:
    """The settings of a series.

    Args:
        game: the rules.
        games: the number of games.
        limit: seconds, in place of the game's default.
        options: the game's options; a range such as ``"6-16"`` is drawn for each two games with swapped colours.
        seed: for random moves; None for others each time.
        test: ends the series as soon as it has a verdict; it counts each two games with swapped colours as a pair.
        begins: the position that each game begins with, in place of ``options``; None for the start.
        sides: the bot's side in the first game, the second one, and so on, from the beginning again.
        recorded: the opponent first makes its moves of the replay, as long as they are legal.
        openings: the setting of the openings, see `practice`; each two games have another one.
        agreement: when the estimates of both bots end a game; None if they decide nothing.
        play_on: end no game so, but count how often that would have been wrong.

    Raises:
        SetupError: a value is not valid.
    """

    def __init__(
        self,
        game: Game,
        games: int,
        limit: float | None = None,
        options: Mapping[str, int | str] | None = None,
        seed: int | str | None = None,
        test: Sprt | None = None,
        *,
        begins: Position | None = None,
        sides: Sequence[Colour] = (0, 1),
        recorded: bool = False,
        openings: int | str | None = None,
        agreement: Agreement | None = None,
        play_on: bool = False,
    ) -> None:
        if type(games) is not int or not 1 <= games <= MOST_GAMES:
            raise SetupError(f"games: expected a number from 1 to {MOST_GAMES} ({short_repr(games)})")
        if test is not None and games % 2:
            raise SetupError(f"games: a test counts pairs, so expected an even number ({games}).")
        if limit is not None and not 0.001 <= limit <= 3600:
            raise SetupError(f"limit: expected seconds from 0.001 to 3600 ({short_repr(limit)})")
        try:
            game.values(options or {})
        except ValueError as error:
            raise SetupError(f"options: {error}.") from None
        default = begins.control if begins else game.time_control
        if limit is None and default.seconds <= 0:
            raise SetupError("--from: the replay has no time limit; give one with --limit.")
        self.game = game
        self.games = games
        self.test = test
        self.options = begins.replay.options if begins else options or {}
        self.control = default if limit is None else TimeControl(default.kind, limit, default.increment)
        self.begins = begins.with_limit(self.control) if begins and limit is not None else begins
        self.sides = sides
        self.recorded = recorded
        self.agreement, self.play_on = agreement, play_on
        if play_on and agreement is None:
            raise SetupError("play_on checks an agreement: give one as well.")
        self.seed = "" if seed is None else str(seed)
        self.book = None if openings is None else self._book(openings)
        # The sample bots seed their random moves with the match number, so each series has numbers of its own.
        self.first_number = 1 + 10 * MOST_GAMES * random.Random(self.seed or None).randrange(1000)

    def _book(self, setting: int | str) -> Book:
        """Return the book of this setting. Raises SetupError."""
        if any(isinstance(value, str) for value in self.options.values()):
            raise SetupError("openings: they are for one board; leave out the range of --option.")
        options = {name: value for name, value in self.options.items() if isinstance(value, int)}
        try:
            return find_book(setting, self.game, options, self.seed, Path())
        except BookError as error:
            raise SetupError(f"openings: {error}.") from None

    def seed_of(self, seat: int) -> str:
        """Return the seed of the bot, seat 0, or its opponent; empty for none."""
        return f"{self.seed} {seat}" if self.seed else ""

    def match(self, number: int, names: tuple[str, str]) -> PlayedMatch:
        """Return the match with a number from 1; ``names`` are the bot's and the opponent's."""
        bot = self.sides[(number - 1) % len(self.sides)]
        chance = random.Random(f"options {self.first_number} {(number + 1) // 2}").random
        options = self.game.draw(self.options, chance)
        begins = self.begins
        start = begins.picture if begins else Picture(self.game.look, self.game.view(self.game.start(**options)))
        ordered = names if bot == 0 else (names[1], names[0])
        opening = drawn(self.book, f"{self.first_number}", (number - 1) // 2) if self.book else ()
        if opening:
            start = Picture(self.game.look, self.game.view(state_after(self.game, options, opening)))
        agreement = None if self.play_on else self.agreement
        return PlayedMatch(
            number, self.game, options, self.control, ordered, bot, start, begins, self.recorded, opening, agreement
        )


def run(plan: Plan, bot: Entrant, other: Entrant, screen: Screen) -> Results:
    """Play the games. Ctrl-C, and a person who quits, end them; the results are then those of the games played.

    Raises:
        SetupError: a bot plays another game only, or two programs would read each other's files.
        BotError: a bot cannot be loaded.
    """
    for entered in (bot, other):
        _check_plays(entered, plan.game)
    if bot.folder is not None and bot.folder == other.folder:
        raise SetupError(
            f"{bot.name} and {other.name} talk through files of the same names; put each into a folder of its own."
        )
    if plan.book is not None:
        for entered in (bot, other):
            if entered.convention and not CONVENTIONS[entered.convention].from_any_board:
                raise SetupError(f"openings: {no_opening(entered.name, entered.convention)}; leave them out.")
    if plan.begins is not None:
        for side in plan.sides:
            _check_start(plan.begins, bot, side)
            _check_start(plan.begins, other, 1 if side == 0 else 0, recorded=plan.recorded)
    return _Series(plan, (bot, other), screen).run()


def ask_once(plan: Plan, bot: Entrant) -> tuple[PlayedMatch, PlayedTurn, Output]:
    """Ask the bot for one move in the position that ``plan`` begins with; return it, and what the bot printed.

    Raises:
        SetupError: a bot plays another game only, cannot begin in this position, or has no time left there.
        BotError: a bot cannot be loaded.
    """
    position, side = plan.begins, plan.sides[0]
    if position is None:
        raise SetupError("From which position? Give a replay with --from, and a move with --move.")
    _check_plays(bot, plan.game)
    _check_start(position, bot, side)
    match = plan.match(1, (bot.name, position.replay.names[1 - side]))
    match.clock = bot.clock
    if match.state().clocks.limit(side) <= 0:
        raise SetupError(f"{plan.game.players[side]} has no time left at {position.text}; give a --limit.")
    player = bot.start(plan.seed_of(0))
    try:
        _check_game(position, player)
        turn = play_turn(match, player, plan.first_number + 1)
    finally:
        player.close()
    return match, turn, player.output


def _check_plays(entered: Entrant, game: Game) -> None:
    if entered.game not in (None, game.name):
        raise SetupError(f"{entered.name} plays {entered.game} only, and this game is {game.name}.")


def _check_start(position: Position, entered: Entrant, side: Colour, *, recorded: bool = False) -> None:
    """Raise SetupError if a program that keeps its own position would start after moves of its side."""
    if not entered.convention or CONVENTIONS[entered.convention].from_any_board:
        return
    fresh = position.fresh_moves(side)
    what = f"{entered.name} is a {entered.convention} program: it keeps the position from its own moves, so it"
    if len(position.turns) > fresh:
        raise SetupError(
            f"{what} cannot take over after others have moved for it. Give --move {fresh}, or a bot that gets the"
            " board: one with get_step, or a program of another convention."
        )
    if recorded and position.recorded_moves(side):
        raise SetupError(f"{what} cannot go on after recorded moves. Add --no-recorded.")


def _check_game(position: Position, player: Player) -> None:
    """Raise SetupError if a bot names the games that it plays, and the replay's game is not among them."""
    if player.games and position.game.name not in player.games:
        plays = " and ".join(player.games)
        raise SetupError(
            f"{player.name} plays {plays}, and the replay's game is {position.game.name}; give a replay of {plays}."
        )


class _Series:
    def __init__(self, plan: Plan, entrants: tuple[Entrant, Entrant], screen: Screen) -> None:
        self._plan = plan
        self._entrants = entrants
        self._screen = screen
        self._clock = all(entrant.clock for entrant in entrants)
        self._screen.has_status &= self._clock
        self._players: list[Player | None] = [None, None]
        self._printed: dict[str, tuple[int, str]] = {}
        self._matches: list[PlayedMatch] = []

    def run(self) -> Results:
        stopped = False
        try:
            for number in range(1, self._plan.games + 1):
                self._play(number)
                if self._decided():
                    break
        except (KeyboardInterrupt, Quit):
            stopped = True
        finally:
            for seat in (0, 1):
                self._close(seat)
        names = tuple(entrant.name for entrant in self._entrants)
        printed = {name: _printed_text(*output) for name, output in self._printed.items()}
        game, test = self._plan.game.name, self._plan.test
        check = self._plan.agreement if self._plan.play_on else None
        return Results(names[0], names[1], game, tuple(self._matches), stopped, printed, test, check)

    def _decided(self) -> bool:
        """Give the test the pair of which the second game is over; return True if it has its verdict."""
        test = self._plan.test
        if test is None or len(self._matches) % 2:
            return False
        pairs = pairs_of(self._matches)
        test.add(*pairs[-1])
        self._screen.pair(pairs)
        return test.verdict is not None

    def _play(self, number: int) -> None:
        first, second = self._ready(0), self._ready(1)
        match = self._plan.match(number, (self._entrants[0].name, self._entrants[1].name))
        match.clock = self._clock
        players = (first, second) if match.bot == 0 else (second, first)
        self._matches.append(match)
        self._screen.begin(match)
        people = [player for player in players if isinstance(player, PersonPlayer)]
        for person in people:
            person.begin(match)

        def on_turn(match: PlayedMatch, turn: PlayedTurn) -> None:
            for player in players:
                while player.dropped:
                    self._screen.say(f"{player.name}: {player.dropped.pop(0)}")
            if not people:
                self._screen.turn(match, turn)
            for person in people:
                person.watch(turn)

        play_match(match, players, self._plan.first_number + number, on_turn)
        for person in people:
            person.end(match)
        self._screen.end(match)

    def _ready(self, seat: int) -> Player:
        """Return the player, started again if its process has ended or still works on a question that is over."""
        player = self._players[seat]
        if player is not None and player.alive and not player.busy:
            return player
        if player is not None:
            why = "still works on its last turn, or is not connected" if player.alive else "has ended"
            self._screen.say(f"{player.name} {why}: it is started again.")
            self._close(seat)
        player = self._players[seat] = self._entrants[seat].start(self._plan.seed_of(seat))
        if self._plan.begins is not None:
            _check_game(self._plan.begins, player)
        return player

    def _close(self, seat: int) -> None:
        player = self._players[seat]
        self._players[seat] = None
        if player is None:
            return
        player.close()
        if player.output.lines:
            name = self._entrants[seat].name
            before = self._printed.get(name, (0, ""))[0]
            self._printed[name] = (before + player.output.lines, player.output.last)


def _printed_text(lines: int, last: str) -> str:
    return f"{lines} line{'s' if lines > 1 else ''}; the last: {short_repr(last)[1:-1]}"


# --- the bots ---------------------------------------------------------------------------------------------------


def own_entrant(
    bot: Bot, convention: str | None = None, *, debug: bool, say: Callable[[str], None] = lambda _line: None
) -> Entrant:
    """Return the bot that practises, as `entrant` does: debugged if that is asked for, or a debugger is attached.

    Raises:
        SetupError: it cannot be debugged so.
        BotError: as `entrant`.
    """
    if debug and convention is not None:
        raise SetupError(
            "--debug is for a bot with get_step or one that connects by itself, and not for a program with --as."
            " Leave out --debug, attach a debugger to the program, and add --limit 3600."
        )
    found = entrant(bot, convention, say=say, debug=debug)
    if found.in_python and not debug and (debugger := attached_debugger()):
        say(f"The clocks are stopped: a debugger is attached ({debugger}).")
        return entrant(bot, say=say, debug=True)
    if debug and found.in_python:
        say(f"The clocks are stopped. {found.name} runs here: breakpoint() opens pdb; Ctrl-C ends.")
    return found


def entrant(
    bot: Bot,
    convention: str | None = None,
    *,
    say: Callable[[str], None] = lambda _line: None,
    debug: bool = False,
) -> Entrant:
    """Return a bot from a function, a file, a command, or the name of a sample bot; a file goes before a name.

    With a convention, the file is a program that plays by it. A source in another language is built now; ``say``
    prints a line about that. A text with a space that is no file is a command. With ``debug``, the bot is to be
    debugged (`getstep.local_matches.debug`), unless it plays by a convention.

    Raises:
        BotError: there is no such file, or it cannot be built or started.
    """
    if callable(bot):
        name = getattr(bot, "__name__", "get_step")
        if debug:
            return Entrant(
                name, lambda seed: DebugPlayer(lambda: Callback(bot), name, seed), in_python=True, clock=False
            )
        return Entrant(name, lambda _seed: ThreadPlayer(bot, name), in_python=True)
    if not isinstance(bot, (str, os.PathLike)):
        return _on_the_wire(from_command(bot), say, debug)
    words = command_words(os.fspath(bot)) if convention is None else []
    if words:
        return _on_the_wire(from_command(words), say, debug)
    path = Path(bot)
    if convention is None and not path.is_file() and str(bot) in SAMPLES:
        name, path = str(bot), _sample(str(bot))
        return _with_get_step(path, name, only_game(name), debug)
    if convention is None and plays_on_the_wire(path):
        return _on_the_wire(from_path(path, say, debug), say, debug, find(path) if path.is_file() else None)
    path = find(path)
    if convention is None:
        return _with_get_step(path, path.name, None, debug)
    talk = CONVENTIONS[convention]
    return Entrant(
        path.name,
        lambda seed: ProcessPlayer(path, path.name, seed, convention),
        path,
        talk.game,
        path.parent if talk.output_file else None,
        convention=convention,
    )


def _with_get_step(path: Path, name: str, game: str | None, debug: bool) -> Entrant:
    if debug:
        load = functools.partial(_bot.load, path)
        return Entrant(name, lambda seed: DebugPlayer(load, name, seed), path, game, in_python=True, clock=False)
    return Entrant(name, lambda seed: ProcessPlayer(path, name, seed), path, game, in_python=True)


def _on_the_wire(bot: WireBot, say: Callable[[str], None], debug: bool, file: Path | None = None) -> Entrant:
    def start(_seed: str) -> Player:
        return awaited(bot, say) if debug else WirePlayer(bot.command, bot.name, bot.folder, bot.language)

    return Entrant(bot.name, start, file, games=tuple(bot.games), clock=not debug)


def _sample(name: str) -> Path:
    spec = find_spec(f"getstep_bots.{SAMPLES[name]}")
    if spec is None or spec.origin is None:
        raise BotError(f"The sample bot {name} is not installed: install getstep again, as your slip says")
    return Path(spec.origin)


def find_game(name: str | None, bot: Entrant) -> Game:
    """Return the game with a name, or else the only game that the bot's file names.

    Raises:
        SetupError: there is no such game, or the file names none or several.
    """
    found = list(bot.games) or (games_named(bot.file) if bot.file and bot.file.suffix == ".py" else [])
    return _one_game(name, bot.name, found)


def check_game(name: str | None, bot: Bot) -> None:
    """Find the game of a bot in another language before its source is built, which may take half a minute.

    Raises:
        SetupError: as `find_game` does.
    """
    file = Path(bot) if isinstance(bot, (str, os.PathLike)) else None
    if file is not None and file.is_file() and language_of(file.suffix.lower()) is not None:
        _one_game(name, file.name, games_named(file))


def _one_game(name: str | None, bot: str, found: Sequence[str]) -> Game:
    if name is not None:
        try:
            return GAMES[name]
        except UnknownGameError as error:
            raise SetupError(f"{error}.") from None
    if len(found) == 1:
        return GAMES[found[0]]
    says = f"{bot} plays several" if found else f"{bot} names no game"
    raise SetupError(f"Which game? {says}. Give one with --game or game=...: {', '.join(found or GAMES)}.")
