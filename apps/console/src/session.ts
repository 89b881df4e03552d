import { randomBytes } from "node:crypto";
import type { Schemas } from "@kule/contract/schemas";
import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import type { CookieOptions } from "hono/utils/cookie";
import type { Sealer } from "./sealed-value.ts";

/** The signed-in person. Stored in a sealed cookie and nowhere else. */
export type Session = {
  /** The API's session token. */
  readonly token: string;
  /** When the API's token expires, in RFC 3339. */
  readonly expiresAt: string;
  readonly user: { readonly email: string; readonly name: string };
  /** Null for an operator who has not chosen an organisation. */
  readonly organisation: { readonly id: string; readonly name: string } | null;
  /** An operator acts in `organisation` by naming it in every call. */
  readonly operator: boolean;
  /** The role's permissions as of sign-in: only for disabling controls, the API decides. */
  readonly permissions: readonly string[];
  /** The secret from which this session's form tokens are derived. */
  readonly formSecret: string;
};

/** The state between the first and the second step of a sign-in. It grants nothing by itself. */
export type PendingSignIn = {
  readonly signIn: string;
  readonly expiresAt: string;
  readonly methods: readonly string[];
  readonly returnTo: string;
};

/** A redirect to a provider that this browser has started. The API's sealed state in it grants nothing by itself. */
export type BegunFlow = {
  readonly flow: string;
  readonly expiresAt: string;
  readonly provider: string;
  readonly of: "login" | "link" | "prove";
  readonly returnTo: string;
  /** The secret of the invitation that started it. */
  readonly invitation?: string;
};

export type Preference = "theme" | "language" | "lists";

/** Cookies of the console, named and protected as the installation's transport permits. */
export type Cookies = {
  /** Whether browsers reach the console by https. */
  readonly secure: boolean;
  readSession(context: Context): Promise<Session | null>;
  writeSession(context: Context, session: Session): Promise<void>;
  clearSession(context: Context): void;
  /** The secret for form tokens before sign-in; created when it is missing. */
  visitorSecret(context: Context): string;
  /** A sign-in that waits for its second step. */
  readPending(context: Context): Promise<PendingSignIn | null>;
  writePending(context: Context, pending: PendingSignIn): Promise<void>;
  clearPending(context: Context): void;
  /** The last redirect to a provider that started here. */
  readFlow(context: Context): Promise<BegunFlow | null>;
  writeFlow(context: Context, flow: BegunFlow): Promise<void>;
  clearFlow(context: Context): void;
  /** A secret that the next page about `subject` shows once. It expires after two minutes. */
  writeOnce(context: Context, subject: string, secret: string): Promise<void>;
  takeOnce(context: Context, subject: string): Promise<string | null>;
  /** The browser's preferences, unencrypted: they affect only how pages are displayed. */
  readPreference(context: Context, name: Preference): string | undefined;
  writePreference(context: Context, name: Preference, value: string): void;
};

const onceSeconds = 120;
const yearSeconds = 365 * 24 * 3600;

/** @param secure whether browsers reach the console by https (or loopback counts as such) */
export function createCookies(sealer: Sealer, secure: boolean): Cookies {
  // Browsers refuse `__Host-` cookies over plain http, so a test on loopback uses the bare name.
  const named = (name: string) => (secure ? `__Host-kule_${name}` : `kule_${name}`);
  const protection: CookieOptions = { httpOnly: true, sameSite: "Lax", path: "/", secure };

  return {
    secure,
    async readSession(context) {
      const sealed = getCookie(context, named("session"));
      if (sealed === undefined) return null;
      return (await sealer.open("session", sealed)) as Session | null;
    },
    async writeSession(context, session) {
      const expires = new Date(session.expiresAt);
      setCookie(context, named("session"), await sealer.seal("session", session, expires), {
        ...protection,
        expires,
      });
    },
    clearSession(context) {
      deleteCookie(context, named("session"), protection);
    },
    async readPending(context) {
      const sealed = getCookie(context, named("pending"));
      return sealed === undefined ? null : ((await sealer.open("pending", sealed)) as PendingSignIn | null);
    },
    async writePending(context, pending) {
      const expires = new Date(pending.expiresAt);
      setCookie(context, named("pending"), await sealer.seal("pending", pending, expires), {
        ...protection,
        expires,
      });
    },
    clearPending(context) {
      deleteCookie(context, named("pending"), protection);
    },
    async readFlow(context) {
      const sealed = getCookie(context, named("flow"));
      return sealed === undefined ? null : ((await sealer.open("flow", sealed)) as BegunFlow | null);
    },
    async writeFlow(context, flow) {
      const expires = new Date(flow.expiresAt);
      setCookie(context, named("flow"), await sealer.seal("flow", flow, expires), { ...protection, expires });
    },
    clearFlow(context) {
      deleteCookie(context, named("flow"), protection);
    },
    visitorSecret(context) {
      const known = getCookie(context, named("visitor"));
      if (known !== undefined && /^[\w-]{43}$/.test(known)) return known;
      const fresh = randomBytes(32).toString("base64url");
      setCookie(context, named("visitor"), fresh, { ...protection, sameSite: "Strict" });
      return fresh;
    },
    async writeOnce(context, subject, secret) {
      const expires = new Date(Date.now() + onceSeconds * 1000);
      setCookie(context, named("once"), await sealer.seal(`once ${subject}`, { secret }, expires), {
        ...protection,
        sameSite: "Strict",
        expires,
      });
    },
    async takeOnce(context, subject) {
      const sealed = getCookie(context, named("once"));
      if (sealed === undefined) return null;
      const opened = await sealer.open(`once ${subject}`, sealed);
      if (opened === null) return null;
      deleteCookie(context, named("once"), protection);
      return String(opened.secret);
    },
    readPreference: (context, name) => getCookie(context, named(name)),
    writePreference(context, name, value) {
      setCookie(context, named(name), value, { ...protection, maxAge: yearSeconds });
    },
  };
}

/** Creates a session from the API's answer to a sign-in. */
export function openSession(opened: Schemas["Session"], me: Schemas["Me"]): Session {
  return {
    token: opened.token,
    expiresAt: opened.expires_at,
    user: { email: opened.user.email, name: opened.user.name },
    organisation:
      opened.organisation === null ? null : { id: opened.organisation.id, name: opened.organisation.name },
    operator: me.actor === "operator" || me.permissions.some((held) => held.startsWith("operator:")),
    permissions: me.permissions,
    formSecret: randomBytes(32).toString("base64url"),
  };
}

/** Whether the role's permissions include this one. */
export function may(session: Session, permission: string): boolean {
  const [resource] = permission.split(":");
  return session.permissions.includes(permission) || session.permissions.includes(`${resource}:*`);
}

/** The page after signing in and at `/`: operators see how the installation is, everybody else their servers. */
export function firstPage(session: Pick<Session, "operator"> | null): string {
  return session?.operator === true ? "/operator" : "/servers";
}

/**
 * A path of this console that is a safe redirect target, or `fallback`: never another origin, however browsers
 * interpret backslashes, control characters and doubled slashes.
 */
export function safeReturnPath(wanted: string | undefined | null, fallback = "/servers"): string {
  if (wanted === undefined || wanted === null || !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(wanted))
    return fallback;
  const base = "http://console.invalid";
  const url = URL.parse(wanted, base);
  if (url === null || url.origin !== base) return fallback;
  // Resolved dot segments can leave two leading slashes, which would name a host again.
  const path = url.pathname + url.search;
  if (path.startsWith("//") || path.startsWith("/sign-")) return fallback;
  return path;
}
