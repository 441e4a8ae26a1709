"""What the package reports about programs of PyTorch: what it compiles and how long that takes, what it fuses
and what it leaves alone, and why. The logger is "chorale"; CHORALE_LOGS=warning (or off) silences it."""

import logging
import os
import sys

log = logging.getLogger("chorale")
if not log.handlers and not logging.getLogger().handlers:
    log.addHandler(logging.StreamHandler(sys.stderr))
    log.handlers[0].setFormatter(logging.Formatter("[chorale] %(message)s"))
_LEVELS = {"off": logging.CRITICAL + 1, "warning": logging.WARNING, "debug": logging.DEBUG}
log.setLevel(_LEVELS.get(os.environ.get("CHORALE_LOGS", "").lower(), logging.INFO))
