// `kule-agent enrol`: a code of an operator becomes this agent's token, written where the service reads it.

import { createHash, X509Certificate } from "node:crypto";
import { accessSync, constants } from "node:fs";
import { hostname } from "node:os";
import { dirname, join, resolve } from "node:path";
import { type Action, carryOut } from "../install/action.ts";
import { InstallRefused, type Machine, thisMachine } from "../install/install.ts";
import { LAYOUT } from "../install/layout.ts";
import { ENVIRONMENT_TEXT, textOf } from "../install/plan-install.ts";
import { printable } from "../settings.ts";
import { ask, type Trust } from "./ask.ts";

export type EnrolOptions = {
  readonly address: string;
  readonly code: string;
  /** Null: the machine's. */
  readonly name: string | null;
  readonly root: string;
};

/** The secret, and the SHA-256 of the only authority that the agent may trust. */
const CODE = /^(kule_enr_[0-9a-z]{26}_[0-9A-Za-z]{38})(?:\.([A-Za-z0-9_-]{43}))?$/;
const API_ROOT = "/api/v1";

/** @throws InstallRefused when it cannot be done; the message says what to do */
export async function enrol(
  options: EnrolOptions,
  regionExample: string | null,
  print: (line: string) => void,
  machine: Machine = thisMachine,
): Promise<void> {
  const root = resolve(options.root);
  if (root === "/" && !machine.isRoot)
    throw new InstallRefused(
      "enrol writes the token to a file of root's, for which it needs to be root\n    fix: sudo kule-agent enrol …",
    );
  const url = apiRoot(options.address);
  const [, secret, pin] = CODE.exec(options.code) ?? [];
  if (secret === undefined)
    throw new InstallRefused(
      "the code is not whole\n    fix: copy the line of the panel from its beginning to its end",
    );
  // The code works once: what could go wrong afterwards is tried before.
  const act = (action: Action) => carryOut(action, root, machine.run);
  act({ do: "make folder", path: LAYOUT.settings });
  accessSync(dirname(join(root, LAYOUT.environment)), constants.W_OK | constants.X_OK);
  const environment = textOf(join(root, LAYOUT.environment)) ?? ENVIRONMENT_TEXT;
  const trust = pin === undefined || url.protocol === "http:" ? usual : await pinnedAuthority(url, pin);

  const { region, token } = await redeem(url, { secret, name: options.name ?? printable(hostname()) }, trust);
  const settings = [
    ["KULE_AGENT_TOKEN", token] as const,
    ...(trust.kind === "authority" ? [["NODE_EXTRA_CA_CERTS", LAYOUT.authority] as const] : []),
  ];
  if (trust.kind === "authority")
    act({ do: "write", path: LAYOUT.authority, text: trust.certificate, mode: 0o644 });
  act({ do: "write", path: LAYOUT.environment, text: withSettings(environment, settings), mode: 0o600 });
  print(`this agent is enrolled in region ${region}; its token is in ${LAYOUT.environment}`);
  nameRegion(root, { region, url: url.href, regionExample }, act, print);
}

const usual: Trust = { kind: "usual" };

/** The versioned root, without a slash at its end. @throws InstallRefused */
function apiRoot(address: string): URL {
  const url = URL.parse(address);
  const isHere = url !== null && ["127.0.0.1", "localhost", "[::1]"].includes(url.hostname);
  if (url === null || !(url.protocol === "https:" || (url.protocol === "http:" && isHere)))
    throw new InstallRefused(
      `${address} is not the address of a control plane\n    fix: write it as the panel does, https://…${API_ROOT}`,
    );
  url.search = "";
  url.hash = "";
  if (url.pathname === "/") url.pathname = API_ROOT;
  const path = url.pathname;
  let end = path.length;
  while (path[end - 1] === "/") end -= 1;
  url.pathname = path.slice(0, end);
  return url;
}

