// Uses the API through a client that is generated from api/openapi.json: that it compiles under
// --strict says that the description has the types, that it runs says that the server keeps to them.
// Environment: NIGHTSHIFT_SERVER, NIGHTSHIFT_TOKEN.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

type Problem = components["schemas"]["Problem"];
type Run = components["schemas"]["Run"];

const server = process.env.NIGHTSHIFT_SERVER;
const token = process.env.NIGHTSHIFT_TOKEN;
assert(server && token, "want NIGHTSHIFT_SERVER and NIGHTSHIFT_TOKEN");
const api = createClient<paths>({ baseUrl: server, headers: { Authorization: `Bearer ${token}` } });
const anybody = createClient<paths>({ baseUrl: server });

async function register(): Promise<void> {
  const put = await api.PUT("/v1/jobs/{name}", {
    params: { path: { name: "hello" } },
    body: {
      script: { source: "echo hello", interpreter: ["sh"] },
      retry: { rules: [{ if: "exit.code == 3", then: "retry", after: "1s" }] },
    },
  });
  assert.equal(put.response.status, 201);
  assert.equal(put.data?.version, 1);
}

async function list(): Promise<void> {
  const { data, error } = await api.GET("/v1/jobs", { params: { query: { limit: 10 } } });
  assert.equal(error, undefined);
  assert(data);
  const names: string[] = data.items.map((job) => job.name);
  assert.deepEqual(names, ["hello"]);
  const next: string | null = data.next;
  assert.equal(next, null);
  console.log(`jobs: ${names.join(", ")}`);
}

async function run(): Promise<void> {
  const made = await api.POST("/v1/jobs/{name}/runs", {
    params: { path: { name: "hello" } },
    body: { payload: { any: ["JSON", 1, null] }, idempotency_key: "once" },
  });
  assert.equal(made.response.status, 202);
  const run = made.data as Run;
  const ended = await api.GET("/v1/runs/{id}", {
    params: { path: { id: run.id! }, query: { wait: "60s" } },
  });
  assert.equal(ended.data?.state, "succeeded");
  const decision: string | undefined = ended.data.attempts?.[0]?.decision?.by;
  assert.equal(decision, "success");
  const log = await api.GET("/v1/runs/{id}/log", {
    params: { path: { id: run.id! } },
    parseAs: "text",
  });
  assert.equal(log.data, "hello\n");
  console.log(`run ${run.id}: ${ended.data.state}`);
}

async function problems(): Promise<void> {
  const absent = await api.GET("/v1/jobs/{name}", { params: { path: { name: "absent" } } });
  assert(absent.error, "a job that is not there gave no error");
  const problem: Problem = absent.error;
  assert.equal(problem.type, "urn:nightshift:problem:not-found");
  assert.equal(problem.status, absent.response.status);
  console.log(`problem: ${problem.status} ${problem.title}: ${problem.detail}`);

  const bad = await api.POST("/v1/jobs", {
    body: {
      name: "bad",
      webhook: { url: "ftp://example.com" },
      // @ts-expect-error: the description wants a number
      priority: "high",
    },
  });
  assert.equal(bad.error?.type, "urn:nightshift:problem:invalid");
  const places = bad.error.errors?.map((fault) => fault.location).sort();
  assert.deepEqual(places, ["body.priority", "body.webhook.url"]);

  const nobody = await anybody.GET("/v1/jobs");
  assert.equal(nobody.error?.type, "urn:nightshift:problem:unauthorized");
}

await register();
await list();
await run();
await problems();
