"""The end of a run says how many random cases the set core was compared on."""

import sys


def pytest_terminal_summary(terminalreporter):
    brute = sys.modules.get("tests.sets.brute")
    if brute is not None and brute.TALLY["cases"]:
        t = brute.TALLY
        terminalreporter.write_line(
            f"set laws: {t['cases']} cases compared with truth tables, {t['declined']} declined, {t['seconds']:.0f} s"
        )