/** The installation's own authority, if it is the one that the code names. @throws InstallRefused */
async function pinnedAuthority(url: URL, pin: string): Promise<Trust> {
  const { body } = await answered(ask(at(url, "/agent/enrolment"), null, { kind: "nobody yet" }), url);
  const certificate = field(body, "certificate");
  const found = certificate === null ? null : parsed(certificate);
  if (found === null || createHash("sha256").update(found.raw).digest("base64url") !== pin)
    throw new InstallRefused(
      `${url.origin} does not have the certificate authority that the code names: it is another installation, or something between this machine and it answers in its place. The code was not sent\n    fix: check the address and this network, then create a new code`,
    );
  return { kind: "authority", certificate: found.toString() };
}

async function redeem(
  url: URL,
  body: { readonly secret: string; readonly name: string },
  trust: Trust,
): Promise<{ readonly region: string; readonly token: string }> {
  const answer = await answered(ask(at(url, "/agent/enrolment"), body, trust), url);
  const region = field(answer.body, "region");
  const token = field(answer.body, "secret");
  if (answer.status === 201 && region !== null && token !== null && /^kule_agent_\w+$/.test(token))
    return { region, token };
  if (answer.status === 422)
    throw new InstallRefused(
      "the code gives no token: it was used, or is older than 15 minutes, or is of another installation\n    fix: create a new one in the panel",
    );
  const why = field(answer.body, "detail") ?? `HTTP ${answer.status}`;
  throw new InstallRefused(`${url.href} does not enrol this agent: ${why}`);
}

const at = (url: URL, path: string): URL => new URL(`${url.href}${path}`);

async function answered<Value>(question: Promise<Value>, url: URL): Promise<Value> {
  try {
    return await question;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new InstallRefused(
      `${url.origin} cannot be asked: ${why}\n    fix: check the address, and outbound HTTPS from this network. Where the certificate is of a private authority, the installation has to name it (KULE_PUBLIC_CA_FILE), and the code then too`,
      { cause: error },
    );
  }
}

function field(body: unknown, name: string): string | null {
  if (typeof body !== "object" || body === null) return null;
  const value = (body as Readonly<Record<string, unknown>>)[name];
  return typeof value === "string" ? value : null;
}

function parsed(certificate: string): X509Certificate | null {
  try {
    return new X509Certificate(certificate);
  } catch {
    return null;
  }
}

/** Each on the line that it has, or on a new one. */
export function withSettings(text: string, settings: readonly (readonly [string, string])[]): string {
  let lines = text.split("\n");
  for (const [name, value] of settings) {
    const line = `${name}=${value}`;
    const present = lines.some((each) => each.trimStart().startsWith(`${name}=`));
    lines = present
      ? lines.map((each) => (each.trimStart().startsWith(`${name}=`) ? line : each))
      : [...lines.slice(0, lines.at(-1) === "" ? -1 : undefined), line, ""];
  }
  return lines.join("\n");
}

/** Fills an example; the operator's own file is only compared. */
function nameRegion(
  root: string,
  found: { readonly region: string; readonly url: string; readonly regionExample: string | null },
  act: (action: Action) => void,
  print: (line: string) => void,
): void {
  const { region, url, regionExample } = found;
  const text = textOf(join(root, LAYOUT.region));
  const names = text?.includes(url) && new RegExp(`^region: *["']?${region}["']?\\s*(#|$)`, "m").test(text);
  if (names) return;
  if (regionExample !== null && (text === null || text === regionExample)) {
    const filled = regionExample
      .replace(/^region:.*$/m, `region: ${region}`)
      .replace(/^control_plane:.*$/m, `control_plane: ${url} # the agent's token is in KULE_AGENT_TOKEN`);
    act({ do: "write", path: LAYOUT.region, text: filled, mode: 0o644 });
    print(
      `${LAYOUT.region} names the region and the control plane; write your cluster into it (docs/region-file.md)`,
    );
  } else print(`${LAYOUT.region} has to say:\n\n  region: ${region}\n  control_plane: ${url}`);
}
