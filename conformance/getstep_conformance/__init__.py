"""Suites of test cases for both ends of protocol.md, and for the games.

`client` plays a server with a script, and tests a client in any language: ``getstep-server conformance``.
`attack` sends what no honest client sends, and tests a server: ``getstep-server attack``.
`games` has what every game has to hold, and tests a game of any package, with pytest or without.

The first two know the protocol as `getstep.wire` has it, and its time limits from protocol.md. All know nothing of
the server.
"""
