#!/usr/bin/env python3
"""A participant in Python: a service that charges cards for sagas, written from adapters/nats/PROTOCOL.md.

It needs Python 3.11, `pip install nats-py`, and a nats-server with the stream AMENDS_COMMANDS, which the engine
declares. Its effects and its barrier are one SQLite file, so that both are one transaction.

    python3 participant.py --nats nats://127.0.0.1:4222 --database payments.db
"""

import argparse
import asyncio
import json
import signal
import sqlite3
import sys

import nats
from nats.js.api import AckPolicy, ConsumerConfig
from nats.js.errors import NotFoundError

PROTOCOL = "1"
FOR_EVER = 4294967295
NEEDED = ("Amends-Request-Id", "Amends-Direction", "Amends-Attempt", "Amends-Input-Digest", "Amends-Saga")


# --- the business ------------------------------------------------------------------------------------------


class Failed(Exception):
    """Nothing took effect. `outcome` is `transient` or `persistent`."""

    def __init__(self, outcome, code, message):
        super().__init__(message)
        self.outcome, self.code = outcome, code


def charge(db, data, attempt):
    """Charges a card. What `does` asks for makes the operation fail, as a real one may."""
    does = data.get("does", "succeed")
    if does == "fail":
        raise Failed("transient", "gateway-down", "the gateway does not answer; nothing was charged")
    if does == "refuse":
        return "refused", {"reason": "card-declined", "attempt": attempt}
    db.execute("INSERT INTO ledger (account, cents) VALUES (?, ?)", (data["order"], data["cents"]))
    result = {"charge": f"attempt {attempt}"}
    return ("partial", result) if does == "partly" else ("applied", result)


def refund(db, data, attempt):
    """Gives back what was charged."""
    if data["input"].get("undo") == "fail":
        raise Failed("transient", "gateway-down", "the gateway does not answer; nothing was refunded")
    given = data["input"]
    db.execute("INSERT INTO ledger (account, cents) VALUES (?, ?)", (given["order"], -given["cents"]))
    return "applied", "Undone"


# --- the barrier (PROTOCOL.md, section 6) ---------------------------------------------------------------------

SCHEMA = """
CREATE TABLE IF NOT EXISTS ledger (id INTEGER PRIMARY KEY, account TEXT NOT NULL, cents INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS barrier (
  request_id      TEXT NOT NULL PRIMARY KEY,
  fenced_through  INTEGER NOT NULL DEFAULT 0,
  closed_out      TEXT,
  outcome         TEXT,
  body            TEXT,
  input_digest    TEXT
) STRICT;
"""


