"""A bot as a process behind a pipe: ``python -m getstep.bot_process FILE [SEED [CONVENTION]]``.

`practice` and the server's page start it. ``__main__`` is the program. ``serve`` describes the questions and the
replies, and answers with a callback; it also works in a thread.
"""
