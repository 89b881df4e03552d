/**
 * From which byte a request wants a file: that of `bytes=N-`. Every other range, of which HTTP has many, is answered with the
 * whole file, as HTTP allows.
 */
export function rangeStart(range: string | undefined): number {
  const [, start] = /^bytes=(\d{1,15})-$/i.exec(range?.trim() ?? "") ?? [];
  return start === undefined ? 0 : Number(start);
}
