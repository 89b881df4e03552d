/** The console's settings from its environment. */
export type ConsoleSettings = {
  /** The API's versioned root, without a slash at the end. */
  readonly apiUrl: string;
  /** The same root as people reach it: the panel shows it in API calls. */
  readonly shownApiUrl: string;
  /** Where browsers reach the API's websockets, such as wss://kule.example. */
  readonly socketOrigin: string;
  /** The panel's own origin as browsers reach it, for links in invitations and e-mails. */
  readonly publicUrl: string;
  readonly host: string;
  readonly port: number;
  /** Null: no metrics are served. */
  readonly metricsPort: number | null;
  readonly metricsHost: string;
  /** After a stop signal new requests are answered for so long, while the process says that it is not well. */
  readonly stopDelaySeconds: number;
  /** Key ring for cookies: the first seals, all open. Each has at least 32 characters. */
  readonly secrets: readonly string[];
  /**
   * Signs the visitor's identity in our calls; the API has the same key. Null: the API sees all visitors as this
   * console.
   */
  readonly visitorKey: string | null;
  /** How many reverse proxies append to X-Forwarded-For before a request reaches the console. */
  readonly trustedProxies: number;
  /** `Secure` cookies with the `__Host-` prefix. Off only for plain http on loopback. */
  readonly secureCookies: boolean;
};

/** The environment is invalid; `problems` names every wrong variable, never its value. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`the console cannot start:\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
    this.problems = problems;
  }
}

const originOf = (url: string): string => URL.parse(url)?.origin ?? "";

/** Null when it is not an origin. On loopback the panel knows its own address; elsewhere the operator must set it. */
function publicUrlOf(given: string, host: string, port: number): string | null {
  if (given === "") {
    if (!loopback.has(host)) return null;
    return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  }
  const url = URL.parse(given);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  return url.pathname === "/" && url.search === "" && url.hash === "" && url.username === ""
    ? url.origin
    : null;
}

const loopback = new Set(["127.0.0.1", "::1", "localhost"]);

/**
 * Reads the settings from environment variables.
 *
 * @throws SettingsError that lists everything that is missing or wrong
 */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): ConsoleSettings {
  const problems: string[] = [];
  const host = environment.KULE_CONSOLE_HOST || "127.0.0.1";

  const apiUrl = (environment.KULE_API_URL ?? "").replace(/\/{1,9}$/, "");
  if (!/^https?:\/\/[^/\s]+/.test(apiUrl))
    problems.push("KULE_API_URL must be the API's root, such as http://127.0.0.1:8080/api/v1");

  const shownApiUrl = (environment.KULE_PUBLIC_URL || apiUrl).replace(/\/{1,9}$/, "");
  if (!/^https?:\/\/[^/\s]+/.test(shownApiUrl) && shownApiUrl !== apiUrl)
    problems.push(
      "KULE_PUBLIC_URL must be the API's root as people reach it, such as https://kule.example/api/v1",
    );

  const socketOrigin = (environment.KULE_CONSOLE_SOCKETS || originOf(shownApiUrl)).replace(/^http/, "ws");
  if (URL.canParse(apiUrl) && !/^wss?:\/\/[^/\s;,'"]+$/.test(socketOrigin))
    problems.push(
      "KULE_CONSOLE_SOCKETS must be the origin of the API's websockets, such as wss://kule.example",
    );

  const port = Number(environment.KULE_CONSOLE_PORT || "3000");
  if (!Number.isInteger(port) || port < 0 || port > 65535)
    problems.push("KULE_CONSOLE_PORT must be a port number");

  const metricsPort =
    (environment.KULE_CONSOLE_METRICS_PORT ?? "") === ""
      ? null
      : Number(environment.KULE_CONSOLE_METRICS_PORT);
  if (metricsPort !== null && (!Number.isInteger(metricsPort) || metricsPort < 0 || metricsPort > 65535))
    problems.push("KULE_CONSOLE_METRICS_PORT must be a port number");

  const stopDelaySeconds = Number(environment.KULE_STOP_DELAY_SECONDS || "0");
  if (!Number.isInteger(stopDelaySeconds) || stopDelaySeconds < 0 || stopDelaySeconds > 60)
    problems.push("KULE_STOP_DELAY_SECONDS must be a whole number from 0 to 60");

  const publicUrl = publicUrlOf(environment.KULE_CONSOLE_PUBLIC_URL ?? "", host, port);
  if (publicUrl === null)
    problems.push(
      "KULE_CONSOLE_PUBLIC_URL must be the panel's origin as browsers reach it, such as https://panel.example",
    );

  const secrets = (environment.KULE_CONSOLE_SECRET ?? "").split(",").map((secret) => secret.trim());
  if (secrets.some((secret) => secret.length < 32))
    problems.push("KULE_CONSOLE_SECRET must hold secrets of at least 32 characters, separated by commas");

  const visitorKeys = (environment.KULE_CONSOLE_KEY ?? "")
    .split(",")
    .map((key) => key.trim())
    .filter((key) => key !== "");
  if (visitorKeys.some((key) => key.length < 32))
    problems.push("KULE_CONSOLE_KEY must hold secrets of at least 32 characters, separated by commas");

  const trustedProxies = Number(environment.KULE_CONSOLE_TRUSTED_PROXIES || "0");
  if (!Number.isInteger(trustedProxies) || trustedProxies < 0 || trustedProxies > 10)
    problems.push("KULE_CONSOLE_TRUSTED_PROXIES must be a whole number from 0 to 10");

  const secureCookies = environment.KULE_CONSOLE_SECURE_COOKIES ?? (loopback.has(host) ? "false" : "true");
  if (secureCookies !== "true" && secureCookies !== "false")
    problems.push("KULE_CONSOLE_SECURE_COOKIES must be true or false");

  if (problems.length > 0) throw new SettingsError(problems);
  return {
    apiUrl,
    shownApiUrl,
    socketOrigin,
    publicUrl: publicUrl ?? "",
    host,
    port,
    stopDelaySeconds,
    metricsPort,
    metricsHost: environment.KULE_METRICS_HOST || host,
    secrets,
    visitorKey: visitorKeys[0] ?? null,
    trustedProxies,
    secureCookies: secureCookies === "true",
  };
}
