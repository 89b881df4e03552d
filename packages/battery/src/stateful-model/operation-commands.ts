// Operations on an existing server: power, resize, rebuild, another password, another name, and an operator's
// lock.

import fc from "fast-check";
import { absent, type Expected, refused } from "../reference-model/answers.ts";
import type { ModelState } from "../reference-model/model-state.ts";
import {
  applyPasswordReset,
  applyPower,
  applyRebuild,
  applyResize,
  applyUpdate,
  type Changes,
  expectAction,
  expectPower,
  expectResize,
  expectUpdate,
  isAbsent,
  type PowerRequest,
  passwordAction,
  type ResizeRequest,
} from "../reference-model/server-requests.ts";
import type { ModelServer, PowerAction, ServerJobKind, Side } from "../reference-model/types.ts";
import { type Command, refs, sides } from "./command.ts";
import { ask, askOperator, type Real, same } from "./real-world.ts";
import { onServer, pick } from "./targets.ts";

const serverRef = { side: sides, ref: refs };
/** Sometimes as a dry run, which must predict what happens. */
const dry = fc.constantFrom(false, false, false, false, false, true);

export function operationCommands(): fc.Arbitrary<Command>[] {
  return [
    powerServers(),
    powerServers(),
    resizeServers(),
    rebuildServers(),
    resetPasswords(),
    updateServers(),
  ];
}

/**
 * Sends the request, or its dry run.
 *
 * @returns the answer's body if it was done
 */
async function askFor(
  real: Real,
  side: Side,
  path: string,
  body: object,
  expected: Expected,
  dryRunOf: ServerJobKind | null,
) {
  if (dryRunOf === null) {
    const answer = await ask(real, side, "POST", path, expected, body);
    return expected.status === 202 ? answer : null;
  }
  const isTold = expected.status === 202 || expected.status === 409;
  const said: Expected = isTold ? { status: 200 } : { status: expected.status };
  const answer = await ask(real, side, "POST", `${path}?dry_run=true`, said, body);
  if (isTold)
    same(
      `the dry run of ${path} ${JSON.stringify(body)}`,
      [answer.blockers[0]?.code ?? null, answer.would?.job_kind ?? null],
      expected.status === 202 ? [null, dryRunOf] : [expected.code, null],
    );
  return null;
}

export function powerServers(): fc.Arbitrary<Command> {
  const action = fc.constantFrom<PowerAction>("start", "shutdown", "stop", "stop", "reboot", "reset");
  return fc
    .record({ ...serverRef, action, force: fc.constantFrom(false, false, true), dry })
    .map(({ side, ref, action: what, force, dry: isDry }) =>
      onServer(
        `powerServer ${what}${force ? " by force" : ""}${isDry ? ", dry" : ""}`,
        side,
        ref,
        (state, real, server) => power(state, real, side, server, { action: what, force }, isDry),
      ),
    );
}

async function power(
  state: ModelState,
  real: Real,
  side: Side,
  server: ModelServer,
  wanted: PowerRequest,
  isDry: boolean,
): Promise<void> {
  const body = await askFor(
    real,
    side,
    `/servers/${server.id}/power`,
    { action: wanted.action, ...(wanted.force ? { force_after: true } : {}) },
    expectPower(wanted, server, side),
    isDry ? "ServerPower" : null,
  );
  if (body !== null) applyPower(state, server, wanted).id = body.job.id;
}

export function resizeServers(): fc.Arbitrary<Command> {
  return fc
    .record({
      ...serverRef,
      slug: fc.constantFrom("s", "m", "m", "l"),
      growDisk: fc.constantFrom(true, false),
      allowRestart: fc.constantFrom(true, true, false),
      dry,
    })
    .map(({ side, ref, dry: isDry, ...wish }) =>
      onServer(
        `resizeServer ${JSON.stringify(wish)}${isDry ? ", dry" : ""}`,
        side,
        ref,
        (state, real, server) => resize(state, real, side, server, wish, isDry),
      ),
    );
}

async function resize(
  state: ModelState,
  real: Real,
  side: Side,
  server: ModelServer,
  wish: ResizeRequest,
  isDry: boolean,
): Promise<void> {
  const body = await askFor(
    real,
    side,
    `/servers/${server.id}/resize`,
    { package: wish.slug, grow_disk: wish.growDisk, allow_restart: wish.allowRestart },
    expectResize(state, server, side, wish),
    isDry ? "ServerResize" : null,
  );
  if (body !== null) applyResize(state, server, wish).id = body.job.id;
}

export function rebuildServers(): fc.Arbitrary<Command> {
  return fc
    .record({
      ...serverRef,
      image: fc.constantFrom("debian-13", "ubuntu-24.04", "ubuntu-24.04", "windows-2025", "no-image"),
      key: fc.option(refs, { freq: 1 }),
      confirms: fc.constantFrom(true, true, true, false),
      dry,
    })
    .map(({ side, ref, image, key, confirms, dry: isDry }) =>
      onServer(
        `rebuildServer ${image} ${key} ${confirms}${isDry ? ", dry" : ""}`,
        side,
        ref,
        (state, real, server) => {
          const found = key === null ? null : (pick(state.keys, key) ?? null);
          return rebuild(state, real, side, server, { image, key: found, confirms, isDry });
        },
      ),
    );
}

