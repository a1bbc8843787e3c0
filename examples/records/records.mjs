// Does records one by one and saves after each hundred how far it is: whatever kills it, the next attempt
// goes on there. nightshift.mjs of examples/clients lies beside it.

import { openSync, readFileSync, writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Attempt } from "./nightshift.mjs";

const wanted = JSON.parse(readFileSync(0, "utf8"));
const attempt = Attempt.fromEnvironment();
const first = await attempt.load(0);
console.log(`process ${process.pid} goes on after record ${first}`);
const out = openSync(wanted.out, "a");
for (let record = first + 1; record <= wanted.records; record++) {
  writeSync(out, `${record}\n`); // the work
  if (record % 100 === 0) {
    await sleep(wanted.pause * 1000);
    await attempt.save(record);
    await attempt.progress(record, wanted.records);
  }
}
await attempt.complete({ records: wanted.records, this_time: wanted.records - first });
