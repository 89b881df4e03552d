import manifest from "../package.json" with { type: "json" };

/** Of this build; reported to the control plane and shown to operators. */
export const AGENT_VERSION: string = manifest.version;
