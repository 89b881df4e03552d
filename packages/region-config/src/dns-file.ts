import { isIP } from "node:net";
import { dirname, resolve } from "node:path";
import schema from "../schema/dns.schema.json" with { type: "json" };
import { checkedDocument } from "./checked-document.ts";
import { validate } from "./generated/validate-dns.js";
import { nothing, Reading } from "./reading.ts";
import { RegionFileError } from "./region-file-error.ts";
import { schemaCheck } from "./schema-findings.ts";
import type { Secret } from "./secret.ts";
import { type Environment, textOf } from "./secret-references.ts";
import type { KeyPath, YamlSource } from "./yaml-source.ts";

/** What every process may know of the installation's DNS. */
export type DnsFile = {
  readonly nameServers: readonly NameServerPattern[];
  readonly resolving: Resolving;
  /** Blocks whose reverse zones are Kule's, such as `192.0.2.0/24`. */
  readonly reverseZones: readonly string[];
};

export type NameServerPattern = {
  /** `*.ns1.example.net`: the star stands for the domain's label. Lower case, without the final dot. */
  readonly pattern: string;
  /** Where the control plane asks it. */
  readonly addresses: readonly string[];
  readonly port: number;
};

/** How the control plane asks the Internet. */
export type Resolving = {
  readonly start: { readonly kind: "roots" | "resolvers"; readonly addresses: readonly string[] };
  readonly port: number;
  /** Also addresses that are not the Internet's may be asked. */
  readonly allowPrivate: boolean;
};

/** The provider's API, for the worker. */
export type DnsProviderAccess = { readonly url: string; readonly serverId: string; readonly apiKey: Secret };

/** The file, once the schema has let it pass. */
type DnsDocument = {
  readonly provider: {
    readonly url: string;
    readonly api_key_env?: string;
    readonly api_key_file?: string;
    readonly server_id: string;
  };
  readonly name_servers: readonly {
    readonly name: string;
    readonly addresses: readonly string[];
    readonly port: number;
  }[];
  readonly resolving?: {
    readonly roots?: readonly string[];
    readonly resolvers?: readonly string[];
    readonly port: number;
    readonly allow_private: boolean;
  };
  readonly reverse_zones?: readonly string[];
};

const check = schemaCheck({ schema, validate, guide: "docs/dns.md", name: "this file" });
const example = "docs/dns.example.yaml";

/** The IPv4 addresses of a.root-servers.net to m.root-servers.net (IANA's root hints). */
const rootServers = [
  "198.41.0.4",
  "170.247.170.2",
  "192.33.4.12",
  "199.7.91.13",
  "192.203.230.10",
  "192.5.5.241",
  "192.112.36.4",
  "198.97.190.53",
  "192.36.148.17",
  "192.58.128.30",
  "193.0.14.129",
  "199.7.83.42",
  "202.12.27.33",
];

/** How the Internet is asked where no file says it. */
export const ofTheInternet: Resolving = {
  start: { kind: "roots", addresses: rootServers },
  port: 53,
  allowPrivate: false,
};

/**
 * Reads the file that KULE_DNS_FILE names, without the provider's key.
 *
 * @returns the installation's DNS, or what is wrong with the file, a line for each finding with its place and a fix
 */
export function readDnsFile(path: string): DnsFile | string {
  return orFindings(() => {
    const { document, source } = checked(path);
    const reading = new Reading(source, dirname(resolve(path)), {});
    const file = installationOf(document, reading);
    reading.refuse(path);
    return file;
  });
}

/**
 * Reads the provider's part of the same file, with its key.
 *
 * @returns the provider, or what is wrong with the file
 */
export function readDnsProvider(path: string, environment: Environment): DnsProviderAccess | string {
  return orFindings(() => {
    const { document, source } = checked(path);
    const reading = new Reading(source, dirname(resolve(path)), environment);
    const { url, server_id: serverId } = document.provider;
    const apiKey = keyOf(document, reading);
    reading.refuse(path);
    return { url, serverId, apiKey };
  });
}

