#!/usr/bin/env python3
"""Delivers as GitHub, Stripe, a sender after Standard Webhooks and one that knows a secret URL do.
It needs nothing but Python.

    python3 send.py SENDER [--body JSON] [--id ID] [--forged] [--age SECONDS]

SENDER is github, stripe, standard-webhooks or secret. The server is NIGHTSHIFT_SERVER, else
http://127.0.0.1:8700; the secrets are those of README.md unless the environment has others. The same
id again is the same delivery. Exit status 0 where the door let it in.
"""

import argparse
import base64
import hashlib
import hmac
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

SECRETS = {
    "github": ("GITHUB_WEBHOOK", "octocats like fish"),
    "stripe": ("STRIPE_WEBHOOK", "whsec_example_of_stripe"),
    "standard-webhooks": ("CONTACTS_WEBHOOK", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
    "secret": ("IMPORT_URL", "a/long+random=text"),
}
BODIES = {
    "github": {"ref": "refs/heads/main", "after": "6dcb09b", "repository": {"full_name": "acme/shop"}},
    "stripe": {
        "type": "checkout.session.completed",
        "data": {"object": {"customer_email": "ada@example.com", "amount_total": 1990}},
    },
    "standard-webhooks": {"type": "contact.created", "data": {"name": "Ada"}},
    "secret": {"file": "orders-17.csv"},
}


def sign(secret, *parts):
    return hmac.new(secret, b"".join(parts), hashlib.sha256)


def github(secret, body, id, at):
    signature = "sha256=" + sign(secret.encode(), body).hexdigest()
    return "deploy/github", {
        "X-GitHub-Event": "push", "X-GitHub-Delivery": id, "X-Hub-Signature-256": signature,
    }


def stripe(secret, body, id, at):
    stamp = str(at)
    signature = sign(secret.encode(), stamp.encode(), b".", body).hexdigest()
    return "record-payment/stripe", {"Stripe-Signature": f"t={stamp},v1={signature}"}


def standard_webhooks(secret, body, id, at):
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signature = sign(key, f"{id}.{at}.".encode(), body).digest()
    return "sync-contact/standard", {
        "webhook-id": id, "webhook-timestamp": str(at),
        "webhook-signature": "v1," + base64.b64encode(signature).decode(),
    }


def secret(secret, body, id, at):
    return "import-file/upload/" + urllib.parse.quote(secret, safe=""), {"Idempotency-Key": id}


def main():
    ways = {
        "github": github, "stripe": stripe, "standard-webhooks": standard_webhooks, "secret": secret,
    }
    args = argparse.ArgumentParser(description="Delivers to the doors of jobs.yaml.")
    args.add_argument("sender", choices=ways)
    args.add_argument("--body", help="JSON; an example where left out")
    args.add_argument("--id", default=str(uuid.uuid4()), help="of the delivery; a new one where left out")
    args.add_argument("--forged", action="store_true", help="sign by another secret")
    args.add_argument("--age", type=int, default=0, help="seconds since it was signed")
    given = args.parse_args()

    name, example = SECRETS[given.sender]
    key = os.environ.get(name, example)
    if given.forged:
        key = key[:-4] + "abcd"
    document = json.loads(given.body) if given.body else BODIES[given.sender]
    if given.sender == "stripe":
        document = {"id": given.id, **document}
    body = json.dumps(document).encode()
    path, headers = ways[given.sender](key, body, given.id, int(time.time()) - given.age)

    server = os.environ.get("NIGHTSHIFT_SERVER", "http://127.0.0.1:8700")
    headers["Content-Type"] = "application/json"
    request = urllib.request.Request(f"{server}/in/{path}", data=body, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            print(answer.status, answer.read().decode().strip())
    except urllib.error.HTTPError as refused:
        print(refused.code, refused.read().decode().strip())
        sys.exit(1)


if __name__ == "__main__":
    main()
