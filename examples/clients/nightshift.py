"""Nightshift from Python: what an attempt says while it works.

One file, nothing but the standard library, Python 3.8 or newer: copy it into your project. A script:

    from nightshift import Attempt

    attempt = Attempt.from_environment()
    for n in range(attempt.load(0), 10000):     # from what was saved last, by whatever attempt
        work(n)
        if (n + 1) % 100 == 0:
            attempt.save(n + 1)                 # it is on disk when this returns
            attempt.progress(n + 1, 10000)
    attempt.complete({"records": 10000})        # the result of the run

A webhook takes Attempt.from_headers(request.headers). Of a job with `completion: callback` it answers
202, and works on in a thread:

    with attempt.heart(20):                     # tells every 20 s that the work goes on
        attempt.complete(work(attempt))         # or attempt.fail(error)

load, save, complete and fail are repeated until they are answered, for `patience` seconds: to repeat
them is safe. progress, log and heartbeat are tried once, and are False where they did not get through.
Over says that the attempt has ended (cancelled, timed out, replaced by a newer one): nothing it says
counts any more, so let it end the work. All errors are NightshiftError. An Attempt may be used by
several threads, but let one of them alone save. It never shows its token.

MIT licence, as Nightshift.
"""

import contextlib
import http.client
import json
import os
import threading
import time
import traceback
import urllib.error
import urllib.request

__all__ = ["Attempt", "NightshiftError", "Over", "Refused", "TooLarge", "Unreachable"]


class NightshiftError(Exception):
    """What went wrong between an attempt and Nightshift."""


class Over(NightshiftError):
    """The attempt has ended: stop. `state` is that of the run, None where it is gone."""

    def __init__(self, message, state=None):
        super().__init__(message)
        self.state = state


class Refused(NightshiftError):
    """Nightshift does not take it, now or later. `status` is that of its answer."""

    def __init__(self, message, status):
        super().__init__(message)
        self.status = status


class TooLarge(Refused):
    """A checkpoint past 256 KiB, a result past 64 KiB. What was saved before is kept."""


class Unreachable(NightshiftError):
    """There was no answer in time. Whether the last try was taken in is unknown."""


