import { cannotBuildDisks, missingPrograms } from "@kule/guest-images/missing-tools";
import { bootImage } from "../disk-images/boot-image.ts";
import type { Row } from "../row.ts";

/** The recipe whose disk image boots. */
const RECIPE = "debian-12";

export const row: Row = {
  id: "E11",
  title:
    "The disk image of a recipe boots as a virtual machine, which reads the same drive as the lab's guest of that recipe",
  minutes: 8,
  needs: {
    part: "disk images",
    probe: async () =>
      (await cannotBuildDisks()) ??
      (await missingPrograms([{ program: "genisoimage", package: "genisoimage" }])),
  },
  notInSamples: "A virtual machine without KVM boots in minutes, and its image is made in minutes.",
  mutants: [
    {
      name: "no-guest-agent",
      removes: "the guest agent",
      patches: [{ file: "infra/images/server/packages.txt", find: "qemu-guest-agent\n", replace: "" }],
      expects: /no guest agent answers/,
    },
    {
      name: "disk-not-grown",
      removes: "the program that grows the partition to the disk",
      patches: [{ file: "infra/images/debian-12/recipe.json", find: '"cloud-guest-utils", ', replace: "" }],
      expects: /its file system was not grown/,
    },
  ],
  async run(run) {
    const { cases, violations, bootSeconds } = await bootImage(RECIPE, run);
    return { cases, violations, figures: { "seconds until the guest agent answers": bootSeconds } };
  },
};
