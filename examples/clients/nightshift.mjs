/**
 * Nightshift from Node.js: what an attempt says while it works.
 *
 * One file, no dependencies, Node.js 18 or newer: copy it into your project. A script:
 *
 *     import { Attempt } from "./nightshift.mjs";
 *
 *     const attempt = Attempt.fromEnvironment();
 *     for (let n = await attempt.load(0); n < 10000; n++) {   // from what was saved last, by whatever attempt
 *       await work(n);
 *       if ((n + 1) % 100 === 0) {
 *         await attempt.save(n + 1);                          // it is on disk when this returns
 *         await attempt.progress(n + 1, 10000);
 *       }
 *     }
 *     await attempt.complete({ records: 10000 });             // the result of the run
 *
 * A webhook takes Attempt.fromHeaders(request.headers). Of a job with `completion: callback` it answers
 * 202, and works on:
 *
 *     const stop = attempt.heart(20);                         // tells every 20 s that the work goes on
 *     work(attempt).then((result) => attempt.complete(result), (error) => attempt.fail(error)).finally(stop);
 *
 * load, save, complete and fail are repeated until they are answered, for `patience` seconds: to repeat
 * them is safe. progress, log and heartbeat are tried once, and give false where they did not get
 * through. Over says that the attempt has ended (cancelled, timed out, replaced by a newer one): nothing
 * it says counts any more, so let it end the work; attempt.signal is aborted then. All errors are
 * NightshiftError. Await one save before the next. An Attempt never shows its token.
 *
 * From CommonJS: const { Attempt } = await import("./nightshift.mjs"). MIT licence, as Nightshift.
 */

/** What went wrong between an attempt and Nightshift. */
export class NightshiftError extends Error {
  get name() {
    return this.constructor.name;
  }
}

/** The attempt has ended: stop. `state` is that of the run, null where it is gone. */
export class Over extends NightshiftError {
  constructor(message, state = null) {
    super(message);
    this.state = state;
  }
}

/** Nightshift does not take it, now or later. `status` is that of its answer. */
export class Refused extends NightshiftError {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** A checkpoint past 256 KiB, a result past 64 KiB. What was saved before is kept. */
export class TooLarge extends Refused {}

/** There was no answer in time. Whether the last try was taken in is unknown. */
export class Unreachable extends NightshiftError {}

/** One attempt of a run. */
export class Attempt {
  #token;
  #over = new AbortController();

  constructor(callback, token, { patience = 300 } = {}) {
    if (!/^https?:\/\//.test(callback)) {
      throw new NightshiftError(`${JSON.stringify(callback)} is not the URL of a callback`);
    }
    this.callback = callback.replace(/\/+$/, "");
    this.patience = patience;
    this.#token = token;
  }

  /** The attempt that runs this script. */
  static fromEnvironment(env = process.env, options) {
    for (const name of ["NIGHTSHIFT_CALLBACK", "NIGHTSHIFT_CALLBACK_TOKEN"]) {
      if (!env[name]) throw new NightshiftError(`${name} is not set: this was not started by Nightshift`);
    }
    return new Attempt(env.NIGHTSHIFT_CALLBACK, env.NIGHTSHIFT_CALLBACK_TOKEN, options);
  }

  /**
   * The attempt that calls this webhook. headers is a Headers, or an object of lower-case names.
   *
   * Who can call the webhook chooses what is called back: give `server`, such as
   * "http://127.0.0.1:8700", and another one is an error.
   */
  static fromHeaders(headers, { server, ...options } = {}) {
    const header = (name) => (typeof headers.get === "function" ? headers.get(name) : headers[name]);
    const [callback, token] = [header("nightshift-callback"), header("nightshift-token")];
    if (!callback || !token) {
      throw new NightshiftError(
        "the headers Nightshift-Callback and Nightshift-Token are missing: this was not called by " +
          "Nightshift, or its job has nightshift_headers: false",
      );
    }
    if (server && !callback.startsWith(`${server.replace(/\/+$/, "")}/v1/callback/`)) {
      throw new NightshiftError(`Nightshift-Callback is not of ${server}`);
    }
    return new Attempt(callback, token, options);
  }

  /** Is aborted once an answer has said that the attempt has ended. */
  get signal() {
    return this.#over.signal;
  }

