"""The probe program: it runs in the sandbox and tries to break out, as a hostile program would.

``python3 -m hostile NAME...`` reads what to aim at as JSON from standard input, makes each attempt and prints a
line of JSON: its name, and what it achieved, or the error that stopped it. It needs the standard library only:
`check` copies this folder into the sandbox.
"""
