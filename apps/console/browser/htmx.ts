import htmx from "htmx.org";

// The event-stream extension expects the global.
(globalThis as { htmx?: unknown }).htmx = htmx;

/** Processes the attributes of a new element. htmx has this function; its types do not declare it. */
export function processAttributes(element: Element): void {
  (htmx as unknown as { process(element: Element): void }).process(element);
}

/**
 * Settles when htmx has processed the page's attributes. htmx does so in a task of its own after the script has run,
 * which on a busy machine may be after the page's load event: events sent to an element before that are lost. This task
 * runs right after htmx's own, which has the same delay and was queued first.
 */
export const attributesInForce = new Promise<void>((resolve) => {
  setTimeout(resolve);
});
