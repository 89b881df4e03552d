import type { RowResult, RowRun } from "../row.ts";
import { HostileOrganisation, type Spectator } from "./hostile-organisation.ts";
import { PagePolicies } from "./page-policy.ts";
import { startPanelBeforeApi } from "./panel-before-api.ts";
import { Plants, payloadCount } from "./payloads.ts";
import { ScriptWatch } from "./script-watch.ts";
import { visitAll, walkForms, walkPages, walkQueries } from "./walk.ts";

/** In each, the same places meet other texts. */
const rounds = { sample: 1, full: 4 } as const;
/** With fewer than these the row would prove little: links to nowhere, or answers that are never shown. */
const fewest = {
  "kinds of pages": 45,
  forms: 35,
  "texts of answers seen": 900,
  "texts of addresses and forms seen": 60,
};
/** Fields that the API accepts and no page shows; every other field must have been read on some page. */
const shownNowhere: ReadonlySet<string> = new Set([
  ...["an agent's name", "a node's name", "a machine's tag", "a key's comment", "an edge's message"],
  // For the operators' log alone.
  "an error's internal text",
  // Stored only in a form without punctuation (packages/rules/src/inventory/seen-words.ts).
  ...["a guest's system", "a guest's name for itself"],
]);

/** Pages for people who have not signed in. */
const outside = [
  "/sign-in",
  "/sign-in/second-factor",
  "/join",
  "/no-such-page",
  "/sign-in/with/soft/callback",
];

export async function visitPanel({ scale, random, progress }: RowRun): Promise<RowResult> {
  const violations = new Set<string>();
  const policies = new PagePolicies();
  const panel = await startPanelBeforeApi();
  // Not imported with the row, which is loaded whenever the rows are listed.
  const { openBrowser } = await import("@kule/console/testing/browser");
  const browser = await openBrowser();
  let forms = 0;
  try {
    const first = Math.floor(random() * payloadCount);
    const [stored, given, answered] = [0, 1, 2].map((series) => new Plants(series, first)) as [
      Plants,
      Plants,
      Plants,
    ];
    const organisation = await HostileOrganisation.open(panel.world, stored);
    progress("an organisation of hostile texts is there");
    const watch = () =>
      ScriptWatch.open(browser, { url: panel.url, plants: [stored, given, answered], policies, violations });
    const [member, reader, nobody] = [await watch(), await watch(), await watch()];
    const rendered = () => member.visited + reader.visited + nobody.visited;
    await signIn(member, organisation.spectator);
    const asMarkup = (place: string) => answered.asMarkup(place);
    const asAddress = (place: string) => answered.asAddress(place);
    panel.plantInAnswers(asMarkup);
    await signIn(reader, organisation.spectator);
    panel.plantInAnswers(null);
    await organisation.addPasskey(stored);

    const { ended, server, locked } = organisation;
    let kinds: readonly string[] = [];
    const walks: (() => Promise<unknown>)[] = [
      async () => {
        kinds = await walkPages(member, progress, [
          `/servers/${server}`,
          ...ended.map((id) => `/jobs/${id}`),
          ...[`/servers/${locked}`, `/operator/servers/${locked}/lock`],
        ]);
      },
      () => showParts(member, organisation),
      () => visitAll(nobody, [`/join?invitation=${organisation.invitation}`, ...outside]),
    ];
    for (let round = 0; round < rounds[scale]; round += 1)
      walks.push(
        async () => {
          progress(`round ${round + 1}: hostile answers`);
          panel.plantInAnswers(round % 2 === 0 ? asMarkup : asAddress);
          await showParts(reader, organisation);
          await visitAll(reader, kinds);
          panel.plantInAnswers(null);
        },
        async () => {
          progress(`round ${round + 1}: hostile addresses`);
          await walkQueries(member, kinds, given, scale === "full");
          await walkQueries(nobody, outside, given, scale === "full");
        },
        async () => {
          progress(`round ${round + 1}: hostile forms`);
          forms = (await walkForms(member, kinds, given)) + (await walkForms(nobody, outside, given));
        },
      );
    for (const walk of walks) {
      await walk();
      // With violations so far, the rest of the way would only repeat them.
      if (violations.size > 0) return { cases: rendered(), violations: [...violations] };
    }
    for (const field of stored.unseen())
      if (!shownNowhere.has(field)) violations.add(`${field}: no page shows it, so nothing is known of it`);
    const figures = {
      "pages rendered": rendered(),
      "kinds of pages": kinds.length,
      forms,
      "policies judged": policies.answers,
      nonces: policies.nonces,
      "stored texts seen": stored.seen,
      "texts of answers seen": answered.seen,
      "texts of addresses and forms seen": given.seen,
    };
    for (const [what, least] of Object.entries(fewest)) {
      const found = figures[what as keyof typeof fewest];
      if (found < least) violations.add(`only ${found} ${what}: nothing is known of the others`);
    }
    return { cases: stored.seen + given.seen + answered.seen, violations: [...violations], figures };
  } finally {
    await browser.close();
    await panel.end();
  }
}

