export type PostgresErrorCode =
  | "platform_unsupported"
  | "account_missing"
  | "unreachable_for_account"
  | "initdb_failed"
  | "version_mismatch"
  | "password_missing"
  | "in_use"
  | "start_failed"
  | "stop_failed"
  | "unsuitable_server";

/** Postgres could not be started, stopped or used; the message says what to do about it. */
export class PostgresError extends Error {
  override name = "PostgresError";
  readonly code: PostgresErrorCode;

  constructor(code: PostgresErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
