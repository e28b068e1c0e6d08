"""The command line: demo, show, emit, run, verify, trace, draw, and what terminals show."""