type RebuildRequest = {
  readonly image: string;
  readonly key: { readonly id: string; readonly side: Side; readonly isGone: boolean } | null;
  readonly confirms: boolean;
  readonly isDry: boolean;
};

function expectRebuild(server: ModelServer, side: Side, { image, key, confirms }: RebuildRequest): Expected {
  if (isAbsent(server, side)) return absent;
  const isWindows = image === "windows-2025";
  const hasNoKey = key !== null && (key.side !== side || key.isGone || isWindows);
  // Windows takes neither keys nor the two smallest packages.
  const isTooSmall = isWindows && server.package !== "l";
  if (image === "no-image" || hasNoKey || isTooSmall || !confirms) return { status: 422 };
  const expected = expectAction("rebuild", server, side);
  // No agent of these regions has reported a key to seal its passwords to.
  return expected.status === 202 && isWindows ? refused("region_unavailable") : expected;
}

async function rebuild(
  state: ModelState,
  real: Real,
  side: Side,
  server: ModelServer,
  wish: RebuildRequest,
): Promise<void> {
  const { image, key, confirms, isDry } = wish;
  const body = await askFor(
    real,
    side,
    `/servers/${server.id}/rebuild`,
    {
      image,
      confirm_name: confirms ? server.name : `${server.name}-not`,
      ...(key === null ? {} : { ssh_key_ids: [key.id] }),
    },
    expectRebuild(server, side, wish),
    isDry ? "ServerRebuild" : null,
  );
  if (body === null) return;
  const keys = key === null ? server.keys : [key.id];
  same("a password is shown", typeof body.console_password === "string", keys.length === 0);
  applyRebuild(state, server, { image, keys }).id = body.job.id;
}

export function resetPasswords(): fc.Arbitrary<Command> {
  return fc
    .record({ ...serverRef, when: fc.constantFrom("now", "now", "next_boot"), dry })
    .map(({ side, ref, when, dry: isDry }) =>
      onServer(
        `resetServerPassword ${when}${isDry ? ", dry" : ""}`,
        side,
        ref,
        async (state, real, server) => {
          const body = await askFor(
            real,
            side,
            `/servers/${server.id}/password-reset`,
            { when },
            expectAction(passwordAction(when), server, side),
            isDry ? "ServerPasswordReset" : null,
          );
          if (body === null) return;
          same("a password is shown", typeof body.password, "string");
          applyPasswordReset(state, server, when).id = body.job.id;
        },
      ),
    );
}

/** Names, labels and protection: what is only written down is so at once, and a name goes to the region. */
export function updateServers(): fc.Arbitrary<Command> {
  const label = fc.constantFrom("red", "blue", null);
  const changes = fc.record(
    {
      name: fc.nat({ max: 4 }).map((number) => `server-${number}`),
      labels: fc.record({ colour: label, size: label }, { requiredKeys: [] }),
      protection: fc.oneof(
        fc.record({ delete: fc.boolean() }),
        fc.record({ rebuild: fc.boolean() }),
        fc.record({ delete: fc.boolean(), rebuild: fc.boolean() }),
      ),
    },
    { requiredKeys: [] },
  );
  return fc.record({ ...serverRef, changes }).map(({ side, ref, changes: wanted }) =>
    onServer(`updateServer ${JSON.stringify(wanted)}`, side, ref, async (state, real, server) => {
      if (Object.keys(wanted).length > 0) await update(state, real, side, server, wanted);
    }),
  );
}

/** Protection alone: without it a server can be deleted. */
export function protectServers(): fc.Arbitrary<Command> {
  return fc
    .record({ ...serverRef, protect: fc.boolean() })
    .map(({ side, ref, protect }) =>
      onServer(`updateServer protected ${protect}`, side, ref, (state, real, server) =>
        update(state, real, side, server, { protection: { delete: protect } }),
      ),
    );
}

async function update(
  state: ModelState,
  real: Real,
  side: Side,
  server: ModelServer,
  wanted: Changes,
): Promise<void> {
  const expected = expectUpdate(state, server, side, wanted);
  const body = await ask(real, side, "PATCH", `/servers/${server.id}`, expected, wanted);
  if (expected.status !== 200 && expected.status !== 202) return;
  const job = applyUpdate(state, server, wanted);
  if (job !== null) job.id = body.job.id;
}

/** Only operators set it, and while it is set nothing of the server can be changed. */
export function lockServers(): fc.Arbitrary<Command> {
  return fc
    .record({
      ...serverRef,
      how: fc.constantFrom("lock", "lock", "unlock", "unlock", "unlock", "lock as owner"),
    })
    .map(({ side, ref, how }) =>
      onServer(`${how}Server`, side, ref, async (_, real, server) => {
        const body = { reason: "to be looked at" };
        if (how === "lock as owner") {
          await ask(
            real,
            side,
            "POST",
            `/servers/${server.id}/lock`,
            { status: 403, code: "forbidden" },
            body,
          );
          return;
        }
        const expected = isAbsent(server, side) ? absent : { status: 200 };
        const isLock = how === "lock";
        await askOperator(
          real,
          side,
          "POST",
          `/servers/${server.id}/${how}`,
          expected,
          isLock ? body : undefined,
        );
        if (expected.status === 200) server.isLocked = isLock;
      }),
    );
}
