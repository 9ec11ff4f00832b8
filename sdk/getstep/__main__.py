"""``python -m getstep`` is the command ``getstep``."""

import sys

from .cli import main

sys.exit(main())
