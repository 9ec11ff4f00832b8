"""Limits of the judge's rules, beside those of the games."""

ABSENT_MISSES = 3
"""The consecutive missed limits without a connection that lose the match.

Otherwise an absent player would delay a hop match for 200 turns of 5 s.
"""

STALLED_MISSES = 3
"""The consecutive missed limits of a connected but silent player after which its turns are skipped at once.

A program in an endless loop then costs its opponent 15 s in hop instead of 200 × 5 s.
"""
