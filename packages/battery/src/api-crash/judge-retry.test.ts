import { describe, expect, test } from "vitest";
import { boundaryCases, missingPoints, withoutNeighboursAlike } from "./boundary-cases.ts";
import { differenceOf, judgeRetry, type RetriedCase } from "./judge-retry.ts";

const answer = (status: number, isReplay: boolean, text = '{"id":"srv_1"}') => ({
  status,
  headers: new Headers(isReplay ? { "Idempotency-Replayed": "true" } : {}),
  text,
});

const fine: RetriedCase = {
  each: {
    isAfterCommit: true,
    isAfterAsking: true,
    mutation: { name: "createServer", operation: "createServer" },
  },
  reference: { changes: ["job + {}"], status: 202, shape: { id: "srv_#" }, points: [] },
  retried: answer(202, true),
  again: answer(202, true),
  changes: ["job + {}"],
};

describe("a request that was killed and repeated", () => {
  test("is right when it is as if it had run once", () => {
    expect(judgeRetry(fine)).toEqual([]);
  });

  test.each<[string, Partial<RetriedCase>, RegExp]>([
    ["is done twice", { changes: ["job + {}", "job + {}"] }, /not done once/],
    ["is not done", { changes: [] }, /not done once/],
    ["answers otherwise", { retried: answer(409, true) }, /answers 409/],
    ["is not answered", { retried: null }, /answers nothing/],
    ["is done anew after its commit", { retried: answer(202, false) }, /does not know the key/],
    ["forgets the key", { again: answer(202, false) }, /the third time/],
    ["replays something else", { again: answer(202, true, '{"id":"srv_2"}') }, /two replays/],
    ["answers another body", { retried: answer(202, true, '{"id":"net_1"}') }, /in place of/],
  ])("is wrong when it %s", (_what, more, expected) => {
    expect(judgeRetry({ ...fine, ...more }).join("\n")).toMatch(expected);
  });

  test("is wrong when it replays what was never committed", () => {
    const each = { ...fine.each, isAfterCommit: false };
    expect(judgeRetry({ ...fine, each }).join("\n")).toMatch(/never given/);
  });
});

describe("a sign-in at a provider that was killed after the request to the provider", () => {
  const each = {
    isAfterCommit: false,
    isAfterAsking: true,
    mutation: { name: "loginWithOidc", operation: "loginWithOidc" },
  } as const;
  const trail = 'audit + {"http_status":401}';
  const nothing = { ...fine, each, retried: answer(401, false), again: null, changes: [trail] };

  test("is right when it fails", () => {
    expect(judgeRetry(nothing)).toEqual([]);
  });

  test("is wrong when something of it is there, or it is done after all", () => {
    expect(judgeRetry({ ...nothing, changes: [trail, "token + {}"] })).toEqual([
      "comes to nothing, and leaves token + {}",
    ]);
    expect(judgeRetry({ ...nothing, retried: answer(200, false) }).join()).toMatch(/answers 200/);
  });

  test("is as any other one before that", () => {
    expect(judgeRetry({ ...nothing, each: { ...each, isAfterAsking: false } })).not.toEqual([]);
  });
});

describe("a departure from an organisation that was killed after its commit", () => {
  const left = { ...fine, reference: { ...fine.reference, status: 204, shape: null } };
  const of = (name: string) =>
    ({
      ...fine.each,
      mutation: { name, operation: "leaveOrganisation" },
    }) as const satisfies RetriedCase["each"];
  const refused = answer(401, false);

  test("has ended the session that asked, which is refused from then on", () => {
    const each = of("leaveOrganisation");
    expect(judgeRetry({ ...left, each, retried: refused, again: refused })).toEqual([]);
    expect(judgeRetry({ ...left, each, retried: answer(204, true, "") }).join()).toMatch(/answers 204/);
    expect(judgeRetry({ ...left, each, retried: refused, again: answer(204, true, "") }).join()).toMatch(
      /the third time, it answers 204/,
    );
    expect(judgeRetry({ ...left, each, retried: refused, again: refused, changes: [] }).join()).toMatch(
      /not done once/,
    );
  });

  test("is answered the same when a session of another organisation asked", () => {
    const each = of("leaveOrganisation: by a session of another organisation");
    const replay = answer(204, true, "");
    expect(judgeRetry({ ...left, each, retried: replay, again: replay })).toEqual([]);
    expect(judgeRetry({ ...left, each, retried: answer(404, false) }).join()).toMatch(/answers 404/);
  });
});

test("a mail that is asked for again is queued once, and in the trail twice", () => {
  const each = {
    ...fine.each,
    mutation: { name: "requestPasswordReset", operation: "requestPasswordReset" },
  } as const;
  const changes = ["_private_jobs + {}", "audit + {}"];
  const again = { ...fine, each, reference: { ...fine.reference, changes }, again: null };
  expect(judgeRetry({ ...again, changes: [...changes, "audit + {}"] })).toEqual([]);
  expect(judgeRetry({ ...again, changes }).join()).toMatch(/missing audit/);
  expect(judgeRetry({ ...again, changes: [...changes, ...changes] }).join()).toMatch(
    /unexpected _private_jobs/,
  );
});

test("lines count as often as they are there", () => {
  expect(differenceOf(["a", "a"], ["a", "a"])).toBeNull();
  expect(differenceOf(["a", "a"], ["a"])).toBe("missing a");
  expect(differenceOf(["a"], ["b", "a"])).toBe("unexpected b");
});

test("of one long line in place of another one is shown where they differ", () => {
  const long = (end: string) => `job + {"text":"${"x".repeat(1000)}","state":"${end}"}`;
  const difference = differenceOf([long("open")], [long("closed")]);
  expect(difference).toMatch(/^missing job \+ .*"state":"open"}; unexpected job \+ .*"state":"closed"}$/);
  expect(difference?.length).toBeLessThan(600);
});

test("what comes after the last COMMIT must be complete, what comes before must be absent", () => {
  const mutation = { name: "login", operation: "login", prepare: () => Promise.reject() } as const;
  const points = ["before-begin", "before-commit", "committed", "before-commit", "committed", "done"];
  expect(boundaryCases(mutation, points).map(({ time, isAfterCommit }) => [time, isAfterCommit])).toEqual([
    [1, false],
    [1, false],
    [1, false],
    [2, false],
    [2, true],
    [1, true],
  ]);
});

test("an operation that queues a job must pass the boundaries of a job", () => {
  const changes = ["job + {}", '_private_jobs + {"identifier":"region:r1","payload":{"job_id":"job_"}}'];
  expect(missingPoints("createServer", { changes, points: ["before-begin", "done", "replied"] })).toEqual([
    "before-commit",
    "committed",
    "written",
    "allocated",
    "job-written",
    "queued",
  ]);
});

test("two cases of one operation never follow each other", () => {
  const of = (operation: "login" | "logout") => ({
    mutation: { name: operation, operation, prepare: () => Promise.reject() },
  });
  const [a, b] = [of("login"), of("logout")];
  expect(withoutNeighboursAlike([a, a, a, b])).toEqual([a, b, a, null, a]);
});
