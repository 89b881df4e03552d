// The calls of PowerDNS 4.7's HTTP API that Kule makes, with its statuses and texts.

import { canonicalName, changedZone, Refusal } from "./change-zone.ts";
import { type StoredZone, serialOf, withNextSerial, type Zone } from "./zone.ts";
import type { ZoneFiles } from "./zone-files.ts";
import { keyView, newKey, privateKeyText } from "./zone-keys.ts";

export interface ApiCall {
  readonly method: string;
  /** With the query. */
  readonly url: string;
  readonly apiKey: string | undefined;
  readonly body: string;
}

/** `body` undefined for 204; a string is plain text, all else JSON. */
export interface ApiAnswer {
  readonly status: number;
  readonly body?: unknown;
}

/** PowerDNS' `webserver-max-bodysize` in its default. */
export const MAX_REQUEST_BYTES = 2 * 1024 * 1024;

const SERVER = "/api/v1/servers/localhost";
const NO_CONTENT: ApiAnswer = { status: 204 };
const NOT_FOUND: ApiAnswer = { status: 404, body: "Not Found" };
const NOT_ALLOWED: ApiAnswer = { status: 405, body: "Method Not Allowed" };

export function answerApi(files: ZoneFiles, apiKey: string, call: ApiCall): ApiAnswer {
  if (call.apiKey !== apiKey) return { status: 401, body: "Unauthorized" };
  const { pathname, searchParams } = new URL(call.url, "http://stand-in");
  if (!pathname.startsWith(`${SERVER}/zones`)) return NOT_FOUND;
  const [id, what, key, ...rest] = pathname.slice(`${SERVER}/zones`.length).split("/").slice(1);
  if (rest.length > 0) return NOT_FOUND;
  let body: Record<string, unknown> = {};
  if (call.body !== "") {
    try {
      body = JSON.parse(call.body) as Record<string, unknown>;
    } catch {
      return { status: 400, body: "Bad Request" };
    }
  }
  try {
    if (id === undefined) return answerZones(files, call.method, body);
    const zone = files.zones.get(nameOfId(id));
    if (zone === undefined) return NOT_FOUND;
    if (what === undefined)
      return answerZone(files, zone, call.method, body, searchParams.get("rrsets") !== "false");
    if (what === "cryptokeys") return answerKeys(files, zone, call.method, key, body);
    // Nothing to do: what this server answers is not signed.
    if (what === "rectify" && call.method === "PUT") return { status: 200, body: { result: "Rectified" } };
    return NOT_FOUND;
  } catch (error) {
    if (error instanceof Refusal) return { status: 422, body: { error: error.message } };
    throw error;
  }
}

function answerZones(files: ZoneFiles, method: string, body: Record<string, unknown>): ApiAnswer {
  if (method === "GET")
    return { status: 200, body: [...files.zones.values()].map((zone) => zoneView(zone, false)) };
  if (method !== "POST") return NOT_ALLOWED;
  const name = canonicalName(String(body.name));
  if (files.zones.has(name)) return { status: 409, body: "Conflict" };
  const empty: StoredZone = {
    name,
    kind: String(body.kind),
    soaEditApi: String(body.soa_edit_api ?? "DEFAULT"),
    apiRectify: body.api_rectify === true,
    sets: [],
    keys: [],
    nextKeyId: 1,
  };
  const nameServers = Array.isArray(body.nameservers) ? body.nameservers.map(String) : [];
  for (const each of nameServers)
    if (!each.endsWith(".")) throw new Refusal(`Nameserver is not canonical: '${each}'`);
  const given = Array.isArray(body.rrsets) ? (body.rrsets as Record<string, unknown>[]) : [];
  const defaults = [
    recordSet(name, "SOA", [
      `a.misconfigured.dns.server.invalid. hostmaster.${name === "." ? "" : name} 0 10800 3600 604800 3600`,
    ]),
    recordSet(name, "NS", nameServers),
  ].filter(({ type }) => !given.some((set) => set.type === type && set.name === name));
  const sets = [...defaults, ...given].map((set) => ({ ...set, changetype: "REPLACE" }));
  files.put(withNextSerial(changedZone(empty, sets)));
  return { status: 201, body: zoneView(found(files, name), true) };
}