class Attempt:
    """One attempt of a run."""

    def __init__(self, callback, token, patience=300.0):
        if not callback.startswith(("http://", "https://")):
            raise NightshiftError(f"{callback!r} is not the URL of a callback")
        self.callback = callback.rstrip("/")
        self.patience = patience
        self._token = token
        self._over = threading.Event()

    @classmethod
    def from_environment(cls, environ=os.environ, **options):
        """The attempt that runs this script."""
        try:
            return cls(environ["NIGHTSHIFT_CALLBACK"], environ["NIGHTSHIFT_CALLBACK_TOKEN"], **options)
        except KeyError as missing:
            raise NightshiftError(f"{missing.args[0]} is not set: this was not started by Nightshift") from None

    @classmethod
    def from_headers(cls, headers, server=None, **options):
        """The attempt that calls this webhook. headers is a mapping, or a WSGI environ.

        Who can call the webhook chooses what is called back: give `server`, such as
        "http://127.0.0.1:8700", and another one is an error.
        """
        found = {}
        for name, value in headers.items():
            name = name[5:] if name.startswith("HTTP_") else name
            found[name.replace("_", "-").lower()] = value
        callback, token = found.get("nightshift-callback"), found.get("nightshift-token")
        if not callback or not token:
            raise NightshiftError(
                "the headers Nightshift-Callback and Nightshift-Token are missing: this was not called by "
                "Nightshift, or its job has nightshift_headers: false")
        if server and not callback.startswith(server.rstrip("/") + "/v1/callback/"):
            raise NightshiftError(f"Nightshift-Callback is not of {server}")
        return cls(callback, token, **options)

    @property
    def over(self):
        """Whether an answer has said that the attempt has ended."""
        return self._over.is_set()

    def load(self, default=None):
        """What was saved last, by this attempt or one before it; default where nothing was."""
        text = self._insist("GET", "checkpoint")
        try:
            value = json.loads(text)
        except ValueError:
            raise NightshiftError(f"checkpoint: what answers at {self.callback} is not Nightshift") from None
        return default if value is None else value

    def save(self, value):
        """Saves what JSON can say, up to 256 KiB, for whatever attempt comes next. None drops it."""
        self._insist("PUT", "checkpoint", value)

    def progress(self, done, total=None, note=None):
        """Shows how far the work is. False: it did not get through."""
        told = {"done": done, "total": total, "note": note}
        return self._tell("progress", {name: value for name, value in told.items() if value is not None})

    def log(self, text):
        """Adds a line to the log of the run. False: it did not get through."""
        return self._tell("log", {"text": _plain(text)})

    def heartbeat(self):
        """Says that the work goes on. False: it did not get through."""
        return self._tell("heartbeat")

    @contextlib.contextmanager
    def heart(self, every=20.0):
        """Sends a heartbeat every so many seconds as long as the block runs. Once the attempt has
        ended it stops, `over` is True, and the next call raises Over."""
        stop = threading.Event()

        def beat():
            with contextlib.suppress(Over, Refused):  # the next call of the work says it
                self.heartbeat()
                while not stop.wait(every):
                    self.heartbeat()

        threading.Thread(target=beat, name="nightshift-heart", daemon=True).start()
        try:
            yield self
        finally:
            stop.set()

    def complete(self, result=None):
        """Gives the result, up to 64 KiB of JSON. With `completion: callback` this ends the run; else it
        is the result if the attempt succeeds."""
        self._insist("POST", "complete", {"result": result})

    def fail(self, error, type=None, stack=None, retryable=None, retry_after=None):
        """Fails the attempt. error is an exception or a message; retryable and retry_after (seconds)
        say whether and when another attempt is worth while."""
        if isinstance(error, BaseException):
            type = type or error.__class__.__name__
            stack = stack or "".join(traceback.format_exception(error.__class__, error, error.__traceback__))
        told = {
            "type": type, "message": _plain(error)[:4000], "stack": stack and _plain(stack)[-30000:],
            "retryable": retryable, "retry_after": retry_after,
        }
        self._insist("POST", "fail", {name: value for name, value in told.items() if value is not None})

    def _tell(self, path, *body):
        try:
            self._ask("POST", path, *body)
            return True
        except Unreachable:
            return False

    def _insist(self, method, path, *body):
        deadline, wait = time.monotonic() + self.patience, 0.1
        while True:
            try:
                return self._ask(method, path, *body)
            except Unreachable:
                if time.monotonic() + wait > deadline:
                    raise
            time.sleep(wait)
            wait = min(2 * wait, 5)

    def _ask(self, method, path, *body):
        """Asks once. Unreachable: it may be answered another time."""
        data = json.dumps(body[0], allow_nan=False).encode() if body else None
        request = urllib.request.Request(f"{self.callback}/{path}", data, method=method)
        request.add_header("Authorization", f"Bearer {self._token}")
        request.add_header("Content-Type", "application/json")
        try:
            with _opener.open(request, timeout=30) as answer:
                return answer.read()
        except urllib.error.HTTPError as answer:
            raise self._refusal(path, answer) from None
        except (OSError, http.client.HTTPException) as error:  # URLError is an OSError
            raise Unreachable(f"{path}: {self.callback} does not answer: {error}") from None

    def _refusal(self, path, answer):
        problem = {}
        with contextlib.suppress(ValueError, OSError, http.client.HTTPException):
            problem = json.loads(answer.read(1 << 20))
        ours = isinstance(problem, dict) and str(problem.get("type")).startswith("urn:nightshift:")
        said = ours and (problem.get("detail") or problem.get("title")) or answer.reason
        message = f"{path}: {answer.code}: {said}"
        if answer.code == 409 or answer.code == 404 and ours:
            self._over.set()
            return Over(message, problem.get("state") if ours else None)
        if answer.code == 413:
            return TooLarge(message, answer.code)
        if answer.code == 429 or answer.code >= 500:
            return Unreachable(message)
        return Refused(message, answer.code)


def _plain(text):
    """The text without the halves of characters that file names and broken input bring."""
    return str(text).encode("utf-8", "backslashreplace").decode()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The token is for the callback alone."""

    def redirect_request(self, *args):
        return None


_opener = urllib.request.build_opener(_NoRedirect)
