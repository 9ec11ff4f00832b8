"""The command `sdk`, which writes the files that bots in other languages need."""

from __future__ import annotations

import argparse
from pathlib import Path

from getstep.languages import LANGUAGES
from getstep_server.errors import UsageError

from ._parser import EXIT_OK

_SDK = """\
Write the files that a bot in a language other than Python needs in its folder.
They are whole: a contestant needs nothing else. The live page offers them
as well. For a first bot with its files: getstep new my_bot.cpp --game hop

examples:
  getstep-server sdk cpp
  getstep-server sdk cpp handouts
"""


def add_sdk(parser: argparse.ArgumentParser) -> None:
    parser.description = _SDK
    listed = ", ".join(f"{language.name} ({language.title})" for language in LANGUAGES.values())
    parser.add_argument("language", metavar="LANGUAGE", choices=LANGUAGES, help=listed)
    parser.add_argument("folder", type=Path, metavar="FOLDER", nargs="?", default=Path(), help="default: this one")
    parser.set_defaults(command=_sdk)


def _sdk(args: argparse.Namespace) -> int:
    folder: Path = args.folder
    for name, content in LANGUAGES[args.language].sdk_files():
        path = folder / name
        if path.exists() and path.read_bytes() != content:
            raise UsageError(f"{path}: another file of this name is there; move it away, or give another folder")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        except OSError as error:
            raise UsageError(f"{path}: cannot be written ({error.strerror or error})") from None
        print(path)
    return EXIT_OK
