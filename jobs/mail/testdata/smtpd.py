"""Mail servers that can misbehave, on free ports of this machine.

smtpd.py '[{"tls": "starttls", "cert": FILE, "key": FILE, "auth": "user:password",
"ways": ["PLAIN"], "echo": false, "hang": STAGE, "drop": STAGE}, ...]' prints their ports on one
line, then what they see as one JSON object a line, and ends when its stdin does.

What becomes of a recipient is in the name before the @: no-550 is refused so each time, grey-451
the first time, hang, flood, garble and gone-421 do so at RCPT TO, end-554 at the end of the
message; all others are taken.
"""

import asyncio
import base64
import email
import email.policy
import hmac
import json
import logging
import ssl
import sys
import warnings

from aiosmtpd.smtp import SMTP, AuthResult

class Box:
    """One of the servers, as its options describe it."""

    def __init__(self, number, config):
        self.number = number
        self.seen = set()
        self.tls = config.get("tls")
        self.hang = config.get("hang")
        self.drop = config.get("drop")
        self.echo = config.get("echo")
        self.ways = config.get("ways", ["PLAIN", "LOGIN"])
        self.user, _, self.password = config.get("auth", "").partition(":")
        self.context = None
        if config.get("cert"):
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(config["cert"], config["key"])

    def emit(self, **event):
        print(json.dumps({"box": self.number, **event}), flush=True)

    def make(self):
        options = {}
        if self.user:
            unwanted = [w for w in ("PLAIN", "LOGIN", "CRAM-MD5") if w not in self.ways]
            options = dict(
                auth_required=True,
                auth_require_tls=False,
                authenticator=self.authenticate,
                auth_exclude_mechanism=unwanted,
            )
        starttls = self.tls == "starttls"
        server = Server(
            Handler(self),
            hostname="mail.test",
            tls_context=self.context if starttls else None,
            require_starttls=starttls,
            **options,
        )
        server.box = self
        return server

    def authenticate(self, server, session, envelope, mechanism, data):
        given = (data.login.decode(), data.password.decode())
        message = None
        if given != (self.user, self.password) and self.echo:
            blob = base64.b64encode("\0".join(("", *given)).encode()).decode()
            message = f"535 5.7.8 {given[1]} {blob} is wrong"
        return AuthResult(
            success=given == (self.user, self.password),
            handled=False,
            message=message,
            auth_data=data,
        )


class Server(SMTP):
    opened = closed = False

    async def hold(self, stage):
        if stage not in (self.box.hang, self.box.drop):
            return
        if stage == self.box.hang:
            self.box.emit(event="held", stage=stage)
        else:
            self.transport.close()
        try:
            await asyncio.Event().wait()
        finally:
            if self.transport:
                self.transport.close()

    def secure(self):
        return self.box.tls == "implicit" or self.session.ssl is not None

    def connection_made(self, transport):
        if not self.opened:
            self.opened = True
            self.box.emit(event="open")
        super().connection_made(transport)

    def connection_lost(self, error):
        if not self.closed:
            self.closed = True
            self.box.emit(event="closed")
        super().connection_lost(error)

    async def _handle_client(self):
        await self.hold("greeting")
        await super()._handle_client()

    async def smtp_EHLO(self, arg):
        self.box.emit(event="hello", name=arg, tls=self.secure())
        await self.hold("hello")
        await super().smtp_EHLO(arg)

    async def smtp_STARTTLS(self, arg):
        await self.hold("starttls")
        if self.box.hang == "handshake":
            await self.push("220 Ready to start TLS")
            await self.hold("handshake")
        await super().smtp_STARTTLS(arg)

    async def smtp_AUTH(self, arg):
        self.box.emit(event="auth", way=arg.split()[0], tls=self.secure())
        await self.hold("auth")
        await super().smtp_AUTH(arg)

    async def smtp_MAIL(self, arg):
        await self.hold("from")
        await super().smtp_MAIL(arg)

    async def smtp_DATA(self, arg):
        await self.hold("data")
        await super().smtp_DATA(arg)

    async def smtp_QUIT(self, arg):
        await self.hold("quit")
        await super().smtp_QUIT(arg)


class Handler:
    def __init__(self, box):
        self.box = box

    async def handle_MAIL(self, server, session, envelope, address, options):
        envelope.mail_from = address
        if address.startswith("no-"):
            return address[3:6] + " 5.7.1 this sender may not"
        return "250 OK"

    async def handle_RCPT(self, server, session, envelope, address, options):
        name = address.partition("@")[0]
        self.box.emit(event="to", address=address)
        await server.hold("to")
        if name == "hang":
            self.box.emit(event="held", stage="to")
            await asyncio.Event().wait()
        if name == "flood":
            for _ in range(4096):
                await server.push("250-" + "flood \u00ff".encode("latin1").hex() * 200)
        if name == "garble":
            await server.push(b"550-\xff\xfe \x01\x02\x1b[31m\r\n550 \xc3( \xe2\x80\xae no")
            return "250 unread"
        if name.startswith("gone-"):
            await server.push(name[5:] + " closing")
            server.transport.close()
            await asyncio.Event().wait()
        if name.startswith("no-"):
            return name[3:6] + " 5.1.1 <" + address + "> is not taken"
        if name.startswith("grey-") and address not in self.box.seen:
            self.box.seen.add(address)
            return name[5:8] + " 4.7.1 come back later"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        await server.hold("message")
        for address in envelope.rcpt_tos:
            if address.startswith("end-"):
                return address[4:7] + " 5.7.1 the message is not liked"
        parsed = email.message_from_bytes(envelope.content, policy=email.policy.default)
        self.box.emit(
            event="message",
            envelope={"from": envelope.mail_from, "to": envelope.rcpt_tos},
            headers=[[k, str(v)] for k, v in parsed.items()],
            defects=[str(d) for d in parsed.defects],
            body=parsed.get_content(),
            raw=envelope.content.decode("ascii"),
            tls=server.secure(),
            user=getattr(session.login_data, "decode", lambda: None)(),
        )
        await server.hold("end")
        return "250 2.0.0 queued"

    async def auth_CRAM__MD5(self, server, args):
        challenge = b"<1.2@localhost>"
        answer = await server.challenge_auth(challenge)
        digest = hmac.new(self.box.password.encode(), challenge, "md5").hexdigest()
        good = answer == f"{self.box.user} {digest}".encode()
        return AuthResult(success=good, handled=False)


async def main():
    loop = asyncio.get_running_loop()
    ports = []
    for number, config in enumerate(json.loads(sys.argv[1])):
        box = Box(number, config)
        implicit = box.context if box.tls == "implicit" else None
        server = await loop.create_server(box.make, "127.0.0.1", 0, ssl=implicit)
        ports.append(str(server.sockets[0].getsockname()[1]))
    print(*ports, flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
asyncio.run(main())
