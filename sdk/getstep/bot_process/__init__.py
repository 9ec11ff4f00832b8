"""A bot as a process behind a pipe: ``python -m getstep.bot_process FILE [SEED [CONVENTION]]``.

In: questions, a line of JSON each. Out: a reply for each, and the place of a call that is late. It must not know
the game, the opponent or who judges: practice, a host's page and a sandbox all start it. ``__main__`` is the
program. ``serve`` describes the questions and the replies, and answers with a callback; it also works in a thread.
"""
