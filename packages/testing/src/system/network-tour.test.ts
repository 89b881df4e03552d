import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type ApiClient, createApiClient } from "@kule/contract/client";
import type { Schemas } from "@kule/contract/schemas";
import { probeWires } from "@kule/lab/wires/wires";
import { findFreePort } from "@kule/postgres/free-port";
import { removePostgresData } from "@kule/postgres/launcher";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startProcess, type TestProcess, untilReady } from "../child-process.ts";
import { ConsoleViewer } from "../console-viewer.ts";
import { runSteps, type Step, stepsOf, verdictOf } from "../documented-commands.ts";
import { requirePart } from "../parts.ts";

const part = await requirePart("wires", probeWires, import.meta.filename);
const root = resolve(import.meta.dirname, "../../../..");

/** The page's commands, by their heading; each part begins with the settings of the page's first block. */
const page = readFileSync(join(root, "docs/products/networks.md"), "utf8");
const [setUp = [], town = [], wayOut = []] = page.split(/^### /m).map(stepsOf);
const [gatewayMade, gatewayGone] = [wayOut.slice(0, -2), wayOut.slice(-2)];

type Name = "front" | "back" | "near" | "far";

/**
 * The tour of docs/products/networks.md as a person follows it: `npm start`, the public API, and consoles to
 * type into.
 */
describe.skipIf(part.missing)("a tour through the networks of `npm start`", { timeout: 120_000 }, () => {
  let directory: string;
  let run: TestProcess;
  const viewers = new Map<Name, ConsoleViewer>();

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "kule-tour-"));
    chmodSync(directory, 0o755);
    const [api, console, lab, dns] = await Promise.all([
      findFreePort(),
      findFreePort(),
      findFreePort(),
      findFreePort(),
    ]);
    run = startProcess("npm start", [join(root, "tools/quickstart/src/main.ts")], {
      HOME: process.env.HOME ?? "/",
      KULE_HOME: join(directory, ".kule"),
      KULE_API_PORT: String(api),
      KULE_CONSOLE_PORT: String(console),
      KULE_LAB_PORT: String(lab),
      KULE_LAB_DNS_PORT: String(dns),
      KULE_LAB_TIME_SCALE: "0",
    });
    await untilReady(run, async () => (run.output().includes("Ctrl-C stops") ? true : undefined), 120_000);
  }, 180_000);
  afterAll(async () => {
    for (const viewer of viewers.values()) viewer.socket.terminate();
    await run?.end("SIGTERM");
    removePostgresData(join(directory, ".kule/postgres"));
    rmSync(directory, { recursive: true, force: true });
  }, 60_000);

  const kept = <T>(file: string) => JSON.parse(readFileSync(join(directory, file), "utf8")) as T;

  async function follow(steps: readonly Step[]): Promise<void> {
    const { results, code } = await runSteps([...setUp, ...steps], { directory, home: directory });
    expect(results.map(verdictOf).filter((verdict) => verdict !== null)).toEqual([]);
    expect(code).toBe(0);
    expect(results.flatMap(({ calls }) => calls).length).toBeGreaterThan(0);
  }

  function clientOf(name: Name): ApiClient {
    const { api_url, organisation_token } = kept<{ api_url: string; organisation_token: string }>(
      ".kule/quickstart.json",
    );
    const isOurs = name === "front" || name === "back";
    const token = isOurs ? organisation_token : kept<Schemas["Session"]>("session.json").token;
    return createApiClient({ baseUrl: api_url, token, readRetries: 0 });
  }

  /** A console of the server with a person signed in; it stays open from the first line to the end. */
  async function consoleOf(name: Name): Promise<ConsoleViewer> {
    const open = viewers.get(name);
    if (open !== undefined) return open;
    const { server, console_password } = kept<Schemas["ServerCreated"]>(`${name}.json`);
    const { data, error } = await clientOf(name).POST("/servers/{server_id}/console", {
      params: { path: { server_id: server.id } },
      body: { type: "serial" },
    });
    if (data === undefined) throw new Error(JSON.stringify(error));
    const viewer = new ConsoleViewer(data, new URL(data.url.replace("ws", "http")).origin, () =>
      run.output(),
    );
    viewers.set(name, viewer);
    await viewer.until(() => viewer.bytes.length > 0);
    await viewer.line("", /login: $/);
    await viewer.line(server.image.slug === "debian-12" ? "debian" : "ubuntu", /Password: $/);
    await viewer.line(console_password ?? "", /\$ $/);
    return viewer;
  }

  const types = async (name: Name, line: string, until = /\$ $/) => (await consoleOf(name)).line(line, until);
  const answers = / 0% packet loss/;
  const silence = /100% packet loss/;

  test("its commands create two organisations' servers with the same addresses", async () => {
    await follow(town);
    const addressOf = (name: Name) =>
      kept<Schemas["ServerCreated"]>(`${name}.json`).server.interfaces[0]?.private_ip;
    expect([addressOf("front"), addressOf("back")]).toEqual(["10.20.1.2", "10.20.2.2"]);
    expect([addressOf("near"), addressOf("far")]).toEqual(["10.20.1.2", "10.20.1.3"]);
    expect(run.output()).toContain("Packets    real ones");
  });

  test("two servers in two subnets reach each other from their consoles", async () => {
    expect(await types("front", "ip -br address")).toMatch(/eth0 .*10\.20\.1\.2\/24/);
    expect(await types("front", "ping -c 2 10.20.2.2")).toMatch(/ttl=63[\s\S]* 0% packet loss/);
    expect(await types("back", "ping -c 2 10.20.1.2")).toMatch(/ttl=63[\s\S]* 0% packet loss/);
    await types("back", "python3 -m http.server 80", /Serving HTTP/);
    expect(await types("front", "curl http://10.20.2.2/")).toContain("Hello from back. You are 10.20.1.2.");
    // The line was written by the server at the other console.
    const back = await consoleOf("back");
    await back.until(() => back.bytes.toString().includes("10.20.1.2 - - ["));
    expect(await types("back", "\x03")).toContain("^C");
  });

  test("another organisation's servers are not there, whatever their addresses", async () => {
    expect(await types("near", "ping -c 1 10.20.1.3")).toMatch(answers);
    expect(await types("front", "ping -c 1 10.20.1.3")).toMatch(silence);
    expect(await types("near", "ping -c 1 10.20.2.2")).toMatch(silence);
    expect(await types("front", "curl -m 2 http://10.20.1.3/")).toContain("curl: (");
    // Both have the address; each answers its own.
    await types("near", "python3 -m http.server 80", /Serving HTTP/);
    expect(await types("far", "curl http://10.20.1.2/")).toContain("Hello from near. You are 10.20.1.3.");
    expect(await types("back", "curl -m 2 http://10.20.1.2/")).toContain("curl: (");
    await types("near", "\x03");
  });

  test("only a gateway leads to the internet, and never from a data subnet", async () => {
    const outside = "198.51.100.250";
    for (const name of ["front", "back"] as const) {
      expect(await types(name, `ping -c 1 ${outside}`), name).toMatch(silence);
      expect(await types(name, `curl -m 2 http://${outside}/`), name).toContain("curl: (7)");
    }
    await follow(gatewayMade);
    const { gateway } = kept<{ gateway: Schemas["Gateway"] }>("gateway.json");
    expect(await types("front", `ping -c 1 ${outside}`)).toMatch(answers);
    expect(await types("front", `curl http://${outside}/`)).toContain(
      `Hello from the internet. You are ${gateway.public_ip.address}.`,
    );
    expect(await types("back", `ping -c 1 ${outside}`)).toMatch(silence);
    expect(await types("near", `ping -c 1 ${outside}`)).toMatch(silence);
    expect(await types("front", "ping -c 1 10.20.2.2")).toMatch(answers);
    await follow(gatewayGone);
    expect(await types("front", `ping -c 1 ${outside}`)).toMatch(silence);
    expect(await types("front", "ping -c 1 10.20.2.2")).toMatch(answers);
  });

  test("processes that a console starts in a network end when the console is closed", async () => {
    await types("back", "python3 -m http.server 80", /Serving HTTP/);
    expect(await types("front", "curl http://10.20.2.2/")).toContain("Hello from back.");
    viewers.get("back")?.socket.close();
    viewers.delete("back");
    await expect
      .poll(() => types("front", "curl -m 1 http://10.20.2.2/"), { timeout: 20_000, interval: 200 })
      .toContain("curl: (");
  });
});
