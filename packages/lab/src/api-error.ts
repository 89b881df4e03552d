/** A refusal as Proxmox VE answers it: HTTP status, one-line reason and, for bad parameters, a map. */
export class ApiError extends Error {
  readonly status: number;
  readonly errors: Record<string, string> | undefined;
  constructor(status: number, message: string, errors?: Record<string, string>) {
    super(message);
    this.status = status;
    this.errors = errors;
  }
}

/**
 * The result of a plain `die`: 500 with the text. Nearly everything in Proxmox VE that is not a bad
 * parameter.
 */
export function failure(text: string): ApiError {
  return new ApiError(500, `${text}\n`);
}

/** 400 "Parameter verification failed." with one text per parameter. */
export function badParameters(errors: Record<string, string>): ApiError {
  return new ApiError(400, "Parameter verification failed.\n", errors);
}

/** 403 with the text Proxmox VE uses; `what` is "<path>, <privileges>". */
export function permissionDenied(what?: string): ApiError {
  return new ApiError(
    403,
    what === undefined ? "Permission check failed\n" : `Permission check failed (${what})\n`,
  );
}

/** The text a failed task ends with: an exception with a map of errors prints the map too. */
export function taskErrorText(error: unknown): string {
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error);
  const prefix = error.status === 500 ? "" : `${error.status} `;
  const details = Object.entries(error.errors ?? {}).map(([key, text]) => `${key}: ${text.trimEnd()}`);
  return [`${prefix}${error.message.trimEnd()}`, ...details].join("\n");
}
