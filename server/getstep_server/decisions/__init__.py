"""What a host may decide about a contest: the kinds, their checks, their preview, and how they come on record.

In: a `requests.Request`, from a command or from a page, and the folder of a contest. Out: a `preview.Preview` of
what would change, or of what has changed; and records, appended to the chain.
A server that runs the contest reads them from there: this room talks to nobody.
Messages of the host to the teams go the same way. A request for the start is a file that the server takes.
It must not know terminals, browsers or sockets, and no running server.
"""

__all__ = [
    "making",
    "messages",
    "preview",
    "requests",
    "starting",
]
