import { builtRoot, NoImage, rootFileSystem } from "@kule/guest-images/image-cache";
import { probeRealGuests } from "@kule/lab/real-guests/probe-real-guests";

/** The images whose servers really boot, also the names of the lab's templates. */
const IMAGES = ["debian-12", "kule-lb"] as const;

/**
 * The lab's setting for real guests. The images are made at the first use, one after the other, which takes a few minutes.
 *
 * @throws NoImage where this machine cannot run them, ImageBuildFailed
 */
export async function realGuestSetting(
  log: (line: string) => void,
): Promise<Readonly<Record<string, string>>> {
  const reason = await probeRealGuests();
  if (reason !== undefined) throw new NoImage(`--real-guests: ${reason}.`);
  const roots: [image: string, root: string][] = [];
  for (const image of IMAGES) {
    if (builtRoot(image) === undefined) log(`making the image ${image}, once; it takes a minute or more`);
    const root = await rootFileSystem(image, (step) => log(`${image}: ${step.slice(0, 100)}`));
    log(`servers with the image ${image} really boot, from ${root}`);
    roots.push([image, root]);
  }
  return { KULE_LAB_REAL_GUESTS: JSON.stringify(Object.fromEntries(roots)) };
}
