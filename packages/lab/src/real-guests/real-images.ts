import { statSync } from "node:fs";
import type { VmDocument } from "../documents.ts";

/** How many ids a guest has, from the owner of its image's root on. */
export const GUEST_IDS = 65_536;

/** A system that really boots: VMs cloned from the template of its name have it on their disk. */
export type RealImage = {
  /** The template's name, e.g. "debian-12". */
  readonly template: string;
  /** Its root file system, which all guests share and none changes. */
  readonly root: string;
  /** The machine's id of root in a guest; the ids above it are the guest's other users. */
  readonly firstId: number;
};

/** The setting of real guests is wrong; the message says how. */
export class RealImageFault extends Error {
  override name = "RealImageFault";
}

/**
 * @param roots the folder of a root file system by the template's name
 * @throws RealImageFault
 */
export function realImages(roots: Readonly<Record<string, string>>): RealImage[] {
  return Object.entries(roots).map(([template, root]) => {
    if (!/^[a-z0-9][a-z0-9.-]*$/.test(template))
      throw new RealImageFault(`${template} is no template's name`);
    const stat = statSync(root, { throwIfNoEntry: false });
    if (stat?.isDirectory() !== true) throw new RealImageFault(`${root} is no folder`);
    // Root of a guest would be root of the machine.
    if (stat.uid < 65_536)
      throw new RealImageFault(`${root} belongs to ${stat.uid}, an account of this machine`);
    return { template, root, firstId: stat.uid };
  });
}

/** The image on the VM's disk; undefined for a guest that is simulated. */
export function realImageOf(images: readonly RealImage[], vm: VmDocument): RealImage | undefined {
  return images.find(({ template }) => vm.config.template !== "1" && vm.guest.system === template);
}
