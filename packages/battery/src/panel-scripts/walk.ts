import { kindOfPath } from "./hostile-answers.ts";
import type { Plants } from "./payloads.ts";
import type { ScriptWatch } from "./script-watch.ts";

/** Where links do not lead from anywhere, or not from a page that is found early. */
const firstPages = [
  ...["/servers", "/networks", "/firewalls", "/gateways", "/public-ips", "/ssh-keys", "/jobs", "/usage"],
  ...[
    "/members",
    "/tokens",
    "/audit",
    "/quotas",
    "/search?q=mark",
    "/account/security",
    "/switch-organisation",
  ],
  ...["/usage/events", "/usage/segments"],
  ...["/operator", "/operator/regions", "/operator/drift", "/organisations", "/ip-pools"],
  ...["/servers/new", "/no-such-page"],
];
/** Of pages that differ only in whose they are. */
const mostOfAKind = 2;
/** More than a reader needs. */
const enoughViolations = 20;
const noPages = /\.(csv|ndjson)\b|^\/assets\/|^\/jobs\/[^/]+\/events$/;

/** Parameters in the addresses of the panel's pages, real or possible. */
const parameters = [
  ...["q", "name", "notice", "why", "status", "kind", "reason", "region", "labels", "label_selector", "sort"],
  ...["return_to", "invitation", "image", "package", "network", "organisation", "month", "refused", "state"],
  ...["type", "with", "fresh", "error", "error_description", "actor", "action", "resource", "from", "to"],
  ...["count", "protocol", "server", "key", "group_by", "title", "text", "code", "iss"],
];
/** An address that is refused for its cursor shows none of its other parameters. */
const alone = [["cursor"], ["q", "cursor"]];

/** Every page that links lead to, a few of each kind; answers one address of each kind. */
export async function walkPages(
  watch: ScriptWatch,
  progress: (text: string) => void,
  first: readonly string[] = [],
): Promise<string[]> {
  const counts = new Map<string, number>();
  const open: string[] = [];
  const add = (path: string) => {
    const { pathname, searchParams } = new URL(path, "http://panel");
    const query = [...new Set(searchParams.keys())].sort().join("&");
    const kind = `${kindOfPath(pathname)}?${query}`;
    const count = counts.get(kind) ?? 0;
    if (noPages.test(path) || open.includes(path) || count >= (query === "" ? mostOfAKind : 1)) return;
    counts.set(kind, count + 1);
    open.push(path);
  };
  [...first, ...firstPages].forEach(add);
  const kinds = new Map<string, string>();
  for (const [index, path] of open.entries()) {
    if (watch.violations.size >= enoughViolations) break;
    const page = await watch.visit(path);
    if (page === null) continue;
    const kind = kindOfPath(path.split("?")[0] ?? path);
    if (page.status === 200 && !kinds.has(kind)) kinds.set(kind, path.split("?")[0] ?? path);
    page.links.forEach(add);
    if (index % 20 === 0) progress(`${index} of ${open.length} pages, ${watch.violations.size} violations`);
  }
  return [...kinds.values()];
}

/** These pages, and none that they lead to. */
export async function visitAll(watch: ScriptWatch, paths: readonly string[]): Promise<void> {
  for (const path of paths) await watch.visit(path);
}

/** The same pages with addresses from an attacker, such as links on other sites. */
export async function walkQueries(
  watch: ScriptWatch,
  paths: readonly string[],
  plants: Plants,
  hasAlone: boolean,
): Promise<number> {
  const sets = hasAlone ? [parameters, ...alone] : [parameters];
  let visited = 0;
  for (const path of paths)
    for (const names of sets) {
      const query = new URLSearchParams(
        names.map((name) => [name, plants.text(`?${name}= of ${kindOfPath(path)}`)]),
      );
      await watch.visit(`${path}?${query}`);
      visited += 1;
    }
  return visited;
}

type FormField = { readonly form: number; readonly name: string };

const fillable = `(() => [...document.querySelectorAll("form[method=post]")].flatMap((form, index) =>
  [...form.elements]
    .filter((each) => each.name !== "" && (each.matches("textarea, select") ||
      each.matches("input:not([type=hidden], [type=checkbox], [type=radio], [type=submit])")))
    .map((each) => ({ form: index, name: each.name }))))()`;

/** Without the browser's own checks, which other clients do not have. */
const sending = ({ form, texts }: { form: number; texts: Readonly<Record<string, string>> }) => `(() => {
  const form = document.querySelectorAll("form[method=post]")[${form}];
  const texts = ${JSON.stringify(texts)};
  for (const each of form.elements) {
    const text = texts[each.name];
    if (text === undefined) continue;
    if (each.matches("select")) each.add(new Option(text, text, true, true));
    else if (each.matches("textarea")) each.value = text;
    else { each.type = "text"; each.removeAttribute("maxlength"); each.value = text; }
  }
  HTMLFormElement.prototype.submit.call(form);
})()`;

/** Every form in which something is typed, sent with texts in all of its fields: what is refused is shown again. */
export async function walkForms(
  watch: ScriptWatch,
  paths: readonly string[],
  plants: Plants,
): Promise<number> {
  const sent = new Set<string>();
  for (const path of paths) {
    await watch.visit(path);
    let isLeft = false;
    const fields = (await watch.page.evaluate(fillable)) as readonly FormField[];
    for (const form of new Set(fields.map((field) => field.form))) {
      const names = fields.filter((field) => field.form === form).map(({ name }) => name);
      if (isLeft) await watch.visit(path);
      isLeft = false;
      const action = (await watch.page.evaluate(
        `document.querySelectorAll("form[method=post]")[${form}].getAttribute("action")`,
      )) as string | null;
      const kind = `${kindOfPath(action ?? path)} ${[...names].sort()}`;
      if (sent.has(kind)) continue;
      sent.add(kind);
      const texts = Object.fromEntries(
        names.map((name) => [name, plants.text(`${name} of the form ${kindOfPath(action ?? path)}`)]),
      );
      await watch.submit(() => watch.page.evaluate(sending({ form, texts })));
      isLeft = true;
    }
  }
  return sent.size;
}
