import { type Image, packageMismatch } from "../catalog/images.ts";
import type { ServerPackage } from "../catalog/packages.ts";
import type { Refusal } from "../decision.ts";
import { capacityUnavailable, diskShrinkForbidden, invalidState } from "../refusals.ts";

export type ResizeCode = "disk_shrink_forbidden" | "invalid_state";

export type ResizeFacts = {
  readonly id: string;
  readonly isRunning: boolean;
  readonly from: Pick<ServerPackage, "slug" | "vcpu" | "memoryMb">;
  readonly diskGb: number;
  readonly to: ServerPackage;
  readonly growDisk: boolean;
  readonly allowRestart: boolean;
};

/** The disk the server has after the resize: never smaller than now. */
export function diskAfterResize({
  diskGb,
  to,
  growDisk,
}: Pick<ResizeFacts, "diskGb" | "to" | "growDisk">): number {
  return growDisk ? Math.max(diskGb, to.diskGb) : diskGb;
}

/** CPU and memory of a running VM change only with a new process; a disk grows under a running guest. */
export function needsRestart({
  from,
  to,
}: {
  readonly from: Pick<ServerPackage, "vcpu" | "memoryMb">;
  readonly to: Pick<ServerPackage, "vcpu" | "memoryMb">;
}): boolean {
  return from.vcpu !== to.vcpu || from.memoryMb !== to.memoryMb;
}

/** Every reason against the resize beyond the server's state; an empty list allows it. */
export function decideResize(facts: ResizeFacts): Refusal<ResizeCode>[] {
  const { id, to, diskGb } = facts;
  const refusals: Refusal<ResizeCode>[] = [];
  if (facts.from.slug === to.slug && diskAfterResize(facts) === diskGb)
    refusals.push(
      invalidState("package_differs", `The server has package ${to.slug} already`, {
        resource: id,
        fix: "Choose another package",
      }),
    );
  if (facts.growDisk && to.diskGb < diskGb)
    refusals.push(
      diskShrinkForbidden(
        "disk_not_shrunk",
        `The server's disk has ${diskGb} GB and package ${to.slug} has ${to.diskGb} GB: a disk cannot be made smaller`,
        {
          resource: id,
          fix: `POST /servers/${id}/resize {"package":"${to.slug}","grow_disk":false} keeps the disk of ${diskGb} GB`,
        },
      ),
    );
  if (facts.isRunning && !facts.allowRestart && needsRestart(facts))
    refusals.push(
      invalidState(
        "server_may_restart",
        "The server is running, and its CPU and memory change only with a restart",
        {
          resource: id,
          fix: `POST /servers/${id}/resize with "allow_restart":true, or stop the server first`,
        },
      ),
    );
  return refusals;
}

/** Why the image does not run on the package, with the disk that the server has; null when it does. */
export function resizeMismatch(to: ServerPackage, image: Image, diskGb: number): string | null {
  return packageMismatch({ ...to, diskGb: Math.max(diskGb, to.diskGb) }, image);
}

/** The node that the server is on has not what the package needs more than the server has. */
export function noCapacityToGrow(id: string, slug: string): Refusal<"capacity_unavailable"> {
  return capacityUnavailable(
    "node_has_capacity",
    `Where the server is there is no room for package ${slug} now`,
    {
      resource: id,
      fix: "Choose a smaller package or ask again later; a new server may find room elsewhere in the region",
    },
  );
}
