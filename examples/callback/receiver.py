#!/usr/bin/env python3
"""A webhook that answers 202 and calls back, for the job of jobs.yaml. It needs nothing but Python, and
nightshift.py of examples/clients beside it or on the path:

    PYTHONPATH=examples/clients python3 receiver.py [PORT]

It renders the pages of a book in a thread, 20 a second, and saves after each how far it is. It calls back
no other server than NIGHTSHIFT_SERVER, http://127.0.0.1:8700 unless that is set.
"""

import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from nightshift import Attempt, NightshiftError, Over, Unreachable

SERVER = os.environ.get("NIGHTSHIFT_SERVER", "http://127.0.0.1:8700")


def render(attempt, book):
    """Renders what is left of a book, and gives the result."""
    if book["pages"] < 1:
        raise ValueError("a book has at least one page")
    first = attempt.load(0)
    attempt.log(f"from page {first + 1} on")
    for page in range(first + 1, book["pages"] + 1):
        time.sleep(0.05)  # the work
        attempt.save(page)
        attempt.progress(page, book["pages"])
    return {"pages": book["pages"], "this_time": book["pages"] - first}


def work(attempt, book):
    with attempt.heart(3):
        try:
            attempt.complete(render(attempt, book))
        except Over as over:  # cancelled, timed out, or a newer attempt does it
            print(f"stopped: {over}", flush=True)
        except Unreachable as gone:
            print(f"nobody to tell: {gone}", flush=True)
        except Exception as error:
            attempt.fail(error)


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        book = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        try:
            attempt = Attempt.from_headers(self.headers, server=SERVER)
        except NightshiftError as error:
            return self.answer(400, {"error": str(error)})
        threading.Thread(target=work, args=(attempt, book), daemon=True).start()
        self.answer(202, {})

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def main():
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8904
    server = ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    print(f"receiving on http://127.0.0.1:{server.server_port}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
