import { builtRoot, NoImage, rootFileSystem } from "@kule/guest-images/image-cache";
import { probeRealGuests } from "@kule/lab/real-guests/probe-real-guests";

/** The image whose servers really boot, also the name of the lab's template. */
const IMAGE = "debian-12";

/**
 * The lab's setting for real guests. The image is made at the first use, which takes a minute or more.
 *
 * @throws NoImage where this machine cannot run them, ImageBuildFailed
 */
export async function realGuestSetting(
  log: (line: string) => void,
): Promise<Readonly<Record<string, string>>> {
  const reason = await probeRealGuests();
  if (reason !== undefined) throw new NoImage(`--real-guests: ${reason}.`);
  if (builtRoot(IMAGE) === undefined) log(`making the image ${IMAGE}, once; it takes a minute or more`);
  const root = await rootFileSystem(IMAGE, (step) => log(`${IMAGE}: ${step.slice(0, 100)}`));
  log(`servers with the image ${IMAGE} really boot, from ${root}`);
  return { KULE_LAB_REAL_GUESTS: JSON.stringify({ [IMAGE]: root }) };
}
