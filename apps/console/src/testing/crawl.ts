/** One page of a crawl, and the page that links to it. */
export type CrawledPage = { readonly path: string; readonly from: string };

/** The most addresses to visit that differ only in their query, such as months or filters. */
const mostOfAKind = 3;

/**
 * Follows every link of every page, starting from a first one.
 *
 * @param visit loads a page; null for what is not a page, such as a download
 * @returns every page that was loaded, in the order of discovery
 */
export async function crawl(
  first: string,
  visit: (page: CrawledPage) => Promise<string | null>,
): Promise<CrawledPage[]> {
  const found: CrawledPage[] = [{ path: first, from: "" }];
  const known = new Set([first]);
  const kinds = new Map<string, number>();
  for (const page of found) {
    const html = await visit(page);
    if (html === null) continue;
    for (const path of linksOf(html, page.path)) {
      if (known.has(path)) continue;
      known.add(path);
      const kind = kindOf(path);
      const seen = kinds.get(kind) ?? 0;
      if (seen >= mostOfAKind && path.includes("?")) continue;
      kinds.set(kind, seen + 1);
      found.push({ path, from: page.path });
    }
  }
  return found;
}

/** Whether an address of the panel is a file to save: a browser that is sent there shows no page. */
export function isDownload(path: string): boolean {
  return path.startsWith("/usage/export") || path.endsWith("/zone-file");
}

/** The addresses within the console that a page links to, without their fragments. */
export function linksOf(html: string, path: string): string[] {
  const here = new URL(path, "http://console.test");
  return [...html.matchAll(/<a\s[^>]*?href="([^"]*)"/g)].flatMap(([, href = ""]) => {
    const address = new URL(href.replaceAll("&amp;", "&"), here);
    return address.origin === here.origin ? [address.pathname + address.search] : [];
  });
}

function kindOf(path: string): string {
  const { pathname, searchParams } = new URL(path, "http://console.test");
  return `${pathname}?${[...new Set(searchParams.keys())].sort().join("&")}`;
}
