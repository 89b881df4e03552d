import { dirname, resolve } from "node:path";
import { certificateProblem, crossFindings, parseRange } from "./cross-checks.ts";
import type { Edge, HypervisorTls, RegionDocument, RegionFile } from "./region-file.ts";
import { RegionFileError, type RegionFileFinding } from "./region-file-error.ts";
import { nameOf, schemaFindings } from "./schema-findings.ts";
import { Secret } from "./secret.ts";
import {
  type Environment,
  type Resolved,
  secretFromEnvironment,
  secretFromFile,
  textOf,
} from "./secret-references.ts";
import { type KeyPath, YamlSource } from "./yaml-source.ts";

/** Where the agent's token is when the file does not say. */
export const AGENT_TOKEN_VARIABLE = "KULE_AGENT_TOKEN";

/**
 * Reads and checks a region file, with the secrets and files it refers to.
 *
 * @param path of the YAML file; paths inside it start at its folder
 * @param environment where `*_env` secrets are looked up, usually process.env
 * @throws RegionFileError with every finding, each with line, column and a fix
 */
export function loadRegionFile(path: string, environment: Environment): RegionFile {
  const text = textOf(path);
  if ("message" in text)
    throw new RegionFileError(path, [
      { line: null, column: null, key: "", message: text.message, fix: text.fix },
    ]);
  return parseRegionFile(text.value, path, environment);
}

/** The same for a text that is already there; `path` names it in messages and anchors its relative paths. */
export function parseRegionFile(text: string, path: string, environment: Environment): RegionFile {
  const source = new YamlSource(text);
  if (source.findings.length > 0) throw new RegionFileError(path, source.findings);
  const value = valueIn(source, path);
  if (value === null || value === undefined)
    throw new RegionFileError(path, [
      {
        line: 1,
        column: 1,
        key: "",
        message: "the file is empty",
        fix: "start from docs/region.example.yaml",
      },
    ]);
  const wrong = schemaFindings(value, source);
  if (wrong.length > 0) throw new RegionFileError(path, inOrder(wrong));

  const document = value as RegionDocument;
  const reading = new Reading(source, dirname(resolve(path)), environment);
  for (const { path: at, message, fix } of crossFindings(document)) reading.find(at, message, fix);
  const file = regionFile(document, resolve(path), reading);
  if (reading.findings.length > 0) throw new RegionFileError(path, inOrder(reading.findings));
  return file;
}

function valueIn(source: YamlSource, path: string): unknown {
  try {
    return source.toValue();
  } catch (error) {
    // Aliases that multiply beyond any honest use; the library refuses to expand them.
    if (!(error instanceof ReferenceError)) throw error;
    throw new RegionFileError(path, [
      { line: 1, column: 1, key: "", message: "has too many aliases", fix: "write the values out" },
    ]);
  }
}

function regionFile(document: RegionDocument, path: string, reading: Reading): RegionFile {
  const { hypervisor, storage, network, agent } = document;
  const controlPlane =
    typeof document.control_plane === "string" ? { url: document.control_plane } : document.control_plane;
  return {
    path,
    region: document.region,
    controlPlane: {
      url: controlPlane.url.replace(/\/$/, ""),
      token: reading.secret(["control_plane"], "token", controlPlane, {
        otherwise: AGENT_TOKEN_VARIABLE,
        shape: /^kule_agent_[A-Za-z0-9_]+$/,
        expected:
          "an agent token (kule_agent_…), which an operator mints with POST /regions/{region}/agent-tokens",
      }),
    },
    hypervisor: {
      kind: hypervisor.kind,
      endpoints: hypervisor.endpoints,
      token: reading.secret(["hypervisor"], "token", hypervisor, {
        shape: /^[^\s:/=]+@[A-Za-z][A-Za-z0-9._-]+![A-Za-z][A-Za-z0-9._-]+=[\x21-\x3a\x3c-\x7e]+$/,
        expected: "a Proxmox API token, USER@REALM!NAME=SECRET",
      }),
      tls: reading.tls(hypervisor.tls),
      poolPrefix: hypervisor.pool_prefix,
      vmidRange: parseRange(hypervisor.vmid_range),
      targetNodes: hypervisor.target_nodes ?? null,
      clone: hypervisor.clone,
      firewallRoundSeconds: hypervisor.firewall_round_seconds,
      hasNodeFilter: hypervisor.node_filter,
    },
    storage: { disks: storage.disks, cloudinit: storage.cloudinit ?? storage.disks },
    network: {
      bridge: network.bridge,
      vlanRange: parseRange(network.vlan_range),
      public: network.public ? { bridge: network.public.bridge, vlan: network.public.vlan ?? null } : null,
    },
    templates: Object.fromEntries(
      Object.entries(document.templates).map(([slug, template]) => [
        slug,
        "vmid" in template ? template : { vmidByNode: template.vmid_by_node },
      ]),
    ),
    edge: document.edge ? edgeOf(document.edge, reading) : null,
    agent: {
      name: agent?.name ?? null,
      concurrency: agent?.concurrency ?? 4,
      healthSeconds: agent?.health_seconds ?? 20,
      inventorySeconds: agent?.inventory_seconds ?? 30,
      stateDirectory: reading.fullPath(agent?.state_dir ?? ".kule-agent"),
    },
  };
}

