"""Reads lines "PATIENCE CALLBACK CALL [JSON]", makes the call, and prints in a line what came of it."""

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True

from nightshift import Attempt, NightshiftError, Over, TooLarge, Unreachable  # noqa: E402


def headers(callback):
    return {"HTTP_NIGHTSHIFT_CALLBACK": callback, "HTTP_NIGHTSHIFT_TOKEN": os.environ["TOKEN"]}


def call(attempt, name, argument):
    if name == "expecting":
        Attempt.from_headers(headers(attempt.callback), server=argument)
        return "ok"
    if name == "load":
        return "ok " + json.dumps(attempt.load(), separators=(",", ":"))
    if name == "heart":
        with attempt.heart(0.02):
            while not attempt.over:
                pass
        return "ok"
    arguments = [] if name == "heartbeat" else [argument]
    if name == "progress":
        arguments = [3, 4, argument]
    if name == "fail":
        arguments = [ValueError(argument)]
    return "ok" if getattr(attempt, name)(*arguments) in (None, True) else "lost"


print(Attempt("http://h", os.environ["TOKEN"]))
for line in sys.stdin:
    patience, callback, name, argument = line.rstrip("\n").split(" ", 3)
    attempt = Attempt.from_headers(headers(callback), patience=float(patience))
    try:
        said = call(attempt, name, json.loads(argument) if argument else None)
    except Over as error:
        said = f"over {error.state or ''}"
        print(error, file=sys.stderr)
    except NightshiftError as error:
        said = {TooLarge: "too large", Unreachable: "unreachable"}.get(type(error), "refused")
        print(error, file=sys.stderr)
    print(said.strip(), flush=True)
