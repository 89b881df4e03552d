/** A generated password for the page that shows it once, and its user. */
export type PasswordOnce = {
  /** Null: the login name of the server's image. */
  readonly user: string | null;
  readonly password: string;
};

export const packPassword = (once: PasswordOnce): string => JSON.stringify(once);

/** The content of the sealed cookie; only this console can write one. */
export const unpackPassword = (text: string): PasswordOnce => JSON.parse(text) as PasswordOnce;
