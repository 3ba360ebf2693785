"""What every test may count on."""

import signal

from hypothesis import settings

# No example database: a checkout may be read-only, and a test leaves nothing behind.
settings.register_profile("flow", database=None, deadline=None)
settings.load_profile("flow")

# Whoever starts the tests in the background has signals ignored, and so would every program that a test starts.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, usual)