/** The environment variables that hold the secrets of a file that can be read. */
export function secretVariablesOfDns(path: string): string[] {
  const { api_key_env: variable } = checked(path).document.provider;
  return variable === undefined ? [] : [variable];
}

function orFindings<Value>(read: () => Value): Value | string {
  try {
    return read();
  } catch (error) {
    if (error instanceof RegionFileError) return error.message;
    throw error;
  }
}

function checked(path: string): { readonly document: DnsDocument; readonly source: YamlSource } {
  const text = textOf(path);
  if ("message" in text)
    throw new RegionFileError(path, [
      { line: null, column: null, key: "", message: text.message, fix: text.fix },
    ]);
  const { document, source } = checkedDocument(text.value, path, check, example);
  return { document: document as DnsDocument, source };
}

function installationOf(document: DnsDocument, reading: Reading): DnsFile {
  checkProvider(document.provider.url, reading);
  const names = document.name_servers.map(({ name }) => name);
  document.name_servers.forEach(({ name, addresses }, index) => {
    const path = ["name_servers", String(index)];
    if (names.indexOf(name) < index)
      reading.find([...path, "name"], "is another name server's already", "write each name once");
    checkAddresses(addresses, [...path, "addresses"], reading);
  });
  (document.reverse_zones ?? []).forEach((block, index) => {
    if (!isBlock(block))
      reading.find(
        ["reverse_zones", String(index)],
        "is not a block of addresses that has a reverse zone",
        "write a block such as 192.0.2.0/24 (at most /24) or 2001:db8::/48 (at most /124)",
      );
  });
  return {
    nameServers: document.name_servers.map(({ name, addresses, port }) => ({
      pattern: name,
      addresses,
      port,
    })),
    resolving: resolvingOf(document, reading),
    reverseZones: document.reverse_zones ?? [],
  };
}

function resolvingOf({ resolving }: DnsDocument, reading: Reading): Resolving {
  const {
    roots,
    resolvers,
    port = ofTheInternet.port,
    allow_private: allowPrivate = ofTheInternet.allowPrivate,
  } = resolving ?? {};
  if (roots !== undefined && resolvers !== undefined)
    reading.find(
      ["resolving", "resolvers"],
      "is a second place to begin",
      "keep roots (name servers that are followed down) or resolvers (recursive ones)",
    );
  checkAddresses(roots ?? [], ["resolving", "roots"], reading);
  checkAddresses(resolvers ?? [], ["resolving", "resolvers"], reading);
  const start =
    resolvers === undefined
      ? { kind: "roots" as const, addresses: roots ?? ofTheInternet.start.addresses }
      : { kind: "resolvers" as const, addresses: resolvers };
  return { start, port, allowPrivate };
}

function checkProvider(text: string, reading: Reading): void {
  const url = URL.parse(text);
  if (url === null || url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    reading.find(
      ["provider", "url"],
      "is no address of an API",
      "write where PowerDNS' API listens, such as http://127.0.0.1:8081, without a user or a password",
    );
}

function checkAddresses(addresses: readonly string[], path: KeyPath, reading: Reading): void {
  addresses.forEach((address, index) => {
    if (isIP(address) === 0)
      reading.find([...path, String(index)], "is not an address", "write an IPv4 or IPv6 address");
  });
}

function isBlock(text: string): boolean {
  const [, address = "", prefix = ""] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? [];
  const version = isIP(address);
  return version !== 0 && Number(prefix) >= 1 && Number(prefix) <= (version === 4 ? 24 : 124);
}

function keyOf({ provider }: DnsDocument, reading: Reading): Secret {
  const { api_key_env: variable, api_key_file: file } = provider;
  const found =
    file === undefined
      ? reading.referredSecret(["provider", "api_key_env"], { variable: variable ?? "" })
      : reading.referredSecret(["provider", "api_key_file"], { file });
  return found ?? nothing;
}
