/**
 * The allowed values of each directive. Scripts and styles need the answer's nonce, even our own files; any
 * other source admits attackers.
 */
const allowed: Readonly<Record<string, RegExp>> = {
  "default-src": /^'none'$/,
  "font-src": /^'self'$/,
  "img-src": /^('self'|data:)$/,
  "connect-src": /^('self'|wss?:\/\/[a-z0-9.-]+(:\d+)?)$/,
  "form-action": /^'self'$/,
  "base-uri": /^'none'$/,
  "frame-ancestors": /^'none'$/,
};
/** Without these, `default-src` does not apply to them. */
const needed = ["default-src", "frame-ancestors", "base-uri", "form-action"];
const nonce = /^'nonce-([A-Za-z0-9+/_-]+={0,2})'$/;
const fewestNonceBytes = 16;

/** Checks the policies of a panel's answers; remembers every nonce. */
export class PagePolicies {
  readonly #nonces = new Map<string, string>();
  answers = 0;

  get nonces(): number {
    return this.#nonces.size;
  }

  /** What is wrong with an answer that is a page or a part of one. */
  judge(path: string, headers: Readonly<Record<string, string>>): string[] {
    this.answers += 1;
    const broken: string[] = [];
    if (headers["x-content-type-options"] !== "nosniff") broken.push(`${path}: browsers may guess its type`);
    const policy = headers["content-security-policy"];
    if (policy === undefined) return [...broken, `${path}: has no policy`];
    // A browser heeds the first of a name.
    const directives = new Map<string, readonly string[]>();
    for (const directive of policy.split(";")) {
      const [name = "", ...sources] = directive.trim().split(/\s+/);
      if (name !== "" && !directives.has(name)) directives.set(name, sources);
    }
    for (const name of needed) if (!directives.has(name)) broken.push(`${path}: its policy has no ${name}`);
    const nonces = new Set<string>();
    for (const [name, sources] of directives)
      for (const source of sources) {
        const value = nonce.exec(source)?.[1];
        if (value !== undefined) nonces.add(value);
        else if (!(allowed[name]?.test(source) ?? false))
          broken.push(`${path}: its policy says ${name} ${source}`);
      }
    for (const value of nonces) broken.push(...this.#judgeNonce(path, value));
    return broken;
  }

  #judgeNonce(path: string, value: string): string[] {
    const before = this.#nonces.get(value);
    this.#nonces.set(value, path);
    if (before !== undefined) return [`${path}: has the nonce of an answer before (${before})`];
    return Buffer.from(value, "base64").length >= fewestNonceBytes
      ? []
      : [`${path}: its nonce can be guessed`];
  }
}
