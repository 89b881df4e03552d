const UNIT_BYTES = { "": 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40 } as const;

/** "40G", "41472M", "4194304K", "512" (bytes) to bytes; null when it is no size. */
export function parseSize(text: string | undefined): number | null {
  const match = /^(\d+(?:\.\d+)?)([KMGT]?)$/.exec(text ?? "");
  if (!match) return null;
  return Math.round(Number(match[1]) * UNIT_BYTES[(match[2] ?? "") as keyof typeof UNIT_BYTES]);
}

/** Bytes as the largest unit that is exact, always absolute: a relative "+5G" doubles when it is repeated. */
export function renderSize(bytes: number): string {
  for (const unit of ["T", "G", "M", "K"] as const)
    if (bytes > 0 && bytes % UNIT_BYTES[unit] === 0) return `${bytes / UNIT_BYTES[unit]}${unit}`;
  return String(bytes);
}
