"""Asks the agent of this pod: `python -I -S <root>/bin/agent/ask.py <JSON>`. Prints one JSON object.

Ends with 0 when that was done, and with 1 when it was not; then the object holds `code` and `message`.
"""

from __future__ import annotations

import importlib
import json
import os
import sys


def main() -> None:
    binaries = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path.insert(0, binaries)
    sys.dont_write_bytecode = True
    questions = importlib.import_module("agent.questions")
    try:
        answer, done = questions.answer(os.path.dirname(binaries), sys.argv[1:])
    except questions.Refused as refusal:
        answer, done = {"code": refusal.code, "message": str(refusal)}, False
    print(json.dumps(answer))
    sys.exit(0 if done else 1)


if __name__ == "__main__":
    main()
