"""What a reader may see: the notes of bots and the error texts of their programs in a match, and the messages.

All that leaves the host's machine and has turns in it goes through `VisibleGame`: pages, replays, downloads of a
team's own area, and the site. The host's own commands show everything.

An opponent must not read during a match what the other bot thinks. So a team sees the notes of its own bot at once;
everybody sees both, by the host's setting, once the match is over: its attempt is on record, and it will not be
played again. As the tournament is that of spectators, a freeze hides the notes of a match with its result.

The page cannot tell a spectator from an opponent: both ask without a login. So the setting "live" shows notes
during a match to the host only, in a browser that has the session of the console.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from getstep.referee import FaultCode
from getstep_server.config.contest import NotesSetting
from getstep_server.records.message import Message
from getstep_server.tournament.messages import Question
from getstep_server.tournament.tournament import Tournament

_OWN = ("output",)
"""Notes that only the bot's own team sees: what its program printed may be anything."""

_OWN_TEXTS: dict[object, str] = {
    FaultCode.RAISED: "an exception in its program",
    FaultCode.MALFORMED_ANSWER: "an answer that is not a move",
}
"""Faults whose reason is a text from the team's program, and the text that other teams see instead."""


def visible_notes(
    notes: Mapping[str, Any] | None, *, setting: NotesSetting, over: bool, own: bool, host: bool = False
) -> Mapping[str, Any] | None:
    """Return the part of a turn's notes that a reader may see; None if there is none.

    Args:
        notes: of the turn.
        setting: the host's.
        over: True if the match is over, and the reader may know it.
        own: True if the reader's team has made the turn.
        host: True if the reader is the host, see `VisibleGame`.
    """
    if notes is None or own:
        return notes
    if setting == "never" or not (over or (setting == "live" and host)):
        return None
    return {name: value for name, value in notes.items() if name not in _OWN} or None


def public_reason(turn: Mapping[str, Any]) -> str:
    """Return why a turn was a fault or an end, without a text that the team's program has made."""
    return _OWN_TEXTS.get(turn.get("fault")) or str(turn.get("detail", ""))


@dataclass(frozen=True, slots=True)
class Rights:
    """What a reader may see of one attempt at a match, see `visible_notes`."""

    setting: NotesSetting
    over: bool
    team: int | None
    error_texts: bool
    host: bool


@dataclass(frozen=True, slots=True)
class VisibleGame:
    """A function that returns a game's record as a reader may see it.

    If that differs from the record, it has no hash: the hash is that of the whole record.

    Args:
        tournament: as spectators may see it.
        team: the reader's; None for spectators.
        error_texts: True if the reader may see the error texts of all bots.
        host: True if the reader is certain to be the host, who may show the page to others.
    """

    tournament: Tournament
    team: int | None = None
    error_texts: bool = False
    host: bool = False

    def rights(self, match: int, attempt: int) -> Rights:
        """Return all that decides, beside a game's record, what the reader sees of the game."""
        setting, over = self.tournament.contest.file.notes, _is_over(self.tournament, match, attempt)
        return Rights(setting, over, self.team, self.error_texts, self.host)

    def __call__(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the record with the turns as the reader may see them."""
        rights = self.rights(fields["match"], fields["attempt"])
        own_players = [player for player, entry in enumerate(fields["teams"]) if entry["id"] == rights.team]

        def seen(turn: Mapping[str, Any]) -> Mapping[str, Any]:
            own = turn.get("player") in own_players
            changed = {name: value for name, value in turn.items() if name != "notes"}
            if "fault" in turn and not own and not rights.error_texts:
                changed["detail"] = public_reason(turn)
            notes = visible_notes(
                turn.get("notes"), setting=rights.setting, over=rights.over, own=own, host=rights.host
            )
            return changed if notes is None else {**changed, "notes": notes}

        turns = list(map(seen, fields["turns"]))
        if turns == fields["turns"]:
            return fields
        return {name: value for name, value in fields.items() if name != "hash"} | {"turns": turns}


def visible_messages(tournament: Tournament, latest: int) -> list[Message]:
    """Return the latest messages of the host that everybody may read, the newest first.

    Args:
        tournament: by all records: a freeze hides results, and no message.
        latest: the most that are returned.
    """
    return tournament.messages.public()[: -latest - 1 : -1]


def visible_to_all(message: Message) -> bool:
    """Return True if everybody may read a message: a question only with an answer that is for all."""
    return message.kind == "announcement" or (message.kind == "answer" and message.to_all)


def visible_questions(tournament: Tournament, team: int) -> list[Question]:
    """Return what a team has asked, with the answers, the oldest first. No other team may read it."""
    return tournament.messages.of(team)


def _is_over(tournament: Tournament, number: int, attempt: int) -> bool:
    """Return True if this attempt at a match is over for spectators, and the match will not be played again."""
    match = tournament.matches.get(number)
    if match is None:  # a friendly match has the number of its challenge, and one attempt
        return number in tournament.challenges.results
    return (number, attempt) in tournament.recorded and not tournament.is_open(match)