async function signIn(watch: ScriptWatch, { email, password }: Spectator): Promise<void> {
  await watch.visit("/sign-in");
  await watch.page.fill("input[name=email]", email);
  await watch.page.fill("input[name=password]", password);
  await watch.page.click(".sign-in-card button[type=submit]");
  await watch.page.waitForURL(({ pathname }) => pathname !== "/sign-in");
}

/** Content that scripts add to a page: notices of ended jobs, results of the palette, a console's texts. */
async function showParts(watch: ScriptWatch, { ended, server, locked }: HostileOrganisation): Promise<void> {
  await watch.visit("/servers");
  // The page asks every few seconds, and the answer to a request that is under way overwrites what is stored here:
  // it is stored again until a note is shown. Not on a new page, whose data an earlier answer may overwrite.
  const stored = `sessionStorage.setItem("kule-open-jobs", ${JSON.stringify(ended.join(" "))})`;
  const isThere = await watch.act(async (isLeft) => {
    for (let tries = 0; !isLeft(); tries += 1) {
      await watch.page.evaluate(stored);
      const shown = await watch.page.waitForSelector(".toast", { timeout: 2_000 }).catch(() => null);
      if (shown !== null) return;
      if (tries === 30) throw new Error("no note of an ended job is shown within a minute");
    }
  });
  if (isThere) await watch.act(() => searchMarks(watch));
  await watch.page.emulateMedia({ media: "print" });
  await watch.visit(`/servers/${server}`);
  await watch.page.emulateMedia({ media: null });
  // Twice: the parts of one answer must not be in another.
  for (let time = 0; time < 2; time += 1) {
    await watch.visit(`/servers/${server}/console?type=serial`);
    await watch.page.waitForSelector(
      "#console-state[data-state=open], #console-state[data-state=closed], #console-state[data-state=again], #console-state[data-state=connecting]",
    );
    await watch.read();
  }
  // There is no console, and the page shows the API's text.
  await watch.visit(`/servers/${locked}/console?type=serial`);
  await watch.page.waitForSelector("#console-state[data-state=closed]");
  await watch.read();
}

/** The note that is shown, and the palette's results. */
async function searchMarks(watch: ScriptWatch): Promise<void> {
  await watch.read();
  await watch.page.click("[data-palette]");
  // It shows pages and actions before a text is typed: results for the text are in the answer to the whole of
  // it.
  const found = watch.page.waitForResponse(
    (answer) => new URL(answer.url()).searchParams.get("q") === "mark",
  );
  // Not by single keys: on a busy machine one may come before the field has the focus.
  await watch.page.fill("#palette input[type=search]", "mark");
  await (await found).finished();
  await watch.page.waitForTimeout(300);
  await watch.read();
}
