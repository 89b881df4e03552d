import { operations } from "@kule/contract/generated/operations";
import type { OperationId } from "@kule/contract/schemas";
import { bodySchema, type JsonSchema, resolved } from "@kule/testing/contract/contract-schema";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type CompleteWorld, startCompleteWorld, visitEveryPage } from "./testing/every-page.ts";
import { formsIn, formVariants, type PostedForm } from "./testing/forms-in.ts";
import type { SentCall } from "./testing/recorded-api.ts";
import type { Visitor } from "./testing/visitor.ts";

let world: CompleteWorld;
beforeEach(async () => {
  world = await startCompleteWorld();
});
afterEach(() => world.stop());

/** The reason why no form sends an operation, or one property of its body with its children. */
const exceptions: Readonly<Record<string, string>> = {
  addPasskey: "what a passkey answers with, a browser's script alone can make and send",
  "proveIdentity.passkey": "what a passkey answers with, a browser's script alone can make and send",
  linkIdentity: "what a provider answers with comes in the address that it leads back to",
  "proveIdentity.oidc": "what a provider answers with comes in the address that it leads back to",
  openServerConsole:
    "the console's own page asks for its tickets with a script; taking over is a button of it",
  "createOrganisation.limits": "the page that comes next has a field for each limit",
  "updateOrganisation.limits": "the form of the limits sets all of them at once (setQuotas)",
  resumeAgentRollout: "its button is in the place of the one that pauses, on a rollout that does not run",
  correctUsage: "an operator's rare act on one segment, by the API alone: docs/products/usage.md",
  "createFirewall.rules": "a new firewall begins with one of four sets; its page of rules has all fields",
  "createLoadBalancer.listeners":
    "the form has the fields that most begin with; a listener's page has all of them",
  "createLoadBalancer.targets": "a new one begins with weight 1; a target's page has all fields",
  addFirewallRule: "the page of rules saves all of them at once with If-Match (setFirewallRules)",
  updateFirewallRule: "the page of rules saves all of them at once with If-Match (setFirewallRules)",
  changeRecordValues: "programs that share a record set need it; the form of the records has all values",
  "setRecordSet.managed_by": "what a program says of itself",
  removeFirewallRule: "the page of rules saves all of them at once with If-Match (setFirewallRules)",
};

/** The exception that covers a name: its own, or that of a parent. */
const exceptionOf = (name: string) =>
  Object.keys(exceptions).find((each) => name === each || name.startsWith(`${each}.`));

/** Operations by which people change something: without the agents' calls and without calls that need no account. */
const changes = Object.values(operations).filter(
  ({ audit, permission }) => audit !== null && permission !== "public" && !permission.startsWith("agent:"),
);

/** A body's properties by their paths, those within objects and lists of objects too: `protection.delete`, `rules.ports`. */
function propertiesOf(schema: JsonSchema | null): string[] {
  if (schema === null) return [];
  const { properties = {}, oneOf = [], items } = resolved(schema);
  const own = Object.entries(properties).flatMap(([name, value]) => {
    const inner = propertiesOf(value);
    return inner.length === 0 ? [name] : inner.map((each) => `${name}.${each}`);
  });
  return [
    ...new Set([...own, ...oneOf.flatMap(propertiesOf), ...(items === undefined ? [] : propertiesOf(items))]),
  ];
}

/** The properties that a body contains, by the same paths. */
function propertiesIn(body: unknown): string[] {
  if (Array.isArray(body)) return body.flatMap(propertiesIn);
  if (typeof body !== "object" || body === null) return [];
  return Object.entries(body).flatMap(([name, value]) => [
    name,
    ...propertiesIn(value).map((each) => `${name}.${each}`),
  ]);
}

function operationOf({ method, path }: SentCall): OperationId | undefined {
  const parts = path.split("/");
  // An address without a parameter precedes one with a parameter.
  return Object.values(operations)
    .filter((each) => each.method.toUpperCase() === method)
    .filter((each) => {
      const template = each.path.split("/");
      return (
        template.length === parts.length &&
        template.every((part, at) => part.startsWith("{") || part === parts[at])
      );
    })
    .sort((a, b) => a.pathParameters.length - b.pathParameters.length)[0]?.id;
}

/** Forms that end the session that sends them come last. */
const ending = ["/leave-organisation", "/switch-organisation", "/join", "/sign-out"];

test("whatever the API lets people change, a form of the panel sends: every operation, and all that its body may say", async () => {
  const forms = new Map<string, { readonly visitor: Visitor; readonly form: PostedForm }>();
  await visitEveryPage(world, (visitor, _path, page) => {
    // Display preferences are stored in the browser, not in the API.
    for (const form of formsIn(page))
      if (form.action !== "/preferences") forms.set(kindOf(form), { visitor: visitor.twin(), form });
  });
  world.api.refuses = true;
  world.api.sent.length = 0;
  const inOrder = [...forms.values()].sort(
    (a, b) => ending.indexOf(a.form.action) - ending.indexOf(b.form.action),
  );
  for (const { visitor, form } of inOrder)
    for (const { action, fields } of formVariants(form, ["123456", "a-b", ""]))
      await visitor.twin().post(action, fields);

  const arrived = new Set<string>();
  for (const call of world.api.sent) {
    const id = operationOf(call);
    if (id === undefined || call.query.get("dry_run") === "true") continue;
    arrived.add(id);
    for (const name of [...propertiesIn(call.body), ...call.query.keys()]) arrived.add(`${id}.${name}`);
  }
  const wanted = changes.flatMap(({ id, queryParameters }) => [
    id,
    ...propertiesOf(bodySchema(id)).map((name) => `${id}.${name}`),
    // A dry run checks the request that the form would send.
    ...queryParameters.filter((name) => name !== "dry_run").map((name) => `${id}.${name}`),
  ]);
  const missing = wanted.filter((name) => !arrived.has(name));
  expect(missing.filter((name) => exceptionOf(name) === undefined)).toEqual([]);
  // An exception that no longer applies is an error.
  const needed = new Set(missing.map(exceptionOf));
  expect(Object.keys(exceptions).filter((each) => !needed.has(each))).toEqual([]);
}, 240_000);

const withoutIds = (text: string) => text.replaceAll(/[a-z]+_[0-9a-z]{10,}/g, "*");

/** Sends forms of one kind once: those with the same action and the same controls, whatever their values. */
function kindOf({ action, controls }: PostedForm): string {
  const said = controls.map(({ kind, name, values }) => {
    const isSaying = kind === "button" || (kind === "kept" && /^[a-z_]+$/.test(values[0] ?? ""));
    return withoutIds(`${kind} ${name} ${isSaying ? values[0] : ""}`);
  });
  return `${withoutIds(action)} ${[...new Set(said)].sort().join()}`;
}
