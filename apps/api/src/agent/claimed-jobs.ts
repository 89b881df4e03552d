import type { JobIdentity } from "../platform/jobs.ts";

/** More jobs than an API process has claimed within a lease; the oldest is forgotten first. */
const mostJobs = 10_000;

/**
 * What never changes about the jobs that this process has assigned or looked up: a report then needs no query to find
 * its job. Whatever a report may change is decided from the locked row, never from here.
 */
export class ClaimedJobs {
  readonly #jobs = new Map<string, JobIdentity>();
  readonly #most: number;

  constructor(most = mostJobs) {
    this.#most = most;
  }

  /** The job with that id, when it is known and of that region, or of the control plane itself for null. */
  find(id: string, region: string | null): JobIdentity | null {
    const job = this.#jobs.get(id);
    return job?.region === region ? job : null;
  }

  remember({ id, organisation_id, region, resource_type, resource_id }: JobIdentity): void {
    this.#jobs.delete(id);
    this.#jobs.set(id, { id, organisation_id, region, resource_type, resource_id });
    if (this.#jobs.size <= this.#most) return;
    const [oldest] = this.#jobs.keys();
    if (oldest !== undefined) this.#jobs.delete(oldest);
  }

  forget(id: string): void {
    this.#jobs.delete(id);
  }
}