function edgeOf(edge: NonNullable<RegionDocument["edge"]>, reading: Reading): Edge {
  const common = { kind: edge.kind, uplink: edge.uplink, trunk: edge.trunk };
  if (edge.transport === "local") return { ...common, transport: "local" };
  const key = reading.secret(["edge"], "key", edge, {
    shape: /^-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]+-----END [A-Z ]*PRIVATE KEY-----$/,
    expected: "a private SSH key, from -----BEGIN to END-----",
  });
  return {
    ...common,
    transport: "ssh",
    host: edge.host ?? "",
    port: edge.port ?? 22,
    user: edge.user ?? "",
    key,
    hostKey: edge.host_key ?? "",
  };
}

type SecretKind = {
  /** The variable that is read when the file names none. */
  readonly otherwise?: string;
  readonly shape: RegExp;
  readonly expected: string;
};

/** What is read while a document becomes a RegionFile; collects what goes wrong instead of stopping at the first. */
class Reading {
  readonly findings: RegionFileFinding[] = [];
  readonly #source: YamlSource;
  readonly #folder: string;
  readonly #environment: Environment;

  constructor(source: YamlSource, folder: string, environment: Environment) {
    this.#source = source;
    this.#folder = folder;
    this.#environment = environment;
  }

  find(path: KeyPath, message: string, fix: string): void {
    this.findings.push({ ...this.#source.placeOfValue(path), key: nameOf(path), message, fix });
  }

  fullPath(path: string): string {
    return resolve(this.#folder, path);
  }

  /** The secret that `<name>_env` or `<name>_file` refers to. */
  secret(section: KeyPath, name: "token" | "key", keys: object, kind: SecretKind): Secret {
    const references = keys as Readonly<Record<string, string | undefined>>;
    const file = references[`${name}_file`];
    const variable = references[`${name}_env`] ?? (file === undefined ? kind.otherwise : undefined);
    const path =
      file !== undefined
        ? [...section, `${name}_file`]
        : references[`${name}_env`] === undefined
          ? section
          : [...section, `${name}_env`];
    const found: Resolved<Secret> =
      file === undefined
        ? secretFromEnvironment(variable ?? "", this.#environment)
        : secretFromFile(file, this.#folder);
    if ("message" in found) {
      this.find(path, found.message, found.fix);
      // The file is going to be refused; this only stands where the secret would.
      return new Secret("", "nowhere");
    }
    if (!kind.shape.test(found.value.reveal()))
      this.find(
        path,
        `the ${found.value.source} does not hold ${kind.expected}`,
        "set it to the whole value",
      );
    return found.value;
  }

  tls(tls: RegionDocument["hypervisor"]["tls"]): HypervisorTls {
    if (tls.fingerprints !== undefined) return { fingerprints: tls.fingerprints };
    if (tls.ca === undefined) return { system: true };
    const path = ["hypervisor", "tls", "ca"];
    const full = this.fullPath(tls.ca);
    const text = textOf(full);
    if ("message" in text) {
      this.find(path, text.message, text.fix);
      return { ca: "" };
    }
    const problem = certificateProblem(text.value, Date.now());
    if (problem !== null)
      this.find(path, `${full} ${problem}`, "copy /etc/pve/pve-root-ca.pem from a node, or use fingerprints");
    return { ca: text.value };
  }
}

function inOrder(findings: readonly RegionFileFinding[]): RegionFileFinding[] {
  return findings.toSorted(
    (one, other) => (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0),
  );
}
