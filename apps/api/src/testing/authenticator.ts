import { Secret, TOTP } from "otpauth";

const periodMs = 30_000;

/** An authenticator app with one account, whose owner never has to wait for the next code. */
export class Authenticator {
  readonly #totp: TOTP;
  #taken = 0;

  constructor(secret: string) {
    this.#totp = new TOTP({ secret: Secret.fromBase32(secret) });
  }

  /** The code of the current period; of the next one when that was used before. Two in a row are accepted. */
  next(): string {
    const now = Date.now();
    const timestamp = Math.max(now, this.#taken + periodMs);
    this.#taken = timestamp;
    return this.#totp.generate({ timestamp });
  }

  /** The code of a moment. */
  at(timestamp: number): string {
    return this.#totp.generate({ timestamp });
  }
}
