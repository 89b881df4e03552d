import type { PanelBrowser } from "../panel-sessions/panel-browser.ts";

/** A form of a page of the panel, as it is sent without any input. */
export type PanelForm = {
  /** The page that contains it. */
  readonly page: string;
  readonly action: string;
  /** The action with a star for every id, so that two servers' forms are one. */
  readonly kind: string;
  readonly fields: Readonly<Record<string, string>>;
};

const mostPages = 400;

/** Every kind of form that can be reached from the pages by links, once each. */
export async function formsOfPanel(browser: PanelBrowser, from: readonly string[]): Promise<PanelForm[]> {
  const forms = new Map<string, PanelForm>();
  const seen = new Set<string>();
  const open = [...from];
  for (let path = open.shift(); path !== undefined && seen.size < mostPages; path = open.shift()) {
    if (seen.has(path)) continue;
    seen.add(path);
    const response = await browser.get(path);
    const page = await response.text();
    const target = response.headers.get("location");
    if (target?.startsWith("/")) open.push(target);
    if (response.status !== 200) continue;
    for (const form of formsOf(path, page)) if (!forms.has(form.kind)) forms.set(form.kind, form);
    for (const [, link = ""] of page.matchAll(/<a\b[^>]*\bhref="(\/[^"#]*)/g)) {
      const next = link.replaceAll("&amp;", "&");
      // Filters of a list, and downloads, have no forms of their own.
      if (!/[?&](cursor|labels|q|sort|notice)=|\.(csv|ndjson)/.test(next) && !next.startsWith("/assets/"))
        open.push(next);
    }
  }
  return [...forms.values()];
}

function formsOf(page: string, text: string): PanelForm[] {
  return [...text.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)].flatMap(([, head = "", body = ""]) => {
    if (!/\bmethod="post"/.test(head)) return [];
    const action = /\baction="([^"]+)"/.exec(head)?.[1]?.replaceAll("&amp;", "&") ?? page;
    const fields: Record<string, string> = {};
    for (const [, input = ""] of body.matchAll(/<(?:input|button|option)\b([^>]*)>/g)) {
      const name = /\bname="([^"]+)"/.exec(input)?.[1];
      if (name === undefined || /\btype="(checkbox|radio)"/.test(input)) continue;
      fields[name] ??= /\bvalue="([^"]*)"/.exec(input)?.[1] ?? "";
    }
    return [{ page, action, kind: action.replace(/\b[a-z]+_[0-9a-z]{20,}\b/g, "*"), fields }];
  });
}
