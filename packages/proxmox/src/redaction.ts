// What may never reach a log, an error or a job's record. Two measures: known values are replaced wherever
// they occur, and parameters of known names are masked whatever they contain.

const SECRET_PARAMETERS = new Set([
  "cipassword",
  "password",
  "sshkeys",
  "vncticket",
  "ticket",
  "input-data",
  "content",
  "new-password",
]);
const MASK = "[redacted]";

/** The parameters of a call as they may be logged. */
export function redactParameters(parameters: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(parameters).map(([key, value]) => [key, SECRET_PARAMETERS.has(key) ? MASK : value]),
  );
}

/** The secret values among a call's parameters, to be removed from the server's texts about them. */
export function secretsIn(parameters: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(parameters).flatMap(([key, value]) =>
    SECRET_PARAMETERS.has(key) && typeof value === "string" && value.length >= 4 ? [value] : [],
  );
}

/** The text without these values, and without anything that looks like a token, a ticket or a password. */
export function redactText(text: string, secrets: readonly string[] = []): string {
  let clean = text;
  for (const secret of secrets) if (secret.length >= 4) clean = clean.replaceAll(secret, MASK);
  return clean
    .replace(/PVEAPIToken[= ]\S+/g, `PVEAPIToken=${MASK}`)
    .replace(/PVE(?:VNC|Auth)?:[^\s"]*::[A-Za-z0-9+/=]+/g, MASK)
    .replace(/\b(cipassword|password|sshkeys|vncticket|ticket)=[^\s&,"']+/g, `$1=${MASK}`);
}
