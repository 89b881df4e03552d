// `kule-agent images`: the templates that the region file names, what the cluster has, and how to make what is
// missing.

import type { ProxmoxClient } from "@kule/proxmox/client";
import { type ClusterGuest, clusterGuests } from "@kule/proxmox/cluster-guests";
import { checkTemplate } from "@kule/proxmox/preflight-template";
import type { RegionFile, RegionTemplate } from "@kule/region-config/region-file";

/** A template that the region file names. */
export type RegionImage = {
  readonly slug: string;
  readonly vmid: number;
  /** Where it is to be; null when it may be on any node. */
  readonly wantedNode: string | null;
  readonly state: "ok" | "missing" | "wrong";
  /** What was found, and what to do about it. */
  readonly notes: readonly { readonly found: string; readonly fix: string | null }[];
};

export type RegionImages = {
  readonly named: readonly RegionImage[];
  /** Templates that the token sees and the region file does not name. */
  readonly others: readonly ClusterGuest[];
};

/** @throws ProxmoxError when the hypervisor does not answer, or refuses */
export async function regionImages(
  file: Pick<RegionFile, "templates">,
  client: ProxmoxClient,
): Promise<RegionImages> {
  const guests = await clusterGuests(client);
  const wanted = Object.entries(file.templates).flatMap(([slug, template]) =>
    placesOf(template).map((place) => ({ slug, ...place })),
  );
  const named = await Promise.all(
    wanted.map(async ({ slug, vmid, node }): Promise<RegionImage> => {
      const guest = guests.find((each) => each.vmid === vmid);
      if (guest === undefined)
        return {
          ...{ slug, vmid, wantedNode: node, state: "missing" },
          notes: [{ found: "not in the cluster, or hidden from the token", fix: null }],
        };
      const findings = await checkTemplate(client, slug, vmid);
      const misplaced =
        node === null || guest.node === node
          ? []
          : [{ found: `on ${guest.node}`, fix: `The region file says ${node}: correct vmid_by_node.` }];
      const isWrong =
        misplaced.length > 0 || findings.some((each) => !each.ok && each.severity === "required");
      return {
        ...{ slug, vmid, wantedNode: node, state: isWrong ? "wrong" : "ok" },
        notes: [...misplaced, ...findings.map(({ found, fix }) => ({ found, fix }))],
      };
    }),
  );
  const numbers = new Set(wanted.map(({ vmid }) => vmid));
  return { named, others: guests.filter((each) => each.isTemplate && !numbers.has(each.vmid)) };
}

const placesOf = (template: RegionTemplate): { vmid: number; node: string | null }[] =>
  "vmid" in template
    ? [{ vmid: template.vmid, node: null }]
    : Object.entries(template.vmidByNode).map(([node, vmid]) => ({ vmid, node }));

const MARKS = { ok: "ok", missing: "MISSING", wrong: "WRONG" } as const;

/** For people: a line for each template, then the commands that make what is missing, then the sum. */
export function imagesTable({ named, others }: RegionImages, storage: RegionFile["storage"]): string {
  const width = Math.max(0, ...named.map(({ slug }) => slug.length));
  const lines = named.flatMap(({ slug, vmid, state, notes }) =>
    notes.flatMap(({ found, fix }, index) => [
      index === 0
        ? `${MARKS[state].padEnd(8)}${slug.padEnd(width)}  ${vmid}  ${found}`
        : `${" ".repeat(8)}${" ".repeat(width)}  ${" ".repeat(String(vmid).length)}  ${found}`,
      ...(fix === null ? [] : [`${" ".repeat(10)}fix: ${fix}`]),
    ]),
  );
  const count = (state: RegionImage["state"]) => named.filter((each) => each.state === state).length;
  return [
    ...lines,
    ...(others.length === 0
      ? []
      : [
          "",
          "Templates that the region file does not name:",
          ...others.map(({ vmid, name, node }) => `  ${vmid}  ${name} on ${node}`),
        ]),
    ...named
      .filter(({ state }) => state === "missing")
      .flatMap((image) => ["", ...howToMake(image, storage)]),
    ...missingAppliances(named),
    "",
    `${named.length} named: ${count("ok")} ok, ${count("missing")} missing, ${count("wrong")} wrong`,
  ].join("\n");
}

/** Templates that no server is ordered with, and what cannot be made in a region without them. */
const APPLIANCES = { "kule-lb": "load balancers" } as const;

const missingAppliances = (named: readonly RegionImage[]): string[] =>
  Object.entries(APPLIANCES).flatMap(([slug, made]) =>
    named.some((image) => image.slug === slug)
      ? []
      : ["", `The region file does not name ${slug}: no ${made} can be made in this region.`],
  );

function howToMake({ slug, vmid, wantedNode }: RegionImage, storage: RegionFile["storage"]): string[] {
  const where = wantedNode === null ? "a node of the cluster" : `the node ${wantedNode}`;
  // As the catalogue names them.
  if (slug.startsWith("windows"))
    return [
      `${slug}: install it into VM ${vmid} on ${where} as docs/products/regions.md says, then: qm template ${vmid}`,
    ];
  return [
    `${slug}: make ${slug}.qcow2 (docs/runbooks/images.md), copy it to /root of ${where}, and there, as root:`,
    "",
    `  qm create ${vmid} --name ${slug} --ostype l26 --cores 1 --memory 1024 --scsihw virtio-scsi-single --serial0 socket --agent enabled=1`,
    `  qm set ${vmid} --scsi0 ${storage.disks}:0,import-from=/root/${slug}.qcow2,discard=on,ssd=1`,
    `  qm set ${vmid} --ide2 ${storage.cloudinit}:cloudinit --boot order=scsi0`,
    `  qm template ${vmid}`,
  ];
}

/** Servers of every image can be made. */
export const hasAllImages = ({ named }: RegionImages): boolean => named.every(({ state }) => state === "ok");
