import os
import signal

import pytest

from flow_mcp.cli.interrupts import Interrupts


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_is_noted_and_the_process_goes_on(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with Interrupts() as noted:
        came_before = noted.came
        os.kill(os.getpid(), number)
    assert (came_before, noted.came) == (False, True)
    assert signal.getsignal(number) is before


def test_what_was_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupts() as noted:
            os.kill(os.getpid(), signal.SIGHUP)
        assert not noted.came
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
