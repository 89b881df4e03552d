import { probeImage, rootFileSystem } from "@kule/guest-images/image-cache";
import { probeRealGuests } from "@kule/lab/real-guests/probe-real-guests";
import { type Part, requirePart } from "../parts.ts";

/** The image whose guests most suites boot; also the name of the lab's template. */
const TEMPLATE = "debian-12";

/** Whether this machine runs real guests, and has or can make their image. */
export const requireRealGuests = (suite: string, image = TEMPLATE): Promise<Part> =>
  requirePart("real guests", async () => (await probeRealGuests()) ?? (await probeImage(image)), suite);

/** How long a suite may wait for the image, which another one may be making. */
export const IMAGE_TIMEOUT_MS = 1_200_000;

/** The lab's setting: folders of root file systems by the names of templates; the one template has that image. */
export async function realGuestRoots(image = TEMPLATE): Promise<Readonly<Record<string, string>>> {
  const steps: string[] = [];
  return { [TEMPLATE]: await rootFileSystem(image, (step) => steps.push(step)) };
}
