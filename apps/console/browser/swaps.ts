import { announce } from "./announce.ts";
import { keepTypedForms, typedForms } from "./kept-forms.ts";
import { isPoll, setStale } from "./polling.ts";
import { signInAddress } from "./session-end.ts";

/**
 * Decides which answers may replace a part of the page, for every request that a page sends by itself. An error page in
 * place of a form would delete the input, so an answer is swapped in only when it is a success or the form's own
 * refusal, and contains the requested part. For every other answer a message beside the form says what happened, and
 * nothing changes.
 */
type RequestEvent = CustomEvent<{
  ctx: {
    sourceElement: Element;
    text?: string;
    select?: string | null;
    response?: { status: number };
  };
}>;

type Failure = "ended" | "forbidden" | "gone" | "away" | "broken";

/** Forms are rendered again with these statuses: they contain their own errors. */
const refusals: ReadonlySet<number> = new Set([409, 412, 422]);

document.addEventListener("htmx:before:swap", (event) => {
  const { ctx } = (event as RequestEvent).detail;
  // Not an answer to a request: an event of a stream.
  if (ctx.response === undefined) return;
  // A poll whose answer the page shows already.
  if (ctx.response.status === 304) {
    setStale(false);
    event.preventDefault();
    return;
  }
  const trouble = troubleOf(ctx.response.status, holdsSelected(ctx.text ?? "", ctx.select ?? null));
  if (isPoll(ctx.sourceElement)) setStale(trouble === "away" || trouble === "broken");
  if (trouble === null) {
    clearFailure(ctx.sourceElement);
    return;
  }
  event.preventDefault();
  show(trouble, ctx.sourceElement, ctx.response.status);
});

// No connection, or no answer in time.
document.addEventListener("htmx:error", (event) => {
  const element = (event as RequestEvent).detail?.ctx?.sourceElement;
  if (element === undefined) return;
  if (isPoll(element)) setStale(true);
  else show("away", element, 0);
});

function troubleOf(status: number, isWhole: boolean): Failure | null {
  if (status === 401) return "ended";
  if (status === 403) return "forbidden";
  if (status === 404) return "gone";
  if (status === 429 || status === 503 || status === 502 || status === 504) return "away";
  if (status >= 400 && !refusals.has(status)) return "broken";
  return isWhole ? null : "broken";
}

/** A page reached by a redirect lacks the requested part: swapping it in would leave the form's place empty. */
function holdsSelected(html: string, select: string | null): boolean {
  return select === null || !select.startsWith("#") || html.includes(`id="${select.slice(1)}"`);
}

function show(trouble: Failure, source: Element, status: number): void {
  const poll = isPoll(source);
  if (poll && trouble === "ended" && typedForms().length === 0) {
    location.assign(signInAddress());
    return;
  }
  if (poll) {
    // The page's resource is deleted; without this the page would show its last state for ever.
    const { gone } = (source as HTMLElement).dataset;
    if (status === 404 && gone !== undefined && typedForms().length === 0) location.assign(gone);
    if (trouble !== "ended") return;
  }
  const form = poll ? null : source.closest("form");
  clearFailure(source);
  const banner = bannerOf(trouble);
  if (banner === null) return;
  const place = form?.querySelector("[data-problem-place]");
  if (place) place.prepend(banner);
  else if (form === null) document.getElementById("stale-banner")?.after(banner);
  else if (form.method === "post") form.prepend(banner);
  else form.after(banner);
  announce(banner.textContent?.trim() ?? "");
}

function clearFailure(source: Element): void {
  const form = source.closest("form");
  for (const banner of document.querySelectorAll<HTMLElement>("[data-request-problem]"))
    if (
      form === null
        ? banner.closest("form") === null
        : form.contains(banner) || form.nextElementSibling === banner
    )
      banner.remove();
}

function bannerOf(trouble: Failure): HTMLElement | null {
  const template = document.querySelector<HTMLTemplateElement>("#request-problems");
  const banner = template?.content.querySelector(`[data-trouble="${trouble}"] .banner`)?.cloneNode(true);
  if (!(banner instanceof HTMLElement)) return null;
  banner.dataset.requestProblem = trouble;
  const link = banner.querySelector<HTMLAnchorElement>("a[data-sign-in]");
  if (link !== null) {
    link.href = signInAddress();
    link.addEventListener("click", () => keepTypedForms());
  }
  return banner;
}
