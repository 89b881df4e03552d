/**
 * The sign-in methods of a person. A second factor that cannot be a first one (an app, recovery codes) does
 * not count.
 */
export type SignInMethods = {
  readonly hasPassword: boolean;
  readonly passkeys: number;
  /** At providers that the installation has; one that is gone opens nothing. */
  readonly identities: number;
};

/** Whether an account that has these can be signed in to at all. */
export function hasSignInMethod({ hasPassword, passkeys, identities }: SignInMethods): boolean {
  return hasPassword || passkeys > 0 || identities > 0;
}
