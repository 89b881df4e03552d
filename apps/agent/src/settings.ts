import { hostname } from "node:os";
import { resolve } from "node:path";
import type { RegionFile } from "@kule/region-config/region-file";
import type { Environment } from "@kule/region-config/secret-references";

export type AgentSettings = {
  readonly name: string;
  /** Jobs at the same time. */
  readonly concurrency: number;
  readonly healthSeconds: number;
  /** Between two scans of the whole region. */
  readonly inventorySeconds: number;
  readonly stateDirectory: string;
  readonly logLevel: string;
};

/** An environment variable of the agent that cannot be what it is set to. */
export class SettingsError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.name = "SettingsError";
  }
}

const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal"];

/** The region file's section `agent`, overridden by KULE_AGENT_* variables. Throws SettingsError. */
export function agentSettings(file: RegionFile, environment: Environment): AgentSettings {
  const problems: string[] = [];
  const wholeNumber = (variable: string, otherwise: number, highest: number): number => {
    const text = environment[variable]?.trim() ?? "";
    if (text === "") return otherwise;
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= 1 && value <= highest) return value;
    problems.push(`${variable} must be a whole number between 1 and ${highest}`);
    return otherwise;
  };
  const logLevel = environment.KULE_LOG_LEVEL?.trim() || "info";
  if (!LOG_LEVELS.includes(logLevel)) problems.push(`KULE_LOG_LEVEL must be one of ${LOG_LEVELS.join(", ")}`);
  const state = environment.KULE_AGENT_STATE?.trim();
  const settings = {
    name: file.agent.name ?? printable(hostname()),
    concurrency: wholeNumber("KULE_AGENT_CONCURRENCY", file.agent.concurrency, 64),
    healthSeconds: wholeNumber("KULE_AGENT_HEALTH_SECONDS", file.agent.healthSeconds, 50),
    inventorySeconds: wholeNumber("KULE_AGENT_INVENTORY_SECONDS", file.agent.inventorySeconds, 3600),
    stateDirectory: state ? resolve(state) : file.agent.stateDirectory,
    logLevel,
  };
  if (problems.length > 0) throw new SettingsError(problems);
  return settings;
}

/** The control plane accepts a name of up to 100 visible characters. */
export const printable = (text: string): string =>
  text.replaceAll(/[^\x21-\x7e]/g, "-").slice(0, 100) || "agent";
