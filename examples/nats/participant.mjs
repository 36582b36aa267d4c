#!/usr/bin/env node
// A participant in JavaScript: a service that charges cards for sagas, written from adapters/nats/PROTOCOL.md.
//
// It needs Node.js 22.13 or later, `npm install @nats-io/transport-node @nats-io/jetstream`, and a nats-server with the
// stream AMENDS_COMMANDS, which the engine declares. Its effects and its barrier are one SQLite file, so that both are
// one transaction.
//
//     node participant.mjs --nats nats://127.0.0.1:4222 --database payments.db

import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import { AckPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, headers as newHeaders, nanos } from "@nats-io/transport-node";

const PROTOCOL = "1";
const FOR_EVER = 4294967295;
const NEEDED = ["Amends-Request-Id", "Amends-Direction", "Amends-Attempt", "Amends-Input-Digest", "Amends-Saga"];

// --- the business ----------------------------------------------------------------------------------------------

/** Nothing took effect. `outcome` is `transient` or `persistent`. */
class Failed extends Error {
  constructor(outcome, code, message) {
    super(message);
    Object.assign(this, { outcome, code });
  }
}

class Malformed extends Error {}

/** Charges a card. What `does` asks for makes the operation fail, as a real one may. */
function charge(db, data, attempt) {
  if (data.does === "fail") {
    throw new Failed("transient", "gateway-down", "the gateway does not answer; nothing was charged");
  }
  if (data.does === "refuse") return { outcome: "refused", body: { reason: "card-declined", attempt } };
  db.prepare("INSERT INTO ledger (account, cents) VALUES (?, ?)").run(data.order, data.cents);
  const outcome = data.does === "partly" ? "partial" : "applied";
  return { outcome, body: { charge: `attempt ${attempt}` } };
}

/** Gives back what was charged. */
function refund(db, { input }) {
  if (input.undo === "fail") {
    throw new Failed("transient", "gateway-down", "the gateway does not answer; nothing was refunded");
  }
  db.prepare("INSERT INTO ledger (account, cents) VALUES (?, ?)").run(input.order, -input.cents);
  return { outcome: "applied", body: "Undone" };
}

const OPERATIONS = { "charge/forward": charge, "charge/compensation": refund };

// --- the barrier (PROTOCOL.md, section 6) --------------------------------------------------------------------------

const SCHEMA = `
  PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000;
  CREATE TABLE IF NOT EXISTS ledger (id INTEGER PRIMARY KEY, account TEXT NOT NULL, cents INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS barrier (
    request_id      TEXT NOT NULL PRIMARY KEY,
    fenced_through  INTEGER NOT NULL DEFAULT 0,
    closed_out      TEXT,
    outcome         TEXT,
    body            TEXT,
    input_digest    TEXT
  ) STRICT;`;

class Barrier {
  constructor(file) {
    this.db = new DatabaseSync(file);
    this.db.exec(SCHEMA);
  }

  transaction(work) {
    this.db.exec("BEGIN IMMEDIATE");
    try {
      const answer = work();
      this.db.exec("COMMIT");
      return answer;
    } catch (error) {
      this.db.exec("ROLLBACK");
      throw error;
    }
  }

  look(request) {
    return this.db.prepare("SELECT * FROM barrier WHERE request_id = ?").get(request);
  }

  /** The row of a request, made if there is none. The transaction is the lock. */
  row(request) {
    this.db.prepare("INSERT INTO barrier (request_id) VALUES (?) ON CONFLICT DO NOTHING").run(request);
    return this.look(request);
  }

  fence(request, attempt, closedOut = null) {
    const change = "UPDATE barrier SET fenced_through = ?, closed_out = ? WHERE request_id = ?";
    this.db.prepare(change).run(attempt, closedOut, request);
  }

  keep(call, { outcome, body }) {
    this.db
      .prepare("UPDATE barrier SET outcome = ?, body = ?, input_digest = ? WHERE request_id = ?")
      .run(outcome, JSON.stringify(body), call.digest, call.request);
    return { outcome, body };
  }

  command(call, operation) {
    try {
      return this.transaction(() => this.decide(call, operation));
    } catch (error) {
      if (error instanceof Failed) return this.withoutEffect(call, error);
      throw error;
    }
  }

