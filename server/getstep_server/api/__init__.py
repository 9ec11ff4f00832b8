"""What can be read of a contest: each fact as one struct, with one JSON, for pages, programs and checks.

In: the tournament, as far as the reader may see it, and matches that are being played. Out: msgspec structs
(`answers`), made by the functions of `build`; their types are the schemas of the HTTP API, which docs/api.md
describes.
It must not know HTTP, browsers or files: `web` follows the contest, serves the answers, and makes
its pages of them.

Theory of operation
-------------------

*One struct for each fact.* A result on the overview, on the page of a team, in a list of matches and in the feed is
the same `answers.ResultAnswer`. A page is a struct whose fields are such structs: the parts of its topic.

*A projection decides what is seen.* During a freeze there are two tournaments, of all records and of those before
the freeze. The functions of `build` get one of them and know no other, so an answer cannot tell what is hidden.

*Addresses are a table* (`web.api_routes`): it holds the method, the address, the parameters, the type of the answer
and the function. The server, the OpenAPI description, the documentation and `api-check` all read that table.

*Version 1 promises* that fields stay, keep their meaning and type. New fields, values of ``state`` and kinds of
events may come: a program ignores what it does not know.
"""

__all__ = [
    "answers",
    "build",
    "visibility",
]
