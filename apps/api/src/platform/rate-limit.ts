export type Limit = { readonly perHour: number; readonly burst: number };

export type Allowance = {
  readonly allowed: boolean;
  readonly headers: Record<string, string>;
  readonly retryAfterSeconds: number;
};

type Bucket = { tokens: number; at: number };

/**
 * Token buckets in this process. With N replicas a caller may get up to N times the limit: the limit prevents
 * one caller from starving the others of a process, and a shared one would cost a write per request (ADR
 * 0003).
 */
export class RateLimiter {
  readonly #buckets = new Map<string, Bucket>();
  readonly #now: () => number;
  readonly #maxBuckets: number;

  /** @param now milliseconds of a clock that never goes back */
  constructor(now: () => number = () => performance.now(), maxBuckets = 50_000) {
    this.#now = now;
    this.#maxBuckets = maxBuckets;
  }

  /** Takes one from the bucket, if there is one. */
  take(key: string, limit: Limit): Allowance {
    const now = this.#now();
    const perSecond = limit.perHour / 3600;
    const bucket = this.#buckets.get(key) ?? this.#open(key, limit, now);
    bucket.tokens = Math.min(limit.burst, bucket.tokens + ((now - bucket.at) / 1000) * perSecond);
    bucket.at = now;
    const allowed = bucket.tokens >= 1;
    if (allowed) bucket.tokens -= 1;
    const retryAfterSeconds = allowed ? 0 : Math.max(1, Math.ceil((1 - bucket.tokens) / perSecond));
    return {
      allowed,
      retryAfterSeconds,
      headers: {
        "RateLimit-Limit": String(limit.perHour),
        "RateLimit-Remaining": String(Math.floor(bucket.tokens)),
        "RateLimit-Reset": String(Math.ceil((limit.burst - bucket.tokens) / perSecond)),
      },
    };
  }

  #open(key: string, limit: Limit, now: number): Bucket {
    // Dropping the fullest half frees no caller who is being limited.
    if (this.#buckets.size >= this.#maxBuckets) {
      const byFill = [...this.#buckets].sort(([, one], [, other]) => other.tokens - one.tokens);
      for (const [oldKey] of byFill.slice(0, Math.ceil(byFill.length / 2))) this.#buckets.delete(oldKey);
    }
    const bucket = { tokens: limit.burst, at: now };
    this.#buckets.set(key, bucket);
    return bucket;
  }
}
