"""The options of a language model on the command line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from getstep._errors import SetupError

if TYPE_CHECKING:
    from getstep.text import Console

    from .player import LanguageModel

CONVENTION = "llm"
"""The word after ``--as``."""

KEY_VARIABLE = "GETSTEP_LLM_KEY"
"""The environment variable with the key. That of another program is not read: its key is not for any endpoint."""

DEFAULTS = {"max_tokens": 1000, "most_tokens": 500_000, "tries": 3}
"""The defaults of `LanguageModel`'s settings, by the names of their options."""

_HIGHEST = {"max_tokens": 100_000, "most_tokens": 10**12, "tries": 20}


_OPTIONS = ("url", "model", "key_variable", "max_tokens", "most_tokens", "tries")


def add_model(parser: argparse.ArgumentParser, *, named: bool = True) -> None:
    """Add the options of a language model; its name is ``--model`` if it is ``named`` so."""
    group = parser.add_argument_group("a language model (--as llm)")
    group.add_argument("--url", help="its endpoint of the OpenAI kind, such as http://localhost:11434/v1")
    if named:
        group.add_argument("--model", metavar="NAME", help="the name of the model there")
    group.add_argument(
        "--key-variable",
        metavar="VARIABLE",
        help=f"the environment variable with the key of the endpoint (default {KEY_VARIABLE}, if it is set)",
    )
    group.add_argument(
        "--max-tokens", type=int, metavar="N", help=f"tokens of one answer (default {DEFAULTS['max_tokens']:,})"
    )
    group.add_argument(
        "--most-tokens",
        type=int,
        metavar="N",
        help=f"tokens of the run, questions and answers; then the model is asked no more"
        f" (default {DEFAULTS['most_tokens']:,})",
    )
    group.add_argument(
        "--tries",
        type=int,
        metavar="N",
        help=f"how often it is told in a turn that its answer was no legal move (default {DEFAULTS['tries']})",
    )


def model_of(options: argparse.Namespace, console: Console) -> LanguageModel | None:
    """Return the language model that the options name; None if they name another bot.

    Raises:
        SetupError: the options do not fit together, or one of them is not valid.
    """
    given = _given(options)
    if options.convention != CONVENTION:
        if given and getattr(options, "against_convention", None) != CONVENTION:
            flag = f"--{next(iter(given)).replace('_', '-')}"
            raise SetupError(f"{flag} is for a language model: add --as {CONVENTION}.")
        if "model" in given:
            raise SetupError(f"--model is for --as {CONVENTION}; the model of --against-as is --against NAME.")
        return None
    if options.bot is not None:
        raise SetupError(f"--as {CONVENTION}: a language model has no file; leave out {options.bot}.")
    for name in ("url", "model"):
        if name not in given:
            raise SetupError(
                f"--as {CONVENTION} needs --{name}, such as --url http://localhost:11434/v1 --model llama3.2."
            )
    return _model(given, console)


def model_named(name: str, options: argparse.Namespace, console: Console) -> LanguageModel:
    """Return the language model of the opponent, which has this name at the endpoint of ``--url``.

    Raises:
        SetupError: an option is missing or not valid.
    """
    given = {**_given(options), "model": name}
    if "url" not in given:
        raise SetupError(f"--against-as {CONVENTION} needs --url, such as --url http://localhost:11434/v1.")
    return _model(given, console)


def play_words(name: str, options: argparse.Namespace, console: Console) -> list[str]:
    """Return the words of a command that plays with the language model of this name, at the endpoint of ``--url``.

    Where to play, and the login, come from the environment.

    Raises:
        SetupError: an option is missing or not valid.
    """
    given = {**_given(options), "model": name}
    if "url" not in given:
        raise SetupError(f"--as {CONVENTION} needs --url, such as --url http://localhost:11434/v1.")
    _model(given, console)  # for its checks and its warning
    flags = [word for key, value in given.items() for word in (f"--{key.replace('_', '-')}", str(value))]
    return [sys.executable, "-m", "getstep", "play", "--as", CONVENTION, *flags]


def _given(options: argparse.Namespace) -> dict[str, Any]:
    return {name: value for name in _OPTIONS if (value := getattr(options, name, None)) is not None}


def _model(given: Mapping[str, Any], console: Console) -> LanguageModel:
    from .endpoint import Endpoint  # here: other bots need no HTTP
    from .player import LanguageModel

    numbers = {name: given.get(name, default) for name, default in DEFAULTS.items()}
    for name, number in numbers.items():
        lowest = 0 if name == "tries" else 1
        if not lowest <= number <= _HIGHEST[name]:
            flag = f"--{name.replace('_', '-')}"
            raise SetupError(f"{flag} is {number}; expected a number from {lowest} to {_HIGHEST[name]:,}.")
    endpoint = Endpoint(given["url"], given["model"], _key(given.get("key_variable")))
    if endpoint.sends_key_in_clear:
        console.warn("The key goes through the network in clear: --url has http and not https.")
    return LanguageModel(endpoint, **numbers)


def _key(variable: str | None) -> str:
    key = os.environ.get(variable or KEY_VARIABLE, "")
    if variable is not None and not key:
        raise SetupError(f"--key-variable: the environment variable {variable} is not set, or is empty.")
    return key.strip()
