import htmx from "htmx.org";

// The event-stream extension looks for the global.
(globalThis as { htmx?: unknown }).htmx = htmx;
