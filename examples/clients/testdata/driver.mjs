// Reads lines "PATIENCE CALLBACK CALL [JSON]", makes the call, and prints in a line what came of it.
import { once } from "node:events";
import { createInterface } from "node:readline";
import { Attempt, NightshiftError, Over, TooLarge, Unreachable } from "../nightshift.mjs";

const headers = (callback) => ({ "nightshift-callback": callback, "nightshift-token": process.env.TOKEN });

async function call(attempt, name, argument) {
  if (name === "expecting") {
    Attempt.fromHeaders(new Headers(headers(attempt.callback)), { server: argument });
    return "ok";
  }
  if (name === "load") return `ok ${JSON.stringify(await attempt.load())}`;
  if (name === "heart") {
    const stop = attempt.heart(0.02);
    if (!attempt.signal.aborted) await once(attempt.signal, "abort");
    stop();
    return "ok";
  }
  const given = { progress: [3, 4, argument], fail: [new RangeError(argument)] };
  return (await attempt[name](...(given[name] ?? [argument]))) === false ? "lost" : "ok";
}

console.log(new Attempt("http://h", process.env.TOKEN));
for await (const line of createInterface({ input: process.stdin })) {
  const [, patience, callback, name, , argument] = line.match(/^(\S+) (\S+) (\S+)( (.*))?$/);
  const attempt = Attempt.fromHeaders(headers(callback), { patience: Number(patience) });
  let said;
  try {
    said = await call(attempt, name, argument && JSON.parse(argument));
  } catch (error) {
    if (!(error instanceof NightshiftError)) throw error;
    console.error(String(error));
    if (error instanceof Over) said = `over ${error.state ?? ""}`;
    else if (error instanceof TooLarge) said = "too large";
    else said = error instanceof Unreachable ? "unreachable" : "refused";
  }
  console.log(said.trim());
}
