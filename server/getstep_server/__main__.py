"""``python -m getstep_server`` is ``getstep-server``."""

from .cli import main

if __name__ == "__main__":
    main()
