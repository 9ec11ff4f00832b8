"""A standby host: a copy of a running contest on another computer, which can take over.

In: records, journal, files of a contest on one computer. Out: the same in a folder on another one, and the decision
that this other one plays the contest from here on.
It must not know sockets of bots or the judge, nor who steers the contest.

Theory of operation
-------------------

*The copy.* The first host's page sends a stream (`source`): the bytes that were added to the journal, then the
records that were added to the chain. In this order, each match is in the copy's journal or on its record at any
moment, so the copy can be resumed wherever the stream ends. `folder` writes both with the ordinary storage.

*The channel.* Both computers know the host's key (`config.host_key`). `sealed` makes keys of it for one connection,
and encrypts and authenticates each frame: the copy has the tokens of all teams, and the page speaks plain HTTP.

*Strict mode.* The copy acknowledges the records that it has on its disk (`messages.Ack`), and the page notes their
place (`marks.note_copied`). In strict mode, no record is announced before (`runtime.standby_gate`, `web.feed`).

*Precedence.* The first host gives each copy a rank, and tells it where the others are (`messages.Standbys`). A copy
waits for those of lower ranks, and asks all others if they have taken over, before it does so itself. Two that do
not see each other may both take over. Their ranks give them different fencing numbers (`taking`), and each tells
the other one as it tells the first host: the one with the lower number stops.

*PostgreSQL.* Hosts can share the records of a contest there. Then the database's lock says which of them plays
(`storage.postgres`), and a copy of the journal is all that a follower needs to have.

*The fencing number* is 0, and higher after each take-over. It is a decision on record, and part of the proof of
each login. The second host tells the first one about it as long as it runs; a bot that has seen the higher number
tells it, too, with the *certificate* that only the host's key can make. The first host then stops, and its *mark*
keeps it from starting again.
"""

__all__ = ["folder", "follower", "marks", "messages", "sealed", "source", "taking"]
