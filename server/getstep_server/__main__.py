"""``python -m getstep_server`` is ``getstep-server``."""

from getstep_server.cli.main import main

if __name__ == "__main__":
    main()