class Barrier:
    def __init__(self, file):
        self.db = sqlite3.connect(file, isolation_level=None, timeout=5)
        self.db.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;" + SCHEMA)

    def row(self, request):
        """The row of a request, made if there is none. The transaction is the lock."""
        self.db.execute("INSERT INTO barrier (request_id) VALUES (?) ON CONFLICT DO NOTHING", (request,))
        return self.look(request)

    def look(self, request):
        columns = "fenced_through, outcome, body, input_digest, closed_out"
        return self.db.execute(f"SELECT {columns} FROM barrier WHERE request_id = ?", (request,)).fetchone()

    def transaction(self, work):
        self.db.execute("BEGIN IMMEDIATE")
        try:
            answer = work()
            self.db.execute("COMMIT")
            return answer
        except BaseException:
            self.db.execute("ROLLBACK")
            raise

    def command(self, call, operation):
        """Answers a command: (outcome, body, fenced through)."""
        try:
            return self.transaction(lambda: self.decide(call, operation))
        except Failed as failed:
            return self.without_effect(call, failed)

    def without_effect(self, call, failed):
        """Answers a command that failed. Another process may have it in hand, too: what does not commit is not said."""
        said = failed.outcome, {"code": failed.code, "message": str(failed)}, None
        return said if call["direction"] == "compensation" else self.transaction(lambda: self.close_out(call, said))

    def close_out(self, call, said):
        """Closes an attempt out, and says what is to be answered: this, or what others did meanwhile."""
        row = self.row(call["request"])
        fenced, attempt = row[0], call["attempt"]
        held = self.held(call, row)
        if held and (held[0] != "fenced" or fenced == FOR_EVER):
            return held
        if attempt >= fenced:
            self.fence(call["request"], attempt, json.dumps(said[:2]))
        return said

    def decide(self, call, operation):
        undo = call["direction"] == "compensation"
        # The forward row first, always: one order for all.
        forward = self.row(call["forward"]) if undo else None
        held = self.held(call, self.row(call["request"]))
        if held:
            return held
        if undo:
            self.fence(call["forward"], FOR_EVER)
            if forward[1] not in ("applied", "partial"):
                return self.keep(call, "applied", "NothingToUndo")
        return self.keep(call, *operation(self.db, call["data"], call["attempt"]))

    def held(self, call, row):
        """What a row answers by itself; None if the call is to run."""
        fenced, outcome, body, digest, closed_out = row
        if outcome and digest != call["digest"]:
            return "mismatch", {"code": "mismatch", "message": "this request is held with another input"}, None
        if fenced == FOR_EVER:
            return "fenced", None, FOR_EVER
        if outcome:
            return outcome, json.loads(body), None
        if closed_out and call["attempt"] <= fenced:
            return (*json.loads(closed_out), None)
        if call["attempt"] <= fenced:
            return "fenced", None, fenced
        return None

    def keep(self, call, outcome, body):
        self.db.execute(
            "UPDATE barrier SET outcome = ?, body = ?, input_digest = ? WHERE request_id = ?",
            (outcome, json.dumps(body), call["digest"], call["request"]),
        )
        return outcome, body, None

    def fence(self, request, attempt, closed_out=None):
        change = "UPDATE barrier SET fenced_through = ?, closed_out = ? WHERE request_id = ?"
        self.db.execute(change, (attempt, closed_out, request))

    def query(self, request, fence_through):
        """Says what became of a request, and closes it out where it is asked to."""
        if fence_through is None:
            row = self.look(request)
            return (row[1], json.loads(row[2]), None) if row and row[1] else ("absent", None, None)
        return self.transaction(lambda: self.find_or_fence(request, fence_through))

    def find_or_fence(self, request, fence_through):
        fenced, outcome, body, *_ = self.row(request)
        if outcome:
            return outcome, json.loads(body), None
        if fence_through > fenced:  # A fence never moves back.
            self.fence(request, fence_through)
        return "fenced", None, max(fenced, fence_through)


# --- the wire --------------------------------------------------------------------------------------------------


class Malformed(Exception):
    pass


def read(headers, body):
    """A command or a query, or what is wrong with it."""
    missing = [name for name in NEEDED if not headers.get(name)]
    if missing:
        raise Malformed(f"these headers are missing: {', '.join(missing)}")
    direction = headers["Amends-Direction"]
    if direction not in ("forward", "compensation"):
        raise Malformed(f"'{direction}' is no direction")
    if direction == "compensation" and not headers.get("Amends-Forward-Request-Id"):
        raise Malformed("a compensation names no forward request")
    try:
        data, attempt = json.loads(body), int(headers["Amends-Attempt"])
    except ValueError as error:
        raise Malformed(f"the body or the attempt is unreadable: {error}") from error
    return {
        "direction": direction,
        "request": headers["Amends-Request-Id"],
        "forward": headers.get("Amends-Forward-Request-Id"),
        "attempt": attempt,
        "digest": headers["Amends-Input-Digest"],
        "data": data,
    }


def answer_headers(headers, outcome, fenced):
    copied = ("Amends-Saga", "Amends-Request-Id", "Amends-Direction", "Amends-Attempt")
    reply = {"Amends-Protocol": PROTOCOL, "Amends-Outcome": outcome}
    reply |= {name: headers[name] for name in copied if headers.get(name)}
    if fenced is not None:
        reply["Amends-Fenced-Through"] = str(fenced)
    return reply


def encoded(body):
    return b"" if body is None else json.dumps(body).encode()


