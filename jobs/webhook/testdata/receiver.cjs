// A receiver that verifies what it gets with the libraries a team would use. It runs where they
// are installed; the secrets are in SECRETS, separated by commas.
//
//   POST /       the verdict of each library, by each secret, over the body as it came and over
//                one that a space was added to
//   POST /sign   headers by which each library, with the first secret, signs the body

const http = require("node:http");
const libraries = {
  standardwebhooks: require("standardwebhooks").Webhook,
  svix: require("svix").Webhook,
};
const secrets = process.env.SECRETS.split(",");

function open(library, secret) {
  const raw = secret.startsWith("whsec_") ? undefined : { format: "raw" };
  return new libraries[library](secret, raw);
}

// verdict is "good", or why not. The libraries read the body as JSON once its signature is good.
function verdict(library, secret, body, headers) {
  try {
    open(library, secret).verify(body, headers);
    return "good";
  } catch (e) {
    return e instanceof SyntaxError ? "good" : String(e.message);
  }
}

function verify(body, headers) {
  const found = {};
  for (const library of Object.keys(libraries)) {
    found[library] = secrets.map((secret) => ({
      asSent: verdict(library, secret, body, headers),
      changed: verdict(library, secret, Buffer.concat([body, Buffer.from(" ")]), headers),
    }));
  }
  return found;
}

function sign(body) {
  const at = new Date();
  const seconds = String(Math.floor(at.getTime() / 1000));
  const signed = {};
  for (const library of Object.keys(libraries)) {
    const prefix = library === "svix" ? "svix" : "webhook";
    signed[library] = {
      [prefix + "-id"]: "msg_1",
      [prefix + "-timestamp"]: seconds,
      [prefix + "-signature"]: open(library, secrets[0]).sign("msg_1", at, body.toString()),
    };
  }
  return signed;
}

const server = http.createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const body = Buffer.concat(parts);
    const answer = request.url === "/sign" ? sign(body) : verify(body, request.headers);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(answer));
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
