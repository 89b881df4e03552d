/** What somebody has to sign in with. A second factor that is no first one (an app, recovery codes) is no way in. */
export type WaysIn = {
  readonly hasPassword: boolean;
  readonly passkeys: number;
  /** At providers that the installation has; one that is gone opens nothing. */
  readonly identities: number;
};

/** Whether an account that has these can be signed in to at all. */
export function hasWayIn({ hasPassword, passkeys, identities }: WaysIn): boolean {
  return hasPassword || passkeys > 0 || identities > 0;
}
