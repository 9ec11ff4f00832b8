"""Finding servers on this network: one question by multicast DNS, and the answers (RFC 6762 and 6763).

A server announces its contest as ``NAME._getstep._tcp.local.``. Any computer on the network can announce anything.
So a found address is only a place to try: the client plays only if the server there proves that it knows the
team's token.

The library zeroconf could ask, too, and it announces the server. But its wheel has 1.5 MB (3.9 MB unpacked), one
for each Python and each system, and contestants install this package from a single file without internet. A client
needs only RFC 6762's one-shot query (section 5.1): one packet from an ordinary port, answered to that port. It
joins no group, and firewalls let the answers in. The tests ask the responder of zeroconf.
"""

from .dns import Announcement, DnsError, parse_answer, question
from .finder import Finder, NoneChosen, find_one, listing
from .network import FoundServer, SearchResult, network_addresses, search

__all__ = [
    "Announcement",
    "DnsError",
    "Finder",
    "FoundServer",
    "NoneChosen",
    "SearchResult",
    "find_one",
    "listing",
    "network_addresses",
    "parse_answer",
    "question",
    "search",
]
