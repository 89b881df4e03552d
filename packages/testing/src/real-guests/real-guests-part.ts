import { probeImage, rootFileSystem } from "@kule/guest-images/image-cache";
import { probeRealGuests } from "@kule/lab/real-guests/probe-real-guests";
import { type Part, requirePart } from "../parts.ts";

/** The image whose guests the suites boot; also the name of the lab's template. */
const IMAGE = "debian-12";

/** Whether this machine runs real guests, and has or can make their image. */
export const requireRealGuests = (suite: string): Promise<Part> =>
  requirePart("real guests", async () => (await probeRealGuests()) ?? (await probeImage(IMAGE)), suite);

/** How long a suite may wait for the image, which another one may be making. */
export const IMAGE_TIMEOUT_MS = 1_200_000;

/** The lab's setting: folders of root file systems by the names of templates. */
export async function realGuestRoots(): Promise<Readonly<Record<string, string>>> {
  const steps: string[] = [];
  return { [IMAGE]: await rootFileSystem(IMAGE, (step) => steps.push(step)) };
}
