#!/usr/bin/env python3
"""Receivers that cannot be changed, for the jobs of jobs.yaml: it needs nothing but Python.

    python3 receiver.py [PORT]

Each path stands for an endpoint somebody has already: one takes a form, one takes XML, one says
"rejected" with status 200, one has moved, one checks a signature by the secret in WAREHOUSE_SECRET.
What an endpoint understood is its answer, and so the run's result.
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import time
import xml.etree.ElementTree as ElementTree
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

SECRET = os.environ.get("WAREHOUSE_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
refunds = {}  # Idempotency-Key -> number


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.send_header("Content-Length", "2")
        self.end_headers()

    def do_GET(self):
        """GET /stock/NAME?warehouse=NAME, without a body."""
        if "Content-Length" in self.headers or "Content-Type" in self.headers:
            return self.answer(400, {"error": "a GET has no body"})
        url = urlsplit(self.path)
        self.answer(200, {
            "article": unquote(url.path.removeprefix("/stock/")),
            "warehouse": parse_qs(url.query)["warehouse"][0],
            "left": 7,
        })

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        endpoints = {
            "/charges": self.charge, "/erp": self.erp, "/refunds": self.refund,
            "/orders": self.order, "/legacy": self.legacy, "/warehouse": self.warehouse,
            "/old-orders": self.moved,
        }
        endpoint = endpoints.get(self.path)
        if endpoint is None:
            return self.answer(404, {"error": "there is no such endpoint"})
        endpoint(body)

    def charge(self, body):
        """A payment service of the year 2012: it reads forms and nothing else."""
        if self.headers["Content-Type"] != "application/x-www-form-urlencoded":
            return self.answer(415, {"error": "want a form"})
        form = parse_qs(body.decode(), strict_parsing=True)
        self.answer(200, {name: values[0] for name, values in form.items()})

    def erp(self, body):
        """It takes XML and answers with XML, which becomes a text as the run's result."""
        if self.headers["Content-Type"] != "application/xml; charset=utf-8":
            return self.answer(415, {"error": "want XML"})
        order = ElementTree.fromstring(body)
        total = sum(int(line.get("quantity")) for line in order.iter("line"))
        self.answer(200, f"<accepted number='{order.get('number')}' pieces='{total}'/>")

    def refund(self, body):
        """One refund for each Idempotency-Key, however often it is asked for."""
        key = self.headers["Idempotency-Key"]
        repeated = key in refunds
        refunds.setdefault(key, len(refunds) + 1)
        self.answer(200, {"key": key, "refund": refunds[key], "repeated": repeated})

    def order(self, body):
        """It minds types: a total that is a text is refused."""
        order = json.loads(body)
        types = {name: type(value).__name__ for name, value in order.items()}
        self.answer(200, {"got": order, "types": types, "sender": self.headers["X-Sender"]})

    def legacy(self, body):
        """Its status is always 200. Whether it went well stands in the body."""
        good = json.loads(body)["quantity"] <= 10
        self.answer(200, {"state": "accepted"} if good else {"state": "rejected", "why": "too many"})

    def warehouse(self, body):
        """Standard Webhooks: what is not signed by the secret, now, is refused."""
        stamp = self.headers["webhook-timestamp"]
        signed = f"{self.headers['webhook-id']}.{stamp}.".encode() + body
        key = base64.b64decode(SECRET.removeprefix("whsec_"))
        want = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        given = (self.headers["webhook-signature"] or "").split(" ")
        if not any(hmac.compare_digest(want, one) for one in given):
            return self.answer(401, {"error": "not signed by the secret of the warehouse"})
        if abs(time.time() - int(stamp)) > 300:
            return self.answer(401, {"error": "signed too long ago"})
        self.answer(200, {"taken": json.loads(body), "id": self.headers["webhook-id"]})

    def moved(self, body):
        """308: the same request, body and all, to another path."""
        self.answer(308, {"moved": True}, {"Location": "/orders"})

    def answer(self, status, body, headers={}):
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/xml" if isinstance(body, str) else "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8901
    server = ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    print(f"receiving on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
