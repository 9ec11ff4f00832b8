"""How a program is compiled and started: found by its files, or said by its program.toml."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from getstep_server.errors import ProgramRefused
from getstep_server.programs.plan import Plan, plan_of
from getstep_server.programs.source import Source, source_of

from .archives import zipped

GET_STEP = b"def get_step(board, is_black):\n    return 0, 0\n"
MAIN_JAVA = b"package a.b;\npublic class Main {\n  public static void main(String[] a) { }\n}\n"
TOPCODER = b"class PseudoTonga { };\n"
ALL_GAMES = ["hop", "linkage", "chain_reaction", "longest_path", "pseudo_tonga"]


def source(**files: bytes) -> Source:
    """Return a source; ``__`` in a name stands for a full stop, ``___`` for a slash."""
    named = {name.replace("___", "/").replace("__", "."): data for name, data in files.items()}
    return source_of("x.zip", zipped({"folder/" + name: data for name, data in named.items()}))


def toml(text: str, **files: bytes) -> Source:
    return source(program__toml=text.encode(), **files)


def refusal(program: Source, games: list[str], convention: str | None = None) -> str:
    with pytest.raises(ProgramRefused) as caught:
        plan_of(program, games, convention)
    return str(caught.value)


def plan(program: Source, game: str, convention: str | None = None) -> Plan:
    return plan_of(program, [game], convention)


# --- the convention ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "text", "convention"),
    [
        ("hop", GET_STEP, "getstep"),
        ("linkage", GET_STEP, "getstep"),
        ("linkage", b"print()", "linkage"),
        ("longest_path", b"print()", "prodrive"),
        ("pseudo_tonga", TOPCODER, "topcoder"),
        ("chain_reaction", b"print()", "csefest-console"),
        ("chain_reaction", b"open('shared_file.txt')", "csefest-file"),
        ("hop", b"async def get_step(board, is_black): pass", "getstep"),
        ("hop", b"from my_engine import (search, get_step)", "getstep"),
        ("hop", b"get_step = make_bot()", "getstep"),
    ],
)
def test_the_convention_is_found_by_the_game_and_the_text(game: str, text: bytes, convention: str) -> None:
    assert plan(source_of("bot.py", text), game).convention == convention


def test_a_comment_with_get_step_is_no_get_step() -> None:
    assert plan(source_of("bot.py", b"# my get_step is elsewhere\n"), "linkage").convention == "linkage"


def test_a_file_with_get_step_plays_every_game() -> None:
    assert plan_of(source_of("bot.py", GET_STEP), ALL_GAMES).convention == "getstep"


def test_the_sender_may_name_the_convention() -> None:
    assert plan(source_of("bot.py", b""), "chain_reaction", "csefest-file").convention == "csefest-file"


def test_a_convention_that_does_not_fit_the_events_is_refused() -> None:
    bot = source_of("bot.cpp", b"")
    assert "expected one of the conventions getstep, linkage" in refusal(bot, ["linkage"], "prodrive")
    assert "other events of the team play hop" in refusal(bot, ["linkage", "hop"])
    assert "hop is played by a Python file with get_step" in refusal(bot, ["hop"])
    assert "and this is C++" in refusal(bot, ["hop"], "getstep")


# --- the language -----------------------------------------------------------------------------------------------


def test_cpp_is_compiled_from_all_its_files() -> None:
    found = plan(source(main__cpp=b"", search___deep__cc=b"", search___deep__h=b"", book__txt=b""), "linkage")
    assert (found.language, found.command) == ("C++", ("./getstep_program",))
    assert found.build[:2] == ("g++", "-O2")
    assert found.build[-3:] == ("./main.cpp", "./search/deep.cc", "-lm")
    assert [tool.name for tool in found.tools] == ["g++"]


def test_a_name_is_no_option_of_the_compiler() -> None:
    found = plan(source_of("-fplugin=x.cpp", b""), "linkage")
    assert "./-fplugin=x.cpp" in found.build


def test_c_is_compiled_as_c_and_beside_cpp_as_cpp() -> None:
    assert plan(source_of("bot.c", b""), "linkage").build[0] == "gcc"
    assert plan(source(a__c=b"", b__cpp=b""), "linkage").build[0] == "g++"


def test_java_starts_with_its_main_class() -> None:
    found = plan(source(a___b___Main__java=MAIN_JAVA, a___b___Board__java=b"package a.b;"), "linkage")
    assert found.command[-3:] == ("-cp", ".", "a.b.Main")
    assert found.build[0] == "javac"
    assert "none has one" in refusal(source_of("Bot.java", b"class Bot {}"), ["linkage"])
    assert "several classes" in refusal(source(A__java=MAIN_JAVA, B__java=MAIN_JAVA), ["linkage"])


def test_csharp_is_run_by_mono() -> None:
    found = plan(source_of("Bot.cs", b""), "linkage")
    assert (found.build[0], found.command) == ("mcs", ("mono", "getstep_program.exe"))


@pytest.mark.parametrize("data", [b"\x7fELF\x02", b"#!/usr/bin/perl"])
def test_an_executable_is_run_as_it_is(data: bytes) -> None:
    found = plan(source_of("my bot", data), "linkage")
    assert (found.language, found.build, found.command) == ("executable", (), ("./my bot",))


def test_a_program_that_is_compiled_already_is_run_as_it_is() -> None:
    jar = plan(source_of("Bot.jar", zipped({"Bot.class": b""})), "linkage")
    assert (jar.command[0], jar.command[-2:], jar.build) == ("java", ("-jar", "./Bot.jar"), ())
    assert plan(source_of("bot.exe", b"MZ...BSJB"), "linkage").command == ("mono", "./bot.exe")


@pytest.mark.parametrize("name", ["bot", "main", "program", "my_bot"])
def test_python_starts_with_the_file_of_a_usual_name(name: str) -> None:
    assert plan(source(**{f"{name}__py": b"", "search__py": b""}), "linkage").command == ("python", f"./{name}.py")


def test_python_starts_with_the_only_file_that_has_get_step() -> None:
    assert plan(source(play__py=GET_STEP, bot__py=b""), "hop").command == ("python", "./play.py")
    assert "which file is get_step? There are a.py, b.py" in refusal(
        source(a__py=GET_STEP, b__py=GET_STEP), ["hop"]
    )
    assert "no file has get_step" in refusal(source_of("a.py", b""), ["hop"], "getstep")


@pytest.mark.parametrize(
    ("name", "wrapper"),
    [("a.cpp", "topcoder_wrapper.cpp"), ("A.java", "TopCoderWrapper.java"), ("A.cs", "TopCoderWrapper.cs")],
)
def test_a_class_gets_its_wrapper(name: str, wrapper: str) -> None:
    found = plan(source_of(name, TOPCODER), "pseudo_tonga")
    assert list(found.wrappers) == [wrapper]
    assert f"./{wrapper}" in found.build


def test_a_class_is_expected_in_one_file() -> None:
    assert "no file has it" in refusal(source_of("a.cpp", b"class Tonga { };"), ["pseudo_tonga"])
    assert "C has no classes" in refusal(source_of("a.c", b""), ["pseudo_tonga"])
    assert "class PseudoTonga" in refusal(source_of("a.py", b"class Tonga: pass"), ["pseudo_tonga"])


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a__py": b"", "b__cpp": b""}, "files in C++, Python, expected one language; for all else"),
        ({"notes__txt": b""}, "no file in a known language"),
        ({"bot__exe": b"MZ"}, "a program for Windows"),
    ],
)
def test_other_files_are_refused(files: dict[str, bytes], message: str) -> None:
    assert message in refusal(source(**files), ["linkage"])


def test_files_are_searched_in_bounded_time() -> None:
    long = source_of("bot.py", b"from a import " * 700_000 + b"get_step\n" + b"def get_step\n" * 1000)
    began = time.process_time()
    assert plan(long, "hop").convention == "getstep"
    assert time.process_time() - began < 5


# --- program.toml -----------------------------------------------------------------------------------------------


def test_program_toml_has_a_bounded_size() -> None:
    assert "more than 10000 bytes" in refusal(toml("#" * 10_001), ["hop"])


def test_a_program_toml_that_means_harm_is_read_in_bounded_time() -> None:
    began = time.process_time()
    for text, said in (
        ("x = [[[\n" + "1,\n" * 1000 + "]]]\n", "program.toml:1: x = "),
        ("[" + "a." * 4000 + "b]\n", "program.toml:1: a = tables inside tables"),
        ("x = " + "[" * 4000, "too many brackets"),
    ):
        assert said in refusal(toml(text, bot__py=b""), ["linkage"])
    assert time.process_time() - began < 10  # it takes 0.5 s; a search without a bound takes minutes


def test_program_toml_says_how_to_build_and_run() -> None:
    found = plan(toml('build = "make -s && true"\nrun = "./bot --fast \'a b\'"\nconvention = "linkage"'), "linkage")
    assert found.build == ("/bin/sh", "-c", "make -s && true")
    assert found.command == ("./bot", "--fast", "a b")
    assert found.convention == "linkage"


def test_program_toml_may_name_the_convention_only() -> None:
    found = plan(toml('convention = "csefest-file"', bot__cpp=b""), "chain_reaction")
    assert (found.language, found.convention) == ("C++", "csefest-file")


def test_program_toml_may_name_the_file_with_get_step() -> None:
    found = plan(toml('run = "python3 b.py"', a__py=GET_STEP, b__py=GET_STEP), "hop")
    assert (found.command, found.language) == (("python", "b.py"), "Python")
    assert 'expected "python FILE.py"' in refusal(toml('run = "./b"', b__py=GET_STEP), ["hop"])


def test_the_tools_of_a_written_command_are_known() -> None:
    assert [tool.name for tool in plan(toml('run = "node bot.js"'), "linkage").tools] == ["node"]


def test_all_mistakes_of_program_toml_are_told_with_their_places() -> None:
    told = refusal(toml('run = ""\n# a comment\nbuild = "make"\nconvention = "chess"\nspeed = 9'), ["linkage"])
    lines = told.split("\n")
    assert len(lines) == 3
    assert lines[0].startswith("program.toml:1: run = '', expected a command")
    assert lines[1].startswith("program.toml:4: convention = 'chess', expected one of: getstep, prodrive")
    assert lines[2].startswith("program.toml:5: speed = 9: no such setting")
    assert "program.toml:1: build" in refusal(toml('build = "make"'), ["linkage"])
    assert "expected words as in a shell" in refusal(toml('run = "a \'"'), ["linkage"])
    assert "program.toml:1: not valid TOML" in refusal(toml("run = [", bot__py=b""), ["linkage"])
    assert "not UTF-8" in refusal(source(program__toml=b"\xff"), ["linkage"])


def test_a_command_has_a_bounded_length() -> None:
    assert plan(toml(f'run = "./a {"x" * 1990}"'), "linkage")
    assert "at most 2000 characters" in refusal(toml(f'run = "./a {"x" * 2000}"'), ["linkage"])


@pytest.mark.parametrize("page", ["host-programs.md", "contestant.md"])
def test_the_examples_of_the_documents_are_valid(page: str) -> None:
    text = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8")
    found = [block for block in re.findall(r"```toml\n(.*?)```", text, re.DOTALL) if "run = " in block]
    assert found
    for block in found:
        assert plan(toml(block), "linkage").build[0] == "/bin/sh"
