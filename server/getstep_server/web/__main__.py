"""Runs the page as a process of its own: ``python -m getstep_server.web FOLDER DESCRIPTOR``."""

from .process import main

main()
