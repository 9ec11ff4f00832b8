"""Programs of contestants that talk by a convention: how one is started, asked for moves and ended.

In: a file, the name of one of `getstep.conventions.CONVENTIONS`, and turns. Out: moves, or errors that tell the
program's author what to do. It must not know who asks (a contest, practice at home, ``getstep check``, the original
judge's command, a host), nor how a host confines a program: a sandbox is another `Program` of ``program``.

- ``folder``: the file that the user means, and which files of a folder belong to a program.
- ``java_class``: what a compiled Java class says of itself.
- ``start``: the command that starts a file, or what to do first.
- ``program``: a running program as a ``get_step``.
- ``build``: builds a source on its author's computer. ``wire``: the command of a bot that speaks the wire itself.

Nothing is imported here: loading a bot in Python needs ``folder`` alone.
"""
