// What a schema cannot express: how the values fit together. Runs only on a document that is valid by the
// schema.

import { X509Certificate } from "node:crypto";
import type { NumberRange, RegionDocument } from "./region-file.ts";
import type { KeyPath } from "./yaml-source.ts";

export type CrossFinding = { readonly path: KeyPath; readonly message: string; readonly fix: string };

/** "100-999" as numbers. */
export function parseRange(text: string): NumberRange {
  const [first = "", last = ""] = text.split("-");
  return { first: Number(first), last: Number(last) };
}

/** Everything in the document that contradicts itself or could do harm. */
export function crossFindings(document: RegionDocument): CrossFinding[] {
  return [
    ...controlPlaneFindings(document),
    ...endpointFindings(document),
    ...rangeFindings(document.hypervisor.vmid_range, ["hypervisor", "vmid_range"], 100, 999_999_999),
    ...rangeFindings(document.network.vlan_range, ["network", "vlan_range"], 2, 4094),
    ...publicNetworkFindings(document),
    ...templateFindings(document),
    ...nodeFindings(document),
    ...edgeFindings(document),
  ];
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** The path of the control plane's address in the document, in its short or long form. */
export const controlPlanePath = (document: RegionDocument): KeyPath =>
  typeof document.control_plane === "string" ? ["control_plane"] : ["control_plane", "url"];

function controlPlaneFindings(document: RegionDocument): CrossFinding[] {
  const text =
    typeof document.control_plane === "string" ? document.control_plane : document.control_plane.url;
  const path = controlPlanePath(document);
  if (!URL.canParse(text))
    return [{ path, message: "is not an address", fix: "write it like https://kule.example/api/v1" }];
  const url = new URL(text);
  if (url.protocol === "http:" && !LOOPBACK.test(url.hostname))
    return [
      {
        path,
        message: "would send the agent's token over an unencrypted connection",
        fix: "write https:// (http:// is for this machine only)",
      },
    ];
  return [];
}

function endpointFindings(document: RegionDocument): CrossFinding[] {
  return document.hypervisor.endpoints.flatMap((endpoint, index) => {
    const port = Number(endpoint.slice(endpoint.lastIndexOf(":") + 1));
    return URL.canParse(endpoint) && port > 0
      ? []
      : [
          {
            path: ["hypervisor", "endpoints", String(index)],
            message: "is not an address",
            fix: "write scheme, host and port, such as https://pve1.example:8006",
          },
        ];
  });
}

function rangeFindings(text: string, path: KeyPath, lowest: number, highest: number): CrossFinding[] {
  const { first, last } = parseRange(text);
  if (first > last)
    return [
      { path, message: "ends before it begins", fix: `write the smaller number first: ${last}-${first}` },
    ];
  if (first < lowest || last > highest)
    return [{ path, message: `must lie within ${lowest}-${highest}`, fix: "choose a range inside it" }];
  return [];
}

function publicNetworkFindings(document: RegionDocument): CrossFinding[] {
  const { bridge, vlan_range, public: outside } = document.network;
  if (outside?.vlan === undefined || outside.bridge !== bridge) return [];
  const { first, last } = parseRange(vlan_range);
  if (outside.vlan < first || outside.vlan > last) return [];
  return [
    {
      path: ["network", "public", "vlan"],
      message: `is inside network.vlan_range on the same bridge ${bridge}: a private network could be given it`,
      fix: "use a VLAN outside the range, narrow the range, or use another bridge",
    },
  ];
}

function templateFindings(document: RegionDocument): CrossFinding[] {
  const { first, last } = parseRange(document.hypervisor.vmid_range);
  const usedBy = new Map<number, string>();
  return templatesWithPlaces(document).flatMap(({ slug, path, vmid }) => {
    const other = usedBy.get(vmid);
    usedBy.set(vmid, other ?? slug);
    if (other !== undefined)
      return [
        {
          path,
          message:
            other === slug
              ? "is written twice: a VM is on one node only"
              : `is also the template of ${other}: its servers would get the wrong system`,
          fix: `write the VM id of ${slug}'s own template`,
        },
      ];
    if (vmid >= first && vmid <= last)
      return [
        {
          path,
          message: "is inside hypervisor.vmid_range: a new server could be given the template's VM id",
          fix: "move the template to a VM id outside the range, or move the range",
        },
      ];
    return [];
  });
}

function templatesWithPlaces(document: RegionDocument): { slug: string; path: KeyPath; vmid: number }[] {
  return Object.entries(document.templates).flatMap(([slug, template]) =>
    "vmid" in template
      ? [{ slug, path: ["templates", slug, "vmid"], vmid: template.vmid }]
      : Object.entries(template.vmid_by_node).map(([node, vmid]) => ({
          slug,
          path: ["templates", slug, "vmid_by_node", node],
          vmid,
        })),
  );
}

/** A template on each node means local disks, and these cannot be cloned to another node. */
function nodeFindings(document: RegionDocument): CrossFinding[] {
  const targets = document.hypervisor.target_nodes;
  if (targets === undefined) return [];
  const wanted = targets.toSorted().join(", ");
  return Object.entries(document.templates).flatMap(([slug, template]) => {
    if ("vmid" in template) return [];
    const nodes = Object.keys(template.vmid_by_node).toSorted().join(", ");
    return nodes === wanted
      ? []
      : [
          {
            path: ["templates", slug, "vmid_by_node"],
            message: `names other nodes (${nodes}) than hypervisor.target_nodes (${wanted})`,
            fix: "give each target node its template, or leave target_nodes out",
          },
        ];
  });
}

/** The kernel's names have 15 characters, and `v4094` or `p4094` is appended to the trunk's. */
const LONGEST_TRUNK_NAME = 10;

function edgeFindings({ edge }: RegionDocument): CrossFinding[] {
  if (edge?.trunk.mode !== "bridge" || edge.trunk.interface.length <= LONGEST_TRUNK_NAME) return [];
  return [
    {
      path: ["edge", "trunk", "interface"],
      message: `has more than ${LONGEST_TRUNK_NAME} characters: the bridges of its VLANs could not be named after it`,
      fix: "give the interface a shorter name, or use mode: vlan",
    },
  ];
}

/** What is wrong with a file of certificate authorities, or null. */
export function certificateProblem(pem: string, nowMilliseconds: number): string | null {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) return "holds no certificate in PEM form";
  for (const block of blocks) {
    try {
      const until = new X509Certificate(block).validToDate;
      if (until.getTime() < nowMilliseconds)
        return `holds a certificate that ended on ${until.toISOString().slice(0, 10)}`;
    } catch {
      return "holds a certificate that cannot be read";
    }
  }
  return null;
}
