import manifest from "../package.json" with { type: "json" };

/** Of this build; the control plane and operators are told. */
export const AGENT_VERSION: string = manifest.version;
