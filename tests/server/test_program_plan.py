"""How a program is compiled and started: found by its files, or said by its program.toml."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from getstep_server.errors import ProgramRefused
from getstep_server.programs.plan import Plan, plans_of
from getstep_server.programs.source import Source, source_of
from tests.support.archives import zipped

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


def refusal(program: Source, games: list[str], convention: str | None = None, entry: str | None = None) -> str:
    with pytest.raises(ProgramRefused) as caught:
        plans_of(program, games, convention, entry)
    return str(caught.value)


def plan(program: Source, game: str, convention: str | None = None, entry: str | None = None) -> Plan:
    """Return the plan that is tried first."""
    return plans_of(program, [game], convention, entry)[0]


# --- the convention ---------------------------------------------------------------------------------------------


FILE, CONSOLE = "csefest-file", "csefest-console"


@pytest.mark.parametrize(
    ("game", "text", "conventions"),
    [
        ("hop", GET_STEP, ["getstep"]),
        ("linkage", GET_STEP, ["getstep", "linkage"]),
        ("linkage", b"print()", ["linkage"]),
        ("longest_path", b"print()", ["prodrive"]),
        ("pseudo_tonga", TOPCODER, ["topcoder"]),
        ("chain_reaction", b"print()", [CONSOLE, FILE]),
        ("chain_reaction", b"open('shared_file.txt')", [FILE, CONSOLE]),
        ("chain_reaction", GET_STEP + b"# shared_file.txt", ["getstep", FILE, CONSOLE]),
        ("hop", b"async def get_step(board, is_black): pass", ["getstep"]),
        ("hop", b"from my_engine import (search, get_step)", ["getstep"]),
        ("hop", b"get_step = make_bot()", ["getstep"]),
        ("hop", b"globals().update(get_step=make_bot())", ["getstep"]),
        ("linkage", b"# my get_step is elsewhere\n", ["linkage", "getstep"]),
        ("hop", b"print('ugiok')", ["ugi"]),
        ("linkage", b"print('ugiok')", ["ugi", "linkage"]),
        ("hop", GET_STEP + b"# ugiok", ["getstep", "ugi"]),
    ],
)
def test_each_convention_that_fits_is_tried_and_the_text_orders_them(
    game: str, text: bytes, conventions: list[str]
) -> None:
    assert [one.convention for one in plans_of(source_of("bot.py", text), [game])] == conventions


def test_other_languages_than_python_have_no_get_step() -> None:
    found = plans_of(source_of("bot.cpp", b"def get_step(board, is_black)"), ["chain_reaction"])
    assert [one.convention for one in found] == [CONSOLE, FILE]


def test_a_file_with_get_step_plays_every_game() -> None:
    assert [one.convention for one in plans_of(source_of("bot.py", GET_STEP), ALL_GAMES)] == ["getstep"]


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
    assert found.build[:3] == ("g++", "-std=c++17", "-O2")
    assert found.build[-2:] == ("./main.cpp", "./search/deep.cc")
    assert [tool.name for tool in found.tools] == ["g++"]


def test_a_name_is_no_option_of_the_compiler() -> None:
    found = plan(source_of("-fplugin=x.cpp", b""), "linkage")
    assert "./-fplugin=x.cpp" in found.build


def test_c_is_compiled_as_c_and_beside_cpp_as_cpp() -> None:
    assert plan(source_of("bot.c", b""), "linkage").build[0] == "gcc"
    assert plan(source(a__c=b"", b__cpp=b""), "linkage").build[0] == "g++"


def test_the_class_of_java_is_found_in_what_was_built() -> None:
    program = source(a___b___Main__java=MAIN_JAVA, a___b___Board__java=b"package a.b;")
    found = plan(program, "linkage")
    assert (found.command[-2:], found.java_main, found.build[0]) == (("-cp", "."), "", "javac")
    assert plan(program, "linkage", entry="a/b/Main.java").java_main == "a/b/Main.java"


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
        (
            {"aicontest__py": b"", "bot__cpp": b""},
            "files in C++ (bot.cpp) and Python (aicontest.py), expected one language; name the file that starts the"
            ' program: --entry bot.cpp, or entry = "bot.cpp" in a file program.toml',
        ),
        ({"notes__txt": b""}, "no file in a known language"),
        ({"bot__exe": b"MZ"}, "a program for Windows"),
    ],
)
def test_other_files_are_refused(files: dict[str, bytes], message: str) -> None:
    assert message in refusal(source(**files), ["linkage"])


def test_an_entry_chooses_the_language_and_leaves_out_other_programs() -> None:
    program = source(
        aicontest__py=b"", old___bot__cpp=b"int main() {}", src___bot__cpp=b"int main() {}", src___search__cpp=b""
    )
    for entry in ("src/bot.cpp", "./src/bot.cpp", "src\\bot.cpp", "folder/src/bot.cpp"):
        found = plan(program, "linkage", entry=entry)
        assert found.language == "C++"
        assert found.build[-2:] == ("./src/bot.cpp", "./src/search.cpp")
    python = plan(program, "linkage", entry="aicontest.py")
    assert (python.command, python.build[3:]) == (("python", "./aicontest.py"), ("./aicontest.py",))
    csharp = source(A__cs=b"static void Main() {}", B__cs=b"static int Main(", C__cs=b"class C {}")
    assert plan(csharp, "linkage", entry="B.cs").build[3:] == ("./B.cs", "./C.cs")
    assert plan(source(a__py=b"", bot=b"\x7fELF"), "linkage", entry="bot").command == ("./bot",)


def test_an_entry_that_is_no_single_file_of_the_program_is_refused() -> None:
    program = source(a___bot__py=b"", b___bot__py=b"", notes__txt=b"")
    for entry in ("bot.py", "gone.py"):
        expected = f"entry '{entry}': expected one of the program's files: a/bot.py, b/bot.py, notes.txt"
        assert refusal(program, ["linkage"], entry=entry) == expected
    assert "notes.txt is in no known language" in refusal(program, ["linkage"], entry="notes.txt")
    assert "--entry a.py" in refusal(source(a__py=b"", b__py=b""), ["linkage"])


def test_program_toml_may_name_the_entry() -> None:
    program = toml('entry = "bot.cpp"', bot__cpp=b"", aicontest__py=b"")
    assert plan(program, "linkage").language == "C++"
    assert plan(program, "linkage", entry="aicontest.py").language == "Python"
    assert plan(toml('run = "./a"', bot__cpp=b"", a=b""), "linkage", entry="bot.cpp").build[0] == "g++"
    assert "either entry or run, not both" in refusal(toml('entry = "a.py"\nrun = "python a.py"'), ["linkage"])


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
        ("[" + "a." * 4000 + "b]\n", "program.toml:1: a = "),
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


@pytest.mark.parametrize(
    ("run", "file", "build"),
    [
        (
            "./my_bot --fast",
            "bot.cpp",
            ("g++", "-std=c++17", "-O2", "-pthread", "-o", "./my_bot", "./bot.cpp"),
        ),
        ("java -Xss8m -cp . playerOne", "A.java", ("javac", "-encoding", "UTF-8", "-d", ".", "./A.java")),
        ("mono ./Bot.exe", "Bot.cs", ("mcs", "-out:./Bot.exe", "-optimize", "./Bot.cs")),
        ("python bot.py", "bot.py", ()),
        ("perl bot.pl", "helper.c", ()),
    ],
)
def test_run_alone_does_not_switch_off_the_compiler(run: str, file: str, build: tuple[str, ...]) -> None:
    found = plan(toml(f'run = "{run}"', **{file.replace(".", "__"): b""}), "linkage")
    assert (found.build, " ".join(found.command)) == (build, run)
    assert (found.java_main, found.note) == (None, "")


@pytest.mark.parametrize(
    ("run", "made"),
    [("./my_bot", "my_bot"), ("java -cp bin a.Bot", "bin/a/Bot.class"), ("java -jar b.jar", "b.jar")],
)
def test_what_is_compiled_already_is_not_compiled_again_and_that_is_said(run: str, made: str) -> None:
    files = {made.replace("/", "___").replace(".", "__"): b"", "a__java": b"", "a__cpp": b""}
    found = plan(toml(f'run = "{run}"', **files), "linkage")
    assert (found.build, found.command) == ((), tuple(run.split()))
    assert found.note.startswith("nothing was compiled: ")


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
