import htmx from "htmx.org";

// The event-stream extension looks for the global.
(globalThis as { htmx?: unknown }).htmx = htmx;

/** Puts what the attributes of a new element say in force. htmx has it, and its types do not say so. */
export function processAttributes(element: Element): void {
  (htmx as unknown as { process(element: Element): void }).process(element);
}

/**
 * Settled when what the page's attributes say is in force. htmx reads them in a task of its own after the script has
 * run, which a busy machine may do after the page's load: what is told to an element before that is lost. This task
 * comes right after htmx's own, which waits as long and was there first.
 */
export const attributesInForce = new Promise<void>((resolve) => {
  setTimeout(resolve);
});
