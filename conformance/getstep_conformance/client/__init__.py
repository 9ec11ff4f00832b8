"""Numbered test cases for a client, in any language.

In: the command that starts a client under test. Out: a verdict for each case.
It must not know the SDKs: the client is a process, of which it sees the bytes, the exit code and the output.

The unit tests of every SDK read the JSON files in `vectors`, which ``python -m tests.support.vectors`` writes:

- ``codec.json``: bodies, messages and streams of frames, each with its value or the reason code of its refusal,
  the exact frames of a client's messages, and what a server keeps of notes;
- ``proofs.json``: signatures, proofs, and the forms of a token;
- ``conversations.json``: the recorded conversations of docs/conversations.md.
"""

from pathlib import Path

from ._case import Case, CaseError, cases
from ._client import ClientError
from ._outcome import Outcome, Verdict
from ._play import Times
from ._runner import Suite

VECTORS = Path(__file__).parent / "vectors"

__all__ = ["VECTORS", "Case", "CaseError", "ClientError", "Outcome", "Suite", "Times", "Verdict", "cases", "report"]