  /** Answers a command that failed. Another process may have it in hand, too: what does not commit is not said. */
  withoutEffect(call, { outcome, code, message }) {
    const said = { outcome, body: problem(code, message) };
    return call.direction === "compensation" ? said : this.transaction(() => this.closeOut(call, said));
  }

  /** Closes an attempt out, and says what is to be answered: this, or what others did meanwhile. */
  closeOut(call, said) {
    const row = this.row(call.request);
    const held = this.held(call, row);
    if (held && (held.outcome !== "fenced" || held.fenced === FOR_EVER)) return held;
    if (call.attempt >= row.fenced_through) this.fence(call.request, call.attempt, JSON.stringify(said));
    return said;
  }

  decide(call, operation) {
    const undo = call.direction === "compensation";
    // The forward row first, always: one order for all.
    const forward = undo ? this.row(call.forward) : undefined;
    const held = this.held(call, this.row(call.request));
    if (held) return held;
    if (undo) {
      this.fence(call.forward, FOR_EVER);
      if (forward.outcome !== "applied" && forward.outcome !== "partial") {
        return this.keep(call, { outcome: "applied", body: "NothingToUndo" });
      }
    }
    return this.keep(call, operation(this.db, call.data, call.attempt));
  }

  /** What a row answers by itself; undefined if the call is to run. */
  held(call, row) {
    if (row.outcome && row.input_digest !== call.digest) {
      return { outcome: "mismatch", body: problem("mismatch", "this request is held with another input") };
    }
    if (row.fenced_through === FOR_EVER) return { outcome: "fenced", fenced: FOR_EVER };
    if (row.outcome) return { outcome: row.outcome, body: JSON.parse(row.body) };
    if (row.closed_out && call.attempt <= row.fenced_through) return JSON.parse(row.closed_out);
    if (call.attempt <= row.fenced_through) return { outcome: "fenced", fenced: row.fenced_through };
    return undefined;
  }

  /** Says what became of a request, and closes it out where it is asked to. */
  query(request, fenceThrough) {
    const kept = (row) => ({ outcome: row.outcome, body: JSON.parse(row.body) });
    if (fenceThrough === undefined) {
      const row = this.look(request);
      return row?.outcome ? kept(row) : { outcome: "absent" };
    }
    return this.transaction(() => {
      const row = this.row(request);
      if (row.outcome) return kept(row);
      if (fenceThrough > row.fenced_through) this.fence(request, fenceThrough); // A fence never moves back.
      return { outcome: "fenced", fenced: Math.max(row.fenced_through, fenceThrough) };
    });
  }
}

// --- the wire ------------------------------------------------------------------------------------------------------

const problem = (code, message) => ({ code, message });

/** A header's value; undefined where it is not there. */
const header = (message, name) => message.headers?.get(name) || undefined;

/** A command, or what is wrong with it. */
function read(message) {
  const missing = NEEDED.filter((name) => !header(message, name));
  if (missing.length > 0) throw new Malformed(`these headers are missing: ${missing.join(", ")}`);
  const call = {
    direction: header(message, "Amends-Direction"),
    request: header(message, "Amends-Request-Id"),
    forward: header(message, "Amends-Forward-Request-Id"),
    attempt: Number(header(message, "Amends-Attempt")),
    digest: header(message, "Amends-Input-Digest"),
  };
  if (call.direction !== "forward" && call.direction !== "compensation") {
    throw new Malformed(`'${call.direction}' is no direction`);
  }
  if (call.direction === "compensation" && !call.forward) {
    throw new Malformed("a compensation names no forward request");
  }
  if (!Number.isInteger(call.attempt) || call.attempt < 1) throw new Malformed("the attempt is no number from 1");
  try {
    call.data = JSON.parse(message.string());
  } catch (error) {
    throw new Malformed(`the body is unreadable: ${error.message}`);
  }
  return call;
}

function answerHeaders(message, { outcome, fenced }) {
  const answer = newHeaders();
  answer.set("Amends-Protocol", PROTOCOL);
  answer.set("Amends-Outcome", outcome);
  for (const name of ["Amends-Saga", "Amends-Request-Id", "Amends-Direction", "Amends-Attempt"]) {
    const value = header(message, name);
    if (value) answer.set(name, value);
  }
  if (fenced !== undefined) answer.set("Amends-Fenced-Through", String(fenced));
  return answer;
}

const encoded = (body) => (body === undefined || body === null ? "" : JSON.stringify(body));

