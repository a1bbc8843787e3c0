#!/usr/bin/env python3
"""Three sources, a warehouse that merges what they gave, and somebody who is told, for the jobs of jobs.yaml. It
needs nothing but Python.

    python3 receiver.py [PORT]

POST /become/stock/down lets the source stock answer 500, POST /become/stock/well 200. GET /told gives what was
told so far.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ROWS = {"orders": 1402, "stock": 311, "prices": 92}
lock = threading.Lock()
down = set()
told = []


def merge(got):
    """What of the sources is in the warehouse now: all results come, in the order of the members."""
    rows = {r["name"]: r["result"]["rows"] for r in got["results"] if r["state"] == "succeeded"}
    return {"rows": rows, "without": got["failed"] + got["missing"]}


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        with lock:
            self.answer(200, told)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.strip("/").split("/")
        with lock:
            if path[0] == "become":
                (down.add if path[2] == "down" else down.discard)(path[1])
                return self.answer(200, {"down": sorted(down)})
            if path[0] == "sources" and path[1] in down:
                return self.answer(500, {"error": path[1] + " is down"})
            if path[0] == "sources":
                return self.answer(200, {"rows": ROWS[path[1]], "since": json.loads(body)["since"]})
            if path[0] == "merge":
                merged = merge(json.loads(body))
                print("merged", json.dumps(merged), flush=True)
                return self.answer(200, merged)
            event = json.loads(body)
            told.append(event)
            print("told", event["type"], event["subject"], flush=True)
        self.answer(200, {"thanks": len(told)})

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args):
        pass


def main():
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8905
    server = ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    print(f"receiving on http://127.0.0.1:{server.server_port}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
