"""One run of the server: start, director, recorder, log, incidents.

In: a contest folder and the host's start condition. Out: a contest that is played to its end, or stopped so that
the next run resumes it. It connects the other rooms. It must not know the rules of a game or a format, nor
how anything is shown.
"""

__all__ = [
    "contest_log",
    "director",
    "live_tables",
    "recorder",
    "run",
    "run_log",
    "start",
]
