import type { Exchange } from "@kule/testing/rig/http-fault-proxy";

const isReport = ({ path }: Exchange) => /\/agent\/jobs\/[^/]+\/steps$/.test(path);
const isClaim = ({ path }: Exchange) => path.endsWith("/agent/jobs/claim");

/**
 * What is wrong with the answers that the control plane gave to an agent's requests and their copies: a fault of its
 * own, a report that was accepted and refused, an end that was answered differently, a claim that got two jobs.
 */
export function wrongAnswers(exchanges: readonly Exchange[]): string[] {
  return [...exchanges.flatMap(wrongInOne), ...claimsOfTwoJobs(exchanges)];
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
  // Until it has its reply an agent does nothing more, so what it is told must not depend on which copy came first.
  if (shown.status === 409 && given.some(({ status }) => status === 200))
    wrong.push(`a report was accepted and the agent was told 409: ${about}`);
  if (requestBody.includes('"outcome"')) {
    const told = new Set(given.map(({ status, body }) => (status === 200 ? statusIn(body) : `${status}`)));
    if (told.size > 1) wrong.push(`copies of an outcome were answered ${[...told].join(" and ")}: ${about}`);
  }
  return wrong;
}

/** An epoch is one holding of a job: under one claim there is one, and after its lease the same job's next. */
function claimsOfTwoJobs(exchanges: readonly Exchange[]): string[] {
  const jobs = new Map<string, Map<string, number[]>>();
  for (const exchange of exchanges) {
    if (!isClaim(exchange)) continue;
    const { claim_id } = JSON.parse(exchange.requestBody) as { claim_id: string };
    for (const answer of exchange.answers) {
      if (answer?.status !== 200) continue;
      const { id, epoch } = (JSON.parse(answer.body) as { job: { id: string; epoch: number } }).job;
      const ofClaim = jobs.get(claim_id) ?? new Map<string, number[]>();
      ofClaim.set(id, [...(ofClaim.get(id) ?? []), epoch]);
      jobs.set(claim_id, ofClaim);
    }
  }
  return [...jobs]
    .filter(([, ofClaim]) => ofClaim.size > 1)
    .map(
      ([claim, ofClaim]) =>
        `claim ${claim} was answered ${ofClaim.size} jobs: ${[...ofClaim].map(([id, epochs]) => `${id} (epoch ${epochs.join(", ")})`).join(" and ")}`,
    );
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