function answerZone(
  files: ZoneFiles,
  zone: Zone,
  method: string,
  body: Record<string, unknown>,
  withSets: boolean,
): ApiAnswer {
  switch (method) {
    case "GET":
      return { status: 200, body: zoneView(zone, withSets) };
    case "PATCH":
      if (!Array.isArray(body.rrsets)) throw new Refusal("No rrsets given in update request");
      // Also when nothing differs: PowerDNS does not compare.
      files.put(withNextSerial(changedZone(zone, body.rrsets)));
      return NO_CONTENT;
    case "PUT":
      files.put({
        ...zone,
        kind: String(body.kind ?? zone.kind),
        soaEditApi: String(body.soa_edit_api ?? zone.soaEditApi),
        apiRectify: (body.api_rectify ?? zone.apiRectify) === true,
      });
      return NO_CONTENT;
    case "DELETE":
      files.remove(zone.name);
      return NO_CONTENT;
    default:
      return NOT_ALLOWED;
  }
}

function answerKeys(
  files: ZoneFiles,
  zone: Zone,
  method: string,
  keyId: string | undefined,
  body: Record<string, unknown>,
): ApiAnswer {
  if (keyId === undefined) {
    if (method === "GET") return { status: 200, body: zone.keys.map((key) => keyView(zone.name, key)) };
    if (method !== "POST") return NOT_ALLOWED;
    if (body.keytype !== "csk") throw new Refusal(`Invalid keytype ${String(body.keytype)}`);
    if (body.algorithm !== "ECDSAP256SHA256")
      throw new Refusal(`Unknown algorithm: ${String(body.algorithm)}`);
    const key = newKey(zone.nextKeyId, body.active === true);
    files.put({ ...zone, keys: [...zone.keys, key], nextKeyId: zone.nextKeyId + 1 });
    return { status: 201, body: { ...keyView(zone.name, key), privatekey: privateKeyText(key) } };
  }
  const key = zone.keys.find((each) => String(each.id) === keyId);
  if (key === undefined) return NOT_FOUND;
  const others = zone.keys.filter((each) => each !== key);
  switch (method) {
    case "GET":
      return { status: 200, body: { ...keyView(zone.name, key), privatekey: privateKeyText(key) } };
    case "PUT":
      files.put({ ...zone, keys: [...others, { ...key, active: body.active === true }] });
      return NO_CONTENT;
    case "DELETE":
      files.put({ ...zone, keys: others });
      return NO_CONTENT;
    default:
      return NOT_ALLOWED;
  }
}

function zoneView(zone: StoredZone, withSets: boolean) {
  return {
    id: zone.name.replace(
      /[^a-z0-9.-]/g,
      (character) => `=${character.charCodeAt(0).toString(16).toUpperCase()}`,
    ),
    name: zone.name,
    kind: zone.kind,
    dnssec: zone.keys.some((key) => key.active),
    serial: serialOf(zone),
    edited_serial: serialOf(zone),
    soa_edit_api: zone.soaEditApi,
    api_rectify: zone.apiRectify,
    ...(withSets ? { rrsets: zone.sets.map((set) => ({ ...set, comments: [] })) } : {}),
  };
}

function nameOfId(id: string): string {
  const name = decodeURIComponent(id).replace(/=([0-9A-F]{2})/g, (_, hex) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return (name.endsWith(".") ? name : `${name}.`).toLowerCase();
}

function recordSet(name: string, type: string, contents: readonly string[]) {
  return { name, type, ttl: 3600, records: contents.map((content) => ({ content, disabled: false })) };
}

function found(files: ZoneFiles, name: string): Zone {
  const zone = files.zones.get(name);
  if (zone === undefined) throw new Error(`${name} was not kept`);
  return zone;
}
