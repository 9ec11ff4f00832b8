"""The codes in records, in the journal, in the database and on the wire.

protocol.md and docs/records.md list them. Each value is the recorded string: a `StrEnum` compares and serializes
as its value, so JSON, SQL and hashes hold plain strings. A code changes only together with `RECORD_VERSION`. The
messages of `getstep.wire` check for a plain string: pass ``str(code)`` to them.
"""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """The other reasons of a result: the game's own rules, or a decision without a turn."""

    FINISHED = "finished"
    """The game ended by its own rules."""
    NO_SHOW = "never_arrived"
    """One team, or neither, came to the match."""
    ADJUDICATED = "adjudicated"
    """The host decided the result."""
    ROUND_LOST = "round_lost"
    """A missed limit in another match of the round decided the result: see `missed_limit_rule`."""


class VoidReason(StrEnum):
    """The reason why an attempt does not count. A table in rules.md defines void, cancelled and annulled."""

    SERVER_FAULT = "server_fault"
    """The server failed: the match is void and is played again."""
    CALLED_OFF = "called_off"
    """The host made a decision about the match, or about one of its teams, while it was played."""


VOID_REASONS: tuple[str, ...] = tuple(VoidReason)
"""For ``in``: before Python 3.12 a plain string cannot be looked up in an enum."""

BOTH_LOSE: tuple[str, ...] = (Reason.NO_SHOW, Reason.ROUND_LOST)
"""Reasons for which a match without a winner is a loss for both, not a draw."""


class DecisionKind(StrEnum):
    WITHDRAW = "withdraw"
    DISQUALIFY = "disqualify"
    REINSTATE = "reinstate"
    ADJUDICATE = "adjudicate"
    REPLAY = "replay"
    LATE_ARRIVAL = "late_arrival"
    """Made by the no-show rule when a team arrives, never by a host."""
    FREEZE = "freeze"
    """The results of all later records are hidden from spectators."""
    REVEAL = "reveal"
    """Nothing is hidden any more."""
    PAUSE = "pause"
    """The clocks of a match, of an event or of all matches stop; no new match of these starts."""
    RESUME = "resume"
    """The pause is over."""
    PUBLISH = "publish"
    """The source of a program is published: made by the publication rule, never by a host. It changes no result."""
    JOIN = "join"
    """A team takes part that was not on record before."""
    RENAME = "rename"
    TOKEN = "token"  # noqa: S105 - not a password
    """A team has a new token. The token itself is in teams.toml only."""
    SEATS = "seats"
    """A team may connect this number of bots."""
    TAKE_OVER = "take_over"
    """Another computer plays the contest from here on, with a higher fencing number. It changes no result."""
    STRICT = "strict"
    """Nothing is announced before a standby host has it on its disk."""
    NOT_STRICT = "not_strict"
    """Records are announced as soon as they are on this host's disk."""
    INVITE = "invite"
    """The host has made links by which teams sign up. Their keys are in no record."""
    REVOKE = "revoke"
    """No team can sign up by these links any more."""
    ARCHIVE = "archive"
    """The turns of old games are in a file, and no longer in the records. It changes no result."""


TEAM_KINDS = (DecisionKind.WITHDRAW, DecisionKind.DISQUALIFY, DecisionKind.REINSTATE)
PAUSE_KINDS = (DecisionKind.PAUSE, DecisionKind.RESUME)
ROSTER_KINDS = (DecisionKind.JOIN, DecisionKind.RENAME, DecisionKind.TOKEN, DecisionKind.SEATS)
"""Decisions about the list of teams. They change no result, and abort no match."""
STANDBY_KINDS = (DecisionKind.TAKE_OVER, DecisionKind.STRICT, DecisionKind.NOT_STRICT)
"""Decisions about the computers that have the contest. They change no result."""
INVITATION_KINDS = (DecisionKind.INVITE, DecisionKind.REVOKE)
"""Decisions about links to sign up. They change nothing; a team that signs up is on record as one that joins."""
FREEZE_KINDS = (DecisionKind.FREEZE, DecisionKind.REVEAL)
"""Decisions about what spectators see. They change no result."""
QUIET_KINDS = (
    *FREEZE_KINDS,
    *PAUSE_KINDS,
    *INVITATION_KINDS,
    *STANDBY_KINDS,
    DecisionKind.PUBLISH,
    DecisionKind.ARCHIVE,
)
"""Decisions that change neither a match nor the list of teams."""


class TeamStatus(StrEnum):
    """The standing of a team in an event, by the host's decisions."""

    ACTIVE = ""
    WITHDRAWN = "withdrawn"
    DISQUALIFIED = "disqualified"
    """All matches of the team are annulled."""


STATUS_AFTER: dict[DecisionKind, TeamStatus] = {
    DecisionKind.WITHDRAW: TeamStatus.WITHDRAWN,
    DecisionKind.DISQUALIFY: TeamStatus.DISQUALIFIED,
    DecisionKind.REINSTATE: TeamStatus.ACTIVE,
}
