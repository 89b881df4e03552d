import { getAsset, isSea } from "node:sea";
import manifest from "../package.json" with { type: "json" };

/** What a test gives an agent that runs from the source: there is nothing in it that could be read. */
const given = !isSea() && process.env.KULE_TEST_BUILD === "1" ? process.env : {};

/** Of this build; reported to the control plane and shown to operators. */
export const AGENT_VERSION: string = isSea()
  ? getAsset("version", "utf8")
  : (given.KULE_TEST_AGENT_VERSION ?? manifest.version);

/** The publisher's keys in this build, as JSON; `null` in one that is updated by hand only. */
export const RELEASE_KEYS_TEXT: string = isSea()
  ? getAsset("release-keys.json", "utf8")
  : (given.KULE_TEST_RELEASE_KEYS ?? "null");
