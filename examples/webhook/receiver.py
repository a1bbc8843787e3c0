#!/usr/bin/env python3
"""A receiver for the webhook of job.yaml: it needs nothing but Python.

    python3 receiver.py [PORT]

It takes an order, answers JSON, which becomes the run's result, and drops what it has seen
already: each attempt of a run bears the same Idempotency-Key. The first call about an order
whose number ends in 3 is answered 503, so that there is a retry to watch.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

done = {}  # Idempotency-Key -> answer
refused = set()


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        order = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        key = self.headers["Idempotency-Key"]
        attempt = self.headers["Nightshift-Attempt"]
        if key in done:
            self.answer(200, done[key])
        elif order["number"] % 10 == 3 and key not in refused:
            refused.add(key)
            self.answer(503, {"error": "busy, try again"}, {"Retry-After": "1"})
        else:
            done[key] = {"shipped": order["number"], "attempt": int(attempt)}
            self.answer(200, done[key])

    def answer(self, status, body, headers={}):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8900
    server = ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    print(f"receiving on http://127.0.0.1:{server.server_port}/orders", flush=True)
    server.serve_forever()
