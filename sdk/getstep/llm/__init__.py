"""A language model as a player: it is asked for each move over HTTP, by the chat completions of the OpenAI kind.

In: a turn, and the settings of the endpoint and of the cost. Out: a move, or an error that says why there is none;
what was asked, answered and spent, as notes. It must not know a contest, a server of ours, or the clock of a judge:
it uses the time that a turn names.

- ``arguments``: the options on the command line.
- ``endpoint``: one question to the endpoint; bounded in time and size.
- ``player``: the words of a question, the move in an answer, tries, tokens.
"""

from .arguments import CONVENTION, add_model, model_named, model_of, play_words

__all__ = ["CONVENTION", "add_model", "model_named", "model_of", "play_words"]
