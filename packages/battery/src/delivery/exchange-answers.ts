import type { Exchange } from "@kule/testing/rig/http-fault-proxy";

const isReport = ({ path }: Exchange) => /\/agent\/jobs\/[^/]+\/steps$/.test(path);
const isClaim = ({ path }: Exchange) => path.endsWith("/agent/jobs/claim");

/**
 * What is wrong with the answers that the control plane gave to an agent's requests and their copies: an
 * error of its own, a report that was both accepted and refused, an end with different answers.
 */
export function wrongAnswers(exchanges: readonly Exchange[]): string[] {
  return exchanges.flatMap(wrongInOne);
}

function wrongInOne(exchange: Exchange): string[] {
  const { answers, returned, method, path, requestBody } = exchange;
  const about = `${method} ${path} ${requestBody.slice(0, 200)}`;
  const given = answers.flatMap((answer, copy) => (answer ? [{ ...answer, copy }] : []));
  const wrong = given
    .filter(({ status }) => status >= 500 && status !== 503)
    .map(
      ({ status, copy, body }) => `copy ${copy} of ${about} was answered ${status}: ${body.slice(0, 200)}`,
    );
  const shown = returned === null ? null : answers[returned];
  if (!isReport(exchange) || !shown) return wrong;
  // An agent does nothing more until it has its reply, so the reply must not depend on which copy was first.
  if (shown.status === 409 && given.some(({ status }) => status === 200))
    wrong.push(`a report was accepted and the agent was told 409: ${about}`);
  if (requestBody.includes('"outcome"')) {
    const told = new Set(given.map(({ status, body }) => (status === 200 ? statusIn(body) : `${status}`)));
    if (told.size > 1) wrong.push(`copies of an outcome were answered ${[...told].join(" and ")}: ${about}`);
  }
  return wrong;
}

function statusIn(body: string): string {
  return String((JSON.parse(body) as { status?: unknown }).status);
}

/** What the proxy did to requests of these paths, for the figures. */
export function countExchanges(exchanges: readonly Exchange[]): {
  readonly requests: number;
  readonly delivered: number;
  readonly reports: number;
  readonly claims: number;
} {
  return {
    requests: exchanges.length,
    delivered: exchanges.reduce((sum, { answers }) => sum + answers.length, 0),
    reports: exchanges.filter(isReport).length,
    claims: exchanges.filter(isClaim).length,
  };
}

export type LostClaim = { readonly claimId: string; readonly job: string; readonly epoch: number };

/**
 * Claims that were assigned a job and whose reply was lost: repeated before the lease has expired, they must
 * be answered that job.
 *
 * @returns those that were repeated in time and those that were not, and what was wrong
 */
export function lostClaims(
  exchanges: readonly Exchange[],
  leaseSeconds: number,
): { readonly repeated: LostClaim[]; readonly tooLate: LostClaim[]; readonly violations: string[] } {
  const [repeated, tooLate, violations]: [LostClaim[], LostClaim[], string[]] = [[], [], []];
  const claims = exchanges.filter(isClaim).map((exchange) => ({ ...exchange, claimId: claimIdOf(exchange) }));
  for (const [index, lost] of claims.entries()) {
    const given = jobIn(lost);
    if (lost.returned !== null || given === null) continue;
    const claim = { claimId: lost.claimId, ...given };
    const next = claims.slice(index + 1).find(({ claimId }) => claimId === lost.claimId);
    // Counted from the arrival of the claim, which is before the lease began.
    if (next === undefined || next.endedAtMs > lost.endedAtMs + leaseSeconds * 900) {
      tooLate.push(claim);
      continue;
    }
    repeated.push(claim);
    const again = jobIn(next);
    if (again?.job !== given.job || again.epoch !== given.epoch)
      violations.push(
        `claim ${lost.claimId} had been given ${given.job} (epoch ${given.epoch}) when its reply was lost; asked again it was not answered the job but ${next.answers[0]?.status} ${again === null ? "" : `${again.job} (epoch ${again.epoch})`}`,
      );
  }
  return { repeated, tooLate, violations };
}

const claimIdOf = ({ requestBody }: Exchange) => (JSON.parse(requestBody) as { claim_id: string }).claim_id;

function jobIn({ answers }: Exchange): { job: string; epoch: number } | null {
  const answer = answers.find((each) => each?.status === 200);
  if (!answer) return null;
  const { id, epoch } = (JSON.parse(answer.body) as { job: { id: string; epoch: number } }).job;
  return { job: id, epoch };
}
