import { createHash, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ServerIdentity, serverIdentity } from "@kule/lab/certificate";
import { afterEach, beforeEach, expect, test } from "vitest";
import { InstallRefused, type Machine } from "../install/install.ts";
import { LAYOUT } from "../install/layout.ts";
import { enrol, withSettings } from "./enrol.ts";

const SECRET = `kule_enr_06ex2v3m8n06ex2v3m8n06ex2v_${"a".repeat(38)}`;
const TOKEN = "kule_agent_06ex2v3m8n_0123456789";
const EXAMPLE = "region: ist1\ncontrol_plane: https://kule.example/api/v1 # the agent's token\nstorage: {}\n";

let folder: string;
let root: string;
let identity: ServerIdentity;
/** What the control plane shows as its authority. */
let authority: string | null;
let answer: { status: number; body: object };
let received: { path: string; body: unknown }[];
let server: Server;
let lines: string[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "kule-enrol-"));
  root = join(folder, "root");
  mkdirSync(root);
  identity = serverIdentity(folder, ["127.0.0.1"], new Date());
  authority = identity.certificatePem;
  answer = { status: 201, body: { region: "izm1", secret: TOKEN } };
  received = [];
  lines = [];
  server = createServer(
    { key: identity.keyPem, cert: identity.certificatePem },
    async (request, response) => {
      let text = "";
      for await (const chunk of request) text += chunk;
      const isRead = request.method === "GET";
      received.push({
        path: `${request.method} ${request.url}`,
        body: text === "" ? null : JSON.parse(text),
      });
      response.statusCode = isRead ? 200 : answer.status;
      response.end(JSON.stringify(isRead ? { certificate: authority } : answer.body));
    },
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
  rmSync(folder, { recursive: true, force: true });
});

const machine: Machine = { isRoot: false, hasSystemd: false, lockSeconds: 0, run: () => {} };
const address = () => `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
const pinOf = (pem: string) => createHash("sha256").update(new X509Certificate(pem).raw).digest("base64url");
const at = (path: string) => join(root, path);
const run = (code: string, more: { address?: string; root?: string } = {}) =>
  enrol(
    { address: address(), code, name: "agent-1", root, ...more },
    EXAMPLE,
    (line) => void lines.push(line),
    machine,
  );

test("a code becomes the token of this agent, in a file that only root reads, and is not printed", async () => {
  await run(`${SECRET}.${pinOf(identity.certificatePem)}`);
  expect(received).toEqual([
    { path: "GET /api/v1/agent/enrolment", body: null },
    { path: "POST /api/v1/agent/enrolment", body: { secret: SECRET, name: "agent-1" } },
  ]);
  const environment = readFileSync(at(LAYOUT.environment), "utf8");
  expect(environment).toContain(`\nKULE_AGENT_TOKEN=${TOKEN}\n`);
  expect(environment).toContain("\nKULE_PVE_TOKEN=\n");
  expect(environment).toContain(`\nNODE_EXTRA_CA_CERTS=${LAYOUT.authority}\n`);
  expect(statSync(at(LAYOUT.environment)).mode & 0o777).toBe(0o600);
  expect(pinOf(readFileSync(at(LAYOUT.authority), "utf8"))).toBe(pinOf(identity.certificatePem));
  expect(readFileSync(at(LAYOUT.region), "utf8")).toBe(
    `region: izm1\ncontrol_plane: ${address()}/api/v1 # the agent's token is in KULE_AGENT_TOKEN\nstorage: {}\n`,
  );
  expect(lines.join("\n")).not.toContain(TOKEN);
});

test("settings that are there stay: only the token's line changes, and a region file is never written over", async () => {
  mkdirSync(at(LAYOUT.settings), { recursive: true });
  writeFileSync(at(LAYOUT.environment), "# ours\nKULE_AGENT_TOKEN=old\nKULE_PVE_TOKEN=mine");
  writeFileSync(at(LAYOUT.region), "region: ist1\n");
  await run(`${SECRET}.${pinOf(identity.certificatePem)}`);
  expect(readFileSync(at(LAYOUT.environment), "utf8")).toBe(
    `# ours\nKULE_AGENT_TOKEN=${TOKEN}\nKULE_PVE_TOKEN=mine\nNODE_EXTRA_CA_CERTS=${LAYOUT.authority}\n`,
  );
  expect(readFileSync(at(LAYOUT.region), "utf8")).toBe("region: ist1\n");
  expect(lines.join("\n")).toContain("  region: izm1\n");
});

test.each([
  {
    what: "another authority",
    show: () => serverIdentity(mkdtempSync(join(folder, "other-")), ["127.0.0.1"], new Date()),
  },
  { what: "none", show: () => null },
])("a control plane that shows $what than the code names is not sent the code", async ({ show }) => {
  authority = show()?.certificatePem ?? null;
  await expect(run(`${SECRET}.${pinOf(identity.certificatePem)}`)).rejects.toThrow(/The code was not sent/);
  expect(received.map(({ path }) => path)).toEqual(["GET /api/v1/agent/enrolment"]);
  expect(existsSync(at(LAYOUT.environment))).toBe(false);
});

test("whoever shows the right authority without being of it is not sent the code", async () => {
  const right = serverIdentity(mkdtempSync(join(folder, "other-")), ["127.0.0.1"], new Date());
  authority = right.certificatePem;
  await expect(run(`${SECRET}.${pinOf(right.certificatePem)}`)).rejects.toThrow(/cannot be asked/);
  expect(received.map(({ path }) => path)).toEqual(["GET /api/v1/agent/enrolment"]);
});

test("without a pin in the code only a certificate that the machine trusts is", async () => {
  await expect(run(SECRET)).rejects.toThrow(/cannot be asked: .*certificate/);
  expect(received).toEqual([]);
});

test("a code that gives nothing is named, and nothing is written", async () => {
  answer = { status: 422, body: { code: "validation_failed" } };
  await expect(run(`${SECRET}.${pinOf(identity.certificatePem)}`)).rejects.toThrow(/was used, or is older/);
  answer = { status: 429, body: { detail: "wait" } };
  await expect(run(`${SECRET}.${pinOf(identity.certificatePem)}`)).rejects.toThrow(/wait/);
  expect(existsSync(at(LAYOUT.environment))).toBe(false);
});

test.each([
  { code: "kule_enr_cut", more: {}, says: /the code is not whole/ },
  { code: SECRET, more: { address: "http://kule.example" }, says: /not the address of a control plane/ },
  { code: SECRET, more: { address: "kule.example" }, says: /not the address of a control plane/ },
  { code: SECRET, more: { root: "/" }, says: /fix: sudo kule-agent enrol/ },
])("what cannot work is refused before anything is sent: $says", async ({ code, more, says }) => {
  const refused = run(code, more);
  await expect(refused).rejects.toThrow(InstallRefused);
  await expect(refused).rejects.toThrow(says);
  expect(received).toEqual([]);
});

test("a setting takes the place of its line, and a new one the end", () => {
  expect(withSettings("A=1\n#B=2\n", [["A", "3"]])).toBe("A=3\n#B=2\n");
  expect(withSettings("A=1", [["B", "2"]])).toBe("A=1\nB=2\n");
});
