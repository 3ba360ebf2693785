// Drives a stdio server with the TypeScript SDK and prints what the client saw, as JSON.
//
// Usage: node drive.mjs MODULES < job.json
// The job: {client: "v1" | "v2" | "v2-auto", command: [...], elicit: [...], steps: [[method, params, options], ...]}.
// MODULES is the folder that `npm ci` filled; `elicit` holds the person's answers in turn, or is null where the
// client shows no forms; a step's answer is its result, or {error: {code, message}}.

import { createRequire } from "node:module";
import { join } from "node:path";
import { text } from "node:stream/consumers";

const require = createRequire(join(process.argv[2], "package.json"));
const job = JSON.parse(await text(process.stdin));
const asked = [];
const progress = [];

function answer(request) {
  asked.push(request.params);
  return job.elicit.shift();
}

function first(info, options) {
  const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
  const { ElicitRequestSchema } = require("@modelcontextprotocol/sdk/types.js");
  const client = new Client(info, options);
  if (job.elicit) client.setRequestHandler(ElicitRequestSchema, answer);
  return { client, StdioClientTransport, call: (params, more) => client.callTool(params, undefined, more) };
}

function second(info, options) {
  const { Client } = require("@modelcontextprotocol/client");
  const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");
  const negotiation = job.client === "v2-auto" ? { versionNegotiation: { mode: "auto" } } : {};
  const client = new Client(info, { ...options, ...negotiation });
  if (job.elicit) client.setRequestHandler("elicitation/create", answer);
  return { client, StdioClientTransport, call: (params, more) => client.callTool(params, more) };
}

const capabilities = job.elicit ? { elicitation: { form: {} } } : {};
const make = job.client === "v1" ? first : second;
const { client, StdioClientTransport, call } = make({ name: "drive", version: "1" }, { capabilities });

async function step([method, params, options]) {
  const more = { ...options, onprogress: (note) => progress.push(note) };
  try {
    return await (method === "callTool" ? call(params, more) : client[method](params, more));
  } catch (error) {
    return { error: { code: error.code, message: error.message } };
  }
}

const [command, ...args] = job.command;
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "ignore" }));
const seen = {
  protocol: client.getNegotiatedProtocolVersion?.(),
  server: client.getServerVersion(),
  capabilities: client.getServerCapabilities(),
  instructions: client.getInstructions(),
  answers: [],
};
for (const one of job.steps) seen.answers.push(await step(one));
await client.close();
console.log(JSON.stringify({ ...seen, asked, progress }));
