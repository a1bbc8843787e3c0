#!/usr/bin/env python3
"""A webhook that works in slices, for the job of jobs.yaml: it needs nothing but Python.

    python3 receiver.py [PORT] [SECONDS]

Each call works for a second and answers how far it is. The header Nightshift-Continue asks to be called
again; the checkpoint of the answer comes back in a header. Nothing is kept here between two calls but the
answer to the last: a slice bears an Idempotency-Key of its own, so that one whose answer got lost on the
way is not done twice.
"""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SLICE = float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
answered = {}  # path -> Idempotency-Key and answer of the last call


def index(wanted, at):
    """Works for a slice from where it is, on one article at least, and gives the answer."""
    end = time.monotonic() + SLICE
    while at["done"] < wanted["articles"]:
        time.sleep(0.01)  # the work
        at = {"done": at["done"] + 1, "words": at["words"] + 250}
        if time.monotonic() >= end:
            break
    if at["done"] < wanted["articles"]:
        progress = {"done": at["done"], "total": wanted["articles"], "note": f"{at['words']} words"}
        return {"checkpoint": at, "progress": progress}, {"Nightshift-Continue": "true"}
    return {"articles": at["done"], "words": at["words"]}, {}


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        wanted = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        key = self.headers["Idempotency-Key"]
        known, answer = answered.get(self.path, (None, None))
        if key != known:
            at = json.loads(self.headers.get("Nightshift-Checkpoint", "null"))
            answer = index(wanted, at or {"done": 0, "words": 0})
            answered[self.path] = key, answer
        self.answer(*answer)

    def answer(self, body, headers):
        text = json.dumps(body).encode()
        self.send_response(200)
        for name, value in {"Content-Type": "application/json", "Content-Length": len(text), **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(text)


def main():
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8903
    server = ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    print(f"receiving on http://127.0.0.1:{server.server_port}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
