"""Judge processes: they judge matches that the contest's server has begun, so that several cores judge at once.

In: matches, with the sockets of the teams that play them. Out: results, with their turns, and the sockets again.
It must not know the tournament, the records' database, logins, or the other judge processes.

Theory of operation
-------------------

One process, the server, listens, logs teams in, pairs, and stores records. It lends a match to a judge process
(`process`): the scoresheet as it is, and the two connections, whose sockets travel over a pair of Unix sockets
(`children.channel`, SCM_RIGHTS). The judge process has its own poller, deadlines and journal. So a turn is on disk
and the opponent is asked without a message to the server. When the match is over, it returns the result, the turns
and the connections. The server stores the record and tells the players, as if it had judged the match itself.

Both processes hold a descriptor of the same socket, but only one reads and writes. So nothing has to be sent to
return a connection, and a connection outlives a judge process that dies.

A connection that a team opens in mid-match logs in at the server, which lends it as well. Both sides may speak at
the same time. A message about a match or a connection that the other side no longer has is ignored. A connection
that comes too late is returned.

A judge process ends when its channel does, whatever becomes of the server. What it was judging is in its journal.
"""

__all__ = [
    "messages",
    "process",
]