class Participant {
  constructor(js, barrier) {
    Object.assign(this, { js, barrier });
  }

  /** What a command is answered with. */
  handle(message) {
    const isOurs = header(message, "Amends-Protocol") === PROTOCOL;
    const stranger = new Failed("persistent", "protocol", `version ${PROTOCOL} is spoken here`);
    let call;
    try {
      call = read(message);
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      if (!isOurs) return { outcome: "persistent", body: problem(stranger.code, stranger.message) };
      return { outcome: "persistent", body: problem("malformed", error.message), final: true };
    }
    if (!isOurs) return this.barrier.withoutEffect(call, stranger);
    const operation = OPERATIONS[`${message.subject.split(".").at(-1)}/${call.direction}`];
    if (operation) return this.barrier.command(call, operation);
    const unknown = new Failed("persistent", "no-such-operation", `nobody here knows ${message.subject}`);
    return this.barrier.withoutEffect(call, unknown);
  }

  async take(message) {
    const replyTo = header(message, "Amends-Reply-To");
    if (!replyTo || !header(message, "Amends-Request-Id")) {
      console.error(`${message.subject}: nobody to answer to; terminated`);
      return message.term();
    }
    let answer;
    try {
      answer = this.handle(message);
      const transmission = ["Amends-Request-Id", "Amends-Direction", "Amends-Attempt"];
      const msgID = [...transmission.map((name) => header(message, name) ?? ""), answer.outcome].join(".");
      await this.js.publish(replyTo, encoded(answer.body), { headers: answerHeaders(message, answer), msgID });
    } catch (error) {
      // Ours alone: nothing is answered, and the command comes again, ever later.
      console.error(`${message.subject}: ${error.message}`);
      return message.nak(Math.min(100 * 2 ** message.info.deliveryCount, 30_000));
    }
    return answer.final ? message.term() : message.ackAck();
  }

  ask(message) {
    let answer;
    try {
      const [request, fence] = [header(message, "Amends-Request-Id"), header(message, "Amends-Fence-Through")];
      if (!request) throw new Malformed("the query names no request");
      answer = this.barrier.query(request, fence === undefined ? undefined : Number(fence));
    } catch (error) {
      answer = { outcome: "unclear", body: problem("malformed", error.message) };
    }
    message.respond(encoded(answer.body), { headers: answerHeaders(message, answer) });
  }
}

// --- the process ---------------------------------------------------------------------------------------------------

const USAGE = "usage: participant.mjs [--nats URL] [--database FILE] [--service NAME] [--prefix NAME]";

/** What the command line asks for. What it cannot ask for ends this program. */
function asked() {
  try {
    const { values } = parseArgs({
      options: {
        nats: { type: "string", default: "nats://127.0.0.1:4222" },
        database: { type: "string", default: "payments.db" },
        service: { type: "string", default: "payments" },
        prefix: { type: "string", default: "amends" },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    return values;
  } catch (error) {
    console.error(`participant.mjs: ${error.message.split("\n")[0]}; ${USAGE}`);
    process.exit(2);
  }
}

const options = asked();
if (options.help) {
  console.log(USAGE);
  process.exit(0);
}

const nc = await connect({ servers: options.nats, name: options.service, maxReconnectAttempts: -1 }).catch((error) => {
  console.error(`failed to reach NATS at ${options.nats}: ${error.message}`);
  process.exit(1);
});
const stream = `${options.prefix.toUpperCase()}_COMMANDS`;
const manager = await jetstreamManager(nc);
try {
  await manager.consumers.add(stream, {
    durable_name: options.service,
    filter_subject: `${options.prefix}.command.${options.service}.>`,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(30_000),
    max_deliver: -1,
  });
} catch (error) {
  console.error(`there is no stream ${stream} (${error.message}): start the engine first, which declares it`);
  process.exit(1);
}
const js = jetstream(nc);
const participant = new Participant(js, new Barrier(options.database));
nc.subscribe(`${options.prefix}.query.${options.service}.>`, {
  queue: options.service,
  callback: (_, message) => participant.ask(message),
});
await nc.flush();

const consumer = await js.consumers.get(stream, options.service);
const messages = await consumer.consume({ max_messages: 64 });
for (const name of ["SIGTERM", "SIGINT"]) process.on(name, () => messages.close());
console.log(`${options.service} is ready`);
for await (const message of messages) await participant.take(message);
await nc.drain();