  /** What was saved last, by this attempt or one before it; fallback where nothing was. */
  async load(fallback = null) {
    const text = await this.#insist("GET", "checkpoint");
    try {
      return JSON.parse(text) ?? fallback;
    } catch {
      throw new NightshiftError(`checkpoint: what answers at ${this.callback} is not Nightshift`);
    }
  }

  /** Saves what JSON can say, up to 256 KiB, for whatever attempt comes next. null drops it. */
  async save(value) {
    const text = JSON.stringify(value);
    if (text === undefined) throw new TypeError("a checkpoint is what JSON can say; null drops it");
    await this.#insist("PUT", "checkpoint", text);
  }

  /** Shows how far the work is. false: it did not get through. */
  progress(done, total, note) {
    return this.#tell("progress", { done, total, note });
  }

  /** Adds a line to the log of the run. false: it did not get through. */
  log(text) {
    return this.#tell("log", { text: plain(text) });
  }

  /** Says that the work goes on. false: it did not get through. */
  heartbeat() {
    return this.#tell("heartbeat");
  }

  /**
   * Sends a heartbeat every so many seconds until the function that it gives is called. Once the
   * attempt has ended it stops, attempt.signal is aborted, and the next call throws Over.
   */
  heart(every = 20) {
    const beat = () => this.heartbeat().catch(stop); // the next call of the work says why
    const timer = setInterval(beat, every * 1000);
    const stop = () => clearInterval(timer);
    timer.unref(); // it keeps no process alive
    beat();
    return stop;
  }

  /**
   * Gives the result, up to 64 KiB of JSON. With `completion: callback` this ends the run; else it is
   * the result if the attempt succeeds.
   */
  async complete(result = null) {
    await this.#insist("POST", "complete", JSON.stringify({ result }));
  }

  /**
   * Fails the attempt. error is an Error or a message; retryable and retryAfter (seconds) say whether
   * and when another attempt is worth while.
   */
  async fail(error, { type, stack, retryable, retryAfter } = {}) {
    if (error instanceof Error) {
      type ??= error.name;
      stack ??= error.stack;
    }
    const message = plain(String(error?.message ?? error).slice(0, 4000));
    stack = stack && plain(stack.slice(0, 30000));
    const told = { type, message, stack, retryable, retry_after: retryAfter };
    await this.#insist("POST", "fail", JSON.stringify(told));
  }

  async #tell(path, body) {
    try {
      await this.#ask("POST", path, body && JSON.stringify(body));
      return true;
    } catch (error) {
      if (error instanceof Unreachable) return false;
      throw error;
    }
  }

  async #insist(method, path, body) {
    const deadline = performance.now() + this.patience * 1000;
    for (let wait = 100; ; wait = Math.min(2 * wait, 5000)) {
      try {
        return await this.#ask(method, path, body);
      } catch (error) {
        if (!(error instanceof Unreachable) || performance.now() + wait > deadline) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  /** Asks once. Unreachable: it may be answered another time. */
  async #ask(method, path, body) {
    let answer, text;
    try {
      answer = await fetch(`${this.callback}/${path}`, {
        method,
        body,
        headers: { Authorization: `Bearer ${this.#token}`, "Content-Type": "application/json" },
        redirect: "manual", // the token is for the callback alone
        signal: AbortSignal.timeout(30000),
      });
      text = await answer.text();
    } catch (error) {
      const why = error.cause?.message || error.cause?.code || error.message;
      throw new Unreachable(`${path}: ${this.callback} does not answer: ${why}`);
    }
    if (!answer.ok) throw this.#refusal(path, answer, text);
    return text;
  }

  #refusal(path, { status, statusText }, text) {
    let problem = {};
    try {
      problem = JSON.parse(text) ?? {};
    } catch {
      // an answer of something between
    }
    const ours = String(problem.type).startsWith("urn:nightshift:");
    const message = `${path}: ${status}: ${(ours && (problem.detail || problem.title)) || statusText}`;
    if (status === 409 || (status === 404 && ours)) {
      const over = new Over(message, ours ? problem.state : null);
      this.#over.abort(over);
      return over;
    }
    if (status === 413) return new TooLarge(message, status);
    if (status === 429 || status >= 500) return new Unreachable(message);
    return new Refused(message, status);
  }
}

/** The text without halves of characters. */
function plain(text) {
  return String(text).replace(/\p{Surrogate}/gu, "\uFFFD");
}
