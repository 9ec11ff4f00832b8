"""Suites of test cases for both ends of protocol.md.

`client` plays a server with a script, and tests a client in any language: ``getstep-server conformance``.
`attack` sends what no honest client sends, and tests a server: ``getstep-server attack``.

Both know the protocol as `getstep.wire` has it, and its time limits from protocol.md. They know nothing of the
server.
"""
