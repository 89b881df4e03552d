/** A generated password on its way to the page that shows it once, and whose it is. */
export type PasswordOnce = {
  /** Null: the login name of the server's image. */
  readonly user: string | null;
  readonly password: string;
};

export const packPassword = (once: PasswordOnce): string => JSON.stringify(once);

/** What the sealed cookie held; only this console has written it. */
export const unpackPassword = (text: string): PasswordOnce => JSON.parse(text) as PasswordOnce;