class Participant:
    def __init__(self, js, barrier, service):
        self.js, self.barrier, self.service = js, barrier, service
        self.operations = {("charge", "forward"): charge, ("charge", "compensation"): refund}

    def handle(self, subject, headers, body):
        """What a command is answered with."""
        is_ours = headers.get("Amends-Protocol") == PROTOCOL
        stranger = Failed("persistent", "protocol", f"version {PROTOCOL} is spoken here")
        try:
            call = read(headers, body)
        except Malformed as error:
            code, message = ("malformed", error) if is_ours else (stranger.code, stranger)
            return "persistent", {"code": code, "message": str(message)}, None
        operation = self.operations.get((subject.rsplit(".", 1)[1], call["direction"]))
        if not is_ours:
            return self.barrier.without_effect(call, stranger)
        if operation is None:
            unknown = Failed("persistent", "no-such-operation", f"{self.service} does not know {subject}")
            return self.barrier.without_effect(call, unknown)
        return self.barrier.command(call, operation)

    async def take(self, message):
        headers = message.headers or {}
        if not headers.get("Amends-Reply-To") or not headers.get("Amends-Request-Id"):
            print(f"{message.subject}: nobody to answer to; terminated", file=sys.stderr, flush=True)
            return await message.term()
        try:
            outcome, body, fenced = self.handle(message.subject, headers, message.data)
            reply = answer_headers(headers, outcome, fenced)
            transmission = ("Amends-Request-Id", "Amends-Direction", "Amends-Attempt")
            reply["Nats-Msg-Id"] = ".".join([*(headers.get(name, "") for name in transmission), outcome])
            await self.js.publish(headers["Amends-Reply-To"], encoded(body), headers=reply)
        except Exception as error:  # Ours alone: nothing is answered, and the command comes again, ever later.
            print(f"{message.subject}: {error}", file=sys.stderr, flush=True)
            return await message.nak(delay=min(0.1 * 2 ** message.metadata.num_delivered, 30))
        if body and isinstance(body, dict) and body.get("code") == "malformed":
            return await message.term()
        await message.ack_sync()

    async def ask(self, message):
        headers = message.headers or {}
        try:
            fence = headers.get("Amends-Fence-Through")
            outcome, body, fenced = self.barrier.query(headers["Amends-Request-Id"], int(fence) if fence else None)
        except (KeyError, ValueError) as error:
            outcome, body, fenced = "unclear", {"code": "malformed", "message": str(error)}, None
        answer = answer_headers(headers, outcome, fenced)
        await self.js._nc.publish(message.reply, encoded(body), headers=answer)


async def main(options):
    async def trouble(error):
        print(f"NATS at {options.nats}: {error or type(error).__name__}", file=sys.stderr, flush=True)

    # It is tried without end, also at the start, and says each time what is in the way.
    nc = await nats.connect(options.nats, name=options.service, max_reconnect_attempts=-1, error_cb=trouble)
    js = nc.jetstream()
    participant = Participant(js, Barrier(options.database), options.service)
    config = ConsumerConfig(
        durable_name=options.service,
        filter_subject=f"{options.prefix}.command.{options.service}.>",
        ack_policy=AckPolicy.EXPLICIT,
        max_deliver=-1,
    )
    stream = f"{options.prefix.upper()}_COMMANDS"
    try:
        await js.add_consumer(stream, config)
    except NotFoundError:
        sys.exit(f"there is no stream {stream}: start the engine first, which declares it")
    commands = await js.pull_subscribe_bind(consumer=options.service, stream=stream)
    queries = f"{options.prefix}.query.{options.service}.>"
    await nc.subscribe(queries, queue=options.service, cb=participant.ask)
    await nc.flush()

    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    print(f"{options.service} is ready", flush=True)
    while not stop.is_set():
        try:
            messages = await commands.fetch(64, timeout=1)
        except (nats.errors.TimeoutError, asyncio.TimeoutError):
            continue
        except nats.errors.Error as error:
            print(f"commands do not come: {error}", file=sys.stderr, flush=True)
            await asyncio.sleep(1)
            continue
        for message in messages:
            await participant.take(message)
    await nc.drain()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nats", default="nats://127.0.0.1:4222", help="where the nats-server listens")
    parser.add_argument("--database", default="payments.db", help="the SQLite file (default: payments.db)")
    parser.add_argument("--service", default="payments", help="the service's name on the wire (default: payments)")
    parser.add_argument("--prefix", default="amends", help="the installation's prefix (default: amends)")
    asyncio.run(main(parser.parse_args()))
