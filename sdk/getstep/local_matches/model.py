"""A language model in matches at home. It ends practice once its tokens are used up."""

from __future__ import annotations

from collections.abc import Callable

from getstep.bot_process.serve import Message
from getstep.llm.player import LanguageModel, ModelCallback

from .human import Quit
from .players import Answer, ThreadPlayer
from .series import Entrant


class ModelPlayer(ThreadPlayer):
    """A language model, which a thread of this process asks.

    Args:
        model: the model.
        say: prints a line.
    """

    def __init__(self, model: LanguageModel, say: Callable[[str], None]) -> None:
        super().__init__(ModelCallback(model), model.name)
        self._model, self._say = model, say

    def ask(self, question: Message, seconds: float) -> Answer | None:
        """Ask for a move; see `Player.ask`.

        Raises:
            Quit: the tokens of the run are used up.
        """
        answer = super().ask(question, seconds)
        if self._model.used_up:
            self._say(answer.problem if answer else "The tokens of the run are used up.")
            raise Quit
        return answer


def model_entrant(model: LanguageModel, say: Callable[[str], None]) -> Entrant:
    """Return a language model as a bot that practises; ``say`` prints a line."""
    return Entrant(model.name, lambda _seed: ModelPlayer(model, say))
