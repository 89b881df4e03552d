import { attributesInForce, processAttributes } from "./htmx.ts";

/**
 * Keeps what was typed into forms whose request did not succeed, until the person is back on the page: a session that
 * ends, or a page that fails, must not lose input. The copy is kept in this tab only, for one person and one hour.
 * Passwords, codes, private keys and confirmations of a deletion are not kept.
 */
type Kept = {
  readonly person: string;
  readonly at: number;
  /** Sent and not answered yet, or lost with the session or the page. */
  readonly state: "sent" | "lost";
  readonly forms: readonly KeptForm[];
};

type KeptForm = {
  readonly action: string;
  /** The index among the page's forms with that action. */
  readonly nth: number;
  readonly fields: readonly (readonly [name: string, value: string])[];
};

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

const memory = "kule-kept-forms";
const longestMilliseconds = 3_600_000;
const mostCharacters = 300_000;

const typed = new WeakSet<HTMLFormElement>();
document.addEventListener("input", (event) => {
  const { form } = event.target as Control;
  if (form instanceof HTMLFormElement && form.method === "post") typed.add(form);
});

/** The forms of this page that change something when sent and into which text was typed. */
export const typedForms = (): HTMLFormElement[] => [...document.forms].filter((form) => typed.has(form));

/** Keeps what is typed on this page until the person returns to it. */
export function keepTypedForms(): void {
  keep(typedForms(), "lost");
}

document.addEventListener("submit", (event) => {
  const form = event.target as HTMLFormElement;
  if (form.method !== "post" || event.defaultPrevented) return;
  if (form.hasAttribute("data-kept-nowhere")) forget();
  else keep([form], "sent");
});

const person = () => document.querySelector<HTMLElement>("main[data-person]")?.dataset.person ?? null;

function keep(forms: readonly HTMLFormElement[], state: Kept["state"]): void {
  const whose = person();
  if (whose === null || forms.length === 0) return;
  const kept: Kept = { person: whose, at: Date.now(), state, forms: forms.map(fieldsOf) };
  const text = JSON.stringify(kept);
  if (text.length <= mostCharacters) sessionStorage.setItem(memory, text);
}

function fieldsOf(form: HTMLFormElement): KeptForm {
  const action = actionOf(form);
  const secrets = new Set([...form.elements].filter(isSecret).map((control) => (control as Control).name));
  const fields = [...new FormData(form)].flatMap(([name, value]) =>
    typeof value !== "string" || secrets.has(name) ? [] : [[name, value] as const],
  );
  return { action, nth: sameAction(action).indexOf(form), fields };
}

const isSecret = (control: Element): boolean =>
  control.matches(
    "[type=password], [type=file], [autocomplete=one-time-code], [data-confirm], [data-secret], [name=form_token], [name=idempotency_key]",
  );

/** Read from the attribute: a control may have the name `action`. */
const actionOf = (form: HTMLFormElement): string => form.getAttribute("action") ?? "";
const sameAction = (action: string): HTMLFormElement[] =>
  [...document.forms].filter((form) => form.method === "post" && actionOf(form) === action);

function forget(): void {
  sessionStorage.removeItem(memory);
}

function remembered(): Kept | null {
  try {
    return JSON.parse(sessionStorage.getItem(memory) ?? "null") as Kept | null;
  } catch {
    return null;
  }
}

/** Runs on each page: the sign-in page and a failed page store what was sent, and the page of the form restores it. */
async function arrive(): Promise<void> {
  const kept = remembered();
  if (kept === null) return;
  if (document.body.dataset.keepsForms !== undefined) {
    sessionStorage.setItem(memory, JSON.stringify({ ...kept, state: "lost" } satisfies Kept));
    for (const hint of document.querySelectorAll<HTMLElement>("[data-kept-hint]")) hint.hidden = false;
    return;
  }
  const whose = person();
  // Steps of the sign-in: no person is signed in yet.
  if (whose === null) return;
  if (whose !== kept.person || kept.state === "sent" || Date.now() - kept.at > longestMilliseconds) {
    forget();
    return;
  }
  const here = kept.forms.flatMap((each) => {
    const form = sameAction(each.action)[each.nth];
    return form === undefined ? [] : [{ form, each }];
  });
  if (here.length === 0) return;
  forget();
  await attributesInForce;
  for (const { form, each } of here) await giveBack(form, each);
}

async function giveBack(form: HTMLFormElement, { fields }: KeptForm): Promise<void> {
  const { redraw } = form.dataset;
  if (redraw !== undefined && form.id !== "") {
    // The panel renders these from the input: rows and choices depend on it.
    const body = new URLSearchParams(fields.map(([name, value]) => [name, value]));
    for (const control of form.querySelectorAll<HTMLInputElement>(
      "[name=form_token], [name=idempotency_key]",
    ))
      body.append(control.name, control.value);
    const drawn = await drawnForm(redraw, body, form.id);
    if (drawn !== null) {
      form.replaceWith(drawn);
      processAttributes(drawn);
      // What depends on a form's fields, such as the marks beside a name, is updated after a swap.
      document.dispatchEvent(new CustomEvent("htmx:after:swap"));
      say(drawn);
      return;
    }
  }
  fill(form, fields);
  say(form);
}

async function drawnForm(
  address: string,
  body: URLSearchParams,
  id: string,
): Promise<HTMLFormElement | null> {
  try {
    const answer = await fetch(address, { method: "POST", body, headers: { "hx-request": "true" } });
    if (!answer.ok) return null;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const form = page.getElementById(id);
    return form instanceof HTMLFormElement ? form : null;
  } catch {
    return null;
  }
}

function fill(form: HTMLFormElement, fields: KeptForm["fields"]): void {
  const values = Map.groupBy(fields, ([name]) => name);
  for (const control of [...form.elements] as Control[]) {
    if (!control.matches("input:not([type=hidden]), select, textarea") || isSecret(control)) continue;
    const mine = (values.get(control.name) ?? []).map(([, value]) => value);
    if (control instanceof HTMLInputElement && (control.type === "checkbox" || control.type === "radio"))
      control.checked = mine.includes(control.value);
    else if (mine[0] !== undefined) control.value = mine[0];
    control.dispatchEvent(new Event("input", { bubbles: true }));
  }
  const around = form.closest("details:not([open])");
  if (around instanceof HTMLDetailsElement) around.open = true;
}

function say(form: HTMLFormElement): void {
  typed.add(form);
  const template = document.querySelector<HTMLTemplateElement>("#request-problems");
  const banner = template?.content.querySelector("[data-trouble=kept] .banner")?.cloneNode(true);
  if (!(banner instanceof HTMLElement)) return;
  banner.dataset.keptForm = "";
  form.before(banner);
  banner.scrollIntoView({ block: "center" });
}

void arrive();
