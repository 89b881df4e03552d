import { dirname, resolve } from "node:path";
import schema from "../schema/region.schema.json" with { type: "json" };
import { checkedDocument } from "./checked-document.ts";
import { certificateProblem, crossFindings, parseRange } from "./cross-checks.ts";
import { validate } from "./generated/validate-region.js";
import { nothing, Reading } from "./reading.ts";
import type { Edge, HypervisorTls, RegionDocument, RegionFile } from "./region-file.ts";
import { RegionFileError } from "./region-file-error.ts";
import { schemaCheck } from "./schema-findings.ts";
import type { Secret } from "./secret.ts";
import { type Environment, textOf } from "./secret-references.ts";
import type { KeyPath } from "./yaml-source.ts";

const check = schemaCheck({
  schema,
  validate,
  guide: "docs/region-file.md",
  name: "the region file",
  words: {
    not: { message: "token_env and token_file exclude each other", fix: "remove one of the two" },
    never: { message: "has no meaning with transport: local", fix: "remove it, or write transport: ssh" },
  },
});

/** The variable with the agent's token when the file names none. */
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
  const { document: checked, source } = checkedDocument(text, path, check, "docs/region.example.yaml");
  const document = checked as RegionDocument;
  const reading = new RegionReading(source, dirname(resolve(path)), environment);
  for (const { path: at, message, fix } of crossFindings(document)) reading.find(at, message, fix);
  const file = regionFile(document, resolve(path), reading);
  reading.refuse(path);
  return file;
}

function regionFile(document: RegionDocument, path: string, reading: RegionReading): RegionFile {
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

function edgeOf(edge: NonNullable<RegionDocument["edge"]>, reading: RegionReading): Edge {
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

class RegionReading extends Reading {
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
    const found = this.referredSecret(path, file === undefined ? { variable: variable ?? "" } : { file });
    if (found === null) return nothing;
    if (!kind.shape.test(found.reveal()))
      this.find(path, `the ${found.source} does not hold ${kind.expected}`, "set it to the whole value");
    return found;
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
