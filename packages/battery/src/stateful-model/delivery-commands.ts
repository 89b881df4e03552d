// Disturbances between a request and its effect: a dry run, a repeated request, or a job that is held for
// longer than its lease.

import fc from "fast-check";
import type { Expected } from "../reference-model/answers.ts";
import { beginAttempt } from "../reference-model/attempts.ts";
import { MAX_ATTEMPTS, type ModelState } from "../reference-model/model-state.ts";
import { applyDelete, expectAction, expectCancelDeletion } from "../reference-model/server-requests.ts";
import type { ModelServer, ServerJobKind, Side } from "../reference-model/types.ts";
import { type Command, command, type Ref, refs, sides } from "./command.ts";
import { compareServer } from "./compare.ts";
import { ask, type Real, same } from "./real-world.ts";
import { onServer } from "./targets.ts";

export function deliveryCommands(): fc.Arbitrary<Command>[] {
  const serverRef = { side: sides, ref: refs };
  return [
    fc
      .record(serverRef)
      .map(({ side, ref }) =>
        onServer("would deleteServer", side, ref, (_state, real, server) =>
          askWhatWouldHappen(
            real,
            side,
            "DELETE",
            `/servers/${server.id}`,
            expectAction("delete", server, side),
            "ServerStop",
          ),
        ),
      ),
    fc
      .record(serverRef)
      .map(({ side, ref }) =>
        onServer("would cancelServerDeletion", side, ref, (state, real, server) =>
          askWhatWouldHappen(
            real,
            side,
            "POST",
            `/servers/${server.id}/cancel-deletion`,
            expectCancelDeletion(state, server, side),
            "ServerRestore",
          ),
        ),
      ),
    fc
      .record(serverRef)
      .map(({ side, ref }) =>
        onServer("deleteServer, said twice", side, ref, (state, real, server) =>
          deleteTwice(state, real, side, server),
        ),
      ),
    refs.map((ref) => command(`the lease of ${ref} passes`, (state, real) => takeOver(state, real, ref))),
  ];
}

/** A dry run is refused as the act would be, as a list; and the comparison that follows sees that nothing was done. */
async function askWhatWouldHappen(
  real: Real,
  side: Side,
  method: "DELETE" | "POST",
  path: string,
  expected: Expected,
  kind: ServerJobKind,
): Promise<void> {
  const isAbsent = expected.status === 404;
  const body = await ask(real, side, method, `${path}?dry_run=true`, { status: isAbsent ? 404 : 200 });
  if (isAbsent) return;
  same(
    `the dry run of ${method} ${path}`,
    [body.blockers[0]?.code ?? null, body.would?.job_kind ?? null],
    expected.status === 202 ? [null, kind] : [expected.code, null],
  );
}

/** A job that was held too long as often as it may be tried fails with the next claim; this stays below. */
const LONGEST_HELD = MAX_ATTEMPTS - 3;

let keys = 0;

/**
 * The repetition gets the same answer, and creates no second job; in another organisation the key is unused.
 */
async function deleteTwice(state: ModelState, real: Real, side: Side, server: ModelServer): Promise<void> {
  const expected = expectAction("delete", server, side);
  const path = `/servers/${server.id}`;
  keys += 1;
  const headers = { "Idempotency-Key": `model-${keys}` };
  const first = await ask(real, side, "DELETE", path, expected, undefined, headers);
  if (expected.status !== 202) return;
  applyDelete(state, server).id = first.job.id;
  const again = await ask(real, side, "DELETE", path, expected, undefined, headers);
  same(`${path} deleted twice with one key`, again.job.id, first.job.id);
  const other: Side = side === 0 ? 1 : 0;
  await ask(real, other, "DELETE", path, { status: 404 }, undefined, headers);
}

/**
 * The holder does not report for too long: the next claim gets the job, and the former holder's reports are
 * refused.
 */
async function takeOver(state: ModelState, real: Real, ref: Ref): Promise<void> {
  const ids = [...real.held.keys()];
  const id = ids[ref % Math.max(1, ids.length)];
  const former = id === undefined ? undefined : real.held.get(id);
  const job = id === undefined ? undefined : state.job(id);
  if (id === undefined || former === undefined || job === undefined || job.attempt >= LONGEST_HELD) return;
  await real.owner.query(
    "update job set lease_until = clock_timestamp() - interval '1 hour' where id = $1 and status = 'running'",
    [job.id],
  );
  const claimed = await real.agent.claim();
  real.trace.push(`the lease of ${job.kind} ${job.id} passes, and the agent claims ${claimed?.id}`);
  same("the job that is taken over", [claimed?.id, claimed?.epoch], [job.id, former.epoch + 1]);
  if (claimed === null) return;
  beginAttempt(state, job, claimed.id);
  real.held.set(id, claimed);
  const late = await real.agent.report(former, { phase: "verify", outcome: { status: "succeeded" } });
  real.counted.answers += 2;
  same(`the report of a former holder of ${job.kind}`, [late.status, late.body?.code], [409, "stale_lease"]);
  await compareServer(real, state, job.server);
}
