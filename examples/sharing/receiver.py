#!/usr/bin/env python3
"""A service that many jobs call, for the jobs of jobs.yaml: it needs nothing but Python.

    python3 receiver.py [PORT]

It is well until it is told otherwise: POST /become/down lets it answer 503, POST /become/busy 429 with
Retry-After, POST /become/well 200. Its answer is the run's result: how often it has been called so.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWERS = {"well": (200, {}), "down": (503, {}), "busy": (429, {"Retry-After": "20"})}
lock = threading.Lock()
state = "well"
served = {}  # path -> calls that were answered with 200


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        global state
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with lock:
            if self.path.startswith("/become/"):
                state = self.path.removeprefix("/become/")
                return self.answer(200, {}, {"now": state})
            status, headers = ANSWERS[state]
            if status == 200:
                served[self.path] = served.get(self.path, 0) + 1
            told = {"got": json.loads(body), "calls": served.get(self.path, 0)}
        self.answer(status, headers, told if status == 200 else {"error": state})

    def answer(self, status, headers, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": len(text), **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(text)


def main():
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8902
    server = ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    print(f"receiving on http://127.0.0.1:{server.server_port}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
